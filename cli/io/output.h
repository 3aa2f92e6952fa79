/* Output: prints results on standard output and sentences on standard error. */
#ifndef MCDS_CLI_IO_OUTPUT_H
#define MCDS_CLI_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mcds.h"
#include "terminal/columns.h"

struct output {
    FILE *file;              /* standard output, or memory */
    struct columns *columns; /* that align the lines on a terminal, or NULL; `file` is theirs */
    bool ascii; /* plain output has no other characters: the terminal cannot show them */
    bool json;
    bool quiet;
    bool raw;                  /* plain output quotes nothing */
    bool in_one_line;          /* of several results: see output_begin */
    unsigned long line;        /* of the batch or of the input; 0 = none */
    unsigned long script_line; /* of a script, only for sentences; 0 = none */
    uint32_t fields;           /* printed in this line so far */
    uint64_t results;          /* that have been ended */
    uint64_t changes;          /* that were made in the store, printed or not */
    int error;                 /* errno of the first write that failed */
    bool is_error_told;
};

/* Whether plain output has the field; --json has all. */
enum show { SHOWN, HIDDEN };

/* One result: begin, its fields, end. Plain: the shown fields with tabs between them, in one
 * line. --json: one object. With in_one_line nothing ends the line: plain results have tabs
 * between them, objects have commas. */
void output_begin(struct output *output);
void output_number(struct output *output, const char *key, int64_t number, enum show show);
/* Returns true for a number that JSON carries as a string. */
bool json_needs_quotes(uint64_t number);
void output_unsigned(struct output *output, const char *key, uint64_t number, enum show show);
/* Of a number that is not negative; a larger one becomes UINT64_MAX. */
void output_rounded(struct output *output, const char *key, double number, enum show show);
void output_real(struct output *output, const char *key, double number, enum show show);
void output_bool(struct output *output, const char *key, bool value, enum show show);
void output_text(struct output *output, const char *key, const char *text, enum show show);
/* A name or value, in plain output quoted as in quote.h: $'\n'. With --json, text that is not
 * UTF-8 is printed a second time, unchanged, as KEY_base64. */
void output_name(struct output *output, const char *key, const char *name, enum show show);
void output_bytes(struct output *output, const char *key, mcds_bytes bytes, enum show show);
/* The bytes unchanged, with no line end after them. */
void output_raw(struct output *output, mcds_bytes bytes);
/* A field that is printed already. */
void output_copy(struct output *output, const char *key, const char *printed);
/* A word that only confirms; -q leaves it out of plain output. */
void output_word(struct output *output, const char *key, const char *word);
void output_end(struct output *output);

/* Prints a text of the command on standard output, unquoted. */
void output_print(const char *format, ...) MCDS_PRINTF(1, 2);

/* Copies a sentence with the characters that a terminal would act on, and bytes that are no UTF-8,
 * as \xHH; with `ascii` all bytes that are not ASCII. `out` has room for four times its length and
 * the NUL. Returns the length. */
size_t make_visible(const char *sentence, bool ascii, char *out);

/* Prints "mcds: SENTENCE" on standard error, or in a batch or a script "mcds: line N: SENTENCE".
 * Characters that control a terminal are made visible. */
void complain(const struct output *output, const char *format, ...) MCDS_PRINTF(2, 3);

/* Whether standard output is open for writing and not full, as far as that can be known without
 * writing to it. False with the sentence printed. */
bool output_may_begin(struct output *output);

/* Writes the buffered output. False when standard output fails; output_flush prints the
 * sentence. */
bool output_pass_on(struct output *output);
/* The same, but prints a sentence at the first failure, unless the reader has closed the pipe and
 * nothing was changed. */
bool output_flush(struct output *output);

/* Whether everything printed so far was written, as far as is known. */
bool output_is_fine(const struct output *output);

/* Writes all bytes to a file descriptor; a signal does not end that. False: not all, with errno. */
bool write_whole(int fd, const void *bytes, size_t length);

/* Whether standard output still has a reader. Returns after this time, or when the reader
 * leaves. */
bool output_is_read(int wait_ms);

#endif
