/* Limit, form WINDOW: at most `count` tokens in any nine neighbouring slots.
 *
 * A slot is an eighth of the window. A block is eight slots, and begins at a multiple of eight.
 * Each slot and each block has a number in its own key. A key is never used for another slot or
 * block. All numbers of an identity are on one server. A take is one ordered batch:
 *
 *   increment its slot and its block by n | get the next block, and the block before or its slots
 *
 * It passes if three numbers together are at most `count`: its own block, the next block, and those
 * slots of the block before that are at most eight before its own. If the caller wants no value,
 * the block before is first read as a whole. If this leaves room, its slots are not read.
 *
 * Consider any nine neighbouring slots. Of the takes that passed in them, let X be the one whose
 * last increment the server executed last. X read after that, so the numbers that it read include
 * the increments of all the others, and none of these was taken back. Each of the nine slots is in
 * the block of X, in the next block, or at most eight slots before the slot of X. So X has added
 * all nine, and together they have at most `count` tokens. Any period of eight slots is within nine
 * slots.
 *
 * The next block must be read too. Otherwise a take with a slow batch or clock would miss the takes
 * that have meanwhile passed in later slots.
 *
 * A refused take decrements both numbers once. If the reply is lost, the decrement is not repeated:
 * a second one would take back the increment of another take. Tokens cannot be given back later,
 * because the current slot is then another one. While a handle knows that an identity is refused,
 * its takes read first, and increment only if they would pass. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/limit/limit.h"

#define SLOTS MCDS__LIMIT_SLOTS
/* A number is read until sixteen later slots have begun, by clocks at most SLACK_MS apart. */
#define LIFE_SLOTS (2 * SLOTS + 1)
#define SLACK_MS 60000
/* Between the add and the increment, a number vanishes only if the store evicts it. */
#define TRIES_MAX 3

enum { BEGIN, LOOKING, COUNTING, READ_AGAIN, READING_AGAIN, GIVING_BACK };
enum { OWN_SLOT, OWN_BLOCK, NUMBERS };
/* The numbers of the GETs. N below SLOTS: the slot that is SLOTS - N slots before the own slot. LAST_BLOCK
 * is the block before the own block. */
enum { LAST_BLOCK = SLOTS, THIS_BLOCK, NEXT_BLOCK, READS };
enum { KEYS = NUMBERS + READS, REQUESTS = 2 * NUMBERS + READS };
/* The numbers that a batch reads besides the next block. COARSE: the block before, as a whole. FINE: its slots
 * that count. ALL: these, the own block, and the slots of the own block before the own slot. */
enum detail { COARSE, FINE, ALL };

struct limit_window {
    struct mcds__operation base;
    mcds_limit *limit;
    mcds_limit_value *value_out;
    uint64_t tokens; /* 0: get */
    uint8_t stage;
    uint8_t tries;
    uint8_t detail;
    uint8_t key_count, read_count, request_count; /* of the batch */
    bool adds;                                    /* an increment cannot create its number */
    bool has_failed;                              /* the store has refused: the result */
    bool has_counted[NUMBERS];                    /* the number has these tokens */
    bool wants_value; /* the caller or handle needs the value: read the slots of its block */
    bool is_exact;    /* these slots were read; if not, the times may be too long */
    int64_t now_ms;
    uint64_t changes; /* of the handle, when it began */
    uint64_t slot;
    /* Without these tokens, as far as they are known: */
    uint64_t block;       /* of the own block */
    uint64_t held[READS]; /* by what a GET reads */
    mcds_limit_value value;
    uint8_t read[READS];           /* what the GETs of the batch read */
    uint8_t first_read;            /* the first of them, among the requests */
    mcds_request *counts[NUMBERS]; /* the increments of the batch; NULL: not in it */
    struct mcds__key route;
    struct mcds__key keys[KEYS];
    mcds_request requests[REQUESTS];
    char identity[MCDS__NAME_GIVEN_MAX + 1];
};

static mcds_request *window_add_request(struct limit_window *call, mcds_command command,
                                        mcds_bytes key)
{
    assert(call->request_count < REQUESTS);
    mcds_request *request = &call->requests[call->request_count++];
    *request = (mcds_request){
        .command = command, .key = key, .route = mcds__key_bytes(&call->route)};
    return request;
}

static mcds_bytes window_add_key(struct limit_window *call, const struct mcds__key *prefix,
                                 uint64_t number)
{
    assert(call->key_count < KEYS);
    struct mcds__key *key = &call->keys[call->key_count++];
    key->length = prefix->length;
    memcpy(key->bytes, prefix->bytes, prefix->length + 1U);
    mcds__key_add_number(key, call->limit->width_ms);
    mcds__key_add_number(key, number);
    mcds__key_add_element(key, call->identity);
    return mcds__key_bytes(key);
}

/* The key of the own slot or of the own block. */
static mcds_bytes own_key(struct limit_window *call, int number)
{
    return number == OWN_SLOT ? window_add_key(call, &call->limit->slots, call->slot)
                              : window_add_key(call, &call->limit->blocks, call->slot / SLOTS);
}

static void window_add_read(struct limit_window *call, unsigned what)
{
    uint64_t block = call->slot / SLOTS;
    assert(what < READS && call->read_count < READS);
    if (what < SLOTS ? call->slot + what < SLOTS : block + what < THIS_BLOCK)
        return; /* before slot 0 */
    mcds_bytes key = what < SLOTS
                         ? window_add_key(call, &call->limit->slots, call->slot + what - SLOTS)
                         : window_add_key(call, &call->limit->blocks,
                                          block + what - THIS_BLOCK);
    (void)window_add_request(call, MCDS_GET, key);
    call->read[call->read_count++] = (uint8_t)what;
}

/* Adds the GETs. They come after the increments of the batch. */
static void add_reads(struct limit_window *call)
{
    unsigned inside = (unsigned)(call->slot % SLOTS); /* the block's slots before the own one */
    call->first_read = call->request_count;
    call->read_count = 0;
    window_add_read(call, NEXT_BLOCK);
    if (call->detail == ALL)
        window_add_read(call, THIS_BLOCK);
    if (call->detail == COARSE) {
        window_add_read(call, LAST_BLOCK);
        return;
    }
    bool wants_own = call->detail == ALL && call->wants_value;
    for (unsigned what = 0; what < (wants_own ? SLOTS : SLOTS - inside); what++)
        window_add_read(call, what);
}

static void begin_batch(struct limit_window *call)
{
    call->key_count = call->read_count = call->request_count = 0;
    call->counts[OWN_SLOT] = call->counts[OWN_BLOCK] = NULL;
}

static void set_time(struct limit_window *call)
{
    call->now_ms = mcds__wall_ms(call->base.env);
    call->slot = (uint64_t)call->now_ms / call->limit->width_ms;
}

static enum mcds__step window_ask_look(struct limit_window *call)
{
    set_time(call);
    begin_batch(call);
    call->detail = ALL;
    call->stage = LOOKING;
    add_reads(call);
    return mcds__operation_ask_repeatable(&call->base, call->requests, call->request_count);
}

static void add_count(struct limit_window *call, int number)
{
    const mcds_limit *limit = call->limit;
    mcds_bytes key = own_key(call, number);
    uint64_t ttl_ms = LIFE_SLOTS * limit->width_ms + SLACK_MS;
    if (call->adds) {
        mcds_request *adding = window_add_request(call, MCDS_ADD, key);
        adding->ttl_ms = ttl_ms;
        adding->value = (mcds_bytes){"0", 1};
    }
    mcds_request *counting = window_add_request(call, MCDS_INCR, key);
    counting->delta = counting->initial = call->tokens;
    counting->ttl_ms = ttl_ms;
    counting->options = call->adds ? 0 : MCDS_CREATE;
    call->counts[number] = counting;
}

static enum mcds__step window_ask_count(struct limit_window *call)
{
    if (!call->has_counted[OWN_SLOT] && !call->has_counted[OWN_BLOCK])
        set_time(call);
    begin_batch(call);
    call->detail = call->value_out != NULL ? FINE : COARSE;
    call->stage = COUNTING;
    for (int number = OWN_SLOT; number < NUMBERS; number++)
        if (!call->has_counted[number])
            add_count(call, number);
    add_reads(call);
    assert(call->tokens > 0 && call->request_count > call->first_read);
    return mcds__operation_ask(&call->base, call->requests, call->request_count);
}

/* The numbers that were read, into `held`. False: one is not a number. */
static bool window_take_reads(struct limit_window *call)
{
    memset(call->held, 0, sizeof call->held);
    for (uint32_t i = 0; i < call->read_count; i++) {
        const mcds_request *request = &call->requests[call->first_read + i];
        if (request->reply.outcome == MCDS_OUT_OK &&
            !mcds__tally_parse(mcds__operation_value(&call->base, request),
                               &call->held[call->read[i]]))
            return false;
    }
    if (call->detail == ALL)
        call->block = call->held[THIS_BLOCK];
    call->is_exact = call->detail == ALL && call->wants_value;
    return true;
}

/* The tokens that are left when the first `gone` of the nine slots up to the own slot no longer
 * count. Tokens of the own block that are in no slot before the own one count as in the own slot.
 * The next block counts as the slot after the own one. */
static uint64_t held_without(const struct limit_window *call, unsigned gone)
{
    unsigned last = SLOTS - (unsigned)(call->slot % SLOTS); /* of the block before */
    uint64_t own = call->block;
    uint64_t sum = gone <= SLOTS + 1 ? call->held[NEXT_BLOCK] : 0;
    for (unsigned i = last; i < SLOTS; i++)
        own = own > call->held[i] ? own - call->held[i] : 0;
    for (unsigned i = gone; i < SLOTS; i++)
        sum += call->held[i];
    return sum + (gone <= SLOTS ? own : 0) + (gone == 0 ? call->held[LAST_BLOCK] : 0);
}

/* The time from now_ms until the slot begins that is `after` slots after the own one. */
static uint64_t time_to_slot(const struct limit_window *call, uint64_t after)
{
    return (call->slot + after) * call->limit->width_ms - (uint64_t)call->now_ms;
}

/* The time until a take of so many tokens passes. */
static uint64_t wait_for(const struct limit_window *call, uint64_t tokens)
{
    for (unsigned gone = 0; gone <= SLOTS + 2; gone++)
        if (held_without(call, gone) + tokens <= call->limit->count)
            return gone == 0 ? 0 : time_to_slot(call, gone);
    return 0;
}

/* The time until no slot with tokens is counted. */
static uint64_t full_after(const struct limit_window *call)
{
    uint64_t rest = SLOTS - call->slot % SLOTS; /* slots until the next block */
    if (call->held[NEXT_BLOCK] > 0)
        return time_to_slot(call, rest + 2 * SLOTS);
    for (unsigned gone = SLOTS + 1; gone > 0; gone--)
        if (held_without(call, gone - 1) > 0)
            return time_to_slot(call, gone);
    return 0;
}

/* Sets the value. `passed` tokens of this take have passed and are in the own slot. */
static void set_value(struct limit_window *call, uint64_t passed, uint64_t wanted)
{
    uint64_t count = call->limit->count;
    call->block += passed;
    uint64_t held = held_without(call, 0);
    call->value = (mcds_limit_value){.remaining = held < count ? count - held : 0,
                                     .retry_ms = wait_for(call, wanted),
                                     .full_ms = full_after(call)};
}

static enum mcds__step window_finish(struct limit_window *call, int result)
{
    mcds_bytes identity = mcds_text(call->identity);
    if (call->value_out != NULL && (result == MCDS_OK || result == MCDS_BUSY))
        mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &call->value);
    if (result != MCDS_BUSY) {
        if (call->tokens > 0) {
            mcds__refusals_forget(&call->limit->refusals, identity);
            mcds__remembered_forget(call->limit->remembered, identity);
        }
        return mcds__operation_finish(&call->base, result);
    }
    const struct mcds__refusal refusal = {.tokens = call->tokens,
                                          .own_ms = call->now_ms,
                                          .asked_ns = call->base.sent_ns,
                                          .changes = call->changes,
                                          .value = call->value};
    if (call->is_exact) /* otherwise the handle could refuse a take that the store accepts */
        mcds__remembered_note(call->limit->remembered, identity, &refusal);
    mcds__refusals_note(&call->limit->refusals, identity,
                        call->now_ms + (int64_t)call->value.retry_ms, call->stage == LOOKING);
    return mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(LIMITED));
}

/* Decrements the numbers that were incremented, and reads what the value needs. */
static enum mcds__step give_back(struct limit_window *call)
{
    begin_batch(call);
    assert(call->has_counted[OWN_SLOT] || call->has_counted[OWN_BLOCK]);
    for (int number = OWN_SLOT; number < NUMBERS; number++)
        if (call->has_counted[number])
            window_add_request(call, MCDS_DECR, own_key(call, number))->delta = call->tokens;
    call->detail = ALL;
    if (!call->has_failed && call->wants_value)
        add_reads(call);
    call->stage = GIVING_BACK;
    return mcds__operation_ask(&call->base, call->requests, call->request_count);
}

/* The result of the refusal, or AMBIGUOUS because of a decrement that failed. A number that is gone
 * counts no tokens. */
static enum mcds__step end_given_back(struct limit_window *call)
{
    assert(call->base.result != MCDS_OK && call->read_count == 0);
    const mcds_reply *trouble = mcds__first_trouble(call->requests, call->request_count);
    if (trouble == NULL)
        return MCDS__DONE;
    (void)mcds__operation_fail(&call->base, trouble);
    return mcds__operation_doubt(&call->base);
}

/* With or without the decrement, no token passed. */
static enum mcds__step window_take_back(struct limit_window *call)
{
    if (call->has_failed)
        return end_given_back(call);
    if (call->read_count > 0 &&
        mcds__first_trouble(&call->requests[call->first_read], call->read_count) == NULL &&
        window_take_reads(call))
        set_value(call, 0, call->tokens);
    return window_finish(call, MCDS_BUSY);
}

static enum mcds__step read_again(struct limit_window *call)
{
    assert(call->has_counted[OWN_SLOT] && call->has_counted[OWN_BLOCK]);
    begin_batch(call);
    add_reads(call);
    call->stage = READING_AGAIN;
    return mcds__operation_ask_repeatable(&call->base, call->requests, call->request_count);
}

/* The tokens are counted, and the other numbers were read after that. */
static enum mcds__step window_decide(struct limit_window *call)
{
    if (!window_take_reads(call))
        return mcds__operation_finish(&call->base, MCDS_AMBIGUOUS);
    bool passes = held_without(call, 0) + call->tokens <= call->limit->count;
    if (!passes && call->detail == COARSE) {
        call->detail = FINE;
        return read_again(call);
    }
    if (!passes || call->value_out != NULL)
        set_value(call, passes ? call->tokens : 0, passes ? 0 : call->tokens);
    return passes ? window_finish(call, MCDS_OK) : give_back(call);
}

/* The tokens are counted. If a reply to a read was lost, read once more. */
static enum mcds__step decide_if_read(struct limit_window *call)
{
    if (mcds__first_trouble(&call->requests[call->first_read], call->read_count) == NULL)
        return window_decide(call);
    call->stage = READ_AGAIN;
    return mcds__operation_again(&call->base)
               ? MCDS__SLEEP
               : mcds__operation_finish(&call->base, MCDS_AMBIGUOUS);
}

/* The store has refused an increment. A number that was incremented is decremented. */
static enum mcds__step fail_count(struct limit_window *call, const mcds_reply *reply)
{
    (void)mcds__operation_fail(&call->base, reply);
    call->has_failed = true;
    bool has_counted = call->has_counted[OWN_SLOT] || call->has_counted[OWN_BLOCK];
    return has_counted && call->base.result != MCDS_AMBIGUOUS ? give_back(call) : MCDS__DONE;
}

/* An increment was not executed, and will not be. It is sent again; the other number is not
 * incremented a second time. */
static enum mcds__step count_again(struct limit_window *call, const mcds_request *counting)
{
    const mcds_reply *reply = &counting->reply;
    const mcds_reply *added = &counting[call->adds ? -1 : 0].reply;
    bool is_missing = reply->outcome == MCDS_OUT_MISS || reply->outcome == MCDS_OUT_NOT_STORED;
    if (reply->outcome == MCDS_OUT_UNSENT) {
        call->stage = BEGIN;
        return mcds__operation_again(&call->base) ? MCDS__SLEEP : fail_count(call, reply);
    }
    if (!is_missing)
        return fail_count(call, reply);
    if (call->adds && mcds__is_refusal(added))
        return fail_count(call, added);
    if (call->tries++ < TRIES_MAX) {
        call->adds = call->adds || reply->outcome == MCDS_OUT_MISS;
        return window_ask_count(call);
    }
    (void)mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
    call->has_failed = true;
    bool has_counted = call->has_counted[OWN_SLOT] || call->has_counted[OWN_BLOCK];
    return has_counted ? give_back(call) : MCDS__DONE;
}

static enum mcds__step take_count(struct limit_window *call)
{
    const mcds_request *missing = NULL;
    for (int number = OWN_SLOT; number < NUMBERS; number++) {
        const mcds_request *counting = call->counts[number];
        if (counting == NULL)
            continue;
        if (counting->reply.outcome != MCDS_OUT_OK) {
            if (missing == NULL || counting->reply.outcome == MCDS_OUT_UNKNOWN)
                missing = counting;
            continue;
        }
        call->has_counted[number] = true;
        uint64_t after = counting->reply.number;
        if (number == OWN_BLOCK)
            call->block = after < call->tokens ? 0 : after - call->tokens;
    }
    return missing == NULL ? decide_if_read(call) : count_again(call, missing);
}

static enum mcds__step take_look(struct limit_window *call)
{
    const mcds_reply *trouble = mcds__first_trouble(call->requests, call->read_count);
    if (trouble != NULL) {
        call->stage = BEGIN;
        return mcds__operation_retry(&call->base, trouble);
    }
    if (!window_take_reads(call))
        return mcds__operation_finish(&call->base, MCDS_CORRUPT);
    bool passes = held_without(call, 0) + call->tokens <= call->limit->count;
    set_value(call, 0, call->tokens > 0 ? call->tokens : 1);
    if (call->tokens == 0)
        return window_finish(call, MCDS_OK);
    return passes ? window_ask_count(call) : window_finish(call, MCDS_BUSY);
}

static enum mcds__step window_begin(struct limit_window *call)
{
    bool has_counted = call->has_counted[OWN_SLOT] || call->has_counted[OWN_BLOCK];
    int64_t now_ms = mcds__wall_ms(call->base.env);
    if (now_ms == 0)
        return mcds__operation_explain(&call->base, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_1970));
    bool looks = call->tokens == 0 ||
                 (!has_counted && mcds__refusals_has(&call->limit->refusals,
                                                     mcds_text(call->identity), now_ms));
    return looks ? window_ask_look(call) : window_ask_count(call);
}

static enum mcds__step step_window(struct mcds__operation *operation)
{
    struct limit_window *call = (struct limit_window *)operation;
    assert(call->stage <= GIVING_BACK);
    switch (call->stage) {
    case BEGIN:
        return window_begin(call);
    case LOOKING:
        return take_look(call);
    case COUNTING:
        return take_count(call);
    case READ_AGAIN:
        return read_again(call);
    case READING_AGAIN:
        return decide_if_read(call);
    default:
        return window_take_back(call);
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
    struct limit_window *call = mcds__call_begin(&own.base, kind, &limit->keyed.handle, start,
                                                 &result);
    if (call == NULL)
        return result;
    memset((uint8_t *)call + sizeof call->base, 0,
           offsetof(struct limit_window, keys) - sizeof call->base);
    call->limit = limit;
    call->tokens = tokens;
    call->changes = mcds__remembered_changes(limit->remembered);
    call->value_out = value_out;
    call->wants_value = value_out != NULL || limit->remembered != NULL;
    call->adds = !mcds__store_can(limit->keyed.handle.store).create_on_increment;
    memcpy(call->identity, identity.data, identity.length);
    call->identity[identity.length] = '\0';
    call->route = limit->slots;
    mcds__key_add_element(&call->route, call->identity);
    return mcds__call_launch(&call->base, start);
}
