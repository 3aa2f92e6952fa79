/* The only place that prints: results on standard output, sentences on standard error. */
#ifndef MCDS_CLI_OUTPUT_H
#define MCDS_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "mcds.h"

struct output {
    bool json;
    bool quiet;
    unsigned long line; /* of the batch; 0 = no batch */
    uint32_t fields;    /* printed in this line so far */
};

/* Whether plain output has the field; --json has all. */
enum show { SHOWN, HIDDEN };

/* One result: begin, its fields, end. Plain: the shown fields with tabs between them, in one
 * line. --json: one object. */
void output_begin(struct output *output);
void output_number(struct output *output, const char *key, int64_t number, enum show show);
void output_unsigned(struct output *output, const char *key, uint64_t number, enum show show);
void output_real(struct output *output, const char *key, double number, enum show show);
void output_bool(struct output *output, const char *key, bool value, enum show show);
void output_text(struct output *output, const char *key, const char *text, enum show show);
/* A name that others gave: plain output writes control characters as $'\n'. */
void output_name(struct output *output, const char *key, const char *name, enum show show);
/* A word that only confirms; -q leaves it out of plain output. */
void output_word(struct output *output, const char *key, const char *word);
void output_end(struct output *output);

/* Text of ours on standard output, as it is. */
void output_print(const char *format, ...) MCDS_PRINTF(1, 2);

/* "mcds: SENTENCE" on standard error; in a batch "mcds: line N: SENTENCE". Control characters
 * of the sentence come out as \xHH. */
void complain(const struct output *output, const char *format, ...) MCDS_PRINTF(2, 3);

/* Write out what is gathered. False, with the sentence printed at the first time, when standard
 * output does not take it. */
bool output_flush(const struct output *output);

#endif
