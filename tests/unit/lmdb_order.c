/* The order of keys in an lmdb: file is LMDB's own, so that other programs can read it. */
#include "support/lmdb_fixture.h"

#include <lmdb.h>

#define KEYS 2000
#define KEY_MAX 250

struct generator {
    uint32_t state;
};

static uint32_t below(struct generator *generator, uint32_t bound)
{
    generator->state = generator->state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)generator->state * bound >> 32);
}

/* Keys that begin alike, end early, and differ at any place. */
static void make_key(struct generator *generator, char out[KEY_MAX + 1])
{
    static const uint32_t lengths[] = {3, 7, 8, 9, 16, 17, 24, 31, KEY_MAX};
    uint32_t length = 1 + below(generator, lengths[below(generator, 9)]);
    memset(out, 'm', length);
    out[length] = '\0';
    for (uint32_t i = below(generator, 4); i > 0; i--)
        out[below(generator, length)] = (char)('!' + below(generator, '~' - '!' + 1));
}

struct plain {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi items;
};

static struct plain open_plain(const char *file)
{
    struct plain plain;
    assert_int_equal(mdb_env_create(&plain.env), 0);
    assert_int_equal(mdb_env_set_maxdbs(plain.env, 4), 0);
    assert_int_equal(mdb_env_open(plain.env, file, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(mdb_txn_begin(plain.env, NULL, 0, &plain.txn), 0);
    assert_int_equal(mdb_dbi_open(plain.txn, "items", 0, &plain.items), 0);
    return plain;
}

static void close_plain(struct plain *plain)
{
    assert_int_equal(mdb_txn_commit(plain->txn), 0);
    mdb_env_close(plain->env);
}

static int compare(MDB_val left, MDB_val right)
{
    size_t length = left.mv_size < right.mv_size ? left.mv_size : right.mv_size;
    int order = memcmp(left.mv_data, right.mv_data, length);
    return order != 0 ? order : (left.mv_size > right.mv_size) - (left.mv_size < right.mv_size);
}

/* How many there are, each after the one before. */
static size_t count_in_order(const struct plain *plain)
{
    MDB_cursor *cursor;
    MDB_val key = {0, NULL};
    MDB_val data;
    size_t count = 0;
    assert_int_equal(mdb_cursor_open(plain->txn, plain->items, &cursor), 0);
    for (MDB_val before = key; mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0; before = key)
        assert_true(count++ == 0 || compare(before, key) < 0);
    mdb_cursor_close(cursor);
    return count;
}

static void others_find_what_mcds_wrote(void **state)
{
    struct fixture *fixture = *state;
    char key[KEY_MAX + 1];
    struct generator generator = {1};
    size_t stored = 0;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    for (int i = 0; i < KEYS; i++) {
        make_key(&generator, key);
        stored += put(store, MCDS_ADD, key, "v", 0).outcome == MCDS_OUT_OK;
    }
    mcds_close(store);
    struct plain plain = open_plain(fixture->file);
    assert_true(stored > KEYS / 2);
    assert_int_equal(count_in_order(&plain), stored);
    generator = (struct generator){1};
    for (int i = 0; i < KEYS; i++) {
        MDB_val data;
        make_key(&generator, key);
        assert_int_equal(mdb_get(plain.txn, plain.items, &(MDB_val){strlen(key), key}, &data),
                         0);
    }
    close_plain(&plain);
}

static void mcds_finds_what_others_wrote(void **state)
{
    struct fixture *fixture = *state;
    char key[KEY_MAX + 1];
    uint8_t record[] = {1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    struct generator generator = {2};
    mcds_close(open_store(fixture->file, "?sync=async", NULL));
    struct plain plain = open_plain(fixture->file);
    for (int i = 0; i < KEYS; i++) {
        make_key(&generator, key);
        assert_int_equal(mdb_put(plain.txn, plain.items, &(MDB_val){strlen(key), key},
                                 &(MDB_val){sizeof record, record}, 0),
                         0);
    }
    close_plain(&plain);
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    generator = (struct generator){2};
    for (int i = 0; i < KEYS; i++) {
        make_key(&generator, key);
        assert_int_equal(fetch(store, key, NULL, 0).flags, 7);
    }
    mcds_close(store);
}

/* What others have put under a key stays until it is erased or overwritten as a whole. */
static void what_is_no_record_is_left_alone(void **state)
{
    static const mcds_command commands[] = {MCDS_GET,  MCDS_ADD,  MCDS_REPLACE, MCDS_APPEND,
                                            MCDS_INCR, MCDS_DECR, MCDS_TOUCH};
    struct fixture *fixture = *state;
    char key[] = "junk";
    mcds_close(open_store(fixture->file, "?sync=async", NULL));
    struct plain plain = open_plain(fixture->file);
    assert_int_equal(mdb_put(plain.txn, plain.items, &(MDB_val){strlen(key), key},
                             &(MDB_val){strlen(key), key}, 0),
                     0);
    close_plain(&plain);
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
            assert_int_equal(put(store, commands[i], key, "1", 0).outcome, MCDS_OUT_FAILED);
    assert_int_equal(put(store, MCDS_DELETE, key, "", 0).outcome, MCDS_OUT_OK);
    assert_int_equal(put(store, MCDS_ADD, key, "1", 0).outcome, MCDS_OUT_OK);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(others_find_what_mcds_wrote),
        TEST(mcds_finds_what_others_wrote),
        TEST(what_is_no_record_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
