/* Counter: add to one stripe. */
#include <assert.h>
#include <pthread.h>

#include "base/error.h"
#include "structures/counter/counter.h"

/* One stripe per thread; every handle spreads its threads differently. */
static uint32_t choose_stripe(const mcds_counter *counter)
{
    if (counter->stripes == 1)
        return 0;
    uint64_t mixed = ((uint64_t)(uintptr_t)pthread_self() ^ counter->seed) *
                     UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)((mixed >> 32) % counter->stripes);
}

struct counter_add {
    struct mcds__operation base;
    mcds_counter *counter;
    int64_t delta;
    int64_t *value_out;
    uint32_t stripe;
    enum mcds__counter_form form; /* that the handle knew when it began */
    uint8_t stage;
    uint8_t read_stage;
    struct mcds__settings_check check;
    struct mcds__tally_hit hit;
};

enum { ADD_BEGIN, ADD_LEARNING, ADD_COUNTING, ADD_TAKING_BACK };

struct sum {
    enum mcds__counter_form form; /* that the handle has known */
    uint64_t number;              /* after */
    uint64_t delta;
    bool down;
};

/* Additions in flight may have moved a number out of the range of its form into the range of the
 * other form, before they are taken back. So a number near the common bound does not show that
 * the counter was lost and made again in the other form. */
static bool is_beyond(const mcds_counter *counter, const struct sum *sum,
                      enum mcds__counter_form form, int64_t value)
{
    if (sum->down)
        return form == FORM_PLAIN && value > MCDS_COUNTER_MAX / 2;
    return form == FORM_SIGNED && value < -MCDS_COUNTER_MAX / 2 &&
           (sum->form == FORM_PLAIN || !mcds__counter_is_signed(counter));
}

/* The result of an addition: MCDS_OK, MCDS_OVERFLOW or MCDS_LOST. The ranges of the two forms
 * are adjacent, so the number after the addition does not by itself show that it has left its
 * range. */
static int judge_sum(mcds_counter *counter, struct sum sum, int64_t *value_out,
                     const mcds_reason **detail_out)
{
    int64_t value;
    int64_t value_before;
    enum mcds__counter_form form;
    enum mcds__counter_form form_before;
    uint64_t before = sum.down ? sum.number + sum.delta : sum.number - sum.delta;
    *detail_out = NULL;
    if (!mcds__counter_decode(sum.number, &value, &form) ||
        !mcds__counter_decode(before, &value_before, &form_before) || form_before != form ||
        is_beyond(counter, &sum, form, value))
        return MCDS_OVERFLOW;
    /* Write only a change: among many handles, this one is no longer in the CPU cache. */
    if (form != sum.form)
        mcds__counter_note_form(counter, form);
    if (sum.down && form == FORM_PLAIN) {
        *detail_out = MCDS__WHY(LOST_SIGN);
        return MCDS_LOST;
    }
    if (value_out != NULL)
        *value_out = value;
    return MCDS_OK;
}

/* The number has left its range: a reader would take it for one of the other form. */
static enum mcds__step step_take_back(struct counter_add *add)
{
    assert(add->stage == ADD_TAKING_BACK && add->hit.must_exist);
    struct mcds__operation *operation = &add->base;
    enum mcds__step step = mcds__tally_hit_step(&add->hit, operation);
    if (step != MCDS__DONE)
        return step;
    /* LOST: the number is gone, and what was added with it. */
    if (operation->result == MCDS_OK || operation->result == MCDS_LOST)
        return mcds__operation_finish(operation, MCDS_OVERFLOW);
    return mcds__operation_explain(operation, MCDS_AMBIGUOUS, MCDS__WHY(RANGE_IN_DOUBT));
}

static void begin_take_back(struct counter_add *add)
{
    assert(add->stage != ADD_TAKING_BACK);
    struct mcds__tally_hit *hit = &add->hit;
    add->stage = ADD_TAKING_BACK;
    hit->down = !hit->down;
    hit->want_incarnation = false;
    hit->must_exist = true;
    hit->stage = 0;
}

/* The result of an addition to a strict counter. Only the incarnation that was read after it shows
 * which counter it reached: the one that this handle has seen, or one made since. */
static enum mcds__step judge_life(struct counter_add *add, bool reborn)
{
    assert(mcds__counter_is_strict(add->counter));
    struct mcds__operation *operation = &add->base;
    const mcds_reply *look = mcds__tally_read_of(&add->hit);
    if (look->outcome == MCDS_OUT_OK && !reborn)
        return MCDS__DONE;
    if (look->outcome == MCDS_OUT_OK || look->outcome == MCDS_OUT_MISS)
        return mcds__operation_explain(operation, MCDS_LOST,
                                       reborn ? MCDS__WHY(COUNTER_MADE_AGAIN)
                                              : MCDS__WHY(LOST_AFTER_ADD));
    operation->peer = look->peer;
    return mcds__operation_explain(operation, MCDS_AMBIGUOUS, MCDS__WHY(MADE_AGAIN_IN_DOUBT));
}

static enum mcds__step end_add(struct counter_add *add)
{
    assert(add->stage == ADD_COUNTING);
    mcds_counter *counter = add->counter;
    struct mcds__operation *operation = &add->base;
    const struct mcds__tally_hit *hit = &add->hit;
    const mcds_reason *detail;
    int64_t value;
    if (operation->result != MCDS_OK)
        return mcds__counter_refuse(operation, operation->result);
    int result = judge_sum(counter, (struct sum){add->form, hit->number, hit->delta, hit->down},
                           &value, &detail);
    if (result == MCDS_OVERFLOW) {
        begin_take_back(add);
        return step_take_back(add);
    }
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, detail);
    bool reborn = mcds__tally_remember(&counter->incarnations[add->stripe], 0,
                                       hit->incarnation);
    enum mcds__step step = mcds__counter_is_strict(counter) ? judge_life(add, reborn)
                                                            : MCDS__DONE;
    if (operation->result == MCDS_OK && add->value_out != NULL)
        *add->value_out = value;
    return step;
}

static enum mcds__step counter_add_step_count(struct counter_add *add)
{
    enum mcds__step step = mcds__tally_hit_step(&add->hit, &add->base);
    return step == MCDS__DONE ? end_add(add) : step;
}

static enum mcds__step counter_add_begin_count(struct counter_add *add)
{
    add->stage = ADD_COUNTING;
    enum mcds__step step = mcds__tally_hit_step(&add->hit, &add->base);
    assert(step == MCDS__ASK);
    return step;
}

/* Before the first subtraction the handle must know that the counter is not a plain one, which
 * would stop at zero. */
static enum mcds__step step_learn(struct counter_add *add)
{
    assert(add->stage == ADD_LEARNING && add->delta < 0);
    struct mcds__operation *operation = &add->base;
    mcds_request *request = &add->hit.requests[0];
    enum mcds__step step = mcds__tally_read_step(request, &add->counter->keys[add->stripe], 1,
                                                 NULL, 0, &add->read_stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    uint64_t stored;
    int64_t value;
    enum mcds__counter_form form = FORM_SIGNED;
    if (request->reply.outcome == MCDS_OUT_OK) {
        if (!mcds__tally_parse(mcds__operation_value(operation, request), &stored))
            return mcds__counter_refuse(operation, MCDS_CORRUPT);
        if (!mcds__counter_decode(stored, &value, &form))
            return mcds__operation_finish(operation, MCDS_OVERFLOW);
    }
    if (form == FORM_PLAIN)
        return mcds__operation_explain(operation, MCDS_INVALID, MCDS__WHY(MADE_UNSIGNED));
    return counter_add_begin_count(add);
}

static enum mcds__step step_add(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct counter_add *add = (struct counter_add *)operation;
    if (add->stage == ADD_COUNTING)
        return counter_add_step_count(add);
    if (!mcds__settings_check_step(&add->check, operation, &step))
        return step;
    assert(add->stage <= ADD_TAKING_BACK);
    switch (add->stage) {
    case ADD_BEGIN:
        if (add->delta < 0 && mcds__counter_form(add->counter) != FORM_SIGNED) {
            add->stage = ADD_LEARNING;
            return step_learn(add);
        }
        return counter_add_begin_count(add);
    case ADD_LEARNING:
        return step_learn(add);
    default:
        return step_take_back(add);
    }
}

static const struct mcds__operation_kind add_kind = {
    "counter", "add", sizeof(struct counter_add), step_add, NULL};

static int check_add(const mcds_counter *counter, int64_t delta, const int64_t *value_out)
{
    if (counter == NULL)
        return mcds__fail_missing("counter", "add", "a counter");
    if (delta >= MCDS_COUNTER_MAX || delta <= -MCDS_COUNTER_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE,
                          MCDS__CALL(&add_kind, counter->handle.name), .option = "delta",
                          .wanted_min = -MCDS_COUNTER_MAX + 1,
                          .wanted_max = MCDS_COUNTER_MAX - 1, .found_number = delta);
    if (delta < 0 && counter->replica == NULL && !mcds__counter_is_signed(counter))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(UNSIGNED),
                              MCDS__CALL(&add_kind, counter->handle.name));
    if (value_out != NULL && (counter->stripes > 1 || counter->replica != NULL))
        return mcds__fail_why(MCDS_INVALID,
                              counter->replica != NULL ? MCDS__WHY(VALUE_OF_EXACT)
                                                       : MCDS__WHY(VALUE_OF_STRIPED),
                              MCDS__CALL(&add_kind, counter->handle.name));
    return MCDS_OK;
}

static void prepare_add(struct counter_add *add, mcds_counter *counter, uint32_t stripe,
                        int64_t delta, int64_t *value_out)
{
    assert(stripe < counter->stripes);
    assert(delta < MCDS_COUNTER_MAX && delta > -MCDS_COUNTER_MAX);
    /* Without stripes there are no settings: do not read them. */
    add->check.is_done = counter->stripes == 1;
    if (!add->check.is_done)
        mcds__settings_check_begin(&add->check, &counter->settings, true, &add->base);
    add->counter = counter;
    add->delta = delta;
    add->value_out = value_out;
    add->stripe = stripe;
    add->form = mcds__counter_form(counter);
    add->stage = ADD_BEGIN;
    add->read_stage = 0;
    struct mcds__tally_hit *hit = &add->hit;
    mcds__tally_hit_init(hit, mcds__key_bytes(&counter->keys[stripe]),
                         delta < 0 ? (uint64_t)-delta : (uint64_t)delta, counter->ttl_ms);
    hit->density = &counter->density;
    hit->down = delta < 0;
    hit->want_incarnation = mcds__counter_is_strict(counter);
    hit->must_exist = mcds__counter_is_strict(counter) &&
                      mcds__tally_was_seen(&counter->incarnations[add->stripe], 0);
    hit->initial = mcds__counter_is_signed(counter) ? MCDS__COUNTER_BIAS : 0;
}

/* An addition to a cell that has left the range. */
static int take_back_here(mcds_counter *counter, uint32_t stripe, int64_t delta)
{
    struct counter_add add;
    int result;
    (void)mcds__call_begin(&add.base, &add_kind, &counter->handle, NULL, &result);
    prepare_add(&add, counter, stripe, delta, NULL);
    add.check.is_done = true;
    begin_take_back(&add);
    return mcds__call_launch(&add.base, NULL);
}

/* Adds without an operation: a waiting call on a store in this process, to a counter that exists.
 * Returns false if nothing was done. */
static bool add_here(mcds_counter *counter, int64_t delta, int64_t *value_out, int *result)
{
    const mcds_reason *detail;
    struct sum sum = {.form = mcds__counter_form(counter), .down = delta < 0};
    sum.delta = sum.down ? (uint64_t)-delta : (uint64_t)delta;
    uint32_t stripe = choose_stripe(counter);
    if (mcds__counter_is_strict(counter) || (sum.down && sum.form != FORM_SIGNED) ||
        !mcds__counter_cell_add(counter, stripe, sum.delta, sum.down, &sum.number))
        return false;
    *result = judge_sum(counter, sum, value_out, &detail);
    if (*result == MCDS_OK)
        return true;
    mcds__counter_cell_check(counter, stripe);
    if (*result == MCDS_OVERFLOW) {
        *result = take_back_here(counter, stripe, delta);
        return true;
    }
    mcds__describe_failure(&add_kind, counter->handle.name, *result,
                           (struct mcds__where){NULL, NULL}, detail, NULL);
    return true;
}

static int counter_add_launch(mcds_counter *counter, int64_t delta, int64_t *value_out,
                              const struct mcds__start *start)
{
    int result = check_add(counter, delta, value_out);
    if (result == MCDS_OK && counter->replica != NULL) /* it adds up in memory */
        result = mcds__store_check_process(counter->handle.store);
    if (result != MCDS_OK)
        return result;
    if (counter->replica != NULL)
        return mcds__exact_add(counter, delta, start);
    if (start == NULL && add_here(counter, delta, value_out, &result))
        return result;
    struct counter_add own;
    struct counter_add *add = mcds__call_begin(&own.base, &add_kind, &counter->handle, start,
                                               &result);
    if (add == NULL)
        return result;
    prepare_add(add, counter, choose_stripe(counter), delta, value_out);
    return mcds__call_launch(&add->base, start);
}

int mcds_counter_add(mcds_counter *counter, int64_t delta, int64_t *value_out)
{
    return counter_add_launch(counter, delta, value_out, NULL);
}

int mcds_counter_add_start(mcds_counter *counter, int64_t delta, int64_t *value_out,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return counter_add_launch(counter, delta, value_out, MCDS__START(pipeline, tag));
}
