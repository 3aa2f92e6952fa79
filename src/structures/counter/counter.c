/* Counter: a number that many handles add to, on one key or on several stripes (core/tally).
 *
 * A plain counter is stored as it is, 0 to 2^61. A signed one is stored with 2^62 added, so
 * that adds of either sign commute and nothing stops at zero. The two ranges do not touch, so a
 * handle of either form can read a counter that the other has made. Both stay below 2^63: from
 * there on memcached before 1.6.22 sometimes refuses a number as not numeric. */
#include "structures/counter/counter.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/number.h"

#define TTL_MS_MAX (UINT64_C(366) * 24 * 3600 * 1000)
#define FLUSH_MS_MAX 3600000
#define FLUSH_MS_DEFAULT 100
#define FLAGS ((uint32_t)(MCDS_COUNTER_SIGNED | MCDS_COUNTER_STRICT | MCDS_COUNTER_EXACT))

_Static_assert(MCDS__COUNTER_BIAS + 2 * (uint64_t)MCDS_COUNTER_MAX - 1 <= INT64_MAX,
               "an add that leaves the range must still be a number to every memcached");

static uint32_t key_count(const mcds_counter *counter)
{
    return counter->stripes > 1 ? counter->stripes + 1 : 1;
}

void mcds__counter_note_form(mcds_counter *counter, enum mcds__counter_form form)
{
    /* Write only a change, so that threads do not contend for the cache line. */
    if (mcds__counter_form(counter) != form)
        atomic_store_explicit(&counter->form, form, memory_order_relaxed);
}

uint32_t mcds__counter_seen(mcds_counter *counter)
{
    assert(counter->stripes <= MCDS__STRIPES_MAX);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < counter->stripes; i++)
        if (mcds__tally_was_seen(&counter->incarnations[i], 0))
            seen |= UINT32_C(1) << i;
    return seen;
}

/* A number that exists. */
static int judge_stored(mcds_counter *counter, uint64_t stored, uint32_t incarnation,
                        uint32_t i, struct mcds__stripe *stripe_out)
{
    assert(i < counter->stripes);
    if (!mcds__counter_decode(stored, &stripe_out->value, &stripe_out->form))
        return MCDS_OVERFLOW;
    assert(stripe_out->value < MCDS_COUNTER_MAX && stripe_out->value > -MCDS_COUNTER_MAX);
    mcds__counter_note_form(counter, stripe_out->form);
    stripe_out->there = true;
    stripe_out->reborn = mcds__tally_remember(&counter->incarnations[i], 0, incarnation);
    return MCDS_OK;
}

static int read_stripe(mcds_counter *counter, mcds_bytes stored_text, uint32_t incarnation,
                       uint32_t i, struct mcds__stripe *stripe_out)
{
    uint64_t stored;
    if (!mcds__tally_parse(stored_text, &stored))
        return MCDS_CORRUPT;
    return judge_stored(counter, stored, incarnation, i, stripe_out);
}

int mcds__counter_stripe(mcds_counter *counter, struct mcds__operation *operation,
                         const mcds_request *request, uint32_t i, uint32_t seen,
                         struct mcds__stripe *stripe_out)
{
    assert(i < counter->stripes);
    *stripe_out = (struct mcds__stripe){false, (seen >> i & 1) != 0, FORM_UNKNOWN, 0};
    if (request->reply.outcome != MCDS_OUT_OK)
        return MCDS_OK;
    return read_stripe(counter, mcds__operation_value(operation, request), request->reply.flags,
                       i, stripe_out);
}

enum mcds__step mcds__counter_refuse(struct mcds__operation *operation, int result)
{
    if (result == MCDS_CORRUPT)
        operation->detail = MCDS__WHY(COUNTER_NOT_A_NUMBER);
    return mcds__operation_finish(operation, result);
}

struct counter_get {
    struct mcds__operation base;
    mcds_counter *counter;
    mcds_counter_value *value_out;
    uint32_t seen;
    uint8_t stage;
    struct mcds__settings_check check;
    mcds_request requests[MCDS__STRIPES_MAX];
};

/* The shorter of two times until a key expires. */
static int64_t shorter_ttl(int64_t one, int64_t other)
{
    if (one == MCDS_TTL_NEVER || other == MCDS_TTL_UNKNOWN)
        return other;
    return other == MCDS_TTL_NEVER || one <= other ? one : other;
}

static enum mcds__step sum_stripes(struct counter_get *get)
{
    struct mcds__operation *operation = &get->base;
    mcds_counter_value sum = {.since_s = UINT32_MAX, .ttl_ms = MCDS_TTL_NEVER};
    bool there = false;
    for (uint32_t i = 0; i < get->counter->stripes; i++) {
        struct mcds__stripe stripe;
        int result = mcds__counter_stripe(get->counter, operation, &get->requests[i], i,
                                          get->seen, &stripe);
        if (result != MCDS_OK)
            return mcds__counter_refuse(operation, result);
        sum.value += stripe.value; /* both below 2^61 */
        if (sum.value >= MCDS_COUNTER_MAX || sum.value <= -MCDS_COUNTER_MAX)
            return mcds__operation_finish(operation, MCDS_OVERFLOW);
        sum.reborn = sum.reborn || stripe.reborn;
        if (!stripe.there)
            continue;
        there = true;
        const mcds_reply *reply = &get->requests[i].reply;
        sum.ttl_ms = shorter_ttl(sum.ttl_ms, reply->ttl_ms);
        if (reply->flags < sum.since_s)
            sum.since_s = reply->flags;
    }
    if (sum.reborn && (!there || mcds__counter_is_strict(get->counter)))
        return mcds__operation_explain(operation, MCDS_LOST,
                                       there ? MCDS__WHY(COUNTER_MADE_AGAIN)
                                             : MCDS__WHY(COUNTER_GONE));
    if (!there)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    mcds__sized_write(MCDS__SIZED_mcds_counter_value, get->value_out, &sum);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step counter_step_get(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct counter_get *get = (struct counter_get *)operation;
    if (!mcds__settings_check_step(&get->check, operation, &step))
        return step;
    step = mcds__tally_read_step(get->requests, get->counter->keys, get->counter->stripes, NULL,
                                 MCDS_WANT_TTL, &get->stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return sum_stripes(get);
}

static const struct mcds__operation_kind get_kind = {
    "counter", "get", sizeof(struct counter_get), counter_step_get, NULL};

struct sight {
    bool there;
    uint64_t stored;
    uint32_t incarnation;
    int64_t ttl_ms;
};

static void counter_take_number(void *context, const mcds_reply *reply, mcds_bytes value)
{
    struct sight *sight = context;
    sight->there = reply->outcome == MCDS_OUT_OK && mcds__tally_parse(value, &sight->stored);
    sight->incarnation = reply->flags;
    sight->ttl_ms = reply->ttl_ms;
}

/* Reads the number in place, in a cell or as text. */
static bool see_number(mcds_counter *counter, struct sight *sight)
{
    *sight = (struct sight){.ttl_ms = MCDS_TTL_NEVER}; /* a counter that expires has no cell */
    if (counter->stripes > 1)
        return false;
    if (mcds__counter_cell_read(counter, &sight->stored, &sight->incarnation))
        return true;
    mcds_bytes key = mcds__key_bytes(&counter->keys[0]);
    return mcds__store_peek(counter->handle.store, key, counter_take_number, sight) &&
           sight->there;
}

/* Reads without an operation: a waiting call on a store in this process. False: it cannot. */
static bool get_here(mcds_counter *counter, mcds_counter_value *value_out)
{
    struct sight sight;
    struct mcds__stripe stripe;
    if (!see_number(counter, &sight) ||
        judge_stored(counter, sight.stored, sight.incarnation, 0, &stripe) != MCDS_OK ||
        (stripe.reborn && mcds__counter_is_strict(counter)))
        return false;
    mcds_counter_value value = {.value = stripe.value,
                                .since_s = sight.incarnation,
                                .reborn = stripe.reborn,
                                .ttl_ms = sight.ttl_ms};
    mcds__sized_write(MCDS__SIZED_mcds_counter_value, value_out, &value);
    return true;
}

static int counter_launch_get(mcds_counter *counter, mcds_counter_value *value_out,
                              const struct mcds__start *start)
{
    int result = mcds__counter_check(counter, value_out, "get");
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_counter_value, value_out);
    if (result != MCDS_OK)
        return result;
    if (counter->replica != NULL)
        return mcds__exact_get(counter, value_out, start);
    if (start == NULL && get_here(counter, value_out))
        return MCDS_OK;
    struct counter_get own;
    struct counter_get *get = mcds__call_begin(&own.base, &get_kind, &counter->handle, start,
                                               &result);
    if (get == NULL)
        return result;
    mcds__settings_check_begin(&get->check, &counter->settings, false, &get->base);
    get->counter = counter;
    get->value_out = value_out;
    get->seen = mcds__counter_seen(counter);
    get->stage = 0;
    return mcds__call_launch(&get->base, start);
}

int mcds_counter_get(mcds_counter *counter, mcds_counter_value *value_out)
{
    return counter_launch_get(counter, value_out, NULL);
}

int mcds_counter_get_start(mcds_counter *counter, mcds_counter_value *value_out,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return counter_launch_get(counter, value_out, MCDS__START(pipeline, tag));
}

struct counter_drop {
    struct mcds__operation base;
    mcds_counter *counter;
    bool is_checked; /* of one stripe: the key holds no root of another form */
    uint8_t check_stage;
    uint8_t stage;
    struct mcds__settings_check check;
    mcds_request requests[MCDS__STRIPES_MAX + 1];
};

/* Whether the record is whole: anything else under the key may be erased. */
static bool is_root(mcds_bytes value, uint32_t flags, mcds_bytes key)
{
    struct mcds__descriptor descriptor;
    const mcds_reason *detail;
    int result = mcds__descriptor_open(&descriptor, value, flags, key, MCDS__KIND_COUNTER,
                                       &detail);
    return result != MCDS_CORRUPT || mcds__replica_is_head(value, key);
}

/* Erasing the root of an exact or a striped counter would leave its numbers. True: the counter may
 * be erased. Otherwise *step_out is what the step of the operation returns. */
static bool check_form(struct counter_drop *drop, enum mcds__step *step_out)
{
    struct mcds__operation *operation = &drop->base;
    mcds_counter *counter = drop->counter;
    if (drop->is_checked || counter->stripes > 1)
        return true;
    *step_out = mcds__tally_read_step(drop->requests, counter->keys, 1, NULL, 0,
                                      &drop->check_stage, operation);
    if (*step_out != MCDS__DONE || operation->result != MCDS_OK)
        return false;
    mcds_bytes value = mcds__operation_value(operation, &drop->requests[0]);
    if (drop->requests[0].reply.outcome == MCDS_OUT_OK &&
        is_root(value, drop->requests[0].reply.flags, drop->requests[0].key)) {
        *step_out = mcds__operation_explain(operation, MCDS_CORRUPT,
                                            MCDS__WHY(COUNTER_DIFFERS));
        return false;
    }
    drop->is_checked = true;
    operation->tries = 1;
    return true;
}

static enum mcds__step counter_step_drop(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct counter_drop *drop = (struct counter_drop *)operation;
    mcds_counter *counter = drop->counter;
    if (!mcds__settings_check_step(&drop->check, operation, &step) || !check_form(drop, &step))
        return step;
    step = mcds__tally_drop_step(drop->requests, counter->keys, key_count(counter), NULL,
                                 &drop->stage, operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    for (uint32_t i = 0; i < counter->stripes; i++)
        mcds__tally_forget(&counter->incarnations[i]);
    mcds__counter_note_form(counter, FORM_UNKNOWN);
    mcds__settings_forget(&counter->settings);
    return step;
}

static const struct mcds__operation_kind drop_kind = {
    "counter", "drop", sizeof(struct counter_drop), counter_step_drop, NULL};

int mcds_counter_drop_start(mcds_counter *counter, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (counter == NULL)
        return mcds__fail_missing("counter", "drop", "a counter");
    int result;
    if (counter->replica != NULL)
        return mcds__exact_drop(counter, start);
    struct counter_drop own;
    struct counter_drop *drop = mcds__call_begin_zero(&own.base, &drop_kind, &counter->handle,
                                                      start, &result);
    if (drop == NULL)
        return result;
    mcds__settings_check_begin(&drop->check, &counter->settings, false, &drop->base);
    drop->counter = counter;
    return mcds__call_launch(&drop->base, start);
}

int mcds_counter_drop(mcds_counter *counter)
{
    return mcds_counter_drop_start(counter, MCDS__WAIT, 0);
}

static bool is_exact(const mcds_counter_options *options)
{
    return (options->flags & MCDS_COUNTER_EXACT) != 0 || options->copies > 1;
}

static uint32_t pause_of(uint32_t flush_ms)
{
    if (flush_ms == MCDS_COUNTER_FLUSH_EACH)
        return 0;
    return flush_ms > 0 ? flush_ms : FLUSH_MS_DEFAULT;
}

static int fail_flush_ms(const char *name, uint32_t flush_ms)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "0 to %d or MCDS_COUNTER_FLUSH_EACH", FLUSH_MS_MAX);
    return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "counter", .name = name,
                      .option = "flush_ms", .wanted = wanted, .wanted_max = FLUSH_MS_MAX,
                      MCDS__FOUND(flush_ms));
}

static int check_counter_options(const char *name, const mcds_counter_options *options)
{
    const uint32_t flush_ms = options->flush_ms;
    const struct mcds__given list[] = {
        {MCDS_CAUSE_UNKNOWN_VALUE, "flags", options->flags, 0, FLAGS},
        {MCDS_CAUSE_OUT_OF_RANGE, "stripes", options->stripes, 0, MCDS__STRIPES_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "copies", options->copies, 0, MCDS__REPLICA_COPIES_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "ttl_ms", options->ttl_ms, 0, TTL_MS_MAX},
    };
    if (flush_ms > FLUSH_MS_MAX && flush_ms != MCDS_COUNTER_FLUSH_EACH)
        return fail_flush_ms(name, flush_ms);
    int result = mcds__check_given("counter", name, NULL, list, sizeof list / sizeof list[0]);
    if (result == MCDS_OK && is_exact(options) && (options->stripes > 1 || options->ttl_ms > 0))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(EXACT_ALONE), .noun = "counter",
                              .name = name);
    return result;
}

static void counter_make_keys(mcds_counter *counter)
{
    assert(counter->stripes <= MCDS__STRIPES_MAX);
    struct mcds__key head;
    const struct mcds__setting setting = {.name = "stripes", .number = counter->stripes};
    mcds__key_begin(&head, mcds__store_ns(counter->handle.store), MCDS__TAG_COUNTER,
                    counter->handle.name);
    for (uint32_t i = 0; i < key_count(counter); i++)
        counter->keys[i] = head;
    if (counter->stripes > 1)
        for (uint32_t i = 0; i < counter->stripes; i++)
            mcds__key_add_number(&counter->keys[i], i);
    mcds__settings_init(&counter->settings, mcds__store_env(counter->handle.store),
                        MCDS__KIND_COUNTER, false, &head, &setting, counter->stripes > 1,
                        counter->ttl_ms);
    counter->settings.foreign = MCDS__WHY(NO_STRIPES);
}

static void destroy_counter(struct mcds__handle *handle)
{
    mcds_counter *counter = (mcds_counter *)handle;
    mcds__exact_destroy(counter);
    mcds__counter_release_cells(counter);
}

int mcds_counter_open(mcds_store *store, const char *name, const mcds_counter_options *options,
                      mcds_counter **counter_out)
{
    mcds_counter_options own;
    int result = mcds__read_options("counter", store, name, counter_out,
                                    MCDS__SIZED_mcds_counter_options, options, &own);
    if (result == MCDS_OK)
        result = check_counter_options(name, &own);
    if (result != MCDS_OK)
        return result;
    uint32_t stripes = own.stripes > 0 ? own.stripes : 1;
    mcds_counter *counter = mcds__handle_open(
        "counter", store, name, sizeof *counter + (stripes + 1) * sizeof counter->keys[0],
        destroy_counter);
    if (counter == NULL)
        return MCDS_NO_MEMORY;
    counter->flags = own.flags;
    counter->stripes = stripes;
    counter->ttl_ms = own.ttl_ms;
    counter->seed = mcds__random_u64(mcds__store_env(store));
    counter_make_keys(counter);
    counter->flush_ms = pause_of(own.flush_ms);
    if (is_exact(&own))
        result = mcds__exact_open(counter, own.copies > 0 ? own.copies : 1);
    if (result != MCDS_OK)
        mcds_counter_close(counter);
    else
        *counter_out = counter;
    return result;
}

void mcds_counter_close(mcds_counter *counter)
{
    if (counter != NULL)
        mcds__exact_close(counter);
    mcds__handle_release((struct mcds__handle *)counter);
}
