/* Acquire: the wait of `mcds lock` for its lock, and of `mcds semaphore run` for its permit. */
#ifndef MCDS_CLI_LOCK_ACQUIRE_H
#define MCDS_CLI_LOCK_ACQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/tenure.h"
#include "lock/watch.h"
#include "run/session.h"

struct acquisition {
    struct session *session;
    const struct command *command;
    struct tenure *tenure;
    struct watch *watch;
    int64_t begun_ns;     /* from when on the wait counts */
    int64_t asked_ns;     /* out: when the last try was begun */
    int64_t end_ns;       /* of the wait; INT64_MAX: there is none */
    bool is_trouble_told; /* that the store does not answer while we wait */
    bool is_holder_told;  /* to the terminal */
};

/* Waits for the lease as -w and -n request. On a terminal, a wait of more than a second names the holder.
 * True with the lease; false with the exit code, after it has said why, or after a signal. For a held
 * lock, it returns at the end of the wait. */
bool acquire_tenure(struct acquisition *acquisition, int *status_out);

#endif
