/* Keys of maps that many handles have changed: what machines get whose clocks are weeks or years slow,
 * and what a handle gets of a key that nobody has changed for weeks. */
#include "structures/suite.h"

#define DAY_MS (INT64_C(86400) * 1000)
#define MONTH_MS (30 * DAY_MS)
/* More handles than a key remembers for ever, and more changes than a key takes unrewritten; too few
 * elements for a split. */
#define HANDLES 240
#define ELEMENTS 8

/* Days from the last change of the others. The client flags of a key repeat after 48.5 days. */
static const int64_t later_days[] = {1, 23, 25, 40, 49, 60, 75, 98, 400};
static const int64_t slow_days[] = {1, 23, 25, 30, 40, 47, 48, 49, 55, 75, 96, 98, 400, 19000};

struct pair {
    const char *set_name;
    const char *table_name;
    mcds_set *set;
    mcds_table *table;
};

static void open_pair(mcds_store *store, struct pair *pair)
{
    int result = mcds_set_open(store, pair->set_name, NULL, &pair->set);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_table_open(store, pair->table_name, NULL, &pair->table));
}

static void close_pair(struct pair *pair)
{
    mcds_set_close(pair->set);
    mcds_table_close(pair->table);
}

/* So many handles change each key that it is rewritten. */
static void change_by_many(struct suite *suite, struct pair *pair)
{
    char element[32];
    for (int i = 0; i < HANDLES; i++) {
        open_pair(suite->other, pair);
        (void)snprintf(element, sizeof element, "%020d", i % ELEMENTS);
        CHECK_RESULT(MCDS_OK, mcds_set_add(pair->set, mcds_text(element), NULL));
        CHECK_RESULT(MCDS_OK,
                     mcds_table_put(pair->table, mcds_text(element), mcds_text("v"), 0));
        close_pair(pair);
    }
}

/* A set and a table. */
static void fill(struct suite *suite, struct pair *pair)
{
    *pair = (struct pair){.set_name = fresh_name(suite, "set"),
                          .table_name = fresh_name(suite, "table")};
    change_by_many(suite, pair);
}

static void a_key_at_rest_takes_changes(struct suite *suite)
{
    char element[32];
    struct pair pair;
    mcds_value value = MCDS_VALUE_INIT;
    int64_t shifted = 0;
    bool changed = false;
    fill(suite, &pair);
    for (size_t i = 0; i < sizeof later_days / sizeof later_days[0]; i++) {
        shift_wall_ms(suite, later_days[i] * DAY_MS - shifted);
        shifted = later_days[i] * DAY_MS;
        open_pair(suite->store, &pair);
        for (int again = 0; again < 2; again++) {
            (void)snprintf(element, sizeof element, "%zu and %d", i, again);
            CHECK(MCDS_OK, suite, mcds_set_add, pair.set, mcds_text(element), NULL);
            CHECK(MCDS_OK, suite, mcds_set_has, pair.set, mcds_text(element));
            CHECK(MCDS_OK, suite, mcds_set_remove, pair.set, mcds_text(element), &changed);
            assert_true(changed);
            CHECK(MCDS_OK, suite, mcds_table_put, pair.table, mcds_text(element),
                  mcds_text("v"), 0);
            CHECK(MCDS_OK, suite, mcds_table_get, pair.table, mcds_text(element), &value);
            CHECK(MCDS_OK, suite, mcds_table_remove, pair.table, mcds_text(element), NULL);
        }
        close_pair(&pair);
    }
    shift_wall_ms(suite, -shifted);
    mcds_value_free(&value);
}

/* What is refused is not there, and nothing else is said. */
static void check_refused(struct suite *suite, struct pair *pair, const char *element)
{
    mcds_value value = MCDS_VALUE_INIT;
    bool changed;
    CHECK(MCDS_IO, suite, mcds_set_add, pair->set, mcds_text(element), NULL);
    CHECK_SENTENCE("clock");
    CHECK(MCDS_IO, suite, mcds_set_add, pair->set, mcds_text(element), &changed);
    CHECK_SENTENCE("clock");
    CHECK(MCDS_NOT_FOUND, suite, mcds_set_has, pair->set, mcds_text(element));
    CHECK(MCDS_IO, suite, mcds_table_put, pair->table, mcds_text(element), mcds_text("v"), 0);
    CHECK_SENTENCE("clock");
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_get, pair->table, mcds_text(element), &value);
    mcds_value_free(&value);
}

static void a_slow_clock_is_refused(struct suite *suite)
{
    char element[32];
    struct pair pair;
    fill(suite, &pair);
    for (size_t i = 0; i < sizeof slow_days / sizeof slow_days[0]; i++) {
        shift_wall_ms(suite, -slow_days[i] * DAY_MS);
        open_pair(suite->store, &pair);
        (void)snprintf(element, sizeof element, "slow by %d days", (int)slow_days[i]);
        check_refused(suite, &pair, element);
        check_refused(suite, &pair, element);
        close_pair(&pair);
        shift_wall_ms(suite, slow_days[i] * DAY_MS);
    }
}

/* A handle that knows the floors of its keys sees its own clock set back. */
static void a_clock_that_is_set_back_is_refused(struct suite *suite)
{
    struct pair pair;
    fill(suite, &pair);
    open_pair(suite->store, &pair);
    CHECK(MCDS_OK, suite, mcds_set_add, pair.set, mcds_text("before"), NULL);
    CHECK(MCDS_OK, suite, mcds_table_put, pair.table, mcds_text("before"), mcds_text("v"), 0);
    for (size_t i = 0; i < sizeof slow_days / sizeof slow_days[0]; i++) {
        shift_wall_ms(suite, -slow_days[i] * DAY_MS);
        check_refused(suite, &pair, "after");
        shift_wall_ms(suite, slow_days[i] * DAY_MS);
    }
    CHECK(MCDS_OK, suite, mcds_set_add, pair.set, mcds_text("corrected"), NULL);
    CHECK(MCDS_OK, suite, mcds_table_put, pair.table, mcds_text("corrected"), mcds_text("v"),
          0);
    close_pair(&pair);
}

/* The handle knows a floor that is a month older. */
static void a_floor_that_rose_by_a_month_is_read(struct suite *suite)
{
    struct pair pair;
    fill(suite, &pair);
    open_pair(suite->store, &pair);
    CHECK(MCDS_OK, suite, mcds_set_add, pair.set, mcds_text("before"), NULL);
    CHECK(MCDS_OK, suite, mcds_table_put, pair.table, mcds_text("before"), mcds_text("v"), 0);
    struct pair others = pair;
    shift_wall_ms(suite, MONTH_MS);
    for (int i = 0; i < 4; i++) /* the floor follows the median */
        change_by_many(suite, &others);
    shift_wall_ms(suite, -MONTH_MS);
    check_refused(suite, &pair, "a month ago");
    shift_wall_ms(suite, MONTH_MS);
    CHECK(MCDS_OK, suite, mcds_set_add, pair.set, mcds_text("now"), NULL);
    CHECK(MCDS_OK, suite, mcds_table_put, pair.table, mcds_text("now"), mcds_text("v"), 0);
    shift_wall_ms(suite, -MONTH_MS);
    close_pair(&pair);
}

static const struct suite_case cases[] = {
    CASE_TWICE(a_key_at_rest_takes_changes),
    CASE_TWICE(a_slow_clock_is_refused),
    CASE_TWICE(a_clock_that_is_set_back_is_refused),
    CASE_TWICE(a_floor_that_rose_by_a_month_is_read),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
