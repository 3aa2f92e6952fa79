/* Parses a command line by the table. */
#include "parse/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help/usage.h"
#include "io/clock.h"
#include "parse/reader.h"
#include "parse/synonyms.h"
#include "parse/values.h"
#include "table/commands.h"

#define NAME_MAX_BYTES 1024

static bool wrong_range(struct reader *reader, const struct parameter *parameter,
                        const char *called, const char *text)
{
    char min[DURATION_CAPACITY];
    char max[DURATION_CAPACITY];
    if (parameter->kind == KIND_DURATION) {
        format_duration(parameter->min, min);
        format_duration(parameter->max, max);
        return reader_wrong(
            reader, "%s %.60s: not a time from %s to %s; times are written 500ms 30s 5m 1h 2d",
            called, text, min, max);
    }
    return reader_wrong(reader, "%s %.60s: not a whole number from %" PRIu64 " to %" PRIu64,
                        called, text, parameter->min, parameter->max);
}

/* Allocates memory for all elements that the remaining words may have. */
static bool has_room(struct reader *reader)
{
    struct command *command = reader->command;
    if (command->elements != NULL)
        return true;
    size_t count = 1;
    for (char *const *word = reader->next; *word != NULL; word++)
        count++;
    command->elements = calloc(count, sizeof command->elements[0]);
    if (command->elements == NULL)
        return reader_wrong(reader, "out of memory");
    command->removals = command->elements + count;
    return true;
}

/* Elements fill their memory from the front, removals from the end. */
static bool keep_element(struct reader *reader, const char *text, bool is_removal)
{
    struct command *command = reader->command;
    if (!has_room(reader))
        return false;
    if (is_removal) {
        *--command->removals = mcds_text(text);
        command->removal_count++;
    } else {
        command->elements[command->element_count++] = mcds_text(text);
    }
    return true;
}

static bool check_name(struct reader *reader, const struct parameter *parameter,
                       const char *typed)
{
    if (typed[0] == '\0')
        return reader_wrong(reader, "%s: the %s is empty", reader_subject(reader),
                            parameter->placeholder);
    if (strlen(typed) > NAME_MAX_BYTES)
        return reader_wrong(reader, "%s: the %s is longer than %d bytes",
                            reader_subject(reader), parameter->placeholder, NAME_MAX_BYTES);
    return true;
}

static bool read_moment(struct reader *reader, const struct parameter *option,
                        const char *called, const char *text, struct value *value)
{
    int64_t ms = 0;
    if (!parse_moment(text, clock_wall_ms(), &ms))
        return reader_wrong(reader,
                            "%s %.60s: not a point in time, such as now, 10m (ago), "
                            "2026-11-21T10:30:15Z or @1795257015 (Unix time)",
                            called, text);
    if (ms < 1 && option == &options[OPTION_AT])
        return reader_wrong(reader, "%s %.60s: not after 1970-01-01T00:00:00Z", called, text);
    value->number = ms > 1 ? (uint64_t)ms : 1; /* where a range begins or ends */
    return true;
}

/* So that options can be compared when their words are gone. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool read_choice(struct reader *reader, const struct parameter *option,
                        const char *called, const char *text, struct value *value)
{
    char those[USAGE_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; option->choices[i] != NULL; i++) {
        value->number = i;
        if (strcmp(text, option->choices[i]) == 0)
            return true;
        length += (size_t)snprintf(those + length, sizeof those - length, "%s%s",
                                   length > 0 ? ", " : "", option->choices[i]);
    }
    return reader_wrong(reader, "%s %.60s: not one of %s", called, text, those);
}

static bool read_value(struct reader *reader, const struct parameter *option,
                       const char *called, const char *text, struct value *value)
{
    value->given = true;
    value->text = text;
    if (option->many) {
        value->number = value->number * 31 + hash_of(text); /* of all that were given */
        return keep_element(reader, text, option == &options[OPTION_REMOVE]);
    }
    if (option->kind == KIND_TEXT) {
        value->number = hash_of(text);
        if (option->max > 0 && strlen(text) > option->max)
            return reader_wrong(reader, "%s: longer than %" PRIu64 " bytes", called,
                                option->max);
        return true;
    }
    if (option->kind == KIND_CHOICE)
        return read_choice(reader, option, called, text, value);
    if (option->kind == KIND_MOMENT)
        return read_moment(reader, option, called, text, value);
    bool fine = option->kind == KIND_DURATION ? parse_duration(text, &value->number)
                                              : parse_whole(text, &value->number);
    if (!fine || value->number < option->min || value->number > option->max)
        return wrong_range(reader, option, called, text);
    return true;
}

static int find_letter(const struct command *command, char letter)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (takes_option(command->verb, id) && options[id].letter == letter)
            return id;
    return -1;
}

static int find_word(const struct command *command, const char *word, size_t length)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (takes_option(command->verb, id) && strlen(options[id].word) == length &&
            memcmp(options[id].word, word, length) == 0)
            return id;
    return -1;
}

/* An option that does not exist, or that this verb does not take. */
static bool no_option(struct reader *reader, const char *typed)
{
    if (reader->command->verb == NULL)
        return reader_wrong(reader, "there is no option %.60s; 'mcds help' lists them", typed);
    const char *subject = reader_subject(reader);
    return reader_wrong(reader, "%s has no option %.60s; 'mcds help %s' lists its options",
                        subject, typed, subject);
}

/* The option of a verb that says how many, which other commands call -n, or NULL. */
static const char *number_option(const struct verb *verb)
{
    static const enum option_id those[] = {OPTION_LAST, OPTION_LIMIT, OPTION_HOW_MANY};
    for (size_t i = 0; i < sizeof those / sizeof those[0]; i++)
        if (is_among(verb->options, (int)those[i]))
            return options[those[i]].word;
    return NULL;
}

static bool unknown_option(struct reader *reader, const char *typed)
{
    const char *near = nearest_option(reader->command->verb, typed + 2);
    if (typed[1] == '-' && near != NULL)
        return reader_wrong(reader, "there is no option %.60s; did you mean --%s?", typed,
                            near);
    for (int id = 0; id < OPTION_COUNT; id++)
        if (typed[1] == '-' && strcmp(options[id].word, typed + 2) == 0)
            return !reader_mistook_verb(reader, id) && no_option(reader, typed);
    const struct verb *verb = reader->command->verb;
    const char *number = verb != NULL && typed[1] == 'n' ? number_option(verb) : NULL;
    if (number != NULL)
        return reader_wrong(reader, "there is no option %.60s here; did you mean --%s N?",
                            typed, number);
    char other = (char)(typed[1] ^ ('a' ^ 'A'));
    if (typed[1] != '-' && typed[2] == '\0' && find_letter(reader->command, other) >= 0)
        return reader_wrong(reader, "there is no option %s; did you mean -%c?", typed, other);
    const struct parameter *next = verb != NULL ? verb->arguments[reader->argument_count]
                                                : NULL;
    if (next != NULL && next->kind != KIND_DELTA)
        return reader_wrong(reader,
                            "there is no option %.60s here; if it is the %s, write -- %.60s%s",
                            typed, next->placeholder, typed, takes_program(verb) ? " --" : "");
    return no_option(reader, typed);
}

/* --word, --word=value or --word value. */
static bool read_long_option(struct reader *reader)
{
    const char *typed = *reader->next++;
    const char *equals = strchr(typed, '=');
    size_t length = equals != NULL ? (size_t)(equals - typed) : strlen(typed);
    int id = find_word(reader->command, typed + 2, length - 2);
    if (id < 0)
        return unknown_option(reader, typed);
    struct value *value = &reader->command->options[id];
    char called[40];
    (void)snprintf(called, sizeof called, "--%s", options[id].word);
    if (options[id].kind == KIND_FLAG) {
        value->given = true;
        return equals == NULL || reader_wrong(reader, "%s takes no value", called);
    }
    const char *text = equals != NULL ? equals + 1 : *reader->next;
    if (text == NULL)
        return reader_wrong(reader, "%s needs a value: %s %s", called, called,
                            options[id].placeholder);
    if (equals == NULL)
        reader->next++;
    return read_value(reader, &options[id], called, text, value);
}

/* -x, several letters of flags together, -x value or -xvalue. */
static bool read_short_options(struct reader *reader)
{
    const char *typed = *reader->next++;
    for (const char *letter = typed + 1; *letter != '\0'; letter++) {
        char called[3] = {'-', *letter, '\0'};
        int id = find_letter(reader->command, *letter);
        if (id < 0)
            return unknown_option(reader, letter == typed + 1 ? typed : called);
        struct value *value = &reader->command->options[id];
        value->given = true;
        if (options[id].kind == KIND_FLAG)
            continue;
        const char *text = letter[1] != '\0' ? letter + 1 : *reader->next;
        if (text == NULL)
            return reader_wrong(reader, "%s needs a value: %s %s", called, called,
                                options[id].placeholder);
        if (letter[1] == '\0')
            reader->next++;
        return read_value(reader, &options[id], called, text, value);
    }
    return true;
}

static bool unknown_noun(struct reader *reader, const char *typed)
{
    char those[USAGE_MAX];
    const char *meant = meant_by("", typed);
    if (meant != NULL)
        return reader_wrong(reader, "there is no command '%.60s'; %s", typed, meant);
    list_nouns_with(reader->nouns, typed, those);
    if (typed[0] != '\0' && those[0] != '\0')
        return reader_wrong(reader, "there is no command '%.60s', but %s", typed, those);
    if (find_word(reader->command, typed, strlen(typed)) >= 0)
        return reader_wrong(reader, "there is no command '%.60s'; did you mean --%s?", typed,
                            typed);
    const char *near = nearest_noun(reader->nouns, typed);
    if (near != NULL)
        return reader_wrong(reader, "there is no command '%.60s'; did you mean '%s'?", typed,
                            near);
    return reader_wrong(reader, "there is no command '%.60s'; 'mcds help' lists them", typed);
}

static bool read_noun(struct reader *reader)
{
    const char *typed = *reader->next++;
    struct command *command = reader->command;
    command->noun = find_noun(reader->nouns, typed);
    if (command->noun == NULL)
        return unknown_noun(reader, typed);
    if (is_whole_command(command->noun))
        command->verb = &command->noun->verbs[0];
    return true;
}

static bool one_too_many(struct reader *reader, const char *typed)
{
    char what[MISTAKE_MAX / 2];
    bool has_way = reader->options_over || reader_has_way_ahead(reader);
    if (reader_mistook_verb(reader, -1))
        return false;
    (void)snprintf(what, sizeof what,
                   takes_program(reader->command->verb) && !has_way
                       ? "'%.60s': the command to run comes after --"
                       : "'%.60s' is one argument too many",
                   typed);
    return reader_wrong_usage(reader, what);
}

static bool dash_among(struct reader *reader, const struct parameter *parameter)
{
    return reader_wrong(
        reader,
        "%s: - among other %ss; after -- it is one of them, alone it means standard input",
        reader_subject(reader), parameter->placeholder);
}

/* Takes this argument from standard input. */
static bool take_input(struct reader *reader, const struct parameter *parameter)
{
    struct command *command = reader->command;
    if (command->element_count > 0)
        return dash_among(reader, parameter);
    command->input = parameter->input;
    reader->argument_count++;
    while (parameter->input == INPUT_LINES &&
           command->verb->arguments[reader->argument_count] != NULL)
        reader->argument_count++;
    return true;
}

static bool read_count(struct reader *reader, const struct parameter *parameter,
                       const char *typed)
{
    uint64_t number;
    if (!parse_whole(typed, &number) || number < parameter->min || number > parameter->max)
        return wrong_range(reader, parameter, parameter->placeholder, typed);
    reader->command->delta = (int64_t)number;
    return true;
}

/* The index of the argument that the next word is: the last again, where that may be several. */
static size_t next_place(const struct reader *reader)
{
    const struct verb *verb = reader->command->verb;
    size_t place = reader->argument_count;
    bool is_again = verb->arguments[place] == NULL && reader->command->element_count > 0 &&
                    takes_each(verb);
    return is_again ? place - 1 : place;
}

static bool read_argument(struct reader *reader, const char *typed)
{
    struct command *command = reader->command;
    size_t place = next_place(reader);
    const struct parameter *parameter = command->verb->arguments[place];
    const struct parameter *last = command->verb->arguments[last_argument(command->verb)];
    if (parameter == NULL && command->input == INPUT_LINES && (last->many || last->each))
        return dash_among(reader, last);
    if (parameter == NULL)
        return one_too_many(reader, typed);
    if (parameter->input != INPUT_NONE && !reader->options_over && strcmp(typed, "-") == 0)
        return take_input(reader, parameter);
    if (parameter->kind == KIND_NAME && !check_name(reader, parameter, typed))
        return false;
    if (parameter->kind == KIND_DELTA &&
        (!parse_signed(typed, &command->delta) || command->delta > (int64_t)parameter->max ||
         command->delta < -(int64_t)parameter->max - (parameter->max == INT64_MAX)))
        return reader_wrong(reader, "%s: '%.60s' is not a whole number %s",
                            reader_subject(reader), typed,
                            parameter->max == INT64_MAX ? "from -2^63 to 2^63 - 1"
                                                        : "from -2^61 + 1 to 2^61 - 1");
    if (parameter->kind == KIND_NUMBER && !read_count(reader, parameter, typed))
        return false;
    if ((parameter->many || parameter->each) && !keep_element(reader, typed, false))
        return false;
    if (parameter->many || place < reader->argument_count)
        return true;
    command->arguments[place] = typed;
    command->bytes[place] = mcds_text(typed);
    reader->argument_count++;
    return true;
}

/* `leader NAME -- COMMAND` is `leader run NAME -- COMMAND`: the verb run of a noun, whose NAME has
 * been read, if there is a -- later. NULL: it is not. */
static const struct verb *unsaid_run(const struct reader *reader)
{
    const struct verb *run = find_verb(reader->command->noun, "run");
    char *const *word = reader->next;
    while (*word != NULL && !is_end_of_options(*word))
        word++;
    return *word != NULL ? run : NULL;
}

static bool read_verb(struct reader *reader)
{
    const char *typed = *reader->next++;
    struct command *command = reader->command;
    command->verb = find_verb(command->noun, typed);
    if (command->verb != NULL)
        return true;
    const char *meant = meant_by(command->noun->word, typed);
    if (meant != NULL)
        return reader_wrong(reader, "%s has no verb '%.60s'; %s", command->noun->word, typed,
                            meant);
    const char *near = nearest_verb(command->noun, typed);
    if (near != NULL)
        return reader_wrong(reader, "%s has no verb '%.60s'; did you mean '%s'?",
                            command->noun->word, typed, near);
    command->verb = unsaid_run(reader);
    if (command->verb != NULL)
        return read_argument(reader, typed);
    char verbs[USAGE_MAX];
    list_verbs_of(command->noun, verbs);
    return reader_wrong(reader, "%s has no verb '%.60s'; it has %s", command->noun->word, typed,
                        verbs);
}

/* -x or --word; a number with a minus and a lone - are arguments. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

/* Whether words are arguments that one more -- separates from COMMAND: only so an argument before
 * COMMAND may begin with a minus. A COMMAND may have a -- of its own, after an argument that is
 * left out. */
static bool arguments_follow(const struct reader *reader)
{
    const struct parameter *next = reader->command->verb->arguments[reader->argument_count];
    char *const *word = reader->next;
    if (next == NULL || (next->optional && *word != NULL && !is_option(*word)))
        return false;
    while (*word != NULL && !is_end_of_options(*word))
        word++;
    return *word != NULL;
}

/* The words after --. None after a second -- are no COMMAND. */
static void read_program(struct reader *reader)
{
    struct command *command = reader->command;
    if (*reader->next != NULL || !reader->options_over)
        command->program = reader->next;
    while (*reader->next != NULL)
        reader->next++;
}

static bool read_word(struct reader *reader)
{
    const char *word = *reader->next;
    struct command *command = reader->command;
    bool runs = command->verb != NULL && takes_program(command->verb);
    if (is_end_of_options(word) && (runs || !reader->options_over)) {
        reader->next++;
        if (runs && (reader->options_over || !arguments_follow(reader)))
            read_program(reader);
        reader->options_over = true;
        return true;
    }
    if (!reader->options_over && is_option(word))
        return word[1] == '-' ? read_long_option(reader) : read_short_options(reader);
    if (command->noun == NULL)
        return read_noun(reader);
    if (command->verb == NULL)
        return read_verb(reader);
    if (reader_runs_verb_of_whole(reader))
        return false;
    const struct verb *verb = reader_verb_of_whole(reader);
    if (verb == NULL)
        return read_argument(reader, *reader->next++);
    command->verb = verb;
    reader->next++;
    return true;
}

bool read_command(const struct noun *nouns, char *const *words, struct command *command,
                  struct mistake *mistake)
{
    memset(command, 0, sizeof *command);
    command->delta = 1;
    struct reader reader = {
        .nouns = nouns, .next = words, .command = command, .mistake = mistake};
    while (*reader.next != NULL) {
        if (!read_word(&reader))
            return false;
        if (is_given(command, OPTION_HELP) || is_given(command, OPTION_VERSION))
            return true;
    }
    return reader_is_complete(&reader);
}

void free_command(struct command *command)
{
    free(command->elements);
    command->elements = NULL;
}
