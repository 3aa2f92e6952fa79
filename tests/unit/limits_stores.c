/* The largest value of a table on each store: it is taken and read back, and one byte more is
 * refused with the limit. A real memcached with its usual largest item, and with another. */
#include "support/lmdb_fixture.h"
#include "support/server.h"

#define MB ((size_t)1 << 20)
#define ITEM_OVERHEAD 512 /* of memcached's largest item, left to key and header */
#define KEY_MAX 1024

static void check(mcds_store *store, size_t most)
{
    mcds_table *table;
    mcds_value read = MCDS_VALUE_INIT;
    char *bytes = malloc(most + 1);
    char key[KEY_MAX];
    assert_non_null(bytes);
    memset(bytes, 'v', most + 1);
    memset(key, 'k', KEY_MAX);
    mcds_bytes longest = {key, KEY_MAX};
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_table_put(table, longest, (mcds_bytes){bytes, most}, 0), MCDS_OK);
    assert_int_equal(mcds_table_get(table, longest, &read), MCDS_OK);
    assert_int_equal(read.length, most);
    assert_memory_equal(read.data, bytes, most);
    assert_int_equal(mcds_table_put(table, longest, (mcds_bytes){bytes, most + 1}, 0),
                     MCDS_TOO_BIG);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_TOO_BIG);
    assert_int_equal(mcds_last_error()->wanted_max, most);
    assert_int_equal(mcds_last_error()->found_number, most + 1);
    mcds_value_free(&read);
    mcds_table_close(table);
    mcds_close(store);
    free(bytes);
}

static mcds_store *open_patient(const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store = NULL;
    options.timeout_ms = 60000; /* a slow machine is in time */
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    return store;
}

static void on_memory(void **state)
{
    (void)state;
    check(open_patient("memory:"), 64 * MB / 4);
    check(open_patient("memory:?strict=1"), (MB - ITEM_OVERHEAD) / 4);
}

static void on_lmdb(void **state)
{
    const struct fixture *fixture = *state;
    char uri[128];
    (void)snprintf(uri, sizeof uri, "lmdb:%s?sync=async", fixture->file);
    check(open_patient(uri), 64 * MB / 4);
}

/* With the largest item that `-I` sets. */
static void check_memcached(char *const *options, size_t item_max)
{
    struct server server = {.options = options};
    char uri[480];
    if (!server_start_memcached_unix(&server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    server_uri(&server, uri, sizeof uri);
    mcds_store *store = open_patient(uri);
    /* The limit of a server is known when it has answered once. */
    mcds_counter *counter;
    assert_int_equal(mcds_counter_open(store, "c", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    mcds_counter_close(counter);
    check(store, (item_max - ITEM_OVERHEAD) / 4);
    server_stop(&server);
}

static void on_memcached(void **state)
{
    static char item[] = "-I";
    static char four_mb[] = "4m";
    static char *const larger[] = {item, four_mb, NULL};
    (void)state;
    check_memcached(NULL, MB);
    assert_int_equal((MB - ITEM_OVERHEAD) / 4, 262016); /* as mcds/table.h says */
    check_memcached(larger, 4 * MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_memory),
        cmocka_unit_test_setup_teardown(on_lmdb, fixture_make, fixture_remove),
        cmocka_unit_test(on_memcached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
