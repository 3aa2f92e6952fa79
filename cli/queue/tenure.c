/* mcds queue work: what the runner of commands does with the claim of a job.
 *
 *   look      claims the first job that is due; if none is due, mcds_queue_next only reads
 *   acquire   hands over what look has claimed
 *   input     COMMAND has the job as standard input
 *   ended     how COMMAND has ended decides what the release says
 *   release   done, or again */
#include "queue/worker.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child/program.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/output.h"
#include "io/report.h"
#include "lock/watch.h"
#include "parse/values.h"
#include "queue/queue.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

#define NS_PER_MS INT64_C(1000000)
#define AGAIN_MS UINT64_C(30000)
/* A release that fails is repeated for at most this long, while the claim lasts. */
#define TELL_MAX_NS (10000 * NS_PER_MS)
#define TELL_PAUSE_MS 100

static int worker_open(mcds_store *store, const struct command *command, void **handle_out)
{
    static const mcds_job empty = MCDS_JOB_INIT;
    void *queue = NULL;
    int result = queue_open(store, command, &queue);
    if (result != MCDS_OK)
        return result;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        queue_close(queue);
        return MCDS_NO_MEMORY;
    }
    worker->queue = queue;
    worker->command = command;
    worker->job = empty;
    *handle_out = worker;
    return MCDS_OK;
}

static void worker_close(void *handle)
{
    struct worker *worker = handle;
    mcds_value_free(&worker->bytes);
    queue_close(worker->queue);
    free(worker);
}

static bool see_job(void *context, const mcds_queue_entry *entry)
{
    (void)entry;
    *(bool *)context = true;
    return false;
}

/* No job is due. Returns MCDS_OK where the worker ends, and MCDS_BUSY where it waits. */
static int judge_emptiness(struct worker *worker)
{
    bool has_jobs = false;
    int result = MCDS_OK;
    if (is_given(worker->command, OPTION_UNTIL_EMPTY)) {
        result = mcds_queue_scan(worker->queue, 1, see_job, &has_jobs);
        if (result < 0 && result != MCDS_LOST)
            return result;
        worker->is_over = !has_jobs;
    }
    worker->is_over = worker->is_over || clock_ns() >= worker->give_up_ns;
    return worker->is_over ? MCDS_OK : MCDS_BUSY;
}

/* The id of the job: the part of the receipt that is the same in all its claims. The tries, the queue
 * and a checksum follow it. */
static void write_job_id(const struct worker *worker, char out[MCDS_QUEUE_JOB_TEXT])
{
    char receipt[MCDS_QUEUE_JOB_TEXT];
    mcds_queue_job_save(&worker->job, receipt);
    const char *part = strchr(receipt, '.');
    for (int i = 0; i < 3; i++) {
        char *last = strrchr(receipt, '.');
        if (last != NULL)
            *last = '\0';
    }
    (void)snprintf(out, MCDS_QUEUE_JOB_TEXT, "%s", part != NULL ? part + 1 : "");
}

/* Decides what the release reports to the store. `how` describes the end of COMMAND to the user. */
static void decide(struct worker *worker, const char *how, bool is_done, uint64_t again_ms)
{
    char id[MCDS_QUEUE_JOB_TEXT];
    uint64_t tries = number_of(worker->command, OPTION_TRIES, QUEUE_TRIES);
    worker->is_done = is_done;
    worker->is_last = tries > 0 && worker->job.tries >= tries;
    worker->again_ms = worker->is_last ? 0 : again_ms;
    write_job_id(worker, id);
    (void)snprintf(worker->how, sizeof worker->how,
                   "job %s: the command %s at try %" PRIu32 "%s", id, how, worker->job.tries,
                   worker->is_last ? ", the last one" : "");
}

/* Until COMMAND has ended, the release gives the job back. A program that cannot be run would use the
 * tries of the jobs, so this is checked before each claim. */
static int worker_claim(struct worker *worker)
{
    worker->not_run = find_program(worker->command->program[0], NULL, 0);
    if (worker->not_run != 0) {
        worker->is_over = true;
        return MCDS_OK;
    }
    int result = queue_claim(worker->session, worker->command, worker->queue, 0, &worker->job,
                             &worker->bytes, &worker->losses);
    if (result == MCDS_OK)
        decide(worker, "was not run", false, 0);
    return result == MCDS_NOT_FOUND ? judge_emptiness(worker) : result;
}

static int worker_look(void *handle)
{
    int result = worker_claim(handle);
    return result == MCDS_OK ? MCDS_NOT_FOUND : result == MCDS_BUSY ? MCDS_OK : result;
}

static int worker_acquire(struct tenure *tenure, uint32_t wait_ms)
{
    struct worker *worker = tenure->handle;
    (void)wait_ms;
    int result = MCDS_OK;
    if (!worker->job.is_held && !worker->is_over)
        result = worker_claim(worker);
    tenure->permit.lease.deadline_ns = worker->job.deadline_ns;
    return result;
}

/* Whether this result says that the store has lost the part of the job: no later call may say it. */
static bool is_gone(int result)
{
    return result == MCDS_LOST && mcds_last_error()->cause == MCDS_CAUSE_GONE;
}

static int worker_renew(void *handle, mcds_permit *permit)
{
    struct worker *worker = handle;
    int result = mcds_queue_longer(worker->queue, &worker->job);
    if (result == MCDS_OK)
        permit->lease.deadline_ns = worker->job.deadline_ns;
    worker->is_claim_gone = is_gone(result);
    if (worker->is_claim_gone)
        losses_add(&worker->losses, worker->command);
    return result;
}

static int tell_end(struct worker *worker)
{
    return worker->is_done ? mcds_queue_done(worker->queue, &worker->job)
                           : mcds_queue_again(worker->queue, &worker->job, worker->again_ms);
}

static int worker_release(void *handle, mcds_permit *permit)
{
    struct worker *worker = handle;
    int64_t until_ns = clock_ns() + TELL_MAX_NS;
    bool is_in_doubt = false;
    if (!worker->job.is_held) {
        worker->how[0] = '\0'; /* a renewal has reported that the job was lost */
        return MCDS_OK;
    }
    int result = tell_end(worker);
    while (is_unanswered(result) && interrupt_number() == 0 && clock_ns() < until_ns &&
           clock_ns() < permit->lease.deadline_ns) {
        is_in_doubt = is_in_doubt || result == MCDS_AMBIGUOUS;
        (void)poll(NULL, 0, TELL_PAUSE_MS);
        result = tell_end(worker);
    }
    worker->is_gone = is_gone(result);
    if (worker->is_gone)
        losses_add(&worker->losses, worker->command);
    /* Whatever the result, this worker is finished with the job. */
    static const mcds_job empty = MCDS_JOB_INIT;
    worker->job = empty;
    worker->is_in_doubt = (is_in_doubt || result == MCDS_AMBIGUOUS) && result != MCDS_OK &&
                          !worker->is_gone;
    /* If the repeated call is LOST, the first call was carried out, or the claim has ended and
     * another worker has the job. */
    if (worker->is_gone || (worker->is_in_doubt && result == MCDS_LOST))
        return MCDS_OK;
    return worker->is_in_doubt ? MCDS_AMBIGUOUS : result;
}

static int64_t worker_remaining_ms(const void *handle, const mcds_permit *permit)
{
    (void)handle;
    int64_t left_ns = permit->lease.deadline_ns - clock_ns();
    return left_ns > 0 ? left_ns / NS_PER_MS : 0;
}

/* A worker waits after most jobs, and says so once. */
static bool worker_describe(const struct tenure *tenure, bool is_waiting,
                            char out[TENURE_TEXT_CAPACITY])
{
    struct worker *worker = tenure->handle;
    bool is_new = is_waiting && !worker->is_wait_told;
    (void)snprintf(out, TENURE_TEXT_CAPACITY, "no job is due");
    worker->is_wait_told = worker->is_wait_told || is_waiting;
    return is_new;
}

static void worker_set_environment(const char *name, const mcds_permit *permit, int64_t left_ms)
{
    (void)permit;
    (void)left_ms;
    (void)setenv("MCDS_QUEUE_NAME", name, 1);
}

static bool worker_answers(void *handle, struct session *session, const struct command *command,
                           int *status_out)
{
    const struct worker *worker = handle;
    *status_out = STATUS_DONE;
    if (worker->not_run != 0)
        *status_out = report_not_run(&session->output, command, worker->not_run);
    return worker->is_over;
}

/* The job as text. */
static void set_job(const mcds_value *bytes)
{
    char *text = malloc(bytes->length + 1);
    (void)unsetenv("MCDS_JOB");
    if (text == NULL ||
        (bytes->length > 0 && memchr(bytes->data, '\0', bytes->length) != NULL)) {
        free(text);
        return;
    }
    if (bytes->length > 0)
        memcpy(text, bytes->data, bytes->length);
    text[bytes->length] = '\0';
    (void)setenv("MCDS_JOB", text, 1);
    free(text);
}

static int worker_input(void *handle)
{
    struct worker *worker = handle;
    char tries[12];
    (void)snprintf(tries, sizeof tries, "%" PRIu32, worker->job.tries);
    (void)setenv("MCDS_JOB_TRIES", tries, 1);
    set_job(&worker->bytes);
    int file = memfd_create("job", MFD_CLOEXEC);
    if (file >= 0 && (!write_whole(file, worker->bytes.data, worker->bytes.length) ||
                      lseek(file, 0, SEEK_SET) != 0)) {
        (void)close(file);
        file = -1;
    }
    return file;
}

static void worker_ended(void *handle, int status, enum command_end end)
{
    struct worker *worker = handle;
    char how[48] = "was ended";
    bool is_done = end == END_BY_ITSELF && status == STATUS_DONE;
    if (end == END_BY_ITSELF)
        (void)snprintf(how, sizeof how, "has exited with %d", status);
    if (end == END_BY_OTHERS)
        (void)snprintf(how, sizeof how, "was killed by signal %d", status - STATUS_SIGNAL);
    if (worker->job.is_held)
        decide(worker, how, is_done,
               end != END_BY_US ? number_of(worker->command, OPTION_DELAY, AGAIN_MS) : 0);
}

/* What becomes of the job if the store has carried out the release. */
static void describe_fate(const struct worker *worker, char *out, size_t capacity)
{
    char delay[DURATION_CAPACITY];
    format_duration(worker->again_ms, delay);
    if (worker->is_gone)
        (void)snprintf(out, capacity, "the store has lost the job");
    else if (worker->is_done)
        (void)snprintf(out, capacity, "the job is done");
    else if (worker->is_last)
        (void)snprintf(out, capacity, "the job is dead");
    else if (worker->again_ms > 0)
        (void)snprintf(out, capacity, "the job is due again in %s", delay);
    else
        (void)snprintf(out, capacity, "the job is due again at once");
}

/* What becomes of the job if the reply was lost, or if the store has not carried out the release. */
static void describe_failed(const struct worker *worker, char *out, size_t capacity)
{
    char fate[64];
    const char *later = worker->is_last ? "dead when its claim has ended"
                                        : "due again when its claim ends";
    describe_fate(worker, fate, sizeof fate);
    if (!worker->is_in_doubt)
        (void)snprintf(out, capacity, "the job is %s", later);
    else if (worker->is_done)
        (void)snprintf(out, capacity, "%s, or is %s", fate, later);
    else
        (void)snprintf(out, capacity, "%s, or%s when its claim ends", fate,
                       worker->is_last ? " will be" : "");
}

/* What has become of the job; NULL: there is nothing to report. */
static const char *worker_released(void *handle, int result)
{
    struct worker *worker = handle;
    bool was_lost = result == MCDS_LOST || result == MCDS_EXPIRED;
    bool is_silent = worker->is_done || worker->session->output.quiet;
    char fate[128] = "another worker may have the job";
    if (worker->how[0] == '\0' || (is_silent && (result == MCDS_OK || was_lost)))
        return NULL;
    if (result == MCDS_OK && !worker->is_in_doubt)
        describe_fate(worker, fate, sizeof fate);
    else if (!was_lost)
        describe_failed(worker, fate, sizeof fate);
    (void)snprintf(worker->said, sizeof worker->said, "%s: %s", worker->how, fate);
    return worker->said;
}

const struct tenure_kind tenure_of_queue = {
    .noun = "queue",
    .thing = "job",
    .lease = "claim",
    .why_shared = "no other process could push a job to it",
    .corrupt_advice = "",
    .ends_descendants = true,
    .open = worker_open,
    .close = worker_close,
    .acquire = worker_acquire,
    .look = worker_look,
    .renew = worker_renew,
    .release = worker_release,
    .remaining_ms = worker_remaining_ms,
    .describe = worker_describe,
    .set_environment = worker_set_environment,
    .answers = worker_answers,
    .input = worker_input,
    .ended = worker_ended,
    .released = worker_released,
};
