/* Session: the output and the store that all commands of one run share. */
#ifndef MCDS_CLI_RUN_SESSION_H
#define MCDS_CLI_RUN_SESSION_H

#include <signal.h>

#include "config/config.h"
#include "table/command.h"

#define URI_MAX 4096

struct kept;

struct session {
    const struct noun *nouns; /* the table of commands */
    struct output output;
    mcds_options options;
    char uri[URI_MAX];
    const char *uri_origin; /* why it is this one */
    const char *uri_source; /* for a sentence: "$MCDS_STORE", a line of a file, or "" */
    char source[CONFIG_PATH_CAPACITY + 32];
    const char *profile; /* or NULL */
    struct config config;
    bool is_default;
    bool is_absent; /* the default store does not exist: `store` is an empty one in its place */
    mcds_store *store;
    struct kept *kept;             /* of a shell, whose lines share the store; or NULL */
    const struct command *command; /* that opens it */
    struct sigaction pipe_before;  /* the action of SIGPIPE when we were started */
    struct sigaction size_before;  /* the action of SIGXFSZ */
    int keyboard_signal;           /* that has ended COMMAND on the terminal, or 0 */
};

/* "from FILE:LINE", of a setting that the configuration has. */
void write_origin(const struct session *session, enum setting_id id, char *out,
                  size_t capacity);

/* Selects the store without opening it. Returns 0 or, with the sentence printed, the exit code. */
int session_choose_store(struct session *session, const struct command *command);

/* Whether the selected store is private to this process and ends with it. */
bool session_is_private(const struct session *session);
/* Whether the selected store is a memcached server. A signal ends the waits for it. */
bool session_has_server(const struct session *session);
/* The timeout of the selected store. */
uint32_t session_timeout_ms(const struct session *session);
/* Opens the store that the user has named. A command that only reads does not make its file: the
 * path may be mistyped. Returns the result of opening it. */
int open_named(const struct command *command, const char *uri, const mcds_options *options,
               mcds_store **store_out);
/* Opens the store unless it is open. A command that changes nothing does not make the default
 * store. Returns the result of the open. */
int session_open(struct session *session);
/* Prints why session_open has just failed with `result`. Returns the exit code. */
int session_refuse(struct session *session, int result);
/* Opens the store. Returns 0 or, with the sentence printed, the exit code. */
int session_open_store(struct session *session);

/* Opens the default store where it was absent; makes it for a command that changes something. All
 * handles must be opened again if is_absent is false afterwards. Returns 0, or an exit code with a
 * sentence. */
int session_find_store(struct session *session, const struct command *command, char *sentence,
                       size_t capacity);

/* Waits until another process has made the default store, and looks for it at this interval.
 * Returns 0, also when standard output has no reader any more and the store is_absent, or, with the
 * sentence printed, the exit code. */
int session_wait_for_store(struct session *session, const struct command *command,
                           int interval_ms);

/* Calls a function that changes something in the store, or only reads. A signal ends the wait for a server
 * that does not answer. It ends the process after the function has reported the outcome of a change,
 * unless that is AMBIGUOUS; without a change at once. */
int session_call(struct session *session, const struct command *command,
                 int (*call)(struct session *session, const struct command *command));

/* Executes one command that is an operation of a structure, and prints the result; returns the exit
 * code. */
int session_operate(struct session *session, const struct command *command);

#endif
