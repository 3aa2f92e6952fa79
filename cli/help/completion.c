/* mcds completion: prints the script for a shell. */
#include "help/completion.h"

#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "run/session.h"
#include "table/nouns.h"

int completion_run(struct session *session, const struct command *command)
{
    const char *wanted = command->arguments[0];
    if (strcmp(wanted, "bash") == 0) {
        completion_print_bash(session->nouns);
    } else if (strcmp(wanted, "zsh") == 0) {
        completion_print_zsh(session->nouns);
    } else if (strcmp(wanted, "fish") == 0) {
        completion_print_fish(session->nouns);
    } else {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence,
                       "completion: no shell '%.60s'; there are bash, zsh and fish", wanted);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    return STATUS_DONE;
}
