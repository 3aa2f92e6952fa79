/* Quoting of names and values for output. Text is printed unchanged, or as $'...' where it has
 * characters that act on a terminal or mislead a reader. The quoted form is read back byte for
 * byte. */
#ifndef MCDS_CLI_IO_QUOTE_H
#define MCDS_CLI_IO_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a hexadecimal digit, or -1. */
int hex_value(char c);

/* Length of the UTF-8 character at the beginning of `there` > 0 bytes, or 0 when they are none. */
size_t utf8_length(const char *text, size_t there);

/* If `there` > 0 bytes begin with a character that must not reach a terminal, its length;
 * otherwise 0. Such characters are control characters, also those of 8 bits, those that change
 * the direction of text, ends of lines, and bytes from 80 to 9f outside UTF-8. */
size_t control_length(const char *text, size_t there);

/* Whether text must be shown as $'...': it has such a character, or begins like that itself. */
bool needs_quotes(const char *text, size_t length);

/* Size of the output of quote_next. */
#define QUOTED_CAPACITY 16
/* Writes the next character or byte as it is quoted within $'...'. Returns the length of the
 * quoted form, and in *taken the number of bytes that it represents. */
size_t quote_next(const char *text, size_t there, char out[QUOTED_CAPACITY], size_t *taken);
/* The same, with every byte that is not ASCII as \xHH. */
size_t quote_next_ascii(const char *text, size_t there, char out[QUOTED_CAPACITY],
                        size_t *taken);

#endif
