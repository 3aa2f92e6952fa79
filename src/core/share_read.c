/* Core share: read the sum, and fill servers that lack something.
 *
 *   LOOK     get all slots
 *   FILL     add or cas the slots of which a copy is missing or behind
 *   FOUND    add the head to servers that hold all again */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/share_write.h"

/* A copy may lag so long before it is helped: its writer is likely to do it. */
#define LAG_S 2
#define VALUES_MAX ((size_t)MCDS_BATCH_MAX * MCDS__SHARE_VALUE_MAX)

enum { BEGIN, LOOK, FILL, FOUND, ERASE };

static enum mcds__step ask_look(struct mcds__share_read *read,
                                struct mcds__operation *operation)
{
    struct mcds__share *share = read->look.share;
    (void)pthread_mutex_lock(&share->mutex);
    read->owner = share->owner;
    (void)pthread_mutex_unlock(&share->mutex);
    read->stage = LOOK;
    return mcds__share_ask_look(&read->look, operation);
}

/* What of this handle's own is missing in the sum, given its slot as the store holds it. */
static uint64_t own_rest(const struct mcds__share *share, struct mcds__share_state *state)
{
    const struct mcds__share_entry *entry = mcds__share_find(state, share->owner);
    if (entry != NULL)
        return share->total - entry->mine;
    bool settled = share->known && state->count > 0 && state->generation == share->generation &&
                   state->epoch >= share->epoch + 2;
    if (!settled)
        return share->total;
    return share->total - (share->doubt ? share->issued : share->stored);
}

/* Whether this handle knows the slot from an earlier life. The mutex is held. */
static bool was_reborn(struct mcds__share *share, uint32_t slot, int there, uint64_t generation)
{
    uint64_t *known = &share->generations[slot];
    if (there == 0)
        return *known != 0;
    if (*known == 0)
        *known = generation;
    return *known != generation;
}

/* Add up all slots. The mutex is held. Returns a result. */
static int sum_slots(struct mcds__share_read *read, const mcds_batch *batch)
{
    struct mcds__share *share = read->look.share;
    int64_t whole = share->owner == 0 ? (int64_t)share->total : 0;
    bool leaves_range = false;
    for (uint32_t slot = 0; slot < share->slots; slot++) {
        struct mcds__share_state state;
        memset(&state, 0, sizeof state);
        int there = mcds__share_gather(&read->look, batch, slot, &state);
        if (there < 0)
            return MCDS_CORRUPT;
        bool own = share->owner != 0 && slot == share->slot;
        if (!own && was_reborn(share, slot, there, state.generation))
            read->reborn = true;
        uint64_t sum = mcds__share_sum(&state);
        if (own)
            sum += own_rest(share, &state);
        leaves_range = leaves_range || __builtin_add_overflow(whole, (int64_t)sum, &whole);
    }
    if (leaves_range || whole >= MCDS_COUNTER_MAX || whole <= -MCDS_COUNTER_MAX)
        return MCDS_OVERFLOW;
    read->value = whole;
    return MCDS_OK;
}

/* Bring copy `i` of a slot to `state`. False: no room for more. */
static bool fill_copy(struct mcds__share_read *read, uint32_t copy, uint32_t slot,
                      size_t value_at, size_t length)
{
    const struct mcds__share *share = read->look.share;
    const mcds_request *look = mcds__share_reply(&read->look, copy, slot);
    bool there = look->reply.outcome == MCDS_OUT_OK;
    if (read->repairs == MCDS_BATCH_MAX)
        return false;
    mcds_request *request = &read->requests[read->repairs++];
    *request = (mcds_request){
        .command = there ? MCDS_CAS : MCDS_ADD,
        .key = look->key,
        .value = {NULL, length},
        .route = mcds__key_bytes(&share->head),
        .copy = copy,
    };
    request->reply.value_at = value_at; /* until the buffer has stopped growing */
    if (there)
        request->cas = look->reply.cas;
    return true;
}

/* See what the copies of a slot lack. */
static void compare_copies(struct mcds__share_read *read, const mcds_batch *batch,
                           uint32_t slot, uint32_t now_s)
{
    const struct mcds__share *share = read->look.share;
    struct mcds__share_state state;
    uint8_t value[MCDS__SHARE_VALUE_MAX];
    size_t at = read->values.length;
    if (mcds__share_gather(&read->look, batch, slot, &state) <= 0)
        return;
    size_t length = mcds__share_encode(&state, mcds__key_bytes(&share->keys[slot]), value);
    bool lags = (uint64_t)mcds__share_newest_s(&state) + LAG_S < now_s;
    for (uint32_t copy = 0; copy < share->copies; copy++) {
        bool empty = read->servers[copy] == MCDS__SHARE_EMPTY;
        if (!empty && !(lags && read->servers[copy] == MCDS__SHARE_WHOLE))
            continue;
        mcds_bytes holds = mcds__reply_value(batch, mcds__share_reply(&read->look, copy, slot));
        if (holds.length == length && memcmp(holds.at, value, length) == 0)
            continue;
        if (read->values.length == at && !mcds_buffer_append(&read->values, value, length))
            read->filled[copy] = false;
        else if (!fill_copy(read, copy, slot, at, length))
            read->filled[copy] = false;
    }
}

static enum mcds__step ask_heads(struct mcds__share_read *read,
                                 struct mcds__operation *operation)
{
    const struct mcds__share *share = read->look.share;
    uint32_t count = 0;
    for (uint32_t copy = 0; copy < share->copies; copy++) {
        if (!read->filled[copy])
            continue;
        read->requests[count] = mcds__share_head_add(share, copy, read->head);
        read->requests[count++].route = mcds__key_bytes(&share->head);
    }
    if (count == 0)
        return mcds__operation_finish(operation, MCDS_OK);
    read->stage = FOUND;
    return mcds__operation_ask_repeatable(operation, read->requests, count);
}

/* The sum is known; fill what lacks something, as far as it can be done. */
static enum mcds__step ask_fill(struct mcds__share_read *read,
                                struct mcds__operation *operation)
{
    const struct mcds__share *share = read->look.share;
    uint32_t now_s = mcds__share_now_s(share->env);
    for (uint32_t copy = 0; copy < share->copies; copy++)
        read->filled[copy] = read->servers[copy] == MCDS__SHARE_EMPTY;
    for (uint32_t slot = 0; slot < share->slots && share->copies > 1; slot++)
        compare_copies(read, &operation->batch, slot, now_s);
    if (read->repairs == 0)
        return ask_heads(read, operation);
    for (uint32_t i = 0; i < read->repairs; i++)
        read->requests[i].value.at = read->values.at + read->requests[i].reply.value_at;
    read->stage = FILL;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, read->requests, read->repairs);
}

static enum mcds__step take_fill(struct mcds__share_read *read,
                                 struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < read->repairs; i++)
        if (read->requests[i].reply.outcome != MCDS_OUT_OK)
            read->filled[read->requests[i].copy] = false;
    return ask_heads(read, operation);
}

/* Nothing is in the store; the handle may hold something all the same. The mutex is held. */
static int take_nothing(struct mcds__share_read *read)
{
    const struct mcds__share *share = read->look.share;
    read->value = (int64_t)share->total;
    read->reborn = share->seen;
    if (share->total != 0)
        return MCDS_OK;
    return share->seen ? MCDS_LOST : MCDS_NOT_FOUND;
}

/* Sum up what was seen. Returns a result, or MCDS_BUSY: this handle has moved to another slot
 * meanwhile, so that what was seen may hold a part of it twice. */
static int take_sum(struct mcds__share_read *read, const mcds_batch *batch,
                    enum mcds__share_verdict verdict)
{
    struct mcds__share *share = read->look.share;
    int result = MCDS_BUSY;
    (void)pthread_mutex_lock(&share->mutex);
    read->reborn = share->reborn || verdict == MCDS__SHARE_LOST;
    if (share->owner == read->owner)
        result = verdict == MCDS__SHARE_NONE ? take_nothing(read) : sum_slots(read, batch);
    share->seen = share->seen || (result == MCDS_OK && verdict != MCDS__SHARE_NONE);
    (void)pthread_mutex_unlock(&share->mutex);
    return result;
}

static enum mcds__step take_look(struct mcds__share_read *read,
                                 struct mcds__operation *operation)
{
    enum mcds__share_verdict verdict = mcds__share_judge(&read->look, operation, read->servers);
    read->stage = BEGIN;
    if (verdict == MCDS__SHARE_FOREIGN)
        return mcds__operation_finish(operation, MCDS_INVALID);
    if (verdict == MCDS__SHARE_AWAY) {
        const mcds_reply *trouble = mcds__share_trouble(&read->look);
        if (mcds__is_transport_trouble(trouble) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(operation, trouble);
    }
    int result = take_sum(read, &operation->batch, verdict);
    if (result == MCDS_BUSY && mcds__operation_wait(operation, NS_PER_MS))
        return MCDS__SLEEP;
    if (result == MCDS_LOST)
        operation->detail = MCDS__WHY(COUNTER_GONE);
    if (result != MCDS_OK || verdict == MCDS__SHARE_NONE)
        return mcds__operation_finish(operation, result);
    return ask_fill(read, operation);
}

void mcds__share_read_begin(struct mcds__share_read *read, struct mcds__share *share)
{
    read->look.share = share;
    read->stage = BEGIN;
    mcds__buffer_init(&read->values, share->env, VALUES_MAX);
}

void mcds__share_read_end(struct mcds__share_read *read)
{
    mcds__buffer_free(&read->values);
}

enum mcds__step mcds__share_read_step(struct mcds__share_read *read,
                                      struct mcds__operation *operation)
{
    switch (read->stage) {
    case BEGIN:
        read->values.length = 0;
        read->repairs = 0;
        return ask_look(read, operation);
    case LOOK:
        return take_look(read, operation);
    case FILL:
        return take_fill(read, operation);
    default:
        return mcds__operation_finish(operation, MCDS_OK);
    }
}

/* What the handle has counted is forgotten with the rest. */
static void forget(struct mcds__share *share)
{
    (void)pthread_mutex_lock(&share->mutex);
    share->owner = 0;
    share->total = 0;
    share->flushed = share->added;
    share->withdrawn = 0;
    share->doubt = false;
    share->seen = false;
    share->reborn = false;
    memset(share->generations, 0, sizeof share->generations);
    (void)pthread_mutex_unlock(&share->mutex);
}

/* Ask what is there, once no flush of this handle is under way. */
static enum mcds__step ask_first(struct mcds__share_drop *drop,
                                 struct mcds__operation *operation)
{
    struct mcds__share *share = drop->look.share;
    if (!drop->holds) {
        (void)pthread_mutex_lock(&share->mutex);
        drop->holds = !share->busy;
        share->busy = true;
        (void)pthread_mutex_unlock(&share->mutex);
    }
    if (!drop->holds && mcds__operation_wait(operation, NS_PER_MS))
        return MCDS__SLEEP;
    if (!drop->holds)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(FLUSH_ENDLESS));
    drop->stage = LOOK;
    return mcds__share_ask_look(&drop->look, operation);
}

static enum mcds__step ask_erase(struct mcds__share_drop *drop,
                                 struct mcds__operation *operation)
{
    const struct mcds__share *share = drop->look.share;
    uint32_t count = share->copies * (share->slots + 1);
    drop->stage = ERASE;
    (void)mcds__share_ask_look(&drop->look, operation);
    for (uint32_t i = 0; i < count; i++)
        drop->look.requests[i].command = MCDS_DELETE;
    return MCDS__ASK;
}

void mcds__share_drop_end(struct mcds__share_drop *drop)
{
    struct mcds__share *share = drop->look.share;
    if (!drop->holds)
        return;
    (void)pthread_mutex_lock(&share->mutex);
    share->busy = false;
    (void)pthread_mutex_unlock(&share->mutex);
    drop->holds = false;
}

enum mcds__step mcds__share_drop_step(struct mcds__share_drop *drop,
                                      struct mcds__operation *operation)
{
    struct mcds__share *share = drop->look.share;
    uint32_t count = share->copies * (share->slots + 1);
    const mcds_reply *trouble = NULL;
    if (drop->stage == BEGIN)
        return ask_first(drop, operation);
    if (drop->stage == LOOK) {
        if (mcds__share_judge(&drop->look, operation, drop->servers) == MCDS__SHARE_FOREIGN)
            return mcds__operation_finish(operation, MCDS_INVALID);
        operation->tries = 1;
        return ask_erase(drop, operation);
    }
    for (uint32_t i = 0; i < count; i++) {
        const mcds_reply *reply = &drop->look.requests[i].reply;
        drop->erased = drop->erased || reply->outcome == MCDS_OUT_OK;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            trouble = reply;
    }
    drop->stage = BEGIN;
    if (trouble != NULL && trouble->outcome == MCDS_OUT_UNSENT &&
        mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (trouble != NULL)
        return mcds__operation_fail(operation, trouble);
    forget(share);
    return mcds__operation_finish(operation, drop->erased ? MCDS_OK : MCDS_NOT_FOUND);
}
