/* A random stream of commands over few keys, the same for the same seed and the same replies.
 */
#ifndef MCDS_TESTS_STREAM_GENERATOR_H
#define MCDS_TESTS_STREAM_GENERATOR_H

#include "mcds/backend.h"

#define STREAM_KEYS 40
#define STREAM_BATCHES_MAX 4
#define STREAM_PAIRS 4
#define STREAM_VALUE_MAX 9000

/* The token of one item, as each of the two stores wrote it. */
struct stream_pair {
    mcds_cas_token of[2];
};

struct stream_key {
    char bytes[64];
    struct stream_pair pairs[STREAM_PAIRS]; /* the newest ones seen */
    uint32_t pair_next;
    bool read; /* within the batch under construction */
};

/* What both stores can do. */
struct stream_limits {
    bool create_on_increment;
    bool flags_on_create;
    bool create_on_append;
    bool compare_and_set;
    bool compare_and_delete;
};

/* One request, for both stores: they differ in the token. */
struct stream_request {
    mcds_request request;
    uint32_t key;
    mcds_cas_token tokens[2];
    uint8_t value[STREAM_VALUE_MAX];
};

struct stream_batch {
    struct stream_request requests[MCDS_BATCH_MAX];
    uint32_t count;
    bool independent;
};

struct stream {
    uint64_t state;
    struct stream_limits limits;
    struct stream_key keys[STREAM_KEYS];
    bool is_spoilt[STREAM_KEYS];                     /* for the comparison */
    uint32_t unpadded;                               /* likewise */
    struct stream_batch batches[STREAM_BATCHES_MAX]; /* to be submitted together */
    uint32_t batch_count;
};

void stream_init(struct stream *stream, uint64_t seed, const struct stream_limits *limits);
uint64_t stream_random(struct stream *stream, uint64_t below);
/* Make the next batches. No two of one round share a key, so their order does not matter. */
void stream_next(struct stream *stream);
/* Remember a pair of tokens that was read for a key. */
void stream_note(struct stream *stream, uint32_t key, const struct stream_pair *pair);

#endif
