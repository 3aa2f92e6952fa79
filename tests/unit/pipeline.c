/* When a pipeline sends: large pieces while the servers are busy, and soon in any case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "engine/pipeline.h"
#include "support/fake_env.h"

#define DEPTH 128
#define OPERATIONS 2000
#define AT_ONCE 64     /* as in src/engine/pipeline.c */
#define ALLOCATIONS 16 /* of other things */

/* A backend that answers a few batches at a time, in order, and those of `mute` never. */
struct slow {
    struct fake_env fake;
    uint32_t at_once;
    uint64_t mute_below; /* deltas */
    uint32_t submits;
    mcds_batch *waiting;
    mcds_batch **end;
};

static void slow_capabilities(void *backend, mcds_capabilities *out)
{
    (void)backend;
    memset(out, 0, sizeof *out);
}

static int slow_session_open(void *backend, void **session_out)
{
    *session_out = backend;
    return MCDS_OK;
}

static void slow_session_close(void *session)
{
    (void)session;
}

static void slow_submit(void *session, mcds_batch *first)
{
    struct slow *slow = session;
    slow->submits++;
    *slow->end = first;
    while (*slow->end != NULL)
        slow->end = &(*slow->end)->next;
}

/* With nothing to answer it waits. */
static mcds_batch *slow_collect(void *session, int64_t until_ns)
{
    struct slow *slow = session;
    mcds_batch *list = NULL;
    mcds_batch **at = &slow->waiting;
    uint32_t count = 0;
    while (*at != NULL && count < slow->at_once) {
        mcds_batch *batch = *at;
        if (batch->requests[0].delta < slow->mute_below) {
            at = &batch->next;
            continue;
        }
        *at = batch->next;
        batch->requests[0].reply.outcome = MCDS_OUT_OK;
        batch->answered = 1;
        batch->next = list;
        list = batch;
        count++;
    }
    slow->end = &slow->waiting;
    while (*slow->end != NULL)
        slow->end = &(*slow->end)->next;
    if (list == NULL) {
        assert_true(until_ns < INT64_MAX);
        fake_env_sleep_until_ns(&slow->fake, until_ns);
    }
    return list;
}

static const mcds_backend slow_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "slow",
    .capabilities = slow_capabilities,
    .session_open = slow_session_open,
    .session_close = slow_session_close,
    .submit = slow_submit,
    .collect = slow_collect,
};

/* The same within the caller's thread: all is answered when submit returns. */
static void here_submit(void *backend, mcds_batch *first)
{
    struct slow *slow = backend;
    slow->submits++;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        batch->requests[0].reply.outcome = MCDS_OUT_OK;
        batch->answered = 1;
    }
}

static const mcds_backend here_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "here",
    .capabilities = slow_capabilities,
    .submit = here_submit,
};

static void durable_capabilities(void *backend, mcds_capabilities *out)
{
    slow_capabilities(backend, out);
    out->durable = true;
}

static const mcds_backend durable_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "durable",
    .capabilities = durable_capabilities,
    .submit = here_submit,
};

struct ask {
    struct mcds__operation base;
    mcds_request request;
    uint64_t number;
    bool asked;
};

static enum mcds__step step_ask(struct mcds__operation *operation)
{
    struct ask *ask = (struct ask *)operation;
    if (ask->asked)
        return mcds__operation_finish(operation, MCDS_OK);
    ask->asked = true;
    ask->request = (mcds_request){.command = MCDS_INCR, .key = {"k", 1}, .delta = ask->number};
    return mcds__operation_ask(operation, &ask->request, 1);
}

static const struct mcds__operation_kind ask_kind = {"ask", "ask", sizeof(struct ask), step_ask,
                                                     NULL};

struct world {
    struct slow slow;
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct mcds__handle *handle; /* on nothing */
};

static void begin_at(struct world *world, const mcds_backend *backend, uint32_t at_once,
                     uint64_t mute_below)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->slow.fake, 1);
    world->slow.at_once = at_once;
    world->slow.mute_below = mute_below;
    world->slow.end = &world->slow.waiting;
    options.env = &world->slow.fake.env;
    depth.depth = DEPTH;
    assert_int_equal(mcds_open_backend(backend, &world->slow, &options, &world->store),
                     MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->pipeline), MCDS_OK);
    world->handle = mcds__handle_open("x", world->store, "x", sizeof *world->handle, NULL);
    assert_non_null(world->handle);
}

static void begin(struct world *world, uint32_t at_once, uint64_t mute_below)
{
    begin_at(world, &slow_backend, at_once, mute_below);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds__handle_release(world->handle);
    mcds_close(world->store);
    assert_int_equal(world->slow.fake.blocks, 0);
}

static void start(struct world *world, uint64_t number)
{
    int result = MCDS_OK;
    struct ask *ask = mcds__call_begin(NULL, &ask_kind, world->handle,
                                       MCDS__START(world->pipeline, number), &result);
    assert_non_null(ask);
    ask->number = number;
    ask->asked = false;
    assert_int_equal(mcds__call_launch(&ask->base, MCDS__START(world->pipeline, number)),
                     MCDS_OK);
}

static void run_all(struct world *world)
{
    uint64_t started = 0;
    mcds_completion done;
    for (uint64_t finished = 0; finished < OPERATIONS; finished++) {
        while (started < OPERATIONS && started - finished < DEPTH)
            start(world, started++);
        assert_int_equal(mcds_pipeline_next(world->pipeline, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_OK);
    }
}

static void small_replies_do_not_make_small_writes(void **state)
{
    static struct world world;
    (void)state;
    begin(&world, 3, 0);
    run_all(&world);
    assert_in_range(world.slow.submits, OPERATIONS / DEPTH, 5 * OPERATIONS / DEPTH);
    end(&world);
}

/* For an LMDB file that is one commit for each depth, not two. */
static void a_store_in_this_process_gets_the_whole_depth(void **state)
{
    static struct world world;
    (void)state;
    begin_at(&world, &durable_backend, 0, 0);
    run_all(&world);
    assert_int_equal(world.slow.submits, (OPERATIONS + DEPTH - 1) / DEPTH);
    end(&world);
}

/* Those that are done leave their memory to the next. */
static void a_store_without_commits_gets_few_at_once(void **state)
{
    static struct world world;
    (void)state;
    begin_at(&world, &here_backend, 0, 0);
    run_all(&world);
    assert_int_equal(world.slow.submits, (OPERATIONS + AT_ONCE - 1) / AT_ONCE);
    assert_in_range(world.slow.fake.allocations, 1, AT_ONCE + ALLOCATIONS);
    end(&world);
}

/* Most of the depth waits for a server that does not answer; the others do not. */
static void what_is_kept_is_sent_soon(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world, 3, DEPTH - 10);
    for (uint64_t i = 0; i < DEPTH - 10; i++)
        start(&world, i);
    for (uint64_t i = 0; i < 5; i++) {
        int64_t before_ns = world.slow.fake.monotonic_ns;
        start(&world, DEPTH + i);
        assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
        assert_int_equal(done.tag, DEPTH + i);
        assert_true(world.slow.fake.monotonic_ns - before_ns <= 11 * NS_PER_MS);
    }
    end(&world);
}

static void few_are_sent_at_once(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world, 1, DEPTH / 2 - 10);
    for (uint64_t i = 0; i < DEPTH / 2 - 10; i++)
        start(&world, i);
    assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_PENDING);
    int64_t before_ns = world.slow.fake.monotonic_ns;
    start(&world, DEPTH);
    assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.tag, DEPTH);
    assert_true(world.slow.fake.monotonic_ns == before_ns);
    end(&world);
}

/* The loop that comes to mind first: start, and take what has finished. */
static void poll_in_a_loop(const mcds_backend *backend)
{
    static struct world world;
    mcds_completion done;
    uint64_t finished = 0;
    begin_at(&world, backend, 3, 0);
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        start(&world, i);
        while (mcds_pipeline_poll(world.pipeline, &done) == MCDS_OK)
            finished++;
    }
    while (mcds_pipeline_next(world.pipeline, &done) == MCDS_OK)
        finished++;
    assert_int_equal(finished, OPERATIONS);
    assert_in_range(world.slow.submits, OPERATIONS / DEPTH, 5 * OPERATIONS / DEPTH);
    end(&world);
}

static void polling_after_each_start_makes_large_writes(void **state)
{
    (void)state;
    poll_in_a_loop(&slow_backend);
    poll_in_a_loop(&here_backend);
}

/* Also where others are under way. */
static void what_polling_keeps_is_sent_soon(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world, 1, 1);
    for (uint64_t i = 0; i < 2; i++) {
        start(&world, 2 * i);
        assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_PENDING);
        assert_int_equal(world.slow.submits, 2 * i);
        world.slow.fake.monotonic_ns += 2 * NS_PER_MS;
        start(&world, 2 * i + 1);
        assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_OK);
        assert_int_equal(world.slow.submits, 2 * i + 1);
        if (i > 0)
            assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_OK);
        start(&world, 10);
        assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_PENDING);
        assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_OK);
        assert_int_equal(world.slow.submits, 2 * i + 2);
    }
    end(&world);
}

/* A caller that polls twice has nothing to add. */
static void polling_twice_keeps_nothing(void **state)
{
    static struct world world;
    mcds_completion done;
    (void)state;
    begin(&world, 1, DEPTH - 10);
    for (uint64_t i = 0; i < DEPTH - 10; i++)
        start(&world, i);
    assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_PENDING);
    start(&world, DEPTH);
    assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_PENDING);
    assert_int_equal(mcds_pipeline_poll(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.tag, DEPTH);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_replies_do_not_make_small_writes),
        cmocka_unit_test(a_store_in_this_process_gets_the_whole_depth),
        cmocka_unit_test(a_store_without_commits_gets_few_at_once),
        cmocka_unit_test(what_is_kept_is_sent_soon),
        cmocka_unit_test(few_are_sent_at_once),
        cmocka_unit_test(polling_after_each_start_makes_large_writes),
        cmocka_unit_test(what_polling_keeps_is_sent_soon),
        cmocka_unit_test(polling_twice_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
