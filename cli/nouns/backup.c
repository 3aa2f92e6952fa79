/* mcds backup. */
#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/nouns.h"

int backup_run(struct session *session, const struct command *command)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    if (session->is_absent) {
        report_failure(&session->output, command, STATUS_IO, "MCDS_IO",
                       "backup: the default store does not exist yet; the first command that "
                       "changes something makes it; nothing was copied");
        return STATUS_IO;
    }
    int result = mcds_backup(session->store, command->arguments[0]);
    if (result == MCDS_OK)
        report_done(&session->output, command, "copied");
    else
        report_failure(&session->output, command, status_of(result), mcds_result_name(result),
                       mcds_errmsg());
    return status_of(result);
}
