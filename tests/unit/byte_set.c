/* Byte strings with counts: each added string is found, and chosen strings do not collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/byte_set.h"
#include "base/hash/siphash.h"
#include "support/fake_env.h"

#define NAMES 2000
#define NAME_MAX_LENGTH 16
#define CHOSEN 500
#define CHOSEN_MASK 0x3ff /* of all entries that a set of so many has */

static char names[NAMES][NAME_MAX_LENGTH];

static void each_is_taken_as_often_as_it_was_added(void **state)
{
    struct fake_env fake;
    struct mcds__byte_set set;
    (void)state;
    fake_env_init(&fake, 1);
    mcds__byte_set_init(&set, &fake.env);
    assert_false(mcds__byte_set_take(&set, mcds_text("")));
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%d", i);
        for (int k = 0; k <= i % 3; k++)
            assert_true(mcds__byte_set_add(&set, mcds_text(names[i])));
    }
    assert_true(mcds__byte_set_add(&set, mcds_text("")));
    for (int i = 0; i < NAMES; i++) {
        char copy[NAME_MAX_LENGTH];
        memcpy(copy, names[i], sizeof copy);
        assert_int_equal(mcds__byte_set_count(&set, mcds_text(copy)), i % 3 + 1);
        for (int k = 0; k <= i % 3; k++)
            assert_true(mcds__byte_set_take(&set, mcds_text(copy)));
        assert_false(mcds__byte_set_take(&set, mcds_text(copy)));
    }
    assert_false(mcds__byte_set_take(&set, mcds_text("none")));
    assert_true(mcds__byte_set_take(&set, mcds_text("")));
    assert_int_equal(set.used, NAMES + 1);
    mcds__byte_set_free(&set);
    assert_int_equal(fake.blocks, 0);
}

/* Strings that collide under the key of one set are like others to another set. */
static void chosen_strings_do_not_collide(void **state)
{
    struct fake_env fake;
    struct mcds__byte_set sets[2];
    unsigned number = 0;
    (void)state;
    fake_env_init(&fake, 2);
    for (int i = 0; i < 2; i++)
        mcds__byte_set_init(&sets[i], &fake.env);
    for (int i = 0; i < CHOSEN; i++) {
        do {
            (void)snprintf(names[i], sizeof names[i], "%u", number++);
        } while ((mcds__siphash(sets[0].key, mcds_text(names[i])) & CHOSEN_MASK) != 0);
        for (int k = 0; k < 2; k++)
            assert_true(mcds__byte_set_add(&sets[k], mcds_text(names[i])));
    }
    assert_true(sets[0].probes > (size_t)CHOSEN * CHOSEN / 4);
    assert_true(sets[1].probes < (size_t)CHOSEN * 4);
    for (int i = 0; i < 2; i++)
        mcds__byte_set_free(&sets[i]);
    assert_int_equal(fake.blocks, 0);
}

static void without_memory_nothing_is_added(void **state)
{
    struct fake_env fake;
    struct mcds__byte_set set;
    (void)state;
    fake_env_init(&fake, 3);
    mcds__byte_set_init(&set, &fake.env);
    fake.allowed = 0;
    assert_false(mcds__byte_set_add(&set, mcds_text("a")));
    assert_int_equal(mcds__byte_set_count(&set, mcds_text("a")), 0);
    fake.allowed = -1;
    assert_true(mcds__byte_set_add(&set, mcds_text("a")));
    mcds__byte_set_free(&set);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_taken_as_often_as_it_was_added),
        cmocka_unit_test(chosen_strings_do_not_collide),
        cmocka_unit_test(without_memory_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
