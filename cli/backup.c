/* mcds backup. */
#include "exit.h"
#include "nouns.h"
#include "session.h"

int backup_run(struct session *session, const struct command *command)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = mcds_backup(session->store, command->arguments[0]);
    if (result != MCDS_OK)
        complain(&session->output, "backup: %s", mcds_errmsg());
    return status_of(result);
}
