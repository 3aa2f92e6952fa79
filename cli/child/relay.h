/* Relay: passes both output streams of a program on to those of mcds as they come, and shows them to
 * its owner.
 *
 *   program --pipe--> backlog --> standard output or standard error of mcds
 *                 \--> see()
 *
 * A reader that is slow or has stopped makes the program wait, as without mcds. mcds itself never
 * waits for it. */
#ifndef MCDS_CLI_CHILD_RELAY_H
#define MCDS_CLI_CHILD_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define RELAY_STREAMS 2
#define RELAY_FILES (2 * (size_t)RELAY_STREAMS) /* that it waits for */

struct relayed {
    int source; /* our end of the pipe; -1: nothing more comes */
    int target;
    int error; /* of the target, which gets nothing more; 0: none */
    char *backlog;
    size_t begin; /* of the bytes that wait */
    size_t end;
    size_t capacity;
};

struct relay {
    struct relayed streams[RELAY_STREAMS]; /* standard output, standard error */
    int ends[RELAY_STREAMS];               /* those of the program; -1: closed */
    /* `stream` is 0 for standard output, 1 for standard error. */
    void (*see)(void *context, size_t stream, const char *bytes, size_t length);
    void *context;
};

/* False: no file or memory. */
bool relay_open(struct relay *relay);
/* After the program has been started, or could not be. */
void relay_close_ends(struct relay *relay);

/* The files to wait for; entries without a file are -1. */
void relay_wait_for(const struct relay *relay, struct pollfd files[RELAY_FILES]);
/* Reads and writes what is ready, without waiting. */
void relay_move(struct relay *relay, const struct pollfd files[RELAY_FILES]);

/* Reads what a program that has ended has left in the pipes. */
void relay_drain(struct relay *relay);
/* Passes on the rest, waits for the readers, and closes the relay. Returns 0, or the errno of a
 * stream that cannot be written; a reader that has left is no failure. */
int relay_end(struct relay *relay);

#endif
