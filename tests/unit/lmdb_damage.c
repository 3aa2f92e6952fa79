/* lmdb: a file with overwritten pages. Each page of a file is overwritten in turn. */
#include "support/lmdb_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "mcds/set.h"
#include "store/lmdb/check/pages.h"

#define FILE_MAX ((size_t)4 << 20)
#define PAGE 4096
#define KEYS 1500
#define HEADER_PAGES 2
#define MARK_BYTES 16
/* Offsets in a page. */
#define FLAGS_AT (sizeof(size_t) + 2)
#define LOWER_AT (sizeof(size_t) + 4)
#define HEAD_BYTES (sizeof(size_t) + 8)
#define LEAF 2
#define PARTS_MAX 1024
#define ELEMENTS 4000

static uint8_t sound[FILE_MAX];
static size_t sound_length;

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, length), length);
    assert_int_equal(close(descriptor), 0);
}

/* Short values, long ones on pages of their own, some with a ttl, and lists of free pages. */
static void make_sound(const char *path)
{
    static char large[9000];
    mcds_store *store = open_store(path, "?sync=async", NULL);
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < KEYS; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "ns:key%d", i * 7919 % KEYS);
        (void)put(store, MCDS_SET, key, i % 25 == 0 ? large : key, i % 5 == 0 ? 3600000 : 0);
        if (i % 3 == 0)
            (void)drop(store, key);
    }
    mcds_close(store);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    ssize_t length = read(descriptor, sound, FILE_MAX);
    assert_in_range(length, 20 * PAGE, FILE_MAX - 1);
    assert_int_equal(close(descriptor), 0);
    sound_length = (size_t)length;
}

/* Writes the sound file with `fill` at the start of a page. */
static void damage(const char *path, size_t page, uint8_t fill, size_t length)
{
    static uint8_t bytes[FILE_MAX];
    memcpy(bytes, sound, sound_length);
    memset(bytes + page * PAGE, fill, length);
    write_file(path, bytes, sound_length);
}

static struct mcds__lmdb_walk walk_file(const char *path, const char *prefix)
{
    struct stat status;
    struct mcds__lmdb_meta meta;
    struct mcds__lmdb_walk walk = {.meta = &meta, .prefix = text(prefix)};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0 && fstat(descriptor, &status) == 0);
    assert_int_equal(mcds__lmdb_read_header(descriptor, &meta), MCDS__LMDB_HEADER_SOUND);
    mcds__lmdb_walk(&walk, descriptor, (uint64_t)status.st_size);
    assert_int_equal(close(descriptor), 0);
    assert_false(walk.is_unfinished);
    return walk;
}

/* Pages that are not found are free, or inside a long value. */
static void every_overwritten_page_in_use_is_found(void **state)
{
    const struct fixture *fixture = *state;
    size_t found = 0;
    make_sound(fixture->file);
    struct mcds__lmdb_walk whole = walk_file(fixture->file, "");
    assert_int_equal(whole.damaged, 0);
    assert_int_equal(whole.entries, KEYS - KEYS / 3);
    assert_int_equal(whole.expected, whole.entries);
    assert_int_equal(walk_file(fixture->file, "ns:key1").damaged, 0);
    assert_int_equal(walk_file(fixture->file, "other:").damaged, 0);
    for (size_t page = HEADER_PAGES; page < sound_length / PAGE; page++) {
        static const uint8_t fills[] = {0, 0xff};
        uint64_t damaged[2];
        for (size_t i = 0; i < 2; i++) {
            damage(fixture->file, page, fills[i], MARK_BYTES);
            struct mcds__lmdb_walk walk = walk_file(fixture->file, "");
            damaged[i] = walk.damaged;
            assert_true(walk.damaged == 0 || walk.damaged == page);
            assert_true(walk.damaged != 0 || walk.entries == walk.expected);
            assert_false(walk.is_cut);
        }
        assert_int_equal(damaged[0], damaged[1]);
        found += damaged[0] != 0;
    }
    assert_true(found > sound_length / PAGE / 4);
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(size_t *)context;
    return true;
}

/* Leaves one node of a leaf. LMDB reads such a page without noticing. False: it is no leaf. */
static bool shorten(const char *path, size_t page)
{
    static const uint16_t one = HEAD_BYTES + sizeof(uint16_t);
    static uint8_t bytes[FILE_MAX];
    uint16_t flags;
    uint16_t lower;
    memcpy(&flags, sound + page * PAGE + FLAGS_AT, sizeof flags);
    memcpy(&lower, sound + page * PAGE + LOWER_AT, sizeof lower);
    if (flags != LEAF || lower <= one)
        return false;
    memcpy(bytes, sound, sound_length);
    memcpy(bytes + page * PAGE + LOWER_AT, &one, sizeof one);
    write_file(path, bytes, sound_length);
    return true;
}

static void no_listing_is_short_without_a_word(void **state)
{
    const struct fixture *fixture = *state;
    size_t damaged = 0;
    make_sound(fixture->file);
    for (size_t page = HEADER_PAGES; page < sound_length / PAGE; page++) {
        mcds_store *store;
        size_t count = 0;
        if (!shorten(fixture->file, page) ||
            try_open(fixture->file, "", NULL, &store) != MCDS_OK)
            continue;
        int result = mcds__store_keys(store, text("ns:"), count_key, &count);
        if (count < KEYS - KEYS / 3) {
            assert_int_equal(result, MCDS_IO);
            assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_DAMAGED);
            damaged++;
        } else {
            assert_int_equal(result, MCDS_OK);
        }
        mcds_close(store);
    }
    assert_true(damaged > 0);
}

/* Writes the sound file with a page of noise. In every other one, LMDB sees a leaf. */
static void scramble(const char *path, size_t page, uint64_t seed)
{
    static uint8_t bytes[FILE_MAX];
    static const uint16_t leaf = LEAF;
    memcpy(bytes, sound, sound_length);
    for (size_t i = 0; i < PAGE; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[page * PAGE + i] = (uint8_t)(seed >> 56);
    }
    if (page % 2 == 0)
        memcpy(bytes + page * PAGE + FLAGS_AT, &leaf, sizeof leaf);
    write_file(path, bytes, sound_length);
}

/* `outcome` is that of a key that is there. Returns whether the file was found to be damaged. */
static bool is_found_damaged(const mcds_reply *reply, mcds_outcome outcome)
{
    if (reply->outcome == outcome)
        return false;
    assert_int_equal(reply->outcome, MCDS_OUT_FAILED);
    assert_int_equal(reply->detail->cause, MCDS_CAUSE_DAMAGED);
    return true;
}

static void no_key_is_absent_on_a_damaged_page(void **state)
{
    const struct fixture *fixture = *state;
    size_t damaged = 0;
    make_sound(fixture->file);
    for (size_t page = HEADER_PAGES; page < sound_length / PAGE; page++) {
        mcds_store *store;
        scramble(fixture->file, page, page);
        if (try_open(fixture->file, "", NULL, &store) != MCDS_OK)
            continue;
        for (int i = 1; i < KEYS; i += 9) {
            static char value[10000];
            char key[24];
            (void)snprintf(key, sizeof key, "ns:key%d", i * 7919 % KEYS);
            mcds_reply read = fetch(store, key, value, sizeof value);
            bool is_damaged = is_found_damaged(&read, MCDS_OUT_OK);
            mcds_reply added = put(store, MCDS_ADD, key, "another", 0);
            assert_int_equal(is_found_damaged(&added, MCDS_OUT_NOT_STORED), is_damaged);
            damaged += is_damaged;
        }
        mcds_close(store);
    }
    assert_true(damaged > 0);
}

/* The problem says how many items are left. */
static void an_inspection_counts_what_is_left(void **state)
{
    const struct fixture *fixture = *state;
    size_t found = 0;
    make_sound(fixture->file);
    for (size_t page = HEADER_PAGES; page < sound_length / PAGE; page += 5) {
        struct sought sought;
        mcds_store *store;
        char expected[120];
        damage(fixture->file, page, 0xff, MARK_BYTES);
        struct mcds__lmdb_walk walk = walk_file(fixture->file, "");
        if (walk.damaged == 0 || try_open(fixture->file, "", NULL, &store) != MCDS_OK)
            continue;
        (void)snprintf(expected, sizeof expected,
                       "its page %zu has been overwritten, and %llu of %d items can be read",
                       page, (unsigned long long)walk.entries, KEYS - KEYS / 3);
        assert_string_not_equal(find_finding(store, expected, &sought), "");
        found++;
        mcds_close(store);
    }
    assert_true(found > 0);
}

/* Not "cut short", and not "no LMDB file". */
static void an_overwritten_header_is_named(void **state)
{
    const struct fixture *fixture = *state;
    make_sound(fixture->file);
    for (size_t page = 0; page < HEADER_PAGES; page++) {
        static const uint8_t fills[] = {0, 0x55, 0xff};
        for (size_t i = 0; i < sizeof fills; i++) {
            mcds_store *store;
            damage(fixture->file, page, fills[i], PAGE);
            assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
            assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_DAMAGED);
            assert_non_null(strstr(mcds_errmsg(), "its header"));
            assert_non_null(strstr(mcds_errmsg(), "restore a backup"));
        }
    }
}

static void a_damaged_file_is_not_copied(void **state)
{
    const struct fixture *fixture = *state;
    char copy[160];
    struct stat status;
    size_t refused = 0;
    (void)snprintf(copy, sizeof copy, "%s-copy", fixture->file);
    make_sound(fixture->file);
    for (size_t page = HEADER_PAGES; page < sound_length / PAGE; page += 3) {
        mcds_store *store;
        damage(fixture->file, page, 0xff, MARK_BYTES);
        bool is_damaged = walk_file(fixture->file, "").damaged != 0;
        if (try_open(fixture->file, "", NULL, &store) != MCDS_OK)
            continue;
        int result = mcds_backup(store, copy);
        assert_int_equal(result, is_damaged ? MCDS_IO : MCDS_OK);
        assert_int_equal(stat(copy, &status), is_damaged ? -1 : 0);
        if (is_damaged)
            assert_non_null(strstr(mcds_errmsg(), "nothing was copied"));
        refused += is_damaged;
        (void)unlink(copy);
        mcds_close(store);
    }
    assert_true(refused > 0);
}

struct parts {
    size_t count;
    char key[PARTS_MAX][64];
};

static bool keep_part(void *context, mcds_bytes key)
{
    struct parts *parts = context;
    assert_true(parts->count < PARTS_MAX && key.length < sizeof parts->key[0]);
    (void)snprintf(parts->key[parts->count++], sizeof parts->key[0], "%.*s", (int)key.length,
                   (const char *)key.data);
    return true;
}

static bool count_element(void *context, mcds_bytes element, uint64_t times)
{
    (void)times;
    return count_key(context, element);
}

/* A store that evicts nothing blames neither a restart nor an eviction. */
static void a_lost_part_is_damage(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    static struct parts parts;
    mcds_set *set;
    size_t count = 0;
    assert_int_equal(mcds_set_open(store, "big", NULL, &set), MCDS_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        char element[16];
        (void)snprintf(element, sizeof element, "e%d", i);
        assert_int_equal(mcds_set_add(set, text(element), NULL), MCDS_OK);
    }
    assert_int_equal(mcds__store_keys(store, text("mcds:"), keep_part, &parts), MCDS_OK);
    assert_true(parts.count > 1);
    for (size_t i = 0; i < parts.count; i++)
        if (strlen(parts.key[i]) > strlen(parts.key[0]))
            (void)drop(store, parts.key[i]);
    assert_int_equal(mcds_set_scan(set, count_element, &count), MCDS_LOST);
    assert_null(strstr(mcds_errmsg(), "it evicts"));
    assert_non_null(strstr(mcds_errmsg(), "its data is damaged"));
    assert_non_null(strstr(mcds_errmsg(), "restore a backup"));
    mcds_set_close(set);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_overwritten_page_in_use_is_found),
        TEST(no_listing_is_short_without_a_word),
        TEST(no_key_is_absent_on_a_damaged_page),
        TEST(an_inspection_counts_what_is_left),
        TEST(an_overwritten_header_is_named),
        TEST(a_damaged_file_is_not_copied),
        TEST(a_lost_part_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
