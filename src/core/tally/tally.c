/* Tally: a number under one key, created by the first client that adds to it. */
#include "core/tally/tally.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/number.h"

/* Between the add and the increment of one ordered batch, the key can only vanish by eviction.
 * A store that evicts it this often in a row has no room for it. */
#define CREATIONS_MAX 3

enum { HIT_BEGIN, HIT_COUNTING, HIT_BEARING };
/* KEYS_ERASED may be set with the others: an earlier try has erased some of the keys. */
enum { KEYS_BEGIN = 0, KEYS_ASKED = 1, KEYS_ERASED = 2 };

uint64_t mcds__tally_at(int64_t at_ms, uint64_t width_ms)
{
    if (width_ms == 0 || at_ms < 0)
        return 0;
    return (uint64_t)at_ms / width_ms;
}

double mcds__tally_part(int64_t at_ms, uint64_t width_ms)
{
    if (width_ms == 0 || at_ms < 0)
        return 0;
    return (double)((uint64_t)at_ms % width_ms) / (double)width_ms;
}

bool mcds__tally_is_running(const mcds_env *env, uint64_t tally, uint64_t width_ms)
{
    return tally >= mcds__tally_at(mcds__wall_ms(env), width_ms);
}

static uint64_t memory_of(uint64_t number, uint32_t incarnation)
{
    return (number & UINT32_MAX) << 32 | incarnation;
}

bool mcds__tally_remember(struct mcds__tally_memory *memory, uint64_t number,
                          uint32_t incarnation)
{
    if (incarnation == 0)
        return false;
    uint64_t now = memory_of(number, incarnation);
    uint64_t seen = atomic_load_explicit(&memory->seen, memory_order_relaxed);
    if (seen == now)
        return false;
    if (seen != 0 && seen >> 32 == now >> 32)
        return true;
    /* A reader of an older interval must not replace the newest one. */
    if (seen == 0 || now >> 32 > seen >> 32)
        (void)atomic_compare_exchange_strong(&memory->seen, &seen, now);
    return false;
}

bool mcds__tally_was_seen(struct mcds__tally_memory *memory, uint64_t number)
{
    uint64_t seen = atomic_load_explicit(&memory->seen, memory_order_relaxed);
    return seen != 0 && seen >> 32 == (number & UINT32_MAX);
}

void mcds__tally_forget(struct mcds__tally_memory *memory)
{
    atomic_store_explicit(&memory->seen, 0, memory_order_relaxed);
}

bool mcds__tally_parse(mcds_bytes value, uint64_t *number_out)
{
    const char *text = value.data;
    size_t length = value.length;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    return mcds__parse_u64(text, length, number_out);
}

/* A density has the last round, whether its additions share, and how many there were in it. */
#define DENSITY_BITS 8
#define DENSITY_SHARES UINT64_C(0x80)
#define DENSITY_COUNT UINT64_C(0x7f)
#define DENSITY_MIN 4

/* Count the addition in its round. True: there were enough others in this round or in the last. */
static bool is_dense(_Atomic uint64_t *density, uint64_t round)
{
    assert(round != 0);
    uint64_t seen = atomic_load_explicit(density, memory_order_relaxed);
    if (seen >> DENSITY_BITS != round)
        seen = round << DENSITY_BITS |
               ((seen & DENSITY_COUNT) >= DENSITY_MIN ? DENSITY_SHARES : 0);
    seen += (seen & DENSITY_COUNT) < DENSITY_COUNT;
    atomic_store_explicit(density, seen, memory_order_relaxed);
    return (seen & DENSITY_SHARES) != 0 || (seen & DENSITY_COUNT) > DENSITY_MIN;
}

static bool tally_shares(const struct mcds__tally_hit *hit,
                         const struct mcds__operation *operation)
{
    if (hit->down || hit->want_incarnation || operation->lines == NULL)
        return false;
    return hit->density == NULL || is_dense(hit->density, operation->round);
}

/* The increment, and after it a read of the flags if the incarnation is wanted. */
static enum mcds__step ask_from(struct mcds__tally_hit *hit, struct mcds__operation *operation,
                                uint32_t count)
{
    assert(count <= 1); /* an add that makes the key comes first */
    hit->counted = (uint8_t)count;
    /* Set field by field: a compound literal would be copied. The store clears the reply. */
    mcds_request *counting = &hit->requests[count++];
    memset(counting, 0, offsetof(mcds_request, reply));
    counting->command = hit->down ? MCDS_DECR : MCDS_INCR;
    counting->key = hit->key;
    counting->delta = hit->delta;
    if (hit->want_incarnation)
        hit->requests[count++] = (mcds_request){
            .command = MCDS_GET,
            .options = MCDS_NO_VALUE,
            .key = hit->key,
        };
    (void)mcds__operation_ask(operation, hit->requests, count);
    return tally_shares(hit, operation) ? mcds__operation_share(operation) : MCDS__ASK;
}

static enum mcds__step ask_count(struct mcds__tally_hit *hit, struct mcds__operation *operation)
{
    hit->stage = HIT_COUNTING;
    return ask_from(hit, operation, 0);
}

static enum mcds__step ask_incarnation(struct mcds__tally_hit *hit,
                                       struct mcds__operation *operation)
{
    if (hit->must_exist)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(KEY_GONE));
    if (hit->creations++ == CREATIONS_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
    assert(hit->creations <= CREATIONS_MAX);
    hit->stage = HIT_BEARING;
    hit->incarnation = mcds__wall_s(operation->env);
    hit->requests[0] = (mcds_request){
        .command = MCDS_ADD,
        .flags = hit->incarnation,
        .ttl_ms = hit->ttl_ms,
        .key = hit->key,
        .value = {hit->text, mcds__format_u64(hit->initial, hit->text)},
    };
    return ask_from(hit, operation, 1);
}

const mcds_reply *mcds__tally_read_of(const struct mcds__tally_hit *hit)
{
    assert(hit->counted <= 1);
    return &hit->requests[hit->counted + 1].reply;
}

static void note_incarnation(struct mcds__tally_hit *hit)
{
    const mcds_reply *looked = mcds__tally_read_of(hit);
    if (hit->want_incarnation && looked->outcome == MCDS_OUT_OK)
        hit->incarnation = looked->flags;
}

/* The reply of the increment, in either stage. */
static enum mcds__step tally_take_count(struct mcds__tally_hit *hit,
                                        struct mcds__operation *operation)
{
    assert(hit->stage == HIT_COUNTING || hit->stage == HIT_BEARING);
    assert(hit->counted == (hit->stage == HIT_BEARING));
    const mcds_reply *reply = &hit->requests[hit->counted].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        hit->number = reply->number;
        note_incarnation(hit);
        return mcds__operation_finish(operation, MCDS_OK);
    case MCDS_OUT_MISS:
        return ask_incarnation(hit, operation);
    case MCDS_OUT_UNSENT:
        hit->stage = HIT_BEGIN;
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail(operation, reply);
    default:
        return mcds__operation_fail(operation, reply);
    }
}

static enum mcds__step take_incarnation(struct mcds__tally_hit *hit,
                                        struct mcds__operation *operation)
{
    const mcds_reply *added = &hit->requests[0].reply;
    const mcds_reply *counted = &hit->requests[hit->counted].reply;
    hit->is_made = added->outcome == MCDS_OUT_OK;
    if (counted->outcome == MCDS_OUT_MISS && added->outcome != MCDS_OUT_OK &&
        added->outcome != MCDS_OUT_NOT_STORED)
        return mcds__operation_fail(operation, added);
    if (!hit->is_made)
        hit->incarnation = 0;
    return tally_take_count(hit, operation);
}

enum mcds__step mcds__tally_hit_step(struct mcds__tally_hit *hit,
                                     struct mcds__operation *operation)
{
    switch (hit->stage) {
    case HIT_BEGIN:
        return ask_count(hit, operation);
    case HIT_COUNTING:
        return tally_take_count(hit, operation);
    default:
        return take_incarnation(hit, operation);
    }
}

static void put_requests(mcds_request *requests, const struct mcds__key *keys, uint32_t count,
                         const struct mcds__key *route, mcds_command command, uint32_t options)
{
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (mcds_request){
            .command = command, .options = options, .key = mcds__key_bytes(&keys[i])};
    for (uint32_t i = 0; i < count && route != NULL; i++)
        requests[i].route = mcds__key_bytes(route);
}

static enum mcds__step take_reads(mcds_request *requests, uint32_t count, uint8_t *stage,
                                  struct mcds__operation *operation)
{
    assert(*stage == KEYS_ASKED);
    const mcds_reply *trouble = mcds__first_trouble(requests, count);
    if (trouble == NULL)
        return mcds__operation_finish(operation, MCDS_OK);
    *stage = KEYS_BEGIN;
    return mcds__operation_retry(operation, trouble);
}

enum mcds__step mcds__tally_read_step(mcds_request *requests, const struct mcds__key *keys,
                                      uint32_t count, const struct mcds__key *route,
                                      uint32_t options, uint8_t *stage,
                                      struct mcds__operation *operation)
{
    if (*stage != KEYS_BEGIN)
        return take_reads(requests, count, stage, operation);
    *stage = KEYS_ASKED;
    put_requests(requests, keys, count, route, MCDS_GET, options);
    return mcds__operation_ask_any_order(operation, requests, count);
}

enum mcds__step mcds__tally_read_twice_step(mcds_request *requests,
                                            const struct mcds__key *keys, uint32_t count,
                                            uint32_t options, uint8_t *stage,
                                            struct mcds__operation *operation)
{
    if (*stage != KEYS_BEGIN)
        return take_reads(requests, 2 * count, stage, operation);
    *stage = KEYS_ASKED;
    put_requests(requests, keys, count, NULL, MCDS_GET, options);
    put_requests(requests + count, keys, count, NULL, MCDS_GET, options);
    return mcds__operation_ask_any_order(operation, requests, 2 * count);
}

bool mcds__tally_is_proven(const mcds_batch *batch, const mcds_request *first,
                           const mcds_request *second)
{
    if (first->reply.outcome != second->reply.outcome)
        return false;
    mcds_bytes before = mcds__reply_value(batch, first);
    mcds_bytes after = mcds__reply_value(batch, second);
    return first->reply.cas.connection == second->reply.cas.connection &&
           first->reply.cas.unique == second->reply.cas.unique &&
           mcds__bytes_same(before, after);
}

enum mcds__step mcds__tally_drop_step(mcds_request *requests, const struct mcds__key *keys,
                                      uint32_t count, const struct mcds__key *route,
                                      uint8_t *stage, struct mcds__operation *operation)
{
    if ((*stage & KEYS_ASKED) == 0) {
        *stage |= KEYS_ASKED;
        put_requests(requests, keys, count, route, MCDS_DELETE, 0);
        return mcds__operation_ask_any_order(operation, requests, count);
    }
    if (mcds__may_be_applied(requests, count))
        *stage |= KEYS_ERASED;
    bool erased = (*stage & KEYS_ERASED) != 0;
    const mcds_reply *trouble = mcds__first_trouble(requests, count);
    if (trouble != NULL && trouble->outcome == MCDS_OUT_UNSENT &&
        mcds__operation_again(operation)) {
        *stage = erased ? KEYS_ERASED : KEYS_BEGIN;
        return MCDS__SLEEP;
    }
    if (trouble == NULL)
        return mcds__operation_finish(operation, erased ? MCDS_OK : MCDS_NOT_FOUND);
    (void)mcds__operation_fail(operation, trouble);
    /* If some keys may be erased, the result cannot be "not applied". */
    if (erased)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}
