/* Runner: opens and closes the structure of the lease. */
#include <stdio.h>

#include "io/exit.h"
#include "io/report.h"
#include "lock/runner.h"

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
