/* Limit: the identities that were refused to a handle, each with the time to retry. */
#include "structures/limit/refusals.h"

#include <assert.h>

#include "base/hash/hash.h"

#define HASH_SEED UINT64_C(0x6c696d6974)
/* The low bits of an entry are the time, enough until the year 2527; the others are of the hash. */
#define TIME_BITS 44
#define TIME_MAX ((INT64_C(1) << TIME_BITS) - 1)

static _Atomic uint64_t *refusal_of(struct mcds__refusals *refusals, mcds_bytes identity,
                                    uint64_t *bits_out)
{
    uint64_t hash = mcds__hash(HASH_SEED, identity);
    assert(identity.length > 0);
    *bits_out = hash >> TIME_BITS;
    return &refusals->entries[hash % MCDS__REFUSALS];
}

void mcds__refusals_note(struct mcds__refusals *refusals, mcds_bytes identity, int64_t until_ms)
{
    uint64_t bits;
    _Atomic uint64_t *entry = refusal_of(refusals, identity, &bits);
    uint64_t time_ms = until_ms < 0          ? 0
                       : until_ms > TIME_MAX ? (uint64_t)TIME_MAX
                                             : (uint64_t)until_ms;
    assert(bits >> (64 - TIME_BITS) == 0);
    atomic_store_explicit(entry, bits << TIME_BITS | time_ms, memory_order_relaxed);
}

void mcds__refusals_forget(struct mcds__refusals *refusals, mcds_bytes identity)
{
    uint64_t bits;
    _Atomic uint64_t *entry = refusal_of(refusals, identity, &bits);
    if (atomic_load_explicit(entry, memory_order_relaxed) >> TIME_BITS == bits)
        atomic_store_explicit(entry, 0, memory_order_relaxed);
}

bool mcds__refusals_has(struct mcds__refusals *refusals, mcds_bytes identity, int64_t now_ms)
{
    uint64_t bits;
    uint64_t entry = atomic_load_explicit(refusal_of(refusals, identity, &bits),
                                          memory_order_relaxed);
    return entry >> TIME_BITS == bits && (int64_t)(entry & (uint64_t)TIME_MAX) > now_ms;
}
