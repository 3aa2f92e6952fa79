/* Source: a dump as a file that can be read twice. */
#ifndef MCDS_CLI_LOAD_SOURCE_H
#define MCDS_CLI_LOAD_SOURCE_H

#include <stddef.h>

/* Opens FILE, or for - standard input; a pipe is copied into a file without a name first, because
 * a dump is checked to its end before anything is loaded. Returns the descriptor, or -1 with the
 * sentence. */
int source_open(const char *path, char *sentence, size_t capacity);

#endif
