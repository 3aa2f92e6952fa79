/* The estimate of how many there were: near the truth for few and for many. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "core/hyperloglog.h"

static void add(uint8_t *registers, uint64_t element)
{
    uint8_t rank;
    uint32_t index = mcds__hll_register(mcds__hash(7, (mcds_bytes){&element, sizeof element}),
                                        &rank);
    if (rank > registers[index])
        registers[index] = rank;
}

static void ranks_count_leading_zeros(void **state)
{
    uint8_t rank = 0;
    (void)state;
    assert_int_equal(mcds__hll_register(0, &rank), 0);
    assert_int_equal(rank, MCDS__HLL_RANK_MAX);
    assert_int_equal(mcds__hll_register(UINT64_MAX, &rank), MCDS__HLL_REGISTERS - 1);
    assert_int_equal(rank, 1);
    assert_int_equal(mcds__hll_register(UINT64_C(0x0050000000000001), &rank), 5);
    assert_int_equal(rank, 52);
    assert_int_equal(mcds__hll_register(UINT64_C(0xfff0000000000000) >> 12, &rank), 0);
    assert_int_equal(rank, 1);
}

static void nobody_is_nobody(void **state)
{
    static uint8_t registers[MCDS__HLL_REGISTERS];
    (void)state;
    assert_true(mcds__hll_estimate(registers) == 0);
    memset(registers, 255, sizeof registers);
    assert_true(mcds__hll_estimate(registers) > 1e18); /* damage is no crash */
}

/* Five standard errors at each of many sizes, for one fixed sequence of elements. */
static void the_error_is_as_stated(void **state)
{
    static uint8_t registers[MCDS__HLL_REGISTERS];
    double squares = 0;
    int looks = 0;
    (void)state;
    memset(registers, 0, sizeof registers);
    uint64_t next = 10;
    for (uint64_t n = 1; n <= 3000000; n++) {
        add(registers, n);
        if (n < next)
            continue;
        double error = mcds__hll_estimate(registers) / (double)n - 1;
        assert_true(fabs(error) < 5 * MCDS__HLL_ERROR);
        squares += error * error;
        looks++;
        next = next * 5 / 4;
    }
    assert_true(sqrt(squares / looks) < 1.5 * MCDS__HLL_ERROR);
    assert_true(looks > 50);
}

static void few_are_counted_almost_exactly(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 40; n++) {
        static uint8_t registers[MCDS__HLL_REGISTERS];
        memset(registers, 0, sizeof registers);
        for (uint64_t i = 0; i < n; i++)
            add(registers, i * 1000003);
        assert_true(fabs(mcds__hll_estimate(registers) - (double)n) < 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_count_leading_zeros),
        cmocka_unit_test(nobody_is_nobody),
        cmocka_unit_test(the_error_is_as_stated),
        cmocka_unit_test(few_are_counted_almost_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
