/* A flush of views whose database refuses pages: how long it lasts, what it remembers of them, and what
 * becomes of its sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "structures/views/unsaved.h"
#include "support/fake_env.h"
#include "support/no_database.h"

#define PAGES 100
#define INTERVAL_MS 60000
#define TIMEOUT_MS 1000
#define IN_A_ROW 16

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_views *views;
    bool refuses;     /* the database */
    int64_t takes_ms; /* each refusal */
    uint32_t accepts; /* after so many refusals it saves one; 0: none */
    uint32_t calls;
    uint32_t saves;
};

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct world *world = context;
    (void)page;
    (void)slot;
    (void)views;
    world->calls++;
    if (!world->refuses || (world->accepts > 0 && world->calls % (world->accepts + 1) == 0)) {
        world->saves++;
        return 0;
    }
    fake_env_advance_ms(&world->fake, world->takes_ms);
    return -1;
}

static int set_up(void **state)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views = views_without_database();
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    views.save = save;
    views.context = &world;
    *state = &world;
    int result = mcds_open("memory:", &options, &world.store);
    return result == MCDS_OK ? mcds_views_open(world.store, "v", &views, &world.views) : result;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mcds_views_close(world->views);
    mcds_close(world->store);
    return world->fake.blocks == 0 ? 0 : -1;
}

/* Views of all pages in an interval that ends. */
static void hit_all(struct world *world)
{
    for (uint32_t i = 0; i < PAGES; i++) {
        char page[16];
        (void)snprintf(page, sizeof page, "/%u", i);
        assert_int_equal(mcds_views_hit(world->views, page, 1), MCDS_OK);
    }
    fake_env_advance_ms(&world->fake, INTERVAL_MS);
}

static uint32_t calls_of_flush(struct world *world, int wanted)
{
    world->calls = 0;
    world->saves = 0;
    assert_int_equal(mcds_views_flush(world->views), wanted);
    return world->calls;
}

static bool says(const char *words)
{
    return strstr(mcds_errmsg(), words) != NULL;
}

static void a_database_that_is_down_ends_the_flush(void **state)
{
    struct world *world = *state;
    hit_all(world);
    world->refuses = true;
    world->takes_ms = TIMEOUT_MS;
    assert_int_equal(calls_of_flush(world, MCDS_IO), IN_A_ROW);
    assert_true(says(" and 15 more are not saved, and the flush ended early; "));
    world->takes_ms = TIMEOUT_MS / 20;
    assert_int_equal(calls_of_flush(world, MCDS_IO), 20);
    assert_true(says(" and 19 more are "));
    world->refuses = false;
    assert_int_equal(calls_of_flush(world, MCDS_OK), PAGES);
}

/* Neither the number of refusals nor their time alone ends it. */
static void refusals_do_not_end_the_flush(void **state)
{
    struct world *world = *state;
    hit_all(world);
    world->refuses = true;
    assert_int_equal(calls_of_flush(world, MCDS_IO), PAGES);
    world->takes_ms = TIMEOUT_MS;
    world->accepts = IN_A_ROW - 1;
    assert_int_equal(calls_of_flush(world, MCDS_IO), PAGES);
    assert_int_equal(world->saves, PAGES / IN_A_ROW);
    assert_false(says("early"));
}

/* Each page of the interval is tried. Later intervals wait, because the flush cannot know which of their
 * pages it may save. */
static void without_memory_later_intervals_wait(void **state)
{
    struct world *world = *state;
    hit_all(world);
    hit_all(world);
    world->refuses = true;
    assert_int_equal(calls_of_flush(world, MCDS_IO), PAGES);
    bool was_refused = true, waited = false;
    for (int64_t allowed = 0; was_refused; allowed++) {
        world->calls = 0;
        fake_env_refuse(&world->fake, allowed, false);
        int result = mcds_views_flush(world->views);
        was_refused = fake_env_grant(&world->fake);
        assert_true(result == MCDS_IO || (was_refused && result == MCDS_NO_MEMORY));
        if (result == MCDS_NO_MEMORY)
            continue;
        assert_int_equal(world->calls, PAGES);
        assert_true(!was_refused || says("not saved") || says("save callback"));
        waited = waited || says("ended early");
    }
    assert_true(waited);
    world->refuses = false;
    assert_int_equal(calls_of_flush(world, MCDS_OK), 2 * PAGES);
}

/* The sentence outlives the flush, and a later one, until the completion is taken or the pipeline is
 * closed. */
static void a_completion_has_its_sentence(void **state)
{
    struct world *world = *state;
    mcds_pipeline *pipeline;
    mcds_completion done;
    for (int takes = 0; takes < 2; takes++) {
        hit_all(world);
        world->refuses = true;
        assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
        assert_int_equal(mcds_views_flush_start(world->views, pipeline, 1), MCDS_OK);
        assert_int_equal(mcds_views_flush_final_start(world->views, pipeline, 2), MCDS_OK);
        for (int i = 0; i < 1 + takes; i++) {
            assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
            assert_int_equal(done.result, MCDS_IO);
            assert_true(says(done.tag == 1 ? "views 'v': flush: page '/"
                                           : "views 'v': flush_final: page '/"));
            assert_true(
                says(" and 99 more are not saved; correct the cause and flush again; "));
        }
        mcds_pipeline_close(pipeline);
        world->refuses = false;
        (void)calls_of_flush(world, MCDS_OK);
    }
}

static void the_set_keeps_what_it_can(void **state)
{
    struct world *world = *state;
    struct mcds__views_unsaved unsaved;
    char page[16];
    mcds__views_unsaved_init(&unsaved, &world->fake.env);
    assert_false(mcds__views_unsaved_has(&unsaved, "0"));
    for (uint32_t i = 0; i < MCDS__VIEWS_UNSAVED_MAX; i++) {
        (void)snprintf(page, sizeof page, "%u", i);
        assert_true(mcds__views_unsaved_add(&unsaved, page));
    }
    assert_false(mcds__views_unsaved_add(&unsaved, "one more"));
    assert_false(mcds__views_unsaved_has(&unsaved, "one more"));
    for (uint32_t i = 0; i < MCDS__VIEWS_UNSAVED_MAX; i += 1000) {
        (void)snprintf(page, sizeof page, "%u", i);
        assert_true(mcds__views_unsaved_has(&unsaved, page));
    }
    assert_string_equal(unsaved.first, "0");
    assert_int_equal(unsaved.pages, MCDS__VIEWS_UNSAVED_MAX + 1);
    mcds__views_unsaved_free(&unsaved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_that_is_down_ends_the_flush, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refusals_do_not_end_the_flush, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_later_intervals_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_completion_has_its_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_set_keeps_what_it_can, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("views_refused", tests, NULL, NULL);
}
