/* Sum: the checksum of the lines of a dump, XXH64 with seed 0. */
#ifndef MCDS_CLI_DUMP_SUM_H
#define MCDS_CLI_DUMP_SUM_H

#include <stddef.h>

/* 16 lower-case hexadecimal digits and a NUL. */
#define SUM_TEXT 17

struct sum;

/* NULL: out of memory. */
struct sum *sum_new(void);
void sum_free(struct sum *sum);
void sum_begin(struct sum *sum);
void sum_add(struct sum *sum, const void *bytes, size_t length);
void sum_write(const struct sum *sum, char out[SUM_TEXT]);

#endif
