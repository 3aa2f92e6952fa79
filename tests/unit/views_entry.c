/* A page enters the list of its interval before it is counted. Where a reply to that was lost and
 * what follows is refused, nothing is counted, and the result is that of the refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/hash.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_views *views;
    mcds_outcome refusal; /* of each append after one without a reply; OK: none is refused */
    uint32_t appends;
    uint32_t counts; /* increments, since it refuses */
};

static bool hook(void *context, mcds_request *request)
{
    static const mcds_reason full = {.cause = MCDS_CAUSE_STORE_FULL, .text = "full"};
    static const mcds_reason memory = {.cause = MCDS_CAUSE_NO_MEMORY, .text = "no memory"};
    struct world *world = context;
    world->counts += world->refusal != MCDS_OUT_OK && request->command == MCDS_INCR;
    if (world->refusal == MCDS_OUT_OK || request->command != MCDS_APPEND)
        return false;
    bool is_lost = world->appends++ == 0;
    request->reply.outcome = is_lost ? MCDS_OUT_UNKNOWN : world->refusal;
    if (!is_lost)
        request->reply.detail = world->refusal == MCDS_OUT_NO_MEMORY   ? &full
                                : world->refusal == MCDS_OUT_NO_BUFFER ? &memory
                                                                       : NULL;
    return true;
}

static int hit(struct world *world, const char *page, bool is_piped)
{
    mcds_pipeline *pipeline;
    mcds_completion done;
    if (!is_piped)
        return mcds_views_hit(world->views, page, 1);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
    assert_int_equal(mcds_views_hit_start(world->views, page, 1, pipeline, 1), MCDS_OK);
    assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
    mcds_pipeline_close(pipeline);
    return done.result;
}

static void refuse(mcds_outcome refusal, int wanted, bool is_piped)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views_options = views_without_database();
    memset(&world, 0, sizeof world);
    world.refusal = MCDS_OUT_OK;
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    assert_int_equal(hooked_backend_open(&world.backend, &options, &world.store), MCDS_OK);
    world.backend.hook = hook;
    world.backend.context = &world;
    assert_int_equal(mcds_views_open(world.store, "v", &views_options, &world.views), MCDS_OK);
    assert_int_equal(hit(&world, "before", is_piped), MCDS_OK);
    world.refusal = refusal;
    int result = hit(&world, "page", is_piped);
    assert_string_equal(mcds_result_name(result), mcds_result_name(wanted));
    assert_true(world.appends > 1);
    assert_int_equal(world.counts, 0);
    mcds_views_close(world.views);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

static void a_full_store_is_full(void **state)
{
    (void)state;
    refuse(MCDS_OUT_NO_MEMORY, MCDS_FULL, false);
    refuse(MCDS_OUT_NO_MEMORY, MCDS_FULL, true);
}

static void a_process_without_memory_is_so(void **state)
{
    (void)state;
    refuse(MCDS_OUT_NO_BUFFER, MCDS_NO_MEMORY, false);
    refuse(MCDS_OUT_NO_BUFFER, MCDS_NO_MEMORY, true);
}

static void a_store_that_does_not_answer_is_not_reached(void **state)
{
    (void)state;
    refuse(MCDS_OUT_UNKNOWN, MCDS_UNAVAILABLE, false);
}

static int note_save(void *context, const char *page, uint64_t slot, int64_t views)
{
    int64_t *saved = context;
    (void)slot;
    *saved += strcmp(page, "/checkout") == 0 ? views : 0;
    return 0;
}

/* XXH3 with a seed that everybody knows has a name of eight bytes for each hash:
 *
 *   hit of the name    the handle remembers its hash: in the list of this interval
 *   hit of the page    the same hash: counted, and not entered
 *   flush              the page is not in the list: its views are not saved, and are lost */
static void a_stranger_hides_no_page(void **state)
{
    static const char forged[] = "\x96\xfd\x4a\x69\x85\x3d\xe6\x2f";
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_views_options views_options = views_without_database();
    struct fake_env fake;
    mcds_store *store;
    mcds_views *views;
    int64_t saved = 0;
    (void)state;
    assert_int_equal(mcds__hash(0, mcds_text(forged)), mcds__hash(0, mcds_text("/checkout")));
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    views_options.save = note_save;
    views_options.context = &saved;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    assert_int_equal(mcds_views_open(store, "v", &views_options, &views), MCDS_OK);
    assert_int_equal(mcds_views_hit(views, forged, 1), MCDS_OK);
    assert_int_equal(mcds_views_hit(views, "/checkout", 3), MCDS_OK);
    assert_int_equal(mcds_views_flush_final(views), MCDS_OK);
    assert_int_equal(saved, 3);
    mcds_views_close(views);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_store_is_full),
        cmocka_unit_test(a_process_without_memory_is_so),
        cmocka_unit_test(a_store_that_does_not_answer_is_not_reached),
        cmocka_unit_test(a_stranger_hides_no_page),
    };
    return cmocka_run_group_tests_name("views_entry", tests, NULL, NULL);
}
