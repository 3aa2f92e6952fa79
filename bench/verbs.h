/* What contestants do with element number n, the same bytes on every side. */
#ifndef BENCH_VERBS_H
#define BENCH_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb { SET_ADD, TABLE_PUT, TABLE_HAS, VERB_COUNT };

#define ELEMENT_LENGTH 16 /* "user:0123456789a" */
#define VALUE_LENGTH 32

const char *verb_name(enum verb verb);

/* The element of a number below 2^44: numbers that follow each other have elements that do not. */
void element_of(uint64_t number, char out[ELEMENT_LENGTH + 1]);
/* VALUE_LENGTH bytes. */
extern const char table_value[VALUE_LENGTH + 1];

/* A number below `size`, another for each `step`; all of them have their turn. */
uint64_t spread(uint64_t step, uint64_t size);

#endif
