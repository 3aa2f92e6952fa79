/* Examples of the manual pages, for the help.
 *
 * A page has lines "    $ COMMAND", each followed by the lines that COMMAND prints, which are
 * indented likewise. The examples of a page are one session; those with --json are its end. */
#include "help/examples.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "table/commands.h"

#define PROMPT "    $ "
#define INDENT "    "
#define EXAMPLES_MAX 8 /* of one verb */
#define PATTERN_MAX 64

/* A part of the text of a page. */
struct part {
    const char *text;
    size_t length;
};

static bool begins_with(const struct part *part, const char *words)
{
    size_t length = strlen(words);
    return part->length >= length && memcmp(part->text, words, length) == 0;
}

static bool contains(const struct part *part, const char *words)
{
    return memmem(part->text, part->length, words, strlen(words)) != NULL;
}

/* Takes a line, with its end, from the front of `rest`. */
static struct part take_line(struct part *rest)
{
    const char *end = memchr(rest->text, '\n', rest->length);
    struct part line = {rest->text,
                        end != NULL ? (size_t)(end - rest->text) + 1 : rest->length};
    assert(line.length <= rest->length);
    rest->text += line.length;
    rest->length -= line.length;
    return line;
}

/* Takes the next example from `rest`: the line of its command in *command_out, and all its lines in
 * *all_out. Returns false at the end. */
static bool take_example(struct part *rest, struct part *command_out, struct part *all_out)
{
    do {
        if (rest->length == 0)
            return false;
        *command_out = take_line(rest);
    } while (!begins_with(command_out, PROMPT));
    *all_out = *command_out;
    while (begins_with(rest, INDENT) && !begins_with(rest, PROMPT))
        all_out->length += take_line(rest).length;
    return true;
}

/* Whether the command is one of this verb. On the page of a whole command all are. */
static bool is_of(const struct part *command, const struct noun *noun, const struct verb *verb)
{
    char with_more[PATTERN_MAX];
    char alone[PATTERN_MAX];
    if (verb->word[0] == '\0')
        return true;
    (void)snprintf(with_more, sizeof with_more, " %s %s ", noun->word, verb->word);
    (void)snprintf(alone, sizeof alone, " %s %s\n", noun->word, verb->word);
    return contains(command, with_more) || contains(command, alone);
}

/* Prints at most EXAMPLES_MAX examples of a verb. */
static void print_those(struct part rest, const struct noun *noun, const struct verb *verb)
{
    bool is_whole = verb->word[0] == '\0';
    size_t count = 0;
    struct part command;
    struct part all;
    while (count < EXAMPLES_MAX && take_example(&rest, &command, &all)) {
        if (!is_of(&command, noun, verb))
            continue;
        if (count++ == 0 && is_whole)
            output_print("\nExamples:\n");
        else if (count == 1)
            output_print("\nExamples (some commands are left out: see man mcds-%s):\n",
                         noun->word);
        output_print("%.*s", (int)all.length, all.text);
    }
}

/* Prints the examples up to the first with --json: with each verb, a session that is complete. */
static void print_session(struct part rest)
{
    struct part command;
    struct part all;
    output_print("\nExamples:\n");
    while (take_example(&rest, &command, &all) && !contains(&command, "--json"))
        output_print("%.*s", (int)all.length, all.text);
}

void print_examples(const struct noun *noun, const struct verb *verb)
{
    const struct page *page = pages;
    while (page->noun != NULL && strcmp(page->noun, noun->word) != 0)
        page++;
    if (page->noun == NULL)
        return;
    const struct part text = {(const char *)page->text, page->length};
    if (verb != NULL)
        print_those(text, noun, verb);
    else
        print_session(text);
}
