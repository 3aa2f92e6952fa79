/* Two pipelines of one thread on one handle, of which only one is driven: its operations end well,
 * although some of the other use the place for which they wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"

#define COUNT 40 /* fewer than an undriven pipeline sends by itself */
#define DEPTH 60
#define TIMEOUT_MS 8000
#define JOBS 30
#define ELEMENT 200
#define LENGTH 700 /* so that the other pipeline has much under way, and no key splits */

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_pipeline *driven;
    mcds_pipeline *other;
};

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    depth.depth = DEPTH;
    assert_int_equal(mcds_open("memory:", &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->driven), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->other), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->driven);
    mcds_pipeline_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_bytes value(void)
{
    static char bytes[LENGTH];
    memset(bytes, 'v', sizeof bytes);
    return (mcds_bytes){bytes, sizeof bytes};
}

static mcds_queue *queue;
static mcds_table *table;
static mcds_set *set;

/* One structure, whose handle both pipelines use. */
struct user {
    void (*open)(const struct world *world);
    int (*call)(void); /* waits */
    void (*start)(mcds_pipeline *pipeline);
    void (*close)(void);
};

static void open_queue(const struct world *world)
{
    assert_int_equal(mcds_queue_open(world->store, "name", NULL, &queue), MCDS_OK);
}

static int push_and_next(void)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value bytes = MCDS_VALUE_INIT;
    int result = mcds_queue_push(queue, mcds_text("job"), 0);
    if (result == MCDS_OK)
        result = mcds_queue_next(queue, 0, &job, &bytes);
    mcds_value_free(&bytes);
    return result;
}

static void start_pushes(mcds_pipeline *pipeline)
{
    static mcds_bytes jobs[JOBS];
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = mcds_text("a job of some bytes");
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(mcds_queue_push_many_start(queue, jobs, JOBS, 0, NULL, pipeline, i),
                         MCDS_OK);
}

static void close_queue(void)
{
    mcds_queue_close(queue);
}

static void open_table(const struct world *world)
{
    assert_int_equal(mcds_table_open(world->store, "name", NULL, &table), MCDS_OK);
}

static int put_value(void)
{
    return mcds_table_put(table, mcds_text("same"), value(), 0);
}

/* As many bytes as are sent to one key at once, and more. */
static void start_puts(mcds_pipeline *pipeline)
{
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(
            mcds_table_put_start(table, mcds_text("same"), value(), 0, pipeline, i), MCDS_OK);
}

static void close_table(void)
{
    mcds_table_close(table);
}

static void open_set(const struct world *world)
{
    assert_int_equal(mcds_set_open(world->store, "name", NULL, &set), MCDS_OK);
}

/* An element that was not added before. */
static mcds_bytes next_element(void)
{
    static uint32_t number;
    static char element[ELEMENT];
    memset(element, 'e', sizeof element);
    memcpy(element, &number, sizeof number);
    number++;
    return (mcds_bytes){element, sizeof element};
}

static int add_element(void)
{
    bool added;
    return mcds_set_add(set, next_element(), &added);
}

/* Keys of them are split. */
static void start_adds(mcds_pipeline *pipeline)
{
    static bool added[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(mcds_set_add_start(set, next_element(), &added[i], pipeline, i),
                         MCDS_OK);
}

static void close_set(void)
{
    mcds_set_close(set);
}

static const struct user users[] = {
    {open_queue, push_and_next, start_pushes, close_queue},
    {open_table, put_value, start_puts, close_table},
    {open_set, add_element, start_adds, close_set},
};
#define USERS (sizeof users / sizeof *users)

/* The other pipeline has operations in flight, and is left alone after some polls. */
static void begin_user(struct world *world, const struct user *user, bool is_known,
                       uint32_t polls)
{
    mcds_completion done;
    begin(world);
    user->open(world);
    if (is_known)
        assert_int_equal(user->call(), MCDS_OK);
    user->start(world->other);
    for (uint32_t i = 0; i < polls; i++)
        assert_true(mcds_pipeline_poll(world->other, &done) >= MCDS_OK);
}

static void take_all(struct world *world)
{
    mcds_completion done;
    uint32_t count = 0;
    int64_t began_ns = world->fake.monotonic_ns;
    for (; mcds_pipeline_next(world->driven, &done) == MCDS_OK; count++)
        if (done.result != MCDS_OK)
            fail_msg("%u: %s", count, mcds_errmsg());
    assert_int_equal(count, COUNT);
    assert_true(world->fake.monotonic_ns - began_ns < TIMEOUT_MS * INT64_C(1000000) / 2);
}

static void play_pipeline(const struct user *user, bool is_known, uint32_t polls)
{
    struct world world;
    begin_user(&world, user, is_known, polls);
    user->start(world.driven);
    take_all(&world);
    user->close();
    end(&world);
}

/* Only the first call waits for the other pipeline. */
static void play_calls(const struct user *user, bool is_known, uint32_t polls)
{
    struct world world;
    begin_user(&world, user, is_known, polls);
    for (uint32_t i = 0; i < 4; i++) {
        int64_t began_ns = world.fake.monotonic_ns;
        int result = user->call();
        int64_t ms = (world.fake.monotonic_ns - began_ns) / 1000000;
        if (result != MCDS_OK)
            fail_msg("call %u after %u polls: %s", i, polls, mcds_errmsg());
        if (ms > TIMEOUT_MS / (i == 0 ? 3 : 20))
            fail_msg("call %u after %u polls: %d ms", i, polls, (int)ms);
    }
    user->close();
    end(&world);
}

typedef void play_fn(const struct user *user, bool is_known, uint32_t polls);

static void play_all(play_fn *play)
{
    for (size_t i = 0; i < USERS; i++)
        for (uint32_t polls = 0; polls < 2 * COUNT; polls += polls < 12 ? 1 : 7) {
            play(&users[i], false, polls);
            play(&users[i], true, polls);
        }
}

static void another_pipeline_continues(void **state)
{
    (void)state;
    play_all(play_pipeline);
}

static void waiting_calls_continue(void **state)
{
    (void)state;
    play_all(play_calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_pipeline_continues),
        cmocka_unit_test(waiting_calls_continue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
