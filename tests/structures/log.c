/* Log: ranges, order, policy of times, retention, following, loss, what is refused. */
#include <stdlib.h>

#include "core/segment/segment.h"
#include "structures/suite.h"

#define CHUNK_MS 20000
#define RETENTION_MS 2000000
#define MANY 1500

static mcds_log *open_log(mcds_store *store, const char *name, uint32_t flags)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.flags = flags;
    options.retention_ms = RETENTION_MS;
    options.chunk_ms = CHUNK_MS;
    CHECK_RESULT(MCDS_OK, mcds_log_open(store, name, &options, &log));
    return log;
}

#define PUT(suite, log, when_ms, text)                                                         \
    CHECK(MCDS_OK, suite, mcds_log_put, log, when_ms, mcds_text(text))

/* What a visit brought, as text: "a b c". */
struct visited {
    char text[256];
    uint64_t events;
    uint64_t stop_after;
    int64_t last_ms;
};

static bool gather(void *context, const mcds_log_event *event)
{
    struct visited *visited = context;
    size_t used = strlen(visited->text);
    (void)snprintf(visited->text + used, sizeof visited->text - used, "%s%.*s",
                   used > 0 ? " " : "", (int)event->event.length,
                   (const char *)event->event.data);
    visited->last_ms = event->when_ms;
    return ++visited->events != visited->stop_after;
}

static void check_range(struct suite *suite, mcds_log *log, mcds_log_range range,
                        const char *expected)
{
    struct visited visited = {.events = 0};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    CHECK(MCDS_OK, suite, mcds_log_scan, log, &range, gather, &visited, &info);
    assert_string_equal(visited.text, expected);
    assert_int_equal(info.gaps, 0);
    assert_int_equal(info.corrupt, 0);
}

static void check_all(struct suite *suite, mcds_log *log, const char *expected)
{
    check_range(suite, log, (mcds_log_range)MCDS_LOG_RANGE_INIT, expected);
}

static void ranges_are_half_open(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *other = open_log(suite->other, name, 0);
    int64_t now = wall_ms(suite);
    PUT(suite, log, now - 50000, "a");
    PUT(suite, log, now - 30000, "b");
    CHECK_OTHER(MCDS_OK, suite, mcds_log_put, other, now - 10000, mcds_text("c"));
    PUT(suite, log, now, "d");
    check_all(suite, log, "a b c d");
    check_range(suite, log, (mcds_log_range){.first_ms = now - 30000, .last_ms = now}, "b c");
    check_range(suite, log, (mcds_log_range){.first_ms = now - 30000, .last_ms = now + 1},
                "b c d");
    check_range(suite, log, (mcds_log_range){.first_ms = now - 29999}, "c d");
    check_range(suite, log, (mcds_log_range){.last_ms = now - 10000}, "a b");
    check_range(suite, log, (mcds_log_range){.first_ms = now, .last_ms = now}, "");
    check_range(suite, log, (mcds_log_range){.first_ms = now, .last_ms = now - 50000}, "");
    check_range(suite, log, (mcds_log_range){.limit = 2}, "a b");
    check_range(suite, log, (mcds_log_range){.newest_first = true}, "d c b a");
    check_range(suite, log, (mcds_log_range){.limit = 2, .newest_first = true}, "d c");
    check_range(
        suite, log,
        (mcds_log_range){
            .first_ms = now - 40000, .last_ms = now - 5000, .limit = 1, .newest_first = true},
        "c");
    mcds_log_close(other);
    mcds_log_close(log);
}

static void a_missing_log_is_not_found(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    struct visited visited = {.events = 0};
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_scan, log, NULL, gather, &visited, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_tail, log, &cursor, gather, &visited, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_drop, log);
    CHECK(MCDS_OK, suite, mcds_log_put_many, log, 0, NULL, 0, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_scan, log, NULL, gather, &visited, NULL);
    PUT(suite, log, 0, "first");
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, gather, &visited, NULL);
    assert_string_equal(visited.text, "first");
    mcds_log_close(log);
}

static void times_out_of_bounds_are_refused(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    int64_t now = wall_ms(suite);
    CHECK(MCDS_TOO_OLD, suite, mcds_log_put, log, now - 61000, mcds_text("x"));
    CHECK_SENTENCE("more than late_ms before this machine's clock");
    CHECK_SENTENCE("; the difference is 6");
    CHECK_SENTENCE(" ms, and at most 60000 ms is accepted");
    CHECK(MCDS_TOO_FUTURE, suite, mcds_log_put, log, now + 15000, mcds_text("x"));
    CHECK_SENTENCE("more than ahead_ms after this machine's clock");
    CHECK_SENTENCE("; the difference is 1");
    CHECK_SENTENCE(" ms, and at most 5000 ms is accepted");
    CHECK(MCDS_INVALID, suite, mcds_log_put, log, -1, mcds_text("x"));
    PUT(suite, log, now - 50000, "late");
    PUT(suite, log, now + 4000, "ahead");
    check_all(suite, log, "late ahead");
    mcds_log_close(log);
}

/* The next handle decides its settings. */
static void a_refused_event_makes_no_log(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *other = NULL;
    struct visited visited = {.events = 0};
    int64_t now = wall_ms(suite);
    CHECK(MCDS_TOO_OLD, suite, mcds_log_put, log, now - 61000, mcds_text("x"));
    CHECK(MCDS_TOO_FUTURE, suite, mcds_log_put, log, now + 15000, mcds_text("x"));
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_scan, log, NULL, gather, &visited, NULL);
    options.late_ms = 90000;
    CHECK_RESULT(MCDS_OK, mcds_log_open(suite->other, name, &options, &other));
    CHECK_OTHER(MCDS_OK, suite, mcds_log_put, other, now - 70000, mcds_text("y"));
    CHECK(MCDS_INVALID, suite, mcds_log_put, log, 0, mcds_text("z"));
    mcds_log_close(other);
    mcds_log_close(log);
}

static void by_arrival_takes_any_time(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), MCDS_LOG_BY_ARRIVAL);
    struct visited visited = {.events = 0};
    int64_t now = wall_ms(suite);
    PUT(suite, log, 1000, "seventy");
    PUT(suite, log, now + 900000000, "ahead");
    check_all(suite, log, "seventy ahead");
    mcds_log_range newest = {.size = sizeof(mcds_log_range),
                             .first_ms = now - 10000,
                             .last_ms = now + 60000,
                             .limit = 1,
                             .newest_first = true};
    CHECK(MCDS_OK, suite, mcds_log_scan, log, &newest, gather, &visited, NULL);
    assert_string_equal(visited.text, "ahead");
    assert_true(visited.last_ms == now + 900000000);
    mcds_log_close(log);
}

/* Numbers, in this order. */
struct counted {
    int64_t next;
    int64_t step;
};

static bool count_up(void *context, const mcds_log_event *event)
{
    struct counted *counted = context;
    char expected[64];
    int length = snprintf(expected, sizeof expected, "%lld, and some bytes that make it longer",
                          (long long)counted->next);
    assert_int_equal(event->event.length, length);
    assert_memory_equal(event->event.data, expected, (size_t)length);
    counted->next += counted->step;
    return true;
}

static void put_numbers(struct suite *suite, mcds_log *log, int64_t when_ms, int64_t from)
{
    static char texts[MANY][64];
    static mcds_bytes events[MANY];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%lld, and some bytes that make it longer",
                       (long long)(from + i));
        events[i] = mcds_text(texts[i]);
    }
    size_t put = 1;
    CHECK(MCDS_OK, suite, mcds_log_put_many, log, when_ms, events, MANY, &put);
    assert_int_equal(put, MANY);
}

static void many_events_fill_many_keys(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    int64_t now = wall_ms(suite);
    struct counted counted = {0, 1};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    put_numbers(suite, log, now - 45000, 0);
    put_numbers(suite, log, now - 22000, MANY);
    put_numbers(suite, log, now, 2 * (int64_t)MANY);
    CHECK(MCDS_OK, suite, mcds_log_scan, log, &range, count_up, &counted, &info);
    assert_true(counted.next == 3 * (int64_t)MANY);
    range.newest_first = true;
    counted = (struct counted){3 * (int64_t)MANY - 1, -1};
    CHECK(MCDS_OK, suite, mcds_log_scan, log, &range, count_up, &counted, &info);
    assert_true(counted.next == -1);
    range.limit = 10;
    counted.next = 3 * (int64_t)MANY - 1;
    CHECK(MCDS_OK, suite, mcds_log_scan, log, &range, count_up, &counted, &info);
    assert_true(counted.next == 3 * (int64_t)MANY - 11);
    assert_int_equal(info.gaps, 0);
    mcds_log_close(log);
}

static void a_cursor_sees_each_event_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *other = open_log(suite->other, name, 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int64_t now = wall_ms(suite);
    static const char *const expected[] = {"", "b c", "", "late d", "e"};
    PUT(suite, log, now, "before");
    for (int i = 0; i < 5; i++) {
        struct visited visited = {.events = 0};
        char text[MCDS_LOG_CURSOR_TEXT];
        if (i == 1) {
            PUT(suite, log, now, "b");
            CHECK_OTHER(MCDS_OK, suite, mcds_log_put, other, now, mcds_text("c"));
        }
        if (i == 3) {
            PUT(suite, log, now, "d");
            CHECK_OTHER(MCDS_OK, suite, mcds_log_put, other, now - 50000, mcds_text("late"));
        }
        if (i == 4) {
            shift_wall_ms(suite, 70 * CHUNK_MS);
            PUT(suite, log, 0, "e");
        }
        CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, gather, &visited, &info);
        assert_string_equal(visited.text, expected[i]);
        mcds_log_cursor_save(&cursor, text);
        memset(&cursor, 0xff, sizeof cursor);
        CHECK_RESULT(MCDS_OK, mcds_log_cursor_load(&cursor, text));
    }
    assert_int_equal(info.gaps, 0);
    mcds_log_close(other);
    mcds_log_close(log);
}

static void a_cursor_goes_through_all(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    int64_t began = wall_ms(suite);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    struct counted counted = {0, 1};
    cursor.from_ms = began;
    put_numbers(suite, log, began, 0);
    shift_wall_ms(suite, 30 * CHUNK_MS);
    put_numbers(suite, log, 0, MANY);
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, count_up, &counted, &info);
    assert_true(counted.next == 2 * (int64_t)MANY);
    put_numbers(suite, log, 0, 2 * (int64_t)MANY);
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, count_up, &counted, &info);
    assert_true(counted.next == 3 * (int64_t)MANY);
    assert_int_equal(info.gaps, 0);
    mcds_log_close(log);
}

static void a_visit_may_end_and_go_on(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    static const char *const expected[] = {"a b", "c d", "e"};
    static const char *const events[] = {"a", "b", "c", "d", "e"};
    cursor.from_ms = wall_ms(suite) - 1000;
    for (int i = 0; i < 5; i++)
        PUT(suite, log, 0, events[i]);
    for (int i = 0; i < 3; i++) {
        struct visited visited = {.stop_after = 2};
        CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, gather, &visited, NULL);
        assert_string_equal(visited.text, expected[i]);
    }
    mcds_log_close(log);
}

static void large_events_are_kept_whole(struct suite *suite)
{
    static char bytes[700000];
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    struct visited visited = {.events = 0};
    memset(bytes, 'x', sizeof bytes);
    PUT(suite, log, 0, "a");
    CHECK(MCDS_OK, suite, mcds_log_put, log, 0, ((mcds_bytes){bytes, sizeof bytes}));
    PUT(suite, log, 0, "b");
    CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, gather, &visited, NULL);
    assert_int_equal(visited.events, 3);
    CHECK(MCDS_OK, suite, mcds_log_drop, log);
    CHECK(MCDS_NOT_FOUND, suite, mcds_log_drop, log);
    mcds_log_close(log);
}

static void retention_is_true(struct suite *suite)
{
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    PUT(suite, log, 0, "old");
    shift_wall_ms(suite, RETENTION_MS - 1000);
    PUT(suite, log, 0, "new");
    check_all(suite, log, "old new");
    shift_wall_ms(suite, 2000);
    check_all(suite, log, "new");
    mcds_log_close(log);
}

static void expiry_leaves_no_gap(struct suite *suite)
{
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    for (int i = 0; i < 60; i++) {
        put_numbers(suite, log, 0, 0);
        pass_ms(suite, RETENTION_MS / 20);
        mcds_log_info info = MCDS_LOG_INFO_INIT;
        struct visited visited = {.stop_after = 1};
        mcds_log_range range = {.size = sizeof(mcds_log_range), .newest_first = i % 2 == 1};
        CHECK(MCDS_OK, suite, mcds_log_scan, log, &range, gather, &visited, &info);
        assert_int_equal(visited.events, 1);
        assert_int_equal(info.gaps, 0);
    }
    mcds_log_close(log);
}

static struct raw_key part_key(struct suite *suite, const char *name, int64_t at_ms,
                               uint64_t part)
{
    struct raw_key raw = raw_chunk(suite, name, CHUNK_MS, at_ms);
    mcds__key_add_number(&raw.key, part);
    return raw;
}

static void a_lost_part_is_a_gap(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    int64_t now = wall_ms(suite);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    struct visited visited = {.events = 0};
    cursor.from_ms = now;
    put_numbers(suite, log, now, 0);
    struct raw_key raw = part_key(suite, name, now, 1);
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, gather, &visited, &info);
    assert_in_range(visited.events, 1, MANY - 1);
    assert_in_range(info.gaps, 1, 10);
    info.gaps = 0;
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, gather, &visited, &info);
    assert_in_range(info.gaps, 1, 10);
    /* And the part at the cursor. */
    uint64_t last = 1;
    do
        raw = part_key(suite, name, now, ++last);
    while (raw_delete(suite, &raw) == MCDS_OUT_OK);
    info.gaps = 0;
    visited = (struct visited){.events = 0};
    shift_wall_ms(suite, 2000);
    PUT(suite, log, now, "behind");
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, gather, &visited, &info);
    assert_string_equal(visited.text, "behind");
    assert_in_range(info.gaps, 1, 10);
    mcds_log_close(log);
}

/* Fifty to a part. */
static void put_some(struct suite *suite, mcds_log *log, int64_t when_ms, uint32_t count)
{
    static char text[300];
    memset(text, '.', sizeof text);
    for (uint32_t i = 0; i < count; i++)
        CHECK(MCDS_OK, suite, mcds_log_put, log, when_ms, ((mcds_bytes){text, sizeof text}));
}

static bool count_one(void *context, const mcds_log_event *event)
{
    (void)event;
    ++*(uint32_t *)context;
    return true;
}

static void check_count(struct suite *suite, mcds_log *log, uint32_t expected, uint64_t gaps)
{
    uint32_t count = 0;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, count_one, &count, &info);
    assert_int_equal(count, expected);
    assert_int_equal(info.gaps, gaps);
}

static void check_followed(struct suite *suite, mcds_log *log, mcds_log_cursor *cursor,
                           uint32_t expected, uint64_t gaps)
{
    uint32_t count = 0;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    CHECK(MCDS_OK, suite, mcds_log_tail, log, cursor, count_one, &count, &info);
    assert_int_equal(count, expected);
    assert_int_equal(info.gaps, gaps);
}

/* All keys of the chunk, and another handle begins it again within the same second. False: it has the
 * same incarnation again, as one in 1022 has, so that nobody can see the loss. */
static bool lose_chunk(struct suite *suite, uint32_t events)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *reader = open_log(suite->store, name, 0);
    mcds_log *writer = open_log(suite->store, name, 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    int64_t now = wall_ms(suite);
    cursor.from_ms = now - 1000;
    put_some(suite, log, now, events);
    check_followed(suite, log, &cursor, events, 0);
    check_count(suite, reader, events, 0);
    struct raw_key raw = raw_chunk(suite, name, CHUNK_MS, now);
    struct raw_key first = part_key(suite, name, now, 0);
    uint32_t incarnation = raw_flags(suite, &first);
    (void)raw_delete(suite, &raw);
    for (uint64_t part = 0;; part++) {
        raw = part_key(suite, name, now, part);
        if (raw_delete(suite, &raw) != MCDS_OUT_OK)
            break;
    }
    put_some(suite, writer, now, 20);
    bool shows = raw_flags(suite, &first) != incarnation;
    if (shows) {
        check_followed(suite, reader, &cursor, 20, 1);
        check_count(suite, log, 20, 1);
        check_count(suite, reader, 20, 1);
        check_count(suite, writer, 20, 0);
    }
    mcds_log_close(writer);
    mcds_log_close(reader);
    mcds_log_close(log);
    return shows;
}

static void a_lost_chunk_is_told_and_followed(struct suite *suite)
{
    static const uint32_t counts[] = {20, 120};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_true(lose_chunk(suite, counts[i]) || lose_chunk(suite, counts[i]));
}

/* A reader and a writer that knew the log, before another dropped it. */
static void a_drop_begins_another_life(struct suite *suite)
{
    static const uint32_t counts[] = {20, 120};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const char *name = fresh_name(suite, "e");
        mcds_log *log = open_log(suite->store, name, 0);
        mcds_log *dropper = open_log(suite->store, name, 0);
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        int64_t now = wall_ms(suite);
        cursor.from_ms = now - 1000;
        put_some(suite, log, now, counts[i]);
        check_followed(suite, log, &cursor, counts[i], 0);
        check_count(suite, log, counts[i], 0);
        CHECK(MCDS_OK, suite, mcds_log_drop, dropper);
        put_some(suite, dropper, now, 20);
        put_some(suite, log, now, 20);
        check_followed(suite, log, &cursor, 40, 0);
        check_count(suite, log, 40, 0);
        check_count(suite, dropper, 40, 0);
        mcds_log_close(dropper);
        mcds_log_close(log);
    }
}

struct dropping {
    struct suite *suite;
    mcds_log *log;
    uint32_t events;
};

static bool drop_at_first(void *context, const mcds_log_event *event)
{
    struct dropping *dropping = context;
    (void)event;
    if (dropping->events++ == 0)
        CHECK_OTHER(MCDS_OK, dropping->suite, mcds_log_drop, dropping->log);
    return true;
}

/* The blocks of the second event are gone when they are asked for. */
static void what_a_drop_erases_meanwhile_is_no_gap(struct suite *suite)
{
    static char large[20000];
    memset(large, '.', sizeof large);
    for (int tails = 0; tails < 2; tails++) {
        const char *name = fresh_name(suite, "e");
        mcds_log *log = open_log(suite->store, name, 0);
        struct dropping dropping = {suite, open_log(suite->other, name, 0), 0};
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        mcds_log_info info = MCDS_LOG_INFO_INIT;
        int64_t now = wall_ms(suite);
        cursor.from_ms = now - 1000;
        PUT(suite, log, now, "small");
        CHECK(MCDS_OK, suite, mcds_log_put, log, now, ((mcds_bytes){large, sizeof large}));
        if (tails)
            CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, drop_at_first, &dropping, &info);
        else
            CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, drop_at_first, &dropping, &info);
        assert_int_equal(dropping.events, 1);
        assert_int_equal(info.gaps, 0);
        mcds_log_close(dropping.log);
        mcds_log_close(log);
    }
}

/* Two writers know no part but the first. The second part was lost, and a follower is past it. */
static void an_event_goes_where_followers_come(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *one = open_log(suite->store, name, 0);
    mcds_log *other = open_log(suite->store, name, 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int64_t now = wall_ms(suite);
    uint32_t count = 0;
    cursor.from_ms = now - 1000;
    put_some(suite, one, now, 1);
    put_some(suite, other, now, 1);
    put_some(suite, log, now, 200);
    check_followed(suite, log, &cursor, 202, 0);
    struct raw_key raw = part_key(suite, name, now, 1);
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    put_some(suite, one, now, 1);
    put_some(suite, other, now, 1);
    CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, count_one, &count, &info);
    assert_int_equal(count, 2);
    mcds_log_close(other);
    mcds_log_close(one);
    mcds_log_close(log);
}

/* The settings are lost, and no event with them: the next put makes them again. */
static void a_lost_root_is_made_again(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *fresh = open_log(suite->store, name, 0);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    int64_t now = wall_ms(suite);
    cursor.from_ms = now - 1000;
    put_some(suite, log, now, 1);
    CHECK(MCDS_OK, suite, mcds_log_drop, log); /* the mark is that of another life */
    put_some(suite, log, now, 20);
    check_followed(suite, log, &cursor, 20, 0);
    struct raw_key raw = raw_key(suite, MCDS__TAG_LOG, name, -1);
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    check_count(suite, log, 20, 0);
    put_some(suite, log, now, 1);
    check_followed(suite, log, &cursor, 1, 0);
    check_count(suite, fresh, 21, 0);
    mcds_log_close(fresh);
    mcds_log_close(log);
}

/* They share one look at the root, which is gone: no event goes into what was dropped. */
static void puts_of_one_round_miss_the_root(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log *other = open_log(suite->other, name, 0);
    mcds_pipeline *pipeline;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    PUT(suite, log, 0, "dropped");
    CHECK_OTHER(MCDS_OK, suite, mcds_log_drop, other);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_RESULT(MCDS_OK, mcds_log_put_start(log, 0, mcds_text("after"), pipeline, i));
    for (int i = 0; i < 3; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
    }
    check_all(suite, log, "after after after");
    mcds_pipeline_close(pipeline);
    mcds_log_close(other);
    mcds_log_close(log);
}

/* A handle that believes that a part takes more meets one to which the store refuses appends. */
static void a_full_part_is_passed(struct suite *suite)
{
    static const char zeros[65536];
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    int64_t now = wall_ms(suite);
    PUT(suite, log, now, "before");
    struct raw_key raw = part_key(suite, name, now, 0);
    /* A store that takes far larger values is not filled. */
    uint32_t appends = 0;
    for (size_t length = sizeof zeros; length > 0 && appends < 64; appends++)
        if (raw_append(suite, &raw, (mcds_bytes){zeros, length}) != MCDS_OUT_OK)
            length /= 2;
    PUT(suite, log, now, "behind");
    check_all(suite, log, "before behind");
    mcds_log_close(log);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    int64_t now = wall_ms(suite);
    struct visited visited = {.events = 0};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    PUT(suite, log, now, "a");
    struct raw_key raw = part_key(suite, name, now, 0);
    assert_int_equal(raw_set(suite, &raw, "something else"), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, gather, &visited, &info);
    assert_int_equal(visited.events, 0);
    assert_int_equal(info.corrupt, 1);
    CHECK(MCDS_CORRUPT, suite, mcds_log_put, log, now, mcds_text("b"));
    raw = raw_key(suite, MCDS__TAG_LOG, name, -1);
    assert_int_equal(raw_set(suite, &raw, "something else"), MCDS_OUT_OK);
    mcds_log *other = open_log(suite->other, name, 0);
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_log_put, other, 0, mcds_text("b"));
    mcds_log_close(other);
    mcds_log_close(log);
}

static void settings_live_in_the_log(struct suite *suite)
{
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name, 0);
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *other = NULL;
    PUT(suite, log, 0, "a");
    options.retention_ms = 3 * (uint64_t)RETENTION_MS;
    CHECK_RESULT(MCDS_OK, mcds_log_open(suite->other, name, &options, &other));
    CHECK_OTHER(MCDS_INVALID, suite, mcds_log_put, other, 0, mcds_text("b"));
    CHECK_SENTENCE("retention_ms 2000000, not 6000000");
    mcds_log_close(other);
    CHECK_RESULT(MCDS_OK, mcds_log_open(suite->other, name, NULL, &other));
    CHECK_OTHER(MCDS_OK, suite, mcds_log_put, other, 0, mcds_text("b"));
    check_all(suite, log, "a b");
    mcds_log_close(other);
    mcds_log_close(log);
}

static void check_refused(struct suite *suite, mcds_log_options options, const char *word)
{
    mcds_log *log = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_log_open(suite->store, "x", &options, &log));
    CHECK_SENTENCE(word);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    size_t size = sizeof(mcds_log_options);
    mcds_log *log = NULL;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    check_refused(suite, (mcds_log_options){1, 0, 0, 0, 0, 0, 0}, "its size is 1");
    check_refused(suite, (mcds_log_options){size, 8, 0, 0, 0, 0, 0}, "flags");
    check_refused(suite, (mcds_log_options){size, 0, 0, 999, 0, 0, 0}, "retention");
    check_refused(suite, (mcds_log_options){size, 0, 0, UINT64_MAX, 0, 0, 0}, "retention");
    check_refused(suite, (mcds_log_options){size, 0, 0, 0, 999, 0, 0}, "chunk");
    check_refused(suite, (mcds_log_options){size, 0, 0, 0, 100000, 0, 0},
                  "chunk_ms must be 0 or 147621 to 86400000, not 100000");
    check_refused(suite, (mcds_log_options){size, 0, 0, 0, 147620, 0, 0}, "147621");
    const mcds_log_options least = {size, 0, 0, 0, 147621, 0, 0};
    CHECK_RESULT(MCDS_OK, mcds_log_open(suite->store, "x", &least, &log));
    mcds_log_close(log);
    check_refused(suite, (mcds_log_options){size, 0, 90000, 60000, 0, 0, 0}, "late_ms");
    check_refused(suite, (mcds_log_options){size, 0, 60000, 60000, 1000, 0, 0},
                  "ahead_ms and 40 s for clocks and slow puts span more than 13 chunks");
    CHECK_RESULT(MCDS_INVALID, mcds_log_open(suite->store, "", NULL, &log));
    CHECK_RESULT(MCDS_INVALID, mcds_log_cursor_load(&cursor, ""));
    CHECK_RESULT(MCDS_INVALID, mcds_log_cursor_load(&cursor, "1:0:0:0"));
    CHECK_RESULT(MCDS_INVALID, mcds_log_cursor_load(&cursor, "2:0:0:0:1.2"));
    CHECK_RESULT(MCDS_INVALID, mcds_log_cursor_load(&cursor, "2:0:0:0:1.2.3x"));
    CHECK_RESULT(MCDS_INVALID, mcds_log_cursor_load(&cursor, NULL));
    log = open_log(suite->store, fresh_name(suite, "e"), 0);
    CHECK(MCDS_INVALID, suite, mcds_log_put, NULL, 0, mcds_text("a"));
    CHECK(MCDS_INVALID, suite, mcds_log_put, log, 0, ((mcds_bytes){NULL, 3}));
    CHECK(MCDS_INVALID, suite, mcds_log_scan, log, NULL, NULL, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_log_tail, log, NULL, gather, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_log_drop, NULL);
    cursor.count = 17;
    CHECK(MCDS_INVALID, suite, mcds_log_tail, log, &cursor, gather, NULL, NULL);
    mcds_log_close(log);
    mcds_log_close(NULL);
}

/* A visitor that puts eight times as much as it sees. */
struct putter {
    mcds_log *log;
    uint32_t seen;
};

static char bulk[8000];

static bool put_more(void *context, const mcds_log_event *event)
{
    struct putter *putter = context;
    for (int i = 0; i < 8; i++)
        CHECK_RESULT(MCDS_OK, mcds_log_put(putter->log, event->when_ms,
                                           (mcds_bytes){bulk, sizeof bulk}));
    return ++putter->seen < 400;
}

static void a_visit_ends_though_others_put(struct suite *suite)
{
    for (int tails = 0; tails <= 1; tails++) {
        const char *name = fresh_name(suite, "e");
        mcds_log *log = open_log(suite->store, name, 0);
        struct putter putter = {open_log(suite->other, name, 0), 0};
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        int64_t now = wall_ms(suite);
        cursor.from_ms = now - 1000;
        for (int i = 0; i < 40; i++)
            CHECK(MCDS_OK, suite, mcds_log_put, log, now, ((mcds_bytes){bulk, sizeof bulk}));
        if (tails == 1)
            CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, put_more, &putter, NULL);
        else
            CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, put_more, &putter, NULL);
        assert_in_range(putter.seen, 40, 200);
        mcds_log_close(putter.log);
        mcds_log_close(log);
    }
}

/* Two to a part of one chunk: more parts than one round trip brings. */
static void a_visit_sees_all_that_was_there(struct suite *suite)
{
    static const uint32_t counts[] = {36, 146, 290};
    mcds_log *log = open_log(suite->store, fresh_name(suite, "e"), 0);
    int64_t now = wall_ms(suite);
    uint32_t there = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        uint32_t fetched = 0;
        uint32_t followed = 0;
        cursor.from_ms = now - 1000;
        for (; there < counts[i]; there++)
            CHECK(MCDS_OK, suite, mcds_log_put, log, now, ((mcds_bytes){bulk, sizeof bulk}));
        CHECK(MCDS_OK, suite, mcds_log_scan, log, NULL, count_one, &fetched, NULL);
        assert_int_equal(fetched, there);
        CHECK(MCDS_OK, suite, mcds_log_tail, log, &cursor, count_one, &followed, NULL);
        assert_int_equal(followed, there);
    }
    mcds_log_close(log);
}

static const struct suite_case cases[] = {
    CASE_ONCE(a_visit_sees_all_that_was_there),
    CASE_ONCE(a_visit_ends_though_others_put),
    CASE(ranges_are_half_open),
    CASE(a_missing_log_is_not_found),
    CASE(times_out_of_bounds_are_refused),
    CASE(a_refused_event_makes_no_log),
    CASE(by_arrival_takes_any_time),
    CASE_TWICE(many_events_fill_many_keys),
    CASE(a_cursor_sees_each_event_once),
    CASE_TWICE(a_cursor_goes_through_all),
    CASE(a_visit_may_end_and_go_on),
    CASE(large_events_are_kept_whole),
    CASE(retention_is_true),
    CASE_ONCE(expiry_leaves_no_gap),
    CASE_TWICE(a_lost_part_is_a_gap),
    CASE_TWICE(a_lost_chunk_is_told_and_followed),
    CASE_TWICE(a_drop_begins_another_life),
    CASE_ONCE(what_a_drop_erases_meanwhile_is_no_gap),
    CASE_TWICE(an_event_goes_where_followers_come),
    CASE_TWICE(a_lost_root_is_made_again),
    CASE(puts_of_one_round_miss_the_root),
    CASE(a_full_part_is_passed),
    CASE(foreign_values_are_corrupt),
    CASE(settings_live_in_the_log),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
