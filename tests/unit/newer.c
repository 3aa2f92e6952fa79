/* Values of a newer version of mcds are refused with a sentence that says so, and are left
 * unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/frame.h"
#include "mcds.h"
#include "store/store.h"
#include "support/pass_over.h"

static mcds_store *store;

static int open_store(void **state)
{
    (void)state;
    return mcds_open("memory:", NULL, &store) == MCDS_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    mcds_close(store);
    return 0;
}

/* A sound frame of a later version under this key. */
static void put_newer(const char *key, char type)
{
    uint8_t frame[MCDS__FRAME_OVERHEAD + 32] = {0};
    size_t length = mcds__frame_seal(frame, type, 99, mcds_text(key), 32);
    mcds_request set = {.command = MCDS_SET, .key = mcds_text(key), .value = {frame, length}};
    mcds_batch batch = {.requests = &set, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(set.reply.outcome, MCDS_OUT_OK);
}

static void check(int result, int wanted)
{
    assert_int_equal(result, wanted);
    assert_non_null(strstr(mcds_errmsg(), "newer version of mcds"));
}

static void a_newer_lease_is_named(void **state)
{
    (void)state;
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    put_newer("mcds:lk1:x", 'L');
    assert_int_equal(mcds_lock_open(store, "x", NULL, &lock), MCDS_OK);
    check(mcds_lock_try_acquire(lock, &lease), MCDS_UNSUPPORTED);
    check(mcds_lock_acquire(lock, 1000, &lease), MCDS_UNSUPPORTED);
    check(mcds_lock_get_holder(lock, &holder), MCDS_UNSUPPORTED);
    mcds_lock_close(lock);
}

static void a_newer_array_is_named(void **state)
{
    (void)state;
    mcds_array *array = NULL;
    mcds_bytes element = mcds_text("a");
    put_newer("mcds:a1:x", 'R');
    assert_int_equal(mcds_array_open(store, "x", NULL, &array), MCDS_OK);
    check(mcds_array_scan(array, pass_bytes, NULL), MCDS_UNSUPPORTED);
    check(mcds_array_set(array, &element, 1), MCDS_UNSUPPORTED);
    check(mcds_array_change(array, &element, 1, NULL, 0), MCDS_UNSUPPORTED);
    check(mcds_array_drop(array), MCDS_UNSUPPORTED);
    mcds_array_close(array);
}

static void a_newer_exact_counter_is_named(void **state)
{
    (void)state;
    mcds_counter *counter = NULL;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_EXACT;
    put_newer("mcds:c1:x", 'H');
    assert_int_equal(mcds_counter_open(store, "x", &options, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    check(mcds_counter_flush(counter), MCDS_INVALID);
    mcds_counter_close(counter);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_newer_lease_is_named, open_store, close_store),
    cmocka_unit_test_setup_teardown(a_newer_array_is_named, open_store, close_store),
    cmocka_unit_test_setup_teardown(a_newer_exact_counter_is_named, open_store, close_store),
};

int main(void)
{
    return cmocka_run_group_tests_name("newer", tests, NULL, NULL);
}
