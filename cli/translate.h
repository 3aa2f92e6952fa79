/* What the library says of its options, in the words of the command. */
#ifndef MCDS_CLI_TRANSLATE_H
#define MCDS_CLI_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>

/* The message with options as they are typed, cut to fit; its first bytes, which name a
 * structure, stay as they are. */
void translate(const char *message, size_t named, char *out, size_t room);

#endif
