/* Limit, form BUCKET: the buckets that a handle has read last, of a few identities. */
#include "structures/limit/memo.h"

#include <assert.h>

static bool memo_enter(struct mcds__memo *memo)
{
    return !atomic_exchange_explicit(&memo->is_used, true, memory_order_acquire);
}

static void memo_leave(struct mcds__memo *memo)
{
    assert(atomic_load_explicit(&memo->is_used, memory_order_relaxed));
    atomic_store_explicit(&memo->is_used, false, memory_order_release);
}

void mcds__memo_keep(struct mcds__memo *memo, uint64_t hash, uint64_t digest,
                     const struct mcds__take_entry *entry)
{
    if (hash == 0 || !memo_enter(memo))
        return;
    size_t place = hash % MCDS__MEMO;
    memo->places[place].hash = hash;
    memo->places[place].digest = digest;
    memo->places[place].entry = *entry;
    memo_leave(memo);
}

bool mcds__memo_recall(struct mcds__memo *memo, uint64_t hash, uint64_t digest,
                       struct mcds__take_entry *entry_out)
{
    if (hash == 0 || !memo_enter(memo))
        return false;
    size_t place = hash % MCDS__MEMO;
    bool is_known = memo->places[place].hash == hash && memo->places[place].digest == digest;
    if (is_known)
        *entry_out = memo->places[place].entry;
    memo_leave(memo);
    return is_known;
}
