/* The types of the table of commands, and of a parsed command line. */
#ifndef MCDS_CLI_TABLE_COMMAND_H
#define MCDS_CLI_TABLE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/output.h"
#include "mcds.h"

#define ARGUMENTS_MAX 3 /* the first is the name */

enum option_id {
    OPTION_STORE,
    OPTION_NAMESPACE,
    OPTION_TIMEOUT,
    OPTION_PROFILE,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_GLOBALS, /* the number of those above, which every command takes anywhere before -- */
    OPTION_SIGNED = OPTION_GLOBALS,
    OPTION_PLAIN,
    OPTION_STRIPES,
    OPTION_EXACT,
    OPTION_COPIES,
    OPTION_TTL,
    OPTION_LEASE,
    OPTION_WAIT,
    OPTION_NOWAIT,
    OPTION_EXIT,
    OPTION_SHARED,
    OPTION_LABEL,
    OPTION_INFO,
    OPTION_BREAK,
    OPTION_DROP,
    OPTION_PERIOD,
    OPTION_CLOSED,
    OPTION_BUCKETS,
    OPTION_WIDTH,
    OPTION_PERMITS,
    OPTION_ESTIMATED,
    OPTION_BAG,
    OPTION_LIST,
    OPTION_ENTRY_TTL,
    OPTION_IF_ABSENT,
    OPTION_IF_IS,
    OPTION_RAW,
    OPTION_RAW_LINES,
    OPTION_CURSOR,
    OPTION_LIMIT,
    OPTION_SKIP,
    OPTION_AT,
    OPTION_TIMED,
    OPTION_BY_ARRIVAL,
    OPTION_RETENTION,
    OPTION_CHUNK,
    OPTION_LATE,
    OPTION_AHEAD,
    OPTION_FROM,
    OPTION_TO,
    OPTION_NEWEST_FIRST,
    OPTION_FOLLOW,
    OPTION_LAST,
    OPTION_CURSOR_FILE,
    OPTION_DATABASE,
    OPTION_FLUSH,
    OPTION_ADD,
    OPTION_REMOVE,
    OPTION_ALL,
    OPTION_YES,
    OPTION_LONG,
    OPTION_NOUN,
    OPTION_INTERVAL,
    OPTION_ONCE,
    OPTION_REST,
    OPTION_OUTPUT,
    OPTION_REPLACE,
    OPTION_RESUME,
    OPTION_TAG,
    OPTION_STALE,
    OPTION_NOTHING,
    OPTION_FOR,
    OPTION_RATE,
    OPTION_BURST,
    OPTION_PATIENCE,
    OPTION_HOW_MANY,
    OPTION_BITS,
    OPTION_SPREAD,
    OPTION_IN,
    OPTION_KEEP,
    OPTION_RUN,
    OPTION_STRICT,
    OPTION_RETRY_FAILED,
    OPTION_SETTLE,
    OPTION_FORGET,
    OPTION_DELAY,
    OPTION_FILE,
    OPTION_VISIBLE,
    OPTION_TRIES,
    OPTION_JOB_WAIT,
    OPTION_UNTIL_EMPTY,
    OPTION_JOBS_MAX,
    OPTION_MAY_LOSE,
    OPTION_TOKEN,
    OPTION_TOKEN_FD,
    OPTION_ON_LOST,
    OPTION_BAIL,
    OPTION_COUNT
};

/* A list of options, ended by OPTION_COUNT. */
#define OPTIONS(...) ((const enum option_id[]){__VA_ARGS__, OPTION_COUNT})
#define OPTIONS_GLOBAL                                                                         \
    OPTIONS(OPTION_STORE, OPTION_NAMESPACE, OPTION_TIMEOUT, OPTION_PROFILE, OPTION_JSON,       \
            OPTION_QUIET, OPTION_COLOR, OPTION_HELP, OPTION_VERSION)

enum kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NAME,     /* 1 to 1024 bytes */
    KIND_CHOICE,   /* one of `choices`; its number is the index */
    KIND_NUMBER,   /* min to max */
    KIND_DELTA,    /* signed; its magnitude is at most max */
    KIND_DURATION, /* min to max, in ms */
    KIND_MOMENT    /* in ms since 1970, at least 1 */
};

/* The input that a verb reads from standard input. */
enum input {
    INPUT_NONE,
    INPUT_LINES, /* this argument is - or missing: each line has it and the following ones */
    INPUT_WHOLE  /* this argument is -: all of it, unchanged */
};

/* An option or a positional argument. */
struct parameter {
    char letter;      /* of an option; '\0' = none */
    const char *word; /* of an option */
    const char *placeholder;
    enum kind kind;
    const char *const *choices; /* of KIND_CHOICE, ended by NULL */
    uint64_t min;
    uint64_t max;
    const char *help;
    bool optional;    /* argument: it and those after it */
    bool many;        /* argument, the last: one or more; option: may be given again */
    bool each;        /* argument, the last: one or more, each for an operation of its own */
    enum input input; /* argument */
    bool needs_dash;  /* argument of INPUT_LINES: missing, it does not mean standard input */
};

struct value {
    bool given;
    uint64_t number; /* of a text: a hash */
    const char *text;
};

struct command {
    const struct noun *noun;
    const struct verb *verb;
    const char *store_uri; /* the store, and the prefix of its keys */
    const char *store_ns;
    struct value options[OPTION_COUNT];
    const char *arguments[ARGUMENTS_MAX]; /* NULL = not given */
    /* The same, or the arguments from standard input, which may have NUL bytes. */
    mcds_bytes bytes[ARGUMENTS_MAX];
    enum input input;
    bool is_input_untold; /* standard input is used without a - */
    bool is_of_several;   /* others were typed with it: its failure names the element */
    bool is_guess;        /* the structure is opened without asking how it was made */
    bool was_guessed;     /* that did not find it: it is opened only if it was made */
    /* An argument or option that may be repeated, and --remove, in one allocation. */
    mcds_bytes *elements;
    size_t element_count;
    mcds_bytes *removals;
    size_t removal_count;
    int64_t delta;        /* the argument that is a number; 1 when not given */
    char *const *program; /* the words after --, ended by NULL, or NULL */
};

/* The outcome of an operation. */
struct answer {
    union {
        bool changed;
        int64_t number;
        uint64_t id; /* the first of them */
        mcds_counter_value counter;
        mcds_visitors_value visitors;
        mcds_online_value online;
        mcds_lock_holder holder;
        mcds_once_value once;
        uint32_t above; /* holders of a semaphore, above its new number */
        mcds_table_cursor cursor;
        mcds_limit_value limit;
        mcds_limit_cursor identities;
        mcds_job job;
        mcds_queue_counts jobs;
        size_t done; /* elements, of a verb that takes many */
    };
    mcds_value value;
    mcds_log_info info;
    uint64_t count; /* of the elements that a scan has visited */
    /* Where a verb that is_many prints its results, and the text gathered there unless that is the
     * output itself. */
    struct output *items;
    const char *gathered;
    /* Writes the sentence where a callback of the handle has failed; or NULL. */
    void (*explain)(const void *handle, const struct command *command, char *out,
                    size_t capacity);
    const void *handle; /* of `explain` */
};

struct session;

/* Whether a batch may have several operations of this verb on one structure in flight. Those of
 * different verbs wait for each other, unless both are OVERLAP_APART. */
enum overlap {
    OVERLAP_FREELY,
    OVERLAP_SETTLED, /* once one has succeeded: the first may take longer than the next */
    OVERLAP_APART,   /* if their second arguments differ, or are not given */
    OVERLAP_NEVER
};

/* How the lines of standard input become operations. */
enum feeding {
    FEED_NONE,
    FEED_EACH,     /* one for each line, many in flight */
    FEED_IN_ORDER, /* the same; those on one element, whose order counts, one after the other */
    FEED_CHUNKS,   /* one for many lines, one after the other */
    FEED_ALL       /* one for all lines */
};

/* The meaning of answer->changed. */
enum change {
    CHANGE_UNTOLD,  /* not used: every success has changed something */
    CHANGE_TOLD,    /* whether anything was changed */
    CHANGE_DEMANDED /* the same, and if not, the answer is NOT_FOUND */
};

struct verb {
    const char *word;                         /* "" when the noun is the whole command */
    const struct parameter *const *arguments; /* ended by NULL; the first is the name */
    const enum option_id *options;            /* besides the global ones; NULL: none */
    enum overlap overlap;                     /* if it has `start` */
    enum feeding feed;
    bool erases;       /* erases data: never offered as a guess */
    bool runs_program; /* `run` takes a program, and there is no `start` */
    bool is_many;      /* it prints any number of results by itself, into answer->items */
    bool makes;        /* of a noun that keeps_options, and of batch: it may make a structure */
    bool takes_lines;  /* it reads commands, each of which may make the default store */
    /* One operation of a structure; NULL when `run` does it. */
    int (*start)(void *handle, const struct command *command, struct answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag);
    void (*print)(struct output *output, const struct command *command,
                  const struct answer *answer, int result);
    /* Everything else; returns the exit code. With `start`: when a program is given. */
    int (*run)(struct session *session, const struct command *command);
    enum change change;
    /* Whether `print` prints something after many results. */
    bool (*has_more)(const struct answer *answer);
    /* The words for EXISTS when it is a no; NULL when it is not. */
    const char *refused;
    const char
        *done; /* participle, "added": for the result of a feed and for an ambiguous result */
    const char *help;
    /* Of its lines on a terminal; NULL: they are not aligned. */
    const struct column *columns;
};

struct noun {
    const char *word;
    const char *missing;         /* text when there is none of that name */
    const enum option_id *shape; /* the options that make another handle; NULL: none */
    bool keeps_options;          /* a structure keeps the options it was made with */
    bool shows_options; /* a handle with other options gets MCDS_CORRUPT and changes nothing */
    int (*open)(mcds_store *store, const struct command *command, void **handle_out);
    void (*close)(void *handle);
    const struct verb *verbs; /* ended by word NULL */
    const char *help;
    /* Returns a sentence if a parsed command is not valid, or NULL. */
    const char *(*why_not)(const struct command *command);
};

/* Whether the list, which may be NULL, has the option. */
static inline bool is_among(const enum option_id *list, int id)
{
    while (list != NULL && *list != OPTION_COUNT)
        if ((int)*list++ == id)
            return true;
    return false;
}

/* Whether a command takes the option: a global one, or one of the verb unless that is NULL. */
static inline bool takes_option(const struct verb *verb, int id)
{
    return id < OPTION_GLOBALS || (verb != NULL && is_among(verb->options, id));
}

static inline bool is_given(const struct command *command, enum option_id id)
{
    return command->options[id].given;
}

/* The option's number, or `otherwise` when it is not given. */
static inline uint64_t number_of(const struct command *command, enum option_id id,
                                 uint64_t otherwise)
{
    return command->options[id].given ? command->options[id].number : otherwise;
}

#endif
