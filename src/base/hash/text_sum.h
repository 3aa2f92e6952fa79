/* The checksum at the end of a text that a program gets and gives back: a dot and eight lower-case
 * hexadecimal digits, which are the CRC-32C of all bytes before the dot. A text that was cut, or of
 * which a byte was changed, is refused. */
#ifndef MCDS_BASE_HASH_TEXT_SUM_H
#define MCDS_BASE_HASH_TEXT_SUM_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the dot and the digits. */
#define MCDS__TEXT_SUM 9

/* Appends the checksum to the first `length` bytes, and a NUL. */
void mcds__text_seal(char *text, size_t length);
/* False: the text does not end with its checksum. *length_out: the bytes before the dot. */
bool mcds__text_unseal(const char *text, size_t *length_out);

#endif
