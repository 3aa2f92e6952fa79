/* An identity that is refused over and over: a refused take reads, in one round trip, and writes nothing;
 * and it is decided by what the store holds, so that whatever others change counts at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define COUNT 8
#define WINDOW_MS INT64_C(8000)
#define REFUSALS 300

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_limit *limit, *other;
    uint32_t writes;
};

static bool count_request(void *context, mcds_request *request)
{
    struct world *world = context;
    world->writes += request->command != MCDS_GET;
    return false;
}

static mcds_limit *open_limit(const struct world *world, mcds_limit_form form, uint64_t count)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.form = form;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){count, WINDOW_MS, 0};
    assert_int_equal(mcds_limit_open(world->store, "l", &options, &limit), MCDS_OK);
    return limit;
}

static void begin(struct world *world, mcds_limit_form form)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    *world = (struct world){.writes = 0};
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = count_request;
    world->backend.context = world;
    world->limit = open_limit(world, form, COUNT);
    world->other = open_limit(world, form, COUNT);
}

static void end(struct world *world)
{
    mcds_limit_close(world->limit);
    mcds_limit_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static int take(mcds_limit *limit, uint64_t n, mcds_limit_value *value)
{
    return mcds_limit_take(limit, mcds_text("a"), n, 0, value);
}

/* The handle has seen the identity refused. */
static void use_up(struct world *world)
{
    assert_int_equal(take(world->limit, COUNT, NULL), MCDS_OK);
    assert_int_equal(take(world->limit, 1, NULL), MCDS_BUSY);
    world->writes = 0;
}

static void refuse_many(mcds_limit_form form, bool wants_value)
{
    struct world world;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    begin(&world, form);
    use_up(&world);
    uint64_t batches = world.backend.batches;
    for (int i = 0; i < REFUSALS; i++) {
        assert_int_equal(take(world.limit, 1, wants_value ? &value : NULL), MCDS_BUSY);
        assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_LIMITED);
    }
    assert_int_equal(world.writes, 0);
    /* Of a bucket, also a read of the root, which a server gets with the first. */
    assert_in_range(world.backend.batches - batches, REFUSALS, 2 * REFUSALS);
    assert_int_equal(take(world.limit, 1, &value), MCDS_BUSY);
    fake_env_advance_ms(&world.fake, (int64_t)value.retry_ms - 1);
    assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
    fake_env_advance_ms(&world.fake, 1);
    assert_int_equal(take(world.limit, 1, &value), MCDS_OK);
    end(&world);
}

static void refusals_write_nothing(void **state)
{
    (void)state;
    refuse_many(MCDS_LIMIT_BUCKET, false);
    refuse_many(MCDS_LIMIT_BUCKET, true);
    refuse_many(MCDS_LIMIT_WINDOW, false);
    refuse_many(MCDS_LIMIT_WINDOW, true);
}

/* After the time, a handle writes at once, without a read before. */
static void a_take_after_the_time_costs_one(void **state)
{
    (void)state;
    struct world world;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    begin(&world, MCDS_LIMIT_BUCKET);
    use_up(&world);
    assert_int_equal(take(world.limit, 1, &value), MCDS_BUSY);
    fake_env_advance_ms(&world.fake, (int64_t)value.retry_ms);
    uint64_t batches = world.backend.batches;
    assert_int_equal(take(world.limit, 1, NULL), MCDS_OK);
    assert_int_equal(world.backend.batches - batches, 2); /* with a read of the root */
    end(&world);
}

/* No refusal comes from memory: what was given back, raised or dropped counts at once. */
static void what_others_change_counts_at_once(void **state)
{
    (void)state;
    struct world world;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    begin(&world, MCDS_LIMIT_BUCKET);
    use_up(&world);
    assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
    assert_int_equal(mcds_limit_give(world.other, mcds_text("a"), 3), MCDS_OK);
    assert_int_equal(take(world.limit, 4, &value), MCDS_BUSY);
    assert_int_equal(value.remaining, 3);
    assert_int_equal(take(world.other, 1, NULL), MCDS_OK);
    assert_int_equal(take(world.limit, 4, &value), MCDS_BUSY);
    assert_int_equal(value.remaining, 2);
    assert_int_equal(take(world.limit, 2, NULL), MCDS_OK);
    assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
    mcds_limit *raised = open_limit(&world, MCDS_LIMIT_BUCKET, COUNT * 10);
    assert_int_equal(take(raised, COUNT, NULL), MCDS_OK);
    mcds_limit_close(raised);
    assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
    assert_int_equal(mcds_limit_drop(world.other), MCDS_OK);
    assert_int_equal(take(world.limit, COUNT, NULL), MCDS_OK);
    end(&world);
}

/* Of two identities in one handle, each is refused for itself. */
static void others_are_not_refused(void **state)
{
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        struct world world;
        begin(&world, form);
        use_up(&world);
        assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
        assert_int_equal(mcds_limit_take(world.limit, mcds_text("b"), COUNT, 0, NULL), MCDS_OK);
        assert_int_equal(mcds_limit_take(world.limit, mcds_text("b"), 1, 0, NULL), MCDS_BUSY);
        end(&world);
    }
}

/* A refused identity whose clock is far before the time of its bucket is reported, as by a take that writes. */
static void a_slow_clock_is_reported(void **state)
{
    (void)state;
    struct world world;
    begin(&world, MCDS_LIMIT_BUCKET);
    use_up(&world);
    world.fake.wall_ns -= 6 * INT64_C(1000000000);
    assert_int_equal(take(world.limit, 1, NULL), MCDS_TOO_OLD);
    assert_int_equal(world.writes, 0);
    end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(refusals_write_nothing),
    cmocka_unit_test(a_take_after_the_time_costs_one),
    cmocka_unit_test(what_others_change_counts_at_once),
    cmocka_unit_test(others_are_not_refused),
    cmocka_unit_test(a_slow_clock_is_reported),
};

int main(void)
{
    return cmocka_run_group_tests_name("limit_refused", tests, NULL, NULL);
}
