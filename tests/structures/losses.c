/* Logs and lists after a store has lost some of their segments: the rest is visible, later
 * values are visible to all, and the loss is reported. */
#include "structures/suite.h"

#define CHUNK_MS 100000
#define RETENTION_MS 2000000
#define LENGTH 8000 /* two to a part */
#define EVENTS_MAX 700
#define PARTS_DURABLE 12 /* at most, where each put waits for a disk */
#define AFTER 6          /* put after the loss */
#define PASSED 5         /* seen by a cursor that is under way */

struct loss {
    uint32_t parts; /* how many there are, */
    uint32_t from;  /* and those that are lost */
    uint32_t end;
    bool with_count; /* and the count */
};

static const struct loss losses[] = {
    {12, 0, 1, false},    {12, 0, 2, false},  {12, 1, 2, false},    {12, 1, 6, false},
    {12, 2, 11, false},   {12, 0, 11, false}, {12, 11, 12, false},  {12, 9, 12, false},
    {12, 0, 12, false},   {12, 0, 1, true},   {12, 0, 2, true},     {12, 0, 7, true},
    {12, 2, 6, true},     {12, 0, 0, true},   {300, 0, 285, false}, {300, 3, 297, false},
    {300, 0, 300, false}, {2, 0, 1, false},   {2, 0, 2, false},
};

struct seen {
    uint32_t times[EVENTS_MAX + AFTER];
    uint32_t count;
    uint32_t stop_after;
    mcds_log_info info;
};

static bool see_bytes(struct seen *seen, mcds_bytes value)
{
    uint32_t number = UINT32_MAX;
    if (value.length == LENGTH)
        memcpy(&number, value.data, sizeof number);
    assert_in_range(number, 0, EVENTS_MAX + AFTER - 1);
    seen->times[number]++;
    return ++seen->count != seen->stop_after;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    return see_bytes(context, event->event);
}

static bool see_value(void *context, mcds_bytes value)
{
    return see_bytes(context, value);
}

static mcds_bytes value_of(uint32_t number)
{
    static char bytes[LENGTH];
    memset(bytes, '.', sizeof bytes);
    memcpy(bytes, &number, sizeof number);
    return (mcds_bytes){bytes, sizeof bytes};
}

/* The last part has one event. */
static uint32_t events_of(const struct loss *loss)
{
    return 2 * loss->parts - 1;
}

static bool is_lost(const struct loss *loss, uint32_t number)
{
    return number / 2 >= loss->from && number / 2 < loss->end;
}

/* Every event from `first` on is seen once, or lost; all that were put after the loss are seen. */
static void check_seen(const struct loss *loss, const struct seen *seen, uint32_t first,
                       bool is_told)
{
    uint32_t events = events_of(loss);
    for (uint32_t i = first; i < events; i++)
        assert_int_equal(seen->times[i], !is_lost(loss, i));
    for (uint32_t i = 0; i < AFTER; i++)
        assert_int_equal(seen->times[EVENTS_MAX + i], 1);
    assert_int_equal(seen->info.gaps > 0, is_told);
    assert_int_equal(seen->info.corrupt, 0);
}

static void lose(struct suite *suite, const struct raw_key *family, const struct loss *loss)
{
    for (uint32_t part = loss->from; part < loss->end; part++) {
        struct raw_key raw = *family;
        mcds__key_add_number(&raw.key, part);
        assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    }
    if (loss->with_count)
        assert_int_equal(raw_delete(suite, family), MCDS_OUT_OK);
}

static mcds_log *open_log(mcds_store *store, const char *name)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.retention_ms = RETENTION_MS;
    options.chunk_ms = CHUNK_MS;
    CHECK_RESULT(MCDS_OK, mcds_log_open(store, name, &options, &log));
    return log;
}

static void fetch(struct suite *suite, mcds_log *log, struct seen *seen, bool newest_first)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.newest_first = newest_first;
    *seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_OK, suite, mcds_log_scan, log, &range, see_event, seen, &seen->info);
}

static void tail(struct suite *suite, mcds_log *log, mcds_log_cursor *cursor, struct seen *seen)
{
    CHECK(MCDS_OK, suite, mcds_log_tail, log, cursor, see_event, seen, &seen->info);
}

/* The old handle, and one that knows nothing of the log. */
static void put_after(struct suite *suite, mcds_log *log, mcds_log *fresh, int64_t at_ms)
{
    for (uint32_t i = 0; i < AFTER; i++)
        if (i % 2 == 0)
            CHECK_OTHER(MCDS_OK, suite, mcds_log_put, fresh, at_ms, value_of(EVENTS_MAX + i));
        else
            CHECK(MCDS_OK, suite, mcds_log_put, log, at_ms, value_of(EVENTS_MAX + i));
}

static void lose_of_a_log(struct suite *suite, const struct loss *loss)
{
    static struct seen at_end, under_way, all;
    const char *name = fresh_name(suite, "e");
    mcds_log *log = open_log(suite->store, name);
    mcds_log *fresh = open_log(suite->other, name);
    mcds_log *reader = open_log(suite->other, name);
    int64_t now = wall_ms(suite);
    mcds_log_cursor end = MCDS_LOG_CURSOR_INIT, middle = MCDS_LOG_CURSOR_INIT, late;
    end.from_ms = middle.from_ms = now - 2 * CHUNK_MS;
    late = middle;
    at_end = (struct seen){.stop_after = 0};
    under_way = (struct seen){.stop_after = PASSED};
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK(MCDS_OK, suite, mcds_log_put, log, now, value_of(i));
    tail(suite, log, &end, &at_end);
    assert_int_equal(at_end.count, events_of(loss));
    tail(suite, log, &middle, &under_way);
    struct raw_key family = raw_chunk(suite, name, CHUNK_MS, now);
    lose(suite, &family, loss);
    shift_wall_ms(suite, 2000); /* creation times of segments differ */
    fetch(suite, reader, &all, false);
    assert_true(all.info.gaps > 0 || loss->with_count);
    put_after(suite, log, fresh, now);
    memset(at_end.times, 0, sizeof at_end.times);
    tail(suite, log, &end, &at_end);
    check_seen(loss, &at_end, events_of(loss), loss->end == loss->parts);
    under_way.stop_after = 0;
    tail(suite, log, &middle, &under_way);
    if (events_of(loss) > PASSED)
        check_seen(loss, &under_way, PASSED, loss->end > PASSED / 2);
    for (int newest = 0; newest < 2; newest++) {
        fetch(suite, reader, &all, newest == 1);
        check_seen(loss, &all, 0, loss->end > loss->from);
    }
    all = (struct seen){.stop_after = 0};
    tail(suite, log, &late, &all);
    check_seen(loss, &all, 0, loss->end > loss->from);
    CHECK(MCDS_OK, suite, mcds_log_drop, log);
    CHECK(MCDS_OK, suite, mcds_log_put, log, now, value_of(EVENTS_MAX));
    fetch(suite, reader, &all, false);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.info.gaps, 0);
    mcds_log_close(reader);
    mcds_log_close(fresh);
    mcds_log_close(log);
}

static void a_log_goes_on_after_a_loss(struct suite *suite)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (!suite->can.durable || losses[i].parts <= PARTS_DURABLE)
            lose_of_a_log(suite, &losses[i]);
}

/* The generation is the life in the root: 8 bytes into the payload of its frame. */
static struct raw_key list_family(struct suite *suite, const char *name)
{
    uint8_t root[128];
    size_t length;
    struct raw_key raw = raw_key(suite, MCDS__TAG_LIST, name, -1);
    uint64_t generation = 0;
    assert_true(raw_read(suite, &raw, root, sizeof root, &length));
    for (int i = 7; i >= 0; i--)
        generation = generation << 8 | root[12 + i];
    raw = raw_key(suite, MCDS__TAG_LIST_SEGMENT, name, -1);
    mcds__key_add_number(&raw.key, generation);
    return raw;
}

/* The failure names the server; a memory: store without a name has none. What a suite has taken from
 * a pipeline has only the sentence. */
static void check_named(const struct suite *suite)
{
    assert_true(!suite->own_clock || suite->mode != WAITING ||
                mcds_last_error()->peer[0] != '\0');
}

static void lose_of_a_list(struct suite *suite, const struct loss *loss)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "l");
    mcds_list *list = NULL, *fresh = NULL, *reader = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &list));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &fresh));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &reader));
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(i));
    struct raw_key family = list_family(suite, name);
    lose(suite, &family, loss);
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_LOST, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    check_named(suite);
    for (uint32_t i = 0; i < AFTER; i++)
        if (i % 2 == 0)
            CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(EVENTS_MAX + i));
        else
            CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(EVENTS_MAX + i));
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_LOST, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    check_seen(loss, &seen, 0, false);
    mcds_list_close(reader);
    mcds_list_close(fresh);
    mcds_list_close(list);
}

static void a_list_goes_on_after_a_loss(struct suite *suite)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (!losses[i].with_count && (!suite->can.durable || losses[i].parts <= PARTS_DURABLE))
            lose_of_a_list(suite, &losses[i]);
}

/* All parts and their count: the root is left, and says that there was something. */
static void lose_all_of_a_list(struct suite *suite, uint32_t parts)
{
    static struct seen seen;
    struct loss loss = {parts, 0, parts, parts > 1};
    const char *name = fresh_name(suite, "l");
    mcds_list *list = NULL, *fresh = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &list));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &fresh));
    for (uint32_t i = 0; i < events_of(&loss); i++)
        CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(i));
    struct raw_key family = list_family(suite, name);
    lose(suite, &family, &loss);
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_LOST, suite, mcds_list_scan, fresh, 0, 0, see_value, &seen);
    CHECK(MCDS_LOST, suite, mcds_list_scan, list, 0, 0, see_value, &seen);
    check_named(suite);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(EVENTS_MAX));
    CHECK(MCDS_LOST, suite, mcds_list_scan, list, 0, 0, see_value, &seen);
    assert_int_equal(seen.times[EVENTS_MAX], 1);
    assert_int_equal(seen.count, 1);
    CHECK(MCDS_OK, suite, mcds_list_clear, list);
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, see_value, &seen);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_scan, fresh, 0, 0, see_value, &seen);
    assert_int_equal(seen.count, 1);
    mcds_list_close(fresh);
    mcds_list_close(list);
}

static void a_list_without_parts_is_lost(struct suite *suite)
{
    lose_all_of_a_list(suite, 1);
    lose_all_of_a_list(suite, 2);
    lose_all_of_a_list(suite, PARTS_DURABLE);
}

/* What a handle has written or read is missed by it even where the count is gone as well. */
static void lose_the_end_of_a_log(struct suite *suite, const struct loss *loss)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "e");
    mcds_log *writer = open_log(suite->other, name);
    mcds_log *reader = open_log(suite->other, name);
    mcds_log *fresh = open_log(suite->other, name);
    int64_t now = wall_ms(suite);
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK_OTHER(MCDS_OK, suite, mcds_log_put, writer, now, value_of(i));
    fetch(suite, reader, &seen, false);
    assert_int_equal(seen.info.gaps, 0);
    struct raw_key family = raw_chunk(suite, name, CHUNK_MS, now);
    lose(suite, &family, loss);
    mcds_log *const all[] = {writer, reader, fresh};
    for (int i = 0; i < 6; i++) {
        if (loss->with_count && i % 3 == 2) /* it cannot know */
            continue;
        fetch(suite, all[i % 3], &seen, i >= 3);
        assert_true(seen.info.gaps > 0);
        for (uint32_t k = 0; k < events_of(loss); k++)
            assert_int_equal(seen.times[k], !is_lost(loss, k));
    }
    mcds_log_close(fresh);
    mcds_log_close(reader);
    mcds_log_close(writer);
}

static void lose_the_end_of_a_list(struct suite *suite, const struct loss *loss)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "l");
    mcds_list *all[3] = {NULL};
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &all[0]));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &all[1]));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &all[2]));
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK_OTHER(MCDS_OK, suite, mcds_list_push, all[0], value_of(i));
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_OK, suite, mcds_list_scan, all[1], 0, 0, see_value, &seen);
    struct raw_key family = list_family(suite, name);
    lose(suite, &family, loss);
    for (int i = 0; i < (loss->with_count ? 2 : 3); i++) {
        seen = (struct seen){.stop_after = 0};
        CHECK_OTHER(MCDS_LOST, suite, mcds_list_scan, all[i], 0, 0, see_value, &seen);
        for (uint32_t k = 0; k < events_of(loss); k++)
            assert_int_equal(seen.times[k], !is_lost(loss, k));
    }
    for (int i = 0; i < 3; i++)
        mcds_list_close(all[i]);
}

static void the_last_parts_are_missed(struct suite *suite)
{
    static const struct loss ends[] = {
        {2, 1, 2, false}, {2, 1, 2, true},   {3, 2, 3, false},    {3, 2, 3, true},
        {3, 1, 3, true},  {12, 9, 12, true}, {12, 11, 12, false}, {12, 1, 12, true},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        lose_the_end_of_a_log(suite, &ends[i]);
        lose_the_end_of_a_list(suite, &ends[i]);
    }
}

/* A handle that knows nothing of the log sees each event that was put after the loss, and a gap. */
static void check_after(struct suite *suite, const char *name, uint32_t count)
{
    static struct seen all;
    mcds_log *fresh = open_log(suite->other, name);
    for (int newest = 0; newest < 2; newest++) {
        fetch(suite, fresh, &all, newest == 1);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(all.times[EVENTS_MAX + i], 1);
        assert_true(all.info.gaps > 0);
    }
    mcds_log_close(fresh);
}

/* The writer puts after the loss, and a cursor that has read all before it follows: it counts the
 * loss of the last part, and no other. `fresh`: the first put is that of another writer. Where it
 * cannot know the parts that were lost with the count, it begins before them, and the writer that
 * knows them continues after them: the parts between them may count as another gap. */
static void lose_before_a_writer(struct suite *suite, const struct loss *loss, bool tails,
                                 bool fresh)
{
    static struct seen followed;
    const char *name = fresh_name(suite, "e");
    mcds_log *writer = open_log(suite->store, name);
    mcds_log *reader = open_log(suite->store, name);
    mcds_log *other = open_log(suite->store, name);
    int64_t now = wall_ms(suite);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    cursor.from_ms = now - 2 * CHUNK_MS;
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK(MCDS_OK, suite, mcds_log_put, writer, now, value_of(i));
    followed = (struct seen){.stop_after = 0};
    tail(suite, reader, &cursor, &followed);
    struct raw_key family = raw_chunk(suite, name, CHUNK_MS, now);
    lose(suite, &family, loss);
    shift_wall_ms(suite, 2000); /* creation times of segments differ */
    if (tails)
        tail(suite, reader, &cursor, &followed);
    for (uint32_t i = 0; i < AFTER; i++) {
        mcds_log *by = fresh && i == 0 ? other : writer;
        CHECK(MCDS_OK, suite, mcds_log_put, by, now, value_of(EVENTS_MAX + i));
        tail(suite, reader, &cursor, &followed);
        assert_int_equal(followed.times[EVENTS_MAX + i], 1);
        bool is_cursors = loss->end == loss->parts;
        bool is_twice = is_cursors && loss->with_count && fresh && i > 0;
        assert_in_range(followed.info.gaps, is_cursors, (uint32_t)is_cursors + is_twice);
        if (!fresh || i > 0)
            check_after(suite, name, i + 1);
    }
    mcds_log_close(other);
    mcds_log_close(reader);
    mcds_log_close(writer);
}

/* The first parts and the count are gone: only the open handle of the writer knows the others. */
static void a_writer_finds_the_count_gone(struct suite *suite)
{
    static const struct loss some[] = {
        {2, 0, 1, true}, {3, 0, 1, true}, {3, 0, 2, true}, {12, 0, 11, true}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        for (int tails = 0; tails < 2; tails++)
            lose_before_a_writer(suite, &some[i], tails == 1, false);
}

static void a_cursor_counts_a_loss_once(struct suite *suite)
{
    static const struct loss some[] = {
        {3, 2, 3, false}, {3, 2, 3, true},  {3, 1, 2, false},
        {3, 1, 3, true},  {3, 0, 3, true},  {3, 0, 3, false},
        {1, 0, 1, false}, {3, 0, 1, false}, {12, 0, 11, false},
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        for (int k = 0; k < 4; k++)
            lose_before_a_writer(suite, &some[i], (k & 1) != 0, (k & 2) != 0);
}

/* Another writer, which cannot know the part that is left, makes the first ones again. */
static void a_smaller_count_is_not_kept(struct suite *suite)
{
    static const struct loss loss = {17, 0, 16, true};
    const char *name = fresh_name(suite, "e");
    mcds_log *writer = open_log(suite->store, name);
    mcds_log *fresh = open_log(suite->other, name);
    int64_t now = wall_ms(suite);
    for (uint32_t i = 0; i < events_of(&loss); i++)
        CHECK(MCDS_OK, suite, mcds_log_put, writer, now, value_of(i));
    struct raw_key family = raw_chunk(suite, name, CHUNK_MS, now);
    lose(suite, &family, &loss);
    for (uint32_t i = 0; i < AFTER; i++) {
        if (i != 1)
            CHECK_OTHER(MCDS_OK, suite, mcds_log_put, fresh, now, value_of(EVENTS_MAX + i));
        else
            CHECK(MCDS_OK, suite, mcds_log_put, writer, now, value_of(EVENTS_MAX + i));
        if (i > 0)
            check_after(suite, name, i + 1);
    }
    mcds_log_close(fresh);
    mcds_log_close(writer);
}

/* The first parts of a list and the count are gone: the open handle pushes after the others. */
static void lose_before_a_pusher(struct suite *suite, const struct loss *loss)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "l");
    mcds_list *list = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &list));
    for (uint32_t i = 0; i < events_of(loss); i++)
        CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(i));
    struct raw_key family = list_family(suite, name);
    lose(suite, &family, loss);
    for (uint32_t i = 0; i < AFTER; i++) {
        mcds_list *fresh = NULL;
        CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &fresh));
        CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(EVENTS_MAX + i));
        seen = (struct seen){.stop_after = 0};
        CHECK_OTHER(MCDS_LOST, suite, mcds_list_scan, fresh, 0, 0, see_value, &seen);
        for (uint32_t k = 0; k <= i; k++)
            assert_int_equal(seen.times[EVENTS_MAX + k], 1);
        mcds_list_close(fresh);
    }
    mcds_list_close(list);
}

static void a_pusher_finds_the_count_gone(struct suite *suite)
{
    static const struct loss some[] = {{2, 0, 1, true}, {3, 0, 2, true}, {12, 0, 11, true}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        lose_before_a_pusher(suite, &some[i]);
}

/* A push by a handle that knows the life of a lost root adds the root again. */
static void the_root_of_a_list_is_added_again(struct suite *suite)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "l");
    mcds_list *list = NULL, *fresh = NULL;
    struct raw_key root = raw_key(suite, MCDS__TAG_LIST, name, -1);
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &list));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &fresh));
    CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(0));
    assert_int_equal(raw_delete(suite, &root), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(1));
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(2));
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_OK, suite, mcds_list_scan, fresh, 0, 0, see_value, &seen);
    assert_int_equal(seen.count, 3);
    mcds_list_close(fresh);
    mcds_list_close(list);
}

/* Another list has begun: a push that knows the old life says so, as does a scan, once. */
static void a_list_made_again_is_lost(struct suite *suite)
{
    static struct seen seen;
    const char *name = fresh_name(suite, "l");
    mcds_list *list = NULL, *reader = NULL, *fresh = NULL;
    struct raw_key root = raw_key(suite, MCDS__TAG_LIST, name, -1);
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &list));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, name, NULL, &reader));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->other, name, NULL, &fresh));
    CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(0));
    CHECK(MCDS_OK, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    assert_int_equal(raw_delete(suite, &root), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(1));
    CHECK(MCDS_LOST, suite, mcds_list_push, list, value_of(2));
    CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(3));
    seen = (struct seen){.stop_after = 0};
    CHECK(MCDS_LOST, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.times[1] + seen.times[3], 2);
    CHECK(MCDS_OK, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, see_value, &seen);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_drop, fresh);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(4));
    CHECK(MCDS_OK, suite, mcds_list_scan, reader, 0, 0, see_value, &seen);
    CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(5));
    seen = (struct seen){.stop_after = 0};
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, see_value, &seen);
    assert_int_equal(seen.count, 2);
    mcds_list_close(fresh);
    mcds_list_close(reader);
    mcds_list_close(list);
}

/* The previous job is in another part than the next one. */
static void a_worker_finds_its_queue_gone(struct suite *suite)
{
    const char *name = fresh_name(suite, "q");
    char bytes[1000] = "job";
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    mcds_job job = MCDS_JOB_INIT, other = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    struct raw_key root = raw_key(suite, MCDS__TAG_QUEUE, name, -1);
    options.flags = MCDS_QUEUE_MAY_LOSE;
    int result = mcds_queue_open(suite->store, name, &options, &queue);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    for (int i = 0; i < 40; i++)
        CHECK(MCDS_OK, suite, mcds_queue_push, queue, ((mcds_bytes){bytes, sizeof bytes}), 0);
    CHECK(MCDS_OK, suite, mcds_queue_next, queue, 0, &job, &value);
    do
        CHECK(MCDS_OK, suite, mcds_queue_next, queue, 0, &other, &value);
    while (other.part == job.part);
    assert_int_equal(raw_delete(suite, &root), MCDS_OUT_OK);
    CHECK(MCDS_AMBIGUOUS, suite, mcds_queue_next, queue, 0, &job, &value);
    CHECK(MCDS_LOST, suite, mcds_queue_next, queue, 0, &job, &value);
    assert_true(job.was_lost && !job.is_held);
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, queue, 0, &job, &value);
    mcds_value_free(&value);
    mcds_queue_close(queue);
}

static const struct suite_case cases[] = {
    CASE_TWICE(a_writer_finds_the_count_gone),     CASE_TWICE(a_cursor_counts_a_loss_once),
    CASE_TWICE(a_smaller_count_is_not_kept),       CASE_TWICE(a_pusher_finds_the_count_gone),
    CASE_TWICE(the_last_parts_are_missed),         CASE_TWICE(a_log_goes_on_after_a_loss),
    CASE_TWICE(a_list_goes_on_after_a_loss),       CASE_TWICE(a_list_without_parts_is_lost),
    CASE_TWICE(the_root_of_a_list_is_added_again), CASE_TWICE(a_list_made_again_is_lost),
    CASE_TWICE(a_worker_finds_its_queue_gone),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
