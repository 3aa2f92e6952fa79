/* Core slot: a number under one key, born by whoever adds to it first. */
#include "core/slot.h"

#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/number.h"

/* Between add and increment of one ordered batch the key can only vanish by eviction; a store
 * that does so this often in a row has no room for the key. */
#define BIRTHS_MAX 3

enum { HIT_BEGIN, HIT_COUNTING, HIT_BEARING };
/* ERASED may stand beside the others: an earlier try has erased some of the keys. */
enum { KEYS_BEGIN = 0, KEYS_ASKED = 1, KEYS_ERASED = 2 };

uint64_t mcds__slot_at(int64_t at_ms, uint64_t width_ms)
{
    if (width_ms == 0 || at_ms < 0)
        return 0;
    return (uint64_t)at_ms / width_ms;
}

double mcds__slot_part(int64_t at_ms, uint64_t width_ms)
{
    if (width_ms == 0 || at_ms < 0)
        return 0;
    return (double)((uint64_t)at_ms % width_ms) / (double)width_ms;
}

uint32_t mcds__slot_birth(const mcds_env *env)
{
    int64_t now_s = mcds__wall_ns(env) / NS_PER_S;
    return now_s > 0 && now_s <= UINT32_MAX ? (uint32_t)now_s : 1;
}

static uint64_t memory_of(uint64_t number, uint32_t birth)
{
    return (number & UINT32_MAX) << 32 | birth;
}

bool mcds__slot_remember(struct mcds__slot_memory *memory, uint64_t number, uint32_t birth)
{
    if (birth == 0)
        return false;
    uint64_t now = memory_of(number, birth);
    uint64_t seen = atomic_load_explicit(&memory->seen, memory_order_relaxed);
    if (seen == now)
        return false;
    if (seen != 0 && seen >> 32 == now >> 32)
        return true;
    /* A reader of an older slot must not push out the newest one. */
    if (seen == 0 || now >> 32 > seen >> 32)
        (void)atomic_compare_exchange_strong(&memory->seen, &seen, now);
    return false;
}

bool mcds__slot_was_seen(struct mcds__slot_memory *memory, uint64_t number)
{
    uint64_t seen = atomic_load_explicit(&memory->seen, memory_order_relaxed);
    return seen != 0 && seen >> 32 == (number & UINT32_MAX);
}

void mcds__slot_forget(struct mcds__slot_memory *memory)
{
    atomic_store_explicit(&memory->seen, 0, memory_order_relaxed);
}

bool mcds__slot_parse(mcds_bytes value, uint64_t *number_out)
{
    const char *text = value.at;
    size_t length = value.length;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    return mcds__parse_u64(text, length, number_out);
}

/* The increment, and behind it the look at the flags when that is wanted. */
static enum mcds__step ask_from(struct mcds__slot_hit *hit, struct mcds__operation *operation,
                                uint32_t count)
{
    hit->counted = (uint8_t)count;
    /* Field by field, for a whole request would be made elsewhere and copied. The reply is the
     * store's to clear. */
    mcds_request *counting = &hit->requests[count++];
    memset(counting, 0, offsetof(mcds_request, reply));
    counting->command = hit->down ? MCDS_DECR : MCDS_INCR;
    counting->key = hit->key;
    counting->delta = hit->delta;
    if (hit->want_birth)
        hit->requests[count++] = (mcds_request){
            .command = MCDS_GET,
            .options = MCDS_NO_VALUE,
            .key = hit->key,
        };
    return mcds__operation_ask(operation, hit->requests, count);
}

static enum mcds__step ask_count(struct mcds__slot_hit *hit, struct mcds__operation *operation)
{
    hit->stage = HIT_COUNTING;
    return ask_from(hit, operation, 0);
}

static enum mcds__step ask_birth(struct mcds__slot_hit *hit, struct mcds__operation *operation)
{
    if (hit->must_exist)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(KEY_GONE));
    if (hit->births++ == BIRTHS_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
    hit->stage = HIT_BEARING;
    hit->birth = mcds__slot_birth(operation->env);
    hit->requests[0] = (mcds_request){
        .command = MCDS_ADD,
        .flags = hit->birth,
        .ttl_ms = hit->ttl_ms,
        .key = hit->key,
        .value = {hit->text, mcds__format_u64(hit->initial, hit->text)},
    };
    return ask_from(hit, operation, 1);
}

const mcds_reply *mcds__slot_look_of(const struct mcds__slot_hit *hit)
{
    return &hit->requests[hit->counted + 1].reply;
}

static void note_birth(struct mcds__slot_hit *hit)
{
    const mcds_reply *looked = mcds__slot_look_of(hit);
    if (hit->want_birth && looked->outcome == MCDS_OUT_OK)
        hit->birth = looked->flags;
}

/* The increment's reply, in either stage. */
static enum mcds__step take_count(struct mcds__slot_hit *hit, struct mcds__operation *operation)
{
    const mcds_reply *reply = &hit->requests[hit->counted].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        hit->number = reply->number;
        note_birth(hit);
        return mcds__operation_finish(operation, MCDS_OK);
    case MCDS_OUT_MISS:
        return ask_birth(hit, operation);
    case MCDS_OUT_UNSENT:
        hit->stage = HIT_BEGIN;
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail(operation, reply);
    default:
        return mcds__operation_fail(operation, reply);
    }
}

static enum mcds__step take_birth(struct mcds__slot_hit *hit, struct mcds__operation *operation)
{
    const mcds_reply *added = &hit->requests[0].reply;
    const mcds_reply *counted = &hit->requests[hit->counted].reply;
    hit->born = added->outcome == MCDS_OUT_OK;
    if (counted->outcome == MCDS_OUT_MISS && added->outcome != MCDS_OUT_OK &&
        added->outcome != MCDS_OUT_NOT_STORED)
        return mcds__operation_fail(operation, added);
    if (!hit->born)
        hit->birth = 0;
    return take_count(hit, operation);
}

enum mcds__step mcds__slot_hit_step(struct mcds__slot_hit *hit,
                                    struct mcds__operation *operation)
{
    switch (hit->stage) {
    case HIT_BEGIN:
        return ask_count(hit, operation);
    case HIT_COUNTING:
        return take_count(hit, operation);
    default:
        return take_birth(hit, operation);
    }
}

static enum mcds__step ask_keys(mcds_request *requests, const struct mcds__key *keys,
                                uint32_t count, mcds_command command, uint32_t options,
                                struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (mcds_request){
            .command = command, .options = options, .key = mcds__key_bytes(&keys[i])};
    return mcds__operation_ask_any_order(operation, requests, count);
}

/* The first reply that is neither OK nor MISS, or NULL. */
static const mcds_reply *first_trouble(const mcds_request *requests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (requests[i].reply.outcome != MCDS_OUT_OK &&
            requests[i].reply.outcome != MCDS_OUT_MISS)
            return &requests[i].reply;
    return NULL;
}

enum mcds__step mcds__slot_read_step(mcds_request *requests, const struct mcds__key *keys,
                                     uint32_t count, uint32_t options, uint8_t *stage,
                                     struct mcds__operation *operation)
{
    if (*stage == KEYS_BEGIN) {
        *stage = KEYS_ASKED;
        return ask_keys(requests, keys, count, MCDS_GET, options, operation);
    }
    const mcds_reply *trouble = first_trouble(requests, count);
    if (trouble == NULL)
        return mcds__operation_finish(operation, MCDS_OK);
    if (mcds__is_transport_trouble(trouble) && mcds__operation_again(operation)) {
        *stage = KEYS_BEGIN;
        return MCDS__SLEEP;
    }
    return mcds__operation_fail_read(operation, trouble);
}

enum mcds__step mcds__slot_drop_step(mcds_request *requests, const struct mcds__key *keys,
                                     uint32_t count, uint8_t *stage,
                                     struct mcds__operation *operation)
{
    if ((*stage & KEYS_ASKED) == 0) {
        *stage |= KEYS_ASKED;
        return ask_keys(requests, keys, count, MCDS_DELETE, 0, operation);
    }
    for (uint32_t i = 0; i < count; i++)
        if (requests[i].reply.outcome == MCDS_OUT_OK ||
            requests[i].reply.outcome == MCDS_OUT_UNKNOWN)
            *stage |= KEYS_ERASED;
    bool erased = (*stage & KEYS_ERASED) != 0;
    const mcds_reply *trouble = first_trouble(requests, count);
    if (trouble != NULL && trouble->outcome == MCDS_OUT_UNSENT &&
        mcds__operation_again(operation)) {
        *stage = erased ? KEYS_ERASED : KEYS_BEGIN;
        return MCDS__SLEEP;
    }
    if (trouble == NULL)
        return mcds__operation_finish(operation, erased ? MCDS_OK : MCDS_NOT_FOUND);
    (void)mcds__operation_fail(operation, trouble);
    /* What has been erased in part cannot be told to be untouched. */
    if (erased)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}
