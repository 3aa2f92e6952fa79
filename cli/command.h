/* What one command is made of: the types of the table, and a command line read by it. */
#ifndef MCDS_CLI_COMMAND_H
#define MCDS_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcds.h"
#include "output.h"

#define ARGUMENTS_MAX 2

enum option_id {
    OPTION_STORE,
    OPTION_NAMESPACE,
    OPTION_TIMEOUT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_SIGNED,
    OPTION_PLAIN,
    OPTION_STRIPES,
    OPTION_TTL,
    OPTION_LEASE,
    OPTION_WAIT,
    OPTION_NOWAIT,
    OPTION_EXIT,
    OPTION_LABEL,
    OPTION_INFO,
    OPTION_BREAK,
    OPTION_PERIOD,
    OPTION_CLOSED,
    OPTION_BUCKETS,
    OPTION_WIDTH,
    OPTION_COUNT
};

#define BIT(id) (UINT32_C(1) << (id))

enum kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NAME,    /* 1 to 1024 bytes */
    KIND_NUMBER,  /* min to max */
    KIND_DELTA,   /* signed; its magnitude is at most max */
    KIND_DURATION /* min to max, in ms */
};

/* An option or a positional argument. */
struct parameter {
    char letter;      /* of an option; '\0' = none */
    const char *word; /* of an option */
    const char *placeholder;
    enum kind kind;
    bool optional; /* argument */
    uint64_t min;
    uint64_t max;
    const char *help;
};

struct value {
    bool given;
    uint64_t number;
    const char *text;
};

struct command {
    const struct noun *noun;
    const struct verb *verb;
    struct value options[OPTION_COUNT];
    const char *arguments[ARGUMENTS_MAX]; /* NULL = not given */
    int64_t delta;                        /* the KIND_DELTA argument; 1 when not given */
    char *const *program;                 /* what stands behind --, ended by NULL, or NULL */
};

/* Where an operation leaves its outcome. */
union answer {
    int64_t number;
    mcds_counter_value counter;
    mcds_visitors_value visitors;
    mcds_online_value online;
    mcds_lock_holder holder;
};

struct session;

/* Whether a batch may have several of this verb on one structure under way. */
enum overlap {
    OVERLAP_FREELY,
    OVERLAP_SETTLED, /* once one has succeeded: the first may take longer than the next */
    OVERLAP_NEVER
};

struct verb {
    const char *word;                         /* "" when the noun is the whole command */
    const struct parameter *const *arguments; /* ended by NULL; the first is the name */
    uint32_t options;                         /* BITs of those that it takes */
    enum overlap overlap;
    /* One operation of a structure; NULL when `run` does it. */
    int (*start)(void *handle, const struct command *command, union answer *answer,
                 mcds_pipeline *pipeline, uint64_t tag);
    void (*print)(struct output *output, const struct command *command,
                  const union answer *answer, int result);
    /* Everything else; returns the exit code. With `start`: when a program is given. */
    int (*run)(struct session *session, const struct command *command);
    const char *help;
};

struct noun {
    const char *word;
    const char *missing; /* what is said when there is none of that name */
    uint32_t shape;      /* BITs of the options that make another handle */
    int (*open)(mcds_store *store, const struct command *command, void **handle_out);
    void (*close)(void *handle);
    const struct verb *verbs; /* ended by word NULL */
    const char *help;
};

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
