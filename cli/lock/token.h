/* Token: a lease as one line of text, in a file, on a descriptor, or on a standard stream. */
#ifndef MCDS_CLI_LOCK_TOKEN_H
#define MCDS_CLI_LOCK_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "table/command.h"

/* Where the token is: --token FILE, --token-fd N, or a standard stream. */
struct token_place {
    const char *path; /* NULL: `fd` */
    int fd;
};
struct token_place token_place_of(const struct command *command, int standard_fd);

/* Whether a token can be written there. A file that is not empty may be the token of another
 * holder, and is refused; an empty one, such as mktemp makes, will be replaced. Returns 0, or an
 * exit code with the sentence. */
int token_check(const struct token_place *place, char *sentence, size_t capacity);
/* Writes the token. A file has mode 0600, and gets its name when it is whole and on the disk.
 * False: failed, with errno set, and without a file. */
bool token_write(const struct token_place *place, const char *text);

/* Reads the token, without the end of the line. Returns 0, or an exit code with the sentence:
 * STATUS_NO: there is no such file; STATUS_DATA: there is no token in it; STATUS_USAGE: the place
 * cannot contain one. */
int token_read(const struct token_place *place, char text_out[MCDS_LEASE_TEXT], char *sentence,
               size_t capacity);
/* Writes a sentence about the token, or about its place: `why`. */
void token_blame(const struct token_place *place, const char *why, char *sentence,
                 size_t capacity);
/* Removes the file of a lease that has ended. */
void token_remove(const struct token_place *place);

#endif
