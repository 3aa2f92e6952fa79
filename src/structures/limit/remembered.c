/* Limit: the refusals that a handle may repeat from memory (mcds_limit_options.remember_ms). */
#include "structures/limit/remembered.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/hash/siphash.h"

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

/* The entry of this hash, or else the one of its set that ends first. An empty one ends before all.
 * The mutex is held. */
static struct mcds__remembered_entry *remembered_find(struct mcds__remembered *remembered,
                                                      uint64_t hash)
{
    struct mcds__remembered_entry *set = remembered->entries[hash % MCDS__REMEMBERED_SETS];
    struct mcds__remembered_entry *found = set;
    for (size_t way = 0; way < MCDS__REMEMBERED_WAYS; way++) {
        if (set[way].hash == hash)
            return &set[way];
        if (set[way].end_ns < found->end_ns)
            found = &set[way];
    }
    return found;
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
    /* own_ms is rounded down: rounding this too would delay the time to retry. */
    int64_t gone_ns = mcds__wall_ns(remembered->env) - refusal->own_ms * NS_PER_MS;
    int64_t from_ns = mcds__monotonic_ns(remembered->env) - gone_ns;
    int64_t retry_ns = from_ns + (int64_t)refusal->value.retry_ms * NS_PER_MS;
    int64_t latest_ns = refusal->asked_ns + (int64_t)remembered->remember_ms * NS_PER_MS;
    assert(refusal->tokens > 0);
    if (gone_ns < 0 || retry_ns <= from_ns + gone_ns) /* or the clock was set */
        return;
    (void)pthread_mutex_lock(&remembered->mutex);
    if (atomic_load(&remembered->changes) == refusal->changes) {
        struct mcds__remembered_entry *entry = remembered_find(remembered, hash);
        entry->hash = hash;
        entry->tokens = refusal->tokens;
        entry->patience_ms = refusal->patience_ms;
        entry->from_ns = from_ns;
        entry->end_ns = retry_ns < latest_ns ? retry_ns : latest_ns;
        entry->value = refusal->value;
    }
    (void)pthread_mutex_unlock(&remembered->mutex);
}

void mcds__remembered_forget(struct mcds__remembered *remembered, mcds_bytes identity)
{
    if (remembered == NULL)
        return;
    uint64_t hash = remembered_hash(remembered, identity);
    (void)pthread_mutex_lock(&remembered->mutex);
    (void)atomic_fetch_add(&remembered->changes, 1);
    struct mcds__remembered_entry *entry = remembered_find(remembered, hash);
    if (entry->hash == hash)
        memset(entry, 0, sizeof *entry);
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
    int64_t now_ns = mcds__monotonic_ns(remembered->env);
    (void)pthread_mutex_lock(&remembered->mutex);
    const struct mcds__remembered_entry *entry = remembered_find(remembered, hash);
    bool is_same = entry->hash == hash && entry->tokens == tokens &&
                   entry->patience_ms == patience_ms;
    int64_t from_ns = entry->from_ns;
    int64_t end_ns = entry->end_ns;
    *value_out = entry->value;
    (void)pthread_mutex_unlock(&remembered->mutex);
    if (!is_same || now_ns >= end_ns)
        return false;
    uint64_t gone_ms = (uint64_t)(now_ns - from_ns) / NS_PER_MS;
    value_out->retry_ms -= gone_ms; /* it ends before */
    value_out->full_ms = value_out->full_ms > gone_ms ? value_out->full_ms - gone_ms : 0;
    return true;
}
