/* Thousands of operations of one pipeline that append to the same list or log, with a handle that does
 * not know its end: one of them looks for it, and a segment that fills voids few of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "base/reason.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OPERATIONS 8000
/* A value of its own takes two. Those that are appended to a segment together share them. */
#define REQUESTS_MAX (OPERATIONS / 8)
/* The value that fills a segment is appended again, after some that were started later. */
#define LATE_MAX (OPERATIONS / 200)
#define TIMEOUT_MS 1000
#define STEP_MS 30
#define FEW 200
#define PEER "server-1:11211"

struct world {
    struct fake_env fake;
    struct fake_env inner;
    struct counting_backend counting;
    struct hooked_backend hooked;
    mcds_store *store;
    mcds_list *list;
    mcds_log *log;
    uint32_t obstacles; /* requests that are refused a connection */
    uint32_t unsent;
};

typedef int (*starter)(struct world *world, mcds_pipeline *pipeline, uint32_t i);

static mcds_bytes value_of(uint32_t i)
{
    static char value[16];
    (void)snprintf(value, sizeof value, "%u", (unsigned)i);
    return mcds_text(value);
}

static int start_push(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_list_push_start(world->list, value_of(i), pipeline, i);
}

static int start_put(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_log_put_start(world->log, 0, value_of(i), pipeline, i);
}

static const starter starters[] = {start_push, start_put};
#define STARTERS (sizeof starters / sizeof starters[0])

static void open_structures(struct world *world)
{
    assert_int_equal(mcds_list_open(world->store, "l", NULL, &world->list), MCDS_OK);
    assert_int_equal(mcds_log_open(world->store, "g", NULL, &world->log), MCDS_OK);
}

static void close_structures(struct world *world)
{
    mcds_list_close(world->list);
    mcds_log_close(world->log);
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 7);
    fake_env_init(&world->inner, 8);
    options.env = &world->fake.env;
    assert_int_equal(counting_backend_open(&world->counting, "memory:", &world->inner.env,
                                           &options, &world->store),
                     MCDS_OK);
    open_structures(world);
}

static void end(struct world *world)
{
    close_structures(world);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_pipeline *open_pipeline(struct world *world, uint32_t depth)
{
    mcds_pipeline *pipeline;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = depth;
    assert_int_equal(mcds_pipeline_open(world->store, &options, &pipeline), MCDS_OK);
    return pipeline;
}

/* What a reader finds. */
struct found {
    uint32_t seen[OPERATIONS];
    uint32_t newest;
    uint32_t late; /* values that come after a later one */
};

static void note(struct found *found, mcds_bytes value)
{
    char text[16] = {0};
    assert_true(value.length < sizeof text);
    memcpy(text, value.data, value.length);
    unsigned long i = strtoul(text, NULL, 10);
    assert_true(i < OPERATIONS);
    found->seen[i]++;
    found->late += i < found->newest;
    found->newest = i > found->newest ? (uint32_t)i : found->newest;
}

static bool note_value(void *context, mcds_bytes value)
{
    note(context, value);
    return true;
}

static bool note_event(void *context, const mcds_log_event *event)
{
    note(context, event->event);
    return true;
}

/* Each value is there once, and most of them in the order in which they were started. */
static void check_found(struct world *world, starter start)
{
    struct found *found = calloc(1, sizeof *found);
    assert_non_null(found);
    if (start == start_push)
        assert_int_equal(mcds_list_scan(world->list, 0, 0, note_value, found), MCDS_OK);
    else
        assert_int_equal(mcds_log_scan(world->log, NULL, note_event, found, NULL), MCDS_OK);
    for (uint32_t i = 0; i < OPERATIONS; i++)
        assert_int_equal(found->seen[i], 1);
    assert_in_range(found->late, 0, LATE_MAX);
    free(found);
}

static void run(struct world *world, starter start, uint32_t depth)
{
    mcds_completion done;
    uint32_t ok = 0;
    int64_t began_ns = world->fake.monotonic_ns;
    mcds_pipeline *pipeline = open_pipeline(world, depth);
    counting_backend_arm(&world->counting, FAULT_NONE, 0, false);
    for (uint32_t i = 0; i < OPERATIONS; i++)
        assert_int_equal(start(world, pipeline, i), MCDS_OK);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        ok += done.result == MCDS_OK;
    mcds_pipeline_close(pipeline);
    assert_int_equal(ok, OPERATIONS);
    assert_in_range(world->counting.requests, 0, REQUESTS_MAX);
    assert_int_equal(world->fake.monotonic_ns, began_ns);
}

static void check(starter start)
{
    static const uint32_t depths[] = {128, 1024, 4096, 65536};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        struct world world;
        begin(&world);
        run(&world, start, depths[i]);
        check_found(&world, start);
        end(&world);
    }
}

static void pushes_to_a_list(void **state)
{
    (void)state;
    check(start_push);
}

static void puts_to_a_log(void **state)
{
    (void)state;
    check(start_put);
}

/* The first is in a pipeline that nobody drives. */
static void pipelines_do_not_wait_for_each_other(void **state)
{
    (void)state;
    for (size_t s = 0; s < STARTERS; s++) {
        struct world world;
        mcds_completion done;
        begin(&world);
        mcds_pipeline *stuck = open_pipeline(&world, 128);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(starters[s](&world, stuck, i), MCDS_OK);
        int64_t began_ns = world.fake.monotonic_ns;
        mcds_pipeline *other = open_pipeline(&world, 128);
        assert_int_equal(starters[s](&world, other, 0), MCDS_OK);
        assert_int_equal(mcds_pipeline_next(other, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_OK);
        assert_int_equal(mcds_list_push(world.list, mcds_text("v")), MCDS_OK);
        assert_int_equal(mcds_log_put(world.log, 0, mcds_text("v")), MCDS_OK);
        assert_int_equal(world.fake.monotonic_ns, began_ns);
        mcds_pipeline_close(other);
        mcds_pipeline_close(stuck);
        end(&world);
    }
}

/* With operations in line, whichever is closed first. */
static void handles_and_pipelines_close(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2 * STARTERS; order++) {
        struct world world;
        begin(&world);
        mcds_pipeline *pipeline = open_pipeline(&world, 4096);
        for (uint32_t i = 0; i < FEW; i++)
            assert_int_equal(starters[order / 2](&world, pipeline, i), MCDS_OK);
        if (order % 2 == 0)
            mcds_pipeline_close(pipeline);
        close_structures(&world);
        if (order % 2 != 0)
            mcds_pipeline_close(pipeline);
        open_structures(&world);
        assert_int_equal(mcds_list_push(world.list, mcds_text("v")), MCDS_OK);
        assert_int_equal(mcds_log_put(world.log, 0, mcds_text("v")), MCDS_OK);
        end(&world);
    }
}

static bool keep_back(void *context, mcds_request *request)
{
    struct world *world = context;
    bool is_obstacle = world->unsent++ < world->obstacles;
    fake_env_advance_ms(&world->fake, STEP_MS);
    request->reply.outcome = MCDS_OUT_UNSENT;
    request->reply.detail = is_obstacle ? MCDS__WHY(CONNECTION_REFUSED)
                                        : MCDS__WHY(PAST_DEADLINE);
    request->reply.peer = is_obstacle ? PEER : NULL;
    return true;
}

static void check_unsent(starter start, uint32_t obstacles, int result, mcds_cause cause,
                         const char *peer)
{
    struct world world;
    mcds_completion done;
    mcds_options options = MCDS_OPTIONS_INIT;
    uint32_t ended = 0;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 3);
    options.env = &world.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world.hooked, &options, &world.store), MCDS_OK);
    open_structures(&world);
    world.hooked.context = &world;
    world.hooked.hook = keep_back;
    world.obstacles = obstacles;
    int64_t latest_ns = world.fake.monotonic_ns + (TIMEOUT_MS + 2 * STEP_MS) * NS_PER_MS;
    mcds_pipeline *pipeline = open_pipeline(&world, 4096);
    for (uint32_t i = 0; i < FEW; i++)
        assert_int_equal(start(&world, pipeline, i), MCDS_OK);
    for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK; ended++) {
        const mcds_error *error = mcds_last_error();
        assert_int_equal(done.result, result);
        assert_string_equal(mcds_cause_name((int)error->cause), mcds_cause_name((int)cause));
        assert_string_equal(error->peer, peer);
    }
    assert_int_equal(ended, FEW);
    assert_true(world.fake.monotonic_ns <= latest_ns);
    mcds_pipeline_close(pipeline);
    end(&world);
}

/* Those that wait for the one that is refused a connection name the same cause. */
static void what_waits_names_the_obstacle(void **state)
{
    (void)state;
    for (size_t s = 0; s < STARTERS; s++) {
        check_unsent(starters[s], UINT32_MAX, MCDS_UNAVAILABLE, MCDS_CAUSE_CONNECTION_REFUSED,
                     PEER);
        check_unsent(starters[s], 0, MCDS_TIMEOUT, MCDS_CAUSE_TIMEOUT, "");
    }
}

#define SEVERAL 2000
#define MANY 5
#define LARGE 14000

/* Several values at once; some of them are large, so that a segment takes few. */
static int start_several(struct world *world, bool is_log, mcds_pipeline *pipeline, uint32_t i,
                         uint32_t *random)
{
    static const char bytes[LARGE];
    static mcds_bytes all[SEVERAL][MANY]; /* read until the operation ends */
    mcds_bytes *values = all[i];
    *random = *random * 1103515245 + 12345;
    uint32_t count = 1 + (*random >> 16) % MANY;
    for (uint32_t v = 0; v < count; v++) {
        *random = *random * 1103515245 + 12345;
        uint32_t chance = (*random >> 16) % 100;
        values[v] = (mcds_bytes){bytes, chance < 10 ? LARGE : chance < 40 ? 40 * chance : 20};
    }
    return is_log ? mcds_log_put_many_start(world->log, 0, values, count, NULL, pipeline, i)
                  : mcds_list_push_many_start(world->list, values, count, NULL, pipeline, i);
}

/* One that waits for the room that it has just left must not wake itself: nothing would be sent any
 * more, and the time of this pass would not go by. */
static void values_of_all_lengths_end(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 4; run++) {
        struct world world;
        mcds_completion done;
        mcds_options options = MCDS_OPTIONS_INIT;
        uint32_t random = run, ended = 0;
        memset(&world, 0, sizeof world);
        fake_env_init(&world.fake, 3);
        options.env = &world.fake.env;
        assert_int_equal(mcds_open("memory:", &options, &world.store), MCDS_OK);
        open_structures(&world);
        mcds_pipeline *pipeline = open_pipeline(&world, run < 2 ? 64 : 2);
        for (uint32_t i = 0; i < SEVERAL; i++)
            assert_int_equal(start_several(&world, run % 2 == 0, pipeline, i, &random),
                             MCDS_OK);
        for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK; ended++) {
            if (done.result != MCDS_OK)
                print_message("run %u, operation %u: %s\n", (unsigned)run, (unsigned)done.tag,
                              mcds_errmsg());
            assert_int_equal(done.result, MCDS_OK);
        }
        assert_int_equal(ended, SEVERAL);
        mcds_pipeline_close(pipeline);
        end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_to_a_list),
        cmocka_unit_test(puts_to_a_log),
        cmocka_unit_test(pipelines_do_not_wait_for_each_other),
        cmocka_unit_test(handles_and_pipelines_close),
        cmocka_unit_test(what_waits_names_the_obstacle),
        cmocka_unit_test(values_of_all_lengths_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
