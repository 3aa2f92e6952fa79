/* Executes a verb on the whole of standard input: one operation. */
#include "run/stdin_whole.h"

#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "io/lines.h"
#include "io/report.h"
#include "run/session.h"

int whole_run(struct session *session, const struct command *command)
{
    struct lines lines;
    struct command whole = *command;
    size_t at = 1;
    while (command->verb->arguments[at]->input != INPUT_WHOLE)
        at++;
    whole.input = INPUT_NONE;
    lines_open(&lines, WHOLE_MAX);
    char *text = NULL;
    enum line kind = lines_read_all(&lines, &text, &whole.bytes[at].length);
    whole.bytes[at].data = text;
    char sentence[SENTENCE_MAX];
    int status = kind == LINE_TOO_LONG ? STATUS_DATA : STATUS_IO;
    if (kind == LINE_TOO_LONG)
        (void)snprintf(sentence, sizeof sentence, "standard input has more than %zu bytes",
                       WHOLE_MAX);
    else
        (void)snprintf(sentence, sizeof sentence, "standard input cannot be read: %s",
                       strerror(lines.error));
    if (kind == LINE_READY)
        status = session_operate(session, &whole);
    else
        report_failure(&session->output, command, status,
                       kind == LINE_TOO_LONG ? "MCDS_TOO_BIG" : "MCDS_IO", sentence);
    lines_close(&lines);
    return status;
}
