/* Machines whose clocks differ by an hour: what a reader with a right clock gets of a writer that is
 * ahead. The machine of `store` is ahead, the one of `other` is right. */
#include "structures/suite.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define DELAY_MS 1000
#define VISIBLE_MS 10000
#define RUN_MS 5000
#define MINUTE_MS 60000
/* After so much time, a worker reads each part again. */
#define LOOK_MS 5000
#define FILL_MS 10000
/* Such a job fills a part. */
#define LARGE 8192

static const mcds_bytes none = {NULL, 0};

/* The clock of both, until come_back: the next calls are those of the machine that is ahead. */
static void go_ahead(struct suite *suite)
{
    shift_wall_ms(suite, HOUR_MS);
}

static void come_back(struct suite *suite)
{
    shift_wall_ms(suite, -HOUR_MS);
}

/* One queue, as both machines see it. */
struct pair {
    mcds_queue *ahead;
    mcds_queue *right;
    mcds_job job;
    mcds_job other;
    mcds_value value;
};

static void open_pair(struct suite *suite, struct pair *pair)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    *pair = (struct pair){
        .job = MCDS_JOB_INIT, .other = MCDS_JOB_INIT, .value = MCDS_VALUE_INIT};
    options.visible_ms = VISIBLE_MS;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    int result = mcds_queue_open(suite->store, name, &options, &pair->ahead);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_queue_open(suite->other, name, &options, &pair->right));
}

static void close_pair(struct pair *pair)
{
    mcds_queue_close(pair->ahead);
    mcds_queue_close(pair->right);
    mcds_value_free(&pair->value);
}

static void push_ahead(struct suite *suite, struct pair *pair, const char *job,
                       uint64_t delay_ms)
{
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair->ahead, mcds_text(job), delay_ms);
    come_back(suite);
}

static int take_right(struct suite *suite, struct pair *pair)
{
    return CALL_IN(suite, suite->other_pipeline, mcds_queue_next, pair->right, 0, &pair->other,
                   &pair->value);
}

static void check_right(struct suite *suite, struct pair *pair, const char *expected)
{
    CHECK_RESULT(MCDS_OK, take_right(suite, pair));
    assert_int_equal(pair->value.length, strlen(expected));
    assert_memory_equal(pair->value.data, expected, strlen(expected));
}

static void check_counts(struct suite *suite, struct pair *pair, uint64_t waiting,
                         uint64_t delayed, uint64_t claimed)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_count, pair->right, &counts);
    assert_int_equal(counts.waiting, waiting);
    assert_int_equal(counts.delayed, delayed);
    assert_int_equal(counts.claimed, claimed);
}

/* The time of the only job. */
static bool see_time(void *context, const mcds_queue_entry *entry)
{
    *(uint64_t *)context = entry->ms;
    return true;
}

static void a_job_without_delay_is_due_at_once(struct suite *suite)
{
    struct pair pair;
    const mcds_bytes jobs[] = {mcds_text("b"), mcds_text("c")};
    open_pair(suite, &pair);
    push_ahead(suite, &pair, "a", 0);
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_queue_push_many, pair.ahead, jobs, 2, 0, NULL);
    come_back(suite);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_push, pair.right, mcds_text("d"), 0);
    check_counts(suite, &pair, 4, 0, 0);
    check_right(suite, &pair, "a");
    check_right(suite, &pair, "b");
    check_right(suite, &pair, "c");
    come_back(suite); /* an hour slow */
    check_right(suite, &pair, "d");
    go_ahead(suite);
    CHECK_RESULT(MCDS_NOT_FOUND, take_right(suite, &pair));
    check_counts(suite, &pair, 0, 0, 0);
    close_pair(&pair);
}

/* A worker that is ahead gives a job back. */
static void a_job_given_back_is_due_at_once(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair);
    for (uint64_t delay_ms = 0; delay_ms <= DELAY_MS; delay_ms += DELAY_MS) {
        push_ahead(suite, &pair, "a", 0);
        go_ahead(suite);
        CHECK(MCDS_OK, suite, mcds_queue_next, pair.ahead, 0, &pair.job, &pair.value);
        CHECK(MCDS_OK, suite, mcds_queue_again, pair.ahead, &pair.job, delay_ms);
        come_back(suite);
        if (delay_ms > 0)
            CHECK_RESULT(MCDS_NOT_FOUND, take_right(suite, &pair));
        shift_wall_ms(suite, delay_ms > 0 ? HOUR_MS + DELAY_MS : 0);
        check_right(suite, &pair, "a");
        assert_int_equal(pair.other.tries, 2);
        CHECK_OTHER(MCDS_OK, suite, mcds_queue_done, pair.right, &pair.other);
    }
    shift_wall_ms(suite, -HOUR_MS - DELAY_MS);
    close_pair(&pair);
}

/* The delay counts by the clock of the machine that pushes. */
static void a_delay_is_of_the_clock_of_its_push(struct suite *suite)
{
    struct pair pair;
    uint64_t left_ms = 0;
    open_pair(suite, &pair);
    push_ahead(suite, &pair, "a", DELAY_MS);
    push_ahead(suite, &pair, "b", 0);
    check_counts(suite, &pair, 1, 1, 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_scan, pair.right, 1, see_time, &left_ms);
    assert_int_equal(left_ms, HOUR_MS + DELAY_MS);
    check_right(suite, &pair, "b");
    CHECK_RESULT(MCDS_NOT_FOUND, take_right(suite, &pair));
    shift_wall_ms(suite, HOUR_MS + DELAY_MS - 1);
    CHECK_RESULT(MCDS_NOT_FOUND, take_right(suite, &pair));
    shift_wall_ms(suite, 1);
    check_right(suite, &pair, "a");
    shift_wall_ms(suite, -HOUR_MS - DELAY_MS);
    close_pair(&pair);
}

/* So does the claim by that of the worker, which dies here. */
static void a_claim_is_of_the_clock_of_its_worker(struct suite *suite)
{
    struct pair pair;
    open_pair(suite, &pair);
    push_ahead(suite, &pair, "a", 0);
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_queue_next, pair.ahead, 0, &pair.job, &pair.value);
    come_back(suite);
    check_counts(suite, &pair, 0, 0, 1);
    shift_wall_ms(suite, HOUR_MS + VISIBLE_MS - 1);
    CHECK_RESULT(MCDS_NOT_FOUND, take_right(suite, &pair));
    shift_wall_ms(suite, 1);
    check_right(suite, &pair, "a");
    shift_wall_ms(suite, -HOUR_MS - VISIBLE_MS);
    close_pair(&pair);
}

/* A worker has found a closed part without a job that was due. Then its clock is corrected. */
static void a_clock_set_back_delays_no_read(struct suite *suite)
{
    static const char large[LARGE];
    struct pair pair;
    open_pair(suite, &pair);
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_queue_push, pair.ahead, ((mcds_bytes){large, sizeof large}), 0);
    CHECK_RESULT(MCDS_OK, take_right(suite, &pair));
    CHECK(MCDS_NOT_FOUND, suite, mcds_queue_next, pair.ahead, 0, &pair.job, &pair.value);
    come_back(suite);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_again, pair.right, &pair.other, 0);
    suite->skips_sleep = true;
    pass_ms(suite, LOOK_MS + 1);
    suite->skips_sleep = false;
    CHECK(MCDS_OK, suite, mcds_queue_next, pair.ahead, 0, &pair.job, &pair.value);
    assert_int_equal(pair.value.length, sizeof large);
    close_pair(&pair);
}

/* A source that is counted, or that fails. */
struct source {
    bool fails;
    uint32_t reads;
};

static int read_source(void *context, mcds_bytes key, mcds_fill *fill)
{
    struct source *source = context;
    (void)key;
    source->reads++;
    return source->fails ? MCDS_IO : mcds_fill_add(fill, mcds_text("value"));
}

struct caches {
    mcds_cache *ahead;
    mcds_cache *right;
    mcds_value value;
    mcds_cache_state state;
};

static void open_caches(struct suite *suite, struct caches *caches)
{
    const char *name = fresh_name(suite, "cache");
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    *caches = (struct caches){.value = MCDS_VALUE_INIT};
    options.ttl_ms = MINUTE_MS;
    options.failed_ms = DELAY_MS;
    int result = mcds_cache_open(suite->store, name, &options, &caches->ahead);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_cache_open(suite->other, name, &options, &caches->right));
}

static void close_caches(struct caches *caches)
{
    mcds_cache_close(caches->ahead);
    mcds_cache_close(caches->right);
    mcds_value_free(&caches->value);
}

static void fetch_right(struct suite *suite, struct caches *caches, struct source *source)
{
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_fetch, caches->right, mcds_text("k"), NULL, 0,
                read_source, source, &caches->value, &caches->state);
}

/* For the reader it is fresh for longer than its time, but not longer than the store keeps it. */
static void a_value_is_fresh_until_the_store_forgets_it(struct suite *suite)
{
    struct caches caches;
    struct source source = {.reads = 0};
    open_caches(suite, &caches);
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_cache_fetch, caches.ahead, mcds_text("k"), NULL, 0, read_source,
          &source, &caches.value, &caches.state);
    come_back(suite);
    shift_wall_ms(suite, 2 * MINUTE_MS);
    fetch_right(suite, &caches, &source);
    assert_int_equal(source.reads, 1);
    assert_int_equal(caches.state, MCDS_CACHE_FRESH);
    shift_wall_ms(suite, -2 * MINUTE_MS);
    if (!suite->own_clock) {
        pass_ms(suite, MINUTE_MS + FILL_MS + LOOK_MS + suite->can.ttl_early_ms + 1000);
        fetch_right(suite, &caches, &source);
        assert_int_equal(source.reads, 2);
    }
    close_caches(&caches);
}

/* A failure from so far ahead keeps no reader from the source. */
static void a_failure_is_of_the_clock_of_its_caller(struct suite *suite)
{
    struct caches caches;
    struct source source = {.fails = true};
    open_caches(suite, &caches);
    go_ahead(suite);
    CHECK(MCDS_IO, suite, mcds_cache_fetch, caches.ahead, mcds_text("k"), NULL, 0, read_source,
          &source, &caches.value, &caches.state);
    CHECK(MCDS_IO, suite, mcds_cache_fetch, caches.ahead, mcds_text("k"), NULL, 0, read_source,
          &source, &caches.value, &caches.state);
    assert_int_equal(source.reads, 1);
    come_back(suite);
    source.fails = false;
    fetch_right(suite, &caches, &source);
    assert_int_equal(source.reads, 2);
    close_caches(&caches);
}

static mcds_once *open_strict(mcds_store *store, const char *name)
{
    mcds_once_options options = MCDS_ONCE_OPTIONS_INIT;
    mcds_once *once = NULL;
    options.run_ms = RUN_MS;
    options.flags = MCDS_ONCE_STRICT;
    int result = mcds_once_open(store, name, &options, &once);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return once;
}

/* When strict work is taken for lost is decided by the clock of the caller that began it. */
static void strict_work_vanishes_by_its_own_clock(struct suite *suite)
{
    const char *name = fresh_name(suite, "once");
    mcds_once *ahead = open_strict(suite->store, name);
    mcds_once *right = open_strict(suite->other, name);
    mcds_once_run run = MCDS_ONCE_RUN_INIT, rival = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int32_t code = 0;
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_once_begin, ahead, mcds_text("k"), none, 0, &run, &value, &code);
    come_back(suite);
    shift_wall_ms(suite, HOUR_MS);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_once_begin, right, mcds_text("k"), none, 0, &rival,
                &value, &code);
    shift_wall_ms(suite, RUN_MS + 1);
    CHECK_OTHER(MCDS_LOST, suite, mcds_once_begin, right, mcds_text("k"), none, 0, &rival,
                &value, &code);
    shift_wall_ms(suite, -HOUR_MS - RUN_MS - 1);
    mcds_value_free(&value);
    mcds_once_close(ahead);
    mcds_once_close(right);
}

/* A visitor that a machine has counted an hour ahead counts for the others only then. */
static void a_beat_from_ahead_refuses_those_of_others(struct suite *suite)
{
    const char *name = fresh_name(suite, "online");
    mcds_online_value value = {.size = sizeof(mcds_online_value)};
    mcds_online *ahead = NULL, *right = NULL;
    CHECK_RESULT(MCDS_OK, mcds_online_open(suite->store, name, NULL, &ahead));
    CHECK_RESULT(MCDS_OK, mcds_online_open(suite->other, name, NULL, &right));
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_online_beat, ahead, "ann", 0);
    come_back(suite);
    CHECK_OTHER(MCDS_TOO_OLD, suite, mcds_online_beat, right, "ann", 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, right, "bob", 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_get, right, 0, &value);
    assert_int_equal(value.closed + value.current, 1);
    mcds_online_close(ahead);
    mcds_online_close(right);
}

static void a_visitor_counts_in_the_period_of_each_clock(struct suite *suite)
{
    const char *name = fresh_name(suite, "visitors");
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value)};
    mcds_visitors *ahead = NULL, *right = NULL;
    options.period_ms = HOUR_MS;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(suite->store, name, &options, &ahead));
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(suite->other, name, &options, &right));
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, ahead, "ann", 0);
    come_back(suite);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, right, 0, &value);
    assert_int_equal(value.current, 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, right, "ann", 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, right, 0, &value);
    assert_int_equal(value.current, 1);
    mcds_visitors_close(ahead);
    mcds_visitors_close(right);
}

static void an_entry_expires_by_both_clocks(struct suite *suite)
{
    const char *name = fresh_name(suite, "table");
    mcds_table *ahead = NULL, *right = NULL;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_table_open(suite->store, name, NULL, &ahead);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_table_open(suite->other, name, NULL, &right));
    go_ahead(suite);
    CHECK(MCDS_OK, suite, mcds_table_put, ahead, mcds_text("k"), mcds_text("v"), DELAY_MS);
    come_back(suite);
    shift_wall_ms(suite, HOUR_MS + DELAY_MS - 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_table_get, right, mcds_text("k"), &value);
    shift_wall_ms(suite, 1);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_table_get, right, mcds_text("k"), &value);
    shift_wall_ms(suite, -HOUR_MS - DELAY_MS);
    mcds_value_free(&value);
    mcds_table_close(ahead);
    mcds_table_close(right);
}

static const struct suite_case cases[] = {
    CASE(a_job_without_delay_is_due_at_once),
    CASE(a_job_given_back_is_due_at_once),
    CASE(a_delay_is_of_the_clock_of_its_push),
    CASE(a_claim_is_of_the_clock_of_its_worker),
    CASE_ONCE(a_clock_set_back_delays_no_read),
    CASE_ONCE(a_value_is_fresh_until_the_store_forgets_it),
    CASE_ONCE(a_failure_is_of_the_clock_of_its_caller),
    CASE_ONCE(strict_work_vanishes_by_its_own_clock),
    CASE_ONCE(a_beat_from_ahead_refuses_those_of_others),
    CASE_ONCE(a_visitor_counts_in_the_period_of_each_clock),
    CASE_ONCE(an_entry_expires_by_both_clocks),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
