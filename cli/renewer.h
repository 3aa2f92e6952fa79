/* Renewal in a thread of its own: a store that is slow must not keep the lock runner from
 * watching its clock. The lease belongs to the thread while a renewal is under way. */
#ifndef MCDS_CLI_RENEWER_H
#define MCDS_CLI_RENEWER_H

#include <pthread.h>
#include <stdbool.h>

#include "mcds.h"

#define RENEWER_MESSAGE_ROOM 512

struct renewer {
    mcds_lock *lock;
    mcds_lease *lease;
    pthread_t thread;
    int ask[2]; /* a byte: renew; closed: end */
    int answer; /* readable when a renewal is done */
    bool is_busy;
    int result;                         /* of the last one */
    char message[RENEWER_MESSAGE_ROOM]; /* its sentence, or "" */
    char said[RENEWER_MESSAGE_ROOM];    /* the thread's, while a renewal is under way */
};

/* False when the thread cannot be had. */
bool renewer_start(struct renewer *renewer, mcds_lock *lock, mcds_lease *lease);
/* Begin a renewal; none may be under way. */
void renewer_ask(struct renewer *renewer);
/* Take the outcome once `answer` is readable. */
void renewer_take(struct renewer *renewer);
/* End the thread, after the renewal that is under way. */
void renewer_end(struct renewer *renewer);

#endif
