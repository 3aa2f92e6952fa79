/* The bytes of a map key: records, snapshots, flags, and the effects of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "base/hash/crc32c.h"
#include "core/map/map.h"
#include "support/fake_env.h"
#include "support/map_record.h"
#include "support/reseal.h"

#define WRITER UINT64_C(0x1122334455667788)
#define NOW_MS INT64_C(1700000000000)

static const char key_text[] = "mcds:t1:x";

struct bytes {
    struct fake_env fake;
    mcds_buffer value;
    uint32_t flags;
};

static mcds_bytes key(void)
{
    return mcds_text(key_text);
}

static mcds_bytes value_of(const struct bytes *bytes)
{
    return (mcds_bytes){bytes->value.data, bytes->value.length};
}

/* An empty key. */
static void begin(struct bytes *bytes)
{
    struct mcds__bucket nothing;
    uint32_t flags;
    fake_env_init(&bytes->fake, 1);
    mcds__buffer_init(&bytes->value, &bytes->fake.env, 1 << 20);
    mcds__bucket_init(&nothing, &bytes->fake.env, key(), (mcds_bytes){NULL, 0});
    assert_true(mcds__bucket_encode(&nothing, key(), MCDS__MAP_OPEN, 0, &bytes->value, &flags));
    bytes->flags = flags;
}

static void end(struct bytes *bytes)
{
    mcds__buffer_free(&bytes->value);
    assert_int_equal(bytes->fake.blocks, 0);
}

static void append_at(struct bytes *bytes, struct mcds__map_command command, uint64_t writer,
                      uint32_t seq, uint32_t low, int64_t time_ms)
{
    struct mcds__map_record record = {command, writer, seq, low, time_ms};
    assert_true(map_record_put(&bytes->value, key(), &record));
}

static struct mcds__map_command put(const char *element, const char *value)
{
    return (struct mcds__map_command){
        .verb = MCDS__MAP_PUT, .element = mcds_text(element), .value = mcds_text(value)};
}

static struct mcds__map_command count(const char *element, int64_t delta)
{
    return (struct mcds__map_command){
        .verb = MCDS__MAP_COUNT, .element = mcds_text(element), .delta = delta};
}

static void check_entry(struct bytes *bytes, const char *element, const char *expected)
{
    struct mcds__bucket bucket;
    for (int alone = 0; alone < 2; alone++) {
        mcds__bucket_init(&bucket, &bytes->fake.env, key(),
                          alone ? mcds_text(element) : (mcds_bytes){NULL, 0});
        assert_int_equal(mcds__map_load(&bucket, value_of(bytes), bytes->flags), MCDS_OK);
        const struct mcds__map_entry *entry = mcds__map_find(&bucket, mcds_text(element));
        if (entry != NULL && !mcds__map_is_there(entry, NOW_MS))
            entry = NULL;
        if (expected == NULL) {
            assert_null(entry);
        } else {
            assert_non_null(entry);
            assert_int_equal(entry->value.length, strlen(expected));
            assert_memory_equal(entry->value.data, expected, strlen(expected));
        }
        mcds__bucket_free(&bucket);
    }
}

/* Fold the records into the snapshot. */
static void rewrite(struct bytes *bytes)
{
    struct mcds__bucket bucket;
    mcds_buffer next;
    uint32_t flags;
    mcds__buffer_init(&next, &bytes->fake.env, 1 << 20);
    mcds__bucket_init(&bucket, &bytes->fake.env, key(), (mcds_bytes){NULL, 0});
    assert_int_equal(mcds__map_load(&bucket, value_of(bytes), bytes->flags), MCDS_OK);
    assert_true(mcds__bucket_encode(&bucket, key(), MCDS__MAP_OPEN, NOW_MS, &next, &flags));
    mcds__bucket_free(&bucket);
    mcds__buffer_free(&bytes->value);
    bytes->value = next;
    bytes->flags = flags;
}

static void records_come_back_as_they_went(void **state)
{
    (void)state;
    struct bytes bytes;
    struct mcds__map_record seen;
    size_t at = 0;
    struct mcds__map_command command = {
        .verb = MCDS__MAP_SWAP,
        .element = mcds_text("element"),
        .value = mcds_text("new"),
        .expected = mcds_text("old"),
        .delta = INT64_MIN,
        .expires_ms = NOW_MS + 1,
    };
    begin(&bytes);
    bytes.value.length = 0;
    append_at(&bytes, command, WRITER, UINT32_MAX, UINT32_MAX - 300, NOW_MS);
    append_at(&bytes, put("e", ""), WRITER, 1, 1, NOW_MS);
    assert_int_equal(map_record_next(value_of(&bytes), mcds__map_key_sum(key()), &at, &seen),
                     MCDS_OK);
    assert_int_equal(seen.command.verb, MCDS__MAP_SWAP);
    assert_memory_equal(seen.command.element.data, "element", 7);
    assert_memory_equal(seen.command.value.data, "new", 3);
    assert_memory_equal(seen.command.expected.data, "old", 3);
    assert_true(seen.command.delta == INT64_MIN);
    assert_int_equal(seen.command.expires_ms, NOW_MS + 1);
    assert_true(seen.writer == WRITER && seen.seq == UINT32_MAX);
    assert_int_equal(seen.low, UINT32_MAX - 300);
    assert_int_equal(seen.time_ms, NOW_MS);
    assert_int_equal(map_record_next(value_of(&bytes), mcds__map_key_sum(key()), &at, &seen),
                     MCDS_OK);
    assert_int_equal(seen.command.value.length, 0);
    assert_int_equal(at, bytes.value.length);
    assert_int_equal(map_record_next(value_of(&bytes), mcds__map_key_sum(key()), &at, &seen),
                     MCDS_CORRUPT);
    end(&bytes);
}

static void check_bytes(mcds_bytes seen, mcds_bytes wanted)
{
    assert_int_equal(seen.length, wanted.length);
    if (wanted.length > 0)
        assert_memory_equal(seen.data, wanted.data, wanted.length);
}

/* Lengths of one byte and of several, with and without each part. */
static void check_record(struct bytes *bytes, size_t element, size_t value, uint32_t below,
                         uint32_t parts)
{
    static uint8_t filling[400];
    const struct mcds__map_record record = {
        .command = {.verb = MCDS__MAP_PUT,
                    .element = {filling, element},
                    .value = {filling, value},
                    .expected = {filling, parts & 1 ? 5 : 0},
                    .delta = parts & 2 ? -7 : 0,
                    .expires_ms = parts & 4 ? NOW_MS : 0},
        .writer = WRITER,
        .seq = 100000,
        .low = 100000 - below,
        .time_ms = (INT64_C(1) << 48) - 1,
    };
    struct mcds__map_record seen;
    size_t at = 0;
    bytes->value.length = 0;
    assert_true(map_record_put(&bytes->value, key(), &record));
    assert_int_equal(map_record_next(value_of(bytes), mcds__map_key_sum(key()), &at, &seen),
                     MCDS_OK);
    assert_int_equal(at, bytes->value.length);
    assert_int_equal(seen.command.verb, record.command.verb);
    check_bytes(seen.command.element, record.command.element);
    check_bytes(seen.command.value, record.command.value);
    check_bytes(seen.command.expected, record.command.expected);
    assert_true(seen.command.delta == record.command.delta &&
                seen.command.expires_ms == record.command.expires_ms && seen.writer == WRITER &&
                seen.seq == record.seq && seen.low == record.low &&
                seen.time_ms == record.time_ms);
}

static void records_of_all_lengths_come_back(void **state)
{
    static const size_t lengths[] = {1, 2, 7, 127, 128, 300};
    static const uint32_t belows[] = {0, 1, 127, 128, 16383, 16384, 100000};
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    for (size_t element = 0; element < sizeof lengths / sizeof lengths[0]; element++)
        for (size_t value = 0; value < sizeof lengths / sizeof lengths[0]; value++)
            for (size_t below = 0; below < sizeof belows / sizeof belows[0]; below++)
                for (uint32_t parts = 0; parts < 8; parts++)
                    check_record(&bytes, lengths[element], lengths[value], belows[below],
                                 parts);
    end(&bytes);
}

/* What a record with this body, and a sum that is right, is taken for. */
static int read_body(struct bytes *bytes, const uint8_t *body, uint8_t length)
{
    static const uint8_t no_sum[4] = {0};
    struct mcds__map_record seen;
    size_t at = 0;
    bytes->value.length = 0;
    assert_true(mcds_buffer_append(&bytes->value, "\xA7", 1));
    assert_true(mcds_buffer_append(&bytes->value, &length, 1));
    assert_true(mcds_buffer_append(&bytes->value, no_sum, sizeof no_sum));
    assert_true(mcds_buffer_append(&bytes->value, body, length));
    mcds__map_readdress(&bytes->value, key());
    return map_record_next(value_of(bytes), mcds__map_key_sum(key()), &at, &seen);
}

static void what_no_writer_makes_is_no_record(void **state)
{
    enum { VERB = 0, PARTS = 1, BELOW = 14, LENGTH = 21, VALUE_LENGTH = 23, SIZE = 26 };
    uint8_t body[SIZE + 1] = {MCDS__MAP_PUT, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 0, 0, 0};
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    body[BELOW] = 9;
    body[LENGTH] = 1;
    body[VALUE_LENGTH] = 2;
    assert_int_equal(read_body(&bytes, body, SIZE), MCDS_OK);
    for (uint8_t length = 0; length < SIZE; length++)
        assert_int_equal(read_body(&bytes, body, length), MCDS_CORRUPT);
    assert_int_equal(read_body(&bytes, body, SIZE + 1), MCDS_CORRUPT);
    body[BELOW] = 10;
    assert_int_equal(read_body(&bytes, body, SIZE), MCDS_CORRUPT);
    body[BELOW] = 9;
    body[LENGTH] = 0;
    assert_int_equal(read_body(&bytes, body, SIZE), MCDS_CORRUPT);
    body[LENGTH] = 1;
    body[VERB] = 0;
    assert_int_equal(read_body(&bytes, body, SIZE), MCDS_CORRUPT);
    body[VERB] = MCDS__MAP_PUT;
    body[PARTS] = 0;
    assert_int_equal(read_body(&bytes, body, SIZE), MCDS_CORRUPT);
    assert_int_equal(read_body(&bytes, body, VALUE_LENGTH), MCDS_OK);
    end(&bytes);
}

/* Neither skipped nor taken for damage: a client that rewrote such a key would lose its contents. */
static void what_a_newer_version_writes_is_said_to_be_newer(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    for (int alone = 0; alone < 2; alone++)
        for (size_t at = 0; at < 2; at++)
            for (unsigned value = 0; value < 256; value++) {
                bool is_known = at == 0 ? value <= MCDS__MAP_VERB_MAX : value < 16;
                struct mcds__bucket bucket;
                size_t whole = bytes.value.length;
                append_at(&bytes, put("e", ""), WRITER, 1, 1, NOW_MS);
                bytes.value.data[whole + 6 + at] = (uint8_t)value;
                mcds_buffer record = {
                    bytes.value.data + whole, bytes.value.length - whole, 0, 0, NULL, true};
                mcds__map_readdress(&record, key());
                mcds__bucket_init(&bucket, &bytes.fake.env, key(),
                                  alone ? mcds_text("other") : (mcds_bytes){NULL, 0});
                int result = mcds__map_load(&bucket, value_of(&bytes), bytes.flags);
                if (is_known)
                    assert_int_not_equal(result, MCDS_UNSUPPORTED);
                else
                    assert_int_equal(result, MCDS_UNSUPPORTED);
                mcds__bucket_free(&bucket);
                bytes.value.length = whole;
            }
    struct mcds__map_head head;
    assert_int_equal(mcds__map_open_head(value_of(&bytes), key(), bytes.flags, &head), MCDS_OK);
    mcds__map_seal_head(&bytes.value, key(), bytes.flags, &head);
    bytes.value.data[3]++;
    assert_int_equal(mcds__map_open_head(value_of(&bytes), key(), bytes.flags, &head),
                     MCDS_CORRUPT);
    reseal(&bytes.value, key(), bytes.flags);
    assert_int_equal(mcds__map_open_head(value_of(&bytes), key(), bytes.flags, &head),
                     MCDS_UNSUPPORTED);
    assert_string_equal(mcds__map_reason(MCDS_UNSUPPORTED)->text,
                        "it was made by a newer version of mcds: upgrade this program");
    end(&bytes);
}

/* A snapshot of `count` entries of this length that are all alike. */
static int load_alike(struct bytes *bytes, uint32_t count, uint8_t length)
{
    struct mcds__bucket bucket;
    struct mcds__map_head head = {.rewrites = 1};
    const uint8_t entry[] = {length, 0, 'x'};
    bytes->value.length = MCDS__MAP_HEAD;
    assert_true(mcds__bucket_put_varint(&bytes->value, 0) &&
                mcds__bucket_put_varint(&bytes->value, count));
    for (uint32_t i = 0; i < count; i++)
        assert_true(mcds_buffer_append(&bytes->value, entry, 2u + length));
    mcds__map_seal_head(&bytes->value, key(), bytes->flags, &head);
    mcds__bucket_init(&bucket, &bytes->fake.env, key(), (mcds_bytes){NULL, 0});
    int result = mcds__map_load(&bucket, value_of(bytes), bytes->flags);
    uint32_t taken = bucket.entry_count;
    mcds__bucket_free(&bucket);
    assert_in_range(taken, 0, 1);
    return result;
}

static void an_element_is_there_once(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    assert_int_equal(load_alike(&bytes, 1, 1), MCDS_OK);
    assert_int_equal(load_alike(&bytes, 2, 1), MCDS_CORRUPT);
    assert_int_equal(load_alike(&bytes, 80000, 1), MCDS_CORRUPT);
    assert_int_equal(load_alike(&bytes, 80000, 0), MCDS_CORRUPT);
    end(&bytes);
}

/* So many that their hashes meet in the index. */
static void each_of_many_elements_is_found(void **state)
{
    (void)state;
    struct bytes bytes;
    struct mcds__bucket bucket;
    const uint32_t count = 300;
    char element[16];
    begin(&bytes);
    for (uint32_t i = 0; i < 2 * count; i++) {
        (void)snprintf(element, sizeof element, "%u", i % count);
        append_at(&bytes, put(element, "v"), WRITER, i + 1, i + 1, NOW_MS);
    }
    mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
    assert_int_equal(mcds__map_load(&bucket, value_of(&bytes), bytes.flags), MCDS_OK);
    assert_int_equal(bucket.entry_count, count);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(element, sizeof element, "%u", i);
        assert_non_null(mcds__map_find(&bucket, mcds_text(element)));
    }
    mcds__bucket_free(&bucket);
    end(&bytes);
}

static void a_record_belongs_to_its_key(void **state)
{
    (void)state;
    struct bytes bytes;
    struct mcds__map_record seen;
    size_t at = 0;
    begin(&bytes);
    bytes.value.length = 0;
    append_at(&bytes, put("e", "v"), WRITER, 1, 1, NOW_MS);
    uint32_t sum = mcds__map_key_sum(mcds_text("other"));
    assert_int_equal(map_record_next(value_of(&bytes), sum, &at, &seen), MCDS_CORRUPT);
    mcds__map_readdress(&bytes.value, mcds_text("other"));
    at = 0;
    assert_int_equal(map_record_next(value_of(&bytes), sum, &at, &seen), MCDS_OK);
    end(&bytes);
}

static void every_flipped_bit_is_seen(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    append_at(&bytes, put("first", "1"), WRITER, 1, 1, NOW_MS);
    rewrite(&bytes);
    append_at(&bytes, put("second", "2"), WRITER, 2, 2, NOW_MS);
    for (size_t i = 0; i < bytes.value.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct mcds__bucket bucket;
            bytes.value.data[i] ^= (uint8_t)(1 << bit);
            mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
            assert_int_equal(mcds__map_load(&bucket, value_of(&bytes), bytes.flags),
                             MCDS_CORRUPT);
            mcds__bucket_free(&bucket);
            bytes.value.data[i] ^= (uint8_t)(1 << bit);
        }
    end(&bytes);
}

static void every_cut_is_seen(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    append_at(&bytes, put("first", "1"), WRITER, 1, 1, NOW_MS);
    rewrite(&bytes);
    size_t whole = bytes.value.length;
    append_at(&bytes, put("second", "2"), WRITER, 2, 2, NOW_MS);
    for (size_t length = 0; length < bytes.value.length; length++) {
        struct mcds__bucket bucket;
        mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
        int result = mcds__map_load(&bucket, (mcds_bytes){bytes.value.data, length},
                                    bytes.flags);
        assert_int_equal(result, length == whole ? MCDS_OK : MCDS_CORRUPT);
        mcds__bucket_free(&bucket);
    }
    end(&bytes);
}

static void a_repeated_record_counts_once(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    append_at(&bytes, count("n", 5), WRITER, 3, 2, NOW_MS);
    append_at(&bytes, count("n", 5), WRITER, 2, 2, NOW_MS);
    append_at(&bytes, count("n", 5), WRITER, 3, 2, NOW_MS);
    check_entry(&bytes, "n", "10");
    rewrite(&bytes);
    append_at(&bytes, count("n", 5), WRITER, 3, 2, NOW_MS);
    append_at(&bytes, count("n", 5), WRITER, 2, 2, NOW_MS);
    check_entry(&bytes, "n", "10");
    append_at(&bytes, count("n", 1), WRITER + 1, 3, 3, NOW_MS);
    check_entry(&bytes, "n", "11");
    end(&bytes);
}

static void what_a_writer_gave_up_is_void(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    append_at(&bytes, count("n", 1), WRITER, 9, 8, NOW_MS);
    append_at(&bytes, count("n", 10), WRITER, 7, 7, NOW_MS);
    append_at(&bytes, count("n", 100), WRITER, 8, 7, NOW_MS);
    check_entry(&bytes, "n", "101");
    rewrite(&bytes);
    append_at(&bytes, count("n", 10), WRITER, 7, 7, NOW_MS);
    check_entry(&bytes, "n", "101");
    /* What is told with a record of another element holds for this one. */
    append_at(&bytes, put("other", "x"), WRITER, 12, 12, NOW_MS);
    append_at(&bytes, count("n", 1000), WRITER, 11, 10, NOW_MS);
    check_entry(&bytes, "n", "101");
    append_at(&bytes, put("other", "x"), WRITER + 1, 2, 1, NOW_MS);
    append_at(&bytes, count("n", 1000), WRITER + 1, 1, 1, NOW_MS);
    append_at(&bytes, count("n", 1000), WRITER + 1, 1, 1, NOW_MS);
    check_entry(&bytes, "n", "1101");
    end(&bytes);
}

static void what_became_of_a_record_is_remembered(void **state)
{
    (void)state;
    struct bytes bytes;
    struct mcds__bucket bucket;
    begin(&bytes);
    append_at(&bytes, count("n", 5), WRITER, 1, 1, NOW_MS);
    append_at(&bytes, count("n", 6), WRITER, 2, 1, NOW_MS);
    rewrite(&bytes);
    append_at(&bytes, count("n", 7), WRITER, 3, 2, NOW_MS);
    rewrite(&bytes);
    mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
    assert_int_equal(mcds__map_load(&bucket, value_of(&bytes), bytes.flags), MCDS_OK);
    assert_null(mcds__map_outcome(&bucket, WRITER, 1));
    assert_int_equal(mcds__map_outcome(&bucket, WRITER, 2)->number, 11);
    assert_int_equal(mcds__map_outcome(&bucket, WRITER, 3)->number, 18);
    assert_int_equal(mcds__map_outcome(&bucket, WRITER, 3)->code, MCDS__MAP_CHANGED);
    assert_null(mcds__map_outcome(&bucket, WRITER + 1, 3));
    mcds__bucket_free(&bucket);
    end(&bytes);
}

/* Of many writers the silent ones are forgotten, and what they send late is void. */
static void silent_writers_are_forgotten(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    for (uint32_t i = 0; i < 30; i++)
        append_at(&bytes, count("n", 1), WRITER + i, 1, 1, NOW_MS + (int64_t)i * 120000);
    struct mcds__bucket bucket;
    rewrite(&bytes);
    mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
    assert_int_equal(mcds__map_load(&bucket, value_of(&bytes), bytes.flags), MCDS_OK);
    assert_in_range(bucket.writer_count, 10, 25);
    mcds__bucket_free(&bucket);
    check_entry(&bytes, "n", "30");
    append_at(&bytes, count("n", 1), WRITER, 1, 1, NOW_MS);
    check_entry(&bytes, "n", "30");
    append_at(&bytes, count("n", 1), WRITER + 29, 1, 1, NOW_MS + INT64_C(29) * 120000);
    check_entry(&bytes, "n", "30");
    end(&bytes);
}

static void records_without_room_count_once(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    uint32_t seq = 1;
    while (mcds__map_has_room_at(bytes.flags, bytes.value.length)) {
        append_at(&bytes, count("n", 1), WRITER, seq, seq, NOW_MS);
        seq++;
    }
    append_at(&bytes, count("late", 1), WRITER, seq, seq, NOW_MS);
    check_entry(&bytes, "late", "1");
    append_at(&bytes, count("late", 1), WRITER, seq, seq, NOW_MS);
    check_entry(&bytes, "late", "1");
    rewrite(&bytes);
    check_entry(&bytes, "late", "1");
    append_at(&bytes, count("late", 1), WRITER, seq, seq, NOW_MS);
    check_entry(&bytes, "late", "1");
    end(&bytes);
}

static void sealed_records_are_void(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    append_at(&bytes, put("in", "1"), WRITER, 1, 1, NOW_MS);
    rewrite(&bytes);
    append_at(&bytes, put("out", "1"), WRITER, 2, 2, NOW_MS);
    bytes.flags = mcds__map_flags(MCDS__MAP_SEALED, bytes.value.length, 0);
    reseal(&bytes.value, key(), bytes.flags);
    check_entry(&bytes, "in", "1");
    check_entry(&bytes, "out", NULL);
    end(&bytes);
}

/* Each entry goes to exactly one child, and all know the writers. */
static void children_share_the_entries(void **state)
{
    (void)state;
    static const uint64_t hash_key[2] = {1, 2};
    struct bytes bytes;
    struct mcds__bucket all;
    struct mcds__key keys[MCDS__MAP_CHILDREN];
    mcds_buffer values[MCDS__MAP_CHILDREN];
    uint32_t flags[MCDS__MAP_CHILDREN];
    uint32_t total = 0;
    begin(&bytes);
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "element%u", i);
        append_at(&bytes, put(name, "v"), WRITER, i, 0, NOW_MS);
    }
    mcds__bucket_init(&all, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
    memcpy(all.hash_key, hash_key, sizeof hash_key);
    assert_int_equal(mcds__map_load(&all, value_of(&bytes), bytes.flags), MCDS_OK);
    for (uint32_t digit = 0; digit < MCDS__MAP_CHILDREN; digit++) {
        mcds__key_begin(&keys[digit], "mcds", "e", "child");
        mcds__buffer_init(&values[digit], &bytes.fake.env, 1 << 20);
    }
    assert_true(mcds__bucket_split(&all, 0, NOW_MS, keys, values, flags));
    for (uint32_t digit = 0; digit < MCDS__MAP_CHILDREN; digit++) {
        struct mcds__bucket child;
        mcds_bytes value = {values[digit].data, values[digit].length};
        uint32_t entries;
        mcds__bucket_init(&child, &bytes.fake.env, mcds__key_bytes(&keys[digit]),
                          (mcds_bytes){NULL, 0});
        assert_int_equal(mcds__map_load(&child, value, flags[digit]), MCDS_OK);
        for (uint32_t i = 0; i < child.entry_count; i++)
            assert_int_equal(mcds__map_hash(hash_key, child.entries[i].element) >>
                                 (64 - MCDS__MAP_LEVEL_BITS),
                             digit);
        (void)mcds__map_weight(&child, NOW_MS, &entries);
        total += entries;
        assert_non_null(mcds__map_outcome(&child, WRITER, 77));
        mcds__bucket_free(&child);
        mcds__buffer_free(&values[digit]);
    }
    assert_int_equal(total, 200);
    mcds__bucket_free(&all);
    end(&bytes);
}

static void refused_memory_is_told(void **state)
{
    (void)state;
    struct bytes bytes;
    begin(&bytes);
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "element%u", i);
        append_at(&bytes, count(name, 1), WRITER + i, 1, 1, NOW_MS);
    }
    int result = MCDS_NO_MEMORY;
    for (int64_t allowed = 0; result == MCDS_NO_MEMORY; allowed++) {
        struct mcds__bucket bucket;
        bytes.fake.allowed = allowed;
        mcds__bucket_init(&bucket, &bytes.fake.env, key(), (mcds_bytes){NULL, 0});
        result = mcds__map_load(&bucket, value_of(&bytes), bytes.flags);
        mcds__bucket_free(&bucket);
        assert_true(allowed < 1000);
    }
    bytes.fake.allowed = -1;
    assert_int_equal(result, MCDS_OK);
    end(&bytes);
}

static void flags_hold_what_was_put_in(void **state)
{
    (void)state;
    uint32_t flags = mcds__map_flags(MCDS__MAP_SEALED, 1000, 64 * 70001);
    assert_int_equal(mcds__map_state_of(flags), MCDS__MAP_SEALED);
    assert_int_equal(mcds__map_state_of(flags | 4), MCDS__MAP_FOREIGN);
    assert_int_equal(mcds__map_snapshot_end(flags), 1024);
    assert_true(mcds__map_has_room_at(flags, 1024 + MCDS__MAP_RECORDS_MAX - 1));
    assert_false(mcds__map_has_room_at(flags, 1024 + MCDS__MAP_RECORDS_MAX));
    assert_int_equal(flags >> 16, 70001 % 65536);
    assert_int_equal(mcds__map_flags(MCDS__MAP_OPEN, 0, 0) >> 16, 0);
    assert_true(mcds__map_has_room_at(mcds__map_flags(MCDS__MAP_OPEN, 50000000, 0), 60000000));
}

/* A record keeps its memory when it gets its number: others point to its element. */
static void a_number_moves_no_record(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    for (size_t storage = 1; storage < 80; storage++) {
        uint8_t bytes[80];
        mcds_buffer out;
        mcds_bytes element;
        mcds_bytes numbered;
        struct mcds__map_record record = {.command = put("element", "value"),
                                          .time_ms = NOW_MS};
        mcds__buffer_init_in(&out, &fake.env, 1 << 20, bytes, storage);
        assert_true(mcds__map_write_record(&out, &record, &element));
        const uint8_t *memory = out.data;
        assert_true(out.capacity - out.length >= MCDS__MAP_NUMBER_ROOM);
        mcds__map_number_record(&out, 7, UINT32_MAX, 0, &numbered);
        assert_ptr_equal(out.data, memory);
        assert_in_range((uintptr_t)element.data, (uintptr_t)memory,
                        (uintptr_t)(memory + out.length));
        assert_int_equal(numbered.length, element.length);
        assert_memory_equal(numbered.data, "element", numbered.length);
        mcds__buffer_free(&out);
    }
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_as_they_went),
        cmocka_unit_test(records_of_all_lengths_come_back),
        cmocka_unit_test(what_no_writer_makes_is_no_record),
        cmocka_unit_test(what_a_newer_version_writes_is_said_to_be_newer),
        cmocka_unit_test(an_element_is_there_once),
        cmocka_unit_test(each_of_many_elements_is_found),
        cmocka_unit_test(a_record_belongs_to_its_key),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(every_cut_is_seen),
        cmocka_unit_test(a_repeated_record_counts_once),
        cmocka_unit_test(what_a_writer_gave_up_is_void),
        cmocka_unit_test(what_became_of_a_record_is_remembered),
        cmocka_unit_test(silent_writers_are_forgotten),
        cmocka_unit_test(records_without_room_count_once),
        cmocka_unit_test(sealed_records_are_void),
        cmocka_unit_test(children_share_the_entries),
        cmocka_unit_test(refused_memory_is_told),
        cmocka_unit_test(flags_hold_what_was_put_in),
        cmocka_unit_test(a_number_moves_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
