/* The lengths of the elements, keys and values of a run, and their bytes. Most lengths are short; the
 * others reach the longest, and many are near one where what is stored changes its form. */
#ifndef MCDS_TESTS_SUPPORT_LENGTHS_H
#define MCDS_TESTS_SUPPORT_LENGTHS_H

#include "mcds.h"

#define LENGTHS_MAX 128

/* The byte string of each number has a length of its own. */
struct lengths {
    uint32_t count;
    size_t of[LENGTHS_MAX];
};

/* A length from `least` to `most`; *dice is the seed, and changes. */
size_t lengths_draw(uint64_t *dice, size_t least, size_t most);
/* Draw `count` lengths. At most one is 0. */
void lengths_begin(struct lengths *lengths, uint64_t seed, uint32_t count, size_t least,
                   size_t most);
/* Every second one is about `length`, whatever was drawn: so that keys fill up. */
void lengths_fill_up(struct lengths *lengths, size_t length);
/* At most `most`. */
void lengths_limit(struct lengths *lengths, size_t most);
/* Print them. */
void lengths_print(const struct lengths *lengths);

/* The bytes of a number below 255. `out` has space for `length` bytes. */
mcds_bytes lengths_fill(uint8_t *out, size_t length, uint32_t number);
/* The number with these bytes; `count`: none has them. */
uint32_t lengths_number_of(const struct lengths *lengths, mcds_bytes bytes);

/* Names of structures, visitors and pages. */
#define LENGTHS_NAME_MAX 1024
/* The name of a number below 26. `out` has space for LENGTHS_NAME_MAX + 1 bytes. */
const char *lengths_name(const struct lengths *lengths, uint32_t number, char *out);

#endif
