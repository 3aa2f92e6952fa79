/* How a reader interprets segments that are open, closed, missing or made again. It only
 * reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/segment/read.h"

#define STREAM 7
#define SEGMENTS_MAX 8

struct segment {
    char kind; /* 'o'pen, 'c'losed, 'n'ewer, 0: missing */
    uint32_t incarnation;
    uint32_t before;
};

struct row {
    struct segment segments[SEGMENTS_MAX];
    uint32_t want;
    const char *shown; /* the numbers of the parts whose record is shown */
    uint64_t gaps;
    bool more;
    int result;
};

struct reading {
    struct mcds__operation base;
    struct mcds__segment_read read;
};

static enum mcds__step step_reading(struct mcds__operation *operation)
{
    return mcds__segment_read_step(&((struct reading *)operation)->read, operation);
}

static const struct mcds__operation_kind kind = {"test", "read", sizeof(struct reading),
                                                 step_reading, NULL};

static void execute(mcds_store *store, mcds_request *request)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = NULL};
    mcds__store_execute(store, 0, &batch);
}

static void make_segment(mcds_store *store, const struct mcds__segments *segments,
                         uint64_t number, const struct segment *segment)
{
    static const uint8_t zeros[MCDS__SEGMENT_LIMIT];
    struct mcds__key scratch;
    uint8_t opening[MCDS__SEGMENT_HEADER_LENGTH];
    char text = (char)('0' + number);
    struct mcds__segment_record record = {
        .writer = 1, .seq = (uint32_t)number, .payload = {&text, 1}};
    if (segment->kind == 'n')
        record.flags = MCDS__SEGMENT_NEWER;
    mcds_buffer value;
    mcds_bytes route = mcds__segment_key(segments, STREAM, number, &scratch);
    mcds_bytes key = mcds__key_bytes(&scratch);
    mcds__buffer_init(&value, mcds_env_system(), (size_t)1 << 20);
    assert_true(mcds_buffer_append(&value, opening,
                                   mcds__segment_put_opening(opening, key, segment->before)));
    size_t at = value.length;
    assert_true(mcds__segment_put(&value, &record));
    mcds__segment_address(value.data + at, value.length - at, mcds__segment_key_sum(key), 0);
    if (segment->kind == 'c')
        assert_true(mcds_buffer_append(&value, zeros, sizeof zeros));
    mcds_request request = {.command = MCDS_SET,
                            .flags = segment->incarnation,
                            .key = key,
                            .route = route,
                            .value = {value.data, value.length}};
    execute(store, &request);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    mcds__buffer_free(&value);
}

/* The size and the CAS number of every part. */
static void look(mcds_store *store, const struct mcds__segments *segments,
                 uint64_t seen[SEGMENTS_MAX])
{
    for (uint64_t i = 0; i < SEGMENTS_MAX; i++) {
        struct mcds__key key;
        mcds_bytes route = mcds__segment_key(segments, STREAM, i, &key);
        mcds_request request = {.command = MCDS_GET,
                                .options = MCDS_NO_VALUE,
                                .key = mcds__key_bytes(&key),
                                .route = route};
        execute(store, &request);
        seen[i] = (uint64_t)request.reply.value_length << 32 ^ request.reply.cas.unique;
    }
}

static void make_count(mcds_store *store, const struct mcds__segments *segments,
                       const char *count)
{
    struct mcds__key key;
    mcds_bytes route = mcds__segment_count_key(segments, STREAM, &key);
    mcds_request request = {.command = MCDS_SET,
                            .key = mcds__key_bytes(&key),
                            .route = route,
                            .value = mcds_text(count)};
    execute(store, &request);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
}

/* Without a count, where that is NULL. */
static void check_counted(const struct row *row, const char *count)
{
    mcds_store *store;
    struct mcds__key root;
    struct mcds__segments segments;
    struct reading reading;
    char shown[SEGMENTS_MAX + 1] = "";
    uint64_t before[SEGMENTS_MAX];
    uint64_t after[SEGMENTS_MAX];
    assert_int_equal(mcds_open("memory:", NULL, &store), MCDS_OK);
    mcds__key_begin(&root, mcds__store_ns(store), "lp1", "x");
    mcds__segments_init(&segments, store, &root, NULL, true);
    for (uint64_t i = 0; i < SEGMENTS_MAX; i++)
        if (row->segments[i].kind != 0)
            make_segment(store, &segments, i, &row->segments[i]);
    if (count != NULL)
        make_count(store, &segments, count);
    look(store, &segments, before);
    mcds__operation_begin(&reading.base, &kind, store, "x", 0);
    mcds__segment_read_begin(&reading.read, &segments, STREAM);
    reading.read.want = row->want;
    assert_int_equal(mcds__operation_run(&reading.base), row->result);
    for (uint32_t i = 0; i < reading.read.count; i++) {
        struct mcds__segment_record record;
        (void)mcds__segment_read_item(&reading.read, &reading.read.items[i], &record);
        shown[i] = *(const char *)record.payload.data;
    }
    assert_string_equal(shown, row->shown);
    assert_true(reading.read.gaps == row->gaps);
    assert_int_equal(reading.read.more, row->more);
    look(store, &segments, after);
    assert_memory_equal(before, after, sizeof before);
    mcds__segment_read_free(&reading.read);
    mcds__segments_destroy(&segments);
    mcds_close(store);
}

static void check(const struct row *row)
{
    check_counted(row, NULL);
}

static void reading_ends_with_the_first_open_segment(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{'c', 1, 0}, {'o', 2, 1}}, 8, "01", 0, false, MCDS_OK},
        {{{'o', 1, 0}, {'o', 2, 0}}, 8, "0", 0, false, MCDS_OK},
        {{{'o', 1, 0}, {'o', 2, 1}}, 8, "0", 0, false, MCDS_OK},
        {{{'o', 1, 0}, {'o', 2, 1}}, 1, "0", 0, false, MCDS_OK},
        {{{'c', 1, 0}, {'o', 2, 1}, {'c', 3, 0}, {'o', 4, 3}}, 8, "01", 0, false, MCDS_OK},
        {{{'o', 1, 0}, {'c', 2, 0}, {'c', 3, 2}, {'c', 4, 3}, {'o', 5, 4}},
         8,
         "0",
         0,
         false,
         MCDS_OK},
        {{{'o', 1, 0}, {'c', 2, 0}, {'c', 3, 2}, {'c', 4, 3}, {'o', 5, 4}},
         1,
         "0",
         0,
         false,
         MCDS_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

static void a_segment_that_was_made_again_is_a_gap(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{'o', 9, 0}, {'c', 2, 1}, {'o', 3, 2}}, 8, "012", 1, false, MCDS_OK},
        {{{'o', 9, 0}, {'c', 2, 0}, {'c', 3, 2}, {'c', 4, 3}, {'c', 5, 4}, {'o', 6, 5}},
         8,
         "012345",
         1,
         false,
         MCDS_OK},
        {{{'o', 9, 0}, {'c', 2, 0}, {'c', 3, 2}, {'c', 4, 3}, {'c', 5, 4}, {'o', 6, 5}},
         1,
         "0",
         1,
         true,
         MCDS_OK},
        {{{'c', 1, 0}, {0, 0, 0}, {'o', 3, 2}}, 8, "02", 1, false, MCDS_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

/* A late request has made the first of the lost segments again. */
static void a_segment_before_a_lost_one_is_not_the_end(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{'o', 9, 0}, {0, 0, 0}, {'o', 3, 2}}, 8, "02", 1, false, MCDS_OK},
        {{{'o', 9, 0}, {0, 0, 0}, {0, 0, 0}, {'c', 4, 3}, {'o', 5, 4}},
         8,
         "034",
         1,
         false,
         MCDS_OK},
        {{{'o', 9, 0}, {0, 0, 0}, {'o', 3, 2}}, 1, "0", 0, true, MCDS_OK},
        {{{'o', 9, 0}, {0, 0, 0}, {0, 0, 0}, {'o', 4, 3}}, 2, "0", 1, true, MCDS_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

/* Whether an open segment was made again is in the header of the next one, so a read does not end
 * between the two. */
static void an_open_segment_is_read_with_the_next(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{'c', 1, 0}, {'o', 9, 1}, {'o', 3, 2}}, 2, "0", 0, true, MCDS_OK},
        {{{'c', 1, 0}, {'o', 9, 1}, {'o', 3, 2}}, 3, "012", 1, false, MCDS_OK},
        {{{'c', 1, 0}, {'o', 2, 1}, {'o', 3, 2}}, 3, "01", 0, false, MCDS_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
}

/* The count is left, and an open segment made again is before the last one. */
static void a_counted_segment_after_an_open_one_is_missed(void **state)
{
    (void)state;
    static const struct row row = {{{'c', 1, 0}, {'o', 9, 1}}, 8, "01", 1, false, MCDS_OK};
    static const struct row last = {{{'c', 1, 0}, {'o', 2, 1}}, 8, "01", 0, false, MCDS_OK};
    check_counted(&row, "3");
    check_counted(&last, "2");
}

static void a_record_of_a_newer_version_is_refused(void **state)
{
    (void)state;
    static const struct row row = {
        {{'c', 1, 0}, {'n', 2, 1}}, 8, "0", 0, false, MCDS_UNSUPPORTED};
    check(&row);
    assert_non_null(strstr(mcds_errmsg(), "newer version"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_a_newer_version_is_refused),
        cmocka_unit_test(reading_ends_with_the_first_open_segment),
        cmocka_unit_test(a_segment_that_was_made_again_is_a_gap),
        cmocka_unit_test(a_segment_before_a_lost_one_is_not_the_end),
        cmocka_unit_test(an_open_segment_is_read_with_the_next),
        cmocka_unit_test(a_counted_segment_after_an_open_one_is_missed),
    };
    return cmocka_run_group_tests_name("segment_read", tests, NULL, NULL);
}
