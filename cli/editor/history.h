/* History: the lines of earlier shells of this user. The file mcds/history is in the directory of
 * the default store. */
#ifndef MCDS_CLI_EDITOR_HISTORY_H
#define MCDS_CLI_EDITOR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "run/default_store.h"

#define HISTORY_LINES 1000

struct history {
    char path[STATE_PATH_CAPACITY + 16]; /* "": no history is kept */
    char password[256];                  /* of the store; "": none */
};

/* Finds the file. Without a directory that only this user can write, there is no history; that is
 * not a failure. `uri` names the store. No line of the file contains the password of that store. */
void history_open(struct history *history, const char *uri);
/* Forgets the password. */
void history_close(struct history *history);

/* Calls `take` for the last HISTORY_LINES lines of the file, the oldest first. If the file has more
 * than twice as many lines, it is shortened to these. */
void history_load(const struct history *history, void (*take)(void *context, const char *line),
                  void *context);

/* Whether the line may be stored: it is not empty, does not begin with a blank, and does not
 * contain the password, also if it is quoted. While there is a password, a line that cannot be split
 * is not stored. */
bool history_may_keep(const struct history *history, const char *line);
/* Appends the line to the file. */
void history_append(const struct history *history, const char *line);

#endif
