/* A call runs functions of the caller between its round trips. They take longer than the timeout.
 * Their time does not count: the next round trip has the time that was left before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_env.h"

#define TIMEOUT_MS 1000
#define SLOWNESS_MS (3 * TIMEOUT_MS)
#define INTERVAL_MS 60000

static struct world {
    struct fake_env fake;
    mcds_store *store;
    uint32_t calls; /* of the caller's function */
    int64_t saved;
    uint64_t saved_slot;
} world;

static int set_up(void **state)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    (void)state;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    return mcds_open("memory:", &options, &world.store);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_close(world.store);
    return world.fake.blocks == 0 ? 0 : -1;
}

static void take_long(void)
{
    world.calls++;
    fake_env_advance_ms(&world.fake, SLOWNESS_MS);
}

static int load_slowly(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context, (void)page;
    take_long();
    *views_out = world.saved_slot <= upto_slot ? world.saved : 0;
    return 0;
}

static int save_slowly(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context, (void)page;
    take_long();
    world.saved = views;
    world.saved_slot = slot;
    return 0;
}

static mcds_views *open_views(void)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    options.flush_ms = INTERVAL_MS;
    options.load = load_slowly;
    options.save = save_slowly;
    assert_int_equal(mcds_views_open(world.store, "v", &options, &views), MCDS_OK);
    return views;
}

/* The get also stores the base: the next get does not ask the database. */
static void assert_views(mcds_views *views, int64_t wanted)
{
    int64_t value = -1;
    world.calls = 0;
    assert_int_equal(mcds_views_get(views, "/", &value), MCDS_OK);
    assert_int_equal(value, wanted);
    assert_in_range(world.calls, 2, 100);
    world.calls = 0;
    assert_int_equal(mcds_views_get(views, "/", &value), MCDS_OK);
    assert_int_equal(value, wanted);
    assert_int_equal(world.calls, 0);
}

static void a_get_of_views(void **state)
{
    (void)state;
    mcds_views *views = open_views();
    assert_int_equal(mcds_views_hit(views, "/", 5), MCDS_OK);
    assert_views(views, 5);
    mcds_views_close(views);
}

/* The get reads the numbers of an interval that is saved already after the database. */
static void a_get_of_views_that_are_saved_early(void **state)
{
    (void)state;
    mcds_views *views = open_views();
    assert_int_equal(mcds_views_hit(views, "/", 5), MCDS_OK);
    assert_int_equal(mcds_views_flush_final(views), MCDS_OK);
    assert_int_equal(world.saved, 5);
    assert_views(views, 5);
    mcds_views_close(views);
}

/* Each get of a pipeline has its own deadline. */
static void a_get_of_views_in_a_pipeline(void **state)
{
    mcds_pipeline *pipeline;
    mcds_completion done;
    int64_t value = -1;
    (void)state;
    mcds_views *views = open_views();
    assert_int_equal(mcds_views_hit(views, "/", 5), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    assert_int_equal(mcds_views_get_start(views, "/", &value, pipeline, 1), MCDS_OK);
    assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    assert_int_equal(value, 5);
    mcds_pipeline_close(pipeline);
    mcds_views_close(views);
}

static void a_flush_of_views(void **state)
{
    (void)state;
    mcds_views *views = open_views();
    assert_int_equal(mcds_views_hit(views, "/", 5), MCDS_OK);
    fake_env_advance_ms(&world.fake, INTERVAL_MS);
    assert_int_equal(mcds_views_flush(views), MCDS_OK);
    assert_int_equal(world.saved, 5);
    mcds_views_close(views);
}

static int change_slowly(void *context, const mcds_bytes *old, size_t old_count,
                         mcds_elements *fresh)
{
    (void)context, (void)old, (void)old_count;
    take_long();
    return mcds_elements_add(fresh, mcds_text("new"));
}

static bool visit_new(void *context, mcds_bytes element)
{
    (void)context;
    assert_int_equal(element.length, 3);
    assert_memory_equal(element.data, "new", 3);
    return true;
}

static void a_change_of_an_array(void **state)
{
    (void)state;
    mcds_array *array = NULL;
    assert_int_equal(mcds_array_open(world.store, "a", NULL, &array), MCDS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcds_array_change_by(array, change_slowly, NULL), MCDS_OK);
        assert_int_equal(mcds_array_scan(array, visit_new, NULL), MCDS_OK);
    }
    mcds_array_close(array);
}

static int fill_slowly(void *context, mcds_bytes key, mcds_fill *fill)
{
    (void)context, (void)key;
    take_long();
    return mcds_fill_add(fill, mcds_text("new"));
}

static void a_fetch_of_a_cache(void **state)
{
    mcds_cache *cache = NULL;
    (void)state;
    assert_int_equal(mcds_cache_open(world.store, "c", NULL, &cache), MCDS_OK);
    for (int i = 0; i < 2; i++) {
        mcds_value value = MCDS_VALUE_INIT;
        mcds_cache_state answer = MCDS_CACHE_MISSING;
        assert_int_equal(mcds_cache_fetch(cache, mcds_text("k"), NULL, 0, fill_slowly, NULL,
                                          &value, &answer),
                         MCDS_OK);
        assert_int_equal(answer, i == 0 ? MCDS_CACHE_FILLED : MCDS_CACHE_FRESH);
        mcds_value_free(&value);
    }
    mcds_cache_close(cache);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_get_of_views),
        TEST(a_get_of_views_that_are_saved_early),
        TEST(a_get_of_views_in_a_pipeline),
        TEST(a_flush_of_views),
        TEST(a_change_of_an_array),
        TEST(a_fetch_of_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
