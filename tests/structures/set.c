/* Set: forms, reports of changes, growth, order, loss, refusals. */
#include <stdlib.h>

#include "structures/suite.h"

#define MANY 2000 /* so that keys split twice */

static mcds_set *open_set(mcds_store *store, const char *name, mcds_set_form form)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    options.form = form;
    int result = mcds_set_open(store, name, &options, &set);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return set;
}

#define ADD(expected, suite, set, text)                                                        \
    do {                                                                                       \
        bool was_changed = !(expected);                                                        \
        CHECK(MCDS_OK, suite, mcds_set_add, set, mcds_text(text), &was_changed);               \
        assert_int_equal(was_changed, expected);                                               \
    } while (0)
#define REMOVE(expected, suite, set, text)                                                     \
    do {                                                                                       \
        bool was_changed = !(expected);                                                        \
        CHECK(MCDS_OK, suite, mcds_set_remove, set, mcds_text(text), &was_changed);            \
        assert_int_equal(was_changed, expected);                                               \
    } while (0)

/* What a fetch brought, as text: "1 4 5", or "a*2 b*1". */
struct fetched {
    char text[256];
    bool counts;
    uint64_t elements;
    uint64_t stop_after;
};

static bool gather(void *context, mcds_bytes element, uint64_t count)
{
    struct fetched *fetched = context;
    size_t used = strlen(fetched->text);
    if (fetched->counts)
        (void)snprintf(fetched->text + used, sizeof fetched->text - used, "%s%.*s*%llu",
                       used > 0 ? " " : "", (int)element.length, (const char *)element.data,
                       (unsigned long long)count);
    else
        (void)snprintf(fetched->text + used, sizeof fetched->text - used, "%s%.*s",
                       used > 0 ? " " : "", (int)element.length, (const char *)element.data);
    fetched->elements++;
    return fetched->elements != fetched->stop_after;
}

static void check_fetch(struct suite *suite, mcds_set *set, bool counts, const char *expected)
{
    struct fetched fetched = {.counts = counts};
    CHECK(MCDS_OK, suite, mcds_set_scan, set, gather, &fetched);
    assert_string_equal(fetched.text, expected);
}

static void tells_what_changed(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("a"));
    ADD(true, suite, set, "a");
    ADD(false, suite, set, "a");
    CHECK(MCDS_OK, suite, mcds_set_has, set, mcds_text("a"));
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("b"));
    CHECK(MCDS_OK, suite, mcds_set_add, set, mcds_text("b"), NULL);
    REMOVE(true, suite, set, "a");
    REMOVE(false, suite, set, "a");
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("a"));
    check_fetch(suite, set, true, "b*1");
    ADD(true, suite, set, "a");
    CHECK(MCDS_OK, suite, mcds_set_has, set, mcds_text("a"));
    mcds_set_close(set);
}

static void a_missing_set_stays_missing(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    struct fetched fetched = {.counts = false};
    REMOVE(false, suite, set, "a");
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_scan, set, gather, &fetched);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_drop, set);
    mcds_set_close(set);
}

static void an_empty_set_is_there(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    ADD(true, suite, set, "a");
    REMOVE(true, suite, set, "a");
    check_fetch(suite, set, false, "");
    mcds_set_close(set);
}

static void a_bag_counts(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_BAG);
    ADD(true, suite, set, "a");
    ADD(true, suite, set, "a");
    ADD(true, suite, set, "a");
    REMOVE(true, suite, set, "a");
    check_fetch(suite, set, true, "a*2");
    REMOVE(true, suite, set, "a");
    REMOVE(true, suite, set, "a");
    REMOVE(false, suite, set, "a");
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("a"));
    ADD(true, suite, set, "a");
    check_fetch(suite, set, true, "a*1");
    mcds_set_close(set);
}

/* +1 +3 +4 -3 +5 of the articles. */
static void a_list_keeps_order(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_LIST);
    ADD(true, suite, set, "1");
    ADD(true, suite, set, "3");
    ADD(true, suite, set, "4");
    REMOVE(true, suite, set, "3");
    ADD(true, suite, set, "5");
    check_fetch(suite, set, false, "1 4 5");
    ADD(true, suite, set, "1");
    ADD(true, suite, set, "4");
    check_fetch(suite, set, false, "1 4 5 1 4");
    REMOVE(true, suite, set, "4");
    check_fetch(suite, set, false, "1 5 1 4");
    REMOVE(false, suite, set, "9");
    mcds_set_close(set);
}

static void order_is_of_arrival_not_of_clocks(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_LIST);
    ADD(true, suite, set, "late");
    shift_wall_ms(suite, -60000);
    ADD(true, suite, set, "later");
    shift_wall_ms(suite, 60000);
    check_fetch(suite, set, false, "late later");
    mcds_set_close(set);
}

struct sequence {
    uint32_t next;
    uint32_t wrong;
};

static bool check_sequence(void *context, mcds_bytes element, uint64_t count)
{
    struct sequence *sequence = context;
    char text[32] = "";
    (void)count;
    if (element.length < sizeof text)
        memcpy(text, element.data, element.length);
    sequence->wrong += strtoull(text, NULL, 10) != sequence->next++;
    return true;
}

/* Neighbours are in different keys, and are added within one millisecond. */
static void order_holds_across_keys(struct suite *suite)
{
    struct sequence sequence = {0, 0};
    uint32_t count = suite->can.durable ? 300 : 600;
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_LIST);
    for (uint32_t i = 0; i < count; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%u", i);
        if (i == count / 2)
            shift_wall_ms(suite, -5000);
        CHECK(MCDS_OK, suite, mcds_set_add, set, mcds_text(text), NULL);
    }
    shift_wall_ms(suite, 5000);
    CHECK(MCDS_OK, suite, mcds_set_scan, set, check_sequence, &sequence);
    assert_int_equal(sequence.next, count);
    assert_int_equal(sequence.wrong, 0);
    mcds_set_close(set);
}

static void the_other_form_is_refused(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    mcds_set *bag = open_set(suite->other, name, MCDS_SET_BAG);
    struct fetched fetched = {.counts = true};
    bool changed = false;
    ADD(true, suite, set, "a");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_set_add, bag, mcds_text("a"), &changed);
    CHECK_SENTENCE("MCDS_SET_PLAIN");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_set_remove, bag, mcds_text("a"), &changed);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_set_has, bag, mcds_text("a"));
    CHECK_OTHER(MCDS_INVALID, suite, mcds_set_scan, bag, gather, &fetched);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_set_drop, bag);
    check_fetch(suite, set, true, "a*1");
    mcds_set_close(set);
    mcds_set_close(bag);
}

static void two_handles_share_one_set(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    mcds_set *other = open_set(suite->other, name, MCDS_SET_PLAIN);
    bool changed = true;
    ADD(true, suite, set, "a");
    CHECK_OTHER(MCDS_OK, suite, mcds_set_add, other, mcds_text("a"), &changed);
    assert_false(changed);
    CHECK_OTHER(MCDS_OK, suite, mcds_set_remove, other, mcds_text("a"), &changed);
    assert_true(changed);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("a"));
    CHECK_OTHER(MCDS_OK, suite, mcds_set_drop, other);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, mcds_text("a"));
    ADD(true, suite, set, "b");
    CHECK_OTHER(MCDS_OK, suite, mcds_set_has, other, mcds_text("b"));
    mcds_set_close(set);
    mcds_set_close(other);
}

static mcds_bytes member(uint32_t number)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "member-%08u", number);
    return mcds_text(text);
}

static void add_many(struct suite *suite, mcds_set *set, uint32_t begin, uint32_t end)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    for (uint32_t i = begin; i < end; i++)
        CHECK_RESULT(MCDS_OK, mcds_set_add_start(set, member(i), NULL, pipeline, i));
    for (uint32_t i = begin; i < end; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
    }
    mcds_pipeline_close(pipeline);
}

static void remove_many(mcds_store *store, mcds_set *set, uint32_t end)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    for (uint32_t i = 0; i < end; i++)
        CHECK_RESULT(MCDS_OK, mcds_set_remove_start(set, member(i), NULL, pipeline, i));
    for (uint32_t i = 0; i < end; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
    }
    mcds_pipeline_close(pipeline);
}

struct census {
    uint32_t seen[MANY];
    uint64_t strangers;
};

static bool count_member(void *context, mcds_bytes element, uint64_t count)
{
    struct census *census = context;
    char text[32] = "";
    if (element.length < sizeof text)
        memcpy(text, element.data, element.length);
    uint64_t number = strtoull(text + 7, NULL, 10);
    if (element.length == 15 && count == 1 && number < MANY)
        census->seen[number]++;
    else
        census->strangers++;
    return true;
}

static void check_census(struct suite *suite, mcds_set *set, uint32_t begin, uint32_t end)
{
    static struct census census;
    memset(&census, 0, sizeof census);
    CHECK(MCDS_OK, suite, mcds_set_scan, set, count_member, &census);
    assert_int_equal(census.strangers, 0);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(census.seen[i], i >= begin && i < end ? 1 : 0);
}

static void grows_and_keeps_all(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    mcds_set *cold = open_set(suite->other, name, MCDS_SET_PLAIN);
    bool changed = true;
    add_many(suite, set, 0, MANY);
    check_census(suite, set, 0, MANY);
    for (uint32_t i = 0; i < MANY; i += 97)
        CHECK_OTHER(MCDS_OK, suite, mcds_set_has, cold, member(i));
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_set_has, cold, mcds_text("nobody"));
    remove_many(suite->other, cold, MANY / 2);
    CHECK(MCDS_OK, suite, mcds_set_add, set, member(MANY - 1), &changed);
    assert_false(changed);
    check_census(suite, set, MANY / 2, MANY);
    CHECK(MCDS_OK, suite, mcds_set_drop, set);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_set_has, cold, member(MANY - 1));
    add_many(suite, set, 5, 6);
    check_census(suite, set, 5, 6);
    mcds_set_close(set);
    mcds_set_close(cold);
}

static bool note_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

/* The end mark is left, which expires. */
static void drop_leaves_a_mark_alone(struct suite *suite)
{
    uint32_t left = 0;
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    struct raw_key raw = raw_key(suite, MCDS__TAG_SET, name, -1);
    add_many(suite, set, 0, MANY);
    CHECK(MCDS_OK, suite, mcds_set_drop, set);
    int result = mcds__store_keys(suite->store, mcds_text(raw.key.bytes), note_key, &left);
    if (result != MCDS_OK)
        print_message("skipped: the keys cannot be listed here: %s\n", mcds_errmsg());
    else
        assert_int_equal(left, 1);
    mcds_set_close(set);
}

static void a_visit_may_end(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    struct fetched fetched = {.stop_after = 2};
    ADD(true, suite, set, "a");
    ADD(true, suite, set, "b");
    ADD(true, suite, set, "c");
    CHECK(MCDS_OK, suite, mcds_set_scan, set, gather, &fetched);
    assert_int_equal(fetched.elements, 2);
    mcds_set_close(set);
}

/* The only element is added and removed until its key has been rewritten many times. */
static void one_element_may_come_and_go(struct suite *suite)
{
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    for (int i = 0; i < 60; i++) {
        ADD(true, suite, set, "a");
        REMOVE(true, suite, set, "a");
    }
    check_fetch(suite, set, false, "");
    mcds_set_close(set);
}

static void any_bytes_are_elements(struct suite *suite)
{
    static const char zeros[1024];
    mcds_set *set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    bool changed = false;
    for (size_t length = 1; length <= sizeof zeros; length *= 2) {
        CHECK(MCDS_OK, suite, mcds_set_add, set, ((mcds_bytes){zeros, length}), &changed);
        assert_true(changed);
    }
    for (uint32_t i = 0; i < HARD_NAMES; i++)
        if (strlen(hard_name(i)) <= 1024)
            ADD(true, suite, set, hard_name(i));
    CHECK(MCDS_OK, suite, mcds_set_has, set, ((mcds_bytes){zeros, 512}));
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, ((mcds_bytes){zeros, 511}));
    mcds_set_close(set);
}

static void a_lost_part_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    struct raw_key raw = raw_key(suite, MCDS__TAG_SET, name, -1);
    add_many(suite, set, 0, 10);
    struct raw_key first = raw_first(suite, &raw);
    assert_int_equal(raw_delete(suite, &first), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_set_has, set, member(1));
    CHECK(MCDS_LOST, suite, mcds_set_add, set, member(1), NULL);
    CHECK(MCDS_OK, suite, mcds_set_drop, set);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, member(1));
    add_many(suite, set, 0, 10);
    /* The root alone. */
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_set_has, set, member(1));
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, member(1));
    add_many(suite, set, 0, 10);
    assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
    CHECK(MCDS_AMBIGUOUS, suite, mcds_set_add, set, member(1), NULL);
    CHECK(MCDS_LOST, suite, mcds_set_add, set, member(1), NULL);
    add_many(suite, set, 3, 4);
    check_census(suite, set, 3, 4);
    mcds_set_close(set);
}

/* A handle that does not know yet that a key has moved appends to its mark. */
static void a_full_mark_is_passed(struct suite *suite)
{
    static char junk[65536];
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    struct raw_key raw = raw_key(suite, MCDS__TAG_SET, name, -1);
    /* So many that the first key has moved, with any other writer between. */
    add_many(suite, set, 0, 1800);
    raw = raw_first(suite, &raw);
    /* A store that takes far larger values is not filled. */
    uint32_t appends = 0;
    for (size_t length = sizeof junk; length > 0 && appends < 64; appends++)
        if (raw_append(suite, &raw, (mcds_bytes){junk, length}) != MCDS_OUT_OK)
            length /= 2;
    mcds_set *other = open_set(suite->store, name, MCDS_SET_PLAIN);
    add_many(suite, other, 1800, 1801);
    add_many(suite, other, 1801, 1900);
    check_census(suite, other, 0, 1900);
    mcds_set_close(other);
    mcds_set_close(set);
}

#define WRITERS 10
#define MINUTE_MS 60000

/* Records are void that are ten minutes older than those of most writers: a writer whose clock is
 * slow by so much is refused, and no other. */
static void a_clock_far_behind_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    for (uint32_t i = 0; i < WRITERS; i++) {
        mcds_set *other = open_set(suite->other, name, MCDS_SET_PLAIN);
        CHECK_OTHER(MCDS_OK, suite, mcds_set_add, other, member(i), NULL);
        mcds_set_close(other);
    }
    add_many(suite, set, WRITERS, 400);
    shift_wall_ms(suite, -5 * MINUTE_MS);
    CHECK(MCDS_OK, suite, mcds_set_add, set, member(400), NULL);
    CHECK(MCDS_OK, suite, mcds_set_has, set, member(400));
    shift_wall_ms(suite, -15 * MINUTE_MS);
    CHECK(MCDS_IO, suite, mcds_set_add, set, member(401), NULL);
    CHECK_SENTENCE("ten minutes before");
    shift_wall_ms(suite, 20 * MINUTE_MS);
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, set, member(401));
    CHECK(MCDS_OK, suite, mcds_set_add, set, member(401), NULL);
    check_census(suite, set, 0, 402);
    mcds_set_close(set);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(suite->store, name, MCDS_SET_PLAIN);
    struct raw_key raw = raw_key(suite, MCDS__TAG_SET, name, -1);
    struct fetched fetched = {.counts = false};
    assert_int_equal(raw_set(suite, &raw, "who wrote this?"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_set_has, set, mcds_text("a"));
    CHECK(MCDS_CORRUPT, suite, mcds_set_add, set, mcds_text("a"), NULL);
    CHECK(MCDS_CORRUPT, suite, mcds_set_scan, set, gather, &fetched);
    mcds_set_close(set);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    static const char large[1025];
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_set_open(NULL, "s", NULL, &set));
    CHECK_RESULT(MCDS_INVALID, mcds_set_open(suite->store, "", NULL, &set));
    CHECK_RESULT(MCDS_INVALID, mcds_set_open(suite->store, "s", NULL, NULL));
    options.size = 3;
    CHECK_RESULT(MCDS_INVALID, mcds_set_open(suite->store, "s", &options, &set));
    options = (mcds_set_options)MCDS_SET_OPTIONS_INIT;
    options.form = (mcds_set_form)7;
    CHECK_RESULT(MCDS_INVALID, mcds_set_open(suite->store, "s", &options, &set));
    assert_null(set);
    set = open_set(suite->store, fresh_name(suite, "s"), MCDS_SET_PLAIN);
    CHECK(MCDS_INVALID, suite, mcds_set_add, set, mcds_text(""), NULL);
    CHECK_SENTENCE("empty");
    CHECK(MCDS_INVALID, suite, mcds_set_add, set, ((mcds_bytes){large, sizeof large}), NULL);
    CHECK_SENTENCE("1024");
    CHECK(MCDS_INVALID, suite, mcds_set_has, set, mcds_text(""));
    CHECK(MCDS_INVALID, suite, mcds_set_remove, NULL, mcds_text("a"), NULL);
    CHECK(MCDS_INVALID, suite, mcds_set_scan, set, NULL, NULL);
    CHECK_RESULT(MCDS_INVALID, mcds_set_drop(NULL));
    mcds_set_close(set);
    mcds_set_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(tells_what_changed),
    CASE(a_missing_set_stays_missing),
    CASE(an_empty_set_is_there),
    CASE(a_bag_counts),
    CASE(a_list_keeps_order),
    CASE(order_is_of_arrival_not_of_clocks),
    CASE_ONCE(order_holds_across_keys),
    CASE(the_other_form_is_refused),
    CASE(two_handles_share_one_set),
    CASE_TWICE(grows_and_keeps_all),
    CASE_TWICE(drop_leaves_a_mark_alone),
    CASE(a_visit_may_end),
    CASE_TWICE(one_element_may_come_and_go),
    CASE(any_bytes_are_elements),
    CASE(a_lost_part_is_told),
    CASE(a_full_mark_is_passed),
    CASE(foreign_values_are_corrupt),
    CASE(a_clock_far_behind_is_told),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
