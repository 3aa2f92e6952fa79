/* Sentences about failures of the library, with the verbs and options of the command. */
#include "io/failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "parse/values.h"
#include "table/nouns.h"

#define NAME_SHOWN 200
#define PEER_SHOWN 300
#define PLACE_CAPACITY 576
#define REASON_CAPACITY 512
#define OPTION_CAPACITY 40

/* Sentences about options whose value is not a number on the command line. */
static const struct saying {
    const char *noun; /* NULL: any */
    const char *option;
    int64_t found;
    const char *text;
} sayings[] = {
    {"set", "form", MCDS_SET_PLAIN, "it is a plain set; leave --bag and --list out"},
    {"set", "form", MCDS_SET_BAG, "it is a bag; give --bag"},
    {"set", "form", MCDS_SET_LIST, "it is a list with removal; give --list"},
    {NULL, "members", MCDS_MEMBERS_NONE,
     "its members are not kept; leave --exact and --estimated out"},
    {NULL, "members", MCDS_MEMBERS_EXACT, "its members are kept; give --exact"},
    {NULL, "members", MCDS_MEMBERS_ESTIMATED, "its members are estimated; give --estimated"},
    {"visitors", "period_ms", 0, "it was made with --period 0, for all time; give that"},
    {"counter", "stripes", 0, "it was made without --stripes; leave that out"},
    {"counter", "copies", 0, "it was made without --exact; leave that out"},
    {"views", "database", MCDS_VIEWS_OWN, VIEWS_OF_PROGRAM},
    {"log", "flags", 0, "it was made without --by-arrival; leave the option out"},
};

/* Sentences about a cause, by the structure, the result and the option. */
static const struct cause_saying {
    const char *noun;
    mcds_cause cause;
    int result;
    const char *option;
    const char *text;
} cause_sayings[] = {
    {"counter", MCDS_CAUSE_CONFLICT, MCDS_INVALID, "flags",
     "--exact goes with neither --stripes nor --ttl"},
    {"counter", MCDS_CAUSE_CONFLICT, MCDS_INVALID, "delta",
     "a negative N needs a counter that is not --plain"},
    {"counter", MCDS_CAUSE_FORM_DIFFERS, MCDS_CORRUPT, "",
     "it was made with --exact, --copies or --stripes; give that"},
    {"counter", MCDS_CAUSE_FORM_DIFFERS, MCDS_INVALID, "",
     "it was made with --plain and cannot go down; drop it to start again"},
    {"limit", MCDS_CAUSE_OUT_OF_RANGE, MCDS_INVALID, "patience_ms",
     "--burst window goes without --patience"},
    {"limit", MCDS_CAUSE_OUT_OF_RANGE, MCDS_INVALID, "rate_count",
     "--burst window goes with one --rate"},
    {"queue", MCDS_CAUSE_UNSUPPORTED, MCDS_UNSUPPORTED, "",
     "its server may evict jobs; if they may be lost, give --may-lose"},
    {"counter", MCDS_CAUSE_NOT_A_NUMBER, MCDS_CORRUPT, "",
     "the key does not hold a number; if it was made with --exact or --stripes, give that"},
};

static bool is_in_ms(const char *option)
{
    size_t length = strlen(option);
    return length > 3 && memcmp(option + length - 3, "_ms", 3) == 0;
}

/* The option for a field of the library, where that is not the option of the same name. */
static const struct typed {
    const char *noun; /* NULL: any */
    const char *option;
    const char *word;
} typed_words[] = {
    {"limit", "n", "N"},
    {"limit", "count", "the number of --rate"},
    {"limit", "per_ms", "the time of --rate"},
    {"cache", "hold_ms", "--for"},
    {"cache", "tag_count", "the number of --tag"},
    {NULL, "flush_ms", "--flush-every"},
};

/* "period_ms" is typed as --period. */
static void write_option(char out[OPTION_CAPACITY], const mcds_error *error)
{
    const char *option = error->option;
    for (size_t i = 0; i < sizeof typed_words / sizeof typed_words[0]; i++) {
        const struct typed *typed = &typed_words[i];
        if (strcmp(typed->option, option) == 0 &&
            (typed->noun == NULL || strcmp(typed->noun, error->noun) == 0)) {
            (void)snprintf(out, OPTION_CAPACITY, "%s", typed->word);
            return;
        }
    }
    size_t length = strlen(option) - (is_in_ms(option) ? 3 : 0);
    (void)snprintf(out, OPTION_CAPACITY, "--%.*s", (int)length, option);
    for (char *at = out; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
}

static void write_value(char out[DURATION_CAPACITY], const char *option, int64_t value)
{
    if (is_in_ms(option) && value > 0)
        format_duration((uint64_t)value, out);
    else
        (void)snprintf(out, DURATION_CAPACITY, "%" PRId64, value);
}

/* Whether a command without the option accepts the value that the structure was made with. */
static bool accepts_any(const mcds_error *error)
{
    return strcmp(error->noun, "log") == 0 || strcmp(error->noun, "queue") == 0;
}

static void write_difference(char *out, size_t capacity, const mcds_error *error)
{
    char option[OPTION_CAPACITY];
    char found[DURATION_CAPACITY];
    char wanted[DURATION_CAPACITY];
    for (size_t i = 0; i < sizeof sayings / sizeof sayings[0]; i++) {
        const struct saying *saying = &sayings[i];
        if (saying->found == error->found_number &&
            strcmp(saying->option, error->option) == 0 &&
            (saying->noun == NULL || strcmp(saying->noun, error->noun) == 0)) {
            (void)snprintf(out, capacity, "%s", saying->text);
            return;
        }
    }
    write_option(option, error);
    write_value(found, error->option, error->found_number);
    write_value(wanted, error->option, error->wanted_max);
    (void)snprintf(out, capacity, "it %s %s %s, not %s; %s",
                   strcmp(error->noun, "semaphore") == 0 ? "has" : "was made with", option,
                   found, wanted, accepts_any(error) ? "leave the option out" : "give that");
}

static void write_range(char *out, size_t capacity, const mcds_error *error)
{
    char option[OPTION_CAPACITY];
    char found[DURATION_CAPACITY];
    char least[DURATION_CAPACITY];
    char most[DURATION_CAPACITY];
    write_option(option, error);
    write_value(found, error->option, error->found_number);
    write_value(least, error->option, error->wanted_min);
    write_value(most, error->option, error->wanted_max);
    if (error->wanted_min == error->wanted_max)
        (void)snprintf(out, capacity, "%s must be %s, not %s", option, least, found);
    else
        (void)snprintf(out, capacity, "%s must be %s to %s%s, not %s", option, least, most,
                       strcmp(error->option, "period_ms") == 0 ? ", or 0 for all time" : "",
                       found);
}

/* Whether `option` of the library is one that is typed, and has a range of numbers. */
static bool has_typed_range(const mcds_error *error)
{
    return error->cause == MCDS_CAUSE_OUT_OF_RANGE && error->wanted_max > 0 &&
           error->wanted_min <= error->wanted_max && strcmp(error->option, "delta") != 0 &&
           strcmp(error->option, "when_ms") != 0;
}

/* The cause without the names before it. */
static void write_reason(char *out, size_t capacity, const mcds_error *error)
{
    for (size_t i = 0; i < sizeof cause_sayings / sizeof cause_sayings[0]; i++) {
        const struct cause_saying *saying = &cause_sayings[i];
        if (saying->cause == error->cause && saying->result == error->result &&
            strcmp(saying->noun, error->noun) == 0 &&
            strcmp(saying->option, error->option) == 0) {
            (void)snprintf(out, capacity, "%s", saying->text);
            return;
        }
    }
    if (error->cause == MCDS_CAUSE_OPTION_DIFFERS)
        write_difference(out, capacity, error);
    else if (has_typed_range(error))
        write_range(out, capacity, error);
    else
        (void)snprintf(out, capacity, "%s", error->reason);
}

/* The failure is that of the value of a key, not of the table. */
static bool is_about_a_key(const struct command *command, const mcds_error *error)
{
    return error->cause == MCDS_CAUSE_NOT_A_NUMBER && command != NULL &&
           command->verb->start == table_incr && command->bytes[1].length > 0;
}

/* To the library, a leader is a lock. */
static const char *noun_of(const struct command *command, const mcds_error *error)
{
    return command != NULL && command->noun->open == leader_open ? command->noun->word
                                                                 : error->noun;
}

/* The server or file, and the key of a value that cannot be read. */
static void write_place(char out[PLACE_CAPACITY], const mcds_error *error)
{
    const char *between = error->peer[0] != '\0' && error->key[0] != '\0' ? ", " : "";
    (void)snprintf(out, PLACE_CAPACITY, "%.*s%s%s%s", PEER_SHOWN, error->peer, between,
                   error->key[0] != '\0' ? "key " : "", error->key);
}

void describe_failure(char out[FAILURE_CAPACITY], const struct command *command)
{
    const mcds_error *error = mcds_last_error();
    const char *typed = command != NULL ? command->verb->word : "";
    const char *verb = error->verb[0] != '\0' && typed[0] != '\0' ? typed : error->verb;
    /* Of once the key is typed, and the name rarely. */
    bool is_of_key = command != NULL && command->noun != NULL &&
                     command->noun->open == once_open;
    const char *name = is_of_key ? command->arguments[0] : error->name;
    char reason[REASON_CAPACITY];
    char place[PLACE_CAPACITY];
    if (error->name[0] == '\0') {
        (void)snprintf(out, FAILURE_CAPACITY, "%s", mcds_errmsg());
        return;
    }
    if (is_about_a_key(command, error)) {
        mcds_bytes key = command->bytes[1];
        (void)snprintf(out, FAILURE_CAPACITY, "%s '%.*s': the value of '%.*s' is not a number",
                       error->noun, NAME_SHOWN, error->name,
                       key.length < NAME_SHOWN ? (int)key.length : NAME_SHOWN,
                       (const char *)key.data);
        return;
    }
    write_reason(reason, sizeof reason, error);
    write_place(place, error);
    (void)snprintf(out, FAILURE_CAPACITY, "%s '%.*s'%s%s%s%s: %s", noun_of(command, error),
                   NAME_SHOWN, name, verb[0] != '\0' ? ": " : "", verb,
                   place[0] != '\0' ? ": " : "", place, reason);
}

bool is_of_a_lost_file(int result)
{
    mcds_cause cause = mcds_last_error()->cause;
    return result == MCDS_IO &&
           (cause == MCDS_CAUSE_DAMAGED || cause == MCDS_CAUSE_FILE_REPLACED);
}

void describe_cause(char out[FAILURE_CAPACITY])
{
    const mcds_error *error = mcds_last_error();
    char reason[REASON_CAPACITY];
    char place[PLACE_CAPACITY];
    write_reason(reason, sizeof reason, error);
    write_place(place, error);
    (void)snprintf(out, FAILURE_CAPACITY, "%s%s%s", place, place[0] != '\0' ? ": " : "",
                   reason);
}

/* As advice_on, and names the verb that also erases values of other programs. */
static const char *advice_for(const struct command *command, int result)
{
    if (result == MCDS_CORRUPT && command->verb->start == counter_drop)
        return "";
    if (result == MCDS_CORRUPT && command->noun->open == counter_open)
        return ADVICE_ON_FOREIGN ", or drop it";
    if (result == MCDS_CORRUPT && command->noun->open == lock_open)
        return ADVICE_ON_FOREIGN ", or --break it";
    if (result == MCDS_CORRUPT && command->noun->open == leader_open)
        return ADVICE_ON_FOREIGN ", or break it with 'mcds lock NAME --break'";
    mcds_cause cause = mcds_last_error()->cause;
    if (result == MCDS_PROTOCOL && (cause == MCDS_CAUSE_PASSWORD || cause == MCDS_CAUSE_TLS ||
                                    cause == MCDS_CAUSE_CERTIFICATE))
        return "";
    return advice_on(result);
}

void explain_failure(char *out, size_t capacity, const struct command *command,
                     const struct answer *answer)
{
    const mcds_error *error = mcds_last_error();
    char said[FAILURE_CAPACITY];
    if (answer != NULL && answer->explain != NULL &&
        error->cause == MCDS_CAUSE_CALLBACK_FAILED) {
        answer->explain(answer->handle, command, out, capacity);
        return;
    }
    describe_failure(said, command);
    (void)snprintf(out, capacity, "%s%s", said,
                   is_about_a_key(command, error) ? "" : advice_for(command, error->result));
}

#define REMEDY "set the clock that is wrong"

/* By the structure and the result: what differs, by how much, what is accepted, and the remedy. */
static const struct clock_saying {
    const char *noun;
    int result;
    const char *before; /* precedes the difference of the clocks */
    const char *after;  /* precedes the difference that is accepted */
    const char *remedy;
} clock_sayings[] = {
    {"log", MCDS_TOO_OLD, "the event is ",
     " before this machine's clock; the log accepts --late ",
     "give the event another time, or " REMEDY},
    {"log", MCDS_TOO_FUTURE, "the event is ",
     " after this machine's clock; the log accepts --ahead ",
     "give the event another time, or " REMEDY},
    {"limit", MCDS_TOO_OLD, "this machine's clock is ",
     " before that of the last take of this identity; at most ", REMEDY ", or wait"},
    {"ids", MCDS_TOO_OLD, "this machine's clock is ",
     " before that of another caller; at most twice the --spread, ", REMEDY ", or wait"},
};

bool describe_clocks(char out[CLOCKS_CAPACITY], int result)
{
    const mcds_error *error = mcds_last_error();
    char difference[DURATION_CAPACITY];
    char accepted[DURATION_CAPACITY];
    if (result != MCDS_TOO_OLD && result != MCDS_TOO_FUTURE)
        return false;
    (void)snprintf(out, CLOCKS_CAPACITY, "%s", error->reason);
    if (error->found_number <= 0 || error->wanted_max <= 0)
        return true;
    format_rough((uint64_t)error->found_number, difference);
    format_duration((uint64_t)error->wanted_max, accepted);
    for (size_t i = 0; i < sizeof clock_sayings / sizeof clock_sayings[0]; i++) {
        const struct clock_saying *saying = &clock_sayings[i];
        if (saying->result == result && strcmp(saying->noun, error->noun) == 0)
            (void)snprintf(out, CLOCKS_CAPACITY, "%s%s%s%s: %s", saying->before, difference,
                           saying->after, accepted, saying->remedy);
    }
    return true;
}
