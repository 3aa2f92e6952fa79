/* Limit: the refusals that a handle may repeat from memory (mcds_limit_options.remember_ms). */
#include "structures/limit/remembered.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash/siphash.h"

#define WAYS MCDS__REMEMBERED_WAYS

void mcds__remembered_init(struct mcds__remembered *remembered, const mcds_env *env,
                           uint64_t remember_ms)
{
    memset(remembered, 0, sizeof *remembered);
    remembered->key[0] = mcds__random_u64(env);
    remembered->key[1] = mcds__random_u64(env);
    remembered->remember_ms = remember_ms;
    (void)pthread_mutex_init(&remembered->mutex, NULL);
}

static void remembered_enter(struct mcds__remembered *remembered)
{
    (void)pthread_mutex_lock(&remembered->mutex);
}

static void remembered_leave(struct mcds__remembered *remembered)
{
    (void)pthread_mutex_unlock(&remembered->mutex);
}

void mcds__remembered_destroy(struct mcds__remembered *remembered)
{
    (void)pthread_mutex_destroy(&remembered->mutex);
}

static uint64_t remembered_hash(const struct mcds__remembered *remembered, mcds_bytes identity)
{
    uint64_t hash = mcds__siphash(remembered->key, identity);
    return hash != 0 ? hash : 1;
}

/* Of a time that counts from asked_ns, the rest after now_ns, rounded up. */
static uint64_t ms_left(const struct mcds__refusal *refusal, uint64_t ms, int64_t now_ns)
{
    uint64_t gone_ms = (uint64_t)(now_ns - refusal->asked_ns) / NS_PER_MS;
    assert(now_ns >= refusal->asked_ns);
    return ms > gone_ms ? ms - gone_ms : 0;
}

static int64_t end_ns_of(const struct mcds__remembered *remembered,
                         const struct mcds__refusal *refusal)
{
    uint64_t ms = refusal->value.retry_ms;
    if (ms > remembered->remember_ms)
        ms = remembered->remember_ms;
    return refusal->asked_ns + (int64_t)ms * NS_PER_MS;
}

/* The entry of this hash, or else an empty one, or else the one that ends first. */
static size_t remembered_place(const struct mcds__remembered *remembered, size_t set,
                               uint64_t hash)
{
    size_t place = 0;
    int64_t first_ns = INT64_MAX;
    for (size_t way = 0; way < WAYS; way++) {
        if (remembered->entries[set][way].hash == hash)
            return way;
        bool is_empty = remembered->entries[set][way].hash == 0;
        int64_t end_ns = is_empty
                             ? INT64_MIN
                             : end_ns_of(remembered, &remembered->entries[set][way].refusal);
        if (end_ns < first_ns) {
            first_ns = end_ns;
            place = way;
        }
    }
    return place;
}

void mcds__remembered_note(struct mcds__remembered *remembered, mcds_bytes identity,
                           const struct mcds__refusal *refusal)
{
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    assert(refusal->tokens > 0);
    remembered_enter(remembered);
    size_t way = remembered_place(remembered, set, hash);
    remembered->entries[set][way].hash = hash;
    remembered->entries[set][way].refusal = *refusal;
    remembered_leave(remembered);
}

void mcds__remembered_forget(struct mcds__remembered *remembered, mcds_bytes identity)
{
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    remembered_enter(remembered);
    for (size_t way = 0; way < WAYS; way++)
        if (remembered->entries[set][way].hash == hash)
            remembered->entries[set][way].hash = 0;
    remembered_leave(remembered);
}

void mcds__remembered_clear(struct mcds__remembered *remembered)
{
    remembered_enter(remembered);
    memset(remembered->entries, 0, sizeof remembered->entries);
    remembered_leave(remembered);
}

bool mcds__remembered_has(struct mcds__remembered *remembered, mcds_bytes identity,
                          uint64_t tokens, uint64_t patience_ms, int64_t now_ns,
                          mcds_limit_value *value_out)
{
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    remembered_enter(remembered);
    size_t way = remembered_place(remembered, set, hash);
    bool is_known = remembered->entries[set][way].hash == hash;
    const struct mcds__refusal refusal = remembered->entries[set][way].refusal;
    remembered_leave(remembered);
    if (!is_known || refusal.tokens != tokens || refusal.patience_ms != patience_ms ||
        now_ns < refusal.asked_ns || now_ns >= end_ns_of(remembered, &refusal))
        return false;
    *value_out = refusal.value;
    value_out->retry_ms = ms_left(&refusal, refusal.value.retry_ms, now_ns);
    value_out->full_ms = ms_left(&refusal, refusal.value.full_ms, now_ns);
    return true;
}
