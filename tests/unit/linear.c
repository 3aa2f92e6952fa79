/* The checker of histories: what it must accept and what it must reject. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/linear.h"

enum { READ, WRITE, ADD };

static bool apply(int64_t *state, const struct linear_op *op)
{
    if (op->verb == READ)
        return !op->known || op->result == *state;
    *state = op->verb == WRITE ? op->argument : *state + op->argument;
    return !op->known || op->verb == WRITE || op->result == *state;
}

#define CHECK(ops) linear_check(ops, sizeof(ops) / sizeof(ops)[0], 0, apply)

static struct linear_op call(int64_t began, int64_t ended, uint32_t verb, int64_t number)
{
    return (struct linear_op){began, ended, true, verb, number, 0, number};
}

static struct linear_op lost_call(int64_t began, uint32_t verb, int64_t number)
{
    return (struct linear_op){began, 0, false, verb, number, 0, 0};
}

static void one_after_the_other(void **state)
{
    (void)state;
    struct linear_op fine[] = {call(1, 2, WRITE, 7), call(3, 4, READ, 7), call(5, 6, READ, 7)};
    struct linear_op stale[] = {call(1, 2, WRITE, 7), call(3, 4, READ, 0)};
    struct linear_op early[] = {call(1, 2, READ, 7), call(3, 4, WRITE, 7)};
    assert_int_equal(CHECK(fine), LINEAR);
    assert_int_equal(CHECK(stale), NOT_LINEAR);
    assert_int_equal(CHECK(early), NOT_LINEAR);
}

static void at_the_same_time(void **state)
{
    (void)state;
    struct linear_op either[] = {call(1, 9, WRITE, 7), call(2, 3, READ, 0),
                                 call(4, 5, READ, 7)};
    struct linear_op back[] = {call(1, 9, WRITE, 7), call(2, 3, READ, 7), call(4, 5, READ, 0)};
    struct linear_op touch[] = {call(1, 4, READ, 7), call(4, 9, WRITE, 7)};
    assert_int_equal(CHECK(either), LINEAR);
    assert_int_equal(CHECK(back), NOT_LINEAR);
    assert_int_equal(CHECK(touch), LINEAR);
}

static struct linear_op add(int64_t began, int64_t ended, int64_t result)
{
    return (struct linear_op){began, ended, true, ADD, 1, 0, result};
}

static void sums(void **state)
{
    (void)state;
    struct linear_op fine[] = {add(1, 9, 2), add(1, 9, 1), add(1, 9, 3)};
    struct linear_op lost[] = {add(1, 9, 1), add(1, 9, 1)};
    struct linear_op skipped[] = {add(1, 2, 1), add(3, 4, 3)};
    struct linear_op order[] = {add(1, 2, 2), add(3, 4, 1)};
    assert_int_equal(CHECK(fine), LINEAR);
    assert_int_equal(CHECK(lost), NOT_LINEAR);
    assert_int_equal(CHECK(skipped), NOT_LINEAR);
    assert_int_equal(CHECK(order), NOT_LINEAR);
}

static void what_nobody_heard_of(void **state)
{
    (void)state;
    struct linear_op happens[] = {lost_call(1, WRITE, 7), call(2, 3, READ, 0),
                                  call(8, 9, READ, 7)};
    struct linear_op never[] = {lost_call(1, WRITE, 7), call(2, 3, READ, 0),
                                call(8, 9, READ, 0)};
    struct linear_op once[] = {lost_call(1, ADD, 1), add(2, 3, 2), add(4, 5, 3)};
    struct linear_op twice[] = {lost_call(1, ADD, 1), add(2, 3, 2), add(4, 5, 4)};
    struct linear_op before[] = {call(1, 2, READ, 7), lost_call(3, WRITE, 7)};
    struct linear_op undone[] = {lost_call(1, WRITE, 7), call(2, 3, READ, 7),
                                 call(4, 5, READ, 0)};
    assert_int_equal(CHECK(happens), LINEAR);
    assert_int_equal(CHECK(never), LINEAR);
    assert_int_equal(CHECK(once), LINEAR);
    assert_int_equal(CHECK(twice), NOT_LINEAR);
    assert_int_equal(CHECK(before), NOT_LINEAR);
    assert_int_equal(CHECK(undone), NOT_LINEAR);
}

/* Without the memory of what has been seen this takes 30! steps. */
static void many_at_once(void **state)
{
    (void)state;
    struct linear_op ops[LINEAR_OPS_MAX];
    for (int i = 0; i < 30; i++)
        ops[i] = add(1, 100, i + 1);
    for (int i = 30; i < LINEAR_OPS_MAX; i++)
        ops[i] = call(200 + 2 * i, 201 + 2 * i, READ, 30);
    assert_int_equal(linear_check(ops, LINEAR_OPS_MAX, 0, apply), LINEAR);
    ops[LINEAR_OPS_MAX - 1].result = 29;
    assert_int_equal(linear_check(ops, LINEAR_OPS_MAX, 0, apply), NOT_LINEAR);
    assert_int_equal(linear_check(ops, LINEAR_OPS_MAX + 1, 0, apply), LINEAR_TOO_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(at_the_same_time),
        cmocka_unit_test(sums),
        cmocka_unit_test(what_nobody_heard_of),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
