/* An index over an array: its memory. */
#include "core/fold_index.h"

#include "base/environment.h"

bool mcds__fold_index_reserve(struct mcds__fold_index *index, const mcds_env *env,
                              uint32_t count, bool *cleared_out)
{
    uint64_t room = 4 * MCDS__FOLD_INDEX_FROM;
    *cleared_out = false;
    if (index->slots != NULL && count <= index->room / 2)
        return true;
    while (room < (uint64_t)count * 4)
        room *= 2;
    if (index->slots == NULL)
        index->seed = mcds__random_u64(env);
    mcds__fold_index_free(index, env);
    if (room > UINT32_MAX)
        return false;
    index->slots = mcds__allocate_zero(env, (size_t)room * sizeof index->slots[0]);
    index->room = index->slots != NULL ? (uint32_t)room : 0;
    *cleared_out = true;
    return index->slots != NULL;
}

void mcds__fold_index_free(struct mcds__fold_index *index, const mcds_env *env)
{
    mcds__free(env, index->slots);
    index->slots = NULL;
    index->room = 0;
}
