/* An index over an array: the number of an item by a hash of the item.
 *
 * Open addressing. Whoever can write to the store chooses the hashes, so each index mixes them
 * with a random number of its own: no value makes many items share a slot. */
#ifndef MCDS_CORE_FOLD_INDEX_H
#define MCDS_CORE_FOLD_INDEX_H

#include "mcds.h"

#define MCDS__FOLD_INDEX_FROM 64 /* items; for fewer, a search of the array is faster */

struct mcds__fold_index {
    uint32_t *slots; /* an item's number + 1; 0: free. NULL: no index */
    uint32_t room;   /* a power of two, at least twice as many as there are items */
    uint64_t seed;
};

/* Makes room for `count` items. *cleared_out: all slots are free, so every item is to be entered.
 * False: no memory, and no index. */
bool mcds__fold_index_reserve(struct mcds__fold_index *index, const mcds_env *env,
                              uint32_t count, bool *cleared_out);
void mcds__fold_index_free(struct mcds__fold_index *index, const mcds_env *env);

/* The slot at which the search for a hash begins. */
static inline uint32_t mcds__fold_index_first(const struct mcds__fold_index *index,
                                              uint64_t hash)
{
    hash ^= index->seed;
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32) & (index->room - 1);
}

static inline uint32_t mcds__fold_index_next(const struct mcds__fold_index *index, uint32_t at)
{
    return (at + 1) & (index->room - 1);
}

#endif
