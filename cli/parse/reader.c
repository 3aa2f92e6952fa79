/* The sentence of a reader about a mistake, and whether a command is complete. */
#include "parse/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "help/usage.h"
#include "parse/synonyms.h"
#include "table/commands.h"

bool is_end_of_options(const char *word)
{
    return strcmp(word, "--") == 0;
}

bool reader_wrong(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->mistake->sentence, sizeof reader->mistake->sentence, format,
                    arguments);
    va_end(arguments);
    return false;
}

bool reader_wrong_usage(struct reader *reader, const char *what)
{
    char usage[USAGE_MAX];
    write_usage(reader->command->noun, reader->command->verb, usage);
    return reader_wrong(reader, "%s; usage: mcds %s", what, usage);
}

const char *reader_subject(struct reader *reader)
{
    const struct command *command = reader->command;
    const char *verb = command->verb->word;
    (void)snprintf(reader->subject, sizeof reader->subject, "%s%s%s", command->noun->word,
                   verb[0] != '\0' ? " " : "", verb);
    return reader->subject;
}

static bool lacks_program(struct reader *reader)
{
    char *const *program = reader->command->program;
    return program != NULL && program[0] == NULL &&
           !reader_wrong_usage(reader, "the command to run is missing after --");
}

/* Whether the word after a `--` is a NAME such as -L, and not a COMMAND. */
static bool is_dashed(const char *word)
{
    return word != NULL && word[0] == '-' && !is_end_of_options(word);
}

/* After one `--`, an argument that begins with a minus is read as the COMMAND. */
static bool misses(struct reader *reader, const struct parameter *missing)
{
    const struct command *command = reader->command;
    char what[MISTAKE_MAX / 2];
    char arguments[USAGE_MAX];
    if (command->program == NULL || !is_dashed(command->program[0])) {
        (void)snprintf(what, sizeof what, "the %s is missing", missing->placeholder);
        return reader_wrong_usage(reader, what);
    }
    list_arguments_of(command->verb, arguments);
    return reader_wrong(reader,
                        "the %s is missing: %.60s is read as the COMMAND; if it is the %s, "
                        "write: mcds %s --%s -- [COMMAND...]",
                        missing->placeholder, command->program[0], missing->placeholder,
                        reader_subject(reader), arguments);
}

/* Without a command, an option of the lease or of the wait would mean nothing. */
static bool has_program_for_options(struct reader *reader)
{
    static const enum option_id ids[] = {OPTION_ON_LOST, OPTION_SHARED, OPTION_LEASE,
                                         OPTION_LABEL,   OPTION_WAIT,   OPTION_NOWAIT,
                                         OPTION_EXIT};
    char what[MISTAKE_MAX / 2];
    if (reader->command->program != NULL)
        return true;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const char *word = options[ids[i]].word;
        (void)snprintf(what, sizeof what,
                       "--%s is for a command: give a command after --, or leave --%s out",
                       word, word);
        if (is_given(reader->command, ids[i]))
            return reader_wrong_usage(reader, what);
    }
    return true;
}

/* `mcds lock` and `mcds once` run a command, or have one of the options below: exactly one of these. */
static bool is_one_way(struct reader *reader)
{
    const struct command *command = reader->command;
    bool breaks = is_among(command->verb->options, OPTION_BREAK);
    int ways = (command->program != NULL) + is_given(command, OPTION_INFO) +
               is_given(command, OPTION_BREAK) + is_given(command, OPTION_DROP) +
               is_given(command, OPTION_SETTLE) + is_given(command, OPTION_FORGET);
    if (ways == 0)
        return reader_wrong_usage(reader, "nothing to do: give a command after --, or --info");
    if (ways > 1)
        return reader_wrong_usage(reader,
                                  breaks ? "a command, --info, --break and --drop exclude "
                                           "each other"
                                         : "a command, --info, --settle and --forget exclude "
                                           "each other");
    if (!has_program_for_options(reader))
        return false;
    if (is_given(command, OPTION_WAIT) && is_given(command, OPTION_NOWAIT))
        return reader_wrong_usage(reader, "--wait and --no-wait exclude each other");
    return true;
}

/* `run` and `work` of any noun have a COMMAND, and so has a verb with both `start` and `run`. */
static bool needs_program(const struct verb *verb)
{
    return (verb->start != NULL && verb->run != NULL) || strcmp(verb->word, "run") == 0 ||
           strcmp(verb->word, "work") == 0;
}

static bool has_program(struct reader *reader)
{
    const struct command *command = reader->command;
    return (command->program != NULL && command->program[0] != NULL) ||
           reader_wrong_usage(reader, "the command to run is missing: give it after --");
}

static bool excludes(struct reader *reader, enum option_id one, enum option_id other)
{
    if (!is_given(reader->command, one) || !is_given(reader->command, other))
        return true;
    return reader_wrong(reader, "%s: --%s and --%s exclude each other", reader_subject(reader),
                        options[one].word, options[other].word);
}

/* Whether the COMMAND, and the options of the wait before it, are complete. */
static bool is_run_complete(struct reader *reader)
{
    const struct command *command = reader->command;
    if (takes_program(command->verb) && lacks_program(reader))
        return false;
    if (!needs_program(command->verb))
        return excludes(reader, OPTION_WAIT, OPTION_NOWAIT);
    return is_whole_command(command->noun)
               ? is_one_way(reader)
               : has_program(reader) && excludes(reader, OPTION_WAIT, OPTION_NOWAIT);
}

bool reader_is_complete(struct reader *reader)
{
    struct command *command = reader->command;
    if (command->noun == NULL)
        return reader_wrong(reader, "there is no command; 'mcds help' lists the commands");
    if (command->verb == NULL) {
        char verbs[USAGE_MAX];
        list_verbs_of(command->noun, verbs);
        return reader_wrong(reader, "%s needs a verb: %s", command->noun->word, verbs);
    }
    const struct parameter *missing = command->verb->arguments[reader->argument_count];
    if (missing != NULL && !missing->optional)
        return misses(reader, missing);
    if (missing != NULL && missing->input == INPUT_LINES && !missing->needs_dash &&
        command->element_count == 0 && !is_given(command, OPTION_FILE)) {
        command->input = INPUT_LINES;
        command->is_input_untold = true;
    }
    if (is_given(command, OPTION_FILE) &&
        (command->element_count > 0 || command->input != INPUT_NONE))
        return reader_wrong_usage(reader, "a JOB and --file exclude each other");
    if (is_given(command, OPTION_RAW) && command->element_count > 1)
        return reader_wrong(reader, "%s: --raw writes nothing between two values; give one %s",
                            reader_subject(reader), command->verb->arguments[1]->placeholder);
    if (is_among(command->verb->options, OPTION_ADD) && !is_given(command, OPTION_ADD) &&
        !is_given(command, OPTION_REMOVE))
        return reader_wrong_usage(reader, "nothing to do: give --add or --remove");
    if (is_given(command, OPTION_TIMED) && command->input != INPUT_LINES)
        return reader_wrong_usage(reader, "--timed is for lines of standard input");
    return excludes(reader, OPTION_BAG, OPTION_LIST) &&
           excludes(reader, OPTION_FROM, OPTION_LAST) &&
           excludes(reader, OPTION_CURSOR_FILE, OPTION_LAST) &&
           excludes(reader, OPTION_AT, OPTION_TIMED) &&
           excludes(reader, OPTION_IF_ABSENT, OPTION_IF_IS) &&
           excludes(reader, OPTION_TOKEN, OPTION_TOKEN_FD) && is_run_complete(reader);
}

/* Whether a COMMAND follows, after `--`; with `or_way`, also one of the options instead of it. */
static bool is_ahead(char *const *word, bool or_way)
{
    for (; *word != NULL; word++) {
        if (is_end_of_options(*word))
            return !is_dashed(word[1]);
        if (or_way && (strcmp(*word, "--info") == 0 || strcmp(*word, "--break") == 0 ||
                       strcmp(*word, "--drop") == 0))
            return true;
    }
    return false;
}

bool reader_has_way_ahead(const struct reader *reader)
{
    return is_ahead(reader->next, true);
}

/* The verb that the next word names, if a verb may be there. */
static const struct verb *verb_at_next(const struct reader *reader)
{
    const struct command *command = reader->command;
    const char *typed = *reader->next;
    if (command->verb != &command->noun->verbs[0] || reader->argument_count > 0 ||
        reader->options_over || typed[0] == '\0' || !is_whole_command(command->noun))
        return NULL;
    return find_verb(command->noun, typed);
}

bool reader_runs_verb_of_whole(struct reader *reader)
{
    const struct verb *verb = verb_at_next(reader);
    const char *noun = reader->command->noun->word;
    if (verb == NULL || !is_ahead(reader->next + 1, false))
        return false;
    const char *name = reader->next[1];
    bool is_named = name[0] != '-';
    (void)reader_wrong(
        reader,
        "%s %s runs no COMMAND: '%s %.60s -- COMMAND' does; if '%s' is the NAME: "
        "'%s -- %s -- COMMAND'",
        noun, verb->word, noun, is_named ? name : "NAME", verb->word, noun, verb->word);
    return true;
}

bool reader_mistook_verb(struct reader *reader, int option_id)
{
    const struct command *command = reader->command;
    const char *typed = command->arguments[0];
    if (typed == NULL || command->verb != &command->noun->verbs[0] ||
        !is_whole_command(command->noun))
        return false;
    const char *noun = command->noun->word;
    const char *meant = meant_by(noun, typed);
    const char *near = nearest_verb(command->noun, typed);
    bool fits = near != NULL &&
                (option_id < 0 || is_among(find_verb(command->noun, near)->options, option_id));
    if (meant != NULL && option_id < 0)
        (void)reader_wrong(reader, "%s has no verb '%.60s'; %s", noun, typed, meant);
    else if (fits)
        (void)reader_wrong(reader,
                           "%s has no verb '%.60s'; did you mean '%s'? If it is the NAME: "
                           "'%s %.60s -- COMMAND'",
                           noun, typed, near, noun, typed);
    return fits || (meant != NULL && option_id < 0);
}

const struct verb *reader_verb_of_whole(const struct reader *reader)
{
    const struct command *command = reader->command;
    const struct verb *verb = verb_at_next(reader);
    /* Most words are no verb; for them the words that follow are not searched. */
    if (verb == NULL || is_given(command, OPTION_INFO) || is_given(command, OPTION_BREAK) ||
        is_given(command, OPTION_DROP) || is_ahead(reader->next + 1, true))
        return NULL;
    return verb;
}
