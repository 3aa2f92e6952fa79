/* Reports the limit for file sizes as an error instead of a signal. */
#include "store/lmdb/limit.h"

#include <pthread.h>
#include <sys/resource.h>

static sigset_t the_signal(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGXFSZ);
    return set;
}

void mcds__lmdb_limit_hold(struct mcds__lmdb_limit *limit)
{
    struct rlimit found;
    limit->held = false;
    if (getrlimit(RLIMIT_FSIZE, &found) != 0 || found.rlim_cur == RLIM_INFINITY)
        return;
    sigset_t set = the_signal();
    limit->held = pthread_sigmask(SIG_BLOCK, &set, &limit->before) == 0 &&
                  sigismember(&limit->before, SIGXFSZ) == 0;
}

/* A signal raised meanwhile is directed at this thread, and is consumed here. */
void mcds__lmdb_limit_release(struct mcds__lmdb_limit *limit)
{
    sigset_t pending;
    int number;
    if (!limit->held)
        return;
    sigset_t set = the_signal();
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1)
        (void)sigwait(&set, &number);
    (void)pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
    limit->held = false;
}
