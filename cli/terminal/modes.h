/* Modes: how the terminal of standard input handles typed characters. */
#ifndef MCDS_CLI_TERMINAL_MODES_H
#define MCDS_CLI_TERMINAL_MODES_H

#include <stdbool.h>
#include <termios.h>

struct modes {
    struct termios saved;
    bool is_saved; /* false: there is no terminal, and nothing to restore */
};

/* Saves the modes that the terminal has now. */
void modes_save(struct modes *modes);
/* Gives the terminal the saved modes. What was typed and not yet read is kept. */
void modes_restore(const struct modes *modes);

#endif
