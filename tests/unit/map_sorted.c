/* The sorted numbers of a map, against a linear search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/environment.h"
#include "core/map/bucket/sorted.h"
#include "support/fake_env.h"

#define NUMBERS 500
#define CHANGES 20000

static void neighbours_are_the_nearest(void **state)
{
    (void)state;
    struct fake_env fake;
    struct mcds__bucket_sorted sorted = {0};
    uint32_t times[NUMBERS] = {0};
    fake_env_init(&fake, 9);
    for (uint32_t i = 0; i < CHANGES; i++) {
        uint32_t number = (uint32_t)(mcds__random_u64(&fake.env) % NUMBERS);
        if (mcds__random_u64(&fake.env) % 2 == 0) {
            assert_true(mcds__bucket_sorted_add(&sorted, &fake.env, number, number + 1));
            times[number]++;
        } else {
            mcds__bucket_sorted_remove(&sorted, number);
            times[number] -= times[number] > 0;
        }
        uint32_t at = (uint32_t)(mcds__random_u64(&fake.env) % NUMBERS);
        uint32_t below = at;
        uint32_t above = at + 1;
        uint64_t found;
        uint32_t item;
        while (below > 0 && times[below - 1] == 0)
            below--;
        while (above < NUMBERS && times[above] == 0)
            above++;
        assert_int_equal(mcds__bucket_sorted_below(&sorted, at, &found, &item), below > 0);
        if (below > 0) {
            assert_int_equal(found, below - 1);
            assert_int_equal(item, below);
        }
        assert_int_equal(mcds__bucket_sorted_above(&sorted, at, &found, &item),
                         above < NUMBERS);
        if (above < NUMBERS)
            assert_int_equal(found, above);
    }
    mcds__bucket_sorted_free(&sorted, &fake.env);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
