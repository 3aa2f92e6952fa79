/* mcds leader run: waits for the lead, runs COMMAND, and waits again after a pause.
 *
 *   wait for the lead --> COMMAND --> rest --> wait for the lead ... until a signal */
#include <inttypes.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "lock/runner.h"
#include "parse/values.h"
#include "table/nouns.h"

#define REST_MS UINT64_C(5000)
#define NS_PER_MS INT64_C(1000000)

/* On standard error, because COMMAND has standard output. */
static void tell_of_start(const struct runner *runner)
{
    if (!runner->session->output.quiet)
        complain(&runner->session->output, "leader '%.200s': leads, with fence %" PRIu64,
                 runner->command->arguments[0], runner->tenure.permit.lease.fence);
}

static void tell_of_end(const struct runner *runner, int status, uint64_t rest_ms)
{
    char rest[DURATION_CAPACITY];
    format_duration(rest_ms, rest);
    if (!runner->session->output.quiet)
        complain(&runner->session->output,
                 "leader '%.200s': leads no more (exit code %d); waits for the lead after %s",
                 runner->command->arguments[0], status, rest);
}

/* Another one becomes the leader meanwhile. A signal ends the pause. */
static void rest(struct runner *runner, uint64_t rest_ms)
{
    int64_t until_ns = clock_ns() + (int64_t)rest_ms * NS_PER_MS;
    while (clock_ns() < until_ns && (runner->ended_by = watch_end(&runner->watch)) == 0)
        (void)watch_wait(&runner->watch, until_ns, -1, -1, NULL);
}

/* Returns the exit code of the last COMMAND, or that of the failure or signal that ended the campaign. */
static int campaign(struct runner *runner)
{
    const struct command *command = runner->command;
    uint64_t rest_ms = number_of(command, OPTION_REST, REST_MS);
    for (;;) {
        struct patience patience = {.begun_ns = clock_ns(),
                                    .wait_ms = WAIT_WITHOUT_END,
                                    .outlasts_silence = true,
                                    .advice = ""};
        int status;
        if (!runner_acquire(runner, &patience, &status))
            return status;
        tell_of_start(runner);
        status = runner_run(runner);
        if (runner->end == RUNNER_NOT_RUN || runner->ended_by != 0 ||
            is_given(command, OPTION_ONCE))
            return status;
        tell_of_end(runner, status, rest_ms);
        rest(runner, rest_ms);
        if (runner->ended_by != 0)
            return STATUS_SIGNAL + runner->ended_by;
    }
}

int leader_run(struct session *session, const struct command *command)
{
    struct runner runner;
    int status = check_program(&session->output, command);
    if (status == STATUS_DONE)
        status = runner_open(&runner, session, command, &tenure_of_leader);
    if (status != STATUS_DONE)
        return status;
    status = campaign(&runner);
    runner_close(&runner);
    return status;
}
