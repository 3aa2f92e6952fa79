/* Deadline: a clock that passes every timeout.
 *
 *   signal --GRACE--> the clock moves, the wait is woken --GRACE--> the same for the next wait ...
 *
 * A server that still answers has the first GRACE for the requests in flight, and one more GRACE
 * for each request with which the command gives something back. */
#include "signals/deadline.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define GRACE_NS 500000000L
/* Longer than every timeout. STEPS_MAX steps do not overflow a time of the library. */
#define STEP_NS INT64_C(86400000000000)
#define STEPS_MAX 10000

static atomic_int steps;
static timer_t timer;
static volatile sig_atomic_t has_timer;
static struct sigaction alarm_before;

static int64_t moved_monotonic_ns(void *self)
{
    (void)self;
    const mcds_env *env = mcds_env_system();
    return env->monotonic_ns(env->self) + atomic_load(&steps) * STEP_NS;
}

static void moved_sleep_until_ns(void *self, int64_t monotonic_ns)
{
    int64_t left_ns;
    while ((left_ns = monotonic_ns - moved_monotonic_ns(self)) > 0) {
        struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
        (void)nanosleep(&left, NULL); /* a signal ends it */
    }
}

const mcds_env *deadline_env(void)
{
    static mcds_env env;
    env = *mcds_env_system();
    env.monotonic_ns = moved_monotonic_ns;
    env.sleep_until_ns = moved_sleep_until_ns;
    return &env;
}

/* The kernel does not restart a wait for a socket after a signal, even with SA_RESTART. */
static void move(int number)
{
    (void)number;
    if (atomic_load(&steps) < STEPS_MAX)
        (void)atomic_fetch_add(&steps, 1);
}

void deadline_open(void)
{
    struct sigevent event;
    struct sigaction action;
    memset(&event, 0, sizeof event);
    memset(&action, 0, sizeof action);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    action.sa_handler = move;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGALRM, &action, &alarm_before);
    has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) ==
                0; /* otherwise waits end at their timeouts */
}

void deadline_end_waits(void)
{
    const struct itimerspec when = {{0, GRACE_NS}, {0, GRACE_NS}};
    if (has_timer)
        (void)timer_settime(timer, 0, &when, NULL);
}

void deadline_close(void)
{
    if (has_timer)
        (void)timer_delete(timer);
    has_timer = 0;
    (void)sigaction(SIGALRM, &alarm_before, NULL);
}

void deadline_reset(void)
{
    atomic_store(&steps, 0);
}
