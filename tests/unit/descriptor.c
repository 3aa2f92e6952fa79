/* Descriptors: a written one is read back; a damaged or newer one, or one of another kind, is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/descriptor/descriptor.h"
#include "support/fake_env.h"

#define LAYOUT_AT MCDS__FRAME_HEAD
#define NEEDS_AT (MCDS__FRAME_HEAD + 1)
#define COUNT_AT (MCDS__FRAME_HEAD + 32)

static const mcds_bytes key = {"ns:s2:x", 7};

struct drawn {
    struct mcds__descriptor descriptor;
    uint8_t value[MCDS__DESCRIPTOR_CAPACITY + 8]; /* of one setting more than there may be */
    size_t length;
};

static void draw(struct drawn *drawn, uint8_t count)
{
    struct fake_env fake;
    fake_env_init(&fake, 7);
    fake.wall_ns = INT64_C(1795249320) * 1000000000;
    memset(drawn, 0, sizeof *drawn);
    mcds__descriptor_draw(&drawn->descriptor, &fake.env, MCDS__KIND_SET, 2, true);
    drawn->descriptor.count = count;
    for (uint8_t i = 0; i < count; i++)
        drawn->descriptor.settings[i] = UINT64_C(0x1122334455667788) + i;
    drawn->length = mcds__descriptor_seal(&drawn->descriptor, key, drawn->value);
}

static int open_at(const struct drawn *drawn, mcds_bytes at, struct mcds__descriptor *out)
{
    const mcds_reason *detail = NULL;
    int result = mcds__descriptor_open(out, (mcds_bytes){drawn->value, drawn->length},
                                       mcds__descriptor_flags(drawn->descriptor.life), at,
                                       MCDS__KIND_SET, &detail);
    assert_int_equal(result == MCDS_OK, detail == NULL);
    return result;
}

/* The same payload with other bytes, sealed again. */
static int open_changed(struct drawn *drawn, size_t at, uint8_t byte, size_t longer)
{
    struct mcds__descriptor out;
    drawn->value[at] = byte;
    drawn->length = mcds__frame_seal(drawn->value, 'D', drawn->value[3], key,
                                     drawn->length + longer - MCDS__FRAME_OVERHEAD);
    return open_at(drawn, key, &out);
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    for (uint8_t count = 0; count <= MCDS__DESCRIPTOR_SETTINGS_MAX; count++) {
        struct drawn drawn;
        struct mcds__descriptor out;
        draw(&drawn, count);
        memset(&out, 0, sizeof out);
        assert_int_equal(open_at(&drawn, key, &out), MCDS_OK);
        assert_memory_equal(&out, &drawn.descriptor, sizeof out);
        assert_int_equal(out.made_s, 1795249320);
        assert_int_equal(out.life & 1, 1);
    }
}

static void refuses_every_damaged_byte_and_every_length(void **state)
{
    (void)state;
    struct drawn drawn;
    struct mcds__descriptor out;
    draw(&drawn, 3);
    for (size_t i = 0; i < drawn.length; i++) {
        drawn.value[i] ^= 4;
        assert_int_equal(open_at(&drawn, key, &out), MCDS_CORRUPT);
        drawn.value[i] ^= 4;
    }
    assert_int_equal(open_at(&drawn, (mcds_bytes){"ns:s2:y", 7}, &out), MCDS_CORRUPT);
    while (drawn.length-- > 0)
        assert_int_equal(open_at(&drawn, key, &out), MCDS_CORRUPT);
}

static void refuses_another_kind(void **state)
{
    (void)state;
    struct drawn drawn;
    draw(&drawn, 0);
    assert_int_equal(open_changed(&drawn, MCDS__FRAME_HEAD + 2, 't', 0), MCDS_CORRUPT);
}

static void says_that_a_newer_version_is_needed(void **state)
{
    (void)state;
    struct drawn drawn;
    struct mcds__descriptor out;
    const mcds_reason *detail = NULL;
    draw(&drawn, 1);
    assert_int_equal(open_changed(&drawn, 3, 2, 0), MCDS_UNSUPPORTED);
    draw(&drawn, 1);
    drawn.value[LAYOUT_AT] = MCDS__DESCRIPTOR_LAYOUT + 1;
    assert_int_equal(open_changed(&drawn, NEEDS_AT, MCDS__DESCRIPTOR_LAYOUT + 1, 1),
                     MCDS_UNSUPPORTED);
    (void)mcds__descriptor_open(&out, (mcds_bytes){drawn.value, drawn.length},
                                mcds__descriptor_flags(drawn.descriptor.life), key,
                                MCDS__KIND_SET, &detail);
    assert_string_equal(detail->text,
                        "it was made by a newer version of mcds: upgrade this program");
}

/* A later layout may add what an older reader can do without. */
static void reads_a_later_layout_that_allows_it(void **state)
{
    (void)state;
    struct drawn drawn;
    draw(&drawn, 1);
    assert_int_equal(open_changed(&drawn, LAYOUT_AT, MCDS__DESCRIPTOR_LAYOUT + 1, 1), MCDS_OK);
    draw(&drawn, 1);
    assert_int_equal(open_changed(&drawn, LAYOUT_AT, MCDS__DESCRIPTOR_LAYOUT, 1), MCDS_CORRUPT);
}

static void refuses_more_settings_than_there_may_be(void **state)
{
    (void)state;
    struct drawn drawn;
    draw(&drawn, MCDS__DESCRIPTOR_SETTINGS_MAX);
    assert_int_equal(open_changed(&drawn, COUNT_AT, MCDS__DESCRIPTOR_SETTINGS_MAX + 1, 8),
                     MCDS_CORRUPT);
}

static void flags_tell_one_life_from_another(void **state)
{
    (void)state;
    struct drawn drawn;
    draw(&drawn, 0);
    uint64_t life = drawn.descriptor.life;
    uint32_t flags = mcds__descriptor_flags(life);
    assert_true(mcds__descriptor_is_of(flags, life));
    assert_false(mcds__descriptor_is_of(0, life));
    for (unsigned bit = 32; bit < 62; bit++)
        assert_false(mcds__descriptor_is_of(flags, life ^ UINT64_C(1) << bit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(refuses_every_damaged_byte_and_every_length),
        cmocka_unit_test(refuses_another_kind),
        cmocka_unit_test(says_that_a_newer_version_is_needed),
        cmocka_unit_test(reads_a_later_layout_that_allows_it),
        cmocka_unit_test(refuses_more_settings_than_there_may_be),
        cmocka_unit_test(flags_tell_one_life_from_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
