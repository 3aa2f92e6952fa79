/* CRC-32C: the known sums, and the instruction against the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/crc32c.h"

static void assert_sum(const void *bytes, size_t length, uint32_t wanted)
{
    assert_int_equal(mcds__crc32c(0, bytes, length), wanted);
    assert_int_equal(mcds__crc32c_portable(0, bytes, length), wanted);
}

/* RFC 3720, B.4, and the check value of the catalogues. */
static void gives_the_known_sums(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_sum("", 0, 0);
    assert_sum("123456789", 9, 0xE3069283);
    memset(bytes, 0, sizeof bytes);
    assert_sum(bytes, sizeof bytes, 0x8A9136AA);
    memset(bytes, 0xff, sizeof bytes);
    assert_sum(bytes, sizeof bytes, 0x62A8AB43);
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    assert_sum(bytes, sizeof bytes, 0x46DD794E);
}

static void goes_on_from_any_cut(void **state)
{
    (void)state;
    uint8_t bytes[100];
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        uint32_t wanted = mcds__crc32c_portable(0, bytes, length);
        for (size_t cut = 0; cut <= length; cut++)
            assert_int_equal(
                mcds__crc32c(mcds__crc32c(0, bytes, cut), bytes + cut, length - cut), wanted);
    }
}

/* As long as sessions are, and around that. */
static void long_texts_have_the_same_sum(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    uint32_t chance = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        chance = chance * UINT32_C(1664525) + UINT32_C(1013904223);
        bytes[i] = (uint8_t)(chance >> 24);
    }
    for (size_t length = 0; length <= sizeof bytes; length += length < 1000 ? 1 : 61)
        for (size_t at = 0; at < 8 && at + length <= sizeof bytes; at += 7)
            assert_int_equal(mcds__crc32c(chance, bytes + at, length),
                             mcds__crc32c_portable(chance, bytes + at, length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_known_sums),
        cmocka_unit_test(goes_on_from_any_cut),
        cmocka_unit_test(long_texts_have_the_same_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
