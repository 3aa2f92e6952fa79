/* Core share: one round of writing our entry to all copies of our slot. */
#include "core/share_write.h"

#include <string.h>

#include "base/environment.h"

uint32_t mcds__share_now_s(const mcds_env *env)
{
    int64_t now_s = mcds__wall_ns(env) / NS_PER_S;
    return now_s > 0 && now_s <= UINT32_MAX ? (uint32_t)now_s : 1;
}

/* Collects what the copies hold. */
struct gathering {
    mcds_bytes first;
    uint32_t there;
    bool alike;
};

/* One copy more. False: damaged, or too many writers. */
static bool gather(struct mcds__share *share, struct gathering *gathering,
                   const mcds_batch *batch, const mcds_request *request)
{
    struct mcds__share_state state;
    mcds_bytes value = mcds__reply_value(batch, request);
    if (!mcds__share_decode(value, request->key, &state))
        return false;
    if (gathering->there++ == 0) {
        share->state = state;
        gathering->first = value;
        gathering->alike = true;
        return true;
    }
    gathering->alike = gathering->alike && value.length == gathering->first.length &&
                       memcmp(value.at, gathering->first.at, value.length) == 0;
    return mcds__share_merge(&share->state, &state);
}

/* What the reply to a GET shows of one copy. */
static void see_copy(struct mcds__share_copy *copy, const mcds_reply *reply)
{
    copy->sight = MCDS__SHARE_UNSEEN;
    if (reply->outcome == MCDS_OUT_MISS)
        copy->sight = MCDS__SHARE_MISSING;
    if (reply->outcome == MCDS_OUT_OK) {
        copy->sight = MCDS__SHARE_THERE;
        copy->cas = reply->cas;
    }
}

bool mcds__share_adopt_look(struct mcds__share *share, const struct mcds__share_look *look,
                            const mcds_batch *batch, uint32_t slot)
{
    struct gathering gathering = {{NULL, 0}, 0, false};
    memset(&share->state, 0, sizeof share->state);
    for (uint32_t i = 0; i < share->copies; i++) {
        const mcds_request *request = mcds__share_reply(look, i, slot);
        see_copy(&share->copy[i], &request->reply);
        if (share->copy[i].sight == MCDS__SHARE_THERE)
            (void)gather(share, &gathering, batch, request); /* the look was read before */
    }
    return gathering.there == share->copies && gathering.alike;
}

static uint32_t count_sight(const struct mcds__share *share, enum mcds__share_sight sight)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < share->copies; i++)
        count += share->copy[i].sight == sight;
    return count;
}

/* Our entry is not where it was. Either the server had lost the slot, and then nothing of ours
 * is there; or we were away for so long that it was settled and forgotten. */
static bool was_forgotten(const struct mcds__share *share)
{
    return share->known && share->state.generation == share->generation &&
           share->state.epoch >= share->epoch + 2;
}

/* What was stored is in the base. What was sent last may be or not, and is given up. */
static void resign(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    (void)pthread_mutex_lock(&share->mutex);
    share->total -= share->doubt ? share->issued : share->stored;
    share->owner = 0;
    flush->dropped = flush->dropped || share->doubt;
    (void)pthread_mutex_unlock(&share->mutex);
}

/* Whether the slot held more than our own entry. */
static bool holds_of_others(const struct mcds__share *share)
{
    for (uint32_t i = 0; i < share->state.count; i++)
        if (share->state.entries[i].owner != share->owner)
            return true;
    return share->state.base != 0;
}

enum mcds__share_prepared mcds__share_prepare(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    struct mcds__share_state *state = &share->state;
    uint32_t now_s = mcds__share_now_s(share->env);
    uint32_t there = count_sight(share, MCDS__SHARE_THERE);
    if (there == 0 && count_sight(share, MCDS__SHARE_MISSING) <= share->copies / 2)
        return MCDS__SHARE_PREPARED; /* this round only reads */
    if (there == 0) {
        if (share->known && holds_of_others(share))
            share->reborn = true;
        memset(state, 0, sizeof *state);
        state->generation = share->copies == 1 ? mcds__random_u64(share->env) | 1 : 0;
    }
    if (share->level)
        mcds__share_settle(state, now_s);
    share->level = false;
    mcds__share_mark(state, now_s, share->owner);
    struct mcds__share_entry *entry = mcds__share_find(state, share->owner);
    if (entry == NULL && there > 0 && was_forgotten(share)) {
        resign(flush);
        return MCDS__SHARE_RESIGNED;
    }
    if (entry == NULL && (share->known || state->count < MCDS__SHARE_ENTRIES_USUAL))
        entry = mcds__share_insert(state, share->owner);
    if (entry == NULL)
        return MCDS__SHARE_CROWDED;
    entry->version = share->version;
    entry->mine = flush->amount;
    entry->seen_s = now_s;
    entry->flags = flush->leaves || flush->moves ? MCDS__SHARE_LEFT : 0;
    flush->generation = state->generation;
    flush->epoch = state->epoch;
    return MCDS__SHARE_PREPARED;
}

/* A copy that is missing is made anew when it is known what it must hold. */
static bool may_write(const struct mcds__share *share, uint32_t copy)
{
    switch (share->copy[copy].sight) {
    case MCDS__SHARE_THERE:
        return true;
    case MCDS__SHARE_MISSING:
        return count_sight(share, MCDS__SHARE_THERE) > 0 ||
               count_sight(share, MCDS__SHARE_MISSING) > share->copies / 2;
    default:
        return false;
    }
}

/* Add a request for copy `i`; returns where it is. */
static int8_t put_request(struct mcds__share_flush *flush, uint32_t *count, uint32_t i,
                          mcds_request request)
{
    request.copy = i;
    request.route = mcds__key_bytes(&flush->share->head);
    flush->requests[*count] = request;
    return (int8_t)(*count)++;
}

enum mcds__step mcds__share_ask_write(struct mcds__share_flush *flush,
                                      struct mcds__operation *operation)
{
    struct mcds__share *share = flush->share;
    mcds_bytes key = mcds__key_bytes(&share->keys[share->slot]);
    mcds_bytes value = {flush->value, mcds__share_encode(&share->state, key, flush->value)};
    uint32_t count = 0;
    operation->connection = 0;
    for (uint32_t i = 0; i < share->copies; i++) {
        mcds_request write = {.command = MCDS_ADD, .key = key, .value = value};
        flush->write_at[i] = -1;
        if (share->copy[i].sight == MCDS__SHARE_THERE) {
            write.command = MCDS_CAS;
            write.cas = share->copy[i].cas;
            operation->connection = write.cas.connection;
        }
        if (may_write(share, i))
            flush->write_at[i] = put_request(flush, &count, i, write);
        flush->look_at[i] = put_request(flush, &count, i,
                                        (mcds_request){.command = MCDS_GET, .key = key});
    }
    return mcds__operation_ask_repeatable(operation, flush->requests, count);
}

void mcds__share_note_sent(struct mcds__share_flush *flush)
{
    struct mcds__share *share = flush->share;
    (void)pthread_mutex_lock(&share->mutex);
    share->issued = flush->amount;
    if (flush->added > share->sent)
        share->sent = flush->added;
    share->doubt = true;
    share->known = true;
    share->generation = flush->generation;
    share->epoch = flush->epoch;
    (void)pthread_mutex_unlock(&share->mutex);
}

/* The reply to a write of copy `i`, if there was one. */
static void take_written(struct mcds__share_flush *flush, uint32_t i,
                         struct mcds__share_round *round)
{
    if (flush->write_at[i] < 0)
        return;
    const mcds_reply *reply = &flush->requests[flush->write_at[i]].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
    case MCDS_OUT_UNKNOWN:
        mcds__share_note_sent(flush);
        break;
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        round->conflict = true;
        break;
    default:
        if (mcds__is_refusal(reply)) {
            round->refused++;
            round->refusal = reply;
        }
    }
}

/* Whether the state that was just read of a copy shows what this flush brings. */
static bool is_shown(struct mcds__share_flush *flush, const mcds_batch *batch,
                     const mcds_request *look)
{
    struct mcds__share_state state;
    if (!mcds__share_decode(mcds__reply_value(batch, look), look->key, &state))
        return false;
    const struct mcds__share_entry *entry = mcds__share_find(&state, flush->share->owner);
    bool left = entry != NULL && (entry->flags & MCDS__SHARE_LEFT) != 0;
    return entry != NULL && entry->version == flush->share->version &&
           left == (flush->leaves || flush->moves);
}

bool mcds__share_take_write(struct mcds__share_flush *flush, struct mcds__operation *operation,
                            struct mcds__share_round *round_out)
{
    struct mcds__share *share = flush->share;
    struct gathering gathering = {{NULL, 0}, 0, false};
    *round_out = (struct mcds__share_round){0, 0, false, 0, NULL, NULL};
    for (uint32_t i = 0; i < share->copies; i++) {
        const mcds_request *look = &flush->requests[flush->look_at[i]];
        take_written(flush, i, round_out);
        see_copy(&share->copy[i], &look->reply);
        if (share->copy[i].sight == MCDS__SHARE_UNSEEN) {
            round_out->trouble = &look->reply;
            if (flush->write_at[i] >= 0 &&
                flush->requests[flush->write_at[i]].reply.outcome == MCDS_OUT_OK)
                round_out->shown++;
            continue;
        }
        round_out->reached++;
        if (share->copy[i].sight == MCDS__SHARE_MISSING)
            continue;
        if (!gather(share, &gathering, &operation->batch, look))
            return false;
        round_out->shown += is_shown(flush, &operation->batch, look);
    }
    share->level = gathering.there == share->copies && gathering.alike;
    return true;
}
