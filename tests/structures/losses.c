/* Logs and lists after a store has forgotten some of their parts: what is left is seen, what is put
 * from then on is seen by everybody, and the loss is told. */
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
        memcpy(&number, value.at, sizeof number);
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
    CHECK_OTHER(MCDS_OK, suite, mcds_log_fetch, log, &range, see_event, seen, &seen->info);
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
    shift_wall_ms(suite, 2000); /* births of parts differ */
    fetch(suite, reader, &all, false);
    assert_true(all.info.gaps > 0 || loss->with_count || loss->end == loss->parts);
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
    char root[128];
    struct raw_key raw = raw_key(suite, MCDS__TAG_LIST, name, -1);
    uint64_t generation = 0;
    assert_true(raw_get(suite, &raw, root, sizeof root));
    for (int i = 7; i >= 0; i--)
        generation = generation << 8 | (uint8_t)root[12 + i];
    raw = raw_key(suite, MCDS__TAG_LIST_PART, name, -1);
    mcds__key_add_number(&raw.key, generation);
    return raw;
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
    for (uint32_t i = 0; i < AFTER; i++)
        if (i % 2 == 0)
            CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(EVENTS_MAX + i));
        else
            CHECK(MCDS_OK, suite, mcds_list_push, list, value_of(EVENTS_MAX + i));
    seen = (struct seen){.stop_after = 0};
    CHECK_OTHER(MCDS_LOST, suite, mcds_list_fetch, reader, 0, 0, see_value, &seen);
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
    CHECK_OTHER(MCDS_LOST, suite, mcds_list_fetch, fresh, 0, 0, see_value, &seen);
    CHECK(MCDS_LOST, suite, mcds_list_fetch, list, 0, 0, see_value, &seen);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, fresh, value_of(EVENTS_MAX));
    CHECK(MCDS_LOST, suite, mcds_list_fetch, list, 0, 0, see_value, &seen);
    assert_int_equal(seen.times[EVENTS_MAX], 1);
    assert_int_equal(seen.count, 1);
    CHECK(MCDS_OK, suite, mcds_list_clear, list);
    CHECK(MCDS_OK, suite, mcds_list_fetch, list, 0, 0, see_value, &seen);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_fetch, fresh, 0, 0, see_value, &seen);
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

static const struct suite_case cases[] = {
    CASE_TWICE(a_log_goes_on_after_a_loss),
    CASE_TWICE(a_list_goes_on_after_a_loss),
    CASE_TWICE(a_list_without_parts_is_lost),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
