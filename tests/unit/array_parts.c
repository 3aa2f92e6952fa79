/* A large array leaves no block in the store that no value uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/record/record.h"
#include "store/store.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define BLOCKS 3
/* Of a change into parts: get root, write intent, the parts, get root, switch the root. */
#define SWITCH_AT (2 + BLOCKS + 2)
/* Of a change of a small value: get root, write root, erase parts. */
#define ERASE_AT 3

static struct fixture {
    struct fake_env fake;
    struct counting_backend counting;
    mcds_env env; /* the fake one, and what happens while a call sleeps */
    mcds_store *store;
    mcds_array *mine;
    mcds_array *theirs;
    uint32_t sleeps;
} fixture;

/* Another changes the array meanwhile, and cannot erase what it replaces. */
static void sleep_while_another_writes(void *self, int64_t until_ns)
{
    mcds_bytes element = mcds_text("theirs");
    if (fixture.sleeps++ == 0) {
        counting_backend_arm(&fixture.counting, FAULT_FAILED, ERASE_AT, true);
        assert_int_equal(mcds_array_change(fixture.theirs, &element, 1, NULL, 0), MCDS_OK);
        counting_backend_arm(&fixture.counting, FAULT_NONE, 0, false);
    }
    fixture.fake.env.sleep_until_ns(self, until_ns);
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

static uint32_t count_blocks(void)
{
    uint32_t count = 0;
    assert_int_equal(mcds__store_keys(fixture.store, mcds_text("mcds:a1c:"), count_key, &count),
                     MCDS_OK);
    return count;
}

/* A write in parts whose reply was lost, and that is known not to have been applied since another
 * has come before it, is made again with new parts. */
static void an_abandoned_write_leaves_no_blocks(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&fixture, 0, sizeof fixture);
    fake_env_init(&fixture.fake, 1);
    fixture.env = fixture.fake.env;
    fixture.env.sleep_until_ns = sleep_while_another_writes;
    options.env = &fixture.env;
    assert_int_equal(counting_backend_open(&fixture.counting, "memory:", &fixture.fake.env,
                                           &options, &fixture.store),
                     MCDS_OK);
    size_t length = (BLOCKS - 1) * mcds__record_block_length(fixture.store) + 1;
    void *text = calloc(1, length);
    assert_non_null(text);
    mcds_bytes small = mcds_text("small");
    mcds_bytes large = {text, length - 8};
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.mine), MCDS_OK);
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.theirs), MCDS_OK);
    assert_int_equal(mcds_array_set(fixture.mine, &small, 1), MCDS_OK);
    counting_backend_arm(&fixture.counting, FAULT_CUT_BEFORE, SWITCH_AT, false);
    assert_int_equal(mcds_array_change(fixture.mine, &large, 1, NULL, 0), MCDS_OK);
    assert_true(fixture.sleeps > 0);
    assert_int_equal(count_blocks(), BLOCKS);
    assert_int_equal(mcds_array_set(fixture.mine, &small, 1), MCDS_OK);
    assert_int_equal(count_blocks(), 0);
    mcds_array_close(fixture.mine);
    mcds_array_close(fixture.theirs);
    mcds_close(fixture.store);
    free(text);
    assert_int_equal(fixture.fake.blocks, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_write_leaves_no_blocks),
    };
    return cmocka_run_group_tests_name("array parts", tests, NULL, NULL);
}
