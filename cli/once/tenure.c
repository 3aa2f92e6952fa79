/* mcds once KEY -- COMMAND: what the runner of commands does with the claim of a key.
 *
 *   acquire   begin: the claim, or the result, which `answers` prints
 *   ended     how COMMAND has ended decides what the release does
 *   release   finish with the code and the transcript; or abandon; or neither, if nobody knows
 *             what a strict COMMAND has done */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "lock/tenure.h"
#include "lock/watch.h"
#include "once/once.h"
#include "once/transcript.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

#define NS_PER_MS INT64_C(1000000)
/* A result that cannot be stored is tried again for so long, while the claim lasts. */
#define STORE_MAX_NS (10000 * NS_PER_MS)
#define STORE_PAUSE_MS 100
#define CODE_MAX 255

enum after {
    AFTER_ABANDON, /* COMMAND has not run, or may run again */
    AFTER_FINISH,
    AFTER_LEAVE /* strict: nobody knows what it has done */
};

struct claim {
    mcds_once *once;
    mcds_once_run run;
    mcds_value value; /* the result of another caller */
    int32_t code;
    int64_t run_ns;
    int64_t deadline_ns;
    bool is_strict;
    bool retries_failed;
    enum after after;
    bool was_ended; /* COMMAND did not end by itself, and may have done a part of its work */
    bool was_cut;   /* the output was longer than any result, or than the store takes */
    struct transcript transcript;
    const struct command *command;
    char said[256];
};

static int claim_open(mcds_store *store, const struct command *command, void **handle_out)
{
    void *once = NULL;
    int result = once_open(store, command, &once);
    if (result != MCDS_OK)
        return result;
    struct claim *claim = calloc(1, sizeof *claim);
    if (claim == NULL) {
        once_close(once);
        return MCDS_NO_MEMORY;
    }
    static const mcds_once_run fresh = MCDS_ONCE_RUN_INIT;
    claim->once = once;
    claim->run = fresh;
    claim->run_ns = (int64_t)number_of(command, OPTION_RUN, ONCE_RUN_MS) * NS_PER_MS;
    claim->is_strict = is_given(command, OPTION_STRICT);
    claim->retries_failed = is_given(command, OPTION_RETRY_FAILED);
    claim->command = command;
    *handle_out = claim;
    return MCDS_OK;
}

static void claim_close(void *handle)
{
    struct claim *claim = handle;
    mcds_value_free(&claim->value);
    transcript_free(&claim->transcript);
    once_close(claim->once);
    free(claim);
}

/* The claim was written after `asked_ns`. */
static void take_deadline(struct claim *claim, mcds_permit *permit, int64_t asked_ns)
{
    claim->deadline_ns = permit->lease.deadline_ns = asked_ns + claim->run_ns;
}

static int claim_acquire(struct tenure *tenure, uint32_t wait_ms)
{
    struct claim *claim = tenure->handle;
    const mcds_bytes none = {NULL, 0};
    int64_t asked_ns = clock_ns();
    int result = mcds_once_begin(claim->once, claim->command->bytes[0], none, wait_ms,
                                 &claim->run, &claim->value, &claim->code);
    if (result == MCDS_OK)
        take_deadline(claim, &tenure->permit, asked_ns);
    return result;
}

static int claim_renew(void *handle, mcds_permit *permit)
{
    struct claim *claim = handle;
    int64_t asked_ns = clock_ns();
    int result = mcds_once_renew(claim->once, &claim->run);
    if (result == MCDS_OK)
        take_deadline(claim, permit, asked_ns);
    return result;
}

/* Stores the kept output as the result. If it is too long for the store, cuts it to the limit
 * that the store reports, or to half if it reports none, until the store accepts it. */
static int finish(struct claim *claim)
{
    struct transcript *transcript = &claim->transcript;
    for (;;) {
        mcds_bytes bytes = transcript_bytes(transcript);
        int result = mcds_once_finish(claim->once, &claim->run, claim->code, bytes);
        int64_t most = mcds_last_error()->wanted_max;
        if (result != MCDS_TOO_BIG)
            return result;
        bool is_said = most > 0 && (uint64_t)most < bytes.length;
        if (!transcript_cut(transcript, is_said ? (size_t)most : bytes.length / 2))
            return result;
        claim->was_cut = true;
    }
}

/* The run is empty if a renewal has reported that it was lost. */
static int abandon(struct claim *claim)
{
    int result = mcds_once_abandon(claim->once, &claim->run);
    return result == MCDS_INVALID ? MCDS_LOST : result;
}

static bool is_worth_another_try(int result)
{
    return is_unanswered(result) || result == MCDS_FULL;
}

static int claim_release(void *handle, mcds_permit *permit)
{
    struct claim *claim = handle;
    int64_t until_ns = clock_ns() + STORE_MAX_NS;
    (void)permit;
    if (claim->after == AFTER_LEAVE)
        return MCDS_OK;
    if (claim->after == AFTER_ABANDON)
        return abandon(claim);
    int result = finish(claim);
    bool is_in_doubt = false;
    while (is_worth_another_try(result) && claim->run.mine && interrupt_number() == 0 &&
           clock_ns() < until_ns && clock_ns() < claim->deadline_ns) {
        is_in_doubt = is_in_doubt || result == MCDS_AMBIGUOUS;
        (void)poll(NULL, 0, STORE_PAUSE_MS);
        if (clock_ns() >= claim->deadline_ns)
            break; /* the claim ends because the store has failed: that is reported */
        result = finish(claim);
    }
    return is_in_doubt && is_worth_another_try(result) ? MCDS_AMBIGUOUS : result;
}

static int64_t claim_remaining_ms(const void *handle, const mcds_permit *permit)
{
    (void)handle;
    int64_t left_ns = permit->lease.deadline_ns - clock_ns();
    return left_ns > 0 ? left_ns / NS_PER_MS : 0;
}

static bool claim_describe(const struct tenure *tenure, bool is_waiting,
                           char out[TENURE_TEXT_CAPACITY])
{
    const struct claim *claim = tenure->handle;
    int64_t left_ms = once_left_ms(claim->run.until_ms);
    (void)snprintf(out, TENURE_TEXT_CAPACITY,
                   "another caller runs it, and its claim ends in %" PRId64 ".%" PRId64 " s%s",
                   left_ms / 1000, left_ms % 1000 / 100, tenure_unless(is_waiting));
    return true;
}

static void claim_set_environment(const char *name, const mcds_permit *permit, int64_t left_ms)
{
    (void)permit;
    (void)left_ms;
    (void)setenv("MCDS_ONCE_KEY", name, 1);
}

static bool print_part(void *context, size_t stream, mcds_bytes bytes)
{
    struct output *output = context;
    if (stream == 0) {
        output_raw(output, bytes);
        return output_flush(output);
    }
    (void)fwrite(bytes.data, 1, bytes.length, stderr);
    (void)fflush(stderr); /* standard output is printed all the same */
    return true;
}

/* There is a result: its output goes to the same streams, and its code is that of mcds. */
static bool claim_answers(void *handle, struct session *session, const struct command *command,
                          int *status_out)
{
    struct claim *claim = handle;
    struct output *output = &session->output;
    mcds_bytes result = {claim->value.data, claim->value.length};
    if (claim->run.mine)
        return false;
    if (transcript_read(result, print_part, output) && !output->quiet)
        complain(output, "once '%.200s': the rest of the output was not kept",
                 command->arguments[0]);
    *status_out = claim->code >= 0 && claim->code <= CODE_MAX ? claim->code : CODE_MAX;
    if ((!output_is_fine(output) || ferror(stderr) != 0) && *status_out == STATUS_DONE)
        *status_out = STATUS_IO;
    return true;
}

static void claim_see(void *handle, size_t stream, const char *bytes, size_t length)
{
    struct claim *claim = handle;
    transcript_add(&claim->transcript, stream, bytes, length);
}

static void claim_ended(void *handle, int status, enum command_end end)
{
    struct claim *claim = handle;
    claim->code = status;
    claim->was_ended = end != END_BY_ITSELF;
    claim->after = AFTER_FINISH;
    if (claim->was_ended)
        claim->after = claim->is_strict ? AFTER_LEAVE : AFTER_ABANDON;
    else if (status != STATUS_DONE && claim->retries_failed)
        claim->after = AFTER_ABANDON;
    claim->was_cut = claim->after == AFTER_FINISH && transcript_is_cut(&claim->transcript);
}

/* NULL: the claim was lost, which the caller reports. */
static const char *describe_unstored(struct claim *claim, int result)
{
    if (result == MCDS_LOST || result == MCDS_EXPIRED)
        return NULL;
    (void)snprintf(claim->said, sizeof claim->said,
                   "the result %s the next caller after the end of the claim %s",
                   result == MCDS_AMBIGUOUS ? "may not have been stored; if it was not,"
                                            : "was not stored:",
                   claim->is_strict ? "exits with 79" : "runs the command again");
    return claim->said;
}

/* What follows for the next caller from a command that was ended. */
static const char *describe_abandoned(struct claim *claim, int result)
{
    const char *when = result == MCDS_OK          ? ""
                       : result == MCDS_AMBIGUOUS ? ", at the latest when the claim ends"
                                                  : " when the claim ends";
    if (result == MCDS_LOST || result == MCDS_EXPIRED)
        return "the command was ended, and another caller may run it";
    (void)snprintf(claim->said, sizeof claim->said,
                   "the command was ended, and the next caller runs it again%s", when);
    return claim->said;
}

static const char *claim_released(void *handle, int result)
{
    struct claim *claim = handle;
    if (claim->after == AFTER_LEAVE)
        return "the command was ended, and nobody knows what it has done: find out, then "
               "--settle or --forget the key";
    if (claim->was_ended)
        return describe_abandoned(claim, result);
    if (result != MCDS_OK)
        return describe_unstored(claim, result);
    return claim->was_cut ? "the output is too long: the rest is not kept for later callers"
                          : NULL;
}

const struct tenure_kind tenure_of_once = {
    .noun = "once",
    .thing = "result",
    .lease = "claim",
    .why_shared = "no other caller would get the result",
    .corrupt_advice = "",
    .open = claim_open,
    .close = claim_close,
    .acquire = claim_acquire,
    .renew = claim_renew,
    .release = claim_release,
    .remaining_ms = claim_remaining_ms,
    .describe = claim_describe,
    .set_environment = claim_set_environment,
    .answers = claim_answers,
    .see = claim_see,
    .ended = claim_ended,
    .released = claim_released,
};
