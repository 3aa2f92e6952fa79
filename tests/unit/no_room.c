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
#include "support/hooked_backend.h"

#define CAPACITY 65536
#define RACES_MAX 6
#define TIMEOUT_MS 50
#define TRIPS_MAX 12 /* until a full store is known to be full */
#define LENGTH 500
#define PEER "cache:11211"
#define REFUSED 5 /* pushes that are refused in a row */

enum kind { LIST, LOG, SET, KINDS };

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_list *list;
    mcds_log *log;
    mcds_set *set;
    uint32_t races; /* appends that are still to meet another writer */
    uint32_t met;
    bool is_full;
    bool lends;       /* it keeps room for requests that make room */
    size_t longest;   /* no value gets longer; 0: any */
    bool has_no_root; /* there is no memory to write a root again */
};

static mcds_reply ask(struct world *world, mcds_request request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = &request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    return request.reply;
}

/* The key was missing when the append came; then another has made it. */
static void race(struct world *world, mcds_request *request)
{
    static uint8_t capacity[CAPACITY];
    mcds_buffer values;
    mcds__buffer_init_in(&values, &world->fake.env, CAPACITY, capacity, CAPACITY);
    mcds_reply held = ask(world, (mcds_request){.command = MCDS_GET, .key = request->key},
                          &values);
    assert_int_equal(held.outcome, MCDS_OUT_OK);
    (void)ask(world, (mcds_request){.command = MCDS_DELETE, .key = request->key}, NULL);
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    assert_int_equal(request->reply.outcome, MCDS_OUT_NOT_STORED);
    mcds_request add = {.command = MCDS_ADD,
                        .flags = held.flags,
                        .key = request->key,
                        .value = {values.data + held.value_at, held.value_length}};
    assert_int_equal(ask(world, add, NULL).outcome, MCDS_OUT_OK);
    world->met++;
}

static bool has_no_room(struct world *world, const mcds_request *request)
{
    mcds_request look = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = request->key};
    return world->longest > 0 &&
           ask(world, look, NULL).value_length + request->value.length > world->longest;
}

static bool hook(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_CAS && world->has_no_root) {
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
        return true;
    }
    if (request->command != MCDS_APPEND)
        return false;
    bool is_lent = world->lends && (request->options & MCDS_MAKES_ROOM) != 0;
    if ((world->is_full && !is_lent) || has_no_room(world, request)) {
        request->reply.outcome = MCDS_OUT_NOT_STORED;
        request->reply.peer = PEER;
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
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = hook;
    world->backend.context = world;
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
        world.backend.batches = 0;
        assert_int_equal(change(&world), MCDS_FULL);
        assert_non_null(strstr(mcds_errmsg(), "no memory"));
        assert_string_equal(mcds_last_error()->peer, PEER);
        assert_true(world.backend.batches <= TRIPS_MAX);
        assert_int_equal(world.fake.monotonic_ns, begin_ns);
        world.is_full = false;
        assert_int_equal(change(&world), MCDS_OK);
        end(&world);
    }
}

/* As on memcached, where each size has room of its own: the part cannot be filled, and so nothing
 * counts in the next one. */
static void what_reaches_the_end_of_a_key_is_refused(void **state)
{
    static struct world world;
    static const char bytes[LENGTH];
    mcds_bytes value = {bytes, sizeof bytes};
    (void)state;
    for (enum kind kind = LIST; kind <= LOG; kind++)
        for (world.longest = 10000; world.longest <= 16384; world.longest += 76) {
            size_t longest = world.longest;
            begin(&world, kind);
            int result = MCDS_OK;
            world.longest = longest;
            for (int i = 0; i < 64 && result == MCDS_OK; i++)
                result = kind == LIST ? mcds_list_push(world.list, value)
                                      : mcds_log_put(world.log, 0, value);
            for (int i = 0; i < REFUSED; i++) {
                assert_int_equal(result, MCDS_FULL);
                if (i == REFUSED / 2) { /* from here on by handles that know nothing */
                    mcds_list_close(world.list);
                    mcds_log_close(world.log);
                    world.list = NULL;
                    world.log = NULL;
                    if (kind == LIST)
                        assert_int_equal(mcds_list_open(world.store, "x", NULL, &world.list),
                                         MCDS_OK);
                    else
                        assert_int_equal(mcds_log_open(world.store, "x", NULL, &world.log),
                                         MCDS_OK);
                }
                result = kind == LIST ? mcds_list_push(world.list, value)
                                      : mcds_log_put(world.log, 0, value);
            }
            world.longest = 0;
            assert_int_equal(change(&world), MCDS_OK);
            end(&world);
            world.longest = longest;
        }
}

static bool count_value(void *context, mcds_bytes value)
{
    uint32_t *count = context;
    (void)value;
    ++*count;
    return true;
}

static uint32_t count_values(struct world *world)
{
    uint32_t count = 0;
    mcds_list *list;
    assert_int_equal(mcds_list_open(world->store, "x", NULL, &list), MCDS_OK);
    int result = mcds_list_scan(list, 0, 0, count_value, &count);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_list_close(list);
    return count;
}

/* The mark that ends a list is small enough for a store that cannot fill the segment before it. */
static void a_clear_that_is_refused_changes_nothing(void **state)
{
    static struct world world;
    (void)state;
    for (int drops = 0; drops <= 1; drops++) {
        begin(&world, LIST);
        world.is_full = true;
        assert_int_equal(drops ? mcds_list_drop(world.list) : mcds_list_clear(world.list),
                         MCDS_FULL);
        assert_int_equal(count_values(&world), 1);
        world.is_full = false;
        assert_int_equal(change(&world), MCDS_OK);
        assert_int_equal(count_values(&world), 2);
        end(&world);
    }
}

/* As a file of lmdb does on a full disk. */
static void a_clear_may_use_the_room_that_is_kept_for_it(void **state)
{
    static struct world world;
    (void)state;
    for (int drops = 0; drops <= 1; drops++) {
        begin(&world, LIST);
        world.is_full = world.lends = true;
        assert_int_equal(change(&world), MCDS_FULL);
        assert_int_equal(drops ? mcds_list_drop(world.list) : mcds_list_clear(world.list),
                         MCDS_OK);
        assert_int_equal(count_values(&world), 0);
        end(&world);
    }
}

static void a_clear_needs_no_memory_for_a_root(void **state)
{
    static struct world world;
    (void)state;
    begin(&world, LIST);
    world.has_no_root = true;
    assert_int_equal(mcds_list_clear(world.list), MCDS_OK);
    assert_int_equal(count_values(&world), 0);
    assert_int_equal(change(&world), MCDS_OK);
    assert_int_equal(count_values(&world), 1);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_of_two_writers_is_not_full),
        cmocka_unit_test(a_store_without_memory_is_full_at_once),
        cmocka_unit_test(what_reaches_the_end_of_a_key_is_refused),
        cmocka_unit_test(a_clear_that_is_refused_changes_nothing),
        cmocka_unit_test(a_clear_may_use_the_room_that_is_kept_for_it),
        cmocka_unit_test(a_clear_needs_no_memory_for_a_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
