/* The ranges of lines that failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/tally.h"

#define LINES 60
#define ROUNDS 200

static struct tally tally;

static void doubt(unsigned long line, uint64_t lines)
{
    tally_failed(&tally, line, lines, MCDS_AMBIGUOUS);
}

static void expect_range(size_t at, unsigned long first, unsigned long last)
{
    assert_int_equal(tally.doubtful.of[at].first, first);
    assert_int_equal(tally.doubtful.of[at].last, last);
}

static void a_line_joins_the_ranges_beside_it(void **state)
{
    (void)state;
    tally = (struct tally){0};
    doubt(1, 2);
    doubt(6, 1);
    doubt(4, 2);
    assert_int_equal(tally.doubtful.count, 2);
    expect_range(1, 4, 6);
    doubt(3, 1);
    assert_int_equal(tally.doubtful.count, 1);
    expect_range(0, 1, 6);
    assert_int_equal(tally.doubtful_count, 6);
}

/* Lines in any order end as one range, and no two ranges ever touch. */
static void any_order_ends_as_one_range(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long lines[LINES];
        tally = (struct tally){0};
        for (unsigned long i = 0; i < LINES; i++)
            lines[i] = i + 1;
        for (size_t left = LINES; left > 0; left--) {
            random = random * 1664525 + 1013904223;
            size_t drawn = (random >> 8) % left;
            doubt(lines[drawn], 1);
            lines[drawn] = lines[left - 1];
            for (size_t i = 1; i < tally.doubtful.count; i++)
                assert_true(tally.doubtful.of[i].first > tally.doubtful.of[i - 1].last + 1);
        }
        assert_int_equal(tally.doubtful.count, 1);
        expect_range(0, 1, LINES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_joins_the_ranges_beside_it),
        cmocka_unit_test(any_order_ends_as_one_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
