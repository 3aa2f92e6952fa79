/* The cost of a key's value grows only with its length, whatever it contains: a forged value
 * takes no longer than others of its size. Costs are counted, not timed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/map/bucket/bucket.h"
#include "support/fake_env.h"
#include "support/map_record.h"

#define KEY ((mcds_bytes){"d:s1:t:1", 8})
#define ALL ((mcds_bytes){NULL, 0})
#define SMALL 2000
#define LARGE 16000
/* Items looked at for each that a value holds; without an index, half as many as there are. */
#define STEPS_MOST 64
#define NOW_MS INT64_C(1700000000000)

struct play {
    struct fake_env fake;
    mcds_buffer value;
    uint32_t flags;
    uint64_t steps; /* of the last time that it was loaded, and written if it is whole */
};

static void begin(struct play *play)
{
    struct mcds__bucket nothing;
    uint32_t flags;
    fake_env_init(&play->fake, 3);
    mcds__buffer_init(&play->value, &play->fake.env, 1 << 26);
    mcds__bucket_init(&nothing, &play->fake.env, KEY, ALL);
    assert_true(mcds__bucket_encode(&nothing, KEY, MCDS__MAP_OPEN, 0, &play->value, &flags));
    mcds__bucket_free(&nothing);
    play->flags = flags;
}

static void end(struct play *play)
{
    mcds__buffer_free(&play->value);
    assert_int_equal(play->fake.blocks, 0);
}

static void append(struct play *play, struct mcds__map_command command, uint64_t writer,
                   uint32_t seq)
{
    struct mcds__map_record record = {command, writer, seq, 1, NOW_MS};
    assert_true(map_record_put(&play->value, KEY, &record));
}

/* Loads the value and writes it as a snapshot, which takes its place. */
static void rewrite(struct play *play)
{
    struct mcds__bucket bucket;
    mcds_buffer next;
    uint32_t flags;
    mcds__buffer_init(&next, &play->fake.env, 1 << 24);
    mcds__bucket_init(&bucket, &play->fake.env, KEY, ALL);
    assert_int_equal(mcds__map_load(&bucket, (mcds_bytes){play->value.data, play->value.length},
                                    play->flags),
                     MCDS_OK);
    assert_true(mcds__bucket_encode(&bucket, KEY, MCDS__MAP_OPEN, NOW_MS, &next, &flags));
    play->steps = bucket.steps;
    mcds__bucket_free(&bucket);
    mcds__buffer_free(&play->value);
    play->value = next;
    play->flags = flags;
}

static struct mcds__map_command put(const char *element)
{
    return (struct mcds__map_command){.verb = MCDS__MAP_PUT, .element = mcds_text(element)};
}

/* As many steps as there are items, or a few times as many. */
static void check(void (*fill)(struct play *play, uint32_t count))
{
    for (uint32_t count = SMALL; count <= LARGE; count *= 2) {
        struct play play;
        begin(&play);
        fill(&play, count);
        rewrite(&play);
        assert_in_range(play.steps, 0, (uint64_t)count * STEPS_MOST);
        rewrite(&play);
        assert_in_range(play.steps, 0, (uint64_t)count * STEPS_MOST);
        end(&play);
    }
}

static void many_writers(struct play *play, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        append(play, put("e"), 1 + (uint64_t)i * 0x100000000, 1);
}

static void many_writers_again(struct play *play, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        append(play, put("e"), 1 + i % (count / 2), 1 + i);
}

static void records_that_arrive_backwards(struct play *play, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        append(play, put("e"), 1, count - i);
}

static void records_that_arrive_twice(struct play *play, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        append(play, put("e"), 1, 1 + i % (count / 2));
}

static void many_entries(struct play *play, uint32_t count)
{
    char name[16];
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%u", (unsigned)(i % (count - count / 4)));
        append(play, put(name), 1, 1 + i);
    }
}

/* A list: each addition comes before all that were there. */
static void push_backwards(struct play *play, uint32_t count, bool is_one)
{
    char name[16] = "e";
    for (uint32_t i = 0; i < count; i++) {
        if (!is_one)
            (void)snprintf(name, sizeof name, "%u", (unsigned)i);
        append(play,
               (struct mcds__map_command){.verb = MCDS__MAP_PUSH,
                                          .element = mcds_text(name),
                                          .delta = (int64_t)(count - i)},
               1, count - i);
    }
}

static void places_of_one_element(struct play *play, uint32_t count)
{
    push_backwards(play, count, true);
}

static void places_of_many_elements(struct play *play, uint32_t count)
{
    push_backwards(play, count, false);
}

static void a_list_costs_its_length(void **state)
{
    (void)state;
    check(places_of_one_element);
    check(places_of_many_elements);
}

static void writers_cost_their_number(void **state)
{
    (void)state;
    check(many_writers);
    check(many_writers_again);
}

static void records_out_of_order_cost_their_number(void **state)
{
    (void)state;
    check(records_that_arrive_backwards);
    check(records_that_arrive_twice);
}

static void entries_cost_their_number(void **state)
{
    (void)state;
    check(many_entries);
}

/* A snapshot is sealed with a sum that anybody can make. */
static void a_writer_twice_is_corrupt(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 200; count *= 10) {
        struct play play;
        struct mcds__bucket bucket;
        begin(&play);
        play.value.length = MCDS__MAP_HEAD;
        assert_true(mcds__bucket_put_varint(&play.value, count));
        for (uint32_t i = 0; i < count; i++) {
            assert_true(mcds__bucket_put_u64(&play.value, i + 1 < count ? 1 + i : 1));
            assert_true(mcds__bucket_put_u64(&play.value, 0));
            assert_true(mcds__bucket_put_varint(&play.value, 0));
        }
        assert_true(mcds__bucket_put_varint(&play.value, 0));
        mcds__map_seal_head(&play.value, KEY, play.flags,
                            &(struct mcds__map_head){.rewrites = 1});
        mcds__bucket_init(&bucket, &play.fake.env, KEY, ALL);
        assert_int_equal(mcds__map_load(&bucket,
                                        (mcds_bytes){play.value.data, play.value.length},
                                        play.flags),
                         MCDS_CORRUPT);
        mcds__bucket_free(&bucket);
        end(&play);
    }
}

static void load(struct play *play, int expected)
{
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, &play->fake.env, KEY, ALL);
    assert_int_equal(mcds__map_load(&bucket, (mcds_bytes){play->value.data, play->value.length},
                                    play->flags),
                     expected);
    assert_in_range(bucket.steps, 0, (uint64_t)MCDS__MAP_ITEMS_MAX * STEPS_MOST);
    mcds__bucket_free(&bucket);
}

static void more_records_than_fit_are_corrupt(void **state)
{
    struct play play;
    (void)state;
    begin(&play);
    many_writers_again(&play, MCDS__MAP_ITEMS_MAX);
    load(&play, MCDS_OK);
    append(&play, put("one more"), 1, MCDS__MAP_ITEMS_MAX + 1);
    load(&play, MCDS_CORRUPT);
    end(&play);
}

/* One of these numbers is larger than it can be. */
static void load_snapshot(uint32_t writers, uint32_t ids, uint32_t entries, int expected)
{
    struct play play;
    begin(&play);
    play.value.length = MCDS__MAP_HEAD;
    assert_true(mcds__bucket_put_varint(&play.value, writers));
    for (uint32_t i = 0; i < writers; i++) {
        assert_true(mcds__bucket_put_u64(&play.value, 1 + i));
        assert_true(mcds__bucket_put_u64(&play.value, 0));
        assert_true(mcds__bucket_put_varint(&play.value, ids));
        for (uint32_t id = 0; id < ids; id++) {
            static const uint8_t became[9] = {1};
            assert_true(mcds__bucket_put_u32(&play.value, 1 + id));
            assert_true(mcds_buffer_append(&play.value, became, sizeof became));
        }
    }
    assert_true(mcds__bucket_put_varint(&play.value, entries));
    for (uint32_t i = 0; i < entries; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%u", (unsigned)i);
        assert_true(mcds__bucket_put_varint(&play.value, (uint64_t)length));
        assert_true(mcds__bucket_put_varint(&play.value, 0));
        assert_true(mcds_buffer_append(&play.value, name, (size_t)length));
    }
    mcds__map_seal_head(&play.value, KEY, play.flags, &(struct mcds__map_head){.rewrites = 1});
    load(&play, expected);
    end(&play);
}

static void a_snapshot_of_more_than_fits_is_corrupt(void **state)
{
    const uint32_t most = MCDS__MAP_ITEMS_MAX;
    (void)state;
    load_snapshot(most, 0, 0, MCDS_OK);
    load_snapshot(most + 1, 0, 0, MCDS_CORRUPT);
    load_snapshot(2, most / 2, 0, MCDS_OK);
    load_snapshot(2, MCDS__MAP_IDS_MAX / 2 + 1, 0, MCDS_CORRUPT);
    load_snapshot(0, 0, most + 1, MCDS_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_cost_their_number),
        cmocka_unit_test(records_out_of_order_cost_their_number),
        cmocka_unit_test(entries_cost_their_number),
        cmocka_unit_test(a_list_costs_its_length),
        cmocka_unit_test(a_writer_twice_is_corrupt),
        cmocka_unit_test(more_records_than_fit_are_corrupt),
        cmocka_unit_test(a_snapshot_of_more_than_fits_is_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
