/* Pipelines in the loops of other libraries: everything ends, even if a server dies; a thread
 * holds a thousand waiting locks, and a hundred thousand operations use bounded memory. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "loops/loop.h"
#include "support/server.h"

#define SKIPPED 77
#define ADDS 20000
#define ADDS_BEFORE_LEAVING 50
#define ADDS_MAX 100000000 /* more than any machine makes in the 20 ms before the server dies */
#define LOCKS 1000
#define MANY 100000
#define FAILURES 1000 /* are enough */
/* What one operation under way may take, with all that belongs to it. */
#define BYTES_MAX 6000

static const struct loop *const loops[] = {
    &loop_poll,
#ifdef LOOP_UV
    &loop_uv,
#endif
#ifdef LOOP_EVENT
    &loop_event,
#endif
};
#define LOOP_COUNT (sizeof loops / sizeof loops[0])

static struct server server;
static char uri[160];

/* What finishes. */
struct tally {
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    uint32_t left; /* to be started by completions */
    uint32_t done;
    uint32_t failed;
    int wrong;          /* a result that cannot be */
    char sentence[256]; /* of the last that failed */
};

static void count_done(void *context, const mcds_completion *done)
{
    struct tally *tally = context;
    tally->done++;
    if (done->result < 0)
        (void)snprintf(tally->sentence, sizeof tally->sentence, "%s", mcds_errmsg());
    if (done->result == MCDS_TIMEOUT || done->result == MCDS_UNAVAILABLE ||
        done->result == MCDS_AMBIGUOUS)
        tally->failed++;
    else if (done->result != MCDS_OK)
        tally->wrong = done->result;
    if (tally->left == 0 || tally->failed >= FAILURES)
        return;
    tally->left--;
    assert_int_equal(mcds_counter_add_start(tally->counter, 1, NULL, tally->pipeline, 0),
                     MCDS_OK);
}

static mcds_pipeline *open_pipeline(mcds_store *store, uint32_t depth)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_pipeline *pipeline = NULL;
    options.depth = depth;
    assert_int_equal(mcds_pipeline_open(store, &options, &pipeline), MCDS_OK);
    return pipeline;
}

static void play_adds(const struct loop *loop, const char *where)
{
    struct tally tally = {.left = ADDS};
    mcds_store *store;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_open(where, NULL, &store), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, loop->name, NULL, &tally.counter), MCDS_OK);
    tally.pipeline = open_pipeline(store, 256);
    for (int i = 0; i < 200; i++, tally.left--)
        assert_int_equal(mcds_counter_add_start(tally.counter, 1, NULL, tally.pipeline, 0),
                         MCDS_OK);
    loop->run(&tally.pipeline, 1, count_done, NULL, 0, &tally);
    assert_int_equal(tally.done, ADDS);
    assert_string_equal(tally.sentence, "");
    assert_int_equal(mcds_counter_get(tally.counter, &value), MCDS_OK);
    assert_int_equal(value.value, ADDS);
    mcds_pipeline_close(tally.pipeline);
    mcds_counter_close(tally.counter);
    mcds_close(store);
}

static void adds_in_each_loop(void **state)
{
    char fixture[16];
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT; i++) {
        (void)snprintf(fixture, sizeof fixture, "memory:loop%d", (int)i);
        play_adds(loops[i], fixture);
        play_adds(loops[i], uri);
    }
}

/* Others hold the locks, and let them go when the loop has run for a while. */
static mcds_lock *held[LOCKS];
static mcds_lease leases[LOCKS];

static void let_go(void)
{
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(mcds_lock_release(held[i], &leases[i]), MCDS_OK);
}

static void play_locks(const struct loop *loop)
{
    static mcds_lock *waiting[LOCKS];
    static mcds_lease granted[LOCKS];
    struct tally tally = {0};
    mcds_store *stores[2];
    char name[32];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = 60000; /* a server may not run for a second on a busy machine */
    for (int i = 0; i < 2; i++)
        assert_int_equal(mcds_open(uri, &options, &stores[i]), MCDS_OK);
    mcds_pipeline *pipeline = open_pipeline(stores[1], LOCKS);
    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "%s %d", loop->name, i);
        leases[i] = granted[i] = (mcds_lease)MCDS_LEASE_INIT;
        assert_int_equal(mcds_lock_open(stores[0], name, NULL, &held[i]), MCDS_OK);
        assert_int_equal(mcds_lock_try_acquire(held[i], &leases[i]), MCDS_OK);
        assert_int_equal(mcds_lock_open(stores[1], name, NULL, &waiting[i]), MCDS_OK);
        assert_int_equal(
            mcds_lock_acquire_start(waiting[i], 60000, &granted[i], pipeline, (uint64_t)i),
            MCDS_OK);
    }
    loop->run(&pipeline, 1, count_done, let_go, 200, &tally);
    assert_int_equal(tally.done, LOCKS);
    assert_string_equal(tally.sentence, "");
    for (int i = 0; i < LOCKS; i++) {
        assert_true(granted[i].fence > leases[i].fence);
        mcds_lock_close(held[i]);
        mcds_lock_close(waiting[i]);
    }
    mcds_pipeline_close(pipeline);
    for (int i = 0; i < 2; i++)
        mcds_close(stores[i]);
}

static void a_thousand_locks_wait_in_each_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT; i++)
        play_locks(loops[i]);
}

static void kill_server(void)
{
    server_kill(&server);
}

/* The store is asked while its server dies: each call ends, and the loop with them. */
static void everything_ends_when_the_server_dies(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT; i++) {
        struct tally tally = {.left = ADDS_MAX};
        mcds_store *store;
        mcds_options options = MCDS_OPTIONS_INIT;
        options.timeout_ms = 200;
        assert_true(server_restart(&server));
        assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
        assert_int_equal(mcds_counter_open(store, "dying", NULL, &tally.counter), MCDS_OK);
        tally.pipeline = open_pipeline(store, 256);
        for (int n = 0; n < 200; n++, tally.left--)
            assert_int_equal(mcds_counter_add_start(tally.counter, 1, NULL, tally.pipeline, 0),
                             MCDS_OK);
        loops[i]->run(&tally.pipeline, 1, count_done, kill_server, 20, &tally);
        assert_int_equal(tally.done, ADDS_MAX - tally.left);
        assert_int_equal(tally.wrong, 0);
        assert_true(tally.failed >= FAILURES);
        mcds_pipeline_close(tally.pipeline);
        mcds_counter_close(tally.counter);
        mcds_close(store);
    }
    assert_true(server_restart(&server));
}

struct leaving {
    mcds_store *store;
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    uint32_t done;
    uint32_t closed;
};

static bool count_until_leaving(void *context)
{
    struct leaving *leaving = context;
    leaving->done++;
    return leaving->done < ADDS_BEFORE_LEAVING;
}

static void close_all(void *context)
{
    struct leaving *leaving = context;
    mcds_close(leaving->store);
    mcds_counter_close(leaving->counter);
    mcds_pipeline_close(leaving->pipeline);
    leaving->closed++;
}

/* The taker of a completion leaves the loop and closes everything, though others are in flight. */
static void everything_closes_within_the_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT * 2; i++) {
        struct leaving leaving = {0};
        assert_int_equal(mcds_open(i % 2 == 0 ? uri : "memory:", NULL, &leaving.store),
                         MCDS_OK);
        assert_int_equal(mcds_counter_open(leaving.store, "left", NULL, &leaving.counter),
                         MCDS_OK);
        leaving.pipeline = open_pipeline(leaving.store, 256);
        for (int n = 0; n < 200; n++)
            assert_int_equal(
                mcds_counter_add_start(leaving.counter, 1, NULL, leaving.pipeline, 0), MCDS_OK);
        loops[i / 2]->leave(leaving.pipeline, count_until_leaving, close_all, &leaving);
        assert_int_equal(leaving.closed, 1);
        assert_int_equal(leaving.done, ADDS_BEFORE_LEAVING);
    }
}

static void start_add(void *context)
{
    struct tally *tally = context;
    assert_int_equal(mcds_counter_add_start(tally->counter, 1, NULL, tally->pipeline, 0),
                     MCDS_OK);
}

static const char *play_late(const struct loop *loop, const char *where, int way)
{
    struct tally tally = {0};
    mcds_store *store;
    assert_int_equal(mcds_open(where, NULL, &store), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "late", NULL, &tally.counter), MCDS_OK);
    tally.pipeline = open_pipeline(store, 256);
    const char *name = loop->start_late(tally.pipeline, way, start_add, count_done, &tally);
    if (name != NULL && tally.done != 1)
        fail_msg("%s, %s, started from '%s': %u completions", loop->name, where, name,
                 tally.done);
    assert_true(mcds_pipeline_is_idle(tally.pipeline));
    mcds_pipeline_close(tally.pipeline);
    mcds_counter_close(tally.counter);
    mcds_close(store);
    return name;
}

/* The loop has become idle. An operation that is started after that keeps it alive, from wherever it
 * is started, and the loop ends when the operation has finished. */
static void a_late_start_keeps_each_loop_alive(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT; i++) {
        int way = 0;
        for (; play_late(loops[i], uri, way) != NULL; way++)
            assert_non_null(play_late(loops[i], "memory:", way));
        assert_true(way > 0);
    }
}

/* A loop that cannot watch the pipeline's file descriptor looks at it from time to time. */
static void an_unwatched_pipeline_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOOP_COUNT; i++) {
        struct tally tally = {.left = ADDS_BEFORE_LEAVING};
        mcds_store *store;
        mcds_options options = MCDS_OPTIONS_INIT;
        options.timeout_ms = 60000;
        if (loops[i]->run_unwatched == NULL)
            continue;
        assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
        assert_int_equal(mcds_counter_open(store, "unwatched", NULL, &tally.counter), MCDS_OK);
        tally.pipeline = open_pipeline(store, 256);
        if (!loops[i]->run_unwatched(tally.pipeline, start_add, count_done, &tally) ||
            tally.done != ADDS_BEFORE_LEAVING + 1)
            fail_msg("%s: %u completions", loops[i]->name, tally.done);
        assert_string_equal(tally.sentence, "");
        mcds_pipeline_close(tally.pipeline);
        mcds_counter_close(tally.counter);
        mcds_close(store);
    }
}

#ifdef LOOP_EVENT
/* libevent has no memory for the adapter. The pipeline does not refer to the adapter then. */
static void an_attach_without_memory_leaves_nothing(void **state)
{
    int code = -1;
    (void)state;
    for (int allowed = 0; code != 0; allowed++) {
        struct tally tally = {0};
        mcds_store *store;
        mcds_completion done;
        uint32_t count = 0;
        assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
        assert_int_equal(mcds_counter_open(store, "attached", NULL, &tally.counter), MCDS_OK);
        tally.pipeline = open_pipeline(store, 256);
        start_add(&tally);
        code = loop_event_attach(tally.pipeline, allowed);
        assert_in_range(code + 1, 0, 1);
        assert_true(code != 0 || allowed > 0);
        start_add(&tally);
        while (mcds_pipeline_next(tally.pipeline, &done) == MCDS_OK)
            count++;
        assert_int_equal(count, 2);
        mcds_pipeline_close(tally.pipeline);
        mcds_counter_close(tally.counter);
        mcds_close(store);
    }
}
#endif

/* The memory that a store and its handles have allocated. */
static size_t bytes;
static size_t bytes_most;

static void *count_memory(void *self, void *memory, size_t length)
{
    const mcds_env *env = mcds_env_system();
    (void)self;
    bytes -= memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = env->reallocate(env->self, memory, length);
    void *stays = moved != NULL || length == 0 ? moved : memory;
    bytes += stays != NULL ? malloc_usable_size(stays) : 0;
    bytes_most = bytes > bytes_most ? bytes : bytes_most;
    return moved;
}

static void many_operations_take_bounded_memory(void **state)
{
    struct tally tally = {0};
    mcds_env env = *mcds_env_system();
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    mcds_pipeline *pipelines[2];
    (void)state;
    env.reallocate = count_memory;
    options.env = &env;
    options.timeout_ms = 60000;
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "many", NULL, &tally.counter), MCDS_OK);
    for (int i = 0; i < 2; i++)
        pipelines[i] = open_pipeline(store, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcds_counter_add_start(tally.counter, 1, NULL, pipelines[i % 2], 0),
                         MCDS_OK);
    loop_poll.run(pipelines, 2, count_done, NULL, 0, &tally);
    assert_int_equal(tally.done, MANY);
    assert_string_equal(tally.sentence, "");
    print_message("%d operations under way: %zu bytes each at most\n", MANY, bytes_most / MANY);
    assert_true(bytes_most < (size_t)MANY * BYTES_MAX);
    for (int i = 0; i < 2; i++)
        mcds_pipeline_close(pipelines[i]);
    mcds_counter_close(tally.counter);
    mcds_close(store);
    assert_int_equal(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_in_each_loop),
        cmocka_unit_test(a_thousand_locks_wait_in_each_loop),
        cmocka_unit_test(everything_ends_when_the_server_dies),
        cmocka_unit_test(everything_closes_within_the_loop),
        cmocka_unit_test(a_late_start_keeps_each_loop_alive),
        cmocka_unit_test(an_unwatched_pipeline_ends),
#ifdef LOOP_EVENT
        cmocka_unit_test(an_attach_without_memory_leaves_nothing),
#endif
        cmocka_unit_test(many_operations_take_bounded_memory),
    };
#ifdef LOOP_EVENT
    loop_event_begin();
#endif
    if (!server_is_installed("memcached") || !server_start_memcached(&server)) {
        (void)puts("skipped: memcached is not installed");
        return SKIPPED;
    }
    server_uri(&server, uri, sizeof uri);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    server_stop(&server);
    return failed;
}
