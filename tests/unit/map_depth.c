/* A set in a store that reports every key, even the deepest, as moved deeper: the calls end,
 * and look up no impossible key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/map.h"
#include "mcds.h"
#include "store/store.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/first_key.h"
#include "support/reseal.h"

#define DIGITS 16 /* that the hash has */
#define CALLS 40

static mcds_outcome ask(mcds_store *store, mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    values->length = 0;
    mcds__store_execute(store, 0, &batch);
    return request->reply.outcome;
}

/* The root, and keys of all depths and of such as cannot be, as marks of what has moved. */
static void move_all(mcds_store *store, mcds_bytes element)
{
    static const mcds_reason *const forms[4];
    struct mcds__map map;
    struct mcds__key root;
    mcds_buffer values;
    mcds__buffer_init(&values, mcds__store_env(store), 1 << 16);
    mcds__key_begin(&root, mcds__store_ns(store), MCDS__TAG_SET, "s");
    mcds__map_init(&map, store, &root, MCDS__KIND_SET, 0, forms, 0);
    struct mcds__map_life life = first_life(store, &root);
    struct mcds__key first = first_key(store, &root);
    mcds_request get = {.command = MCDS_GET, .key = mcds__key_bytes(&first)};
    assert_int_equal(ask(store, &get, &values), MCDS_OUT_OK);
    mcds_bytes value = {values.data, values.length};
    for (uint32_t depth = 0; depth <= DIGITS; depth++) {
        struct mcds__key key;
        mcds_buffer nothing;
        mcds__buffer_init(&nothing, mcds__store_env(store), 0);
        mcds__map_key(&map, life.number, mcds__map_hash(life.hash_key, element), depth, &key);
        uint32_t flags = mcds__map_flags(MCDS__MAP_MOVED, value.length, 0);
        reseal(&values, mcds__key_bytes(&key), flags);
        mcds_request set = {
            .command = MCDS_SET, .flags = flags, .key = mcds__key_bytes(&key), .value = value};
        assert_int_equal(ask(store, &set, &nothing), MCDS_OUT_OK);
    }
    mcds__map_destroy(&map);
    mcds__buffer_free(&values);
}

static void nothing_is_deeper_than_the_deepest(void **state)
{
    mcds_bytes element = mcds_text("element");
    mcds_options options = MCDS_OPTIONS_INIT;
    struct fake_env fake;
    mcds_store *store;
    mcds_set *set;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_add(set, element, NULL), MCDS_OK);
    move_all(store, element);
    for (int i = 0; i < CALLS; i++) {
        int had = mcds_set_has(set, element);
        int added = mcds_set_add(set, element, NULL);
        assert_true(had == MCDS_LOST || had == MCDS_CORRUPT);
        assert_true(added == MCDS_LOST || added == MCDS_CORRUPT || added == MCDS_AMBIGUOUS);
    }
    mcds_set_close(set);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

/* Without memory for a wider table, what is noted of one key is not believed of its neighbours, not
 * even by the wider table that follows. */
static void what_one_key_has_shown_is_not_told_of_another(void **state)
{
    static const mcds_reason *const forms[4];
    const uint64_t hash = UINT64_C(0xAB00000000000000);
    const uint64_t other = UINT64_C(0xABF0000000000000); /* in another key of depth 5 */
    mcds_options options = MCDS_OPTIONS_INIT;
    struct mcds__map map;
    struct mcds__key root;
    struct fake_env fake;
    mcds_store *store;
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    mcds__key_begin(&root, mcds__store_ns(store), MCDS__TAG_SET, "s");
    mcds__map_init(&map, store, &root, MCDS__KIND_SET, 0, forms, 0);
    fake_env_refuse(&fake, 0, false);
    mcds__map_note_moved(&map, hash, 5);
    assert_true(fake_env_grant(&fake));
    mcds__map_note_moved(&map, UINT64_C(0x1200000000000000), 5);
    assert_false(mcds__map_has_split_above(&map, other, 6));
    mcds__map_note_moved(&map, hash, 5);
    assert_true(mcds__map_has_split_above(&map, hash, 6));
    assert_false(mcds__map_has_split_above(&map, other, 6));
    mcds__map_destroy(&map);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_deeper_than_the_deepest),
        cmocka_unit_test(what_one_key_has_shown_is_not_told_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
