/* The depths that a handle remembers. A set in a store that reports every key, even the deepest, as
 * moved deeper: the calls end, and look up no impossible key. */
#include <pthread.h>
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
#define LIFE 7
#define NEXT_LIFE 8
#define LIVES 2000
#define HASH UINT64_C(0xAB00000000000000)

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

struct world {
    struct fake_env fake;
    void *(*reallocate)(void *self, void *memory, size_t length);
    mcds_store *store;
    struct mcds__map map;
    bool was_free; /* the mutex, while memory for a table was allocated */
};

static void set_life(struct mcds__map *map, uint64_t number)
{
    struct mcds__map_life life = {.number = number};
    mcds__map_adopt(map, &life);
}

static void begin(struct world *world)
{
    static const mcds_reason *const forms[4];
    mcds_options options = MCDS_OPTIONS_INIT;
    struct mcds__key root;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(mcds_open("memory:", &options, &world->store), MCDS_OK);
    mcds__key_begin(&root, mcds__store_ns(world->store), MCDS__TAG_SET, "s");
    mcds__map_init(&world->map, world->store, &root, MCDS__KIND_SET, 0, forms, 0);
    set_life(&world->map, LIFE);
}

static void end(struct world *world)
{
    mcds__map_destroy(&world->map);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Without memory for a wider table, what is noted of one key is not believed of its neighbours, not
 * even by the wider table that follows. */
static void what_one_key_has_shown_is_not_told_of_another(void **state)
{
    const uint64_t other = UINT64_C(0xABF0000000000000); /* in another key of depth 5 */
    static struct world world;
    (void)state;
    begin(&world);
    fake_env_refuse(&world.fake, 0, false);
    mcds__map_note_moved(&world.map, LIFE, HASH, 5);
    assert_true(fake_env_grant(&world.fake));
    mcds__map_note_moved(&world.map, LIFE, UINT64_C(0x1200000000000000), 5);
    assert_false(mcds__map_has_split_above(&world.map, other, 6));
    mcds__map_note_moved(&world.map, LIFE, HASH, 5);
    assert_true(mcds__map_has_split_above(&world.map, HASH, 6));
    assert_false(mcds__map_has_split_above(&world.map, other, 6));
    end(&world);
}

/* What a late reply has shown of keys of a life is not believed of those of the next one. */
static void what_one_life_has_shown_is_not_told_of_another(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    set_life(&world.map, NEXT_LIFE);
    mcds__map_note_found(&world.map, LIFE, HASH, 2);
    mcds__map_note_depth(&world.map, LIFE, HASH, 3);
    mcds__map_note_moved(&world.map, LIFE, HASH, 3);
    assert_int_equal(mcds__map_depth(&world.map, HASH), 0);
    assert_true(mcds__map_is_depth_assumed(&world.map, HASH));
    assert_false(mcds__map_has_split_above(&world.map, HASH, 4));
    mcds__map_note_found(&world.map, NEXT_LIFE, HASH, 2); /* the guess is not used up */
    assert_int_equal(mcds__map_depth(&world.map, ~HASH), 2);
    end(&world);
}

static void *look_and_allocate(void *self, void *memory, size_t length)
{
    struct world *world = (struct world *)self;
    if (length > 0 && pthread_mutex_trylock(&world->map.mutex) == 0) {
        world->was_free = true;
        (void)pthread_mutex_unlock(&world->map.mutex);
    }
    return world->reallocate(self, memory, length);
}

/* Another thread forgets the depths: not while a wider table is filled from a narrow one. */
static void no_table_is_filled_while_depths_are_forgotten(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    world.reallocate = world.fake.env.reallocate;
    world.fake.env.reallocate = look_and_allocate;
    mcds__map_note_moved(&world.map, LIFE, HASH, 5);
    mcds__map_note_moved(&world.map, LIFE, HASH, 9);
    world.fake.env.reallocate = world.reallocate;
    assert_false(world.was_free);
    assert_true(mcds__map_has_split_above(&world.map, HASH, 10));
    end(&world);
}

/* Replies of the first life, one key after the other. */
static void *note_first_life(void *context)
{
    struct mcds__map *map = context;
    for (uint64_t i = 0; i < LIVES; i++)
        mcds__map_note_moved(map, LIFE, HASH + (i << 44), 5 + (uint32_t)(i & 1));
    return NULL;
}

static void lives_of_threads_are_kept_apart(void **state)
{
    static struct world world;
    pthread_t thread;
    (void)state;
    begin(&world);
    assert_int_equal(pthread_create(&thread, NULL, note_first_life, &world.map), 0);
    for (int life = 0; life < LIVES / 100; life++) {
        set_life(&world.map, NEXT_LIFE);
        for (uint64_t i = 0; i < LIVES; i++)
            assert_false(
                mcds__map_has_split_above(&world.map, HASH + (i << 44), 6 + (uint32_t)(i & 1)));
        set_life(&world.map, LIFE);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_deeper_than_the_deepest),
        cmocka_unit_test(what_one_key_has_shown_is_not_told_of_another),
        cmocka_unit_test(what_one_life_has_shown_is_not_told_of_another),
        cmocka_unit_test(no_table_is_filled_while_depths_are_forgotten),
        cmocka_unit_test(lives_of_threads_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
