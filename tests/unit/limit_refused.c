/* An identity that is refused over and over: a refused take reads, in one round trip, and writes nothing;
 * and it is decided by what the store holds, so that whatever others change counts at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash/hash.h"
#include "mcds.h"
#include "structures/limit/refusals.h"
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

/* Where others take each token, a handle writes one record that is refused, and from then on reads until a
 * take passes. */
static void a_contended_identity_is_read_first(void **state)
{
    (void)state;
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++) {
        struct world world;
        uint32_t writes = 0;
        begin(&world, form);
        use_up(&world);
        for (int i = 0; i < 10; i++) {
            fake_env_advance_ms(&world.fake, 2 * WINDOW_MS);
            assert_int_equal(take(world.other, COUNT, NULL), MCDS_OK);
            world.writes = 0;
            assert_int_equal(take(world.limit, 1, NULL), MCDS_BUSY);
            writes += world.writes;
            assert_true(i == 0 || world.writes == 0);
        }
        assert_true(writes > 0);
        fake_env_advance_ms(&world.fake, 2 * WINDOW_MS);
        uint64_t batches = world.backend.batches;
        assert_int_equal(take(world.limit, 1, NULL), MCDS_OK);
        uint64_t reading = world.backend.batches - batches;
        batches = world.backend.batches;
        assert_int_equal(take(world.limit, 1, NULL), MCDS_OK);
        assert_true(world.backend.batches - batches < reading);
        end(&world);
    }
}

/* As if another client had appended to the key since it was read. */
static bool overtake(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command != MCDS_CAS)
        return false;
    world->writes++;
    request->reply.outcome = MCDS_OUT_EXISTS;
    return true;
}

/* Where many take from one key, most rewrites fail. Not every take tries one. */
static void few_takes_try_a_rewrite(void **state)
{
    (void)state;
    struct world world;
    begin(&world, MCDS_LIMIT_BUCKET);
    mcds_limit *limit = open_limit(&world, MCDS_LIMIT_BUCKET, REFUSALS);
    world.backend.hook = overtake;
    for (int i = 0; i < REFUSALS; i++)
        assert_int_equal(take(limit, 1, NULL), MCDS_OK);
    assert_in_range(world.writes, 1, REFUSALS / 2);
    mcds_limit_close(limit);
    end(&world);
}

/* The round trips of a take that passes, of an identity that was not refused, while another one is. */
static uint64_t cost_beside(const char *refused, mcds_limit_form form)
{
    struct world world;
    begin(&world, form);
    assert_int_equal(mcds_limit_take(world.limit, mcds_text(refused), COUNT, 0, NULL), MCDS_OK);
    assert_int_equal(mcds_limit_take(world.limit, mcds_text(refused), 1, 0, NULL), MCDS_BUSY);
    uint64_t batches = world.backend.batches;
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("alice"), 1, 0, NULL), MCDS_OK);
    batches = world.backend.batches - batches;
    end(&world);
    return batches;
}

/* With a seed that everybody knows, a stranger finds in a second a name that has the entry and the bits of
 * another one:
 *
 *   m126861341: take, until it is refused    the entry of both says: refused
 *   alice: take                              reads before it writes: two round trips, each time */
static void a_stranger_slows_no_other(void **state)
{
    static const uint64_t known_seed = UINT64_C(0x6c696d6974);
    uint64_t difference = mcds__hash(known_seed, mcds_text("alice")) ^
                          mcds__hash(known_seed, mcds_text("m126861341"));
    (void)state;
    assert_int_equal(difference >> 44, 0);
    assert_int_equal(difference % 1024, 0);
    for (mcds_limit_form form = MCDS_LIMIT_BUCKET; form <= MCDS_LIMIT_WINDOW; form++)
        assert_int_equal(cost_beside("m126861341", form), cost_beside("bob", form));
}

/* Of more identities than a set has entries, the one that ends first is forgotten. Those of other handles
 * are others. */
static void the_first_to_end_is_forgotten(void **state)
{
    static struct mcds__refusals refusals, others;
    struct fake_env fake;
    char names[MCDS__REFUSALS_WAYS + 1][16];
    uint32_t count = 0;
    (void)state;
    fake_env_init(&fake, 3);
    mcds__refusals_init(&refusals, &fake.env);
    mcds__refusals_init(&others, &fake.env);
    assert_true(refusals.seed != others.seed);
    for (uint32_t i = 0; count <= MCDS__REFUSALS_WAYS; i++) {
        (void)snprintf(names[count], sizeof names[count], "%u", i);
        uint64_t hash = mcds__hash(refusals.seed, mcds_text(names[count]));
        count += hash % MCDS__REFUSALS_SETS == 0;
    }
    for (uint32_t i = 0; i < MCDS__REFUSALS_WAYS; i++)
        mcds__refusals_note(&refusals, mcds_text(names[i]), i == 1 ? 900 : 1000 + i, true);
    for (uint32_t i = 0; i < MCDS__REFUSALS_WAYS; i++) {
        int64_t until_ms = i == 1 ? 900 : 1000 + i;
        assert_true(mcds__refusals_has(&refusals, mcds_text(names[i]), until_ms - 1));
        assert_false(mcds__refusals_has(&refusals, mcds_text(names[i]), until_ms));
        assert_false(mcds__refusals_has(&others, mcds_text(names[i]), 1));
    }
    mcds__refusals_note(&refusals, mcds_text(names[MCDS__REFUSALS_WAYS]), 500, true);
    for (uint32_t i = 0; i <= MCDS__REFUSALS_WAYS; i++)
        assert_int_equal(mcds__refusals_has(&refusals, mcds_text(names[i]), 1), i != 1);
    /* An identity has one entry, and only its own is forgotten. */
    mcds__refusals_note(&refusals, mcds_text(names[0]), 2000, true);
    mcds__refusals_forget(&refusals, mcds_text(names[0]));
    assert_false(mcds__refusals_has(&refusals, mcds_text(names[0]), 1));
    assert_true(mcds__refusals_has(&refusals, mcds_text(names[2]), 1));
    assert_int_equal(fake.blocks, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(refusals_write_nothing),
    cmocka_unit_test(a_take_after_the_time_costs_one),
    cmocka_unit_test(what_others_change_counts_at_once),
    cmocka_unit_test(others_are_not_refused),
    cmocka_unit_test(a_slow_clock_is_reported),
    cmocka_unit_test(a_contended_identity_is_read_first),
    cmocka_unit_test(few_takes_try_a_rewrite),
    cmocka_unit_test(a_stranger_slows_no_other),
    cmocka_unit_test(the_first_to_end_is_forgotten),
};

int main(void)
{
    return cmocka_run_group_tests_name("limit_refused", tests, NULL, NULL);
}
