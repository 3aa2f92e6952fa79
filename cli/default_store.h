/* The store without -s and $MCDS_STORE: a file of the user under $XDG_STATE_HOME or $HOME. */
#ifndef MCDS_CLI_DEFAULT_STORE_H
#define MCDS_CLI_DEFAULT_STORE_H

#include <stddef.h>

/* Find the file and make its directory. Returns 0 with its URI and where that comes from, or an
 * exit code with a sentence. */
int default_store(char *uri, size_t uri_room, const char **origin_out, char *sentence,
                  size_t sentence_room);

/* An environment variable that decides on a store; NULL for a program that runs with the
 * privileges of another user than its caller's. */
const char *trusted_environment(const char *name);

#endif
