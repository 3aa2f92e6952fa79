/* The judge of the lock stress rejects wrong logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stress/tenures.h"

/* asked, begin, end, fence */
static void accepts_a_clean_log(void **state)
{
    (void)state;
    struct tenure log[] = {{50, 60, 70, 9}, {0, 10, 20, 5}, {1, 20, 30, 7}, {2, 31, 40, 8}};
    assert_true(tenures_are_apart(log, 4));
    assert_true(fences_grow(log, 4));
    assert_true(tenures_are_apart(log, 0));
    assert_true(fences_grow(log, 0));
}

static void sees_two_holders(void **state)
{
    (void)state;
    struct tenure neighbours[] = {{0, 10, 21, 5}, {1, 20, 30, 7}};
    assert_false(tenures_are_apart(neighbours, 2));
    struct tenure apart_in_order[] = {{0, 10, 90, 5}, {1, 91, 92, 6}, {2, 95, 99, 7}};
    assert_true(tenures_are_apart(apart_in_order, 3));
    struct tenure inside[] = {{0, 10, 90, 5}, {1, 90, 92, 6}, {2, 91, 99, 7}};
    assert_false(tenures_are_apart(inside, 3));
}

static void sees_fences_that_fall_or_repeat(void **state)
{
    (void)state;
    struct tenure falls[] = {{0, 10, 20, 8}, {11, 30, 40, 7}};
    assert_false(fences_grow(falls, 2));
    struct tenure repeats[] = {{0, 10, 20, 8}, {5, 30, 40, 8}};
    assert_false(fences_grow(repeats, 2));
    /* a client that asked before the other had acquired may have drawn before or after it */
    struct tenure together[] = {{0, 10, 20, 8}, {9, 30, 40, 7}};
    assert_true(fences_grow(together, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_a_clean_log),
        cmocka_unit_test(sees_two_holders),
        cmocka_unit_test(sees_fences_that_fall_or_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
