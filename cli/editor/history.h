/* History: the lines of earlier shells of this user, in the file mcds/history beside the default store. */
#ifndef MCDS_CLI_EDITOR_HISTORY_H
#define MCDS_CLI_EDITOR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "run/default_store.h"

#define HISTORY_LINES 1000

struct history {
    char path[STATE_PATH_CAPACITY + 16]; /* "": there is none */
    char password[256];                  /* of the store; "": none */
};

/* Finds the file; without a directory that is the user's own there is no history, and no failure. `uri` is the
 * store, whose password no line of the file may have. */
void history_open(struct history *history, const char *uri);
/* Forgets the password. */
void history_close(struct history *history);

/* Calls `take` for the last HISTORY_LINES lines of the file, the oldest first. A file of more than twice as many
 * is shortened to these. */
void history_load(const struct history *history, void (*take)(void *context, const char *line),
                  void *context);

/* Whether the line may be kept: it begins with no blank, and does not have the password. */
bool history_may_keep(const struct history *history, const char *line);
/* Appends the line to the file. */
void history_append(const struct history *history, const char *line);

#endif
