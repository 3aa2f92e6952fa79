/* Modes: saves and restores the modes of a terminal, which a program may leave changed. */
#include "terminal/modes.h"

#include <string.h>
#include <unistd.h>

void modes_save(struct modes *modes)
{
    modes->is_saved = tcgetattr(STDIN_FILENO, &modes->saved) == 0;
}

static bool is_same(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
           a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

void modes_restore(const struct modes *modes)
{
    struct termios now;
    if (modes->is_saved && tcgetattr(STDIN_FILENO, &now) == 0 && !is_same(&now, &modes->saved))
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &modes->saved);
}
