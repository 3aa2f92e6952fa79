/* Ids: get a range of ids from the store.
 *
 *   get key | wait until the time of the range has come | cas key, `next` after the range
 *
 * The clock is read before the cas is sent, and no id of the range has a later time. So at the
 * moment of the cas every id of the range is at most (this clock, and one millisecond) old, and
 * never of the future. Within a life of the key, cas makes the ranges disjoint.
 *
 * A key that is missing is made in two steps:
 *
 *   add mark, get key | cas mark -> `next` = now + spread + 1 ms
 *
 * The second reads the clock after the mark was seen, and so after the last grant of an earlier
 * life: `next` is above all ids of all earlier lives, as far as clocks agree to the spread. A late
 * add is only a mark again. A number in the add would be as old as the add is.
 *
 * A cas in doubt is not repeated: another range is asked for, and the ids of the first may be lost.
 * Two clients that write the same bytes with the same token would both find them there. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/ids/ids.h"

/* Ids of one grant. A handle that is idle loses as many in each second of its use. */
#define RANGE UINT64_C(1024)
/* Waiting for the times of ids, besides for the spread: all callers together are then faster than
 * there are ids. */
#define WAIT_MS 1000
/* Between the add and the get, the key can only vanish by eviction or a drop. */
#define VANISHED_MAX 16
/* How often a call makes the key. The store may lose it while the call waits for the spread. */
#define LIVES_MAX 4

enum { BEGIN, READING, MAKING, TAKING };
enum { ADD, GET, REQUESTS };

struct ids_take {
    struct mcds__operation base;
    mcds_ids *ids;
    uint64_t n;
    uint64_t *first_out;
    uint8_t stage;
    uint8_t vanished;
    uint8_t lives;       /* of the key, which this call has made */
    bool is_missing;     /* the key was, when it was read */
    bool has_vanished;   /* the key, during this call */
    bool has_added;      /* the last batch has the add */
    int64_t left_ms;     /* for which it may wait in this life of the key */
    uint64_t first, end; /* the range asked for */
    int64_t asked_ns;
    uint8_t value[MCDS__IDS_VALUE_LENGTH];
    mcds_request requests[REQUESTS];
};

static enum mcds__step ids_finish(struct ids_take *call, uint64_t first)
{
    assert(call->first_out != NULL);
    *call->first_out = first;
    return mcds__operation_finish(&call->base, MCDS_OK);
}

/* `next` is at most this far ahead: a key is made one spread ahead of a clock that may be one spread
 * ahead of this one. */
static int64_t ahead_max(const mcds_ids *ids)
{
    return 2 * ids->spread_ms + 1;
}

/* Wait for the times of the ids of a key that has just been found or made. */
static void begin_life(struct ids_take *call)
{
    call->left_ms = ahead_max(call->ids) + WAIT_MS;
}

/* Others change the key: look again, until the deadline. */
static enum mcds__step ids_again(struct ids_take *call)
{
    call->stage = BEGIN;
    return mcds__operation_wait(&call->base, 0)
               ? MCDS__SLEEP
               : mcds__operation_fail_waiting(&call->base, call->has_vanished
                                                               ? MCDS__WHY(KEY_VANISHES)
                                                               : MCDS__WHY(OTHERS_CHANGE_IT));
}

/* Whatever became of the request, the key is read again. */
static enum mcds__step ids_retry(struct ids_take *call, const mcds_reply *reply)
{
    call->stage = BEGIN;
    return mcds__operation_retry(&call->base, reply);
}

static enum mcds__step ask_key(struct ids_take *call)
{
    mcds_bytes key = mcds__key_bytes(&call->ids->key);
    const struct mcds__ids_value mark = {.is_mark = true, .bits = call->ids->bits};
    call->stage = READING;
    call->has_added = call->is_missing;
    call->base.connection = 0;
    call->requests[GET] = (mcds_request){.command = MCDS_GET, .key = key};
    if (!call->has_added)
        return mcds__operation_ask_repeatable(&call->base, &call->requests[GET], 1);
    call->requests[ADD] = (mcds_request){
        .command = MCDS_ADD, .key = key, .value = mcds__ids_encode(&mark, key, call->value)};
    return mcds__operation_ask_repeatable(&call->base, call->requests, REQUESTS);
}

static enum mcds__step ids_write(struct ids_take *call, uint8_t stage, uint64_t next)
{
    mcds_bytes key = mcds__key_bytes(&call->ids->key);
    mcds_cas_token cas = call->requests[GET].reply.cas;
    const struct mcds__ids_value value = {.bits = call->ids->bits, .next = next};
    assert(stage == MAKING || next == call->end);
    call->stage = stage;
    call->asked_ns = mcds__monotonic_ns(call->base.env);
    call->requests[0] = (mcds_request){
        .command = MCDS_CAS,
        .key = key,
        .value = mcds__ids_encode(&value, key, call->value),
        .cas = cas,
    };
    call->base.connection = cas.connection;
    return mcds__operation_ask_repeatable(&call->base, call->requests, 1);
}

/* The ids are not usable before `time`. */
static enum mcds__step ids_wait(struct ids_take *call, int64_t wait_ms)
{
    assert(wait_ms > 0);
    if (wait_ms > call->left_ms)
        return mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(OTHERS_CHANGE_IT));
    call->left_ms -= wait_ms;
    call->stage = BEGIN;
    return mcds__operation_sleep(&call->base, wait_ms * NS_PER_MS);
}

/* The range of one take may begin in an earlier millisecond than `now`, so that it ends in it. */
static enum mcds__step ids_range(struct ids_take *call, uint64_t next, int64_t now)
{
    const mcds_ids *ids = call->ids;
    uint64_t end = mcds__ids_first_of(now + 1, ids->bits); /* of the ids that are not too new */
    uint64_t least = mcds__ids_first_of(now, ids->bits);
    if (end - least < call->n)
        least = end > call->n ? end - call->n : 0;
    int64_t ahead_ms = mcds__ids_time_of(next, ids->bits) - now;
    if (ahead_ms > ahead_max(ids))
        return mcds__operation_mistime(&call->base, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_IDS),
                                       ahead_ms, 2 * ids->spread_ms);
    call->first = next > least ? next : least;
    int64_t wait_ms = mcds__ids_time_of(call->first + call->n - 1, ids->bits) - now;
    if (wait_ms > 0)
        return ids_wait(call, wait_ms);
    uint64_t wanted = call->n > RANGE ? call->n : RANGE;
    call->end = end - call->first > wanted ? call->first + wanted : end;
    assert(call->end >= call->first + call->n && call->end <= UINT64_C(1) << ids->bits);
    return ids_write(call, TAKING, call->end);
}

static enum mcds__step ids_number(struct ids_take *call, const struct mcds__ids_value *value)
{
    const mcds_ids *ids = call->ids;
    int64_t now = mcds__wall_ms(call->base.env) - MCDS__IDS_EPOCH_MS;
    if (now < 0)
        return mcds__operation_explain(&call->base, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_2020));
    if (now >= MCDS__IDS_TIME_END)
        return mcds__operation_explain(&call->base, MCDS_TOO_FUTURE,
                                       MCDS__WHY(CLOCK_AFTER_2089));
    if (!value->is_mark)
        return ids_range(call, value->next, now);
    return ids_write(call, MAKING, mcds__ids_first_of(now + ids->spread_ms + 1, ids->bits));
}

static enum mcds__step fail_vanished(struct ids_take *call)
{
    return mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
}

/* The key is missing: the next read adds it first. */
static enum mcds__step ids_missing(struct ids_take *call)
{
    const mcds_reply *added = &call->requests[ADD].reply;
    call->is_missing = true;
    call->has_vanished = call->has_vanished || call->lives > 0 || call->has_added;
    if (!call->has_added)
        return ask_key(call);
    if (mcds__is_refusal(added))
        return mcds__operation_fail(&call->base, added);
    if (call->vanished++ == VANISHED_MAX)
        return fail_vanished(call);
    return ids_again(call);
}

static enum mcds__step ids_read(struct ids_take *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_request *get = &call->requests[GET];
    struct mcds__ids_value value;
    const mcds_reason *detail = NULL;
    assert(call->stage == READING);
    if (!mcds__store_can(operation->store).compare_and_set)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(IDS_WITHOUT_CAS));
    if (get->reply.outcome == MCDS_OUT_MISS)
        return ids_missing(call);
    if (get->reply.outcome != MCDS_OUT_OK)
        return ids_retry(call, &get->reply);
    call->is_missing = false;
    int result = mcds__ids_decode(mcds__operation_value(operation, get), get->key, &value,
                                  &detail);
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, detail);
    if (value.bits != call->ids->bits)
        return mcds__operation_differ(
            operation, MCDS__WHY(OPTION_DIFFERS),
            (struct mcds__difference){"bits", call->ids->bits, value.bits});
    return ids_number(call, &value);
}

/* Its first ids come after the spread. */
static enum mcds__step ids_made(struct ids_take *call)
{
    if (call->lives++ == LIVES_MAX)
        return fail_vanished(call);
    begin_life(call);
    return ids_wait(call, call->ids->spread_ms + 1);
}

/* The store grants the range, or the key is read again. */
static enum mcds__step ids_written(struct ids_take *call)
{
    const mcds_reply *reply = &call->requests[0].reply;
    bool is_grant = call->stage == TAKING;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        if (!is_grant)
            return ids_made(call);
        mcds__ids_keep(call->ids, call->first + call->n, call->end, call->asked_ns);
        return ids_finish(call, call->first);
    case MCDS_OUT_MISS:
        call->has_vanished = true;
        return ids_again(call);
    case MCDS_OUT_EXISTS:
        call->has_vanished = false;
        return ids_again(call);
    default:
        return ids_retry(call, reply);
    }
}

/* A call of another thread, or an earlier one of the pipeline, may have got a range meanwhile. */
static enum mcds__step ids_begin(struct ids_take *call)
{
    uint64_t first;
    assert(call->n >= 1 && call->n <= MCDS_IDS_TAKE_MAX);
    if (mcds__ids_use(call->ids, call->n, &first))
        return ids_finish(call, first);
    return ask_key(call);
}

static enum mcds__step step_ids_take(struct mcds__operation *operation)
{
    struct ids_take *call = (struct ids_take *)operation;
    switch (call->stage) {
    case BEGIN:
        return ids_begin(call);
    case READING:
        return ids_read(call);
    default:
        return ids_written(call);
    }
}

const struct mcds__operation_kind mcds__ids_next_kind = {"ids", "next", sizeof(struct ids_take),
                                                         step_ids_take, NULL};
const struct mcds__operation_kind mcds__ids_take_kind = {"ids", "take", sizeof(struct ids_take),
                                                         step_ids_take, NULL};

int mcds__ids_take(mcds_ids *ids, const struct mcds__operation_kind *kind, uint64_t n,
                   uint64_t *first_out, const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct ids_take own;
    struct ids_take *call = mcds__call_begin_zero(&own.base, kind, &ids->handle, start,
                                                  &result);
    if (call == NULL)
        return result;
    call->ids = ids;
    call->n = n;
    call->first_out = first_out;
    begin_life(call);
    return mcds__call_launch(&call->base, start);
}
