/* The estimate of the number of elements: accurate for few and for many. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/hash.h"
#include "core/members/hyperloglog.h"

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
    /* Damage, or elements that were chosen so: as many as can be told by a number. */
    assert_true(mcds__hll_estimate(registers) > 1e18);
    assert_true(mcds__hll_estimate(registers) < (double)INT64_MAX);
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

/* Elements [begin, end) of the seed's own. */
static void fill(uint8_t *registers, uint64_t seed, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        add(registers, seed << 40 | i);
}

/* Many sets of elements at each size, and so the deviation at that size: with 60 of them it lies
 * within 1.5 of the true one unless the estimator is at fault. */
static void the_error_is_as_stated_at_every_size(void **state)
{
    static const uint64_t sizes[] = {10,    100,   1000,  3000,   5000,   8000,
                                     12000, 20000, 50000, 100000, 1000000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t seeds = sizes[i] <= 100000 ? 60 : 12;
        double sum = 0;
        double squares = 0;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            static uint8_t registers[MCDS__HLL_REGISTERS];
            memset(registers, 0, sizeof registers);
            fill(registers, seed, 0, sizes[i]);
            double error = mcds__hll_estimate(registers) / (double)sizes[i] - 1;
            /* Of a few, two that share a register are seen as one. */
            assert_true(fabs(error) < 5 * MCDS__HLL_ERROR + 2 / (double)sizes[i]);
            sum += error;
            squares += error * error;
        }
        assert_true(sqrt(squares / (double)seeds) < 1.5 * MCDS__HLL_ERROR);
        /* and no lean to one side */
        assert_true(fabs(sum / (double)seeds) < 4 * MCDS__HLL_ERROR / sqrt((double)seeds));
    }
}

static void unions_know_no_order_and_no_repetition(void **state)
{
    static uint8_t parts[4][MCDS__HLL_REGISTERS];
    static uint8_t all[MCDS__HLL_REGISTERS];
    static uint8_t united[MCDS__HLL_REGISTERS];
    static const int orders[3][6] = {
        {0, 1, 2, 3, 3, 0}, {3, 2, 1, 0, 0, 0}, {2, 2, 0, 3, 1, 2}};
    (void)state;
    memset(parts, 0, sizeof parts);
    memset(all, 0, sizeof all);
    for (uint64_t i = 0; i < 4; i++) /* they overlap */
        fill(parts[i], 5, i * 1000, i * 1000 + 1700);
    fill(all, 5, 0, 4700);
    for (int i = 0; i < 3; i++) {
        memset(united, 0, sizeof united);
        for (int j = 0; j < 6; j++)
            mcds__hll_unite(united, parts[orders[i][j]]);
        assert_memory_equal(united, all, sizeof all);
    }
    static uint8_t empty[MCDS__HLL_REGISTERS];
    mcds__hll_unite(united, empty);
    mcds__hll_unite(united, united);
    assert_memory_equal(united, all, sizeof all);
}

static bool take(uint8_t *registers, uint32_t index, uint8_t rank)
{
    uint8_t bytes[MCDS__HLL_INDEX_LENGTH];
    mcds__hll_encode_index(index, bytes);
    return mcds__hll_take(registers, (mcds_bytes){bytes, sizeof bytes}, (mcds_bytes){&rank, 1});
}

static void what_is_stored_is_taken_back(void **state)
{
    static uint8_t registers[MCDS__HLL_REGISTERS];
    (void)state;
    for (uint32_t index = 0; index < MCDS__HLL_REGISTERS; index++) {
        uint8_t rank = (uint8_t)(1 + index % MCDS__HLL_RANK_MAX);
        assert_true(take(registers, index, rank));
        assert_int_equal(registers[index], rank);
        assert_true(take(registers, index, 1)); /* a lower one changes nothing */
        assert_int_equal(registers[index], rank);
    }
}

static void what_is_no_register_is_refused(void **state)
{
    uint8_t *registers = calloc(1, MCDS__HLL_REGISTERS);
    static const uint8_t bytes[3] = {1, 0, 1};
    (void)state;
    assert_non_null(registers);
    assert_false(take(registers, MCDS__HLL_REGISTERS, 1));
    assert_false(take(registers, UINT16_MAX, 1));
    assert_false(take(registers, 0, 0));
    assert_false(take(registers, 0, MCDS__HLL_RANK_MAX + 1));
    assert_false(take(registers, 0, 255));
    for (size_t index_length = 0; index_length <= 3; index_length++)
        for (size_t rank_length = 0; rank_length <= 3; rank_length++)
            assert_int_equal(mcds__hll_take(registers, (mcds_bytes){bytes, index_length},
                                            (mcds_bytes){bytes, rank_length}),
                             index_length == 2 && rank_length == 1);
    assert_int_equal(registers[1], 1);
    registers[1] = 0;
    assert_true(mcds__hll_estimate(registers) == 0);
    free(registers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_count_leading_zeros),
        cmocka_unit_test(nobody_is_nobody),
        cmocka_unit_test(the_error_is_as_stated),
        cmocka_unit_test(the_error_is_as_stated_at_every_size),
        cmocka_unit_test(few_are_counted_almost_exactly),
        cmocka_unit_test(unions_know_no_order_and_no_repetition),
        cmocka_unit_test(what_is_stored_is_taken_back),
        cmocka_unit_test(what_is_no_register_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
