/* The lmdb: backend with a map that small steps have filled to the last page: it is read, and lets go
 * of what it holds. */
#include "support/lmdb_fixture.h"

#include "mcds.h"

#define MIB ((size_t)1 << 20)
#define FILL_MAX 40000

static mcds_outcome put_filler(mcds_store *store, int number, size_t length)
{
    static char bytes[MIB / 4];
    char key[32];
    assert_true(length <= sizeof bytes);
    (void)snprintf(key, sizeof key, "big%d", number);
    return run_one(
               store,
               (mcds_request){.command = MCDS_SET, .key = text(key), .value = {bytes, length}})
        .outcome;
}

/* Every structure that a full store must let go of, and the values that fill it. */
struct full {
    mcds_store *store;
    mcds_list *list;
    mcds_table *table;
    mcds_log *log;
    mcds_lock *lock;
    mcds_lease lease;
    size_t longest; /* of the values that fill it */
    int fillers;
};

#define HELD 300

static void make_structures(struct full *full)
{
    static char bytes[1000];
    char name[16];
    mcds_lock_options longer = MCDS_LOCK_OPTIONS_INIT;
    longer.lease_ms = 3600000; /* than the test on a busy machine */
    assert_int_equal(mcds_list_open(full->store, "l", NULL, &full->list), MCDS_OK);
    assert_int_equal(mcds_table_open(full->store, "t", NULL, &full->table), MCDS_OK);
    assert_int_equal(mcds_log_open(full->store, "e", NULL, &full->log), MCDS_OK);
    assert_int_equal(mcds_lock_open(full->store, "k", &longer, &full->lock), MCDS_OK);
    for (int i = 0; i < HELD; i++) {
        mcds_bytes value = {bytes, (size_t)(i * 37 % 1000)};
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(mcds_list_push(full->list, value), MCDS_OK);
        assert_int_equal(mcds_table_put(full->table, text(name), value, 0), MCDS_OK);
        assert_int_equal(mcds_log_put(full->log, 0, value), MCDS_OK);
    }
    full->lease = (mcds_lease)MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_try_acquire(full->lock, &full->lease), MCDS_OK);
}

/* Fills the map with ever smaller values, one in a transaction, until it takes not even the
 * smallest. */
static void fill_to_the_last_page(struct full *full)
{
    static const size_t lengths[] = {MIB / 4, 20000, 4000, 1500, 300, 20, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        while (lengths[i] <= full->longest && full->fillers < FILL_MAX &&
               put_filler(full->store, full->fillers, lengths[i]) == MCDS_OUT_OK)
            full->fillers++;
    assert_in_range(full->fillers, 1, FILL_MAX - 1);
}

static bool count_value(void *context, mcds_bytes value)
{
    (void)value;
    ++*(int *)context;
    return true;
}

static bool count_event(void *context, const mcds_log_event *event)
{
    return count_value(context, event->event);
}

static void read_structures(struct full *full)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int values = 0;
    int events = 0;
    assert_int_equal(mcds_list_scan(full->list, 0, 0, count_value, &values), MCDS_OK);
    assert_int_equal(mcds_log_scan(full->log, &range, count_event, &events, &info), MCDS_OK);
    assert_int_equal(mcds_table_get(full->table, text("n7"), &value), MCDS_OK);
    assert_int_equal(values, HELD);
    assert_int_equal(events, HELD);
    mcds_value_free(&value);
}

/* Before each of them the store is full to the last page. A removal is a change, which may need
 * room; the others need none. */
static void let_go_of_structures(struct full *full)
{
    assert_int_equal(mcds_lock_release(full->lock, &full->lease), MCDS_OK);
    fill_to_the_last_page(full);
    int removed = mcds_table_remove(full->table, text("n7"), NULL);
    assert_true(removed == MCDS_OK || removed == MCDS_FULL);
    fill_to_the_last_page(full);
    assert_int_equal(mcds_list_clear(full->list), MCDS_OK);
    fill_to_the_last_page(full);
    assert_int_equal(mcds_list_drop(full->list), MCDS_OK);
    fill_to_the_last_page(full);
    assert_int_equal(mcds_table_drop(full->table), MCDS_OK);
    fill_to_the_last_page(full);
    assert_int_equal(mcds_log_drop(full->log), MCDS_OK);
    fill_to_the_last_page(full);
}

static void empty(const struct full *full)
{
    char key[32];
    for (int i = 0; i < full->fillers; i++) {
        (void)snprintf(key, sizeof key, "big%d", i);
        assert_int_equal(drop(full->store, key).outcome, MCDS_OUT_OK);
    }
}

static void close_structures(struct full *full)
{
    mcds_list_close(full->list);
    mcds_table_close(full->table);
    mcds_log_close(full->log);
    mcds_lock_close(full->lock);
    mcds_close(full->store);
}

static void fill_and_let_go(const char *file, const char *options, size_t longest)
{
    struct full full = {.store = open_store(file, options, NULL), .longest = longest};
    make_structures(&full);
    fill_to_the_last_page(&full);
    read_structures(&full);
    let_go_of_structures(&full);
    empty(&full);
    assert_int_equal(put_filler(full.store, 0, MIB / 8), MCDS_OUT_OK);
    assert_int_equal(drop(full.store, "big0").outcome, MCDS_OUT_OK);
    close_structures(&full);
}

static void a_map_full_in_small_steps_lets_go(void **state)
{
    const struct fixture *fixture = *state;
    fill_and_let_go(fixture->file, "?sync=async&map_max=1048576", MIB / 4);
    fill_and_let_go(fixture->file, "?sync=async&map_max=1048576", 300);
    fill_and_let_go(fixture->file, "?sync=async&map_max=1060865", 2351);
    fill_and_let_go(fixture->file, "?sync=async&map_max=4194304", MIB / 4);
    fill_and_let_go(fixture->file, "?sync=async&map_max=4194304", 1500);
    fill_and_let_go(fixture->file, "?sync=async&map_max=16777216", MIB / 4);
    fill_and_let_go(fixture->file, "?sync=async&map_max=16777216", 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_map_full_in_small_steps_lets_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
