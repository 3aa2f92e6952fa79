/* An EXACT counter is closed while operations of a pipeline use it. The close sends what is left, or
 * the flush in flight does. Taking a completion and closing the pipeline send nothing and do not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/buffer.h"
#include "mcds.h"
#include "structures/counter/counter.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/server.h"

#define LATER_MS 3600000
#define TIMEOUT_MS 60000
#define PATIENCE_S 20 /* a call that waits for a server kills the test */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_pipeline *pipeline;
    mcds_counter *counter;
    uint64_t refused_from; /* the batch from which on requests are refused */
    bool closes;           /* the counter, while a get reads its last slot */
};

static mcds_counter *open_exact(mcds_store *store, uint32_t flush_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = flush_ms;
    assert_int_equal(mcds_counter_open(store, "n", &options, &counter), MCDS_OK);
    return counter;
}

static bool reads_the_last_slot(const struct world *world, const mcds_request *request)
{
    const struct mcds__replica *replica = world->counter->replica;
    return request->command == MCDS_GET &&
           mcds__bytes_same(request->key, mcds__key_bytes(&replica->keys[replica->slots - 1]));
}

static bool interfere(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->closes && reads_the_last_slot(world, request)) {
        world->closes = false;
        mcds_counter_close(world->counter);
    }
    if (world->backend.batches < world->refused_from)
        return false;
    request->reply.outcome = MCDS_OUT_FAILED;
    return true;
}

static void begin(struct world *world, uint32_t flush_ms)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->refused_from = UINT64_MAX;
    world->backend.hook = interfere;
    world->backend.context = world;
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &world->pipeline), MCDS_OK);
    world->counter = open_exact(world->store, flush_ms);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* What a handle reads that knows nothing. */
static int64_t value_of(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *reader = open_exact(world->store, LATER_MS);
    assert_int_equal(mcds_counter_get(reader, &value), MCDS_OK);
    assert_false(value.reborn);
    mcds_counter_close(reader);
    return value.value;
}

static int poll_result(mcds_pipeline *pipeline)
{
    mcds_completion done;
    int result;
    while ((result = mcds_pipeline_poll(pipeline, &done)) == MCDS_PENDING)
        continue;
    assert_int_equal(result, MCDS_OK);
    return done.result;
}

static void the_close_sends_what_is_left(void **state)
{
    struct world world;
    (void)state;
    begin(&world, LATER_MS);
    assert_int_equal(mcds_counter_add_start(world.counter, 3, NULL, world.pipeline, 0),
                     MCDS_OK);
    mcds_counter_close(world.counter);
    uint64_t batches = world.backend.batches;
    assert_true(batches > 0);
    assert_int_equal(poll_result(world.pipeline), MCDS_OK);
    assert_int_equal(world.backend.batches, batches);
    assert_int_equal(value_of(&world), 3);
    end(&world);
}

static void closing_a_pipeline_sends_nothing(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_COUNTER_FLUSH_EACH);
    assert_int_equal(mcds_counter_add_start(world.counter, 3, NULL, world.pipeline, 0),
                     MCDS_OK);
    mcds_counter_close(world.counter);
    mcds_pipeline_close(world.pipeline);
    world.pipeline = NULL;
    assert_int_equal(world.backend.batches, 0);
    end(&world);
}

/* 1 is stored, a flush of 2 is in flight, and 4 were added after it began. Returns the handle's slot. */
static uint32_t begin_in_flight(struct world *world)
{
    begin(world, LATER_MS);
    assert_int_equal(mcds_counter_add(world->counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_flush(world->counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(world->counter, 2, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_flush_start(world->counter, world->pipeline, 0), MCDS_OK);
    assert_int_equal(mcds_counter_add(world->counter, 4, NULL), MCDS_OK);
    return world->counter->replica->slot;
}

static void a_flush_in_flight_takes_what_is_left(void **state)
{
    struct world world;
    (void)state;
    uint32_t slot = begin_in_flight(&world);
    uint64_t batches = world.backend.batches;
    mcds_counter_close(world.counter);
    assert_int_equal(world.backend.batches, batches);
    assert_int_equal(poll_result(world.pipeline), MCDS_OK);
    assert_int_equal(world.backend.batches, batches + 2);
    assert_int_equal(value_of(&world), 7);
    /* A new writer gets the slot that one has left. */
    mcds_counter *next = open_exact(world.store, MCDS_COUNTER_FLUSH_EACH);
    assert_int_equal(mcds_counter_add(next, 8, NULL), MCDS_OK);
    assert_int_equal(next->replica->slot, slot);
    mcds_counter_close(next);
    assert_int_equal(value_of(&world), 15);
    end(&world);
}

static void a_flush_in_flight_keeps_its_result(void **state)
{
    struct world world;
    (void)state;
    (void)begin_in_flight(&world);
    mcds_counter_close(world.counter);
    world.refused_from = world.backend.batches + 2;
    assert_int_equal(poll_result(world.pipeline), MCDS_OK);
    world.refused_from = UINT64_MAX;
    assert_int_equal(value_of(&world), 3);
    end(&world);
}

/* The first add stores the others as well, and the close finds it in flight. */
/* The get has read the other slots before the close writes into one of them, and leaves it. */
static void check_get_beside_the_close(int64_t stored)
{
    struct world world;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_completion done;
    begin(&world, LATER_MS);
    mcds_counter *other = open_exact(world.store, MCDS_COUNTER_FLUSH_EACH);
    if (stored != 0)
        assert_int_equal(mcds_counter_add(other, stored, NULL), MCDS_OK);
    mcds_counter_close(other);
    assert_int_equal(mcds_counter_add(world.counter, 5, NULL), MCDS_OK);
    world.closes = true;
    assert_int_equal(mcds_counter_get_start(world.counter, &value, world.pipeline, 0), MCDS_OK);
    assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    assert_false(world.closes);
    assert_int_equal(value.value, stored + 5);
    assert_false(value.reborn);
    assert_int_equal(value_of(&world), stored + 5);
    end(&world);
}

static void a_get_in_flight_counts_what_the_close_sends(void **state)
{
    (void)state;
    check_get_beside_the_close(0);
    check_get_beside_the_close(1);
}

static void adds_that_wait_for_a_flush_end_with_it(void **state)
{
    struct world world;
    (void)state;
    begin(&world, MCDS_COUNTER_FLUSH_EACH);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcds_counter_add_start(world.counter, 1, NULL, world.pipeline, 0),
                         MCDS_OK);
    mcds_counter_close(world.counter);
    assert_int_equal(world.backend.batches, 0);
    for (int i = 0; i < 3; i++) {
        mcds_completion done;
        assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_OK);
    }
    assert_true(mcds_pipeline_is_idle(world.pipeline));
    assert_int_equal(value_of(&world), 3);
    end(&world);
}

static mcds_store *open_at(const struct server *server)
{
    char uri[256];
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    server_uri(server, uri, sizeof uri);
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    return store;
}

static void a_silent_server_stops_no_poll(void **state)
{
    struct server server = {0};
    mcds_pipeline *pipeline;
    mcds_completion done;
    (void)state;
    if (!server_is_installed("memcached") || !server_start_memcached_unix(&server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    mcds_store *store = open_at(&server);
    mcds_counter *later = open_exact(store, LATER_MS);
    mcds_counter *at_once = open_exact(store, MCDS_COUNTER_FLUSH_EACH);
    assert_int_equal(mcds_pipeline_open(store, NULL, &pipeline), MCDS_OK);
    assert_int_equal(mcds_counter_add_start(later, 1, NULL, pipeline, 1), MCDS_OK);
    mcds_counter_close(later);
    (void)alarm(PATIENCE_S);
    assert_true(server_pause(&server));
    assert_int_equal(mcds_pipeline_poll(pipeline, &done), MCDS_OK);
    assert_int_equal(done.tag, 1);
    assert_int_equal(done.result, MCDS_OK);
    assert_int_equal(mcds_counter_add_start(at_once, 1, NULL, pipeline, 2), MCDS_OK);
    assert_int_equal(mcds_pipeline_poll(pipeline, &done), MCDS_PENDING);
    mcds_counter_close(at_once);
    assert_int_equal(mcds_pipeline_poll(pipeline, &done), MCDS_PENDING);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    (void)alarm(0);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_close_sends_what_is_left),
        cmocka_unit_test(closing_a_pipeline_sends_nothing),
        cmocka_unit_test(a_flush_in_flight_takes_what_is_left),
        cmocka_unit_test(a_flush_in_flight_keeps_its_result),
        cmocka_unit_test(a_get_in_flight_counts_what_the_close_sends),
        cmocka_unit_test(adds_that_wait_for_a_flush_end_with_it),
        cmocka_unit_test(a_silent_server_stops_no_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
