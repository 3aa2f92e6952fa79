/* Reading one element in place and as an operation: if the first answers, both agree; if it
 * does not, the operation reports why. On every backend that can show values in place. */
#include "support/lmdb_fixture.h"

#include "core/map/map.h"
#include "engine/line.h"
#include "engine/proof.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/first_key.h"
#include "support/reseal.h"

#define CAPACITY (1 << 16)
#define TTL_MS 5000
#define LIFE_MS 100000

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_table *table;
    mcds_pipeline *pipeline;
    struct mcds__map map; /* another handle, for the short way alone */
    struct mcds__map_life life;
    struct mcds__key root;
    struct mcds__key first;
    uint8_t bytes[CAPACITY]; /* what the first key holds */
    mcds_buffer value;
    uint32_t flags;
};

static const mcds_reason *const forms[4];

static void put_value(struct world *world, const char *key, const char *value, uint64_t ttl_ms)
{
    assert_int_equal(mcds_table_put(world->table, mcds_text(key), mcds_text(value), ttl_ms),
                     MCDS_OK);
}

static void read_first(struct world *world)
{
    mcds_request get = {.command = MCDS_GET, .key = mcds__key_bytes(&world->first)};
    world->value.length = 0;
    run(world->store, &get, 1, &world->value);
    assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
    world->flags = get.reply.flags;
}

static void write_first(struct world *world, uint32_t flags)
{
    mcds_request set = {.command = MCDS_SET,
                        .flags = flags,
                        .key = mcds__key_bytes(&world->first),
                        .value = {world->value.data, world->value.length}};
    assert_int_equal(run_one(world->store, set).outcome, MCDS_OUT_OK);
}

/* A table with `here`, `gone` and `brief`, which expires; and a handle that knows it. */
static void world_open(struct world *world, const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(mcds_open(uri, &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &world->pipeline), MCDS_OK);
    mcds__buffer_init_in(&world->value, &world->fake.env, CAPACITY, world->bytes, CAPACITY);
    put_value(world, "here", "value", 0);
    put_value(world, "empty", "", 0);
    put_value(world, "gone", "x", 0);
    assert_int_equal(mcds_table_remove(world->table, mcds_text("gone"), NULL), MCDS_OK);
    put_value(world, "brief", "lives", TTL_MS);
    assert_int_equal(mcds_table_incr(world->table, mcds_text("number"), 41, NULL), MCDS_OK);
    mcds__key_begin(&world->root, mcds__store_ns(world->store), MCDS__TAG_TABLE, "t");
    mcds__map_init(&world->map, world->store, &world->root, MCDS__KIND_TABLE, 0, forms, 0);
    world->life = first_life(world->store, &world->root);
    world->first = first_key(world->store, &world->root);
    read_first(world);
    mcds__map_adopt(&world->map, &world->life);
}

static void world_close(struct world *world)
{
    mcds__map_destroy(&world->map);
    mcds_pipeline_close(world->pipeline);
    mcds_table_close(world->table);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

struct answer {
    int result;
    mcds_value value;
    char sentence[256];
};

static void note(struct answer *answer, int result)
{
    answer->result = result;
    (void)snprintf(answer->sentence, sizeof answer->sentence, "%s",
                   result < 0 ? mcds_errmsg() : "");
}

/* Only operations go through a pipeline. */
static int get_by_operation(struct world *world, mcds_bytes key, mcds_value *value)
{
    mcds_completion done;
    assert_int_equal(mcds_table_get_start(world->table, key, value, world->pipeline, 0),
                     MCDS_OK);
    assert_int_equal(mcds_pipeline_next(world->pipeline, &done), MCDS_OK);
    return done.result;
}

static bool copy_value(void *context, mcds_bytes value)
{
    return mcds_buffer_append(context, value.data, value.length);
}

/* Of the short way alone: MCDS_BUSY when it does not answer. */
static int get_at_once(struct world *world, mcds_bytes key, mcds_buffer *value)
{
    int result;
    if (!mcds__map_get_at_once(&world->map, key, copy_value, value, &result))
        return MCDS_BUSY;
    return result;
}

/* All three ways, the short one first: an operation may mend what it meets. */
static void check(struct world *world, const char *key, int at_once, int result,
                  const char *value)
{
    struct answer waiting = {.value = MCDS_VALUE_INIT};
    struct answer asked = {.value = MCDS_VALUE_INIT};
    uint8_t capacity[64];
    mcds_buffer seen;
    mcds__buffer_init_in(&seen, &world->fake.env, sizeof capacity, capacity, sizeof capacity);
    assert_int_equal(get_at_once(world, mcds_text(key), &seen), at_once);
    note(&waiting, mcds_table_get(world->table, mcds_text(key), &waiting.value));
    note(&asked, get_by_operation(world, mcds_text(key), &asked.value));
    assert_int_equal(asked.result, result);
    assert_int_equal(waiting.result, result);
    assert_string_equal(waiting.sentence, asked.sentence);
    int has = mcds_table_has(world->table, mcds_text(key));
    assert_int_equal(has, result);
    assert_int_equal(seen.length, at_once == MCDS_OK ? strlen(value) : 0);
    if (result == MCDS_OK) {
        assert_int_equal(waiting.value.length, strlen(value));
        assert_memory_equal(waiting.value.data, value, strlen(value));
        assert_int_equal(asked.value.length, strlen(value));
        assert_memory_equal(asked.value.data, value, strlen(value));
        assert_memory_equal(seen.data, value, seen.length);
    }
    mcds_value_free(&waiting.value);
    mcds_value_free(&asked.value);
}

/* The same, with a sum that agrees with the flags. */
static void write_whole(struct world *world, uint32_t flags)
{
    reseal(&world->value, mcds__key_bytes(&world->first), flags);
    write_first(world, flags);
}

static void tells_what_is_there(struct world *world)
{
    check(world, "here", MCDS_OK, MCDS_OK, "value");
    check(world, "empty", MCDS_OK, MCDS_OK, "");
    check(world, "number", MCDS_OK, MCDS_OK, "41");
    check(world, "gone", MCDS_NOT_FOUND, MCDS_NOT_FOUND, "");
    check(world, "never", MCDS_NOT_FOUND, MCDS_NOT_FOUND, "");
    check(world, "brief", MCDS_OK, MCDS_OK, "lives");
    world->fake.wall_ns += (TTL_MS - 1) * NS_PER_MS;
    check(world, "brief", MCDS_OK, MCDS_OK, "lives");
    world->fake.wall_ns += NS_PER_MS;
    check(world, "brief", MCDS_NOT_FOUND, MCDS_NOT_FOUND, "");
    check(world, "here", MCDS_OK, MCDS_OK, "value");
}

static int64_t no_clock(void *self)
{
    (void)self;
    fail_msg("somebody has looked at a clock");
    return 0;
}

static void looks_at_the_clock_for_what_expires_alone(struct world *world)
{
    int64_t (*wall_ns)(void *self) = world->fake.env.wall_ns;
    int64_t (*monotonic_ns)(void *self) = world->fake.env.monotonic_ns;
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_OK);
    world->fake.env.wall_ns = world->fake.env.monotonic_ns = no_clock;
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_OK);
    assert_int_equal(mcds_table_has(world->table, mcds_text("gone")), MCDS_NOT_FOUND);
    assert_int_equal(mcds_table_has(world->table, mcds_text("never")), MCDS_NOT_FOUND);
    world->fake.env.wall_ns = wall_ns;
    assert_int_equal(mcds_table_has(world->table, mcds_text("brief")), MCDS_OK);
    world->fake.env.monotonic_ns = monotonic_ns;
}

static void leaves_to_an_operation_what_is_not_open(struct world *world)
{
    size_t end = world->value.length;
    uint32_t sealed = mcds__map_flags(MCDS__MAP_SEALED, end, 0);
    uint32_t moved = mcds__map_flags(MCDS__MAP_MOVED, end, 0);
    write_first(world, mcds__map_flags(MCDS__MAP_FOREIGN, end, 0));
    check(world, "here", MCDS_BUSY, MCDS_CORRUPT, "");
    /* The operation makes the children; records after the seal are void. */
    write_whole(world, sealed);
    check(world, "here", MCDS_BUSY, MCDS_NOT_FOUND, "");
    put_value(world, "here", "deeper", 0);
    check(world, "here", MCDS_BUSY, MCDS_OK, "deeper");
    mcds__map_note_depth(&world->map, world->life.number,
                         mcds__map_hash(world->life.hash_key, mcds_text("here")), 1);
    check(world, "here", MCDS_OK, MCDS_OK, "deeper");
    write_whole(world, moved);
    check(world, "here", MCDS_OK, MCDS_OK, "deeper");
}

static void leaves_to_an_operation_what_is_gone(struct world *world)
{
    mcds__map_forget(&world->map, world->life.number);
    check(world, "here", MCDS_BUSY, MCDS_OK, "value");
    mcds__map_adopt(&world->map, &world->life);
    check(world, "here", MCDS_OK, MCDS_OK, "value");
    assert_int_equal(mcds_table_drop(world->table), MCDS_OK);
    check(world, "here", MCDS_BUSY, MCDS_NOT_FOUND, "");
    put_value(world, "here", "again", 0);
    check(world, "here", MCDS_BUSY, MCDS_OK, "again");
    world->life = first_life(world->store, &world->root);
    mcds__map_adopt(&world->map, &world->life);
    check(world, "here", MCDS_OK, MCDS_OK, "again");
}

/* The first key is there, and its root is not: the store has lost that, or another drops it. */
static void is_told_that_the_root_is_gone(struct world *world)
{
    assert_int_equal(drop(world->store, world->root.bytes).outcome, MCDS_OUT_OK);
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_LOST);
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_NOT_FOUND);
}

/* Operations of one round share what a look in it has shown, not what one of them saw earlier. */
static void shares_what_this_look_has_shown(struct world *world)
{
    struct mcds__map *map = &world->map;
    struct mcds__lines lines = {0};
    struct mcds__operation operation = {.round = 7, .lines = &lines};
    const uint64_t life = world->life.number;
    struct mcds__map_proof asker = {.seen = life, .is_alone = true};
    struct mcds__map_proof sharer = {.round = 7};
    struct mcds__map_proof later = {.round = 8};
    const mcds_reply unknown = {.outcome = MCDS_OUT_UNKNOWN};
    mcds_request look;
    assert_int_equal(mcds__map_prove_along(&asker, map, life, &operation, &look), 1);
    mcds_reply shown = run_one(world->store, look);
    assert_int_equal(drop(world->store, world->root.bytes).outcome, MCDS_OUT_OK);
    mcds__map_take_proof(&asker, map, life, &operation, &unknown);
    assert_int_equal(mcds__map_is_alive(&sharer, map, life, &operation), MCDS__MAP_OVER);
    sharer = (struct mcds__map_proof){.round = 7};
    mcds__map_take_proof(&asker, map, life, &operation, &shown);
    assert_int_equal(mcds__map_is_alive(&sharer, map, life, &operation), MCDS__MAP_ALIVE);
    assert_int_equal(mcds__map_is_alive(&later, map, life, &operation), MCDS__MAP_OVER);
    sharer = (struct mcds__map_proof){.round = 7};
    assert_int_equal(mcds__map_is_alive(&sharer, map, life + 1, &operation), MCDS__MAP_OVER);
}

/* The next operations of a round read no root, and those of the next round do. */
static void reads_the_root_once_in_a_round(struct world *world)
{
    struct mcds__lines lines = {0};
    struct mcds__operation operation = {.round = 7, .lines = &lines};
    const uint64_t life = world->life.number;
    assert_true(mcds__proof_claim(&operation, 1, life));
    assert_false(mcds__proof_claim(&operation, 1, life));
    assert_true(mcds__proof_claim(&operation, 1, life + 1));
    operation.round = 8;
    assert_true(mcds__proof_claim(&operation, 1, life + 1));
    operation.lines = NULL;
    assert_true(mcds__proof_claim(&operation, 1, life + 1));
}

/* Any byte that changes, in head, snapshot or records. */
static void finds_out_damage(struct world *world)
{
    for (size_t i = 0; i < world->value.length; i++) {
        world->value.data[i] ^= 0x10;
        write_first(world, world->flags);
        check(world, "here", MCDS_BUSY, MCDS_CORRUPT, "");
        check(world, "never", MCDS_BUSY, MCDS_CORRUPT, "");
        world->value.data[i] ^= 0x10;
    }
    write_first(world, world->flags);
    check(world, "here", MCDS_OK, MCDS_OK, "value");
}

static void says_when_there_is_no_memory(struct world *world)
{
    mcds_value value = MCDS_VALUE_INIT;
    world->fake.allowed = 0;
    assert_int_equal(mcds_table_get(world->table, mcds_text("here"), &value), MCDS_NO_MEMORY);
    assert_string_equal(mcds_errmsg(), "table 't': get: this process is out of memory");
    assert_null(value.data);
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_OK);
    world->fake.allowed = -1;
    assert_int_equal(mcds_table_get(world->table, mcds_text("here"), &value), MCDS_OK);
    /* Room that is there already is used again. */
    world->fake.allowed = 0;
    assert_int_equal(mcds_table_get(world->table, mcds_text("brief"), &value), MCDS_OK);
    assert_memory_equal(value.data, "lives", 5);
    world->fake.allowed = -1;
    mcds_value_free(&value);
}

/* What may expire as a whole is asked for with a look at the clock. */
static void leaves_to_an_operation_what_may_expire(struct world *world)
{
    mcds_request touch = {
        .command = MCDS_TOUCH, .key = mcds__key_bytes(&world->root), .ttl_ms = LIFE_MS};
    assert_int_equal(run_one(world->store, touch).outcome, MCDS_OUT_OK);
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_OK);
    world->fake.wall_ns += LIFE_MS * NS_PER_MS;
    world->fake.monotonic_ns += LIFE_MS * NS_PER_MS;
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_LOST);
    assert_int_equal(mcds_table_has(world->table, mcds_text("here")), MCDS_NOT_FOUND);
}

static void on_each_backend(const struct fixture *fixture, void (*ask)(struct world *world))
{
    struct world *world = calloc(1, sizeof *world);
    char uri[256];
    assert_non_null(world);
    world_open(world, "memory:");
    ask(world);
    world_close(world);
    (void)snprintf(uri, sizeof uri, "lmdb:%s?sync=async", fixture->file);
    world_open(world, uri);
    ask(world);
    world_close(world);
    free(world);
}

#define CASE(name)                                                                             \
    static void test_##name(void **state)                                                      \
    {                                                                                          \
        on_each_backend(*state, name);                                                         \
    }

CASE(tells_what_is_there)
CASE(looks_at_the_clock_for_what_expires_alone)
CASE(leaves_to_an_operation_what_is_not_open)
CASE(leaves_to_an_operation_what_is_gone)
CASE(is_told_that_the_root_is_gone)
CASE(shares_what_this_look_has_shown)
CASE(reads_the_root_once_in_a_round)
CASE(finds_out_damage)
CASE(says_when_there_is_no_memory)
CASE(leaves_to_an_operation_what_may_expire)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tells_what_is_there),
        TEST(test_looks_at_the_clock_for_what_expires_alone),
        TEST(test_leaves_to_an_operation_what_is_not_open),
        TEST(test_leaves_to_an_operation_what_is_gone),
        TEST(test_is_told_that_the_root_is_gone),
        TEST(test_shares_what_this_look_has_shown),
        TEST(test_reads_the_root_once_in_a_round),
        TEST(test_finds_out_damage),
        TEST(test_says_when_there_is_no_memory),
        TEST(test_leaves_to_an_operation_what_may_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
