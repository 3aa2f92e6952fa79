/* Array: reads, changes, values in blocks, concurrent changes, refusals. */
#include <stdlib.h>

#include "base/buffer.h"
#include "core/record/record.h"
#include "structures/suite.h"

#define LARGE ((size_t)3 << 20)

static mcds_array *open_array(mcds_store *store, const char *name)
{
    mcds_array *array = NULL;
    CHECK_RESULT(MCDS_OK, mcds_array_open(store, name, NULL, &array));
    return array;
}

struct fetched {
    char text[256];
    uint32_t elements;
    uint32_t stop_after; /* 0: never */
    size_t bytes;
    uint64_t sum;
};

static bool gather(void *context, mcds_bytes element)
{
    struct fetched *fetched = context;
    size_t used = strlen(fetched->text);
    if (element.length < 16)
        (void)snprintf(fetched->text + used, sizeof fetched->text - used, "%s%.*s",
                       fetched->elements > 0 ? " " : "", (int)element.length,
                       (const char *)element.data);
    fetched->bytes += element.length;
    for (size_t i = 0; i < element.length; i += 1000)
        fetched->sum = fetched->sum * 31 + ((const uint8_t *)element.data)[i];
    return ++fetched->elements != fetched->stop_after;
}

static void check_array(struct suite *suite, mcds_array *array, const char *expected)
{
    struct fetched fetched = {.elements = 0};
    CHECK(MCDS_OK, suite, mcds_array_scan, array, gather, &fetched);
    assert_string_equal(fetched.text, expected);
}

/* The same through a handle of suite->other. */
static void check_other(struct suite *suite, mcds_array *other, const char *expected)
{
    struct fetched fetched = {.elements = 0};
    CHECK_OTHER(MCDS_OK, suite, mcds_array_scan, other, gather, &fetched);
    assert_string_equal(fetched.text, expected);
}

/* Elements from a text, separated by blanks. */
struct words {
    mcds_bytes bytes[16];
    size_t count;
};

static struct words words(const char *text)
{
    struct words words = {.count = 0};
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        words.bytes[words.count++] = (mcds_bytes){text, length};
        text += length + (text[length] == ' ');
    }
    return words;
}

#define SET(suite, array, text)                                                                \
    do {                                                                                       \
        struct words set = words(text);                                                        \
        CHECK(MCDS_OK, suite, mcds_array_set, array, set.bytes, set.count);                    \
    } while (0)
#define CHANGE(expected, suite, array, add, remove)                                            \
    do {                                                                                       \
        struct words added = words(add);                                                       \
        struct words removed = words(remove);                                                  \
        CHECK(expected, suite, mcds_array_change, array, added.bytes, added.count,             \
              removed.bytes, removed.count);                                                   \
    } while (0)

static void is_set_and_read(struct suite *suite)
{
    mcds_array *array = open_array(suite->store, fresh_name(suite, "a"));
    struct fetched fetched = {.elements = 0};
    CHECK(MCDS_NOT_FOUND, suite, mcds_array_scan, array, gather, &fetched);
    SET(suite, array, "1 2 3");
    check_array(suite, array, "1 2 3");
    SET(suite, array, "");
    check_array(suite, array, "");
    SET(suite, array, "b a a");
    check_array(suite, array, "b a a");
    fetched.stop_after = 2;
    CHECK(MCDS_OK, suite, mcds_array_scan, array, gather, &fetched);
    assert_int_equal(fetched.elements, 2);
    mcds_array_close(array);
}

static void elements_come_and_go(struct suite *suite)
{
    mcds_array *array = open_array(suite->store, fresh_name(suite, "a"));
    CHANGE(MCDS_NOT_FOUND, suite, array, "", "x");
    CHANGE(MCDS_OK, suite, array, "1 3 4", "");
    CHANGE(MCDS_OK, suite, array, "5", "3");
    check_array(suite, array, "1 4 5");
    CHANGE(MCDS_OK, suite, array, "4 4", "9");
    check_array(suite, array, "1 4 5 4 4");
    CHANGE(MCDS_OK, suite, array, "", "4 4");
    check_array(suite, array, "1 5 4");
    CHANGE(MCDS_OK, suite, array, "", "9");
    check_array(suite, array, "1 5 4");
    mcds_array_close(array);
}

struct doubling {
    mcds_array *rival; /* changes it once, in between */
    int calls;
    int answer;
};

static int double_all(void *context, const mcds_bytes *old, size_t old_count,
                      mcds_elements *fresh)
{
    struct doubling *doubling = context;
    if (doubling->calls++ == 0 && doubling->rival != NULL) {
        mcds_bytes more = mcds_text("r");
        CHECK_RESULT(MCDS_OK, mcds_array_change(doubling->rival, &more, 1, NULL, 0));
    }
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; n < old_count; n++)
            CHECK_RESULT(MCDS_OK, mcds_elements_add(fresh, old[n]));
    if (old == NULL)
        CHECK_RESULT(MCDS_OK, mcds_elements_add(fresh, mcds_text("none")));
    return doubling->answer;
}

static void a_function_may_change_it(struct suite *suite)
{
    mcds_array *array = open_array(suite->store, fresh_name(suite, "a"));
    struct doubling doubling = {.answer = 0};
    CHECK(MCDS_OK, suite, mcds_array_change_by, array, double_all, &doubling);
    check_array(suite, array, "none");
    SET(suite, array, "x y");
    CHECK(MCDS_OK, suite, mcds_array_change_by, array, double_all, &doubling);
    check_array(suite, array, "x y x y");
    doubling.answer = MCDS_EXISTS;
    CHECK(MCDS_EXISTS, suite, mcds_array_change_by, array, double_all, &doubling);
    check_array(suite, array, "x y x y");
    mcds_array_close(array);
}

static void who_comes_between_is_not_overwritten(struct suite *suite)
{
    const char *name = fresh_name(suite, "a");
    mcds_array *array = open_array(suite->store, name);
    mcds_array *rival = open_array(suite->other, name);
    struct doubling doubling = {.rival = rival};
    SET(suite, array, "x");
    CHECK(MCDS_OK, suite, mcds_array_change_by, array, double_all, &doubling);
    assert_int_equal(doubling.calls, 2);
    check_array(suite, array, "x r x r");
    mcds_array_close(array);
    mcds_array_close(rival);
}

static void drop_erases_it(struct suite *suite)
{
    const char *name = fresh_name(suite, "a");
    mcds_array *array = open_array(suite->store, name);
    mcds_array *other = open_array(suite->other, name);
    struct fetched fetched = {.elements = 0};
    CHECK(MCDS_NOT_FOUND, suite, mcds_array_drop, array);
    SET(suite, array, "1");
    CHECK(MCDS_OK, suite, mcds_array_drop, array);
    CHECK(MCDS_NOT_FOUND, suite, mcds_array_drop, array);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_array_scan, other, gather, &fetched);
    CHANGE(MCDS_OK, suite, array, "2", "");
    check_other(suite, other, "2");
    mcds_array_close(array);
    mcds_array_close(other);
}

/* The same bytes for the same number. */
static char *make_large(int number)
{
    char *large = malloc(LARGE);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)((i * 7 + i / 1000 + (size_t)number * 13) & 255);
    return large;
}

static uint64_t sum_of(struct suite *suite, mcds_array *other)
{
    struct fetched fetched = {.elements = 0};
    CHECK_OTHER(MCDS_OK, suite, mcds_array_scan, other, gather, &fetched);
    assert_int_equal(fetched.elements, 2);
    assert_int_equal(fetched.bytes, LARGE + 3);
    return fetched.sum;
}

static bool count_key(void *context, mcds_bytes key)
{
    (void)key;
    ++*(uint32_t *)context;
    return true;
}

static void large_values_stand_in_blocks(struct suite *suite)
{
    const char *name = fresh_name(suite, "a");
    mcds_array *array = open_array(suite->store, name);
    mcds_array *other = open_array(suite->other, name);
    uint64_t sums[3];
    for (int number = 0; number < 3; number++) {
        char *large = make_large(number);
        mcds_bytes elements[] = {{large, LARGE}, {"end", 3}};
        CHECK(MCDS_OK, suite, mcds_array_set, array, elements, 2);
        sums[number] = sum_of(suite, other);
        assert_true(number == 0 || sums[number] != sums[number - 1]);
        free(large);
    }
    CHANGE(MCDS_OK, suite, array, "", "end");
    CHANGE(MCDS_OK, suite, array, "end", "");
    assert_true(sum_of(suite, other) == sums[2]);
    SET(suite, array, "small again");
    check_other(suite, other, "small again");
    uint32_t left = 0;
    struct raw_key blocks = raw_key(suite, MCDS__TAG_ARRAY_BLOCK, name, -1);
    if (mcds__store_keys(suite->store, mcds_text(blocks.key.bytes), count_key, &left) ==
        MCDS_OK)
        assert_int_equal(left, 0);
    mcds_array_close(array);
    mcds_array_close(other);
}

static void a_lost_part_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "a");
    mcds_array *array = open_array(suite->store, name);
    char *large = make_large(1);
    mcds_bytes elements[] = {{large, LARGE}, {"end", 3}};
    struct fetched fetched = {.elements = 0};
    CHECK(MCDS_OK, suite, mcds_array_set, array, elements, 2);
    free(large);
    struct raw_key raw = raw_key(suite, MCDS__TAG_ARRAY, name, -1);
    uint8_t capacity[1024];
    mcds_buffer values;
    mcds__buffer_init_in(&values, &suite->fake.env, sizeof capacity, capacity, sizeof capacity);
    mcds_request request = {.command = MCDS_GET, .key = mcds__key_bytes(&raw.key)};
    mcds_batch batch = {
        .requests = &request, .count = 1, .values = &values, .deadline_ns = INT64_MAX};
    mcds__store_execute(suite->store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    struct mcds__record_value value;
    assert_true(mcds__record_decode(mcds__reply_value(&batch, &request), request.key, &value));
    struct raw_key part = raw_key(suite, MCDS__TAG_ARRAY_BLOCK, name, -1);
    struct mcds__key begin = part.key;
    mcds__record_block_key(&begin, value.blocks.name, 1, &part.key);
    part.route = part.key;
    assert_int_equal(raw_delete(suite, &part), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_array_scan, array, gather, &fetched);
    assert_int_equal(fetched.elements, 0);
    SET(suite, array, "new");
    check_array(suite, array, "new");
    mcds_array_close(array);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "a");
    mcds_array *array = open_array(suite->store, name);
    struct raw_key raw = raw_key(suite, MCDS__TAG_ARRAY, name, -1);
    struct fetched fetched = {.elements = 0};
    struct words one = words("1");
    assert_int_equal(raw_set(suite, &raw, "who wrote this?"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_array_scan, array, gather, &fetched);
    CHECK(MCDS_CORRUPT, suite, mcds_array_set, array, one.bytes, one.count);
    mcds_array_close(array);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    mcds_array *array = NULL;
    mcds_array_options options = {3};
    mcds_bytes nothing = {NULL, 5};
    CHECK_RESULT(MCDS_INVALID, mcds_array_open(NULL, "a", NULL, &array));
    CHECK_RESULT(MCDS_INVALID, mcds_array_open(suite->store, "", NULL, &array));
    CHECK_RESULT(MCDS_INVALID, mcds_array_open(suite->store, "a", &options, &array));
    assert_null(array);
    array = open_array(suite->store, fresh_name(suite, "a"));
    CHECK(MCDS_INVALID, suite, mcds_array_scan, array, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_array_set, array, NULL, 1);
    CHECK(MCDS_INVALID, suite, mcds_array_set, array, &nothing, 1);
    CHECK(MCDS_INVALID, suite, mcds_array_change_by, array, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_array_change, NULL, NULL, 0, NULL, 0);
    nothing.length = (size_t)65 << 20;
    nothing.data = "";
    CHECK(MCDS_TOO_BIG, suite, mcds_array_set, array, &nothing, 1);
    CHECK_SENTENCE("64 MB");
    CHECK_RESULT(MCDS_INVALID, mcds_array_drop(NULL));
    mcds_array_close(array);
    mcds_array_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(is_set_and_read),
    CASE(elements_come_and_go),
    CASE(a_function_may_change_it),
    CASE_ONCE(who_comes_between_is_not_overwritten),
    CASE(drop_erases_it),
    CASE_TWICE(large_values_stand_in_blocks),
    CASE(a_lost_part_is_told),
    CASE(foreign_values_are_corrupt),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
