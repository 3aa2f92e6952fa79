/* Acquire: a wait in slices. */
#include "lock/acquire.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "io/waiting.h"
#include "signals/interrupt.h"

#define NS_PER_MS INT64_C(1000000)
/* How long a wait for a held lock continues before it checks for signals. */
#define SLICE_NS (100 * NS_PER_MS)
/* Time reserved for the last replies of the store: a call with less time could be ambiguous on a
 * store that answers. It is at the end of the wait, and after it while the lock is held. */
#define RESERVE_NS (200 * NS_PER_MS)
/* A wait that ends within this time reports a silent store only at its end. */
#define SOON_NS (10000 * NS_PER_MS)
#define HOLDER_CAPACITY (TENURE_TEXT_CAPACITY + 120)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether a wait continues after this result; `row` counts the results in a row that say nothing of
 * the holder. */
static bool is_worth_waiting(struct acquisition *acquisition, int result, int row)
{
    char said[FAILURE_CAPACITY];
    if (result == MCDS_BUSY || (result == MCDS_AMBIGUOUS && row == 1))
        return true;
    if (!acquisition->patience.outlasts_silence || !is_unanswered(result))
        return false;
    if (acquisition->end_ns - clock_ns() < SOON_NS)
        return true;
    describe_failure(said, acquisition->command);
    outage_begin(&acquisition->outage, &acquisition->session->output, said);
    return true;
}

/* Limits the next call to `most_ns`. A wait that does not outlast a silent store ends one timeout
 * after its beginning, unless the store has answered: the structure was opened in that time. */
static void hurry(const struct acquisition *acquisition, int64_t most_ns)
{
    const struct patience *patience = &acquisition->patience;
    int64_t timeout_ns = session_timeout_ms(acquisition->session) * NS_PER_MS;
    if (!patience->outlasts_silence && !acquisition->is_answered)
        most_ns = least(most_ns, patience->begun_ns + timeout_ns - clock_ns());
    int64_t most_ms = least(most_ns / NS_PER_MS, UINT32_MAX);
    mcds_limit_timeout(acquisition->session->store, most_ms > 0 ? (uint32_t)most_ms : 1);
}

/* A look, and a pause unless it is free: then MCDS_NOT_FOUND. */
static int stand_by(struct acquisition *acquisition, int64_t slice_ns)
{
    const struct tenure *tenure = acquisition->tenure;
    int result = tenure->kind->look(tenure->handle);
    if (result != MCDS_NOT_FOUND)
        (void)watch_wait(acquisition->watch, clock_ns() + slice_ns, -1, -1, NULL);
    return result == MCDS_OK ? MCDS_BUSY : result;
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
    if (tenure->kind->look != NULL && !acquisition->is_in_doubt) {
        int result = stand_by(acquisition, slice_ns);
        if (result != MCDS_NOT_FOUND)
            return result;
    }
    return tenure->kind->acquire(tenure, slice_ms > 0 ? slice_ms : 1);
}

static int acquire_once(struct acquisition *acquisition)
{
    hurry(acquisition, INT64_MAX);
    return acquisition->tenure->kind->acquire(acquisition->tenure, 0);
}

/* Names the holder, and the time left unless the holder renews. Returns whether they are known. */
static bool describe_holder(const struct acquisition *acquisition, bool is_waiting,
                            char out[HOLDER_CAPACITY])
{
    const struct tenure *tenure = acquisition->tenure;
    char text[TENURE_TEXT_CAPACITY];
    bool is_known = tenure->kind->describe(tenure, is_waiting, text);
    (void)snprintf(out, HOLDER_CAPACITY, "%s '%.100s': %s", tenure->kind->noun,
                   acquisition->command->arguments[0], text);
    return is_known;
}

/* Once: without it, a user sees nothing happen, and neither why nor how to end it. */
static void tell_of_holder(struct acquisition *acquisition)
{
    char holder[HOLDER_CAPACITY];
    int64_t now_ns = clock_ns();
    if (acquisition->is_holder_told ||
        now_ns - acquisition->patience.begun_ns < WAITING_SILENT_MS * NS_PER_MS ||
        !waiting_is_told(&acquisition->session->output))
        return;
    hurry(acquisition, acquisition->end_ns - now_ns);
    acquisition->is_holder_told = describe_holder(acquisition, true, holder);
    if (acquisition->is_holder_told)
        waiting_tell(&acquisition->session->output, holder, acquisition->patience.advice);
}

/* The store answers, and another holds it. */
static void note_holder(struct acquisition *acquisition)
{
    outage_end(&acquisition->outage, &acquisition->session->output);
    tell_of_holder(acquisition);
}

/* Acquires in slices, between which a signal can end the wait. Returns the last result of the
 * library. */
static int acquire(struct acquisition *acquisition)
{
    const struct patience *patience = &acquisition->patience;
    bool once = patience->wait_ms == 0;
    bool is_endless = patience->wait_ms == WAIT_WITHOUT_END;
    int64_t wait_ns = is_endless ? INT64_MAX : (int64_t)patience->wait_ms * NS_PER_MS;
    int64_t reserve_ns = least(wait_ns / 2, RESERVE_NS);
    int64_t grace_ns = 0;
    int row = 0;
    acquisition->end_ns = once || is_endless ? INT64_MAX : patience->begun_ns + wait_ns;
    acquisition->asked_ns = clock_ns();
    for (;;) {
        int result = once ? acquire_once(acquisition) : acquire_slice(acquisition, grace_ns);
        acquisition->is_answered = acquisition->is_answered || !is_unanswered(result);
        row = result == MCDS_BUSY ? 0 : row + 1;
        acquisition->is_in_doubt = result == MCDS_AMBIGUOUS;
        acquisition->ended_by = interrupt_number();
        if (acquisition->ended_by != 0 || result == MCDS_OK || once ||
            !is_worth_waiting(acquisition, result, row))
            return result;
        acquisition->ended_by = watch_end(acquisition->watch);
        if (acquisition->ended_by != 0)
            return result;
        if (result == MCDS_BUSY)
            note_holder(acquisition);
        acquisition->asked_ns = clock_ns();
        grace_ns = result == MCDS_BUSY ? reserve_ns : 0;
        if (acquisition->asked_ns >= acquisition->end_ns - reserve_ns + grace_ns)
            return result;
    }
}

/* Prints why it was not acquired; returns the exit code. */
static int report_busy(const struct acquisition *acquisition)
{
    char holder[HOLDER_CAPACITY];
    (void)describe_holder(acquisition, false, holder);
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
                   result == MCDS_CORRUPT ? acquisition->tenure->kind->corrupt_advice : "");
    report_failure(&acquisition->session->output, acquisition->command, status_of(result),
                   mcds_result_name(result), sentence);
    return status_of(result);
}

/* A signal has ended the wait. */
static void end_by_signal(const struct acquisition *acquisition, int result)
{
    const struct tenure_kind *kind = acquisition->tenure->kind;
    int released = MCDS_OK;
    if (result == MCDS_OK || result == MCDS_AMBIGUOUS)
        released = tenure_release(acquisition->tenure);
    if (is_unanswered(released))
        complain(&acquisition->session->output,
                 "%s '%.200s': ended by signal %d; the %s may be held, and ends by itself",
                 kind->noun, acquisition->command->arguments[0], acquisition->ended_by,
                 kind->lease);
}

static bool acquire_and_report(struct acquisition *acquisition, int *status_out)
{
    int result = acquire(acquisition);
    int64_t left_ns = acquisition->end_ns - clock_ns();
    if (result == MCDS_AMBIGUOUS && !acquisition->patience.outlasts_silence) {
        acquisition->is_answered =
            true; /* it may hold the lease: take a little more time to learn that */
        left_ns = RESERVE_NS;
    }
    hurry(acquisition, result == MCDS_BUSY && left_ns < RESERVE_NS ? RESERVE_NS : left_ns);
    if (acquisition->ended_by != 0) {
        *status_out = STATUS_SIGNAL + acquisition->ended_by;
        end_by_signal(acquisition, result);
        return false;
    }
    if (result != MCDS_OK)
        *status_out = report_failed(acquisition, result);
    if (result == MCDS_AMBIGUOUS) { /* it may be ours */
        int released = tenure_release(acquisition->tenure);
        (void)released; /* it ends by itself */
    }
    if (result == MCDS_OK) {
        outage_end(&acquisition->outage, &acquisition->session->output);
        mcds_limit_timeout(acquisition->session->store, 0);
    }
    return result == MCDS_OK;
}

bool acquire_tenure(struct acquisition *acquisition, int *status_out)
{
    interrupt_open_calls();
    bool is_acquired = acquire_and_report(acquisition, status_out);
    int number = interrupt_close();
    if (is_acquired && number == 0) /* a signal for COMMAND that came too early is dropped */
        number = watch_end(acquisition->watch);
    if (is_acquired && number != 0)
        (void)raise(number); /* it is blocked again, and the runner takes it */
    return is_acquired;
}
