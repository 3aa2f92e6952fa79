/* Runner: opens and closes the structure of the lease, releases the lease after COMMAND, and reports a
 * release that fails. */
#include <stdio.h>

#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "lock/runner.h"
#include "signals/interrupt.h"

void runner_close(struct runner *runner)
{
    runner->tenure.kind->close(runner->tenure.handle);
    runner->tenure.handle = NULL;
}

static int refuse_private(struct session *session, const struct command *command,
                          const struct tenure_kind *kind)
{
    char sentence[400];
    (void)snprintf(sentence, sizeof sentence,
                   "%s '%.200s': only this process sees a memory: store, so %s; name a shared "
                   "store with -s",
                   kind->noun, command->arguments[0], kind->why_shared);
    report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
    return STATUS_USAGE;
}

int runner_open(struct runner *runner, struct session *session, const struct command *command,
                const struct tenure_kind *kind)
{
    const struct noun *noun = command->noun;
    const char *against = noun->why_not != NULL ? noun->why_not(command) : NULL;
    *runner = (struct runner){
        .session = session,
        .command = command,
        .tenure = {.kind = kind, .is_shared = is_given(command, OPTION_SHARED)}};
    if (against != NULL) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", against);
        return STATUS_USAGE;
    }
    if (session_is_private(session))
        return refuse_private(session, command, kind);
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = kind->open(session->store, command, &runner->tenure.handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    if (watch_open(&runner->watch, &session->pipe_before, &session->size_before))
        return STATUS_DONE;
    complain(&session->output,
             "%s '%.200s': this process has too many files open (ulimit -n); raise the limit",
             kind->noun, command->arguments[0]);
    runner_close(runner);
    return STATUS_INTERNAL;
}

void runner_say(const struct runner *runner, const char *what)
{
    if (what != NULL)
        complain(&runner->session->output, "%s '%.200s': %s", runner->tenure.kind->noun,
                 runner->command->arguments[0], what);
}

int runner_release(struct runner *runner)
{
    interrupt_open_calls();
    int result = tenure_release(&runner->tenure);
    int number = interrupt_close();
    if (runner->ended_by == 0)
        runner->ended_by = number;
    return result;
}

/* What follows from the result of the release, or NULL. */
static const char *describe_release(const struct runner *runner, int result)
{
    const struct tenure *tenure = &runner->tenure;
    return tenure->kind->released != NULL ? tenure->kind->released(tenure->handle, result)
                                          : NULL;
}

void runner_let_go(struct runner *runner)
{
    int result = runner_release(runner);
    runner_say(runner, describe_release(runner, result));
    runner->outage.is_told = runner->is_lost && is_unanswered(result);
}

/* The release has failed, and the lease may last until its end. `what` follows from that; NULL: the
 * usual. */
static void complain_unreleased(const struct runner *runner, int result, const char *what)
{
    const struct tenure_kind *kind = runner->tenure.kind;
    struct output *output = &runner->session->output;
    char said[FAILURE_CAPACITY];
    if (what != NULL) {
        describe_cause(said);
        complain(output, "%s '%.200s': %s (%s%s)", kind->noun, runner->command->arguments[0],
                 what, said, advice_on(result));
        return;
    }
    describe_failure(said, runner->command);
    complain(output, "%s; the %s %s by itself%s", said, kind->thing,
             result == MCDS_AMBIGUOUS ? "may not have been released, and then expires"
                                      : "was not released, and expires",
             advice_on(result));
}

int runner_end(struct runner *runner, int status)
{
    const struct tenure_kind *kind = runner->tenure.kind;
    int result = runner_release(runner);
    const char *what = describe_release(runner, result);
    bool was_lost = result == MCDS_LOST || result == MCDS_EXPIRED;
    runner->outage.is_told = is_unanswered(result);
    if (result != MCDS_OK && !was_lost) {
        complain_unreleased(runner, result, what);
        return status != STATUS_DONE ? status : status_of(result);
    }
    runner_say(runner, what);
    if (!was_lost)
        return status;
    complain(&runner->session->output,
             "%s '%.200s': the %s had ended before the command did; its work may have "
             "overlapped with another's",
             kind->noun, runner->command->arguments[0], kind->lease);
    on_lost_note(&runner->on_lost, on_lost_reason(result));
    return STATUS_LOST;
}
