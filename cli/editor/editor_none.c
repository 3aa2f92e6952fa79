/* Editor: the functions of a build without libedit, which has no editor. */
#include "editor/editor.h"

struct editor *editor_open(const struct editor_calls *calls)
{
    (void)calls;
    return NULL;
}

void editor_close(struct editor *editor)
{
    (void)editor;
}

enum editor_wait editor_read(struct editor *editor, const char *prompt, char **line_out,
                             size_t *length_out)
{
    (void)editor;
    (void)prompt;
    (void)line_out;
    (void)length_out;
    return EDITOR_OVER;
}

void editor_remember(struct editor *editor, const char *line)
{
    (void)editor;
    (void)line;
}
