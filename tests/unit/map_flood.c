/* Elements chosen so that XXH3 gives all of them one hash: sets and tables split between them
 * as between any others, because nobody can choose them without the hash key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/hash.h"
#include "core/map/map.h"
#include "store/store.h"
#include "support/fake_env.h"

#define NAMES 8000
#define NAME_LENGTH 32
/* A key is rewritten when it has doubled, from 3 KB on. */
#define KEY_MOST 12288

struct world {
    struct fake_env fake;
    mcds_store *store;
    size_t largest;
    uint32_t keys;
};

/* The first eight bytes are those of XXH3's secret, so that what follows them is multiplied by 0;
 * the last sixteen are the same in all. */
static mcds_bytes crafted(uint32_t number)
{
    static uint8_t name[NAME_LENGTH];
    static const uint8_t secret[8] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe};
    memcpy(name, secret, sizeof secret);
    (void)snprintf((char *)name + sizeof secret, 9, "%08u", (unsigned)number);
    memset(name + 16, 'x', 16);
    return (mcds_bytes){name, sizeof name};
}

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    mcds_request get = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key};
    mcds_batch batch = {.requests = &get, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(world->store, 0, &batch);
    assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
    world->keys++;
    if (get.reply.value_length > world->largest)
        world->largest = get.reply.value_length;
    return true;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 5);
    options.env = &world->fake.env;
    assert_int_equal(mcds_open("memory:", &options, &world->store), MCDS_OK);
}

static void end(struct world *world)
{
    assert_int_equal(mcds__store_keys(world->store, mcds_text("mcds:"), note_key, world),
                     MCDS_OK);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
    assert_in_range(world->largest, 1, KEY_MOST);
    assert_true(world->keys > NAMES / 100);
}

static void the_names_have_one_hash(void **state)
{
    (void)state;
    uint64_t first = mcds__hash(0, crafted(0));
    for (uint32_t i = 1; i < NAMES; i++)
        assert_int_equal(mcds__hash(0, crafted(i)), first);
}

static void a_set_splits_between_them(void **state)
{
    (void)state;
    struct world world;
    mcds_set *set;
    begin(&world);
    assert_int_equal(mcds_set_open(world.store, "s", NULL, &set), MCDS_OK);
    for (uint32_t i = 0; i < NAMES; i++)
        assert_int_equal(mcds_set_add(set, crafted(i), NULL), MCDS_OK);
    mcds_set_close(set);
    end(&world);
}

static void a_table_splits_between_them(void **state)
{
    (void)state;
    struct world world;
    mcds_table *table;
    begin(&world);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < NAMES; i++)
        assert_int_equal(mcds_table_put(table, crafted(i), mcds_text("v"), 0), MCDS_OK);
    mcds_table_close(table);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_have_one_hash),
        cmocka_unit_test(a_set_splits_between_them),
        cmocka_unit_test(a_table_splits_between_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
