/* Acquire: the wait for a lock or a permit, in slices between which a signal can end it. */
#include "lock/acquire.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"

#define NS_PER_MS INT64_C(1000000)
#define DAY_MS UINT64_C(86400000)
/* How long a wait for a held lock continues before it checks for signals. */
#define SLICE_NS (100 * NS_PER_MS)
/* Time reserved for the last replies of the store: a call with less time could be ambiguous on a
 * store that answers. It is at the end of the wait, and after it while the lock is held. */
#define RESERVE_NS (200 * NS_PER_MS)
/* After this time a terminal gets the name of the holder. */
#define SILENT_NS (1000 * NS_PER_MS)
#define HOLDER_CAPACITY (TENURE_TEXT_CAPACITY + 120)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether a wait continues after this result. Only a wait requested with -w continues while the
 * store does not answer; `row` counts such results in a row. */
static bool is_worth_waiting(struct acquisition *acquisition, int result, int row)
{
    char said[FAILURE_CAPACITY];
    bool asked_for = is_given(acquisition->command, OPTION_WAIT);
    bool silent = result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE;
    if (result == MCDS_BUSY || (result == MCDS_AMBIGUOUS && row == 1))
        return true;
    if (!asked_for || (!silent && result != MCDS_AMBIGUOUS))
        return false;
    if (!acquisition->is_trouble_told) {
        describe_failure(said, acquisition->command);
        complain(&acquisition->session->output, "%s; still waiting for the %s", said,
                 acquisition->tenure->kind->thing);
    }
    acquisition->is_trouble_told = true;
    return true;
}

/* Limits the next call to `most_ns`. */
static void hurry(const struct acquisition *acquisition, int64_t most_ns)
{
    int64_t most_ms = least(most_ns / NS_PER_MS, UINT32_MAX);
    mcds_limit_timeout(acquisition->session->store, most_ms > 0 ? (uint32_t)most_ms : 1);
}

/* One call for the lease. It waits a slice for another holder and leaves the rest of the time to the
 * store. One that has answered gets `grace_ns` in any case, so the last slice ends with the wait. */
static int acquire_slice(struct acquisition *acquisition, int64_t grace_ns)
{
    int64_t left_ns = acquisition->end_ns - acquisition->asked_ns;
    if (left_ns < 0)
        left_ns = 0;
    int64_t slice_ns = least(grace_ns > 0 ? left_ns : left_ns / 2, SLICE_NS);
    uint32_t slice_ms = (uint32_t)((slice_ns + NS_PER_MS - 1) / NS_PER_MS);
    hurry(acquisition, left_ns - slice_ns > grace_ns ? left_ns - slice_ns : grace_ns);
    struct tenure *tenure = acquisition->tenure;
    return tenure->kind->acquire(tenure->handle, &tenure->permit, slice_ms > 0 ? slice_ms : 1);
}

/* Names the holder, and the time left unless the holder renews. Returns whether they are known. */
static bool describe_holder(const struct acquisition *acquisition, char out[HOLDER_CAPACITY])
{
    const struct tenure *tenure = acquisition->tenure;
    char text[TENURE_TEXT_CAPACITY];
    bool is_known = tenure->kind->describe(tenure->handle, text);
    (void)snprintf(out, HOLDER_CAPACITY, "%s '%.100s': %s", tenure->kind->noun,
                   acquisition->command->arguments[0], text);
    return is_known;
}

/* Once: without it a user sees nothing happen, and neither why nor how to end it. */
static void tell_of_holder(struct acquisition *acquisition)
{
    char holder[HOLDER_CAPACITY];
    int64_t now_ns = watch_now_ns();
    if (acquisition->is_holder_told || acquisition->session->output.quiet ||
        now_ns - acquisition->begun_ns < SILENT_NS || isatty(STDERR_FILENO) != 1)
        return;
    hurry(acquisition, acquisition->end_ns - now_ns);
    acquisition->is_holder_told = describe_holder(acquisition, holder);
    if (acquisition->is_holder_told)
        complain(&acquisition->session->output,
                 "%s unless renewed; waiting: Ctrl-C ends the wait%s", holder,
                 is_given(acquisition->command, OPTION_WAIT) ? "" : ", -w TIME limits it");
}

/* Acquires in slices, between which a signal can end the wait. Returns the result of the
 * library, or the number of a signal in *signal_out. */
static int acquire(struct acquisition *acquisition, int *signal_out)
{
    const struct command *command = acquisition->command;
    int64_t wait_ns = (int64_t)number_of(command, OPTION_WAIT, DAY_MS) * NS_PER_MS;
    bool once = is_given(command, OPTION_NOWAIT) || wait_ns == 0;
    int64_t reserve_ns = least(wait_ns / 2, RESERVE_NS);
    int64_t grace_ns = 0;
    int row = 0;
    acquisition->end_ns = once ? INT64_MAX : acquisition->begun_ns + wait_ns;
    acquisition->asked_ns = watch_now_ns();
    for (;;) {
        int result = once ? acquisition->tenure->kind->acquire(acquisition->tenure->handle,
                                                               &acquisition->tenure->permit, 0)
                          : acquire_slice(acquisition, grace_ns);
        row = result == MCDS_BUSY ? 0 : row + 1;
        if (result == MCDS_OK || once || !is_worth_waiting(acquisition, result, row))
            return result;
        while ((*signal_out = watch_signal(acquisition->watch)) != 0)
            if (*signal_out != SIGCHLD && *signal_out != SIGCONT)
                return result;
        if (result == MCDS_BUSY)
            tell_of_holder(acquisition);
        acquisition->asked_ns = watch_now_ns();
        grace_ns = result == MCDS_BUSY ? reserve_ns : 0;
        if (acquisition->asked_ns >= acquisition->end_ns - reserve_ns + grace_ns)
            return result;
    }
}

/* Prints why it was not acquired; returns the exit code. */
static int report_busy(const struct acquisition *acquisition)
{
    char holder[HOLDER_CAPACITY];
    (void)describe_holder(acquisition, holder);
    report_failure(&acquisition->session->output, acquisition->command, STATUS_BUSY,
                   "MCDS_BUSY", holder);
    return (int)number_of(acquisition->command, OPTION_EXIT, STATUS_BUSY);
}

/* Of a semaphore alone: a lock needs nothing in the store. */
static int report_missing(const struct acquisition *acquisition)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence,
                   "%s '%.200s': there is none; make it with --permits N",
                   acquisition->tenure->kind->noun, acquisition->command->arguments[0]);
    report_failure(&acquisition->session->output, acquisition->command, STATUS_USAGE,
                   "MCDS_NOT_FOUND", sentence);
    return STATUS_USAGE;
}

static int report_failed(const struct acquisition *acquisition, int result)
{
    char said[FAILURE_CAPACITY];
    char sentence[SENTENCE_MAX];
    if (result == MCDS_BUSY)
        return report_busy(acquisition);
    if (result == MCDS_NOT_FOUND)
        return report_missing(acquisition);
    describe_failure(said, acquisition->command);
    (void)snprintf(sentence, sizeof sentence, "%s%s%s", said, advice_on(result),
                   result == MCDS_CORRUPT && acquisition->tenure->kind == &tenure_of_lock
                       ? ", or --break it"
                       : "");
    report_failure(&acquisition->session->output, acquisition->command, status_of(result),
                   mcds_result_name(result), sentence);
    return status_of(result);
}

bool acquire_tenure(struct acquisition *acquisition, int *status_out)
{
    int number = 0;
    int result = acquire(acquisition, &number);
    int64_t left_ns = acquisition->end_ns - watch_now_ns();
    hurry(acquisition, result == MCDS_BUSY && left_ns < RESERVE_NS ? RESERVE_NS : left_ns);
    if (number != 0)
        *status_out = STATUS_SIGNAL + number;
    else if (result != MCDS_OK)
        *status_out = report_failed(acquisition, result);
    if (result == MCDS_AMBIGUOUS) { /* it may be ours */
        int released = tenure_release(acquisition->tenure);
        (void)released; /* it ends by itself */
    }
    if (result == MCDS_OK)
        mcds_limit_timeout(acquisition->session->store, 0);
    return result == MCDS_OK;
}
