/* Sum: XXH64, in pieces. */
#include "dump/sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct sum {
    XXH64_state_t state;
};

struct sum *sum_new(void)
{
    struct sum *sum = malloc(sizeof *sum);
    if (sum != NULL)
        sum_begin(sum);
    return sum;
}

void sum_free(struct sum *sum)
{
    free(sum);
}

void sum_begin(struct sum *sum)
{
    (void)XXH64_reset(&sum->state, 0);
}

void sum_add(struct sum *sum, const void *bytes, size_t length)
{
    (void)XXH64_update(&sum->state, bytes, length);
}

void sum_write(const struct sum *sum, char out[SUM_TEXT])
{
    (void)snprintf(out, SUM_TEXT, "%016" PRIx64, (uint64_t)XXH64_digest(&sum->state));
}
