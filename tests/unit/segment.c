/* The layout of a segment, and bytes that are not a segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "core/segment/record.h"

static const mcds_bytes key = {"mcds:lp1:x:7:0", 14};
static const mcds_bytes other_key = {"mcds:lp1:x:7:1", 14};

struct fixture {
    mcds_buffer value;
};

static void begin(struct fixture *f)
{
    mcds__buffer_init(&f->value, mcds_env_system(), (size_t)1 << 20);
}

static void add(struct fixture *f, uint32_t seq, uint8_t flags, size_t length)
{
    static uint8_t payload[MCDS__SEGMENT_LIMIT];
    struct mcds__segment_record record = {
        .flags = flags,
        .seq = seq,
        .writer = UINT64_C(0x0123456789abcdef),
        .filed_ms = INT64_C(1700000000123),
        .when_ms = INT64_C(1700000000000),
        .payload = {payload, length},
    };
    memset(payload, (int)('a' + seq % 26), length);
    size_t at = f->value.length;
    assert_true(mcds__segment_put(&f->value, &record));
    assert_int_equal(mcds__segment_length(f->value.data + at), f->value.length - at);
    mcds__segment_address(f->value.data + at, f->value.length - at, mcds__segment_key_sum(key),
                          0);
}

static mcds_bytes value_of(const struct fixture *f)
{
    return (mcds_bytes){f->value.data, f->value.length};
}

static uint32_t count(mcds_bytes value, uint32_t *corrupt)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    uint32_t records = 0;
    mcds__segment_scan_begin(&scan, key, value);
    while (mcds__segment_scan_next(&scan, &record)) {
        records++;
        assert_true(record.end <= MCDS__SEGMENT_LIMIT);
    }
    *corrupt = scan.corrupt;
    return records;
}

static void records_come_back_as_they_went(void **state)
{
    (void)state;
    struct fixture f;
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    uint8_t opening[MCDS__SEGMENT_HEADER_LENGTH];
    begin(&f);
    assert_int_equal(mcds__segment_put_opening(opening, key, 77), sizeof opening);
    assert_true(mcds_buffer_append(&f.value, opening, sizeof opening));
    add(&f, 1, 0, 0);
    add(&f, 2, MCDS__SEGMENT_FILED, 5);
    add(&f, 3, MCDS__SEGMENT_FILED | MCDS__SEGMENT_STAMPED, 300);
    mcds__segment_scan_begin(&scan, key, value_of(&f));
    assert_true(mcds__segment_scan_next(&scan, &record));
    assert_int_equal(record.flags, MCDS__SEGMENT_HEADER);
    assert_int_equal(record.before, 77);
    for (uint32_t i = 1; i <= 3; i++) {
        static const size_t lengths[] = {0, 0, 5, 300};
        assert_true(mcds__segment_scan_next(&scan, &record));
        assert_int_equal(record.seq, i);
        assert_true(record.writer == UINT64_C(0x0123456789abcdef));
        assert_int_equal(record.payload.length, lengths[i]);
        if (i == 2)
            assert_true(record.when_ms == INT64_C(1700000000123));
        if (i == 3)
            assert_true(record.when_ms == INT64_C(1700000000000));
        if (i >= 2)
            assert_true(record.filed_ms == INT64_C(1700000000123));
    }
    assert_false(mcds__segment_scan_next(&scan, &record));
    assert_int_equal(scan.corrupt, 0);
    mcds__buffer_free(&f.value);
}

static void what_ends_beyond_the_limit_is_void(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t corrupt;
    begin(&f);
    add(&f, 1, 0, MCDS__SEGMENT_LIMIT / 2);
    size_t left = MCDS__SEGMENT_LIMIT - f.value.length;
    size_t overhead = f.value.length - MCDS__SEGMENT_LIMIT / 2;
    add(&f, 2, 0, left - overhead);
    assert_int_equal(f.value.length, MCDS__SEGMENT_LIMIT);
    assert_int_equal(count(value_of(&f), &corrupt), 2);
    add(&f, 3, 0, 1);
    assert_int_equal(count(value_of(&f), &corrupt), 2);
    assert_int_equal(corrupt, 0);
    f.value.length = 0;
    add(&f, 1, 0, MCDS__SEGMENT_LIMIT / 2);
    add(&f, 2, 0, left - overhead + 1);
    assert_int_equal(count(value_of(&f), &corrupt), 1);
    assert_int_equal(corrupt, 0);
    mcds__buffer_free(&f.value);
}

static void zeros_end_a_segment(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t corrupt;
    begin(&f);
    add(&f, 1, 0, 10);
    uint8_t zeros[100] = {0};
    assert_true(mcds_buffer_append(&f.value, zeros, sizeof zeros));
    add(&f, 2, 0, 10);
    assert_int_equal(count(value_of(&f), &corrupt), 1);
    assert_int_equal(corrupt, 0);
    mcds__buffer_free(&f.value);
}

static void damage_is_skipped_and_counted(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    for (uint32_t i = 0; i < 5; i++)
        add(&f, i, 0, 40);
    size_t length = f.value.length / 5;
    for (size_t at = 0; at < f.value.length; at++) {
        uint32_t corrupt;
        f.value.data[at] ^= 0x5a;
        uint32_t records = count(value_of(&f), &corrupt);
        bool ends = f.value.data[at] == 0 && at % length == 0;
        if (!ends) {
            assert_int_equal(records, 4);
            assert_int_equal(corrupt, 1);
        }
        f.value.data[at] ^= 0x5a;
    }
    uint32_t corrupt;
    assert_int_equal(count((mcds_bytes){f.value.data, f.value.length - 1}, &corrupt), 4);
    assert_int_equal(corrupt, 1);
    assert_int_equal(count((mcds_bytes){"something else", 14}, &corrupt), 0);
    assert_int_equal(corrupt, 1);
    mcds__buffer_free(&f.value);
}

static void a_record_belongs_to_its_key(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t corrupt;
    begin(&f);
    add(&f, 1, 0, 40);
    mcds__segment_address(f.value.data, f.value.length, mcds__segment_key_sum(other_key), 0);
    assert_int_equal(count(value_of(&f), &corrupt), 0);
    assert_int_equal(corrupt, 1);
    mcds__segment_address(f.value.data, f.value.length, mcds__segment_key_sum(key),
                          2 | MCDS__SEGMENT_LOSS);
    struct mcds__segment_record record;
    mcds__segment_get(value_of(&f), 0, &record);
    assert_int_equal(record.flags, 2 | MCDS__SEGMENT_LOSS);
    assert_int_equal(count(value_of(&f), &corrupt), 1);
    assert_true(mcds__segment_holds(key, value_of(&f), f.value.data));
    mcds__buffer_free(&f.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_as_they_went),
        cmocka_unit_test(what_ends_beyond_the_limit_is_void),
        cmocka_unit_test(zeros_end_a_segment),
        cmocka_unit_test(damage_is_skipped_and_counted),
        cmocka_unit_test(a_record_belongs_to_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
