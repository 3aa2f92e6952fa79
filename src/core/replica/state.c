/* Replica: the value of one slot.
 *
 * Payload of the frame (type 'X', version 1):
 *
 *   generation u64 | epoch u32 | base u64 | count u8 | entry*
 *   entry: owner u64 | version u64 | mine u64 | settled u64 | seen_s u32 | flags u8 */
#include "core/replica/state.h"

#include <assert.h>
#include <string.h>

#include "base/frame.h"

#define FRAME_TYPE 'X'
#define FRAME_VERSION 1

size_t mcds__replica_encode(const struct mcds__replica_state *state, mcds_bytes key,
                            uint8_t *out)
{
    assert(state->count <= MCDS__REPLICA_ENTRIES_MAX);
    uint8_t *at = out + MCDS__FRAME_HEAD;
    mcds__put_u64(at, state->generation);
    mcds__put_u32(at + 8, state->epoch);
    mcds__put_u64(at + 12, state->base);
    at[20] = (uint8_t)state->count;
    at += MCDS__REPLICA_HEAD_BYTES;
    for (uint32_t i = 0; i < state->count; i++, at += MCDS__REPLICA_ENTRY_BYTES) {
        const struct mcds__replica_entry *entry = &state->entries[i];
        mcds__put_u64(at, entry->owner);
        mcds__put_u64(at + 8, entry->version);
        mcds__put_u64(at + 16, entry->mine);
        mcds__put_u64(at + 24, entry->settled);
        mcds__put_u32(at + 32, entry->seen_s);
        at[36] = entry->flags;
    }
    return mcds__frame_seal(out, FRAME_TYPE, FRAME_VERSION, key,
                            (size_t)(at - out) - MCDS__FRAME_HEAD);
}

bool mcds__replica_decode(mcds_bytes value, mcds_bytes key, struct mcds__replica_state *out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, FRAME_TYPE, FRAME_VERSION, key, &payload) ||
        payload.length < MCDS__REPLICA_HEAD_BYTES)
        return false;
    const uint8_t *at = payload.data;
    out->generation = mcds__get_u64(at);
    out->epoch = mcds__get_u32(at + 8);
    out->base = mcds__get_u64(at + 12);
    out->count = at[20];
    if (out->count > MCDS__REPLICA_ENTRIES_MAX ||
        payload.length != MCDS__REPLICA_HEAD_BYTES + out->count * MCDS__REPLICA_ENTRY_BYTES)
        return false;
    at += MCDS__REPLICA_HEAD_BYTES;
    for (uint32_t i = 0; i < out->count; i++, at += MCDS__REPLICA_ENTRY_BYTES) {
        out->entries[i] = (struct mcds__replica_entry){
            .owner = mcds__get_u64(at),
            .version = mcds__get_u64(at + 8),
            .mine = mcds__get_u64(at + 16),
            .settled = mcds__get_u64(at + 24),
            .seen_s = mcds__get_u32(at + 32),
            .flags = at[36],
        };
        if (i > 0 && out->entries[i].owner <= out->entries[i - 1].owner)
            return false;
    }
    return true;
}

struct mcds__replica_entry *mcds__replica_find(struct mcds__replica_state *state,
                                               uint64_t owner)
{
    for (uint32_t i = 0; i < state->count; i++)
        if (state->entries[i].owner == owner)
            return &state->entries[i];
    return NULL;
}

struct mcds__replica_entry *mcds__replica_insert(struct mcds__replica_state *state,
                                                 uint64_t owner)
{
    uint32_t at = 0;
    if (state->count == MCDS__REPLICA_ENTRIES_MAX)
        return NULL;
    while (at < state->count && state->entries[at].owner < owner)
        at++;
    assert(at == state->count || state->entries[at].owner != owner); /* each owner once */
    memmove(&state->entries[at + 1], &state->entries[at],
            (state->count - at) * sizeof state->entries[0]);
    state->count++;
    state->entries[at] = (struct mcds__replica_entry){.owner = owner};
    return &state->entries[at];
}

static void replica_state_remove_entry(struct mcds__replica_state *state, uint32_t at)
{
    assert(at < state->count);
    state->count--;
    memmove(&state->entries[at], &state->entries[at + 1],
            (state->count - at) * sizeof state->entries[0]);
}

/* The later epoch decides about settled amounts, the later version about all else. */
static void merge_entry(struct mcds__replica_entry *entry,
                        const struct mcds__replica_entry *other, bool settled_later)
{
    uint64_t settled = settled_later ? other->settled : entry->settled;
    if (other->version > entry->version)
        *entry = *other;
    else if (other->version == entry->version)
        entry->flags |= other->flags;
    entry->settled = settled;
}

bool mcds__replica_merge(struct mcds__replica_state *state,
                         const struct mcds__replica_state *other)
{
    /* Nothing can be settled while a copy is an epoch old, so a copy that is two epochs old is
     * a late add into a server that had lost the key. */
    if ((uint64_t)other->epoch + 2 <= state->epoch)
        return true;
    if ((uint64_t)state->epoch + 2 <= other->epoch) {
        mcds__replica_copy_state(state, other);
        return true;
    }
    bool later = other->epoch > state->epoch;
    assert(other->epoch - state->epoch + 1 <= 2);
    if (later) {
        state->epoch = other->epoch;
        state->base = other->base;
    }
    if (other->generation < state->generation)
        state->generation = other->generation;
    for (uint32_t i = 0; i < other->count; i++) {
        struct mcds__replica_entry *entry = mcds__replica_find(state, other->entries[i].owner);
        if (entry != NULL) {
            merge_entry(entry, &other->entries[i], later);
            continue;
        }
        entry = mcds__replica_insert(state, other->entries[i].owner);
        if (entry == NULL)
            return false;
        *entry = other->entries[i];
    }
    return true;
}

static bool is_stale(const struct mcds__replica_entry *entry, uint32_t now_s, uint32_t after_s)
{
    return (uint64_t)entry->seen_s + after_s < now_s;
}

void mcds__replica_compact(struct mcds__replica_state *state, uint32_t now_s)
{
    bool changed = false;
    for (uint32_t i = state->count; i-- > 0;) {
        struct mcds__replica_entry *entry = &state->entries[i];
        bool left = (entry->flags & MCDS__REPLICA_LEFT) != 0;
        if (!left && (entry->flags & MCDS__REPLICA_GONE) == 0)
            continue;
        if (entry->mine != entry->settled) {
            state->base += entry->mine - entry->settled;
            entry->settled = entry->mine;
            changed = true;
        } else if (left || is_stale(entry, now_s, MCDS__REPLICA_KEPT_S)) {
            replica_state_remove_entry(state, i);
            changed = true;
        }
    }
    if (changed)
        state->epoch++;
}

void mcds__replica_mark(struct mcds__replica_state *state, uint32_t now_s, uint64_t owner)
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct mcds__replica_entry *entry = &state->entries[i];
        if (entry->owner != owner && is_stale(entry, now_s, MCDS__REPLICA_STALE_S))
            entry->flags |= MCDS__REPLICA_GONE;
    }
}

uint32_t mcds__replica_writers(const struct mcds__replica_state *state, uint32_t now_s,
                               uint64_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        const struct mcds__replica_entry *entry = &state->entries[i];
        count += entry->owner != owner && entry->flags == 0 &&
                 !is_stale(entry, now_s, MCDS__REPLICA_STALE_S);
    }
    return count;
}

uint64_t mcds__replica_sum(const struct mcds__replica_state *state)
{
    assert(state->count <= MCDS__REPLICA_ENTRIES_MAX);
    uint64_t sum = state->base;
    for (uint32_t i = 0; i < state->count; i++)
        sum += state->entries[i].mine - state->entries[i].settled;
    return sum;
}

uint32_t mcds__replica_newest_s(const struct mcds__replica_state *state)
{
    uint32_t newest_s = 0;
    for (uint32_t i = 0; i < state->count; i++)
        if (state->entries[i].seen_s > newest_s)
            newest_s = state->entries[i].seen_s;
    return newest_s;
}
