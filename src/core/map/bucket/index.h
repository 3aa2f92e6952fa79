/* Bucket: an index of an array, which finds the number of an item by its hash.
 *
 * Open addressing. Users who can write to the store choose the hashes, so each index mixes
 * them with a random number: no stored value can make many items collide. */
#ifndef MCDS_CORE_MAP_BUCKET_INDEX_H
#define MCDS_CORE_MAP_BUCKET_INDEX_H

#include <assert.h>

#include "mcds.h"

#define MCDS__MAP_INDEX_FROM 64 /* items; for fewer, a search of the array is faster */

struct mcds__bucket_index {
    uint32_t *slots;   /* an item's number + 1; 0: free. NULL: no index */
    uint32_t capacity; /* a power of two, at least twice as many as there are items */
    uint64_t seed;
};

/* Reserve space for `count` items. *cleared_out: all slots are free, so every item must be
 * added. False: no memory, and no index. */
bool mcds__bucket_index_reserve(struct mcds__bucket_index *index, const mcds_env *env,
                                uint32_t count, bool *cleared_out);
void mcds__bucket_index_free(struct mcds__bucket_index *index, const mcds_env *env);

/* The slot at which the search for a hash begins. */
static inline uint32_t mcds__bucket_index_first(const struct mcds__bucket_index *index,
                                                uint64_t hash)
{
    assert(index->capacity != 0 && (index->capacity & (index->capacity - 1)) == 0);
    hash ^= index->seed;
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32) & (index->capacity - 1);
}

static inline uint32_t mcds__bucket_index_next(const struct mcds__bucket_index *index,
                                               uint32_t at)
{
    assert(at < index->capacity);
    return (at + 1) & (index->capacity - 1);
}

#endif
