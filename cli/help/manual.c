/* The parts of the manual pages that come from the table, in mdoc(7). */
#include "help/manual.h"

#include <stdio.h>
#include <string.h>

#include "help/usage.h"
#include "io/exit.h"
#include "table/commands.h"

#define LINE 78
#define TEXT_MAX 400

/* A word in which backslash and minus have no meaning for mdoc, nor does a dot or a quote at the
 * beginning of a line. */
static void print_word(const char *word, size_t length, bool begins_line)
{
    if (begins_line && (*word == '.' || *word == '\''))
        output_print("\\&");
    for (size_t i = 0; i < length; i++)
        output_print(word[i] == '\\' ? "\\e" : word[i] == '-' ? "\\-" : "%c", word[i]);
}

/* A text in lines. Each sentence begins a line. */
static void print_mdoc(const char *text)
{
    size_t column = 0;
    bool is_end = false;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        bool begins_line = column == 0 || is_end || column + 1 + length > LINE;
        if (column > 0)
            output_print(begins_line ? "\n" : " ");
        print_word(text, length, begins_line);
        column = (begins_line ? 0 : column + 1) + length;
        is_end = length > 0 && text[length - 1] == '.';
        text += length;
        text += strspn(text, " ");
    }
    output_print("\n");
}

static void print_item(const struct parameter *parameter)
{
    char range[RANGE_MAX];
    char text[TEXT_MAX];
    output_print(".It");
    if (parameter->letter != '\0')
        output_print(" Fl %c ,", parameter->letter);
    if (parameter->word != NULL) {
        output_print(" Fl \\-");
        print_word(parameter->word, strlen(parameter->word), false);
    }
    if (parameter->placeholder != NULL)
        output_print(" Ar %s", parameter->placeholder);
    output_print("\n");
    write_range_of(parameter, range);
    (void)snprintf(text, sizeof text, "%s%s", parameter->help, range);
    print_mdoc(text);
}

static void print_parameters(const struct parameter *const *arguments,
                             const enum option_id *which)
{
    if (*arguments == NULL && which == NULL)
        return;
    output_print(".Bl -tag -width Ds\n");
    for (; *arguments != NULL; arguments++)
        print_item(*arguments);
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(which, id))
            print_item(&options[id]);
    output_print(".El\n");
}

/* The usage of a verb, to the end of its line. */
static void print_usage(const struct noun *noun, const struct verb *verb)
{
    output_print("Nm mcds Cm %s", noun->word);
    if (verb->word[0] != '\0')
        output_print(" %s", verb->word);
    const char *end = "";
    for (const struct parameter *const *at = verb->arguments; *at != NULL; at++) {
        output_print("%s%s Ar %s%s", (*at)->optional ? end : "", (*at)->optional ? " Oo" : "",
                     (*at)->placeholder, (*at)->many || (*at)->each ? " ..." : "");
        end = (*at)->optional ? " Oc" : end;
    }
    output_print("%s", end);
    if (verb->options != NULL)
        output_print(" Oo Ar OPTIONS Oc");
    output_print(takes_program(verb) ? " Oo Fl \\- Ar COMMAND ... Oc\n" : "\n");
}

static void print_verb(const struct noun *noun, const struct verb *verb)
{
    output_print(".It ");
    print_usage(noun, verb);
    print_mdoc(verb->help);
    if (takes_each(verb))
        print_mdoc(SEVERAL);
    print_parameters(verb->arguments, verb->options);
}

void print_manual(const struct noun *nouns)
{
    static const struct parameter *const none[] = {NULL};
    output_print(".Sh OPTIONS\nThese are accepted anywhere before\n.Fl \\- .\n");
    print_parameters(none, OPTIONS_GLOBAL);
    output_print(".Sh COMMANDS\n.Bl -tag -width Ds\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++) {
        output_print(".It Xr mcds-%s 1", noun->word);
        for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
            if (verb->word[0] != '\0')
                output_print("%s %s", verb == noun->verbs ? " Cm" : "", verb->word);
        output_print("\n");
        print_mdoc(noun->help);
    }
    output_print(".El\n");
}

void print_manual_of(const struct noun *noun)
{
    output_print(".Sh NAME\n.Nm mcds-%s\n.Nd %s\n.Sh SYNOPSIS\n", noun->word, noun->help);
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++) {
        output_print(".");
        print_usage(noun, verb);
    }
    output_print(".Sh DESCRIPTION\n");
    if (noun->keeps_options)
        output_print("The options with which\n.Ar NAME\nwas made are stored with it.\n.Pp\n");
    output_print(
        "The options of all commands, the way to write a time, and standard input and\n"
        "output are described in\n.Xr mcds 1 .\n"
        "The examples show what each verb prints.\n.Bl -tag -width Ds\n");
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        print_verb(noun, verb);
    output_print(".El\n");
}

void print_manual_exit(void)
{
    output_print(".Sh EXIT STATUS\n.Bl -tag -width 1234\n");
#define PRINT_STATUS(name, number, text)                                                       \
    output_print(".It %d\n", number);                                                          \
    print_mdoc(text);
    STATUS_MAP(PRINT_STATUS)
#undef PRINT_STATUS
    output_print(".It several\n");
    print_mdoc(STATUS_OF_SEVERAL);
    output_print(".It other\nthe exit code of\n.Ar COMMAND ;\n128 + N when signal N ended it, "
                 "a wait for a lock, or standard input\n"
                 ".El\n");
}
