/* mcds backup. */
#include "damage/damage.h"
#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/nouns.h"

#define LOOK_S 600 /* for damage */

static int refuse_damaged(struct session *session, const struct command *command)
{
    report_failure(&session->output, command, STATUS_IO, "MCDS_IO",
                   "backup: the file of the store is damaged; nothing was copied; " DAMAGE_FIX);
    return STATUS_IO;
}

int backup_run(struct session *session, const struct command *command)
{
    enum damage damage = damage_look(session, LOOK_S);
    if (damage == DAMAGE_FOUND)
        return refuse_damaged(session, command);
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    if (session->is_absent) {
        report_failure(&session->output, command, STATUS_IO, "MCDS_IO",
                       "backup: the default store does not exist yet; the first command that "
                       "changes something makes it; nothing was copied");
        return STATUS_IO;
    }
    if (damage == DAMAGE_UNREAD)
        complain(&session->output, "backup: not all keys of the store were read first, so "
                                   "the copy may be damaged");
    int result = mcds_backup(session->store, command->arguments[0]);
    if (result == MCDS_OK)
        report_done(&session->output, command, "copied");
    else
        report_failure(&session->output, command, status_of(result), mcds_result_name(result),
                       mcds_errmsg());
    return status_of(result);
}
