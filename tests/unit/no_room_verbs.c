/* Verbs that other tests do not call on a full store. Each is refused as FULL at once, and has
 * changed nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define TIMEOUT_MS 1000
#define COUNT 5
#define MANY 3

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    bool is_full;
    mcds_counter *counter;
    mcds_lock *lock;
    mcds_lease lease;
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    unsigned seen;
};

static bool refuse(void *context, mcds_request *request)
{
    struct world *world = context;
    switch (request->command) {
    case MCDS_SET:
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_APPEND:
    case MCDS_PREPEND:
    case MCDS_CAS:
        if (world->is_full)
            request->reply.outcome = MCDS_OUT_NO_MEMORY;
        return world->is_full;
    default:
        return false;
    }
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_bytes one = mcds_text("a");
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = refuse;
    world->backend.context = world;
    mcds_store *store = world->store;
    assert_int_equal(mcds_counter_open(store, "c", NULL, &world->counter), MCDS_OK);
    assert_int_equal(mcds_lock_open(store, "l", NULL, &world->lock), MCDS_OK);
    assert_int_equal(mcds_set_open(store, "s", NULL, &world->set), MCDS_OK);
    assert_int_equal(mcds_table_open(store, "t", NULL, &world->table), MCDS_OK);
    assert_int_equal(mcds_array_open(store, "a", NULL, &world->array), MCDS_OK);
    assert_int_equal(mcds_list_open(store, "v", NULL, &world->list), MCDS_OK);
    assert_int_equal(mcds_log_open(store, "g", NULL, &world->log), MCDS_OK);
    assert_int_equal(mcds_counter_add(world->counter, COUNT, NULL), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(world->lock, &world->lease), MCDS_OK);
    assert_int_equal(mcds_set_add(world->set, one, NULL), MCDS_OK);
    assert_int_equal(mcds_table_put(world->table, one, one, 0), MCDS_OK);
    assert_int_equal(mcds_array_set(world->array, &one, 1), MCDS_OK);
    assert_int_equal(mcds_list_push(world->list, one), MCDS_OK);
    assert_int_equal(mcds_log_put(world->log, 0, one), MCDS_OK);
    world->is_full = true;
}

static void end(struct world *world)
{
    mcds_counter_close(world->counter);
    mcds_lock_close(world->lock);
    mcds_set_close(world->set);
    mcds_table_close(world->table);
    mcds_array_close(world->array);
    mcds_list_close(world->list);
    mcds_log_close(world->log);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static int take(struct world *world)
{
    int64_t taken;
    return mcds_counter_take(world->counter, &taken);
}

static int renew(struct world *world)
{
    return mcds_lock_renew(world->lock, &world->lease);
}

static int remove_element(struct world *world)
{
    return mcds_set_remove(world->set, mcds_text("a"), NULL);
}

static int remove_element_asking(struct world *world)
{
    bool changed;
    return mcds_set_remove(world->set, mcds_text("a"), &changed);
}

static int remove_row(struct world *world)
{
    return mcds_table_remove(world->table, mcds_text("a"), NULL);
}

static int set_array(struct world *world)
{
    mcds_bytes elements[] = {mcds_text("b"), mcds_text("c")};
    return mcds_array_set(world->array, elements, 2);
}

static int remove_from_array(struct world *world)
{
    mcds_bytes element = mcds_text("a");
    return mcds_array_change(world->array, NULL, 0, &element, 1);
}

static int append_b(void *context, const mcds_bytes *old, size_t old_count,
                    mcds_elements *elements)
{
    (void)context;
    for (size_t i = 0; i < old_count; i++)
        if (mcds_elements_add(elements, old[i]) != MCDS_OK)
            return -1;
    return mcds_elements_add(elements, mcds_text("b")) == MCDS_OK ? 0 : -1;
}

static int change_by(struct world *world)
{
    return mcds_array_change_by(world->array, append_b, NULL);
}

static int push_many(struct world *world)
{
    mcds_bytes values[MANY] = {mcds_text("b"), mcds_text("c"), mcds_text("d")};
    size_t pushed = MANY;
    int result = mcds_list_push_many(world->list, values, MANY, &pushed);
    assert_int_equal(pushed, 0);
    return result;
}

static int put_many(struct world *world)
{
    mcds_bytes events[MANY] = {mcds_text("b"), mcds_text("c"), mcds_text("d")};
    size_t put = MANY;
    int result = mcds_log_put_many(world->log, 0, events, MANY, &put);
    assert_int_equal(put, 0);
    return result;
}

static bool count(void *context, mcds_bytes value)
{
    struct world *world = context;
    assert_int_equal(value.length, 1);
    assert_memory_equal(value.data, "a", 1);
    world->seen++;
    return true;
}

static bool count_event(void *context, const mcds_log_event *event)
{
    return count(context, event->event);
}

static void check_nothing_changed(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    world->seen = 0;
    assert_int_equal(mcds_counter_get(world->counter, &value), MCDS_OK);
    assert_int_equal(value.value, COUNT);
    assert_int_equal(mcds_lock_get_holder(world->lock, &holder), MCDS_OK);
    assert_int_equal(mcds_set_has(world->set, mcds_text("a")), MCDS_OK);
    assert_int_equal(mcds_table_has(world->table, mcds_text("a")), MCDS_OK);
    assert_int_equal(mcds_array_scan(world->array, count, world), MCDS_OK);
    assert_int_equal(mcds_list_scan(world->list, 0, 0, count, world), MCDS_OK);
    assert_int_equal(mcds_log_scan(world->log, &range, count_event, world, NULL), MCDS_OK);
    assert_int_equal(world->seen, 3);
}

static void what_is_refused_is_not_done(void **state)
{
    static struct world world;
    static int (*const verbs[])(struct world * world) = {
        take,       renew,     remove_element,    remove_element_asking,
        remove_row, set_array, remove_from_array, change_by,
        push_many,  put_many};
    (void)state;
    begin(&world);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        int64_t from_ns = world.fake.monotonic_ns;
        int result = verbs[i](&world);
        if (result != MCDS_FULL)
            fail_msg("verb %u: %s", (unsigned)i, mcds_result_name(result));
        if (world.fake.monotonic_ns - from_ns >= TIMEOUT_MS * INT64_C(1000000) / 2)
            fail_msg("verb %u is not refused at once", (unsigned)i);
        check_nothing_changed(&world);
    }
    world.is_full = false;
    check_nothing_changed(&world);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(verbs[i](&world), MCDS_OK);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_refused_is_not_done)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
