/* mcds lock NAME -- COMMAND, mcds semaphore run and mcds once: one lease, one command. */
#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "lock/runner.h"
#include "table/nouns.h"

#define DAY_MS UINT64_C(86400000)

static int hold_and_run(struct session *session, const struct command *command,
                        const struct tenure_kind *kind)
{
    struct runner runner;
    bool is_limited = is_given(command, OPTION_WAIT);
    struct patience patience = {
        .begun_ns = clock_ns(),
        .wait_ms = is_given(command, OPTION_NOWAIT) ? 0
                                                    : number_of(command, OPTION_WAIT, DAY_MS),
        .outlasts_silence = is_limited,
        .advice = is_limited ? "" : ", -w TIME limits it",
    };
    int status = runner_open(&runner, session, command, kind);
    if (status != 0)
        return status;
    if (runner_acquire(&runner, &patience, &status))
        status = runner_run(&runner);
    runner_close(&runner);
    return status;
}

/* A caller does not wait for a lock or a permit that it cannot use. */
static int check_and_run(struct session *session, const struct command *command,
                         const struct tenure_kind *kind)
{
    int status = check_program(&session->output, command);
    return status == STATUS_DONE ? hold_and_run(session, command, kind) : status;
}

int lock_run(struct session *session, const struct command *command)
{
    return check_and_run(session, command, &tenure_of_lock);
}

int semaphore_run(struct session *session, const struct command *command)
{
    return check_and_run(session, command, &tenure_of_semaphore);
}

/* Not checked: where there is a result, COMMAND is not run. */
int once_run(struct session *session, const struct command *command)
{
    return hold_and_run(session, command, &tenure_of_once);
}
