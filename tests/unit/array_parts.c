/* What a large array leaves in the store: no part that no value stands in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/record.h"
#include "store/store.h"
#include "support/counting_home.h"
#include "support/fake_env.h"

#define PARTS 3
/* Of a change into parts: get root, write intent, the parts, get root, switch the root. */
#define SWITCH_AT (2 + PARTS + 2)
/* Of a change of a small value: get root, write root, erase parts. */
#define ERASE_AT 3

static struct place {
    struct fake_env fake;
    struct counting_home counting;
    mcds_env env; /* the fake one, and what happens while a call sleeps */
    mcds_store *store;
    mcds_array *mine;
    mcds_array *theirs;
    uint32_t sleeps;
} place;

/* Another changes the array meanwhile, and cannot erase what it replaces. */
static void sleep_while_another_writes(void *self, int64_t until_ns)
{
    mcds_bytes element = mcds_text("theirs");
    if (place.sleeps++ == 0) {
        counting_home_arm(&place.counting, FAULT_FAILED, ERASE_AT, true);
        assert_int_equal(mcds_array_change(place.theirs, &element, 1, NULL, 0), MCDS_OK);
        counting_home_arm(&place.counting, FAULT_NONE, 0, false);
    }
    place.fake.env.sleep_until_ns(self, until_ns);
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

static uint32_t count_parts(void)
{
    uint32_t count = 0;
    assert_int_equal(mcds__store_keys(place.store, mcds_text("mcds:a1c:"), count_key, &count),
                     MCDS_OK);
    return count;
}

/* A write in parts whose reply was lost, and that is known not to have been applied since another
 * has come before it, is made again with new parts. */
static void an_abandoned_write_leaves_no_parts(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&place, 0, sizeof place);
    fake_env_init(&place.fake, 1);
    place.env = place.fake.env;
    place.env.sleep_until_ns = sleep_while_another_writes;
    options.env = &place.env;
    assert_int_equal(
        counting_home_open(&place.counting, "memory:", &place.fake.env, &options, &place.store),
        MCDS_OK);
    size_t length = (PARTS - 1) * mcds__record_part_length(place.store) + 1;
    void *text = calloc(1, length);
    assert_non_null(text);
    mcds_bytes small = mcds_text("small");
    mcds_bytes large = {text, length - 8};
    assert_int_equal(mcds_array_open(place.store, "x", NULL, &place.mine), MCDS_OK);
    assert_int_equal(mcds_array_open(place.store, "x", NULL, &place.theirs), MCDS_OK);
    assert_int_equal(mcds_array_set(place.mine, &small, 1), MCDS_OK);
    counting_home_arm(&place.counting, FAULT_CUT_BEFORE, SWITCH_AT, false);
    assert_int_equal(mcds_array_change(place.mine, &large, 1, NULL, 0), MCDS_OK);
    assert_true(place.sleeps > 0);
    assert_int_equal(count_parts(), PARTS);
    assert_int_equal(mcds_array_set(place.mine, &small, 1), MCDS_OK);
    assert_int_equal(count_parts(), 0);
    mcds_array_close(place.mine);
    mcds_array_close(place.theirs);
    mcds_close(place.store);
    free(text);
    assert_int_equal(place.fake.blocks, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_write_leaves_no_parts),
    };
    return cmocka_run_group_tests_name("array parts", tests, NULL, NULL);
}
