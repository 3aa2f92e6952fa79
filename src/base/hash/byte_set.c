/* A multiset of byte strings. */
#include "base/hash/byte_set.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/siphash.h"

#define ROOM_MIN 16

void mcds__byte_set_init(struct mcds__byte_set *set, const mcds_env *env)
{
    *set = (struct mcds__byte_set){.env = env};
    set->key[0] = mcds__random_u64(env);
    set->key[1] = mcds__random_u64(env);
}

void mcds__byte_set_free(struct mcds__byte_set *set)
{
    mcds__free(set->env, set->entries);
    set->entries = NULL;
    set->capacity = set->used = 0;
}

static bool byte_set_is_same(const struct mcds__byte_entry *entry, mcds_bytes bytes,
                             uint64_t hash)
{
    return entry->hash == hash && mcds__bytes_same(entry->bytes, bytes);
}

/* The entry of the string, or the free entry for it. */
static struct mcds__byte_entry *byte_set_find(struct mcds__byte_set *set, mcds_bytes bytes,
                                              uint64_t hash)
{
    assert(set->used < set->capacity);
    size_t at = (size_t)hash & (set->capacity - 1);
    while (set->entries[at].is_used && !byte_set_is_same(&set->entries[at], bytes, hash)) {
        set->probes++;
        at = (at + 1) & (set->capacity - 1);
    }
    return &set->entries[at];
}

static bool byte_set_grow(struct mcds__byte_set *set)
{
    struct mcds__byte_set larger = *set;
    if (set->capacity > SIZE_MAX / 2 / sizeof *set->entries)
        return false;
    larger.capacity = set->capacity > 0 ? 2 * set->capacity : ROOM_MIN;
    larger.entries = mcds__allocate_zero(set->env, larger.capacity * sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->entries[i].is_used)
            *byte_set_find(&larger, set->entries[i].bytes,
                           set->entries[i].hash) = set->entries[i];
    assert(larger.used == set->used && larger.used <= larger.capacity / 2);
    mcds__free(set->env, set->entries);
    *set = larger;
    return true;
}

size_t mcds__byte_set_count(struct mcds__byte_set *set, mcds_bytes bytes)
{
    return set->used > 0 ? byte_set_find(set, bytes, mcds__siphash(set->key, bytes))->count : 0;
}

bool mcds__byte_set_add(struct mcds__byte_set *set, mcds_bytes bytes)
{
    if (set->used >= set->capacity / 2 && !byte_set_grow(set))
        return false;
    uint64_t hash = mcds__siphash(set->key, bytes);
    struct mcds__byte_entry *entry = byte_set_find(set, bytes, hash);
    if (!entry->is_used) {
        *entry = (struct mcds__byte_entry){.bytes = bytes, .hash = hash, .is_used = true};
        set->used++;
    }
    assert(set->used <= set->capacity / 2);
    entry->count++;
    return true;
}

bool mcds__byte_set_take(struct mcds__byte_set *set, mcds_bytes bytes)
{
    if (set->used == 0)
        return false;
    struct mcds__byte_entry *entry = byte_set_find(set, bytes, mcds__siphash(set->key, bytes));
    bool is_in = entry->count > 0;
    entry->count -= is_in;
    return is_in;
}
