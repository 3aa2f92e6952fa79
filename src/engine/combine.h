/* Combining: operations of one pipeline that append to the same key ask together.
 *
 * Within one round, the batches that are marked combinable and append to the same key become
 * one: one ADD where one of them has it, one APPEND of all their values in the order in which
 * they came, one read of the size, or of the value where one of them wants it. The reply is copied
 * to each of them, and each continues on its own. A combinable batch is
 *
 *   [ADD key] APPEND key [GET key]*
 *
 * without cas tokens, of an operation to which its own ADD means the same whether it is answered
 * OK or NOT_STORED. Each batch gets a reply that it could have got alone, with the others directly
 * before and after it: where only the size is read, it is that of the value up to its own
 * bytes. A value that is read is the same memory for all, until the next call of mcds__combine. A
 * refusal for the sum of the sizes is never copied: then each batch is sent alone. */
#ifndef MCDS_ENGINE_COMBINE_H
#define MCDS_ENGINE_COMBINE_H

#include "mcds_store.h"

#define MCDS__COMBINE_SLOTS 128

/* Batches that append to one key. */
struct mcds__combine_slot {
    mcds_batch *first; /* NULL: the slot is free */
    mcds_batch **end;
    uint64_t hash; /* of the key */
    uint32_t count;
    size_t length; /* of the values together */
};

struct mcds__combined;

struct mcds__combiner {
    const mcds_env *env;
    uint64_t seed; /* of the hash of keys, which strangers may have chosen */
    struct mcds__combined *all;
    struct mcds__combined *spare;
    uint32_t taken_count;
    uint8_t taken[MCDS__COMBINE_SLOTS]; /* slots, in the order in which they were taken */
    struct mcds__combine_slot slots[MCDS__COMBINE_SLOTS];
};

/* `combiner` is zero otherwise. */
void mcds__combiner_init(struct mcds__combiner *combiner, const mcds_env *env);
/* None of the batches that it made may be under way. */
void mcds__combiner_free(struct mcds__combiner *combiner);

/* What to submit instead of this list. Batches of one key keep their order. */
mcds_batch *mcds__combine(struct mcds__combiner *combiner, mcds_batch *first);
/* The batches for which `combined` stood, as a list. Those with `answered` 0 are to be sent
 * alone, the others have their replies. */
mcds_batch *mcds__separate(struct mcds__combiner *combiner, mcds_batch *combined);

#endif
