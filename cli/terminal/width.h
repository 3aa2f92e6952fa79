/* Width: the columns of a terminal that a text occupies. */
#ifndef MCDS_CLI_TERMINAL_WIDTH_H
#define MCDS_CLI_TERMINAL_WIDTH_H

#include <stddef.h>

/* Columns of text without control characters: 2 for a wide character, 0 for one that combines with
 * the one before it, 1 for any other, and for a byte that is no UTF-8. */
size_t text_width(const char *text, size_t length);

/* The number of bytes at the beginning of `text` that fit into `columns`. No character is cut, no
 * escape of quoted text, such as \n or \x1b, and no character of several escapes, such as \xc3\xb6. */
size_t text_fit(const char *text, size_t length, size_t columns);

#endif
