/* The default store, used without -s and $MCDS_STORE: a file under $XDG_STATE_HOME or $HOME. */
#ifndef MCDS_CLI_RUN_DEFAULT_STORE_H
#define MCDS_CLI_RUN_DEFAULT_STORE_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the file; with `makes`, makes its directory. Returns 0 with its URI and the origin of the URI,
 * or an exit code with a sentence. */
int default_store(bool makes, char *uri, size_t uri_room, const char **origin_out,
                  char *sentence, size_t sentence_capacity);

/* Reads an environment variable that selects a store. NULL in a program that runs with the
 * privileges of another user than its caller. */
const char *trusted_environment(const char *name);

#endif
