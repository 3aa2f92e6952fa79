/* A push whose parts other callers fill, each before the push reaches it. The push tries again until its
 * deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define NS_PER_MS INT64_C(1000000)
#define TIMEOUT_MS 2000
/* Three such jobs fill a part. */
#define JOB_BYTES 3000
#define IN_PART 3
#define MANY 80

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    struct hooked_backend beside;
    mcds_store *store;
    mcds_store *other;
    mcds_queue *mine;
    mcds_queue *theirs;
    uint32_t left;   /* parts to fill */
    uint32_t filled; /* parts so far */
};

static void fill_part(struct world *world)
{
    static const char job[JOB_BYTES];
    const mcds_bytes jobs[IN_PART] = {{job, sizeof job}, {job, sizeof job}, {job, sizeof job}};
    OK(mcds_queue_push_many(world->theirs, jobs, IN_PART, 0, NULL));
    world->left--;
    world->filled++;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_APPEND && world->left > 0)
        fill_part(world);
    return false;
}

static int push(struct world *world, bool is_piped)
{
    mcds_pipeline *pipeline;
    mcds_completion done;
    if (!is_piped)
        return mcds_queue_push(world->mine, mcds_text("mine"), 0);
    OK(mcds_pipeline_open(world->store, NULL, &pipeline));
    OK(mcds_queue_push_start(world->mine, mcds_text("mine"), 0, pipeline, 1));
    OK(mcds_pipeline_next(pipeline, &done));
    mcds_pipeline_close(pipeline);
    return done.result;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    *world = (struct world){.left = 0};
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    OK(hooked_backend_open(&world->backend, &options, &world->store));
    OK(hooked_backend_open_beside(&world->beside, &world->backend, &options, &world->other));
    OK(mcds_queue_open(world->store, "q", NULL, &world->mine));
    OK(mcds_queue_open(world->other, "q", NULL, &world->theirs));
    OK(mcds_queue_push(world->mine, mcds_text("first"), 0));
    world->backend.hook = hook;
    world->backend.context = world;
}

static void end(struct world *world, uint32_t pushed)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    world->backend.hook = NULL;
    OK(mcds_queue_count(world->mine, &counts));
    assert_int_equal(counts.waiting, 1 + world->filled * IN_PART + pushed);
    mcds_queue_close(world->mine);
    mcds_queue_close(world->theirs);
    mcds_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void outlast(bool is_piped)
{
    struct world world;
    begin(&world);
    world.left = MANY;
    OK(push(&world, is_piped));
    assert_int_equal(world.left, 0);
    end(&world, 1);
}

static void a_push_outlasts_others(void **state)
{
    (void)state;
    outlast(false);
    outlast(true);
}

static void end_at_the_deadline(bool is_piped)
{
    struct world world;
    begin(&world);
    int64_t begun_ns = world.fake.monotonic_ns;
    world.left = UINT32_MAX;
    assert_int_equal(MCDS_BUSY, push(&world, is_piped));
    assert_int_equal(MCDS_CAUSE_CONTENDED, mcds_last_error()->cause);
    int64_t taken_ms = (world.fake.monotonic_ns - begun_ns) / NS_PER_MS;
    assert_true(taken_ms > TIMEOUT_MS / 2 && taken_ms <= TIMEOUT_MS);
    end(&world, 0);
}

static void a_push_ends_at_its_deadline(void **state)
{
    (void)state;
    end_at_the_deadline(false);
    end_at_the_deadline(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_outlasts_others),
        cmocka_unit_test(a_push_ends_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
