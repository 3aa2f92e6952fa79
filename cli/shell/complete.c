/* Complete: nouns, verbs, options, their choices, and the names of structures. */
#include "shell/complete.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/shell_words.h"
#include "shell/line.h"
#include "shell/names.h"
#include "table/commands.h"

#define WORDS_MAX 1024
#define OPTION_WORD_CAPACITY 48

/* The option that the word names, or NULL, also for a word with a value, such as --color=never. */
static const struct parameter *find_option(const struct verb *verb, const char *word)
{
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct parameter *option = &options[id];
        bool is_it = word[1] == '-' ? strcmp(word + 2, option->word) == 0
                                    : word[1] == option->letter && word[2] == '\0';
        if (is_it && takes_option(verb, id))
            return option;
    }
    return NULL;
}

/* A -- ends the options. After the arguments of a verb that runs a COMMAND, that begins. */
static bool read_dashes(struct line_end *end)
{
    bool runs = end->verb != NULL && takes_program(end->verb);
    if (end->options_over && !runs)
        return false;
    end->is_over = runs && (end->options_over || end->arguments >= needed_arguments(end->verb));
    end->options_over = true;
    return true;
}

static void read_word(struct line_end *end, const struct noun *nouns, const char *word)
{
    if (end->option != NULL) {
        end->option = NULL;
    } else if (strcmp(word, "--") == 0 && read_dashes(end)) {
        return;
    } else if (word[0] == '-' && word[1] != '\0' && !end->options_over) {
        const struct parameter *option = find_option(end->verb, word);
        end->option = option != NULL && option->kind != KIND_FLAG ? option : NULL;
    } else if (end->noun == NULL) {
        end->noun = find_noun(nouns, word);
        end->is_over = end->noun == NULL;
        if (end->noun != NULL && is_whole_command(end->noun))
            end->verb = &end->noun->verbs[0];
    } else if (end->verb == NULL ||
               (end->verb->word[0] == '\0' && end->arguments == 0 && !end->options_over &&
                word[0] != '\0' && find_verb(end->noun, word) != NULL)) {
        end->verb = find_verb(end->noun, word);
        end->is_over = end->verb == NULL;
    } else {
        end->arguments++;
    }
}

struct line_end read_line_end(const struct noun *nouns, const char *line, size_t length,
                              size_t *begin_out, char **typed_out)
{
    struct line_end end = {.noun = NULL};
    char *words[WORDS_MAX];
    char *copy = strndup(line, length);
    int last = (copy != NULL ? split_open_words(copy, words, WORDS_MAX, begin_out) : -1) - 1;
    assert(last < 0 || *begin_out <= length);
    for (int i = 0; i < last && !end.is_over; i++)
        if (i > 0 || strcmp(words[0], "mcds") != 0)
            read_word(&end, nouns, words[i]);
    *typed_out = last >= 0 ? strdup(words[last]) : NULL;
    free(copy);
    return end;
}

static void add_options(const struct line_end *end, const char *typed,
                        struct completion *completion)
{
    for (int id = 0; id < OPTION_COUNT; id++) {
        char word[OPTION_WORD_CAPACITY];
        (void)snprintf(word, sizeof word, "--%s", options[id].word);
        if (takes_option(end->verb, id) && !is_of_shell((enum option_id)id))
            (void)completion_add(completion, typed, word);
    }
}

static void add_nouns(const struct noun *nouns, const char *typed,
                      struct completion *completion)
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        (void)completion_add(completion, typed, noun->word);
    (void)completion_add(completion, typed, "exit");
}

static void add_verbs(const struct noun *noun, const char *typed, struct completion *completion)
{
    for (const struct verb *verb = noun->verbs; verb->word != NULL; verb++)
        (void)completion_add(completion, typed, verb->word);
}

/* The argument at the end of the line, or NULL. */
static const struct parameter *argument_at(const struct line_end *end)
{
    size_t last = last_argument(end->verb);
    const struct parameter *parameter = end->verb->arguments[last];
    if (end->arguments <= last)
        return end->verb->arguments[end->arguments];
    return parameter != NULL && (parameter->each || parameter->many) ? parameter : NULL;
}

/* The noun under which the store lists the names: a leader is listed as a lock. */
static const struct noun *listed_noun(const struct session *session, const struct noun *noun)
{
    if (noun->open == NULL)
        return NULL;
    return strcmp(noun->word, "leader") == 0 ? find_noun(session->nouns, "lock") : noun;
}

static void add_argument(struct session *session, struct signals *signals,
                         const struct line_end *end, const char *typed,
                         struct completion *completion)
{
    const struct parameter *parameter = argument_at(end);
    bool has_name = parameter != NULL && strncmp(parameter->placeholder, "NAME", 4) == 0;
    bool has_pattern = parameter != NULL && strcmp(parameter->placeholder, "PATTERN") == 0;
    bool has_topic = parameter != NULL && strcmp(parameter->placeholder, "TOPIC") == 0;
    if (has_topic)
        add_nouns(session->nouns, typed, completion);
    if (end->verb->word[0] == '\0' && end->arguments == 0 && !end->options_over)
        add_verbs(end->noun, typed, completion);
    if (has_name || has_pattern)
        names_add(session, signals, listed_noun(session, end->noun), typed, end->options_over,
                  completion);
}

static void add_choices(const struct noun *nouns, const struct parameter *option,
                        const char *typed, struct completion *completion)
{
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        if (strcmp(option->placeholder, "NOUN") == 0 && noun->open != NULL)
            (void)completion_add(completion, typed, noun->word);
    for (size_t i = 0; option->kind == KIND_CHOICE && option->choices[i] != NULL; i++)
        (void)completion_add(completion, typed, option->choices[i]);
}

static void add_words(struct session *session, struct signals *signals,
                      const struct line_end *end, const char *typed,
                      struct completion *completion)
{
    if (end->option != NULL)
        add_choices(session->nouns, end->option, typed, completion);
    else if (typed[0] == '-' && !end->options_over)
        add_options(end, typed, completion);
    else if (end->noun == NULL)
        add_nouns(session->nouns, typed, completion);
    else if (end->verb == NULL)
        add_verbs(end->noun, typed, completion);
    else
        add_argument(session, signals, end, typed, completion);
}

void complete(struct session *session, struct signals *signals, const char *line, size_t length,
              struct completion *completion)
{
    char *typed = NULL;
    struct line_end end = read_line_end(session->nouns, line, length, &completion->begin,
                                        &typed);
    if (typed == NULL)
        return;
    completion->word_length = strlen(typed);
    if (!end.is_over)
        add_words(session, signals, &end, typed, completion);
    free(typed);
}
