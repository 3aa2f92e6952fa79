/* Combining: operations of one pipeline that append to the same key share a batch. Those that add to
 * the same number share a request: engine/combine/counts.h.
 *
 * Within one round, the batches that are marked combinable and append to the same key become
 * one: one ADD if one of them has it, one APPEND of all their values in their order, one read
 * of the size, or of the value if one of them needs it. The reply is copied to each of them,
 * and each continues on its own. A combinable batch is
 *
 *   [ADD key] APPEND key [GET key]*
 *
 * without cas tokens, of an operation that treats OK and NOT_STORED alike as replies to its
 * ADD. Each batch gets a reply that it could have got alone, if the others had run directly
 * before and after it: a size is that of the value up to its own bytes. A value that is read is
 * shared by all until the next call of mcds__combine. A refusal because of the sum of the sizes
 * is never copied: then each batch is sent alone. */
#ifndef MCDS_ENGINE_COMBINE_COMBINE_H
#define MCDS_ENGINE_COMBINE_COMBINE_H

#include "engine/combine/counts.h"

#define MCDS__COMBINE_SLOTS 128

/* Batches that append to one key. */
struct mcds__combine_slot {
    mcds_batch *first; /* NULL: the slot is free */
    mcds_batch *rest;
    mcds_batch **end; /* of the rest */
    uint64_t hash;    /* of the key */
    uint32_t count;
    size_t length; /* of the values together */
};

struct mcds__combined;

struct mcds__combiner {
    const mcds_env *env;
    uint64_t seed; /* of the hash of keys, which users may have chosen */
    struct mcds__combined *all;
    struct mcds__combined *spare;
    struct mcds__combine_slot *last; /* of the last batch; the next probably joins it */
    struct mcds__counts counts;
    uint32_t taken_count;
    uint8_t taken[MCDS__COMBINE_SLOTS]; /* slots, in the order in which they were taken */
    struct mcds__combine_slot slots[MCDS__COMBINE_SLOTS];
};

/* `combiner` is zero otherwise. */
void mcds__combiner_init(struct mcds__combiner *combiner, const mcds_env *env);
/* None of its batches may be in flight. */
void mcds__combiner_free(struct mcds__combiner *combiner);

/* Whether to combine a round of `all` batches with so many combinable appends and counts. The
 * search for counts that share a request takes time for each batch of the round. */
#define MCDS__COMBINE_COUNTS_PART 8
static inline bool mcds__combine_pays(uint32_t appends, uint32_t counts, uint32_t all)
{
    return appends > 1 || (counts > 1 && counts >= all / MCDS__COMBINE_COUNTS_PART);
}

/* Returns the list to submit instead of this one. Batches of one key keep their order. A combined one
 * is where the first of its parts was. */
mcds_batch *mcds__combine(struct mcds__combiner *combiner, mcds_batch *first);
/* Returns the batches that `combined` replaced, as a list. Those with `answered` 0 must be
 * sent alone; the others have their replies. */
mcds_batch *mcds__separate(struct mcds__combiner *combiner, mcds_batch *combined);

#endif
