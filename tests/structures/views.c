/* Views: counting, their database, flushing again, loss, refusals. */
#include <stdlib.h>

#include "base/environment.h"
#include "structures/suite.h"

#define MINUTE 60000
#define HOUR (60 * MINUTE)
#define ROWS 4096

/* A database: one row for each page and slot. */
struct database {
    struct row {
        char page[32];
        uint64_t slot;
        int64_t views;
    } rows[ROWS];
    uint32_t count;
    uint32_t loads;
    uint32_t saves;
    bool fails;
    char refused[8]; /* the beginning of the pages that it refuses; "" = none */
    int refusal;     /* that it returns for them */
    uint32_t refusals;
};

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    struct database *database = context;
    database->loads++;
    *views_out = 0;
    for (uint32_t i = 0; i < database->count; i++)
        if (strcmp(database->rows[i].page, page) == 0 && database->rows[i].slot <= upto_slot)
            *views_out += database->rows[i].views;
    return database->fails ? -1 : 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct database *database = context;
    database->saves++;
    if (database->fails)
        return -1;
    if (database->refused[0] != '\0' &&
        strncmp(page, database->refused, strlen(database->refused)) == 0) {
        database->refusals++;
        return database->refusal;
    }
    for (uint32_t i = 0; i < database->count; i++) {
        struct row *row = &database->rows[i];
        if (row->slot == slot && strcmp(row->page, page) == 0) {
            row->views = views > row->views ? views : row->views;
            return 0;
        }
    }
    assert_true(database->count < ROWS);
    struct row *row = &database->rows[database->count++];
    (void)snprintf(row->page, sizeof row->page, "%s", page);
    row->slot = slot;
    row->views = views;
    return 0;
}

static struct database database;

static mcds_views *open_intervals(mcds_store *store, const char *name, uint32_t flush_ms)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    options.flush_ms = flush_ms;
    options.load = load;
    options.save = save;
    options.context = &database;
    CHECK_RESULT(MCDS_OK, mcds_views_open(store, name, &options, &views));
    return views;
}

static mcds_views *open_views(mcds_store *store, const char *name)
{
    return open_intervals(store, name, 0);
}

static mcds_views *begin(struct suite *suite, const char **name_out)
{
    const char *name = fresh_name(suite, "w");
    memset(&database, 0, sizeof database);
    if (name_out != NULL)
        *name_out = name;
    return open_views(suite->store, name);
}

static int64_t total_of(const char *page)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < database.count; i++)
        if (strcmp(database.rows[i].page, page) == 0)
            total += database.rows[i].views;
    return total;
}

#define HIT(suite, views, page, n) CHECK(MCDS_OK, suite, mcds_views_hit, views, page, n)
#define FLUSH(suite, views) CHECK(MCDS_OK, suite, mcds_views_flush, views)
#define VIEWS(expected, suite, views, page)                                                    \
    do {                                                                                       \
        int64_t value = 77;                                                                    \
        CHECK(MCDS_OK, suite, mcds_views_get, views, page, &value);                            \
        assert_int_equal(value, expected);                                                     \
    } while (0)

static void counts_pages_apart(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    VIEWS(0, suite, views, "/");
    HIT(suite, views, "/", 1);
    HIT(suite, views, "/", 4);
    HIT(suite, views, "/a", 2);
    VIEWS(5, suite, views, "/");
    VIEWS(2, suite, views, "/a");
    VIEWS(0, suite, views, "/b");
    mcds_views_close(views);
}

static void begins_with_what_the_database_has(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    assert_int_equal(save(&database, "/", 1, 1000), 0);
    HIT(suite, views, "/", 3);
    VIEWS(1003, suite, views, "/");
    VIEWS(1003, suite, views, "/");
    /* up to when, and in all, for nothing has been flushed; then what is not settled */
    assert_int_equal(database.loads, 3);
    mcds_views_close(views);
}

static void flush_saves_what_has_ended(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    HIT(suite, views, "/", 3);
    HIT(suite, views, "/a", 2);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 0);
    shift_wall_ms(suite, 2 * MINUTE);
    HIT(suite, views, "/", 10);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 3);
    assert_int_equal(total_of("/a"), 2);
    VIEWS(13, suite, views, "/");
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 13);
    VIEWS(13, suite, views, "/");
    mcds_views_close(views);
}

/* Where the store's clock is its own, too: a case may take longer than an interval. */
static void no_interval_ends_by_itself(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    int64_t from_ms = wall_ms(suite);
    HIT(suite, views, "/", 3);
    for (int64_t at_ms = mcds__wall_ms(mcds_env_system());
         mcds__wall_ms(mcds_env_system()) < at_ms + 2;) {
    }
    assert_int_equal(wall_ms(suite), from_ms);
    FLUSH(suite, views);
    assert_int_equal(database.count, 0);
    mcds_views_close(views);
}

/* An interval is saved by the first flush after its end, and what a slower clock adds, later. */
static void an_interval_is_saved_when_it_has_ended(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    shift_wall_ms(suite, MINUTE - wall_ms(suite) % MINUTE);
    HIT(suite, views, "/", 3);
    shift_wall_ms(suite, MINUTE);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 3);
    shift_wall_ms(suite, -1000);
    HIT(suite, views, "/", 2);
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 5);
    VIEWS(5, suite, views, "/");
    mcds_views_close(views);
}

/* A program that ends leaves nothing unsaved, though another continues. */
static void a_final_flush_saves_all(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    mcds_views *other = open_views(suite->other, name);
    HIT(suite, views, "/", 3);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    assert_int_equal(total_of("/"), 3);
    mcds_views_close(views);
    CHECK_OTHER(MCDS_OK, suite, mcds_views_hit, other, "/", 4);
    int64_t value = 77;
    CHECK_OTHER(MCDS_OK, suite, mcds_views_get, other, "/", &value);
    assert_int_equal(value, 7);
    shift_wall_ms(suite, 3 * MINUTE);
    CHECK_OTHER(MCDS_OK, suite, mcds_views_flush, other);
    assert_int_equal(total_of("/"), 7);
    CHECK_OTHER(MCDS_OK, suite, mcds_views_get, other, "/", &value);
    assert_int_equal(value, 7);
    mcds_views_close(other);
}

/* The database may have a part of an interval that is not over, and nobody know of a flush. */
static void a_part_of_an_interval_is_not_taken_for_all(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/", 3);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    HIT(suite, views, "/", 4);
    struct raw_key mark = raw_key(suite, MCDS__TAG_VIEWS_MARK, name, MINUTE);
    assert_int_equal(raw_delete(suite, &mark), MCDS_OUT_OK);
    VIEWS(7, suite, views, "/");
    mcds_views_close(views);
}

static void flushing_twice_changes_nothing(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    mcds_views *other = open_views(suite->other, name);
    HIT(suite, views, "/", 3);
    CHECK_OTHER(MCDS_OK, suite, mcds_views_hit, other, "/", 4);
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    CHECK_OTHER(MCDS_OK, suite, mcds_views_flush, other);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 7);
    VIEWS(7, suite, views, "/");
    mcds_views_close(views);
    mcds_views_close(other);
}

/* A slot's pages are read again twice, for late hits. */
static void what_comes_late_is_saved_too(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/", 3);
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    shift_wall_ms(suite, -2 * MINUTE);
    HIT(suite, views, "/", 5);
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 8);
    mcds_views_close(views);
}

static struct raw_key base_key(struct suite *suite, const char *name, const char *page)
{
    struct raw_key raw = raw_key(suite, MCDS__TAG_VIEWS_BASE, name, -1);
    mcds__key_add_element(&raw.key, page);
    raw.route = raw.key;
    return raw;
}

static void a_lost_base_is_loaded_again(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/", 3);
    shift_wall_ms(suite, 2 * MINUTE);
    HIT(suite, views, "/", 2);
    VIEWS(5, suite, views, "/");
    FLUSH(suite, views);
    struct raw_key base = base_key(suite, name, "/");
    assert_int_equal(raw_delete(suite, &base), MCDS_OUT_OK);
    VIEWS(5, suite, views, "/");
    assert_int_equal(database.loads, 5);
    struct raw_key mark = raw_key(suite, MCDS__TAG_VIEWS_MARK, name, MINUTE);
    assert_int_equal(raw_delete(suite, &mark), MCDS_OUT_OK);
    assert_int_equal(raw_delete(suite, &base), MCDS_OUT_OK);
    VIEWS(5, suite, views, "/");
    FLUSH(suite, views);
    VIEWS(5, suite, views, "/");
    mcds_views_close(views);
}

static struct raw_key count_key(struct suite *suite, const char *name, const char *page)
{
    struct raw_key raw = raw_key(suite, MCDS__TAG_VIEWS, name, MINUTE);
    mcds__key_add_number(&raw.key, (uint64_t)(wall_ms(suite) / MINUTE));
    mcds__key_add_element(&raw.key, page);
    raw.route = raw.key;
    return raw;
}

/* Also with views of a later interval, that are not saved and hide nothing that is lost. */
static void what_was_saved_early_may_be_lost(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    struct raw_key count = count_key(suite, name, "/");
    HIT(suite, views, "/", 3);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    assert_int_equal(raw_delete(suite, &count), MCDS_OUT_OK);
    shift_wall_ms(suite, MINUTE);
    HIT(suite, views, "/", 5);
    VIEWS(8, suite, views, "/");
    HIT(suite, views, "/", 1);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    VIEWS(9, suite, views, "/");
    struct raw_key base = base_key(suite, name, "/");
    assert_int_equal(raw_delete(suite, &base), MCDS_OUT_OK);
    VIEWS(9, suite, views, "/");
    assert_int_equal(total_of("/"), 9);
    mcds_views_close(views);
}

/* The store has lost everything, as memcached that was started again, and the handle is still in use. */
static void what_is_counted_after_a_loss_is_saved(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    mcds_views_options made = MCDS_VIEWS_OPTIONS_INIT;
    HIT(suite, views, "/", 1);
    HIT(suite, views, "/a", 1);
    struct raw_key root = raw_key(suite, MCDS__TAG_VIEWS_PAGES, name, MINUTE);
    raw_add_number(&root, (uint64_t)(wall_ms(suite) / MINUTE));
    const struct raw_key lost[] = {
        raw_first(suite, &root),
        root,
        raw_key(suite, MCDS__TAG_VIEWS, name, -1),
        count_key(suite, name, "/"),
        count_key(suite, name, "/a"),
    };
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        assert_int_equal(raw_delete(suite, &lost[i]), MCDS_OUT_OK);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_views_made_with(suite->store, name, &made));
    HIT(suite, views, "/", 2);
    CHECK_RESULT(MCDS_OK, mcds_views_made_with(suite->store, name, &made));
    HIT(suite, views, "/a", 3);
    HIT(suite, views, "/", 4);
    VIEWS(6, suite, views, "/");
    mcds_views *other = open_views(suite->store, name);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, other);
    assert_int_equal(total_of("/"), 6);
    assert_int_equal(total_of("/a"), 3);
    mcds_views_close(other);
    mcds_views_close(views);
}

/* The number of an interval is there as long as it is asked for, also when it was begun by a machine
 * whose clock is ahead, and the store drops it as early as it may. */
static void an_interval_outlives_its_readers(struct suite *suite)
{
    const int64_t keep_ms = 1440 * INT64_C(1000), ahead_ms = 5000;
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    char page[16];
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    memset(&database, 0, sizeof database);
    options.load = load;
    options.save = save;
    options.context = &database;
    options.flush_ms = 1000;
    CHECK_RESULT(MCDS_OK,
                 mcds_views_open(suite->store, fresh_name(suite, "w"), &options, &views));
    shift_wall_ms(suite, 1000 - wall_ms(suite) % 1000 + ahead_ms);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(page, sizeof page, "%d", i);
        HIT(suite, views, page, 1);
    }
    shift_wall_ms(suite, -ahead_ms);
    pass_ms(suite, keep_ms + ahead_ms - 1000 - wall_ms(suite) % 1000);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++) {
            (void)snprintf(page, sizeof page, "%d", i);
            VIEWS(1, suite, views, page);
        }
        pass_ms(suite, 3900 - wall_ms(suite) % 1000); /* the last in which the bases serve */
    }
    mcds_views_close(views);
}

static void many_pages_are_saved(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    char page[32];
    for (uint32_t i = 0; i < 200; i++) {
        (void)snprintf(page, sizeof page, "/page/%u", i);
        HIT(suite, views, page, i + 1);
    }
    shift_wall_ms(suite, 2 * MINUTE);
    FLUSH(suite, views);
    for (uint32_t i = 0; i < 200; i++) {
        (void)snprintf(page, sizeof page, "/page/%u", i);
        assert_int_equal(total_of(page), i + 1);
    }
    VIEWS(8, suite, views, "/page/7");
    mcds_views_close(views);
}

static void a_failing_database_is_told(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    int64_t value = 77;
    HIT(suite, views, "/", 3);
    database.fails = true;
    CHECK(MCDS_IO, suite, mcds_views_get, views, "/b", &value);
    CHECK_SENTENCE("load callback");
    assert_int_equal(value, 77);
    CHECK(MCDS_IO, suite, mcds_views_get, views, "/b", &value);
    shift_wall_ms(suite, 2 * MINUTE);
    CHECK(MCDS_IO, suite, mcds_views_flush, views);
    CHECK_SENTENCE("save callback");
    database.fails = false;
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 3);
    mcds_views_close(views);
}

static void refuse(const char *pages, int refusal)
{
    (void)snprintf(database.refused, sizeof database.refused, "%s", pages);
    database.refusal = refusal;
    database.refusals = 0;
}

/* In each of three intervals the refused page lies among others. */
static void a_refused_page_hides_no_other(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    char page[32];
    for (uint32_t slot = 0; slot < 3; slot++) {
        HIT(suite, views, "/bad", slot + 1);
        for (uint32_t i = 0; i < 40; i++) {
            (void)snprintf(page, sizeof page, "/%u", i);
            HIT(suite, views, page, 1);
        }
        shift_wall_ms(suite, MINUTE);
    }
    refuse("/bad", 5);
    for (int round = 0; round < 2; round++) {
        database.refusals = 0;
        CHECK(MCDS_IO, suite, mcds_views_flush, views);
        CHECK_SENTENCE("page '/bad' is not saved; correct the cause and flush again; ");
        CHECK_SENTENCE("save callback has failed: it returned 5");
        assert_int_equal(mcds_last_error()->found_number, 5);
        assert_int_equal(database.refusals, 1); /* later intervals of the page wait */
        assert_int_equal(database.count, 3 * 40);
        VIEWS(6, suite, views, "/bad");
        VIEWS(3, suite, views, "/7");
    }
    refuse("", 0);
    FLUSH(suite, views);
    assert_int_equal(database.count, 3 * 41);
    assert_int_equal(total_of("/bad"), 6);
    assert_int_equal(total_of("/7"), 3);
    VIEWS(6, suite, views, "/bad");
    mcds_views_close(views);
}

/* The intervals of a page reach the database in order, and the mark waits for the page. */
static void a_refused_page_waits_in_order(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    for (uint32_t slot = 0; slot < 6; slot++) {
        HIT(suite, views, "/bad", 1);
        HIT(suite, views, "/", 1);
        shift_wall_ms(suite, MINUTE);
        refuse("/bad", -1);
        CHECK(MCDS_IO, suite, mcds_views_flush, views);
        assert_int_equal(total_of("/"), slot + 1);
    }
    refuse("", 0);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    assert_int_equal(total_of("/bad"), 6);
    uint64_t slot = 0;
    for (uint32_t i = 0; i < database.count; i++) {
        if (strcmp(database.rows[i].page, "/bad") != 0)
            continue;
        assert_true(database.rows[i].slot > slot);
        slot = database.rows[i].slot;
    }
    VIEWS(6, suite, views, "/bad");
    mcds_views_close(views);
}

static void many_refused_pages_are_counted(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    char page[32];
    for (uint32_t i = 0; i < 60; i++) {
        (void)snprintf(page, sizeof page, i % 3 == 0 ? "/bad/%u" : "/%u", i);
        HIT(suite, views, page, 1);
    }
    refuse("/bad", -1);
    CHECK(MCDS_IO, suite, mcds_views_flush_final, views);
    CHECK_SENTENCE("page '/bad/");
    CHECK_SENTENCE("' and 19 more are not saved; ");
    assert_int_equal(database.count, 40);
    refuse("", 0);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    assert_int_equal(database.count, 60);
    mcds_views_close(views);
}

static void a_save_may_end_the_flush(struct suite *suite)
{
    mcds_views *views = begin(suite, NULL);
    char page[32];
    for (uint32_t i = 0; i < 60; i++) {
        (void)snprintf(page, sizeof page, "/bad/%u", i);
        HIT(suite, views, page, 1);
    }
    refuse("/bad", MCDS_VIEWS_STOP);
    CHECK(MCDS_IO, suite, mcds_views_flush_final, views);
    CHECK_SENTENCE("is not saved, and the flush ended early; ");
    assert_int_equal(database.refusals, 1);
    refuse("", 0);
    CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
    assert_int_equal(database.count, 60);
    mcds_views_close(views);
}

/* A page of an earlier interval cannot be read. */
static void the_end_of_a_flush_is_its_cause(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/bad", 1);
    struct raw_key count = count_key(suite, name, "/bad");
    assert_int_equal(raw_set(suite, &count, "who wrote this?"), MCDS_OUT_OK);
    shift_wall_ms(suite, MINUTE);
    HIT(suite, views, "/end", 1);
    refuse("/end", MCDS_VIEWS_STOP);
    CHECK(MCDS_IO, suite, mcds_views_flush_final, views);
    CHECK_SENTENCE("page '/bad' and 1 more are not saved, and the flush ended early; ");
    CHECK_SENTENCE("save callback has failed: it returned ");
    assert_true(mcds_last_error()->found_number == MCDS_VIEWS_STOP);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_CALLBACK_FAILED);
    mcds_views_close(views);
}

/* Something that mcds did not write is in the place of a page's views. */
static void a_foreign_count_hides_no_other(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/", 3);
    HIT(suite, views, "/bad", 1);
    HIT(suite, views, "/a", 2);
    struct raw_key count = count_key(suite, name, "/bad");
    assert_int_equal(raw_set(suite, &count, "who wrote this?"), MCDS_OUT_OK);
    shift_wall_ms(suite, MINUTE);
    HIT(suite, views, "/", 4);
    shift_wall_ms(suite, MINUTE);
    CHECK(MCDS_CORRUPT, suite, mcds_views_flush, views);
    CHECK_SENTENCE("page '/bad' is not saved; ");
    assert_int_equal(total_of("/"), 7);
    assert_int_equal(total_of("/a"), 2);
    mcds_views_close(views);
}

/* The list of the pages of an interval is gone; there are intervals before it and after it. */
static void a_lost_list_hides_no_other(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    HIT(suite, views, "/", 1);
    shift_wall_ms(suite, MINUTE);
    struct raw_key root = raw_key(suite, MCDS__TAG_VIEWS_PAGES, name, MINUTE);
    raw_add_number(&root, (uint64_t)(wall_ms(suite) / MINUTE));
    HIT(suite, views, "/lost", 1);
    shift_wall_ms(suite, MINUTE);
    HIT(suite, views, "/", 2);
    shift_wall_ms(suite, MINUTE);
    struct raw_key list = raw_first(suite, &root);
    assert_int_equal(raw_delete(suite, &list), MCDS_OUT_OK);
    for (int round = 0; round < 2; round++) {
        CHECK(MCDS_LOST, suite, mcds_views_flush, views);
        CHECK_SENTENCE("a part of it is gone");
        assert_int_equal(total_of("/"), 3);
    }
    mcds_views_close(views);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin(suite, &name);
    int64_t value = 77;
    struct raw_key base = base_key(suite, name, "/");
    assert_int_equal(raw_set(suite, &base, "who wrote this?"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_views_get, views, "/", &value);
    mcds_views_close(views);
}

/* Intervals of an hour: a drop reads each interval of a day. */
static mcds_views *begin_hours(struct suite *suite, const char **name_out)
{
    *name_out = fresh_name(suite, "w");
    memset(&database, 0, sizeof database);
    return open_intervals(suite->store, *name_out, HOUR);
}

static void a_drop_erases_what_the_store_holds(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin_hours(suite, &name);
    CHECK(MCDS_NOT_FOUND, suite, mcds_views_drop, views);
    HIT(suite, views, "/", 3);
    HIT(suite, views, "/a", 2);
    shift_wall_ms(suite, 5 * HOUR);
    HIT(suite, views, "/", 4);
    VIEWS(7, suite, views, "/");
    CHECK(MCDS_OK, suite, mcds_views_drop, views);
    VIEWS(0, suite, views, "/");
    VIEWS(0, suite, views, "/a");
    mcds_views *other = open_intervals(suite->store, name, HOUR);
    VIEWS(0, suite, other, "/");
    FLUSH(suite, other);
    assert_int_equal(total_of("/") + total_of("/a"), 0);
    mcds_views_close(other);
    mcds_views_close(views);
}

/* The sum of its saved views is in the store when they are dropped. */
static void a_drop_leaves_the_database(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin_hours(suite, &name);
    HIT(suite, views, "/", 3);
    shift_wall_ms(suite, 5 * HOUR);
    FLUSH(suite, views);
    VIEWS(3, suite, views, "/");
    database.rows[0].views = 2;
    CHECK(MCDS_OK, suite, mcds_views_drop, views);
    VIEWS(2, suite, views, "/");
    mcds_views_close(views);
}

/* A handle enters each page once in an interval. */
static void views_after_a_drop_are_saved(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin_hours(suite, &name);
    mcds_views *other = open_intervals(suite->store, name, HOUR);
    HIT(suite, other, "/", 3);
    CHECK(MCDS_OK, suite, mcds_views_drop, views);
    HIT(suite, other, "/", 2);
    VIEWS(2, suite, other, "/");
    shift_wall_ms(suite, 2 * HOUR);
    FLUSH(suite, views);
    assert_int_equal(total_of("/"), 2);
    mcds_views_close(other);
    mcds_views_close(views);
}

static void dropped_views_may_have_another_interval(struct suite *suite)
{
    const char *name;
    mcds_views *views = begin_hours(suite, &name);
    mcds_views *slower = open_intervals(suite->store, name, 2 * HOUR);
    HIT(suite, views, "/", 3);
    CHECK(MCDS_INVALID, suite, mcds_views_drop, slower);
    VIEWS(3, suite, views, "/");
    CHECK(MCDS_OK, suite, mcds_views_drop, views);
    HIT(suite, slower, "/", 2);
    VIEWS(2, suite, slower, "/");
    mcds_views_close(slower);
    mcds_views_close(views);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    static char large[1026];
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    int64_t value;
    memset(large, 'x', sizeof large - 1);
    CHECK_RESULT(MCDS_INVALID, mcds_views_open(suite->store, "w", NULL, &views));
    CHECK_RESULT(MCDS_INVALID, mcds_views_open(suite->store, "w", &options, &views));
    CHECK_SENTENCE("load");
    options.load = load;
    options.save = save;
    options.flush_ms = 10;
    CHECK_RESULT(MCDS_INVALID, mcds_views_open(suite->store, "w", &options, &views));
    assert_null(views);
    views = begin(suite, NULL);
    CHECK(MCDS_INVALID, suite, mcds_views_hit, NULL, "/", 1);
    CHECK(MCDS_INVALID, suite, mcds_views_hit, views, "", 1);
    CHECK(MCDS_INVALID, suite, mcds_views_hit, views, large, 1);
    CHECK_SENTENCE("1024");
    CHECK(MCDS_INVALID, suite, mcds_views_get, views, "/", NULL);
    CHECK(MCDS_INVALID, suite, mcds_views_get, views, NULL, &value);
    CHECK_RESULT(MCDS_INVALID, mcds_views_flush(NULL));
    CHECK_RESULT(MCDS_INVALID, mcds_views_drop(NULL));
    mcds_views_close(views);
    mcds_views_close(NULL);
}

/* Only a count makes views: a read of a wrong name leaves nothing, and chooses no interval. */
static void a_get_makes_nothing(struct suite *suite)
{
    const char *name = NULL;
    int64_t value = 77;
    mcds_views *views = begin(suite, &name);
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_views_drop(views));
    for (int i = 0; i < 2; i++) {
        CHECK_RESULT(MCDS_OK, mcds_views_get(views, "p", &value));
        assert_int_equal(value, 0);
    }
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_views_made_with(suite->store, name, &options));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_views_drop(views));
    mcds_views *others = open_intervals(suite->store, name, HOUR);
    CHECK_RESULT(MCDS_OK, mcds_views_hit(others, "p", 3));
    CHECK_RESULT(MCDS_OK, mcds_views_get(others, "p", &value));
    assert_int_equal(value, 3);
    CHECK_RESULT(MCDS_INVALID, mcds_views_get(views, "p", &value));
    mcds_views_close(views);
    mcds_views_close(others);
}

static const struct suite_case cases[] = {
    CASE(counts_pages_apart),
    CASE(a_get_makes_nothing),
    CASE(begins_with_what_the_database_has),
    CASE(flush_saves_what_has_ended),
    CASE(no_interval_ends_by_itself),
    CASE(flushing_twice_changes_nothing),
    CASE(what_comes_late_is_saved_too),
    CASE(a_lost_base_is_loaded_again),
    CASE(an_interval_is_saved_when_it_has_ended),
    CASE(a_final_flush_saves_all),
    CASE(what_was_saved_early_may_be_lost),
    CASE(what_is_counted_after_a_loss_is_saved),
    CASE(a_part_of_an_interval_is_not_taken_for_all),
    CASE(an_interval_outlives_its_readers),
    CASE(many_pages_are_saved),
    CASE(a_failing_database_is_told),
    CASE(a_refused_page_hides_no_other),
    CASE(a_refused_page_waits_in_order),
    CASE(many_refused_pages_are_counted),
    CASE(a_save_may_end_the_flush),
    CASE(the_end_of_a_flush_is_its_cause),
    CASE(a_foreign_count_hides_no_other),
    CASE(a_lost_list_hides_no_other),
    CASE(foreign_values_are_corrupt),
    CASE(a_drop_erases_what_the_store_holds),
    CASE(a_drop_leaves_the_database),
    CASE(views_after_a_drop_are_saved),
    CASE(dropped_views_may_have_another_interval),
    CASE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
