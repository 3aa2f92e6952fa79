/* mcds queue work: claims a job, runs COMMAND for it, reports how it ended, and begins again.
 *
 *   wait for a job --> COMMAND --> done, or again ... until a signal or an option ends it */
#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "lock/runner.h"
#include "queue/worker.h"
#include "table/nouns.h"

#define NS_PER_MS INT64_C(1000000)
/* Beyond --wait: time for a request that is in flight when the wait ends. */
#define GRACE_MS UINT64_C(1000)

/* False: no job, and the exit code, which is 0 if the worker has ended by itself. */
static bool claim_job(struct runner *runner, struct worker *worker, int *status_out)
{
    const struct command *command = runner->command;
    struct patience patience = {.begun_ns = clock_ns(),
                                .wait_ms = WAIT_WITHOUT_END,
                                .outlasts_silence = true,
                                .advice = ", --wait TIME or --until-empty limits it"};
    worker->give_up_ns = INT64_MAX;
    if (is_given(command, OPTION_JOB_WAIT)) {
        uint64_t wait_ms = number_of(command, OPTION_JOB_WAIT, 0);
        patience.wait_ms = wait_ms + GRACE_MS;
        patience.advice = "";
        worker->give_up_ns = patience.begun_ns + (int64_t)wait_ms * NS_PER_MS;
    }
    return runner_acquire(runner, &patience, status_out);
}

/* Returns the exit code of the last COMMAND, or of the failure or signal that ended the work. */
static int work(struct runner *runner, struct worker *worker)
{
    uint64_t left = number_of(runner->command, OPTION_JOBS_MAX, UINT64_MAX);
    int last = STATUS_DONE;
    for (; left > 0; left--) {
        int status;
        if (!claim_job(runner, worker, &status)) {
            if (!worker->is_over || status != STATUS_DONE)
                return status;
            break;
        }
        last = runner_run(runner);
        if (worker->is_claim_gone && runner->is_lost) /* the runner has reported it */
            worker->losses.told++;
        worker->is_claim_gone = false;
        if (runner->end == RUNNER_NOT_RUN || runner->ended_by != 0)
            return last;
    }
    return worker->losses.total > 0 ? STATUS_LOST : last;
}

int queue_work(struct session *session, const struct command *command)
{
    struct runner runner;
    int status = check_program(&session->output, command);
    if (status == STATUS_DONE)
        status = runner_open(&runner, session, command, &tenure_of_queue);
    if (status != STATUS_DONE)
        return status;
    struct worker *worker = runner.tenure.handle;
    worker->session = session;
    status = work(&runner, worker);
    losses_end(&worker->losses, &session->output);
    runner_close(&runner);
    return status;
}
