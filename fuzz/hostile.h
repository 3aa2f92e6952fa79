/* A backend whose every answer comes from an input: outcomes, numbers, flags and values, among these
 * frames that are in order but for what they say, and what was written under the key, changed or
 * not. Where the input ends, everything is refused. */
#ifndef FUZZ_HOSTILE_H
#define FUZZ_HOSTILE_H

#include "input.h"
#include "mcds/backend.h"
#include "support/fake_env.h"

#define HOSTILE_KEPT 8
#define HOSTILE_KEY_CAPACITY 256
#define HOSTILE_VALUE_CAPACITY 4096

/* What was written last under a key. */
struct hostile_kept {
    size_t key_length;
    size_t length;
    uint32_t flags;
    char key[HOSTILE_KEY_CAPACITY];
    uint8_t value[HOSTILE_VALUE_CAPACITY];
};

struct hostile {
    struct fake_env fake;
    struct fuzz_input *input;
    mcds_capabilities can;
    uint64_t tokens;
    uint32_t kept_count;
    struct hostile_kept kept[HOSTILE_KEPT];
};

/* A store on it. Time passes by a millisecond with each batch, and where the library sleeps. */
mcds_store *hostile_open(struct hostile *hostile, struct fuzz_input *input);

#endif
