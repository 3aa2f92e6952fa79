/* The moment of an early fill: one for each value, whatever the number of looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash/hash.h"
#include "structures/cache/judge.h"

#define MADE_MS INT64_C(1700000000000)
#define TTL_MS 40000
#define VALUES 20000

static struct mcds__cache_item item_of(uint64_t id, uint32_t cost_ms)
{
    return (struct mcds__cache_item){.kind = MCDS__CACHE_VALUE,
                                     .id = id,
                                     .made_ms = MADE_MS,
                                     .cost_ms = cost_ms,
                                     .fresh_till_ms = MADE_MS + cost_ms + TTL_MS,
                                     .shown_till_ms = MADE_MS + cost_ms + TTL_MS};
}

/* The first fill begins at least its own duration before the end; how much earlier is
 * exponentially distributed. */
static void the_moments_are_spread(void **state)
{
    enum { COST_MS = 500 };
    int64_t sum = 0;
    uint32_t later = 0;
    (void)state;
    for (uint64_t i = 0; i < VALUES; i++) {
        struct mcds__cache_item item = item_of(mcds__hash(0, (mcds_bytes){&i, sizeof i}),
                                               COST_MS);
        int64_t early_ms = mcds__cache_early_ms(&item);
        assert_true(early_ms >= COST_MS && early_ms <= TTL_MS / 4);
        assert_int_equal(mcds__cache_early_ms(&item), early_ms);
        sum += early_ms;
        later += early_ms < 2 * COST_MS;
    }
    assert_in_range((uint64_t)sum / VALUES, 2 * COST_MS - 20, 2 * COST_MS + 20);
    assert_in_range(later, VALUES * 61 / 100, VALUES * 65 / 100); /* 1 - 1/e */
}

static void never_before_the_last_quarter(void **state)
{
    static const uint64_t ids[] = {0, 1, UINT64_MAX, UINT64_MAX / 2};
    static const uint32_t costs[] = {TTL_MS / 4, TTL_MS, UINT32_MAX};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            struct mcds__cache_item item = item_of(ids[i], costs[j]);
            assert_int_equal(mcds__cache_early_ms(&item), TTL_MS / 4);
        }
}

static void no_early_fill(void **state)
{
    struct mcds__cache_item item = item_of(0, 0);
    (void)state;
    assert_int_equal(mcds__cache_early_ms(&item), 0); /* it costs nothing */
    item = item_of(0, 500);
    item.shown_till_ms++; /* a stale value is shown meanwhile */
    assert_int_equal(mcds__cache_early_ms(&item), 0);
    item = item_of(0, 500);
    item.fresh_till_ms = item.shown_till_ms = item.made_ms + 100; /* no time is left */
    assert_int_equal(mcds__cache_early_ms(&item), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_moments_are_spread),
        cmocka_unit_test(never_before_the_last_quarter),
        cmocka_unit_test(no_early_fill),
    };
    return cmocka_run_group_tests_name("cache, early fills", tests, NULL, NULL);
}
