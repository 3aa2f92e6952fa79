/* Screen: the whole terminal, for a command that redraws it and reads keys. Every exit restores
 * the terminal, also after signals that end or stop the process. */
#ifndef MCDS_CLI_TERMINAL_SCREEN_H
#define MCDS_CLI_TERMINAL_SCREEN_H

#include <stdbool.h>

enum key {
    KEY_NONE,
    KEY_UP = 0x100,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_ESCAPE,
    KEY_REDRAW, /* the size has changed, or the process continues after a stop */
    KEY_GONE    /* the terminal */
};

/* Takes the terminal of standard input and output. False: it cannot be set. */
bool screen_open(void);
void screen_close(void);
/* Waits for a key at most this long. Returns a byte, or one of the above. */
int screen_key(int wait_ms);

#endif
