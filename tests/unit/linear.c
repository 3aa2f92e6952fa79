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
    return (struct linear_op){LINEAR_CALL, began, ended, true, verb, number, 0, number};
}

static struct linear_op unheard(int64_t began, uint32_t verb, int64_t number)
{
    return (struct linear_op){LINEAR_CALL, began, 0, false, verb, number, 0, 0};
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
    return (struct linear_op){LINEAR_CALL, began, ended, true, ADD, 1, 0, result};
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
    struct linear_op happens[] = {unheard(1, WRITE, 7), call(2, 3, READ, 0),
                                  call(8, 9, READ, 7)};
    struct linear_op never[] = {unheard(1, WRITE, 7), call(2, 3, READ, 0), call(8, 9, READ, 0)};
    struct linear_op once[] = {unheard(1, ADD, 1), add(2, 3, 2), add(4, 5, 3)};
    struct linear_op twice[] = {unheard(1, ADD, 1), add(2, 3, 2), add(4, 5, 4)};
    struct linear_op before[] = {call(1, 2, READ, 7), unheard(3, WRITE, 7)};
    struct linear_op undone[] = {unheard(1, WRITE, 7), call(2, 3, READ, 7),
                                 call(4, 5, READ, 0)};
    assert_int_equal(CHECK(happens), LINEAR);
    assert_int_equal(CHECK(never), LINEAR);
    assert_int_equal(CHECK(once), LINEAR);
    assert_int_equal(CHECK(twice), NOT_LINEAR);
    assert_int_equal(CHECK(before), NOT_LINEAR);
    assert_int_equal(CHECK(undone), NOT_LINEAR);
}

static struct linear_op loss(enum linear_kind kind, int64_t from, int64_t to)
{
    return (struct linear_op){.kind = kind, .began_ns = from, .ended_ns = to};
}

static void what_was_forgotten(void **state)
{
    (void)state;
    struct linear_op gone[] = {call(1, 2, WRITE, 7), loss(LINEAR_LOSS, 3, 9),
                               call(4, 5, READ, 7), call(6, 7, READ, 0)};
    struct linear_op stays[] = {call(1, 2, WRITE, 7), loss(LINEAR_LOSS, 3, 4),
                                call(5, 6, READ, 7)};
    struct linear_op anew[] = {add(1, 2, 1), add(3, 4, 2), loss(LINEAR_LOSS, 5, 6),
                               add(7, 8, 1)};
    struct linear_op meanwhile[] = {add(1, 2, 1), add(3, 9, 2), loss(LINEAR_LOSS, 4, 6),
                                    call(7, 8, READ, 0)};
    struct linear_op last[] = {loss(LINEAR_LOSS, 5, 6), call(1, 2, READ, 0)};
    assert_int_equal(CHECK(gone), LINEAR);
    assert_int_equal(CHECK(stays), LINEAR);
    assert_int_equal(CHECK(anew), LINEAR);
    assert_int_equal(CHECK(meanwhile), LINEAR);
    assert_int_equal(CHECK(last), LINEAR);
}

static void what_no_loss_explains(void **state)
{
    (void)state;
    struct linear_op none[] = {call(1, 2, WRITE, 7), call(3, 4, READ, 0)};
    struct linear_op early[] = {loss(LINEAR_LOSS, 1, 2), call(3, 4, WRITE, 7),
                                call(5, 6, READ, 0)};
    struct linear_op late[] = {call(1, 2, WRITE, 7), call(3, 4, READ, 0),
                               loss(LINEAR_LOSS, 5, 6)};
    struct linear_op comes_back[] = {call(1, 2, WRITE, 7), loss(LINEAR_LOSS, 3, 9),
                                     call(4, 5, READ, 0), call(6, 7, READ, 7)};
    struct linear_op doubled[] = {add(1, 2, 1), loss(LINEAR_LOSS, 3, 4), add(5, 6, 3)};
    struct linear_op partly[] = {add(1, 2, 1), add(3, 4, 2), loss(LINEAR_LOSS, 5, 6),
                                 call(7, 8, READ, 1)};
    assert_int_equal(CHECK(none), NOT_LINEAR);
    assert_int_equal(CHECK(early), NOT_LINEAR);
    assert_int_equal(CHECK(late), NOT_LINEAR);
    assert_int_equal(CHECK(comes_back), NOT_LINEAR);
    assert_int_equal(CHECK(doubled), NOT_LINEAR);
    assert_int_equal(CHECK(partly), NOT_LINEAR);
}

static void once_or_again(void **state)
{
    (void)state;
    struct linear_op twice[] = {
        loss(LINEAR_LOSS, 1, 20), call(1, 2, WRITE, 7), call(3, 4, READ, 0),
        call(5, 6, WRITE, 8),     call(7, 8, READ, 0),
    };
    struct linear_op two[] = {
        loss(LINEAR_LOSS, 1, 20), call(1, 2, WRITE, 7), call(3, 4, READ, 0),
        call(5, 6, WRITE, 8),     call(7, 8, READ, 0),  loss(LINEAR_LOSS, 1, 20),
    };
    assert_int_equal(CHECK(twice), NOT_LINEAR);
    assert_int_equal(CHECK(two), LINEAR);
    twice[0].kind = LINEAR_LOSSES;
    assert_int_equal(CHECK(twice), LINEAR);
    twice[0].ended_ns = 4;
    assert_int_equal(CHECK(twice), NOT_LINEAR);
    struct linear_op comes_back[] = {call(1, 2, WRITE, 7), loss(LINEAR_LOSSES, 1, 20),
                                     call(4, 5, READ, 0), call(6, 7, READ, 7)};
    assert_int_equal(CHECK(comes_back), NOT_LINEAR);
}

/* Nobody heard of the addition; wherever it comes, the loss or what was read does not fit. */
static void losses_and_what_nobody_heard_of(void **state)
{
    (void)state;
    struct linear_op before[] = {unheard(1, ADD, 1), call(2, 3, READ, 1),
                                 loss(LINEAR_LOSS, 4, 5), call(6, 7, READ, 0)};
    struct linear_op behind[] = {call(1, 2, WRITE, 3), loss(LINEAR_LOSS, 3, 4),
                                 unheard(3, ADD, 1), call(5, 6, READ, 1)};
    struct linear_op both[] = {unheard(1, ADD, 1), call(2, 3, READ, 1), loss(LINEAR_LOSS, 4, 5),
                               call(6, 7, READ, 0), call(8, 9, READ, 1)};
    struct linear_op too_late[] = {unheard(6, ADD, 1), call(7, 8, READ, 1),
                                   loss(LINEAR_LOSS, 4, 5), call(9, 10, READ, 0)};
    struct linear_op out_of_reach[] = {
        unheard(1, ADD, 1),    unheard(6, ADD, 2),        loss(LINEAR_LOSSES, 4, 5),
        call(7, 8, READ, 2),   loss(LINEAR_LOSSES, 1, 2), call(9, 10, READ, 3),
        call(11, 12, READ, 0),
    };
    assert_int_equal(CHECK(before), LINEAR);
    assert_int_equal(CHECK(behind), LINEAR);
    assert_int_equal(CHECK(both), NOT_LINEAR);
    assert_int_equal(CHECK(too_late), NOT_LINEAR);
    assert_int_equal(CHECK(out_of_reach), NOT_LINEAR);
}

/* Made before the loss, where somebody saw it, and again after it. */
static void in_two_lives(void **state)
{
    (void)state;
    struct linear_op perhaps = add(1, 6, 0);
    perhaps.kind = LINEAR_PERHAPS;
    perhaps.known = false;
    struct linear_op twice[] = {add(1, 9, 1), call(2, 3, READ, 1), loss(LINEAR_LOSS, 4, 6),
                                call(7, 8, READ, 0), call(10, 11, READ, 1)};
    struct linear_op known[] = {add(1, 9, 1),        perhaps,
                                call(2, 3, READ, 1), loss(LINEAR_LOSS, 4, 6),
                                call(7, 8, READ, 0), call(10, 11, READ, 1)};
    struct linear_op too_late[] = {loss(LINEAR_LOSS, 0, 0), perhaps, call(7, 8, READ, 0),
                                   add(1, 20, 2)};
    assert_int_equal(CHECK(twice), NOT_LINEAR);
    assert_int_equal(CHECK(known), LINEAR);
    assert_int_equal(CHECK(too_late), NOT_LINEAR);
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

/* As many steps as there can be: each addition is lost before the next. */
static void many_with_losses(void **state)
{
    (void)state;
    struct linear_op ops[LINEAR_OPS_MAX];
    ops[0] = loss(LINEAR_LOSSES, 1, 1000);
    for (int i = 1; i < LINEAR_OPS_MAX; i++)
        ops[i] = add(2 * i, 2 * i + 1, 1);
    assert_int_equal(linear_check(ops, LINEAR_OPS_MAX, 0, apply), LINEAR);
    ops[0].ended_ns = 100;
    assert_int_equal(linear_check(ops, LINEAR_OPS_MAX, 0, apply), NOT_LINEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(at_the_same_time),
        cmocka_unit_test(sums),
        cmocka_unit_test(what_nobody_heard_of),
        cmocka_unit_test(what_was_forgotten),
        cmocka_unit_test(what_no_loss_explains),
        cmocka_unit_test(once_or_again),
        cmocka_unit_test(losses_and_what_nobody_heard_of),
        cmocka_unit_test(in_two_lives),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(many_with_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
