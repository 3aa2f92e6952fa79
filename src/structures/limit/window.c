/* Limit, form WINDOW: at most `count` tokens in any nine neighbouring slots.
 *
 * A slot is an eighth of the window, with a number under its own key, which is never used for a
 * second slot. All slots of an identity are on one server. A take is one ordered batch:
 *
 *   add slot 0 | increment it by n | get the eight slots before it and the eight after it
 *
 * It passes if no nine neighbouring slots that contain its own hold more than `count`. Of the
 * takes that passed in nine neighbouring slots, let X be the one whose increment the server
 * executed last: X read afterwards, so its sum has the increments of all the others, none of
 * which was taken back. So they are at most `count`; and any time of eight slots lies in nine.
 *
 * The slots after its own must be read too: a take whose batch or clock is slow would otherwise
 * miss the takes that passed in later slots meanwhile.
 *
 * A refused take decrements its slot once. If the reply to that is lost, it is not repeated: two
 * decrements would take back the increment of another take. Tokens are not given back later
 * either: the current slot is another one. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/limit/limit.h"

#define SLOTS 8 /* of a window */
#define READS (2 * SLOTS)
/* A slot is read until eight later ones have begun, by clocks that differ this much. */
#define SLACK_MS 60000
/* Between the add and the increment, the slot can only vanish by eviction. */
#define TRIES_MAX 3

enum { ADD, COUNT, READ, REQUESTS = READ + READS };
enum { BEGIN, COUNTING, LOOKING, READ_AGAIN, READING_AGAIN, GIVING_BACK };

struct limit_window {
    struct mcds__operation base;
    const mcds_limit *limit;
    mcds_limit_value *value_out;
    uint64_t tokens; /* 0: get */
    uint8_t stage;
    uint8_t tries;
    uint8_t reads;
    int64_t now_ms;
    uint64_t slot;
    uint64_t held[READS + 1]; /* by the slots from `slot` - SLOTS on, without these tokens */
    mcds_limit_value value;
    struct mcds__key route;
    struct mcds__key keys[READS + 1];
    mcds_request requests[REQUESTS];
    char identity[MCDS__NAME_GIVEN_MAX + 1];
};

/* Slots before the first have the number of the first, and are not read. */
static bool has_slot(const struct limit_window *call, unsigned i)
{
    return call->slot + i >= SLOTS;
}

static void fill_key(struct limit_window *call, unsigned i)
{
    assert(i <= READS && has_slot(call, i));
    struct mcds__key *key = &call->keys[i];
    *key = call->limit->slots;
    mcds__key_add_number(key, call->limit->width_ms);
    mcds__key_add_number(key, call->slot + i - SLOTS);
    mcds__key_add_element(key, call->identity);
}

/* The reads of the other slots, or of all of them. Returns how many there are. */
static uint32_t fill_reads(struct limit_window *call, mcds_request *requests, bool has_own)
{
    uint32_t count = 0;
    for (unsigned i = 0; i <= READS; i++) {
        if (!has_slot(call, i))
            continue;
        fill_key(call, i);
        if (i == SLOTS && !has_own)
            continue;
        requests[count++] = (mcds_request){
            .command = MCDS_GET,
            .key = mcds__key_bytes(&call->keys[i]),
            .route = mcds__key_bytes(&call->route),
        };
    }
    assert(count <= READS + 1);
    return count;
}

static enum mcds__step ask(struct limit_window *call)
{
    const mcds_limit *limit = call->limit;
    call->now_ms = mcds__wall_ms(call->base.env);
    call->slot = (uint64_t)(call->now_ms < 0 ? 0 : call->now_ms) / limit->width_ms;
    mcds_request *requests = call->requests;
    if (call->tokens == 0) {
        call->stage = LOOKING;
        uint32_t count = fill_reads(call, requests, true);
        return mcds__operation_ask_repeatable(&call->base, requests, count);
    }
    call->stage = COUNTING;
    call->reads = (uint8_t)fill_reads(call, requests + READ, false);
    uint32_t count = READ + call->reads;
    mcds_request own = {.key = mcds__key_bytes(&call->keys[SLOTS]),
                        .route = mcds__key_bytes(&call->route)};
    requests[ADD] = requests[COUNT] = own;
    requests[ADD].command = MCDS_ADD;
    requests[ADD].flags = mcds__wall_s(call->base.env);
    requests[ADD].ttl_ms = (2 * SLOTS + 1) * limit->width_ms + SLACK_MS;
    requests[ADD].value = (mcds_bytes){"0", 1};
    requests[COUNT].command = MCDS_INCR;
    requests[COUNT].delta = call->tokens;
    return mcds__operation_ask(&call->base, requests, count);
}

/* The numbers that were read, into `held`. False: one is not a number. */
static bool window_take_reads(struct limit_window *call, const mcds_request *requests,
                              bool has_own)
{
    uint32_t count = 0;
    for (unsigned i = 0; i <= READS; i++) {
        call->held[i] = 0;
        if (!has_slot(call, i) || (i == SLOTS && !has_own))
            continue;
        const mcds_request *request = &requests[count++];
        if (request->reply.outcome == MCDS_OUT_OK &&
            !mcds__tally_parse(mcds__operation_value(&call->base, request), &call->held[i]))
            return false;
    }
    return true;
}

/* The most that nine neighbouring slots hold that contain slot `i`, which may be after the last
 * that was read. */
static uint64_t most_around(const struct limit_window *call, unsigned i)
{
    uint64_t most = 0;
    assert(i >= SLOTS);
    for (unsigned first = i - SLOTS; first <= i && first <= READS; first++) {
        uint64_t sum = 0;
        for (unsigned j = first; j <= first + SLOTS && j <= READS; j++)
            sum += call->held[j];
        most = sum > most ? sum : most;
    }
    return most;
}

/* The time until so many tokens pass, from now_ms; if slots after the window are full, from the
 * first of them that is. */
static uint64_t wait_for(const struct limit_window *call, uint64_t tokens)
{
    for (unsigned i = SLOTS; i <= READS + SLOTS + 1; i++)
        if (most_around(call, i) + tokens <= call->limit->count)
            return i == SLOTS ? 0
                              : (call->slot + i - SLOTS) * call->limit->width_ms -
                                    (uint64_t)call->now_ms;
    return 0;
}

/* The time until no slot with tokens is counted. */
static uint64_t full_after(const struct limit_window *call)
{
    unsigned last = 0;
    for (unsigned i = 0; i <= READS; i++)
        if (call->held[i] > 0)
            last = i + SLOTS + 1;
    if (last <= SLOTS)
        return 0;
    return (call->slot + last - SLOTS) * call->limit->width_ms - (uint64_t)call->now_ms;
}

static enum mcds__step window_finish(struct limit_window *call, int result)
{
    if (call->value_out != NULL && (result == MCDS_OK || result == MCDS_BUSY))
        mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &call->value);
    return result == MCDS_BUSY
               ? mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(LIMITED))
               : mcds__operation_finish(&call->base, result);
}

/* The tokens are counted; the slots around have been read after that. */
static enum mcds__step window_decide(struct limit_window *call)
{
    const mcds_limit *limit = call->limit;
    if (!window_take_reads(call, &call->requests[READ], false))
        return mcds__operation_finish(&call->base, MCDS_AMBIGUOUS);
    uint64_t own = call->requests[COUNT].reply.number;
    assert(call->tokens > 0);
    call->held[SLOTS] = own < call->tokens ? 0 : own - call->tokens;
    uint64_t most = most_around(call, SLOTS);
    if (most + call->tokens <= limit->count) {
        call->held[SLOTS] += call->tokens;
        call->value = (mcds_limit_value){.remaining = limit->count - most - call->tokens,
                                         .full_ms = full_after(call)};
        return window_finish(call, MCDS_OK);
    }
    call->value = (mcds_limit_value){.remaining = most < limit->count ? limit->count - most : 0,
                                     .retry_ms = wait_for(call, call->tokens),
                                     .full_ms = full_after(call)};
    call->stage = GIVING_BACK;
    call->requests[0] = call->requests[COUNT];
    call->requests[0].command = MCDS_DECR;
    return mcds__operation_ask(&call->base, call->requests, 1);
}

/* The tokens are counted, and a reply about another slot was lost: read the slots once more. */
static enum mcds__step decide_if_read(struct limit_window *call)
{
    assert(call->requests[COUNT].reply.outcome == MCDS_OUT_OK);
    if (mcds__first_trouble(&call->requests[READ], call->reads) == NULL)
        return window_decide(call);
    call->stage = READ_AGAIN;
    return mcds__operation_again(&call->base)
               ? MCDS__SLEEP
               : mcds__operation_finish(&call->base, MCDS_AMBIGUOUS);
}

static enum mcds__step read_again(struct limit_window *call)
{
    assert(call->reads > 0 && call->stage == READ_AGAIN);
    call->stage = READING_AGAIN;
    return mcds__operation_ask_repeatable(&call->base, &call->requests[READ], call->reads);
}

static enum mcds__step take_count(struct limit_window *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_reply *added = &call->requests[ADD].reply;
    const mcds_reply *counted = &call->requests[COUNT].reply;
    if (counted->outcome == MCDS_OUT_UNSENT) {
        call->stage = BEGIN;
        return mcds__operation_again(operation) ? MCDS__SLEEP
                                                : mcds__operation_fail(operation, counted);
    }
    if (counted->outcome == MCDS_OUT_MISS && mcds__is_refusal(added))
        return mcds__operation_fail(operation, added);
    if (counted->outcome == MCDS_OUT_MISS) {
        if (call->tries++ == TRIES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
        return ask(call);
    }
    if (counted->outcome != MCDS_OUT_OK)
        return mcds__operation_fail(operation, counted);
    return decide_if_read(call);
}

static enum mcds__step take_look(struct limit_window *call)
{
    const mcds_reply *trouble = mcds__first_trouble(call->requests, call->base.batch.count);
    if (trouble != NULL) {
        call->stage = BEGIN;
        return mcds__operation_retry(&call->base, trouble);
    }
    if (!window_take_reads(call, call->requests, true))
        return mcds__operation_finish(&call->base, MCDS_CORRUPT);
    uint64_t most = most_around(call, SLOTS);
    uint64_t count = call->limit->count;
    call->value = (mcds_limit_value){.remaining = most < count ? count - most : 0,
                                     .retry_ms = wait_for(call, 1),
                                     .full_ms = full_after(call)};
    return window_finish(call, MCDS_OK);
}

static enum mcds__step step_window(struct mcds__operation *operation)
{
    struct limit_window *call = (struct limit_window *)operation;
    assert(call->stage <= GIVING_BACK);
    switch (call->stage) {
    case BEGIN:
        return ask(call);
    case COUNTING:
        return take_count(call);
    case LOOKING:
        return take_look(call);
    case READ_AGAIN:
        return read_again(call);
    case READING_AGAIN:
        return decide_if_read(call);
    default:
        /* With or without the decrement, no token passed. */
        return window_finish(call, MCDS_BUSY);
    }
}

static const struct mcds__operation_kind window_take_kind = {
    "limit", "take", sizeof(struct limit_window), step_window, NULL};
static const struct mcds__operation_kind window_get_kind = {
    "limit", "get", sizeof(struct limit_window), step_window, NULL};

int mcds__limit_take_window(mcds_limit *limit, mcds_bytes identity, uint64_t tokens,
                            mcds_limit_value *value_out, const struct mcds__start *start)
{
    const struct mcds__operation_kind *kind = tokens > 0 ? &window_take_kind : &window_get_kind;
    int result = MCDS_OK;
    assert(limit->form == MCDS_LIMIT_WINDOW && identity.length <= MCDS__NAME_GIVEN_MAX);
    if (memchr(identity.data, 0, identity.length) != NULL)
        return mcds__fail(MCDS_INVALID, BAD_BYTE, MCDS__CALL(kind, limit->keyed.handle.name),
                          .option = "identity");
    struct limit_window own;
    struct limit_window *call = mcds__call_begin_zero(&own.base, kind, &limit->keyed.handle,
                                                      start, &result);
    if (call == NULL)
        return result;
    call->limit = limit;
    call->tokens = tokens;
    call->value_out = value_out;
    memcpy(call->identity, identity.data, identity.length);
    call->route = limit->slots;
    mcds__key_add_element(&call->route, call->identity);
    return mcds__call_launch(&call->base, start);
}
