/* An append that is NOT_STORED: memcached says so where it has no memory, and where the key was
 * missing and another has made it since. Only the first is MCDS_FULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_home.h"

#define ROOM 65536
#define RACES_MAX 6
#define TIMEOUT_MS 50
#define TRIPS_MAX 12 /* until a full store is known to be full */

enum kind { LIST, LOG, SET, KINDS };

struct world {
    struct fake_env fake;
    struct hooked_home home;
    mcds_store *store;
    mcds_list *list;
    mcds_log *log;
    mcds_set *set;
    uint32_t races; /* appends that are still to meet another writer */
    uint32_t met;
    bool is_full;
};

static mcds_reply ask(struct world *world, mcds_request request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = &request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__home_memory.submit(world->home.inner, &batch);
    return request.reply;
}

/* The key was missing when the append came; then another has made it. */
static void race(struct world *world, mcds_request *request)
{
    static uint8_t room[ROOM];
    mcds_buffer values;
    mcds__buffer_init_in(&values, &world->fake.env, ROOM, room, ROOM);
    mcds_reply held = ask(world, (mcds_request){.command = MCDS_GET, .key = request->key},
                          &values);
    assert_int_equal(held.outcome, MCDS_OUT_OK);
    (void)ask(world, (mcds_request){.command = MCDS_DELETE, .key = request->key}, NULL);
    mcds__home_memory.submit(world->home.inner, world->home.batch);
    assert_int_equal(request->reply.outcome, MCDS_OUT_NOT_STORED);
    mcds_request add = {.command = MCDS_ADD,
                        .flags = held.flags,
                        .key = request->key,
                        .value = {values.at + held.value_at, held.value_length}};
    assert_int_equal(ask(world, add, NULL).outcome, MCDS_OUT_OK);
    world->met++;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command != MCDS_APPEND)
        return false;
    if (world->is_full) {
        request->reply.outcome = MCDS_OUT_NOT_STORED;
        return true;
    }
    if (world->races == 0)
        return false;
    world->races--;
    race(world, request);
    return true;
}

static int change(struct world *world)
{
    mcds_bytes bytes = mcds_text("value");
    if (world->list != NULL)
        return mcds_list_push(world->list, bytes);
    if (world->log != NULL)
        return mcds_log_put(world->log, 0, bytes);
    return mcds_set_add(world->set, bytes, NULL);
}

static void begin(struct world *world, enum kind kind)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, kind);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_home_open(&world->home, &options, &world->store), MCDS_OK);
    world->home.hook = hook;
    world->home.context = world;
    if (kind == LIST)
        assert_int_equal(mcds_list_open(world->store, "x", NULL, &world->list), MCDS_OK);
    else if (kind == LOG)
        assert_int_equal(mcds_log_open(world->store, "x", NULL, &world->log), MCDS_OK);
    else
        assert_int_equal(mcds_set_open(world->store, "x", NULL, &world->set), MCDS_OK);
    assert_int_equal(change(world), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_list_close(world->list);
    mcds_log_close(world->log);
    mcds_set_close(world->set);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void a_race_of_two_writers_is_not_full(void **state)
{
    static struct world world;
    (void)state;
    for (enum kind kind = LIST; kind < KINDS; kind++)
        for (uint32_t races = 1; races <= RACES_MAX; races++) {
            begin(&world, kind);
            world.races = races;
            int result = change(&world);
            assert_int_equal(world.met, races);
            assert_int_equal(result, MCDS_OK);
            end(&world);
        }
}

static void a_store_without_memory_is_full_at_once(void **state)
{
    static struct world world;
    (void)state;
    for (enum kind kind = LIST; kind < KINDS; kind++) {
        begin(&world, kind);
        int64_t begin_ns = world.fake.monotonic_ns;
        world.is_full = true;
        world.home.batches = 0;
        assert_int_equal(change(&world), MCDS_FULL);
        assert_non_null(strstr(mcds_errmsg(), "no memory"));
        assert_true(world.home.batches <= TRIPS_MAX);
        assert_int_equal(world.fake.monotonic_ns, begin_ns);
        world.is_full = false;
        assert_int_equal(change(&world), MCDS_OK);
        end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_of_two_writers_is_not_full),
        cmocka_unit_test(a_store_without_memory_is_full_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
