/* Typing: the lines of a shell. A signal, which arrives in a file, ends each wait. */
#include "shell/typing.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/output.h"

enum editor_wait typing_wait(struct signals *signals, bool is_terminal)
{
    struct pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {signals->file, POLLIN, 0}};
    /* a signal may have arrived while the last key was handled */
    bool is_interrupted = signals->number == 0 && poll(files, 2, -1) < 0;
    int number = signals_take(signals, 0);
    if (number == SIGINT && is_terminal) {
        signals->number = 0;
        return EDITOR_GIVEN_UP;
    }
    if (number != 0)
        return EDITOR_OVER;
    return is_interrupted || files[0].revents == 0 ? EDITOR_AGAIN : EDITOR_READY;
}

static enum typed next_line(struct typing *typing, char **line_out, size_t *length_out)
{
    for (;;) {
        switch (lines_next(&typing->lines, line_out, length_out)) {
        case LINE_READY:
            return TYPED_LINE;
        case LINE_TOO_LONG:
            return TYPED_TOO_LONG;
        case LINE_OVER:
            return typing->lines.error != 0 ? TYPED_FAILED : TYPED_END;
        case LINE_NONE:
            break;
        }
        switch (typing_wait(typing->signals, typing->has_prompt)) {
        case EDITOR_READY:
            lines_read(&typing->lines);
            break;
        case EDITOR_AGAIN:
            break;
        case EDITOR_GIVEN_UP:
            return TYPED_GIVEN_UP;
        default:
            return TYPED_END;
        }
    }
}

static enum typed edit_line(struct typing *typing, const char *prompt, char **line_out,
                            size_t *length_out)
{
    switch (editor_read(typing->editor, prompt, line_out, length_out)) {
    case EDITOR_READY:
        return *length_out > TYPED_MAX ? TYPED_TOO_LONG : TYPED_LINE;
    case EDITOR_NO_TEXT:
        return TYPED_NO_TEXT;
    case EDITOR_GIVEN_UP:
        return TYPED_GIVEN_UP;
    default:
        return TYPED_END;
    }
}

enum typed typing_next(struct typing *typing, const char *prompt, char **line_out,
                       size_t *length_out)
{
    modes_restore(&typing->modes);
    if (typing->editor != NULL)
        return edit_line(typing, prompt, line_out, length_out);
    if (typing->has_prompt) {
        output_print("%s", prompt);
        (void)fflush(stdout);
    }
    return next_line(typing, line_out, length_out);
}
