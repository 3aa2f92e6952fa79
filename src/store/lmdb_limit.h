/* The limit for file sizes of a process (ulimit -f). A write that would pass it raises SIGXFSZ,
 * which ends a process that does not expect it; while a limit is held, the write fails with EFBIG
 * instead. */
#ifndef MCDS_STORE_LMDB_LIMIT_H
#define MCDS_STORE_LMDB_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct mcds__lmdb_limit {
    bool held;
    sigset_t before; /* the signals that the thread had blocked */
};

/* Both in the same thread. Without a limit they cost a look at it and no more. */
void mcds__lmdb_limit_hold(struct mcds__lmdb_limit *limit);
void mcds__lmdb_limit_release(struct mcds__lmdb_limit *limit);

#endif
