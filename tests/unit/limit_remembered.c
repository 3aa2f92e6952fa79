/* remember_ms of a limit: the same take is refused again without a round trip, no longer than that, and not
 * another take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash/siphash.h"
#include "mcds.h"
#include "structures/limit/remembered.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define COUNT 8
#define WINDOW_MS INT64_C(8000)
#define REMEMBER_MS 300

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_limit *limit, *other;
    mcds_limit_value value;
};

static mcds_limit *open_limit(const struct world *world, mcds_limit_form form,
                              uint64_t remember_ms)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.form = form;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){COUNT, WINDOW_MS, 0};
    options.remember_ms = remember_ms;
    assert_int_equal(mcds_limit_open(world->store, "l", &options, &limit), MCDS_OK);
    return limit;
}

static int take(struct world *world, const char *identity, uint64_t n)
{
    world->value = (mcds_limit_value)MCDS_LIMIT_VALUE_INIT;
    return mcds_limit_take(world->limit, mcds_text(identity), n, 0, &world->value);
}

/* The handle has just seen that "a" is refused. */
static void begin(struct world *world, mcds_limit_form form, uint64_t remember_ms)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    *world = (struct world){.limit = NULL};
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->limit = open_limit(world, form, remember_ms);
    world->other = open_limit(world, form, 0);
    assert_int_equal(take(world, "a", COUNT), MCDS_OK);
    assert_int_equal(take(world, "a", 1), MCDS_BUSY);
}

static void end(struct world *world)
{
    mcds_limit_close(world->limit);
    mcds_limit_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* The round trips of a take of "a" that is refused. */
static uint64_t trips_of_refusal(struct world *world, uint64_t n)
{
    uint64_t before = world->backend.batches;
    assert_int_equal(take(world, "a", n), MCDS_BUSY);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_LIMITED);
    return world->backend.batches - before;
}

static void a_refusal_costs_no_round_trip(void **state)
{
    struct world world;
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        begin(&world, form, REMEMBER_MS);
        uint64_t retry_ms = world.value.retry_ms;
        uint64_t full_ms = world.value.full_ms;
        assert_true(retry_ms > REMEMBER_MS && full_ms > REMEMBER_MS);
        for (uint64_t ms = 0; ms < REMEMBER_MS; ms++) {
            assert_int_equal(trips_of_refusal(&world, 1), 0);
            assert_int_equal(world.value.retry_ms, retry_ms - ms);
            assert_int_equal(world.value.full_ms, full_ms - ms);
            assert_int_equal(world.value.remaining, 0);
            fake_env_advance_ms(&world.fake, 1);
        }
        assert_true(trips_of_refusal(&world, 1) > 0);
        assert_int_equal(trips_of_refusal(&world, 1), 0);
        assert_int_equal(mcds_limit_take(world.limit, mcds_text("a"), 1, 0, NULL), MCDS_BUSY);
        end(&world);
    }
}

/* With the longest time, the refusal ends at the time to retry. */
static void the_take_passes_at_its_time(void **state)
{
    struct world world;
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        begin(&world, form, 60000);
        fake_env_advance_ms(&world.fake, (int64_t)world.value.retry_ms - 1);
        assert_int_equal(trips_of_refusal(&world, 1), 0);
        fake_env_advance_ms(&world.fake, 1);
        assert_int_equal(take(&world, "a", 1), MCDS_OK);
        assert_true(form == MCDS_LIMIT_WINDOW || trips_of_refusal(&world, 1) > 0);
        end(&world);
    }
}

static void another_take_asks_the_store(void **state)
{
    struct world world;
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        begin(&world, form, REMEMBER_MS);
        assert_true(trips_of_refusal(&world, 2) > 0);
        assert_true(trips_of_refusal(&world, 1) > 0);
        assert_int_equal(trips_of_refusal(&world, 1), 0);
        assert_int_equal(take(&world, "b", COUNT), MCDS_OK);
        assert_int_equal(trips_of_refusal(&world, 1), 0);
        end(&world);
    }
    begin(&world, MCDS_LIMIT_BUCKET, REMEMBER_MS);
    uint64_t batches = world.backend.batches;
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("a"), 1, 1, NULL), MCDS_BUSY);
    assert_true(world.backend.batches > batches);
    end(&world);
}

/* What the handle itself gives back or drops counts at once, and what others do after remember_ms. */
static void changes_are_seen(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_LIMIT_BUCKET, REMEMBER_MS);
    assert_int_equal(mcds_limit_give(world.limit, mcds_text("a"), 1), MCDS_OK);
    assert_int_equal(take(&world, "a", 1), MCDS_OK);
    assert_int_equal(take(&world, "a", 1), MCDS_BUSY);
    assert_int_equal(mcds_limit_drop(world.limit), MCDS_OK);
    assert_int_equal(take(&world, "a", COUNT), MCDS_OK);
    assert_int_equal(take(&world, "a", 1), MCDS_BUSY);
    assert_int_equal(mcds_limit_give(world.other, mcds_text("a"), 1), MCDS_OK);
    assert_int_equal(trips_of_refusal(&world, 1), 0);
    fake_env_advance_ms(&world.fake, REMEMBER_MS);
    assert_int_equal(take(&world, "a", 1), MCDS_OK);
    assert_int_equal(take(&world, "a", 1), MCDS_BUSY);
    assert_int_equal(mcds_limit_drop(world.other), MCDS_OK);
    assert_int_equal(mcds_limit_give(world.limit, mcds_text("a"), 1),
                     MCDS_OK); /* it was full */
    assert_int_equal(take(&world, "a", 1), MCDS_OK);
    end(&world);
}

/* The wall clock decides about no refusal from memory. */
static void a_clock_that_is_set_lengthens_nothing(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_LIMIT_BUCKET, REMEMBER_MS);
    world.fake.wall_ns -= 3 * INT64_C(1000000000);
    assert_int_equal(trips_of_refusal(&world, 1), 0);
    world.fake.monotonic_ns += REMEMBER_MS * INT64_C(1000000);
    assert_true(trips_of_refusal(&world, 1) > 0);
    end(&world);
}

static void a_pipeline_refuses_without_a_batch(void **state)
{
    struct world world;
    mcds_pipeline *pipeline;
    mcds_completion done;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    (void)state;
    begin(&world, MCDS_LIMIT_BUCKET, REMEMBER_MS);
    uint64_t batches = world.backend.batches;
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(
            mcds_limit_take_start(world.limit, mcds_text("a"), 1, 0, &value, pipeline, i),
            MCDS_OK);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_BUSY);
    }
    assert_true(value.retry_ms > 0);
    assert_int_equal(world.backend.batches, batches);
    mcds_pipeline_close(pipeline);
    end(&world);
}

/* All tokens of "b" are in the first slot of a block, and a take is refused in its last slot. */
static int refuse_in_last_slot(struct world *world, mcds_limit_value *value_out)
{
    int64_t begun_ms = world->fake.wall_ns / 1000000;
    fake_env_advance_ms(&world->fake, WINDOW_MS - begun_ms % WINDOW_MS);
    assert_int_equal(take(world, "b", COUNT), MCDS_OK);
    fake_env_advance_ms(&world->fake, WINDOW_MS - WINDOW_MS / COUNT);
    return mcds_limit_take(world->limit, mcds_text("b"), 1, 0, value_out);
}

/* A caller that wants no value is refused from memory no longer than another. */
static void a_window_without_a_value_passes_at_its_time(void **state)
{
    struct world world;
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    (void)state;
    for (int wants_value = 0; wants_value < 2; wants_value++) {
        begin(&world, MCDS_LIMIT_WINDOW, 60000);
        assert_int_equal(refuse_in_last_slot(&world, wants_value ? &value : NULL), MCDS_BUSY);
        assert_int_equal(mcds_limit_get(world.other, mcds_text("b"), &value), MCDS_OK);
        assert_in_range(value.retry_ms, 1, WINDOW_MS);
        uint64_t batches = world.backend.batches;
        fake_env_advance_ms(&world.fake, (int64_t)value.retry_ms - 1);
        assert_int_equal(mcds_limit_take(world.limit, mcds_text("b"), 1, 0, NULL), MCDS_BUSY);
        assert_int_equal(world.backend.batches, batches);
        fake_env_advance_ms(&world.fake, 1);
        assert_int_equal(mcds_limit_take(world.limit, mcds_text("b"), 1, 0, NULL), MCDS_OK);
        end(&world);
    }
}

/* Loses the replies to the reads after a decrement. */
static bool lose_reads(void *context, mcds_request *request)
{
    bool *has_given_back = context;
    *has_given_back = *has_given_back || request->command == MCDS_DECR;
    if (!*has_given_back || request->command != MCDS_GET)
        return false;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

/* Without the numbers of the slots, the handle does not know when the take passes. */
static void a_window_without_its_slots_is_asked_again(void **state)
{
    struct world world;
    bool has_given_back = false;
    (void)state;
    begin(&world, MCDS_LIMIT_WINDOW, 60000);
    world.backend.hook = lose_reads;
    world.backend.context = &has_given_back;
    assert_int_equal(refuse_in_last_slot(&world, &world.value), MCDS_BUSY);
    assert_true(has_given_back);
    world.backend.hook = NULL;
    uint64_t batches = world.backend.batches;
    assert_int_equal(take(&world, "b", 1), MCDS_BUSY);
    assert_true(world.backend.batches > batches);
    assert_in_range(world.value.retry_ms, 1, 2 * WINDOW_MS / COUNT);
    end(&world);
}

/* An empty table, and a refusal that was asked for now. */
static struct mcds__refusal begin_table(struct mcds__remembered *remembered,
                                        struct fake_env *fake, uint64_t remember_ms)
{
    fake_env_init(fake, 3);
    mcds__remembered_init(remembered, &fake->env, remember_ms);
    return (struct mcds__refusal){.tokens = 1,
                                  .own_ms = fake->wall_ns / 1000000,
                                  .asked_ns = fake->monotonic_ns,
                                  .value = {.retry_ms = 1000}};
}

/* A refusal that was on its way when this handle gave tokens back is not remembered. */
static void a_give_during_a_take_is_seen(void **state)
{
    static struct mcds__remembered remembered;
    struct fake_env fake;
    mcds_limit_value value;
    (void)state;
    struct mcds__refusal refusal = begin_table(&remembered, &fake, 1000);
    refusal.changes = mcds__remembered_changes(&remembered);
    mcds__remembered_forget(&remembered, mcds_text("a"));
    mcds__remembered_note(&remembered, mcds_text("a"), &refusal);
    assert_false(mcds__remembered_has(&remembered, mcds_text("a"), 1, 0, &value));
    refusal.changes = mcds__remembered_changes(&remembered);
    mcds__remembered_note(&remembered, mcds_text("a"), &refusal);
    assert_true(mcds__remembered_has(&remembered, mcds_text("a"), 1, 0, &value));
    mcds__remembered_clear(&remembered);
    mcds__remembered_note(&remembered, mcds_text("a"), &refusal);
    assert_false(mcds__remembered_has(&remembered, mcds_text("a"), 1, 0, &value));
    mcds__remembered_destroy(&remembered);
}

/* The time counts from the question, not from its answer. */
static void a_slow_answer_lengthens_nothing(void **state)
{
    static struct mcds__remembered remembered;
    struct fake_env fake;
    mcds_limit_value value;
    (void)state;
    struct mcds__refusal refusal = begin_table(&remembered, &fake, 100);
    fake_env_advance_ms(&fake, 60);
    refusal.own_ms = fake.wall_ns / 1000000;
    mcds__remembered_note(&remembered, mcds_text("a"), &refusal);
    fake_env_advance_ms(&fake, 39);
    assert_true(mcds__remembered_has(&remembered, mcds_text("a"), 1, 0, &value));
    assert_int_equal(value.retry_ms, 1000 - 39);
    fake_env_advance_ms(&fake, 1);
    assert_false(mcds__remembered_has(&remembered, mcds_text("a"), 1, 0, &value));
    mcds__remembered_destroy(&remembered);
}

/* A clock between two milliseconds: a refusal from memory ends when the store lets the take pass. */
static void a_part_of_a_millisecond_delays_nothing(void **state)
{
    struct world world;
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        begin(&world, form, 1);
        fake_env_advance_ms(&world.fake, 2);
        world.fake.wall_ns += 900000;
        world.fake.monotonic_ns += 900000;
        assert_true(trips_of_refusal(&world, 1) > 0);
        world.fake.wall_ns += 200000;
        world.fake.monotonic_ns += 200000;
        assert_int_equal(trips_of_refusal(&world, 1), 0);
        fake_env_advance_ms(&world.fake, (int64_t)world.value.retry_ms - 1);
        assert_int_equal(take(&world, "a", 1), MCDS_BUSY);
        fake_env_advance_ms(&world.fake, 1);
        assert_int_equal(take(&world, "a", 1), MCDS_OK);
        end(&world);
    }
}

/* Of more identities than a set has entries, the one that ends first is forgotten. */
static void the_first_to_end_is_forgotten(void **state)
{
    static struct mcds__remembered remembered;
    struct fake_env fake;
    char names[MCDS__REMEMBERED_WAYS + 1][16];
    mcds_limit_value value;
    uint32_t count = 0;
    (void)state;
    struct mcds__refusal refusal = begin_table(&remembered, &fake, 1000);
    for (uint32_t i = 0; count <= MCDS__REMEMBERED_WAYS; i++) {
        (void)snprintf(names[count], sizeof names[count], "%u", i);
        uint64_t hash = mcds__siphash(remembered.key, mcds_text(names[count]));
        count += hash % MCDS__REMEMBERED_SETS == 0;
    }
    for (uint32_t i = 0; i <= MCDS__REMEMBERED_WAYS; i++) {
        refusal.value.retry_ms = i == 1 ? 10 : 20 + i;
        mcds__remembered_note(&remembered, mcds_text(names[i]), &refusal);
    }
    for (uint32_t i = 0; i <= MCDS__REMEMBERED_WAYS; i++)
        assert_int_equal(mcds__remembered_has(&remembered, mcds_text(names[i]), 1, 0, &value),
                         i != 1);
    mcds__remembered_destroy(&remembered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_costs_no_round_trip),
        cmocka_unit_test(the_take_passes_at_its_time),
        cmocka_unit_test(a_window_without_a_value_passes_at_its_time),
        cmocka_unit_test(a_window_without_its_slots_is_asked_again),
        cmocka_unit_test(another_take_asks_the_store),
        cmocka_unit_test(changes_are_seen),
        cmocka_unit_test(a_clock_that_is_set_lengthens_nothing),
        cmocka_unit_test(a_pipeline_refuses_without_a_batch),
        cmocka_unit_test(a_give_during_a_take_is_seen),
        cmocka_unit_test(a_slow_answer_lengthens_nothing),
        cmocka_unit_test(a_part_of_a_millisecond_delays_nothing),
        cmocka_unit_test(the_first_to_end_is_forgotten),
    };
    return cmocka_run_group_tests_name("limit_remembered", tests, NULL, NULL);
}
