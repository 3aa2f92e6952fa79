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
    remembered->env = env;
    remembered->key[0] = mcds__random_u64(env);
    remembered->key[1] = mcds__random_u64(env);
    remembered->remember_ms = remember_ms;
    (void)pthread_mutex_init(&remembered->mutex, NULL);
}

void mcds__remembered_destroy(struct mcds__remembered *remembered)
{
    if (remembered != NULL)
        (void)pthread_mutex_destroy(&remembered->mutex);
}

static uint64_t remembered_hash(const struct mcds__remembered *remembered, mcds_bytes identity)
{
    uint64_t hash = mcds__siphash(remembered->key, identity);
    assert(identity.length > 0);
    return hash != 0 ? hash : 1;
}

/* The entry of this hash, or else the one that ends first. An empty one ends before all. */
static size_t remembered_place(const struct mcds__remembered *remembered, size_t set,
                               uint64_t hash)
{
    size_t place = 0;
    for (size_t way = 0; way < WAYS; way++) {
        if (remembered->entries[set][way].hash == hash)
            return way;
        if (remembered->entries[set][way].end_ns < remembered->entries[set][place].end_ns)
            place = way;
    }
    return place;
}

uint64_t mcds__remembered_changes(const struct mcds__remembered *remembered)
{
    return remembered == NULL ? 0 : atomic_load(&remembered->changes);
}

void mcds__remembered_note(struct mcds__remembered *remembered, mcds_bytes identity,
                           const struct mcds__refusal *refusal)
{
    if (remembered == NULL)
        return;
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    int64_t gone_ms = mcds__wall_ms(remembered->env) - refusal->own_ms;
    int64_t from_ns = mcds__monotonic_ns(remembered->env) - gone_ms * NS_PER_MS;
    int64_t retry_ns = from_ns + (int64_t)refusal->value.retry_ms * NS_PER_MS;
    int64_t latest_ns = refusal->asked_ns + (int64_t)remembered->remember_ms * NS_PER_MS;
    assert(refusal->tokens > 0);
    if (gone_ms < 0 || (uint64_t)gone_ms >= refusal->value.retry_ms) /* or the clock was set */
        return;
    (void)pthread_mutex_lock(&remembered->mutex);
    if (atomic_load(&remembered->changes) == refusal->changes) {
        size_t way = remembered_place(remembered, set, hash);
        remembered->entries[set][way].hash = hash;
        remembered->entries[set][way].tokens = refusal->tokens;
        remembered->entries[set][way].patience_ms = refusal->patience_ms;
        remembered->entries[set][way].from_ns = from_ns;
        remembered->entries[set][way].end_ns = retry_ns < latest_ns ? retry_ns : latest_ns;
        remembered->entries[set][way].value = refusal->value;
    }
    (void)pthread_mutex_unlock(&remembered->mutex);
}

void mcds__remembered_forget(struct mcds__remembered *remembered, mcds_bytes identity)
{
    if (remembered == NULL)
        return;
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    (void)pthread_mutex_lock(&remembered->mutex);
    (void)atomic_fetch_add(&remembered->changes, 1);
    for (size_t way = 0; way < WAYS; way++)
        if (remembered->entries[set][way].hash == hash)
            memset(&remembered->entries[set][way], 0, sizeof remembered->entries[set][way]);
    (void)pthread_mutex_unlock(&remembered->mutex);
}

void mcds__remembered_clear(struct mcds__remembered *remembered)
{
    if (remembered == NULL)
        return;
    (void)pthread_mutex_lock(&remembered->mutex);
    (void)atomic_fetch_add(&remembered->changes, 1);
    memset(remembered->entries, 0, sizeof remembered->entries);
    (void)pthread_mutex_unlock(&remembered->mutex);
}

bool mcds__remembered_has(struct mcds__remembered *remembered, mcds_bytes identity,
                          uint64_t tokens, uint64_t patience_ms, mcds_limit_value *value_out)
{
    if (remembered == NULL)
        return false;
    uint64_t hash = remembered_hash(remembered, identity);
    size_t set = hash % MCDS__REMEMBERED_SETS;
    int64_t now_ns = mcds__monotonic_ns(remembered->env);
    (void)pthread_mutex_lock(&remembered->mutex);
    size_t way = remembered_place(remembered, set, hash);
    bool is_same = remembered->entries[set][way].hash == hash &&
                   remembered->entries[set][way].tokens == tokens &&
                   remembered->entries[set][way].patience_ms == patience_ms;
    int64_t from_ns = remembered->entries[set][way].from_ns;
    int64_t end_ns = remembered->entries[set][way].end_ns;
    *value_out = remembered->entries[set][way].value;
    (void)pthread_mutex_unlock(&remembered->mutex);
    if (!is_same || now_ns >= end_ns)
        return false;
    uint64_t gone_ms = (uint64_t)(now_ns - from_ns) / NS_PER_MS;
    value_out->retry_ms -= gone_ms; /* it ends before */
    value_out->full_ms = value_out->full_ms > gone_ms ? value_out->full_ms - gone_ms : 0;
    return true;
}
