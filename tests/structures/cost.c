/* The cost of a call: the round trips that mcds.h promises, and no allocation on a warm
 * handle. */
#include "structures/cost.h"

void open_counted(struct suite *suite, struct counted *counted)
{
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &suite->fake.env;
    options.timeout_ms = 10000;
    fixture_uri_of(suite->fixture, "counted", uri, sizeof uri);
    counted->backend_env = suite->fake;
    counted->backend_env.env.self = &counted->backend_env;
    counted->backend_env.blocks = 0;
    CHECK_RESULT(MCDS_OK,
                 counting_backend_open(&counted->counting, uri, &counted->backend_env.env,
                                       &options, &counted->store));
    counted->pipeline = NULL;
    if (suite->mode != WAITING)
        CHECK_RESULT(MCDS_OK, mcds_pipeline_open(counted->store, NULL, &counted->pipeline));
}

void close_counted(struct counted *counted)
{
    mcds_pipeline_close(counted->pipeline);
    mcds_close(counted->store);
    assert_int_equal(counted->backend_env.blocks, 0);
}

void check_trips(const struct counted *counted, uint64_t expected, const char *call, int line)
{
    if (counted->counting.batches == expected)
        return;
    print_error("%s: expected %llu round trips, made %llu\n", call,
                (unsigned long long)expected, (unsigned long long)counted->counting.batches);
    _fail(__FILE__, line);
}

void check_memory(const struct suite *suite, uint64_t before, const char *call, int line)
{
    if (suite->fake.allocations == before)
        return;
    print_error("%s: %llu allocations\n", call,
                (unsigned long long)(suite->fake.allocations - before));
    _fail(__FILE__, line);
}

static mcds_counter *open_counter(mcds_store *store, const char *name, uint32_t flags,
                                  uint32_t stripes)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = flags;
    options.stripes = stripes;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(store, name, &options, &counter));
    return counter;
}

static void counter_trips(struct suite *suite)
{
    static const uint32_t kinds[] = {0, MCDS_COUNTER_SIGNED, MCDS_COUNTER_STRICT};
    struct counted c;
    open_counted(suite, &c);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        mcds_counter *counter = open_counter(c.store, fresh_name(suite, "n"), kinds[i], 0);
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        int64_t out;
        TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_counter_get, counter, &value);
        TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_counter_take, counter, &out);
        TRIPS(2, MCDS_OK, suite, &c, mcds_counter_add, counter, 5, &out);
        TRIPS(1, MCDS_OK, suite, &c, mcds_counter_add, counter, 5, &out);
        assert_int_equal(c.counting.requests, kinds[i] == MCDS_COUNTER_STRICT ? 2 : 1);
        TRIPS(1, MCDS_OK, suite, &c, mcds_counter_get, counter, &value);
        TRIPS(2, MCDS_OK, suite, &c, mcds_counter_take, counter, &out);
        TRIPS(1, MCDS_OK, suite, &c, mcds_counter_take, counter, &out);
        if (kinds[i] == MCDS_COUNTER_SIGNED)
            TRIPS(1, MCDS_OK, suite, &c, mcds_counter_add, counter, -5, &out);
        TRIPS(2, MCDS_OK, suite, &c, mcds_counter_drop, counter);
        TRIPS(2, MCDS_NOT_FOUND, suite, &c, mcds_counter_drop, counter);
        mcds_counter_close(counter);
    }
    close_counted(&c);
}

static void striped_counter_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(c.store, name, MCDS_COUNTER_SIGNED, 32);
    mcds_counter *fresh = open_counter(c.store, name, MCDS_COUNTER_SIGNED, 32);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out;
    TRIPS(4, MCDS_OK, suite, &c, mcds_counter_add, counter, -5, NULL); /* looks before it */
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_add, counter, -5, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_counter_get, fresh, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_get, fresh, &value);
    assert_int_equal(c.counting.requests, 32);
    TRIPS(2, MCDS_OK, suite, &c, mcds_counter_take, counter, &out);
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_drop, counter);
    mcds_counter_close(counter);
    mcds_counter_close(fresh);
    close_counted(&c);
}

static void exact_counter_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    const char *name = fresh_name(suite, "n");
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = 3600000;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(c.store, name, &options, &counter));
    TRIPS(0, MCDS_OK, suite, &c, mcds_counter_flush, counter);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_counter_get, counter, &value);
    TRIPS(0, MCDS_OK, suite, &c, mcds_counter_add, counter, 5, NULL);
    TRIPS(3, MCDS_OK, suite, &c, mcds_counter_flush, counter);
    TRIPS(0, MCDS_OK, suite, &c, mcds_counter_flush, counter);
    TRIPS(0, MCDS_OK, suite, &c, mcds_counter_add, counter, -5, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_flush, counter);
    assert_int_equal(c.counting.requests, 2);
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_get, counter, &value);
    TRIPS(3, MCDS_OK, suite, &c, mcds_counter_drop, counter);
    TRIPS(2, MCDS_NOT_FOUND, suite, &c, mcds_counter_drop, counter);
    mcds_counter_close(counter);
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(c.store, name, &options, &counter));
    TRIPS(3, MCDS_OK, suite, &c, mcds_counter_add, counter, 5, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_counter_add, counter, 5, NULL);
    mcds_counter *second = NULL;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(c.store, name, &options, &second));
    TRIPS(2, MCDS_OK, suite, &c, mcds_counter_add, second, 5, NULL);
    mcds_counter_close(counter);
    mcds_counter_close(second);
    close_counted(&c);
}

static mcds_lock *open_lock(mcds_store *store, const char *name)
{
    mcds_lock *lock = NULL;
    int result = mcds_lock_open(store, name, NULL, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return lock;
}

static void lock_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_lock *lock = open_lock(c.store, fresh_name(suite, "lock"));
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lease other = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    /* Without compare-and-delete the backend says so, with no round trip of its own; the lock is
     * left by compare-and-set, and soon after taken so. */
    uint64_t release = suite->can.compare_and_delete ? 1 : 2;
    uint64_t again = release;
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_lock_get_holder, lock, &holder);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_try_acquire, lock, &lease);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_lock_try_acquire, lock, &other);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_renew, lock, &lease);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_renew, lock, &lease);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_get_holder, lock, &holder);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_lock_watch, lock, 0, &holder);
    TRIPS(release, MCDS_OK, suite, &c, mcds_lock_release, lock, &lease);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_lock_watch, lock, 0, &holder);
    TRIPS(again, MCDS_OK, suite, &c, mcds_lock_acquire, lock, 1000, &lease);
    TRIPS(release, MCDS_OK, suite, &c, mcds_lock_release, lock, &lease);
    TRIPS(again, MCDS_OK, suite, &c, mcds_lock_try_acquire, lock, &lease);
    TRIPS(1 + release, MCDS_OK, suite, &c, mcds_lock_break, lock);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_lock_break, lock);
    TRIPS(3 + release, MCDS_OK, suite, &c, mcds_lock_drop, lock);
    mcds_lock_close(lock);
    close_counted(&c);
}

/* An exclusive acquisition costs the same whether one holder has the lock or several share it. */
static void readers_trips(struct suite *suite)
{
    struct counted c;
    if (!suite->can.ttl_readable)
        skip_because("a store that reports no ttl, where no lock is shared");
    open_counted(suite, &c);
    mcds_lock *lock = open_lock(c.store, fresh_name(suite, "lock"));
    mcds_lease first = MCDS_LEASE_INIT;
    mcds_lease second = MCDS_LEASE_INIT;
    mcds_lease alone = MCDS_LEASE_INIT;
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_try_acquire_shared, lock, &first);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_try_acquire_shared, lock, &second);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_lock_try_acquire, lock, &alone);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_renew, lock, &first);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_release, lock, &first);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_release, lock, &second);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_try_acquire, lock, &alone);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_release, lock, &alone);
    TRIPS(1, MCDS_OK, suite, &c, mcds_lock_try_acquire_shared, lock, &first);
    TRIPS(2, MCDS_OK, suite, &c, mcds_lock_release, lock, &first);
    mcds_lock_close(lock);
    close_counted(&c);
}

static bool see_no_more(void *context, const mcds_semaphore_holder *holder)
{
    (void)context;
    return holder->fence == 0;
}

static void semaphore_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_semaphore *semaphore = NULL;
    mcds_permit permit = MCDS_PERMIT_INIT;
    mcds_permit other = MCDS_PERMIT_INIT;
    uint32_t above;
    options.permits = 1;
    int opened = mcds_semaphore_open(c.store, fresh_name(suite, "semaphore"), &options,
                                     &semaphore);
    skip_if_unsupported(opened);
    CHECK_RESULT(MCDS_OK, opened);
    /* As those of a lock: a release leaves a tombstone, and the next claim replaces it. */
    uint64_t release = suite->can.compare_and_delete ? 1 : 2;
    uint64_t again = release;
    TRIPS(4, MCDS_OK, suite, &c, mcds_semaphore_try_acquire, semaphore, &permit);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_semaphore_try_acquire, semaphore, &other);
    TRIPS(1, MCDS_OK, suite, &c, mcds_semaphore_renew, semaphore, &permit);
    TRIPS(2, MCDS_OK, suite, &c, mcds_semaphore_holders, semaphore, see_no_more, NULL);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_semaphore_drop, semaphore);
    TRIPS(release, MCDS_OK, suite, &c, mcds_semaphore_release, semaphore, &permit);
    TRIPS(again, MCDS_OK, suite, &c, mcds_semaphore_try_acquire, semaphore, &permit);
    TRIPS(1, MCDS_OK, suite, &c, mcds_semaphore_resize, semaphore, 1, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_semaphore_resize, semaphore, 2, NULL);
    TRIPS(3, MCDS_OK, suite, &c, mcds_semaphore_resize, semaphore, 1, &above);
    TRIPS(release, MCDS_OK, suite, &c, mcds_semaphore_release, semaphore, &permit);
    TRIPS(1, MCDS_OK, suite, &c, mcds_semaphore_holders, semaphore, see_no_more, NULL);
    TRIPS(3 + 3 + release, MCDS_OK, suite, &c, mcds_semaphore_drop, semaphore);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_semaphore_holders, semaphore, see_no_more, NULL);
    mcds_semaphore_close(semaphore);
    close_counted(&c);
}

/* The first makes the map. */
static void members_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    options.period_ms = 60000;
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        mcds_visitors *visitors = NULL;
        options.members = members;
        CHECK_RESULT(MCDS_OK,
                     mcds_visitors_open(c.store, fresh_name(suite, "v"), &options, &visitors));
        TRIPS(3, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, "ann", T0_MS);
        TRIPS(1, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, "eve", T0_MS);
        TRIPS(1, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, "bob", T0_MS);
        TRIPS(members == MCDS_MEMBERS_ESTIMATED ? 0 : 1, MCDS_EXISTS, suite, &c,
              mcds_visitors_hit, visitors, "bob", T0_MS);
        TRIPS(2, MCDS_OK, suite, &c, mcds_visitors_get, visitors, T0_MS, &value);
        mcds_visitors_close(visitors);
    }
    close_counted(&c);
}

static void visitors_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    options.period_ms = 60000;
    CHECK_RESULT(MCDS_OK,
                 mcds_visitors_open(c.store, fresh_name(suite, "v"), &options, &visitors));
    TRIPS(2, MCDS_OK, suite, &c, mcds_visitors_get, visitors, T0_MS, &value);
    TRIPS(4, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, "ann", T0_MS);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_visitors_hit, visitors, "ann", T0_MS);
    TRIPS(2, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, "bob", T0_MS);
    TRIPS(1, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, NULL, T0_MS);
    TRIPS(2, MCDS_OK, suite, &c, mcds_visitors_hit, visitors, NULL, T0_MS + 60000);
    TRIPS(1, MCDS_OK, suite, &c, mcds_visitors_get, visitors, T0_MS, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_visitors_drop, visitors, T0_MS);
    mcds_visitors_close(visitors);
    close_counted(&c);
}

static void online_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_online *online = NULL;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    int64_t later_ms = T0_MS - 60000;
    int64_t early_ms = later_ms - 5 * 60000;
    CHECK_RESULT(MCDS_OK, mcds_online_open(c.store, fresh_name(suite, "o"), NULL, &online));
    TRIPS(2, MCDS_OK, suite, &c, mcds_online_get, online, early_ms, &value);
    TRIPS(4, MCDS_OK, suite, &c, mcds_online_beat, online, "ann", early_ms);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_online_beat, online, "ann", early_ms);
    TRIPS(2, MCDS_OK, suite, &c, mcds_online_beat, online, "bob", early_ms);
    TRIPS(4, MCDS_OK, suite, &c, mcds_online_beat, online, "ann", later_ms);
    TRIPS(3, MCDS_OK, suite, &c, mcds_online_beat, online, "bob", later_ms);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_online_beat, online, "bob", later_ms);
    TRIPS(4, MCDS_OK, suite, &c, mcds_online_beat, online, "ann", later_ms + 60000);
    TRIPS(3, MCDS_OK, suite, &c, mcds_online_beat, online, "bob", later_ms + 60000);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_online_beat, online, "bob", later_ms + 60000);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_online_beat, online, "bob", later_ms);
    TRIPS(1, MCDS_OK, suite, &c, mcds_online_get, online, later_ms, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_online_drop, online, later_ms);
    mcds_online_close(online);
    close_counted(&c);
}

#define MERGED 128

/* The requests of all operations under way travel together. Those that add to one number share a few
 * requests. */
static void merge_requests(struct suite *suite, uint64_t counters)
{
    struct counted c;
    mcds_counter *counter[MERGED];
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    open_counted(suite, &c);
    options.depth = MERGED;
    for (uint64_t i = 0; i < counters; i++) {
        counter[i] = open_counter(c.store, fresh_name(suite, "n"), 0, 0);
        CHECK_RESULT(MCDS_OK, mcds_counter_add(counter[i], 1, NULL));
    }
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(c.store, &options, &pipeline));
    counting_backend_arm(&c.counting, FAULT_NONE, 0, false);
    for (uint64_t i = 0; i < MERGED; i++)
        CHECK_RESULT(MCDS_OK,
                     mcds_counter_add_start(counter[i % counters], 1, NULL, pipeline, i));
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        CHECK_RESULT(MCDS_OK, done.result);
    assert_in_range(c.counting.batches, counters == 1 ? 1 : MERGED, counters == 1 ? 8 : MERGED);
    assert_in_range(c.counting.submits, 1, 2);
    mcds_pipeline_close(pipeline);
    for (uint64_t i = 0; i < counters; i++)
        mcds_counter_close(counter[i]);
    close_counted(&c);
}

static void a_pipeline_merges_requests(struct suite *suite)
{
    merge_requests(suite, MERGED);
    merge_requests(suite, 1);
}

static void warm_counters_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_counter *counter = open_counter(c.store, fresh_name(suite, "n"), 0, 0);
    mcds_counter *striped = open_counter(c.store, fresh_name(suite, "n"), 0, 4);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(counter, 1, &out));
    for (int i = 0; i < 2; i++) {
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_get, counter, &value);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_take, counter, &out);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_drop, counter);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_add, striped, 1, NULL);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_get, striped, &value);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_counter_take, striped, &out);
    }
    mcds_counter_close(counter);
    mcds_counter_close(striped);
    close_counted(&c);
}

static void warm_locks_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_lock *lock = open_lock(c.store, fresh_name(suite, "lock"));
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lease other = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_lock_get_holder(lock, &holder));
    for (int i = 0; i < 2; i++) {
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_lock_try_acquire, lock, &lease);
        FREE_OF_MEMORY(MCDS_BUSY, suite, mcds_lock_acquire, lock, 2, &other);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_lock_renew, lock, &lease);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_lock_get_holder, lock, &holder);
        FREE_OF_MEMORY(MCDS_BUSY, suite, mcds_lock_watch, lock, 2, &holder);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_lock_release, lock, &lease);
    }
    mcds_lock_close(lock);
    close_counted(&c);
}

static void warm_visits_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_visitors *visitors = NULL;
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online *online = NULL;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(c.store, fresh_name(suite, "v"), NULL, &visitors));
    CHECK_RESULT(MCDS_OK, mcds_online_open(c.store, fresh_name(suite, "o"), NULL, &online));
    CHECK_RESULT(MCDS_OK, mcds_visitors_get(visitors, T0_MS, &visited));
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", T0_MS);
    FREE_OF_MEMORY(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", T0_MS);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, T0_MS);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_visitors_get, visitors, T0_MS, &visited);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_visitors_drop, visitors, T0_MS);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_online_beat, online, "ann", T0_MS);
    FREE_OF_MEMORY(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", T0_MS);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_online_beat, online, "ann", T0_MS + 60000);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_online_get, online, T0_MS, &present);
    FREE_OF_MEMORY(MCDS_OK, suite, mcds_online_drop, online, T0_MS);
    mcds_visitors_close(visitors);
    mcds_online_close(online);
    close_counted(&c);
}

static const struct suite_case cases[] = {
    CASE_TWICE(counter_trips),
    CASE_TWICE(exact_counter_trips),
    CASE_TWICE(striped_counter_trips),
    CASE_TWICE(lock_trips),
    CASE_TWICE(readers_trips),
    CASE_TWICE(semaphore_trips),
    CASE_TWICE(visitors_trips),
    CASE_TWICE(members_trips),
    CASE_TWICE(online_trips),
    CASE_ONCE(a_pipeline_merges_requests),
    CASE_ONCE(warm_counters_take_no_memory),
    CASE_ONCE(warm_locks_take_no_memory),
    CASE_ONCE(warm_visits_take_no_memory),
    CASE_TWICE(set_trips),
    CASE_TWICE(table_trips),
    CASE_TWICE(ids_trips),
    CASE_TWICE(once_trips),
    CASE_TWICE(queue_trips),
    CASE_TWICE(limit_trips),
    CASE_TWICE(array_trips),
    CASE_TWICE(views_trips),
    CASE_TWICE(list_trips),
    CASE_TWICE(log_trips),
    CASE_TWICE(flush_trips),
    CASE_ONCE(warm_sets_and_tables_take_no_memory),
    CASE_ONCE(warm_lists_and_logs_take_no_memory),
    CASE_ONCE(warm_views_take_no_memory),
    CASE_ONCE(a_change_costs_one_trip_at_any_size),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
