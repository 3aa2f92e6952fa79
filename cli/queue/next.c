/* mcds queue next: claims a job for a script. */
#include <stdio.h>
#include <string.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "io/waiting.h"
#include "queue/queue.h"
#include "table/nouns.h"

#define NS_PER_MS INT64_C(1000000)
#define DOUBTS_MAX 2

/* From now to the end of the wait. */
static uint32_t left_ms(int64_t end_ns)
{
    int64_t left_ns = end_ns - clock_ns();
    return left_ns > 0 ? (uint32_t)(left_ns / NS_PER_MS) : 0;
}

static void tell_of_wait(struct session *session, const struct command *command)
{
    char why[256];
    (void)snprintf(why, sizeof why, "queue '%.200s': no job is due", command->arguments[0]);
    waiting_tell(&session->output, why, "");
}

/* Claims again after an ambiguous result: a job that it may have claimed is handed out again when
 * that claim ends. Passes over parts that the store has lost, and reports them. */
static int claim(struct session *session, const struct command *command, mcds_queue *queue,
                 struct answer *answer, struct losses *losses)
{
    uint64_t wait_ms = number_of(command, OPTION_JOB_WAIT, 0);
    int64_t end_ns = clock_ns() + (int64_t)wait_ms * NS_PER_MS;
    int doubts = 0;
    bool is_told = false;
    for (;;) {
        uint64_t before = losses->total;
        uint32_t wait_left_ms = left_ms(end_ns);
        bool is_silent = !is_told && wait_left_ms > WAITING_SILENT_MS &&
                         waiting_is_told(&session->output);
        int result = queue_claim(session, command, queue,
                                 is_silent ? WAITING_SILENT_MS : wait_left_ms, &answer->job,
                                 &answer->value, losses);
        if (is_silent && result == MCDS_NOT_FOUND) {
            tell_of_wait(session, command);
            is_told = true;
            continue;
        }
        bool is_in_doubt = result == MCDS_AMBIGUOUS && doubts++ < DOUBTS_MAX;
        bool waits = result == MCDS_NOT_FOUND && losses->total > before && left_ms(end_ns) > 0;
        if (!waits && !is_in_doubt)
            return result;
    }
}

static const char *describe_return(const struct command *command, const mcds_job *job,
                                   int result)
{
    uint64_t tries = number_of(command, OPTION_TRIES, QUEUE_TRIES);
    if (result == MCDS_OK)
        return tries > 0 && job->tries >= tries ? "is dead, after its last try"
                                                : "was given back";
    return result == MCDS_AMBIGUOUS
               ? "may have been given back; if not, it is handed out again when "
                 "its claim ends"
               : "is handed out again when its claim ends";
}

/* Gives the job back if it cannot be printed: without the receipt, no command could. */
static int print_claimed(struct output *output, const struct command *command,
                         mcds_queue *queue, struct answer *answer)
{
    int status = report(output, command, answer, MCDS_OK, NULL);
    if (output_pass_on(output))
        return status;
    const mcds_job job = answer->job;
    int result = mcds_queue_again(queue, &answer->job, 0);
    complain(output, "queue '%.200s': the job cannot be printed: %s; it %s",
             command->arguments[0], strerror(output->error),
             describe_return(command, &job, result));
    output->is_error_told = true;
    return STATUS_IO;
}

int queue_next(struct session *session, const struct command *command)
{
    static const mcds_job empty = MCDS_JOB_INIT;
    struct answer answer = {.job = empty, .value = MCDS_VALUE_INIT};
    struct losses losses = {.total = 0};
    void *handle = NULL;
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = queue_open(session->store, command, &handle);
    if (result == MCDS_OK)
        result = claim(session, command, handle, &answer, &losses);
    if (result != MCDS_LOST) /* else the failure is reported */
        losses_end(&losses, &session->output);
    status = result == MCDS_OK ? print_claimed(&session->output, command, handle, &answer)
                               : report(&session->output, command, &answer, result, NULL);
    mcds_value_free(&answer.value);
    queue_close(handle);
    return status;
}
