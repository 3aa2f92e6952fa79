/* Pipelines: depth, order, polling, sleepers, closing in flight, what is refused. */
#include "base/environment.h"
#include "structures/suite.h"

#define OPERATIONS_MAX 1000

static mcds_pipeline *open_pipeline(mcds_store *store, uint32_t depth)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_pipeline *pipeline = NULL;
    options.depth = depth;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(store, &options, &pipeline));
    assert_true(mcds_pipeline_is_idle(pipeline));
    return pipeline;
}

static mcds_counter *open_counter(struct suite *suite, const char *word)
{
    mcds_counter *counter = NULL;
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(suite->store, fresh_name(suite, word), NULL, &counter));
    return counter;
}

static int64_t value_of(mcds_counter *counter)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_get(counter, &value));
    return value.value;
}

/* Add `count` times one and take every tag back exactly once. */
static void add_through(struct suite *suite, uint32_t depth, uint32_t count)
{
    static bool seen[OPERATIONS_MAX];
    static int64_t values[OPERATIONS_MAX];
    mcds_counter *counter = open_counter(suite, "n");
    mcds_pipeline *pipeline = open_pipeline(suite->store, depth);
    mcds_completion done;
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < count; i++)
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, &values[i], pipeline, i));
    assert_false(mcds_pipeline_is_idle(pipeline));
    for (uint32_t i = 0; i < count; i++) {
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
        assert_true(done.tag < count && !seen[done.tag]);
        seen[done.tag] = true;
    }
    CHECK_RESULT(MCDS_IDLE, mcds_pipeline_next(pipeline, &done));
    assert_true(mcds_pipeline_is_idle(pipeline));
    assert_int_equal(value_of(counter), count);
    /* Each add has seen another value. */
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(values[i], 1, count);
        assert_false(seen[values[i] - 1]);
        seen[values[i] - 1] = true;
    }
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

static void every_tag_comes_back_once(struct suite *suite)
{
    add_through(suite, 1, 3);
    add_through(suite, 1, 100);
    add_through(suite, 2, 100);
    add_through(suite, 128, 1);
    add_through(suite, 128, 128);
    add_through(suite, 128, OPERATIONS_MAX);
    add_through(suite, 0, OPERATIONS_MAX);
    add_through(suite, 65536, OPERATIONS_MAX);
}

/* Some are taken between, so that the ring of the finished goes round. */
static void completions_are_taken_between(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite, "n");
    mcds_pipeline *pipeline = open_pipeline(suite->store, 7);
    mcds_completion done;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 500; i++) {
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, i));
        for (uint32_t n = 0; n < i % 3; n++)
            if (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
                taken++;
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        taken++;
    assert_int_equal(taken, 500);
    assert_int_equal(value_of(counter), 500);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

/* A loop that does not wait for the pipeline hears of a start once, until it has prepared to wait. */
static void a_start_tells_the_loop_once(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite, "told");
    mcds_pipeline *pipeline = open_pipeline(suite->store, 0);
    mcds_completion done;
    int calls = 0;
    mcds_pipeline_on_start(NULL, count_call, &calls);
    CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
    mcds_pipeline_on_start(pipeline, count_call, &calls);
    assert_int_equal(calls, 0);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 4; i++)
            CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
        assert_int_equal(calls, round);
        mcds_pipeline_prepare(pipeline, NULL);
        assert_int_equal(calls, round);
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        continue;
    CHECK_RESULT(MCDS_INVALID, mcds_counter_add_start(NULL, 1, NULL, pipeline, 1));
    CHECK_RESULT(MCDS_IDLE, mcds_pipeline_poll(pipeline, &done));
    assert_int_equal(calls, 3);
    CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
    assert_int_equal(calls, 4);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
    mcds_pipeline_prepare(pipeline, NULL);
    mcds_pipeline_on_start(pipeline, NULL, NULL);
    CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
    assert_int_equal(calls, 4);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

static void polling_does_not_wait(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite, "n");
    mcds_pipeline *pipeline = open_pipeline(suite->store, 0);
    mcds_completion done = {77, 77};
    CHECK_RESULT(MCDS_IDLE, mcds_pipeline_poll(pipeline, &done));
    assert_true(mcds_pipeline_wake_ns(pipeline) == INT64_MAX);
    CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
    CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 2));
    /* There is something to send, so poll should be called at once. */
    assert_true(mcds_pipeline_wake_ns(pipeline) <= mcds__monotonic_ns(&suite->fake.env));
    assert_int_equal(done.tag, 77);
    uint64_t tags = 0;
    for (uint32_t rounds = 0; tags != 3; rounds++) {
        int result = mcds_pipeline_poll(pipeline, &done);
        assert_true(result == MCDS_OK || result == MCDS_PENDING);
        if (result == MCDS_OK)
            tags += done.tag;
        else
            mcds__sleep_until_ns(mcds_env_system(),
                                 mcds__monotonic_ns(mcds_env_system()) + NS_PER_MS);
        assert_true(rounds < 10000);
    }
    CHECK_RESULT(MCDS_IDLE, mcds_pipeline_poll(pipeline, &done));
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

/* A failed operation among good ones: its own result, and its sentence with the completion. */
static void each_has_its_own_result(struct suite *suite)
{
    const char *name = fresh_name(suite, "words");
    struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    mcds_counter *bad = NULL;
    mcds_counter *good = open_counter(suite, "n");
    mcds_counter *none = open_counter(suite, "none");
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_completion done;
    assert_int_equal(raw_set(suite, &key, "words"), MCDS_OUT_OK);
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, name, NULL, &bad));
    mcds_pipeline *pipeline = open_pipeline(suite->store, 0);
    for (uint64_t i = 0; i < 30; i += 3) {
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(good, 1, NULL, pipeline, i));
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(bad, 1, NULL, pipeline, i + 1));
        CHECK_RESULT(MCDS_OK, mcds_counter_get_start(none, &value, pipeline, i + 2));
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
        static const int expected[] = {MCDS_OK, MCDS_CORRUPT, MCDS_NOT_FOUND};
        CHECK_RESULT(expected[done.tag % 3], done.result);
        if (done.result == MCDS_CORRUPT)
            CHECK_SENTENCE(name);
    }
    assert_int_equal(value_of(good), 10);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(bad);
    mcds_counter_close(good);
    mcds_counter_close(none);
}

/* One operation of every verb of every structure, all in flight at once. */
static void structures_mix(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite, "n");
    mcds_lock *lock = NULL;
    mcds_visitors *visitors = NULL;
    mcds_online *online = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    mcds_completion done;
    int result = mcds_lock_open(suite->store, fresh_name(suite, "l"), NULL, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK,
                 mcds_visitors_open(suite->store, fresh_name(suite, "v"), NULL, &visitors));
    CHECK_RESULT(MCDS_OK,
                 mcds_online_open(suite->store, fresh_name(suite, "o"), NULL, &online));
    mcds_pipeline *pipeline = open_pipeline(suite->store, 4);
    for (uint64_t i = 0; i < 20; i++) {
        char who[16];
        (void)snprintf(who, sizeof who, "%u", (unsigned)i);
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 2, NULL, pipeline, i));
        CHECK_RESULT(MCDS_OK, mcds_visitors_hit_start(visitors, who, T0_MS, pipeline, i));
        CHECK_RESULT(MCDS_OK, mcds_online_beat_start(online, who, T0_MS, pipeline, i));
        CHECK_RESULT(MCDS_OK, mcds_visitors_get_start(visitors, T0_MS, &visited, pipeline, i));
        if (i == 3)
            CHECK_RESULT(MCDS_OK, mcds_lock_acquire_start(lock, 1000, &lease, pipeline, i));
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        CHECK_RESULT(MCDS_OK, done.result);
    CHECK_RESULT(MCDS_OK, mcds_visitors_get(visitors, T0_MS, &visited));
    CHECK_RESULT(MCDS_OK, mcds_online_get(online, T0_MS, &present));
    assert_int_equal(value_of(counter), 40);
    assert_int_equal(visited.current, 20);
    assert_int_equal(present.current, 20);
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &lease));
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_lock_close(lock);
    mcds_visitors_close(visitors);
    mcds_online_close(online);
}

/* A call that waits for a lock delays no other, and gets it when it is released. */
static void others_go_on_beside_a_sleeper(struct suite *suite)
{
    mcds_lock *lock = NULL;
    mcds_lease held = MCDS_LEASE_INIT;
    mcds_lease wanted = MCDS_LEASE_INIT;
    mcds_completion done;
    mcds_counter *counter = open_counter(suite, "n");
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = 3600000;
    int result = mcds_lock_open(suite->store, fresh_name(suite, "l"), &options, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(lock, &held));
    mcds_pipeline *pipeline = open_pipeline(suite->store, 4);
    CHECK_RESULT(MCDS_OK, mcds_lock_acquire_start(lock, 1000000, &wanted, pipeline, 99));
    for (uint64_t i = 0; i < 20; i++) {
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, i));
        CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        CHECK_RESULT(MCDS_OK, done.result);
        assert_int_equal(done.tag, i);
    }
    CHECK_RESULT(MCDS_PENDING, mcds_pipeline_poll(pipeline, &done));
    /* It sleeps; over a network its reply may be on the way just as well. */
    if (!suite->own_clock)
        assert_true(mcds_pipeline_wake_ns(pipeline) < INT64_MAX);
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &held));
    CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
    CHECK_RESULT(MCDS_OK, done.result);
    assert_int_equal(done.tag, 99);
    assert_true(wanted.fence > 0);
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &wanted));
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_lock_close(lock);
}

/* Drive the pipeline until the operation waits, however slow the store is. */
static void drive_until_it_waits(struct suite *suite, mcds_pipeline *pipeline)
{
    mcds_completion done;
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_RESULT(MCDS_PENDING, mcds_pipeline_poll(pipeline, &done));
        if (suite->own_clock)
            mcds__sleep_until_ns(mcds_env_system(),
                                 mcds__monotonic_ns(mcds_env_system()) + NS_PER_MS);
    }
}

/* A wait that was ended claims nothing afterwards, and leaves what the key holds. */
static void a_wait_can_be_ended(struct suite *suite)
{
    mcds_once *once = NULL;
    mcds_once_run held = MCDS_ONCE_RUN_INIT, wanted = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_bytes key = mcds_text("k"), none = {NULL, 0};
    mcds_completion done;
    int result = mcds_once_open(suite->store, fresh_name(suite, "o"), NULL, &once);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, mcds_once_begin(once, key, none, 0, &held, &value, NULL));
    mcds_pipeline *pipeline = open_pipeline(suite->store, 4);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_pipeline_end_wait(pipeline, 7));
    CHECK_RESULT(MCDS_OK, mcds_once_begin_start(once, key, none, 3600000, &wanted, &value, NULL,
                                                pipeline, 7));
    drive_until_it_waits(suite, pipeline);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_pipeline_end_wait(pipeline, 8));
    CHECK_RESULT(MCDS_OK, mcds_pipeline_end_wait(pipeline, 7));
    CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
    assert_int_equal(done.tag, 7);
    assert_true(done.result == MCDS_TIMEOUT || done.result == MCDS_BUSY);
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_pipeline_end_wait(pipeline, 7));
    CHECK_RESULT(MCDS_OK, mcds_once_abandon(once, &held));
    CHECK_RESULT(MCDS_OK, mcds_once_begin(once, key, none, 0, &held, &value, NULL));
    assert_true(held.mine);
    CHECK_RESULT(MCDS_OK, mcds_once_abandon(once, &held));
    mcds_pipeline_close(pipeline);
    mcds_value_free(&value);
    mcds_once_close(once);
}

/* End the wait of the operation that was started with tag 7, and take its completion. */
static void end_the_wait(struct suite *suite, mcds_pipeline *pipeline, const char *sentence)
{
    mcds_completion done;
    drive_until_it_waits(suite, pipeline);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_end_wait(pipeline, 7));
    CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
    CHECK_RESULT(MCDS_TIMEOUT, done.result);
    CHECK_SENTENCE(sentence);
    CHECK_SENTENCE("the wait was ended");
    assert_null(strstr(mcds_errmsg(), "deadline"));
}

/* No deadline has passed, and the sentence names none. */
static void an_ended_wait_says_so(struct suite *suite)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    mcds_lock *lock = NULL;
    mcds_semaphore *semaphore = NULL;
    mcds_lease held = MCDS_LEASE_INIT, lease = MCDS_LEASE_INIT;
    mcds_permit taken = MCDS_PERMIT_INIT, permit = MCDS_PERMIT_INIT;
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_semaphore_options one = MCDS_SEMAPHORE_OPTIONS_INIT;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    one.permits = 1;
    mcds_pipeline *pipeline = open_pipeline(suite->store, 4);
    int result = mcds_queue_open(suite->store, fresh_name(suite, "q"), &options, &queue);
    skip_if_unsupported(result);
    result = mcds_lock_open(suite->store, fresh_name(suite, "l"), NULL, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK,
                 mcds_semaphore_open(suite->store, fresh_name(suite, "s"), &one, &semaphore));
    CHECK_RESULT(MCDS_OK, mcds_queue_next_start(queue, 3600000, &job, &value, pipeline, 7));
    end_the_wait(suite, pipeline, "next: ");
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(lock, &held));
    CHECK_RESULT(MCDS_OK, mcds_lock_acquire_start(lock, 3600000, &lease, pipeline, 7));
    end_the_wait(suite, pipeline, "acquire: ");
    CHECK_RESULT(MCDS_OK, mcds_semaphore_try_acquire(semaphore, &taken));
    CHECK_RESULT(MCDS_OK,
                 mcds_semaphore_acquire_start(semaphore, 3600000, &permit, pipeline, 7));
    end_the_wait(suite, pipeline, "acquire: ");
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &held));
    CHECK_RESULT(MCDS_OK, mcds_semaphore_release(semaphore, &taken));
    mcds_pipeline_close(pipeline);
    mcds_value_free(&value);
    mcds_queue_close(queue);
    mcds_lock_close(lock);
    mcds_semaphore_close(semaphore);
}

/* Started, sent, finished and not taken, asleep: nothing is touched after the end. */
static void closing_ends_what_is_in_flight(struct suite *suite)
{
    mcds_lock *lock = NULL;
    mcds_completion done;
    for (int taken = 0; taken < 4; taken++) {
        mcds_lease *wanted = malloc(sizeof *wanted);
        int64_t *values = malloc(40 * sizeof *values);
        assert_non_null(wanted);
        assert_non_null(values);
        *wanted = (mcds_lease)MCDS_LEASE_INIT;
        mcds_lease held = MCDS_LEASE_INIT;
        mcds_counter *counter = open_counter(suite, "n");
        int result = mcds_lock_open(suite->store, fresh_name(suite, "l"), NULL, &lock);
        skip_if_unsupported(result);
        CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(lock, &held));
        mcds_pipeline *pipeline = open_pipeline(suite->store, 16);
        CHECK_RESULT(MCDS_OK, mcds_lock_acquire_start(lock, 50000, wanted, pipeline, 99));
        for (uint64_t i = 0; i < 40; i++)
            CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, &values[i], pipeline, i));
        for (int i = 0; i < taken; i++)
            CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        mcds_pipeline_close(pipeline);
        free(wanted);
        free(values);
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        result = mcds_counter_get(counter, &value);
        assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
        assert_in_range(value.value, 0, 40);
        CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &held));
        mcds_counter_close(counter);
        mcds_lock_close(lock);
    }
    mcds_pipeline_close(open_pipeline(suite->store, 1));
    mcds_pipeline_close(NULL);
}

static void two_pipelines_on_one_store(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite, "n");
    mcds_pipeline *pipelines[2] = {open_pipeline(suite->store, 16),
                                   open_pipeline(suite->store, 128)};
    mcds_completion done;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 100; i++)
        CHECK_RESULT(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipelines[i % 2], i));
    CHECK_RESULT(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    for (size_t p = 0; p < 2; p++)
        while (mcds_pipeline_next(pipelines[p], &done) == MCDS_OK) {
            assert_int_equal(done.tag % 2, p);
            taken++;
        }
    assert_int_equal(taken, 100);
    assert_int_equal(value_of(counter), 101);
    mcds_pipeline_close(pipelines[0]);
    mcds_pipeline_close(pipelines[1]);
    mcds_counter_close(counter);
}

static void arguments_are_checked(struct suite *suite)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    mcds_counter *counter = open_counter(suite, "n");
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_open(NULL, NULL, &pipeline));
    CHECK_SENTENCE("pipeline");
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_open(suite->store, NULL, NULL));
    options.size = 3;
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_open(suite->store, &options, &pipeline));
    CHECK_SENTENCE("its size is 3");
    options.size = sizeof options;
    options.depth = 65537;
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_open(suite->store, &options, &pipeline));
    CHECK_SENTENCE("65537");
    assert_null(pipeline);
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_next(NULL, &done));
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_poll(NULL, &done));
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_end_wait(NULL, 1));
    CHECK_SENTENCE("pipeline: end_wait: needs a pipeline");
    assert_null(strstr(mcds_errmsg(), "completion"));
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_next(pipeline, NULL));
    CHECK_RESULT(MCDS_INVALID, mcds_pipeline_poll(pipeline, NULL));
    mcds_pipeline_close(pipeline);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->other, NULL, &pipeline));
    CHECK_RESULT(MCDS_INVALID, mcds_counter_add_start(counter, 1, NULL, pipeline, 1));
    CHECK_SENTENCE("another store");
    CHECK_RESULT(MCDS_IDLE, mcds_pipeline_next(pipeline, &done));
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

static const struct suite_case cases[] = {
    CASE_ONCE(every_tag_comes_back_once),     CASE_ONCE(completions_are_taken_between),
    CASE_ONCE(a_start_tells_the_loop_once),   CASE_ONCE(polling_does_not_wait),
    CASE_ONCE(each_has_its_own_result),       CASE_ONCE(structures_mix),
    CASE_ONCE(others_go_on_beside_a_sleeper), CASE_ONCE(a_wait_can_be_ended),
    CASE_ONCE(an_ended_wait_says_so),         CASE_ONCE(closing_ends_what_is_in_flight),
    CASE_ONCE(two_pipelines_on_one_store),    CASE_ONCE(arguments_are_checked),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
