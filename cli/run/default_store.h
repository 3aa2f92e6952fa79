/* The default store, used without -s and $MCDS_STORE: a file under $XDG_STATE_HOME or $HOME. */
#ifndef MCDS_CLI_RUN_DEFAULT_STORE_H
#define MCDS_CLI_RUN_DEFAULT_STORE_H

#include <stdbool.h>
#include <stddef.h>

#define STATE_PATH_CAPACITY 2048
#define OBSTACLE_CAPACITY (2 * STATE_PATH_CAPACITY + 512)

/* Finds the directory in which the command stores files of this user: mcds in $XDG_STATE_HOME or in
 * $HOME/.local/state. With `makes`, makes it. Only this user can put a file into it. Returns 0 with
 * its path and whether $XDG_STATE_HOME names it, or an exit code with a sentence. */
int state_directory(bool makes, char path[STATE_PATH_CAPACITY], bool *is_state_out,
                    char *sentence, size_t sentence_capacity);

/* Finds the file; with `makes`, makes its directory. Returns 0 with its URI and the origin of the
 * URI, or an exit code with a sentence. */
int default_store(bool makes, char *uri, size_t uri_room, const char **origin_out,
                  char *sentence, size_t sentence_capacity);

/* Looks for what prevents this user from making a file and the directories above it, without making
 * anything. Returns NULL, or the remedy with the obstacle in `out`. */
const char *find_obstacle(const char *path, char *out, size_t capacity);

/* Reads an environment variable that selects a store. NULL in a program that runs with the
 * privileges of another user than its caller. */
const char *trusted_environment(const char *name);

#endif
