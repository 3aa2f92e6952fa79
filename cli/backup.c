/* mcds backup. */
#include <stdio.h>

#include "exit.h"
#include "nouns.h"
#include "report.h"
#include "session.h"

int backup_run(struct session *session, const struct command *command)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = mcds_backup(session->store, command->arguments[0]);
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "backup: %s", mcds_errmsg());
    if (result == MCDS_OK)
        report_done(&session->output, command, "copied");
    else
        report_failure(&session->output, command, status_of(result), mcds_result_name(result),
                       sentence);
    return status_of(result);
}
