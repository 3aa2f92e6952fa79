/* Limit: the identities that were refused to a handle, each with the time to retry. */
#include "structures/limit/refusals.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash/hash.h"

/* The low bits of an entry are the time, enough until the year 2248. Then comes whether the identity
 * is contended: others take its tokens as soon as there are any. The high bits are of the hash. */
#define HASH_SHIFT 44
#define CONTENDED (UINT64_C(1) << 43)
#define TIME_MAX ((int64_t)CONTENDED - 1)
#define WAYS MCDS__REFUSALS_WAYS

void mcds__refusals_init(struct mcds__refusals *refusals, const mcds_env *env)
{
    memset(refusals, 0, sizeof *refusals);
    refusals->seed = mcds__random_u64(env);
}

/* The entries that the identity may have. */
static _Atomic uint64_t *refusals_set_of(struct mcds__refusals *refusals, mcds_bytes identity,
                                         uint64_t *bits_out)
{
    uint64_t hash = mcds__hash(refusals->seed, identity);
    assert(identity.length > 0);
    *bits_out = hash >> HASH_SHIFT;
    return refusals->entries[hash % MCDS__REFUSALS_SETS];
}

static int64_t refusal_time_of(uint64_t entry)
{
    return (int64_t)(entry & (CONTENDED - 1));
}

/* Takes the entry of the identity, or else the one that ends first. An empty one ends before all. */
void mcds__refusals_note(struct mcds__refusals *refusals, mcds_bytes identity, int64_t until_ms,
                         bool has_read)
{
    uint64_t bits;
    _Atomic uint64_t *set = refusals_set_of(refusals, identity, &bits);
    int64_t time_ms = until_ms < 0 ? 0 : until_ms > TIME_MAX ? TIME_MAX : until_ms;
    int64_t first_ms = INT64_MAX;
    uint64_t contended = 0;
    size_t place = WAYS;
    for (size_t way = 0; way < WAYS; way++) {
        uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);
        bool is_own = entry != 0 && entry >> HASH_SHIFT == bits;
        int64_t ends_ms = is_own ? -1 : refusal_time_of(entry);
        if (is_own)
            contended = has_read ? entry & CONTENDED : CONTENDED;
        if (ends_ms < first_ms) {
            first_ms = ends_ms;
            place = way;
        }
    }
    assert(place < WAYS && bits >> (64 - HASH_SHIFT) == 0);
    atomic_store_explicit(&set[place], bits << HASH_SHIFT | contended | (uint64_t)time_ms,
                          memory_order_relaxed);
}

void mcds__refusals_forget(struct mcds__refusals *refusals, mcds_bytes identity)
{
    uint64_t bits;
    _Atomic uint64_t *set = refusals_set_of(refusals, identity, &bits);
    for (size_t way = 0; way < WAYS; way++)
        if (atomic_load_explicit(&set[way], memory_order_relaxed) >> HASH_SHIFT == bits)
            atomic_store_explicit(&set[way], 0, memory_order_relaxed);
}

bool mcds__refusals_has(struct mcds__refusals *refusals, mcds_bytes identity, int64_t now_ms)
{
    uint64_t bits;
    _Atomic uint64_t *set = refusals_set_of(refusals, identity, &bits);
    for (size_t way = 0; way < WAYS; way++) {
        uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);
        bool is_own = entry != 0 && entry >> HASH_SHIFT == bits;
        if (is_own && (refusal_time_of(entry) > now_ms || (entry & CONTENDED) != 0))
            return true;
    }
    return false;
}
