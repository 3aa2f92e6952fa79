/* SipHash-1-3: known sums, of all lengths of the last word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash/siphash.h"

/* The key is 0, 1, ..., 15, and the bytes are 0, 1, 2, ...; reckoned by another implementation
 * (tests/formats/maps.py), which with the rounds of SipHash-2-4 gives the sum of its paper. */
static void gives_the_known_sums(void **state)
{
    static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    static const struct {
        size_t length;
        uint64_t sum;
    } known[] = {
        {0, UINT64_C(0xabac0158050fc4dc)},  {1, UINT64_C(0xc9f49bf37d57ca93)},
        {7, UINT64_C(0xd3927d989bb11140)},  {8, UINT64_C(0x369095118d299a8e)},
        {15, UINT64_C(0xd320d86d2a519956)}, {16, UINT64_C(0xcc4fdd1a7d908b66)},
        {63, UINT64_C(0x9d199062b7bbb3a8)},
    };
    (void)state;
    uint8_t bytes[64];
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(mcds__siphash(key, (mcds_bytes){bytes, known[i].length}),
                         known[i].sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_known_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
