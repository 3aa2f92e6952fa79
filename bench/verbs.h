/* What contestants do with element number n: the same bytes on every side. */
#ifndef BENCH_VERBS_H
#define BENCH_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb { SET_ADD, TABLE_PUT, TABLE_HAS, LIST_PUSH, LOG_PUT, VERB_COUNT };

#define ELEMENT_LENGTH 16 /* "user:0123456789a" */
#define VALUE_LENGTH 32
#define EVENT_LENGTH 60

const char *verb_name(enum verb verb);

/* The element of a number below 2^44: consecutive numbers have distant elements. */
void element_of(uint64_t number, char out[ELEMENT_LENGTH + 1]);
/* The value in a table and a list, and the event in a log. */
extern const char value_bytes[VALUE_LENGTH + 1];
extern const char event_bytes[EVENT_LENGTH + 1];

/* A number below `size` that differs for each `step`; all numbers occur. */
uint64_t spread(uint64_t step, uint64_t size);

#define COUNTERS 1000 /* if there are many */
#define COUNTER_NAME_MAX 16

void counter_name(uint32_t number, char out[COUNTER_NAME_MAX]);

/* The random seed of a thread for choosing counters. If threads visited the counters in order,
 * two threads would fall into step and collide at all of them or at none. */
static inline uint32_t dice_of_thread(uint32_t thread)
{
    return thread * UINT32_C(0x9e3779b1);
}

static inline uint32_t throw_counter(uint32_t *dice)
{
    *dice = *dice * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*dice * COUNTERS >> 32);
}

#endif
