/* The limit for file sizes of a process (ulimit -f). A write beyond it raises SIGXFSZ, which
 * ends a process that does not handle it. While a limit is held, the write fails with EFBIG
 * instead. */
#ifndef MCDS_STORE_LMDB_LIMIT_H
#define MCDS_STORE_LMDB_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct mcds__lmdb_limit {
    bool held;
    sigset_t before; /* the signal mask of the thread */
};

/* Call both in the same thread. Without a limit they only read it. */
void mcds__lmdb_limit_hold(struct mcds__lmdb_limit *limit);
void mcds__lmdb_limit_release(struct mcds__lmdb_limit *limit);

#endif
