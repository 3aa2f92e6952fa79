/* Views whose settings change while a handle is in use: another handle drops the views, and makes them
 * with another flush_ms, or nobody makes them. The handle reads the settings again after each flush_ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"

#define OLD_MS 1000
#define NEW_MS 60000

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_views *old;
    mcds_views *other; /* with the same interval */
    mcds_views *later; /* with another one */
};

static mcds_views *open_views(struct world *world, uint32_t flush_ms)
{
    mcds_views_options options = views_without_database();
    mcds_views *views = NULL;
    options.flush_ms = flush_ms;
    assert_int_equal(mcds_views_open(world->store, "v", &options, &views), MCDS_OK);
    return views;
}

static int set_up(void **state)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    assert_int_equal(hooked_backend_open(&world.backend, &options, &world.store), MCDS_OK);
    world.old = open_views(&world, OLD_MS);
    world.other = open_views(&world, OLD_MS);
    world.later = open_views(&world, NEW_MS);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mcds_views_close(world->old);
    mcds_views_close(world->other);
    mcds_views_close(world->later);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
    return 0;
}

static uint32_t made_ms(struct world *world)
{
    mcds_views_options made = MCDS_VIEWS_OPTIONS_INIT;
    int result = mcds_views_made_with(world->store, "v", &made);
    return result == MCDS_OK ? made.flush_ms : 0;
}

static int get(mcds_views *views)
{
    int64_t value;
    return mcds_views_get(views, "page", &value);
}

/* The old handle knows the settings, and has counted the page. */
static void use_and_drop(struct world *world)
{
    assert_int_equal(mcds_views_hit(world->old, "page", 1), MCDS_OK);
    assert_int_equal(mcds_views_drop(world->other), MCDS_OK);
    assert_int_equal(made_ms(world), 0);
}

static void make_with_another_interval(struct world *world)
{
    use_and_drop(world);
    assert_int_equal(mcds_views_hit(world->later, "page", 1), MCDS_OK);
    assert_int_equal(made_ms(world), NEW_MS);
}

static void a_hit_is_refused_after_an_interval(void **state)
{
    struct world *world = *state;
    make_with_another_interval(world);
    fake_env_advance_ms(&world->fake, OLD_MS);
    assert_int_equal(mcds_views_hit(world->old, "new", 1), MCDS_INVALID);
    assert_int_equal(mcds_views_hit(world->old, "page", 1), MCDS_INVALID);
}

static void a_get_is_refused_after_an_interval(void **state)
{
    struct world *world = *state;
    make_with_another_interval(world);
    fake_env_advance_ms(&world->fake, OLD_MS);
    assert_int_equal(get(world->old), MCDS_INVALID);
}

/* The number of the page is gone. */
static void a_hit_of_a_counted_page_is_refused_at_once(void **state)
{
    struct world *world = *state;
    make_with_another_interval(world);
    assert_int_equal(mcds_views_hit(world->old, "page", 1), MCDS_INVALID);
}

static void lost_settings_are_written_after_an_interval(void **state)
{
    struct world *world = *state;
    use_and_drop(world);
    fake_env_advance_ms(&world->fake, OLD_MS);
    assert_int_equal(mcds_views_hit(world->old, "new", 1), MCDS_OK);
    assert_int_equal(made_ms(world), OLD_MS);
    assert_int_equal(mcds_views_hit(world->later, "page", 1), MCDS_INVALID);
}

static void a_drop_erases_no_settings_of_others(void **state)
{
    struct world *world = *state;
    make_with_another_interval(world);
    assert_int_equal(mcds_views_drop(world->old), MCDS_INVALID);
    assert_int_equal(made_ms(world), NEW_MS);
}

#define TRIPS(trips, call)                                                                     \
    do {                                                                                       \
        uint64_t before = world->backend.batches;                                              \
        assert_int_equal(call, MCDS_OK);                                                       \
        assert_int_equal(world->backend.batches - before, trips);                              \
    } while (0)

/* The hits are in one interval of the wall clock; the monotonic clock alone is moved. */
static void an_interval_costs_one_round_trip_more(void **state)
{
    struct world *world = *state;
    mcds_views *views = world->later;
    assert_int_equal(mcds_views_flush(views), MCDS_OK);
    assert_int_equal(mcds_views_hit(views, "page", 1), MCDS_OK);
    assert_int_equal(get(views), MCDS_OK);
    TRIPS(1, mcds_views_hit(views, "page", 1));
    TRIPS(1, get(views));
    world->fake.monotonic_ns += INT64_C(1000000) * (NEW_MS - 1);
    TRIPS(2, mcds_views_hit(views, "page", 1)); /* and the mark, once a second */
    TRIPS(1, get(views));
    world->fake.monotonic_ns += INT64_C(1000000);
    TRIPS(2, mcds_views_hit(views, "page", 1)); /* and the settings */
    TRIPS(1, mcds_views_hit(views, "page", 1));
    TRIPS(1, get(views));
    world->fake.monotonic_ns += INT64_C(1000000) * NEW_MS;
    TRIPS(2, get(views));
    TRIPS(1, get(views));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hit_is_refused_after_an_interval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_get_is_refused_after_an_interval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hit_of_a_counted_page_is_refused_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lost_settings_are_written_after_an_interval, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_drop_erases_no_settings_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interval_costs_one_round_trip_more, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("views_settings", tests, NULL, NULL);
}
