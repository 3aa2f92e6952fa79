/* Table: values by key, conditions, numbers, expiry, scans, what is refused. */
#include <stdlib.h>

#include "base/buffer.h"
#include "core/map/bucket/format.h"
#include "structures/suite.h"
#include "support/map_record.h"

#define MANY 800

static mcds_table *open_table(mcds_store *store, const char *name)
{
    mcds_table *table = NULL;
    int result = mcds_table_open(store, name, NULL, &table);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return table;
}

static void check_value(struct suite *suite, mcds_table *table, const char *key,
                        const char *expected)
{
    mcds_value value = MCDS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_table_get, table, mcds_text(key), &value);
    assert_int_equal(value.length, strlen(expected));
    assert_memory_equal(value.data, expected, value.length);
    mcds_value_free(&value);
}

#define PUT(suite, table, key, value, ttl_ms)                                                  \
    CHECK(MCDS_OK, suite, mcds_table_put, table, mcds_text(key), mcds_text(value), ttl_ms)

static void keeps_values(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    mcds_value value = MCDS_VALUE_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_get, table, mcds_text("k"), &value);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    PUT(suite, table, "k", "one", 0);
    check_value(suite, table, "k", "one");
    CHECK(MCDS_OK, suite, mcds_table_has, table, mcds_text("k"));
    PUT(suite, table, "k", "", 0);
    check_value(suite, table, "k", "");
    PUT(suite, table, "l", "other", 0);
    check_value(suite, table, "l", "other");
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("m"));
    mcds_table_close(table);
}

static void removes(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    bool changed = true;
    CHECK(MCDS_OK, suite, mcds_table_remove, table, mcds_text("k"), &changed);
    assert_false(changed);
    PUT(suite, table, "k", "one", 0);
    CHECK(MCDS_OK, suite, mcds_table_remove, table, mcds_text("k"), &changed);
    assert_true(changed);
    CHECK(MCDS_OK, suite, mcds_table_remove, table, mcds_text("k"), &changed);
    assert_false(changed);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    PUT(suite, table, "k", "two", 0);
    CHECK(MCDS_OK, suite, mcds_table_remove, table, mcds_text("k"), NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    mcds_table_close(table);
}

static void conditions_hold(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_compare_and_set, table, mcds_text("k"),
          mcds_text("a"), mcds_text("b"), 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    CHECK(MCDS_OK, suite, mcds_table_put_if_absent, table, mcds_text("k"), mcds_text("a"), 0);
    CHECK(MCDS_EXISTS, suite, mcds_table_put_if_absent, table, mcds_text("k"), mcds_text("z"),
          0);
    check_value(suite, table, "k", "a");
    CHECK(MCDS_EXISTS, suite, mcds_table_compare_and_set, table, mcds_text("k"), mcds_text("z"),
          mcds_text("b"), 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_compare_and_set, table, mcds_text("l"),
          mcds_text("a"), mcds_text("b"), 0);
    CHECK(MCDS_OK, suite, mcds_table_compare_and_set, table, mcds_text("k"), mcds_text("a"),
          mcds_text(""), 0);
    check_value(suite, table, "k", "");
    CHECK(MCDS_OK, suite, mcds_table_compare_and_set, table, mcds_text("k"), mcds_text(""),
          mcds_text("c"), 0);
    check_value(suite, table, "k", "c");
    CHECK(MCDS_OK, suite, mcds_table_remove, table, mcds_text("k"), NULL);
    CHECK(MCDS_OK, suite, mcds_table_put_if_absent, table, mcds_text("k"), mcds_text("d"), 0);
    mcds_table_close(table);
}

/* '-' or nothing, then 1 to 20 digits. */
static void a_number_is_digits(struct suite *suite)
{
    static const struct {
        const char *value;
        int result;
        int64_t after;
    } values[] = {
        {"05", MCDS_OK, 6},
        {"-0", MCDS_OK, 1},
        {"00000000000000000005", MCDS_OK, 6},
        {"-9223372036854775808", MCDS_OK, INT64_MIN + 1},
        {"000000000000000000005", MCDS_CORRUPT, 0},
        {"9223372036854775808", MCDS_CORRUPT, 0},
        {"+5", MCDS_CORRUPT, 0},
        {"-", MCDS_CORRUPT, 0},
        {" 5", MCDS_CORRUPT, 0},
        {"5 ", MCDS_CORRUPT, 0},
        {"", MCDS_CORRUPT, 0},
    };
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        int64_t after = 0;
        CHECK(MCDS_OK, suite, mcds_table_put, table, mcds_text("n"), mcds_text(values[i].value),
              0);
        CHECK(values[i].result, suite, mcds_table_incr, table, mcds_text("n"), 1, &after);
        assert_int_equal(after, values[i].after);
    }
    mcds_table_close(table);
}

static void adds_to_numbers(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_table_incr, table, mcds_text("n"), 5, &after);
    assert_int_equal(after, 5);
    CHECK(MCDS_OK, suite, mcds_table_incr, table, mcds_text("n"), -12, &after);
    assert_int_equal(after, -7);
    check_value(suite, table, "n", "-7");
    CHECK(MCDS_OK, suite, mcds_table_incr, table, mcds_text("n"), 0, NULL);
    PUT(suite, table, "n", "9223372036854775807", 0);
    after = 77;
    CHECK(MCDS_OVERFLOW, suite, mcds_table_incr, table, mcds_text("n"), 1, &after);
    check_value(suite, table, "n", "9223372036854775807");
    CHECK(MCDS_OK, suite, mcds_table_incr, table, mcds_text("n"), INT64_MIN, &after);
    assert_int_equal(after, -1);
    PUT(suite, table, "n", "-9223372036854775808", 0);
    CHECK(MCDS_OVERFLOW, suite, mcds_table_incr, table, mcds_text("n"), -1, &after);
    PUT(suite, table, "n", "5x", 0);
    CHECK(MCDS_CORRUPT, suite, mcds_table_incr, table, mcds_text("n"), 1, &after);
    check_value(suite, table, "n", "5x");
    assert_int_equal(after, -1);
    mcds_table_close(table);
}

#define TTL_MS 600000

static void entries_expire(struct suite *suite)
{
    /* Where time passes by itself, it does so between two calls. */
    int64_t slack_ms = suite->own_clock ? TTL_MS / 2 : 100;
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    PUT(suite, table, "k", "a", TTL_MS);
    PUT(suite, table, "l", "b", 0);
    check_value(suite, table, "k", "a");
    shift_wall_ms(suite, TTL_MS - slack_ms);
    check_value(suite, table, "k", "a");
    shift_wall_ms(suite, 2 * slack_ms);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    check_value(suite, table, "l", "b");
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_compare_and_set, table, mcds_text("k"),
          mcds_text("a"), mcds_text("b"), 0);
    CHECK(MCDS_OK, suite, mcds_table_put_if_absent, table, mcds_text("k"), mcds_text("c"), 0);
    shift_wall_ms(suite, 100000000);
    check_value(suite, table, "k", "c");
    mcds_table_close(table);
}

static mcds_bytes row(uint32_t number)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "row-%06u", number);
    return mcds_text(text);
}

static void put_many(struct suite *suite, mcds_table *table, uint32_t count)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    for (uint32_t i = 0; i < count; i++)
        CHECK_RESULT(MCDS_OK, mcds_table_put_start(table, row(i), row(i), 0, pipeline, i));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
    }
    mcds_pipeline_close(pipeline);
}

struct census {
    uint32_t seen[MANY];
    uint32_t visited;
    uint32_t stop_after; /* 0: never */
};

static bool count_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct census *census = context;
    char text[16] = "";
    assert_int_equal(key.length, 10);
    assert_int_equal(value.length, 10);
    assert_memory_equal(key.data, value.data, 10);
    memcpy(text, key.data, 10);
    uint64_t number = strtoull(text + 4, NULL, 10);
    assert_true(number < MANY);
    census->seen[number]++;
    return ++census->visited != census->stop_after;
}

static void check_census(const struct census *census)
{
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(census->seen[i], 1);
}

static void scans_see_each_row_once(struct suite *suite)
{
    static struct census census;
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_scan, table, &cursor, 0, count_row, &census);
    assert_true(cursor.done);
    put_many(suite, table, MANY);
    memset(&census, 0, sizeof census);
    cursor = (mcds_table_cursor)MCDS_TABLE_CURSOR_INIT;
    CHECK(MCDS_OK, suite, mcds_table_scan, table, &cursor, 0, count_row, &census);
    assert_true(cursor.done);
    check_census(&census);
    CHECK(MCDS_OK, suite, mcds_table_scan, table, &cursor, 0, count_row, &census);
    mcds_table_close(table);
}

static void a_scan_may_stop_and_go_on(struct suite *suite)
{
    static struct census census;
    const char *name = fresh_name(suite, "t");
    mcds_table *table = open_table(suite->store, name);
    mcds_table *other = open_table(suite->other, name);
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    put_many(suite, table, MANY);
    memset(&census, 0, sizeof census);
    for (uint32_t calls = 0; !cursor.done; calls++) {
        uint32_t before = census.visited;
        census.stop_after = calls % 3 == 2 ? before + 5 : 0;
        if (calls % 2 == 0)
            CHECK(MCDS_OK, suite, mcds_table_scan, table, &cursor, 37, count_row, &census);
        else
            CHECK_OTHER(MCDS_OK, suite, mcds_table_scan, other, &cursor, 41, count_row,
                        &census);
        assert_true(cursor.done || census.visited > before);
        assert_true(census.visited <= before + 41);
    }
    check_census(&census);
    mcds_table_close(table);
    mcds_table_close(other);
}

static void large_values_fit(struct suite *suite)
{
    static char large[200000];
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    mcds_value value = MCDS_VALUE_INIT;
    for (char fill = 'a'; fill <= 'h'; fill++) {
        memset(large, fill, sizeof large);
        CHECK(MCDS_OK, suite, mcds_table_put, table, mcds_text("k"),
              ((mcds_bytes){large, sizeof large}), 0);
        char key[2] = {fill, '\0'};
        CHECK(MCDS_OK, suite, mcds_table_put, table, mcds_text(key),
              ((mcds_bytes){large, sizeof large / 2}), 0);
    }
    CHECK(MCDS_OK, suite, mcds_table_get, table, mcds_text("k"), &value);
    assert_int_equal(value.length, sizeof large);
    assert_memory_equal(value.data, large, sizeof large);
    CHECK(MCDS_OK, suite, mcds_table_get, table, mcds_text("c"), &value);
    assert_int_equal(value.length, sizeof large / 2);
    assert_int_equal(value.data[0], 'c');
    mcds_value_free(&value);
    mcds_table_close(table);
}

/* As writers leave it that die before they have rewritten it: nothing more can be appended. */
static void a_full_key_makes_room(struct suite *suite)
{
    const char *name = fresh_name(suite, "t");
    mcds_table *table = open_table(suite->store, name);
    struct raw_key raw = raw_key(suite, MCDS__TAG_TABLE, name, -1);
    size_t length = (size_t)suite->can.value_max / 4 - 64;
    char *large = length < 1000000 ? calloc(1, length) : NULL;
    if (large == NULL) {
        mcds_table_close(table);
        skip_because("the store takes values of any size");
    }
    PUT(suite, table, "k", "a", 0);
    raw = raw_first(suite, &raw);
    mcds_buffer record;
    mcds__buffer_init(&record, mcds__store_env(suite->store), 2 * length);
    for (uint32_t i = 1; i <= 4; i++) {
        char element[2] = {(char)('0' + i), '\0'};
        struct mcds__map_record dead = {{.verb = MCDS__MAP_PUT,
                                         .element = mcds_text(element),
                                         .value = {large, i < 4 ? length : length - 512}},
                                        77,
                                        i,
                                        i,
                                        wall_ms(suite)};
        record.length = 0;
        assert_true(map_record_put(&record, mcds__key_bytes(&raw.key), &dead));
        mcds_bytes bytes = {record.data, record.length};
        assert_int_equal(raw_append(suite, &raw, bytes), MCDS_OUT_OK);
    }
    mcds__buffer_free(&record);
    CHECK(MCDS_OK, suite, mcds_table_put, table, mcds_text("l"), ((mcds_bytes){large, length}),
          0);
    CHECK(MCDS_OK, suite, mcds_table_has, table, mcds_text("l"));
    CHECK(MCDS_OK, suite, mcds_table_has, table, mcds_text("4"));
    check_value(suite, table, "k", "a");
    free(large);
    mcds_table_close(table);
}

static void what_is_too_big_is_refused(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    size_t length = (size_t)suite->can.value_max / 4 + 1;
    char *large = length < 100000000 ? calloc(1, length) : NULL;
    if (large == NULL) {
        mcds_table_close(table);
        skip_because("the store takes values of any size");
    }
    PUT(suite, table, "k", "a", 0);
    CHECK(MCDS_TOO_BIG, suite, mcds_table_put, table, mcds_text("k"),
          ((mcds_bytes){large, length}), 0);
    check_value(suite, table, "k", "a");
    free(large);
    mcds_table_close(table);
}

static void drop_erases_all(struct suite *suite)
{
    mcds_table *table = open_table(suite->store, fresh_name(suite, "t"));
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_drop, table);
    put_many(suite, table, MANY);
    CHECK(MCDS_OK, suite, mcds_table_drop, table);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, row(7));
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_drop, table);
    mcds_table_close(table);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    static const char large[1025];
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    mcds_table *table = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_table_open(NULL, "t", NULL, &table));
    CHECK_RESULT(MCDS_INVALID, mcds_table_open(suite->store, NULL, NULL, &table));
    assert_null(table);
    table = open_table(suite->store, fresh_name(suite, "t"));
    CHECK(MCDS_INVALID, suite, mcds_table_put, table, mcds_text(""), mcds_text("v"), 0);
    mcds_bytes missing = {NULL, 7};
    CHECK(MCDS_INVALID, suite, mcds_table_put, table, mcds_text("k"), missing, 0);
    CHECK(MCDS_INVALID, suite, mcds_table_put_if_absent, table, mcds_text("k"), missing, 0);
    CHECK(MCDS_INVALID, suite, mcds_table_compare_and_set, table, mcds_text("k"), missing,
          mcds_text("v"), 0);
    CHECK(MCDS_INVALID, suite, mcds_table_compare_and_set, table, mcds_text("k"),
          mcds_text("v"), missing, 0);
    CHECK(MCDS_INVALID, suite, mcds_table_put, table, ((mcds_bytes){large, sizeof large}),
          mcds_text("v"), 0);
    CHECK_SENTENCE("1024");
    CHECK(MCDS_INVALID, suite, mcds_table_put, table, mcds_text("k"), mcds_text("v"),
          UINT64_MAX);
    CHECK_SENTENCE("ttl_ms must be 0 to 31622400000, not 18446744073709551615");
    CHECK(MCDS_INVALID, suite, mcds_table_get, table, mcds_text("k"), NULL);
    CHECK(MCDS_INVALID, suite, mcds_table_scan, table, NULL, 0, count_row, NULL);
    CHECK(MCDS_INVALID, suite, mcds_table_scan, table, &cursor, 0, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_table_incr, NULL, mcds_text("k"), 1, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_has, table, mcds_text("k"));
    mcds_table_close(table);
    mcds_table_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(keeps_values),
    CASE(removes),
    CASE(conditions_hold),
    CASE(adds_to_numbers),
    CASE_TWICE(a_number_is_digits),
    CASE(entries_expire),
    CASE_TWICE(scans_see_each_row_once),
    CASE_TWICE(a_scan_may_stop_and_go_on),
    CASE_TWICE(large_values_fit),
    CASE_TWICE(a_full_key_makes_room),
    CASE(what_is_too_big_is_refused),
    CASE_TWICE(drop_erases_all),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
