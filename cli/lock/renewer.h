/* Renewer: a thread that renews the lease, so that a slow store does not keep the lock runner from
 * watching its clock. Only the thread uses the lease while a renewal is in flight. */
#ifndef MCDS_CLI_LOCK_RENEWER_H
#define MCDS_CLI_LOCK_RENEWER_H

#include <pthread.h>
#include <stdbool.h>

#include "io/failure.h"
#include "lock/tenure.h"

struct renewer {
    struct tenure *tenure;
    pthread_t thread;
    int ask[2]; /* a byte: renew; closed: end */
    int answer; /* readable when a renewal is done; -1: there is no thread yet */
    bool is_started;
    bool is_busy;
    int result;                     /* of the last one */
    char message[FAILURE_CAPACITY]; /* its cause, or "" */
    char said[FAILURE_CAPACITY];    /* used by the thread while a renewal is in flight */
};

/* Starts no thread, because most commands end before the first renewal. */
void renewer_init(struct renewer *renewer, struct tenure *tenure);
/* Begins a renewal; none may be in flight. The first renewal starts the thread. False: the renewal
 * was not begun. */
bool renewer_ask(struct renewer *renewer);
/* Reads the outcome after `answer` has become readable. */
void renewer_take(struct renewer *renewer);
/* Ends the thread after the renewal in flight. */
void renewer_end(struct renewer *renewer);

#endif
