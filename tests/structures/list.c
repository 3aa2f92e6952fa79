/* List: order, many values, large ones, clear, loss, what is refused. */
#include <stdlib.h>

#include "core/segment/segment.h"
#include "structures/suite.h"

#define MANY 2000 /* so that several keys are filled */
#define LARGE 300000

static mcds_list *open_list(mcds_store *store, const char *name)
{
    mcds_list *list = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(store, name, NULL, &list));
    return list;
}

#define PUSH(suite, list, text) CHECK(MCDS_OK, suite, mcds_list_push, list, mcds_text(text))

/* What a fetch brought, as text: "a b c". */
struct fetched {
    char text[256];
    uint64_t values;
    uint64_t stop_after;
};

static bool gather(void *context, mcds_bytes value)
{
    struct fetched *fetched = context;
    size_t used = strlen(fetched->text);
    (void)snprintf(fetched->text + used, sizeof fetched->text - used, "%s%.*s",
                   used > 0 ? " " : "", (int)value.length, (const char *)value.data);
    fetched->values++;
    return fetched->values != fetched->stop_after;
}

static void check_range(struct suite *suite, mcds_list *list, uint64_t skip, uint64_t limit,
                        const char *expected)
{
    struct fetched fetched = {.values = 0};
    CHECK(MCDS_OK, suite, mcds_list_scan, list, skip, limit, gather, &fetched);
    assert_string_equal(fetched.text, expected);
}

static void check_fetch(struct suite *suite, mcds_list *list, const char *expected)
{
    check_range(suite, list, 0, 0, expected);
}

static void values_keep_their_order(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(suite->store, name);
    mcds_list *other = open_list(suite->other, name);
    PUSH(suite, list, "a");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("b"));
    PUSH(suite, list, "a");
    PUSH(suite, list, "");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("c"));
    check_fetch(suite, list, "a b a  c");
    check_range(suite, list, 1, 2, "b a");
    check_range(suite, list, 4, 0, "c");
    check_range(suite, list, 5, 0, "");
    check_range(suite, list, 900, 3, "");
    mcds_list_close(other);
    mcds_list_close(list);
}

static void a_missing_list_is_not_found(struct suite *suite)
{
    struct fetched fetched = {.values = 0};
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    CHECK(MCDS_NOT_FOUND, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    CHECK(MCDS_NOT_FOUND, suite, mcds_list_clear, list);
    CHECK(MCDS_NOT_FOUND, suite, mcds_list_drop, list);
    CHECK(MCDS_OK, suite, mcds_list_push_many, list, NULL, 0, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    mcds_list_close(list);
}

/* Values "0", "1", ... in this order. */
struct counted {
    uint64_t next;
    uint64_t step;
};

static bool count_up(void *context, mcds_bytes value)
{
    struct counted *counted = context;
    char expected[64];
    int length = snprintf(expected, sizeof expected, "%llu, and some bytes more",
                          (unsigned long long)counted->next);
    assert_int_equal(value.length, length);
    assert_memory_equal(value.data, expected, (size_t)length);
    counted->next += counted->step;
    return true;
}

static void push_number(struct suite *suite, mcds_list *list, uint64_t number)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%llu, and some bytes more", (unsigned long long)number);
    PUSH(suite, list, text);
}

static void many_values_fill_many_keys(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(suite->store, name);
    mcds_list *other = open_list(suite->other, name);
    struct counted counted = {0, 1};
    for (uint64_t i = 0; i < MANY; i++)
        push_number(suite, list, i);
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, count_up, &counted);
    assert_int_equal(counted.next, MANY);
    counted.next = MANY - 10;
    CHECK_OTHER(MCDS_OK, suite, mcds_list_scan, other, MANY - 10, 5, count_up, &counted);
    assert_int_equal(counted.next, MANY - 5);
    /* A handle that knows nothing finds the end. */
    char text[64];
    (void)snprintf(text, sizeof text, "%d, and some bytes more", MANY);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text(text));
    push_number(suite, list, MANY + 1);
    counted.next = 0;
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, count_up, &counted);
    assert_int_equal(counted.next, MANY + 2);
    mcds_list_close(other);
    mcds_list_close(list);
}

static void push_numbers(struct suite *suite, mcds_list *list)
{
    static char texts[MANY][32];
    static mcds_bytes values[MANY];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%d, and some bytes more", i);
        values[i] = mcds_text(texts[i]);
    }
    size_t pushed = 1;
    CHECK(MCDS_OK, suite, mcds_list_push_many, list, values, MANY, &pushed);
    assert_int_equal(pushed, MANY);
}

static void many_are_pushed_in_order(struct suite *suite)
{
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    struct counted counted = {0, 1};
    push_numbers(suite, list);
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, count_up, &counted);
    assert_int_equal(counted.next, MANY);
    mcds_list_close(list);
}

/* Everything in flight at once: all of it once, whatever the order. */
static bool tick(void *context, mcds_bytes value)
{
    uint8_t *seen = context;
    seen[strtoul(value.data, NULL, 10)]++;
    return true;
}

static void a_pipeline_pushes_each_once(struct suite *suite)
{
    static uint8_t seen[MANY];
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    memset(seen, 0, sizeof seen);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    for (uint64_t i = 0; i < MANY; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%llu, and some bytes more", (unsigned long long)i);
        CHECK_RESULT(MCDS_OK, mcds_list_push_start(list, mcds_text(text), pipeline, i));
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        CHECK_RESULT(MCDS_OK, done.result);
    mcds_pipeline_close(pipeline);
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, tick, seen);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
    mcds_list_close(list);
}

struct measured {
    size_t lengths[8];
    uint32_t count;
    uint8_t last;
};

static bool measure(void *context, mcds_bytes value)
{
    struct measured *measured = context;
    measured->lengths[measured->count++] = value.length;
    for (size_t i = 0; i < value.length; i++)
        assert_int_equal(((const uint8_t *)value.data)[i], (uint8_t)(i * 7));
    return true;
}

static void large_values_are_kept_whole(struct suite *suite)
{
    static const size_t lengths[] = {
        1, MCDS__SEGMENT_INLINE_MAX, MCDS__SEGMENT_INLINE_MAX + 1, LARGE, 2000000, 0};
    static uint8_t bytes[2000000];
    struct measured measured = {.count = 0};
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 6; i++) {
        mcds_bytes value = {bytes, lengths[i]};
        CHECK(MCDS_OK, suite, mcds_list_push, list, value);
    }
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, measure, &measured);
    assert_int_equal(measured.count, 6);
    assert_memory_equal(measured.lengths, lengths, sizeof lengths);
    CHECK(MCDS_OK, suite, mcds_list_clear, list);
    mcds_list_close(list);
}

static void clear_begins_anew(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(suite->store, name);
    mcds_list *other = open_list(suite->other, name);
    push_numbers(suite, list);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("old"));
    CHECK(MCDS_OK, suite, mcds_list_clear, list);
    check_fetch(suite, list, "");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("new"));
    PUSH(suite, list, "newer");
    check_fetch(suite, list, "new newer");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_clear, other);
    PUSH(suite, list, "newest");
    check_fetch(suite, list, "newest");
    mcds_list_close(other);
    mcds_list_close(list);
}

static void drop_ends_it(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    struct fetched fetched = {.values = 0};
    mcds_list *list = open_list(suite->store, name);
    mcds_list *other = open_list(suite->other, name);
    PUSH(suite, list, "old");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("old"));
    CHECK(MCDS_OK, suite, mcds_list_drop, list);
    CHECK(MCDS_NOT_FOUND, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_list_scan, other, 0, 0, gather, &fetched);
    PUSH(suite, list, "new");
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("newer"));
    CHECK(MCDS_OK, suite, mcds_list_drop, list);
    CHECK_OTHER(MCDS_OK, suite, mcds_list_push, other, mcds_text("newest"));
    check_fetch(suite, list, "newest");
    mcds_list_close(other);
    mcds_list_close(list);
}

/* The generation is the life in the root: 8 bytes into the payload of its frame. */
static struct raw_key part_key(struct suite *suite, const char *name, uint64_t part)
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
    mcds__key_add_number(&raw.key, part);
    return raw;
}

static void a_lost_part_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(suite->store, name);
    uint8_t seen[MANY + 1] = {0};
    push_numbers(suite, list);
    struct raw_key raw = part_key(suite, name, 1);
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_list_scan, list, 0, 0, tick, seen);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[MANY - 1], 1);
    /* The last one, found missing by an append to it. */
    uint64_t last = 1;
    do
        raw = part_key(suite, name, ++last);
    while (raw_delete(suite, &raw) == MCDS_OUT_OK);
    push_number(suite, list, MANY);
    memset(seen, 0, sizeof seen);
    CHECK(MCDS_LOST, suite, mcds_list_scan, list, 0, 0, tick, seen);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[MANY], 1);
    mcds_list_close(list);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    struct fetched fetched = {.values = 0};
    mcds_list *list = open_list(suite->store, name);
    PUSH(suite, list, "a");
    struct raw_key raw = part_key(suite, name, 0);
    assert_int_equal(raw_set(suite, &raw, "something else"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_list_push, list, mcds_text("b"));
    CHECK(MCDS_CORRUPT, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    raw = raw_key(suite, MCDS__TAG_LIST, name, -1);
    assert_int_equal(raw_set(suite, &raw, "something else"), MCDS_OUT_OK);
    mcds_list *other = open_list(suite->other, name);
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_list_push, other, mcds_text("b"));
    CHECK(MCDS_CORRUPT, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    CHECK(MCDS_CORRUPT, suite, mcds_list_clear, list);
    mcds_list_close(other);
    mcds_list_close(list);
}

static void a_visit_may_end(struct suite *suite)
{
    struct fetched fetched = {.stop_after = 2};
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    PUSH(suite, list, "a");
    PUSH(suite, list, "b");
    PUSH(suite, list, "c");
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, gather, &fetched);
    assert_string_equal(fetched.text, "a b");
    mcds_list_close(list);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    mcds_list *list = NULL;
    mcds_list_options options = {1};
    CHECK_RESULT(MCDS_INVALID, mcds_list_open(suite->store, "", NULL, &list));
    CHECK_RESULT(MCDS_INVALID, mcds_list_open(suite->store, "x", &options, &list));
    CHECK_SENTENCE("its size is 1");
    list = open_list(suite->store, fresh_name(suite, "l"));
    mcds_bytes missing = {NULL, 3};
    CHECK(MCDS_INVALID, suite, mcds_list_push, NULL, mcds_text("a"));
    CHECK(MCDS_INVALID, suite, mcds_list_push, list, missing);
    size_t pushed = 1;
    CHECK(MCDS_INVALID, suite, mcds_list_push_many, list, NULL, 1, &pushed);
    assert_int_equal(pushed, 0);
    CHECK(MCDS_INVALID, suite, mcds_list_scan, list, 0, 0, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_list_clear, NULL);
    CHECK(MCDS_INVALID, suite, mcds_list_drop, NULL);
    mcds_bytes huge = {"", (size_t)MCDS__SEGMENT_LARGE_MAX + 1};
    CHECK(MCDS_TOO_BIG, suite, mcds_list_push, list, huge);
    mcds_list_close(list);
    mcds_list_close(NULL);
}

/* A visitor that pushes eight times as much as it sees. */
struct pusher {
    mcds_list *list;
    uint32_t seen;
};

static char pushed[8000];

static bool push_more(void *context, mcds_bytes value)
{
    struct pusher *pusher = context;
    (void)value;
    for (int i = 0; i < 8; i++)
        CHECK_RESULT(MCDS_OK,
                     mcds_list_push(pusher->list, (mcds_bytes){pushed, sizeof pushed}));
    return ++pusher->seen < 400;
}

static void a_visit_ends_though_others_push(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(suite->store, name);
    struct pusher pusher = {open_list(suite->other, name), 0};
    for (int i = 0; i < 40; i++)
        CHECK(MCDS_OK, suite, mcds_list_push, list, ((mcds_bytes){pushed, sizeof pushed}));
    CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, push_more, &pusher);
    assert_in_range(pusher.seen, 40, 200);
    mcds_list_close(pusher.list);
    mcds_list_close(list);
}

static bool count_one(void *context, mcds_bytes value)
{
    (void)value;
    ++*(uint32_t *)context;
    return true;
}

/* Two to a part: as many parts as the far ones that a reader asks for lie apart, and more. */
static void a_visit_sees_all_that_was_there(struct suite *suite)
{
    static const uint32_t counts[] = {36, 146, 290};
    mcds_list *list = open_list(suite->store, fresh_name(suite, "l"));
    uint32_t there = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t seen = 0;
        for (; there < counts[i]; there++)
            CHECK(MCDS_OK, suite, mcds_list_push, list, ((mcds_bytes){pushed, sizeof pushed}));
        CHECK(MCDS_OK, suite, mcds_list_scan, list, 0, 0, count_one, &seen);
        assert_int_equal(seen, there);
    }
    mcds_list_close(list);
}

static const struct suite_case cases[] = {
    CASE_ONCE(a_visit_sees_all_that_was_there),
    CASE_ONCE(a_visit_ends_though_others_push),
    CASE(values_keep_their_order),
    CASE(a_missing_list_is_not_found),
    CASE_ONCE(many_values_fill_many_keys),
    CASE_TWICE(many_are_pushed_in_order),
    CASE_ONCE(a_pipeline_pushes_each_once),
    CASE(large_values_are_kept_whole),
    CASE_TWICE(clear_begins_anew),
    CASE(drop_ends_it),
    CASE_TWICE(a_lost_part_is_told),
    CASE(foreign_values_are_corrupt),
    CASE(a_visit_may_end),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
