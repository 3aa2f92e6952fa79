/* Signals and time as file descriptors, so that one poll waits for all of them. */
#ifndef MCDS_CLI_LOCK_WATCH_H
#define MCDS_CLI_LOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "child/child.h"
#include "child/relay.h"

struct watch {
    int signals;
    int timer;
    struct inheritance inheritance;
};

/* From this call on, the signals of a lock runner arrive only through the watch.
 * `pipe_before` and `size_before` are what a program inherits for SIGPIPE and SIGXFSZ. */
bool watch_open(struct watch *watch, const struct sigaction *pipe_before,
                const struct sigaction *size_before);

/* Waits until wake_ns, a signal, or until `news` or `fd` is readable; true in the last case. Meanwhile
 * the relay, unless NULL, moves what is ready. */
bool watch_wait(struct watch *watch, int64_t wake_ns, int news, int fd, struct relay *relay);

/* The next signal received, or 0. */
int watch_signal(struct watch *watch);
/* Whether this signal is sent to end a program. */
bool watch_is_ending(int number);
/* Whether this signal comes from a mistake of the program that it ends. */
bool watch_is_mistake(int number);
/* The next signal received that ends a program, or 0. Drops the others. */
int watch_end(struct watch *watch);

#endif
