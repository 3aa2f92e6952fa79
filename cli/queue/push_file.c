/* mcds queue push --file: executes a verb on the content of the file: one operation. */
#include "queue/push_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/lines.h"
#include "io/report.h"

/* Of a job. */
#define FILE_MAX MCDS_QUEUE_JOB_MAX

static int refuse(struct session *session, const struct command *command, const char *path,
                  int reason)
{
    char sentence[SENTENCE_MAX];
    bool is_long = reason == 0;
    int status = is_long ? STATUS_DATA : STATUS_IO;
    if (is_long)
        (void)snprintf(sentence, sizeof sentence, "%.400s has more than %d bytes", path,
                       FILE_MAX);
    else
        (void)snprintf(sentence, sizeof sentence, "%.400s cannot be read: %s%s", path,
                       strerror(reason), advice_on_errno(reason));
    report_failure(&session->output, command, status, is_long ? "MCDS_TOO_BIG" : "MCDS_IO",
                   sentence);
    return status;
}

int file_run(struct session *session, const struct command *command)
{
    const char *path = command->options[OPTION_FILE].text;
    bool is_input = strcmp(path, "-") == 0;
    struct lines lines;
    struct command whole = *command;
    mcds_bytes content = {NULL, 0};
    char *text = NULL;
    lines_open(&lines, FILE_MAX);
    lines.fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (lines.fd < 0) {
        int reason = errno;
        lines_close(&lines);
        return refuse(session, command, path, reason);
    }
    enum line kind = lines_read_all(&lines, &text, &content.length);
    int status;
    content.data = text;
    whole.elements = &content;
    whole.element_count = 1;
    if (kind == LINE_READY)
        status = session_operate(session, &whole);
    else
        status = refuse(session, command, is_input ? "standard input" : path,
                        kind == LINE_TOO_LONG ? 0 : lines.error);
    if (!is_input)
        (void)close(lines.fd);
    lines_close(&lines);
    return status;
}
