/* Acquire: the wait for a lock or a permit, in slices between which a signal can end it. */
#ifndef MCDS_CLI_LOCK_ACQUIRE_H
#define MCDS_CLI_LOCK_ACQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/outage.h"
#include "lock/tenure.h"
#include "lock/watch.h"
#include "run/session.h"

#define WAIT_WITHOUT_END UINT64_MAX

/* How long to wait, and for what. */
struct patience {
    int64_t begun_ns;      /* from when on the wait counts */
    uint64_t wait_ms;      /* 0: one try; WAIT_WITHOUT_END: until a signal */
    bool outlasts_silence; /* also while the store does not answer */
    const char *advice;    /* to a terminal after "Ctrl-C ends the wait" */
};

struct acquisition {
    struct session *session;
    const struct command *command;
    struct tenure *tenure;
    struct watch *watch;
    struct patience patience;
    int ended_by;         /* out: the signal that has ended the wait, or 0 */
    int64_t asked_ns;     /* out: when the last try was begun */
    int64_t end_ns;       /* of the wait; INT64_MAX: there is none */
    struct outage outage; /* while we wait */
    bool is_answered;     /* by the store */
    bool is_in_doubt;     /* the last result was AMBIGUOUS */
    bool is_holder_told;  /* to the terminal */
};

/* Waits for the lease. On a terminal, a wait of more than a second names the holder.
 * True with the lease; false with the exit code, after it has said why, or after a signal. For a held
 * lock, it returns at the end of the wait. */
bool acquire_tenure(struct acquisition *acquisition, int *status_out);

#endif
