/* Keys: injective, bounded, and readable back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/key.h"

static void plain_name_stays_readable(void **state)
{
    (void)state;
    struct mcds__key key;
    mcds__key_begin(&key, "app", "c1", "hits");
    mcds__key_add_number(&key, 18446744073709551615u);
    assert_string_equal(key.bytes, "app:c1:hits:18446744073709551615");
}

static void no_byte_of_a_name_reaches_the_wire(void **state)
{
    (void)state;
    struct mcds__key key;
    mcds__key_begin(&key, "", "c1", "a b\r\nset x%:\xff");
    assert_string_equal(key.bytes, ":c1:a%20b%0D%0Aset%20x%25%3A%FF");
    assert_true(mcds__key_is_legal(mcds__key_bytes(&key)));
    size_t at = 0;
    char part[MCDS__KEY_MAX + 1];
    assert_true(mcds__key_next_part(mcds__key_bytes(&key), &at, part));
    assert_string_equal(part, "");
    assert_true(mcds__key_next_part(mcds__key_bytes(&key), &at, part));
    assert_string_equal(part, "c1");
    assert_true(mcds__key_next_part(mcds__key_bytes(&key), &at, part));
    assert_string_equal(part, "a b\r\nset x%:\xff");
    assert_false(mcds__key_next_part(mcds__key_bytes(&key), &at, part));
}

static void long_names_are_hashed_and_stay_apart(void **state)
{
    (void)state;
    char name[MCDS__NAME_GIVEN_MAX + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct mcds__key one;
    struct mcds__key two;
    mcds__key_begin(&one, "app", "c1", name);
    name[900] = 'y';
    mcds__key_begin(&two, "app", "c1", name);
    assert_int_equal(one.length, strlen("app:c1:~") + 27);
    assert_string_not_equal(one.bytes, two.bytes);
    /* A name spelled like a hash is not that hash. */
    mcds__key_begin(&two, "app", "c1", one.bytes + strlen("app:c1:"));
    assert_string_not_equal(one.bytes, two.bytes);
}

static void longest_key_fits(void **state)
{
    (void)state;
    char ns[MCDS__NS_MAX + 1];
    char name[MCDS__NAME_MAX + 1];
    char element[MCDS__ELEMENT_MAX + 1];
    memset(ns, 'n', sizeof ns);
    memset(name, 'x', sizeof name);
    memset(element, 'e', sizeof element);
    ns[sizeof ns - 1] = name[sizeof name - 1] = element[sizeof element - 1] = '\0';
    struct mcds__key key;
    mcds__key_begin(&key, ns, "abcd", name);
    mcds__key_add_number(&key, UINT64_MAX);
    mcds__key_add_number(&key, UINT64_MAX);
    mcds__key_add_element(&key, element);
    assert_true(mcds__key_is_legal(mcds__key_bytes(&key)));
}

/* Every byte at every place of keys of every length up to three words. */
static void a_legal_key_has_printable_bytes_alone(void **state)
{
    (void)state;
    char bytes[MCDS__KEY_MAX + 1];
    memset(bytes, 'k', sizeof bytes);
    assert_false(mcds__key_is_legal((mcds_bytes){bytes, 0}));
    assert_true(mcds__key_is_legal((mcds_bytes){bytes, MCDS__KEY_MAX}));
    assert_false(mcds__key_is_legal((mcds_bytes){bytes, MCDS__KEY_MAX + 1}));
    for (size_t length = 1; length <= 24; length++)
        for (size_t at = 0; at < length; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                bytes[at] = (char)byte;
                assert_int_equal(mcds__key_is_legal((mcds_bytes){bytes, length}),
                                 byte > 0x20 && byte < 0x7f);
            }
            bytes[at] = 'k';
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_name_stays_readable),
        cmocka_unit_test(no_byte_of_a_name_reaches_the_wire),
        cmocka_unit_test(long_names_are_hashed_and_stay_apart),
        cmocka_unit_test(longest_key_fits),
        cmocka_unit_test(a_legal_key_has_printable_bytes_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
