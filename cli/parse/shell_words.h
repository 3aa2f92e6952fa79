/* Splits a line into words by shell quoting. */
#ifndef MCDS_CLI_PARSE_SHELL_WORDS_H
#define MCDS_CLI_PARSE_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Splits `line` (ended by NUL, changed in place) at blanks into at most `max` words, which point
 * into it. '...' takes everything as it is; "..." all but \" \\ \$ and \`; outside of quotes a
 * backslash takes the next byte as it is; $'...' knows \n \r \t \e \\ \' \" and \xHH. A # where
 * a word would begin starts a comment. Nothing else is special: no variables, no patterns.
 *
 * Returns the number of words, or -1 with a sentence in *error_out. */
int split_words(char *line, char **words, size_t max, const char **error_out);

/* The same for a line of a shell: an operator of the system's shell, one of | & ; < > ( and ), is
 * refused anywhere in a word, unless it is quoted. After -1, *place_out is the index of the wrong byte; of a quote that is not closed, of
 * an operator and of an escape, it is the first byte. */
int split_typed_words(char *line, char **words, size_t max, const char **error_out,
                      size_t *place_out);

/* Splits a line whose last word is not complete: a quote may be open, and after a blank the last
 * word is empty. So there is at least one word. *begin_out is the index at which the last word
 * begins. Returns the number of words; -1: the line cannot be split, or ends with a comment. */
int split_open_words(char *line, char **words, size_t max, size_t *begin_out);

/* Reads back a field that output_bytes has written. A quoted field is unquoted in place. Any
 * other field, also one that only begins like a quoted one, stays as it is. `field` has a NUL
 * after its *length bytes. False: out of memory. */
bool unquote_field(char *field, size_t *length);

#endif
