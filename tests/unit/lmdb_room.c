/* The room of tables and sets whose entries come and go: it stays near that of the entries that
 * were there at once. On memory: it is measured in bytes of items, on lmdb: also as the file. */
#include "support/lmdb_fixture.h"

#include <sys/stat.h>

#include "core/map/map.h"
#include "mcds.h"
#include "support/fake_env.h"

#define ENTRIES 200
#define VALUE 200
#define ROUNDS 40
#define ROUND_NS (61 * NS_PER_S)
/* The keys of the store in proportion to the bytes of the entries that were there at once. */
#define TIMES 10
#define FILE_TIMES 60
/* A mark, with the void records that it may have before it is replaced. */
#define MARK_MAX 8192
#define BIG 60000
#define BIG_COUNT 60
#define KEYS_MAX 8192
#define ABSENT 3000
#define MAP_MAX 6000000 /* as in the URI */
#define MAP_MORE 800000 /* half of the reserve, and one removal */

struct room {
    char keys[KEYS_MAX][64];
    uint32_t count;
    uint64_t bytes;
    uint64_t largest_mark;
};

static bool note_key(void *context, mcds_bytes key)
{
    struct room *room = context;
    assert_in_range(key.length, 1, sizeof room->keys[0] - 1);
    assert_in_range(room->count, 0, KEYS_MAX - 1);
    memcpy(room->keys[room->count], key.data, key.length);
    room->keys[room->count++][key.length] = '\0';
    return true;
}

static const struct room *measure(mcds_store *store)
{
    static struct room room;
    memset(&room, 0, sizeof room);
    assert_int_equal(mcds__store_keys(store, text(""), note_key, &room), MCDS_OK);
    for (uint32_t i = 0; i < room.count; i++) {
        mcds_reply reply = fetch(store, room.keys[i], NULL, 0);
        assert_int_equal(reply.outcome, MCDS_OUT_OK);
        room.bytes += strlen(room.keys[i]) + reply.value_length;
        if (mcds__map_state_of(reply.flags) == MCDS__MAP_MOVED &&
            reply.value_length > room.largest_mark)
            room.largest_mark = reply.value_length;
    }
    return &room;
}

static void pass_time(struct fake_env *fake, int64_t ns)
{
    fake->monotonic_ns += ns;
    fake->wall_ns += ns;
}

static mcds_bytes name_of(char out[32], uint32_t round, uint32_t number)
{
    (void)snprintf(out, 32, "r%uk%u", (unsigned)round, (unsigned)number);
    return text(out);
}

static mcds_bytes value_of(size_t length)
{
    static char bytes[BIG];
    assert_in_range(length, 0, sizeof bytes);
    memset(bytes, 'a', length);
    return (mcds_bytes){bytes, length};
}

/* A round of a table: all entries come, and then go by removal or by their ttl. */
static void play_table(mcds_store *store, uint32_t round, uint64_t ttl_ms)
{
    mcds_table *table;
    char name[32];
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES; i++)
        assert_int_equal(
            mcds_table_put(table, name_of(name, round, i), value_of(VALUE), ttl_ms), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES && ttl_ms == 0; i++)
        assert_int_equal(mcds_table_remove(table, name_of(name, round, i), NULL), MCDS_OK);
    mcds_table_close(table);
}

static void play_set(mcds_store *store, uint32_t round)
{
    mcds_set *set;
    char name[32];
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES; i++)
        assert_int_equal(mcds_set_add(set, name_of(name, round, i), NULL), MCDS_OK);
    for (uint32_t i = 0; i < ENTRIES; i++)
        assert_int_equal(mcds_set_remove(set, name_of(name, round, i), NULL), MCDS_OK);
    mcds_set_close(set);
}

static mcds_store *open_memory(struct fake_env *fake)
{
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(fake, 1);
    options.env = &fake->env;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    return store;
}

static void check(const struct room *room, uint64_t bytes)
{
    print_message("%u keys, %llu bytes for %llu; the largest mark has %llu\n",
                  (unsigned)room->count, (unsigned long long)room->bytes,
                  (unsigned long long)bytes, (unsigned long long)room->largest_mark);
    assert_in_range(room->bytes, 0, TIMES * bytes);
    assert_in_range(room->largest_mark, 0, MARK_MAX);
}

static void new_keys_of_a_table(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++, pass_time(&fake, ROUND_NS))
        play_table(store, round, 0);
    check(measure(store), ENTRIES * VALUE);
    mcds_close(store);
}

static void the_same_keys_of_a_table(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++, pass_time(&fake, ROUND_NS))
        play_table(store, 0, 0);
    check(measure(store), ENTRIES * VALUE);
    mcds_close(store);
}

static void keys_that_expire(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++, pass_time(&fake, 2 * ROUND_NS))
        play_table(store, round, 1000);
    check(measure(store), ENTRIES * VALUE);
    mcds_close(store);
}

static void elements_of_a_set(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++, pass_time(&fake, ROUND_NS))
        play_set(store, round);
    check(measure(store), ENTRIES * 64);
    mcds_close(store);
}

/* Fresh handles have appended to keys that have been split. */
static void marks_of_split_keys(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    mcds_table *table;
    char name[32];
    (void)state;
    play_table(store, 0, 0);
    for (uint32_t round = 0; round < 10 * ROUNDS; round++) {
        assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(mcds_table_put(table, name_of(name, 0, i), value_of(VALUE), 0),
                             MCDS_OK);
        mcds_table_close(table);
    }
    assert_in_range(measure(store)->largest_mark, 1, MARK_MAX);
    mcds_close(store);
}

static void file_of_a_table(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    for (uint32_t round = 0; round < ROUNDS; round++)
        play_table(store, round, 0);
    mcds_close(store);
    assert_int_equal(stat(fixture->file, &status), 0);
    print_message("%llu bytes of the file\n", (unsigned long long)status.st_size);
    assert_in_range(status.st_size, 1, FILE_TIMES * ENTRIES * VALUE);
}

static int put_big(mcds_table *table, uint32_t number)
{
    char name[32];
    return mcds_table_put(table, name_of(name, 0, number), value_of(BIG), 0);
}

static void large_values_leave_at_once(void **state)
{
    struct fake_env fake;
    mcds_store *store = open_memory(&fake);
    mcds_table *table;
    bool changed = false;
    char name[32];
    (void)state;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < BIG_COUNT; i++)
        assert_int_equal(put_big(table, i), MCDS_OK);
    for (uint32_t i = 0; i < BIG_COUNT; i++)
        assert_int_equal(
            mcds_table_remove(table, name_of(name, 0, i), i % 2 == 0 ? &changed : NULL),
            MCDS_OK);
    assert_in_range(measure(store)->bytes, 0, BIG);
    mcds_table_close(table);
    mcds_close(store);
}

/* In a full map, each removal succeeds, and then a value as large as those removed has room. */
static void large_values_leave_a_full_map(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=6000000", NULL);
    mcds_table *table;
    char name[32];
    uint32_t count = 0;
    int result;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    while ((result = put_big(table, count)) == MCDS_OK)
        count++;
    assert_int_equal(result, MCDS_FULL);
    assert_in_range(count, 40, 120); /* a transaction may pass the limit, and keys differ */
    for (uint32_t i = 0; i < count; i++)
        if (mcds_table_remove(table, name_of(name, 0, i), NULL) != MCDS_OK)
            fail_msg("%u of %u: %s", (unsigned)i, (unsigned)count, mcds_errmsg());
    for (uint32_t i = 0; i < count / 2; i++)
        assert_int_equal(put_big(table, i), MCDS_OK);
    mcds_table_close(table);
    mcds_close(store);
}

/* Removals that free nothing leave the reserve to drops. */
static void absent_keys_use_up_no_reserve(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=6000000", NULL);
    mcds_table *table;
    struct stat status;
    char name[32];
    uint32_t count = 0;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    while (put_big(table, count) == MCDS_OK)
        count++;
    for (uint32_t i = 0; i < ABSENT; i++)
        (void)!mcds_table_remove(table, name_of(name, 1, i), NULL);
    assert_int_equal(stat(fixture->file, &status), 0);
    assert_in_range(status.st_size, 1, MAP_MAX + MAP_MORE);
    assert_int_equal(mcds_table_drop(table), MCDS_OK);
    assert_int_equal(put_big(table, 0), MCDS_OK);
    mcds_table_close(table);
    mcds_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_keys_of_a_table),
        cmocka_unit_test(the_same_keys_of_a_table),
        cmocka_unit_test(keys_that_expire),
        cmocka_unit_test(elements_of_a_set),
        cmocka_unit_test(marks_of_split_keys),
        cmocka_unit_test(large_values_leave_at_once),
        TEST(file_of_a_table),
        TEST(large_values_leave_a_full_map),
        TEST(absent_keys_use_up_no_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
