/* Bucket: the memory of an index of an array. */
#include "core/map/bucket/index.h"

#include <assert.h>

#include "base/environment.h"

bool mcds__bucket_index_reserve(struct mcds__bucket_index *index, const mcds_env *env,
                                uint32_t count, bool *cleared_out)
{
    uint64_t capacity = 4 * MCDS__MAP_INDEX_FROM;
    *cleared_out = false;
    if (index->slots != NULL && count <= index->capacity / 2)
        return true;
    while (capacity < (uint64_t)count * 4)
        capacity *= 2;
    if (index->slots == NULL)
        index->seed = mcds__random_u64(env);
    mcds__bucket_index_free(index, env);
    if (capacity > UINT32_MAX)
        return false;
    assert((capacity & (capacity - 1)) == 0);
    index->slots = mcds__allocate_zero(env, (size_t)capacity * sizeof index->slots[0]);
    index->capacity = index->slots != NULL ? (uint32_t)capacity : 0;
    *cleared_out = true;
    return index->slots != NULL;
}

void mcds__bucket_index_free(struct mcds__bucket_index *index, const mcds_env *env)
{
    mcds__free(env, index->slots);
    index->slots = NULL;
    index->capacity = 0;
}
