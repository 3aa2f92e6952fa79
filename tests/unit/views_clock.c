/* Views that are counted by a clock that is wrong: what the promise in mcds/views.h excepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_env.h"

#define INTERVAL_MS 1000
#define SLOTS 64

/* The database of one page. */
struct database {
    uint64_t slots[SLOTS];
    int64_t views[SLOTS];
    size_t count;
};

struct world {
    struct fake_env fake;
    struct database database;
    mcds_store *store;
    mcds_views *views;
};

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    const struct database *database = context;
    (void)page;
    *views_out = 0;
    for (size_t i = 0; i < database->count; i++)
        *views_out += database->slots[i] <= upto_slot ? database->views[i] : 0;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct database *database = context;
    size_t at = 0;
    (void)page;
    while (at < database->count && database->slots[at] != slot)
        at++;
    if (at == SLOTS)
        return -1;
    database->count += at == database->count;
    database->slots[at] = slot;
    if (database->views[at] < views)
        database->views[at] = views;
    return 0;
}

static int set_up(void **state)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views = MCDS_VIEWS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    views.flush_ms = INTERVAL_MS;
    views.load = load;
    views.save = save;
    views.context = &world.database;
    *state = &world;
    int result = mcds_open("memory:", &options, &world.store);
    return result == MCDS_OK ? mcds_views_open(world.store, "v", &views, &world.views) : result;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mcds_views_close(world->views);
    mcds_close(world->store);
    return 0;
}

/* One view by a machine whose clock differs by this from the others'. */
static void hit(struct world *world, int64_t off_ms)
{
    world->fake.wall_ns += off_ms * 1000000;
    assert_int_equal(mcds_views_hit(world->views, "page", 1), MCDS_OK);
    world->fake.wall_ns -= off_ms * 1000000;
}

static void check(struct world *world, int64_t value, int64_t saved)
{
    int64_t read = 0;
    int64_t sum = 0;
    assert_int_equal(mcds_views_flush(world->views), MCDS_OK);
    assert_int_equal(mcds_views_get(world->views, "page", &read), MCDS_OK);
    (void)load(&world->database, "page", UINT64_MAX, &sum);
    assert_int_equal(read, value);
    assert_int_equal(sum, saved);
}

static void a_clock_5_s_behind_counts(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    fake_env_advance_ms(&world->fake, 20 * INTERVAL_MS);
    check(world, 1, 1);
    hit(world, -5000);
    fake_env_advance_ms(&world->fake, INTERVAL_MS);
    check(world, 2, 2);
}

/* What a clock that is slower than that counts is saved by the next flush. The sum from the database
 * is read again after ten minutes. */
static void a_clock_far_behind_counts_later(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    fake_env_advance_ms(&world->fake, 20 * INTERVAL_MS);
    check(world, 1, 1);
    hit(world, -10000);
    fake_env_advance_ms(&world->fake, 20 * INTERVAL_MS);
    check(world, 1, 2);
    fake_env_advance_ms(&world->fake, 600000);
    check(world, 2, 2);
}

/* A clock that is slower than the store keeps views does not make each flush read a whole day. */
static void a_clock_of_long_ago_lowers_no_mark(void **state)
{
    struct world *world = *state;
    int64_t day_ms = INT64_C(24) * 3600 * 1000;
    hit(world, 0);
    fake_env_advance_ms(&world->fake, 20 * INTERVAL_MS);
    check(world, 1, 1);
    world->database.count = 0; /* nothing is saved again */
    hit(world, -day_ms);
    fake_env_advance_ms(&world->fake, 20 * INTERVAL_MS);
    assert_int_equal(mcds_views_flush(world->views), MCDS_OK);
    assert_int_equal(world->database.count, 0);
}

static void flush_ahead(struct world *world, int64_t ahead_ms)
{
    world->fake.wall_ns += ahead_ms * 1000000;
    assert_int_equal(mcds_views_flush(world->views), MCDS_OK);
    world->fake.wall_ns -= ahead_ms * 1000000;
}

/* The clock of a flush was ahead. No flush runs until that time has come. */
static void a_flush_that_was_ahead_hides_no_view(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    flush_ahead(world, 40000);
    for (int i = 0; i < 10; i++) {
        fake_env_advance_ms(&world->fake, 2 * INTERVAL_MS);
        hit(world, 0);
    }
    fake_env_advance_ms(&world->fake, 60 * INTERVAL_MS);
    check(world, 11, 11);
}

/* Views that are counted within a second after that flush, by a handle that has just looked at the
 * mark, are found with the next one. */
static void a_later_view_shows_those_before(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    flush_ahead(world, 40000);
    for (int i = 0; i < 5; i++)
        hit(world, 0);
    fake_env_advance_ms(&world->fake, 2 * INTERVAL_MS);
    hit(world, 0);
    fake_env_advance_ms(&world->fake, 60 * INTERVAL_MS);
    check(world, 7, 7);
}

static void a_clock_ahead_counts_later(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    hit(world, 10000);
    fake_env_advance_ms(&world->fake, 5 * INTERVAL_MS);
    check(world, 1, 1);
    fake_env_advance_ms(&world->fake, 7 * INTERVAL_MS);
    check(world, 2, 2);
}

/* A flush that runs before the time of the mark takes no notice of the mark. */
static void a_flush_before_that_time_saves_all(void **state)
{
    struct world *world = *state;
    hit(world, 0);
    flush_ahead(world, 40000);
    for (int i = 0; i < 5; i++)
        hit(world, 0);
    fake_env_advance_ms(&world->fake, 10 * INTERVAL_MS);
    check(world, 6, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clock_5_s_behind_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_far_behind_counts_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_of_long_ago_lowers_no_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_ahead_counts_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flush_that_was_ahead_hides_no_view, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_later_view_shows_those_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flush_before_that_time_saves_all, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
