/* Tables of values so large that a key takes only a few of them. A key that was made with two or
 * three of them can never grow to twice its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/descriptor/descriptor.h"
#include "core/map/bucket/bucket.h"
#include "mcds.h"
#include "store/store.h"
#include "support/fake_env.h"

#define VALUE_MAX 262016 /* a quarter of the largest value of the store: three fit into a key */
#define ROWS 60
#define TABLES 4
#define ALIKE 6 /* entries whose hashes begin with the same bits */
#define ALIKE_BITS 16

static mcds_bytes key_of(int number)
{
    static char key[16];
    (void)snprintf(key, sizeof key, "key-%d", number);
    return mcds_text(key);
}

static void check_row(mcds_table *table, int number, mcds_bytes expected)
{
    mcds_value value = MCDS_VALUE_INIT;
    assert_int_equal(mcds_table_get(table, key_of(number), &value), MCDS_OK);
    assert_int_equal(value.length, expected.length);
    assert_memory_equal(value.data, expected.data, expected.length);
    mcds_value_free(&value);
}

/* Each value has the size of `part` of a key. */
static void fill(mcds_store *store, const char *name, size_t part)
{
    mcds_table *table;
    mcds_bytes value = {calloc(1, VALUE_MAX), VALUE_MAX * 4 / part};
    assert_non_null(value.data);
    assert_int_equal(mcds_table_open(store, name, NULL, &table), MCDS_OK);
    for (int i = 0; i < 2 * ROWS; i++) {
        int result = mcds_table_put(table, key_of(i % ROWS), value, 0);
        if (result != MCDS_OK)
            fail_msg("put %d of a value of %zu bytes: %s", i, value.length, mcds_errmsg());
    }
    for (int i = 0; i < ROWS; i++)
        check_row(table, i, value);
    for (int i = 0; i < ROWS; i++)
        if (mcds_table_remove(table, key_of(i), NULL) != MCDS_OK)
            fail_msg("remove %d of a value of %zu bytes: %s", i, value.length, mcds_errmsg());
    assert_int_equal(mcds_table_drop(table), MCDS_OK);
    mcds_table_close(table);
    free((void *)value.data);
}

static void every_key_takes_large_values(void **state)
{
    struct fake_env fake;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    assert_int_equal(mcds_open("memory:?strict=1&bytes=1073741824", &options, &store), MCDS_OK);
    for (size_t part = 4; part < 4 + TABLES; part++)
        fill(store, "t", part);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

static void read_hash_key(mcds_store *store, const char *root, uint64_t hash_key[2])
{
    struct mcds__descriptor descriptor;
    const mcds_reason *detail = NULL;
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), VALUE_MAX);
    mcds_request get = {.command = MCDS_GET, .key = mcds_text(root)};
    mcds_batch batch = {
        .requests = &get, .count = 1, .deadline_ns = INT64_MAX, .values = &values};
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(mcds__descriptor_open(&descriptor,
                                           (mcds_bytes){values.data, values.length},
                                           get.reply.flags, get.key, MCDS__KIND_TABLE, &detail),
                     MCDS_OK);
    mcds__buffer_free(&values);
    hash_key[0] = mcds__get_u64(descriptor.hash_key);
    hash_key[1] = mcds__get_u64(descriptor.hash_key + 8);
}

/* They share each key on the way down, so a snapshot has three of them and no room for a fourth,
 * although nothing was appended to it. */
static void a_snapshot_without_room_is_split(void **state)
{
    struct fake_env fake;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    mcds_table *table;
    mcds_bytes value = {calloc(1, VALUE_MAX), VALUE_MAX};
    uint64_t hash_key[2];
    int alike[ALIKE] = {0};
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    assert_int_equal(mcds_open("memory:?strict=1&bytes=1073741824", &options, &store), MCDS_OK);
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_table_put(table, key_of(0), value, 0), MCDS_OK);
    read_hash_key(store, "mcds:t2:t", hash_key);
    uint64_t first = mcds__map_hash(hash_key, key_of(0)) >> (64 - ALIKE_BITS);
    for (int i = 1, number = 1; i < ALIKE; number++)
        if (mcds__map_hash(hash_key, key_of(number)) >> (64 - ALIKE_BITS) == first)
            alike[i++] = number;
    for (int i = 1; i < ALIKE; i++)
        if (mcds_table_put(table, key_of(alike[i]), value, 0) != MCDS_OK)
            fail_msg("put %d: %s", i, mcds_errmsg());
    for (int i = 0; i < ALIKE; i++)
        check_row(table, alike[i], value);
    mcds_table_close(table);
    mcds_close(store);
    free((void *)value.data);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_takes_large_values),
        cmocka_unit_test(a_snapshot_without_room_is_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
