/* A large array leaves no block in the store that no value uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/record/record.h"
#include "store/store.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"
#include "support/pass_over.h"

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

static void open_store(void)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&fixture, 0, sizeof fixture);
    fake_env_init(&fixture.fake, 1);
    options.env = &fixture.fake.env;
    assert_int_equal(counting_backend_open(&fixture.counting, "memory:", &fixture.fake.env,
                                           &options, &fixture.store),
                     MCDS_OK);
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.mine), MCDS_OK);
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.theirs), MCDS_OK);
}

/* The writer of the first value ends before it switches the root. */
static void a_drop_erases_the_parts_of_a_dead_writer(void **state)
{
    (void)state;
    open_store();
    size_t length = (BLOCKS - 1) * mcds__record_block_length(fixture.store) + 1;
    void *text = calloc(1, length);
    assert_non_null(text);
    mcds_bytes large = {text, length};
    counting_backend_arm(&fixture.counting, FAULT_CUT_BEFORE, SWITCH_AT, true);
    assert_int_equal(mcds_array_set(fixture.mine, &large, 1), MCDS_AMBIGUOUS);
    counting_backend_arm(&fixture.counting, FAULT_NONE, 0, false);
    assert_int_equal(count_blocks(), BLOCKS);
    assert_int_equal(mcds_array_drop(fixture.theirs), MCDS_NOT_FOUND);
    assert_int_equal(count_blocks(), 0);
    uint32_t keys = 0;
    assert_int_equal(mcds__store_keys(fixture.store, mcds_text("mcds:"), count_key, &keys),
                     MCDS_OK);
    assert_int_equal(keys, 1);
    fake_env_advance_ms(&fixture.fake, 600001); /* the life of the mark of the drop */
    keys = 0;
    assert_int_equal(mcds__store_keys(fixture.store, mcds_text("mcds:"), count_key, &keys),
                     MCDS_OK);
    assert_int_equal(keys, 0);
    mcds_array_close(fixture.mine);
    mcds_array_close(fixture.theirs);
    mcds_close(fixture.store);
    free(text);
    assert_int_equal(fixture.fake.blocks, 0);
}

struct blocks {
    uint32_t count;
    char keys[BLOCKS][252];
};

static bool note_block(void *context, mcds_bytes key)
{
    struct blocks *blocks = context;
    assert_true(blocks->count < BLOCKS);
    memcpy(blocks->keys[blocks->count++], key.data, key.length);
    return true;
}

static void run_one(mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__store_execute(fixture.store, 0, &batch);
    assert_int_equal(request->reply.outcome, MCDS_OUT_OK);
}

/* Store the bytes of one block, with one bit changed or not, under the key of another. */
static void damage(const struct blocks *blocks, uint32_t from, uint32_t to, uint8_t bit)
{
    mcds_buffer values;
    mcds__buffer_init(&values, &fixture.fake.env, 1 << 21);
    mcds_request get = {.command = MCDS_GET, .key = mcds_text(blocks->keys[from])};
    run_one(&get, &values);
    values.data[values.length / 2] ^= bit;
    mcds_request set = {.command = MCDS_SET,
                        .key = mcds_text(blocks->keys[to]),
                        .value = {values.data, values.length}};
    run_one(&set, NULL);
    mcds__buffer_free(&values);
}

static void a_damaged_block_is_corrupt(void **state)
{
    (void)state;
    struct blocks blocks = {0};
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&fixture, 0, sizeof fixture);
    fake_env_init(&fixture.fake, 1);
    options.env = &fixture.fake.env;
    assert_int_equal(mcds_open("memory:", &options, &fixture.store), MCDS_OK);
    assert_int_equal(mcds_array_open(fixture.store, "x", NULL, &fixture.mine), MCDS_OK);
    size_t length = BLOCKS * mcds__record_block_length(fixture.store) - 100;
    uint8_t *text = calloc(1, length);
    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = (uint8_t)(i / 1000);
    mcds_bytes large = {text, length};
    assert_int_equal(mcds_array_set(fixture.mine, &large, 1), MCDS_OK);
    assert_int_equal(
        mcds__store_keys(fixture.store, mcds_text("mcds:a1c:"), note_block, &blocks), MCDS_OK);
    assert_int_equal(blocks.count, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        damage(&blocks, i, i, 1);
        assert_int_equal(mcds_array_scan(fixture.mine, pass_bytes, NULL), MCDS_CORRUPT);
        damage(&blocks, i, i, 1);
        assert_int_equal(mcds_array_scan(fixture.mine, pass_bytes, NULL), MCDS_OK);
    }
    damage(&blocks, 0, 1, 0);
    assert_int_equal(mcds_array_scan(fixture.mine, pass_bytes, NULL), MCDS_CORRUPT);
    mcds_array_close(fixture.mine);
    mcds_close(fixture.store);
    free(text);
    assert_int_equal(fixture.fake.blocks, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_write_leaves_no_blocks),
        cmocka_unit_test(a_drop_erases_the_parts_of_a_dead_writer),
        cmocka_unit_test(a_damaged_block_is_corrupt),
    };
    return cmocka_run_group_tests_name("array parts", tests, NULL, NULL);
}
