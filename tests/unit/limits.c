/* The largest argument of each call is accepted, and one byte more is refused for that
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_env.h"

#define MB ((size_t)1 << 20)
#define LARGE (64 * MB)
#define LENGTH_BYTES 4 /* that an array needs for an element of 2 MB to 256 MB */

static struct fake_env fake; /* a slow machine is in time */
static mcds_store *store;
static char *bytes; /* LARGE + 1, and a NUL */

static int set_up(void **state)
{
    (void)state;
    bytes = malloc(LARGE + 2);
    if (bytes == NULL)
        return -1;
    memset(bytes, 'x', LARGE + 2);
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    return mcds_open("memory:", &options, &store);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_close(store);
    free(bytes);
    return 0;
}

static mcds_bytes some(size_t length)
{
    return (mcds_bytes){bytes, length};
}

static const char *text(size_t length)
{
    static char out[2048];
    assert_true(length < sizeof out);
    memset(out, 'y', length);
    out[length] = '\0';
    return out;
}

static void assert_refused(int result, int code, mcds_cause cause)
{
    assert_int_equal(result, code);
    assert_string_equal(mcds_cause_name((int)mcds_last_error()->cause),
                        mcds_cause_name((int)cause));
}

static bool add_length(void *context, mcds_bytes element)
{
    *(size_t *)context += element.length;
    return true;
}

static size_t stored_length(mcds_array *array)
{
    size_t length = 0;
    assert_int_equal(mcds_array_scan(array, add_length, &length), MCDS_OK);
    return length;
}

/* The lengths of the elements count too. */
static void an_array_is_64_mb(void **state)
{
    (void)state;
    mcds_array *array;
    mcds_bytes most = some(LARGE - LENGTH_BYTES);
    mcds_bytes none = some(0);
    mcds_bytes halves[2] = {some(LARGE / 2), some(LARGE / 2 - 2 * LENGTH_BYTES)};
    assert_int_equal(mcds_array_open(store, "a", NULL, &array), MCDS_OK);
    assert_int_equal(mcds_array_set(array, &most, 1), MCDS_OK);
    assert_true(stored_length(array) == most.length);
    assert_refused(mcds_array_change(array, &none, 1, NULL, 0), MCDS_TOO_BIG,
                   MCDS_CAUSE_TOO_BIG);
    assert_string_equal(mcds_errmsg(), "array 'a': change: the elements have more than 64 MB");
    for (size_t more = 1; more <= LENGTH_BYTES + 1; more++) {
        mcds_bytes larger = some(most.length + more);
        assert_refused(mcds_array_set(array, &larger, 1), MCDS_TOO_BIG, MCDS_CAUSE_TOO_BIG);
    }
    assert_true(stored_length(array) == most.length);
    assert_int_equal(mcds_array_set(array, halves, 2), MCDS_OK);
    halves[1].length++;
    assert_refused(mcds_array_set(array, halves, 2), MCDS_TOO_BIG, MCDS_CAUSE_TOO_BIG);
    mcds_array_close(array);
}

/* What is added and what is removed are an array each. */
static void a_change_adds_and_removes_64_mb(void **state)
{
    (void)state;
    mcds_array *array;
    mcds_bytes most = some(LARGE - LENGTH_BYTES);
    mcds_bytes larger = some(most.length + 1);
    assert_int_equal(mcds_array_open(store, "b", NULL, &array), MCDS_OK);
    assert_int_equal(mcds_array_set(array, &most, 1), MCDS_OK);
    assert_int_equal(mcds_array_change(array, &most, 1, &most, 1), MCDS_OK);
    assert_true(stored_length(array) == most.length);
    assert_refused(mcds_array_change(array, NULL, 0, &larger, 1), MCDS_TOO_BIG,
                   MCDS_CAUSE_TOO_BIG);
    mcds_array_close(array);
}

static int add_one(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh)
{
    (void)old;
    (void)old_count;
    return mcds_elements_add(fresh, *(const mcds_bytes *)context);
}

static void a_callback_adds_64_mb(void **state)
{
    (void)state;
    mcds_array *array;
    mcds_bytes most = some(LARGE - LENGTH_BYTES);
    assert_int_equal(mcds_array_open(store, "c", NULL, &array), MCDS_OK);
    assert_int_equal(mcds_array_change_by(array, add_one, &most), MCDS_OK);
    most.length++;
    assert_refused(mcds_array_change_by(array, add_one, &most), MCDS_TOO_BIG,
                   MCDS_CAUSE_TOO_BIG);
    assert_true(stored_length(array) == most.length - 1);
    mcds_array_close(array);
}

static void a_value_of_a_list_is_64_mb(void **state)
{
    (void)state;
    mcds_list *list;
    assert_int_equal(mcds_list_open(store, "l", NULL, &list), MCDS_OK);
    assert_int_equal(mcds_list_push(list, some(LARGE)), MCDS_OK);
    assert_refused(mcds_list_push(list, some(LARGE + 1)), MCDS_TOO_BIG, MCDS_CAUSE_TOO_BIG);
    mcds_list_close(list);
}

static void an_event_is_64_mb(void **state)
{
    (void)state;
    mcds_log *log;
    assert_int_equal(mcds_log_open(store, "g", NULL, &log), MCDS_OK);
    assert_int_equal(mcds_log_put(log, 0, some(LARGE)), MCDS_OK);
    assert_refused(mcds_log_put(log, 0, some(LARGE + 1)), MCDS_TOO_BIG, MCDS_CAUSE_TOO_BIG);
    mcds_log_close(log);
}

static void a_key_is_1024_bytes_and_a_value_a_quarter_of_the_largest(void **state)
{
    (void)state;
    mcds_table *table;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_table_put(table, some(1024), some(LARGE / 4), 0), MCDS_OK);
    assert_refused(mcds_table_put(table, some(1024), some(LARGE / 4 + 1), 0), MCDS_TOO_BIG,
                   MCDS_CAUSE_TOO_BIG);
    assert_refused(mcds_table_put(table, some(1025), some(1), 0), MCDS_INVALID,
                   MCDS_CAUSE_TOO_LONG);
    assert_refused(mcds_table_put(table, some(0), some(1), 0), MCDS_INVALID, MCDS_CAUSE_EMPTY);
    mcds_table_close(table);
}

static void an_element_of_a_set_is_1024_bytes(void **state)
{
    (void)state;
    mcds_set *set;
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_add(set, some(1024), NULL), MCDS_OK);
    assert_int_equal(mcds_set_has(set, some(1024)), MCDS_OK);
    assert_refused(mcds_set_add(set, some(1025), NULL), MCDS_INVALID, MCDS_CAUSE_TOO_LONG);
    mcds_set_close(set);
}

static void a_visitor_is_1024_bytes(void **state)
{
    (void)state;
    mcds_visitors *visitors;
    assert_int_equal(mcds_visitors_open(store, "v", NULL, &visitors), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, text(1024), 0), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, text(1024), 0), MCDS_EXISTS);
    assert_refused(mcds_visitors_hit(visitors, text(1025), 0), MCDS_INVALID,
                   MCDS_CAUSE_TOO_LONG);
    mcds_visitors_close(visitors);
}

static void a_name_is_1024_bytes(void **state)
{
    (void)state;
    mcds_counter *counter;
    int64_t value = 0;
    assert_int_equal(mcds_counter_open(store, text(1024), NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, &value), MCDS_OK);
    assert_int_equal(value, 1);
    mcds_counter_close(counter);
    assert_refused(mcds_counter_open(store, text(1025), NULL, &counter), MCDS_INVALID,
                   MCDS_CAUSE_TOO_LONG);
}

static void a_label_is_200_bytes(void **state)
{
    (void)state;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock;
    options.label = text(200);
    assert_int_equal(mcds_lock_open(store, "k", &options, &lock), MCDS_OK);
    mcds_lock_close(lock);
    options.label = text(201);
    assert_refused(mcds_lock_open(store, "k", &options, &lock), MCDS_INVALID,
                   MCDS_CAUSE_TOO_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_64_mb),
        cmocka_unit_test(a_change_adds_and_removes_64_mb),
        cmocka_unit_test(a_callback_adds_64_mb),
        cmocka_unit_test(a_value_of_a_list_is_64_mb),
        cmocka_unit_test(an_event_is_64_mb),
        cmocka_unit_test(a_key_is_1024_bytes_and_a_value_a_quarter_of_the_largest),
        cmocka_unit_test(an_element_of_a_set_is_1024_bytes),
        cmocka_unit_test(a_visitor_is_1024_bytes),
        cmocka_unit_test(a_name_is_1024_bytes),
        cmocka_unit_test(a_label_is_200_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
