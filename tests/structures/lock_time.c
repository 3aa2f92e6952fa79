/* Lock: renewal, the end of a lease, waiting, many at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "structures/lock_cases.h"

void renewal_begins_the_time_again(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 5000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    int64_t first_ns = r.lease.deadline_ns;
    uint64_t fence = r.lease.fence;
    for (int64_t i = 1; i <= 5; i++) {
        pass_ms(suite, suite->own_clock ? 2 : 2000);
        CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
        assert_int_equal(r.lease.fence, fence);
        if (suite->own_clock)
            assert_true(r.lease.deadline_ns >= first_ns + i * 2 * NS_PER_MS);
        else
            assert_int_equal(r.lease.deadline_ns, first_ns + i * 2 * NS_PER_S);
    }
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, r.mine, &holder);
    if (suite->can.ttl_readable)
        assert_in_range(holder.remaining_ms, 4000 - suite->can.ttl_early_ms,
                        6000 + suite->can.ttl_early_ms);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* At its own deadline the holder stops; later the store lets another in, whose fence is larger.
 */
void a_lease_ends(struct suite *suite)
{
    if (suite->own_clock && suite->mode != WAITING)
        skip_because("asked by waiting calls alone, where time passes by itself");
    struct rivals r;
    uint32_t lease_ms = shortest_lease_ms(suite);
    open_rivals(suite, &r, lease_ms);
    int64_t before_ns = mcds__monotonic_ns(&suite->fake.env);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    uint64_t fence = r.lease.fence;
    /* All but the margin for clocks is the holder's, however early the store forgets. */
    assert_true(r.lease.deadline_ns >= before_ns + (lease_ms - 20) * NS_PER_MS);
    assert_true(mcds_lock_remaining_ms(r.mine, &r.lease) < (int64_t)lease_ms);
    pass_ms(suite, mcds_lock_remaining_ms(r.mine, &r.lease) + 1);
    assert_int_equal(mcds_lock_remaining_ms(r.mine, &r.lease), 0);
    CHECK(MCDS_EXPIRED, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_SENTENCE("deadline");
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire, r.theirs, 20000, &r.other);
    assert_true(r.other.fence > fence);
    CHECK(MCDS_EXPIRED, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* The store may keep the key of a lease longer than its holder may work. */
void a_release_after_the_deadline_is_lost(struct suite *suite)
{
    if (suite->own_clock && suite->mode != WAITING)
        skip_because("asked by waiting calls alone, where time passes by itself");
    struct rivals r;
    open_rivals(suite, &r, shortest_lease_ms(suite));
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    pass_ms(suite, mcds_lock_remaining_ms(r.mine, &r.lease) + 1);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_SENTENCE("had ended");
    assert_int_equal(r.lease.deadline_ns, 0);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire, r.theirs, 20000, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* Leases run on clocks that nobody sets: neither their owner nor the store takes a step of the wall
 * clock for time that has passed. */
void steps_of_the_wall_clock_move_no_lease(struct suite *suite)
{
    static const int64_t steps_ms[] = {3600000, -7200000, 3600000};
    struct rivals r;
    open_rivals(suite, &r, 20000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        int64_t deadline_ns = r.lease.deadline_ns;
        shift_wall_ms(suite, steps_ms[i]);
        assert_true(mcds_lock_remaining_ms(r.mine, &r.lease) > 0);
        CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire, r.theirs, &r.other);
        CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
        assert_true(r.lease.deadline_ns >= deadline_ns);
        CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    }
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    /* Nor does a step keep an ended lease alive. */
    if (!suite->own_clock) {
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
        shift_wall_ms(suite, -3600000);
        pass_ms(suite, 21000 + suite->can.ttl_early_ms);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
        shift_wall_ms(suite, 3600000);
    }
    close_rivals(&r);
}

void waiting_runs_out(struct suite *suite)
{
    const mcds_env *env = &suite->fake.env;
    struct rivals r;
    open_rivals(suite, &r, 60000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    int64_t wait_ms = suite->own_clock ? 50 : 2000;
    int64_t before_ns = mcds__monotonic_ns(env);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_acquire, r.theirs, 0, &r.other);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_acquire, r.theirs, (uint32_t)wait_ms, &r.other);
    int64_t waited_ns = mcds__monotonic_ns(env) - before_ns;
    assert_true(waited_ns >= wait_ms * NS_PER_MS);
    if (!suite->own_clock)
        assert_int_equal(waited_ns, wait_ms * NS_PER_MS);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* Threads need a clock that goes by itself. */
static mcds_store *open_live(struct suite *suite)
{
    char uri[1024];
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = 20000;
    fixture_uri_of(suite->fixture, "live", uri, sizeof uri);
    CHECK_RESULT(MCDS_OK, mcds_open(uri, &options, &store));
    return store;
}

struct waiter {
    mcds_lock *lock;
    mcds_lease lease;
    int result;
};

static void *wait_for_it(void *argument)
{
    struct waiter *waiter = argument;
    waiter->result = mcds_lock_acquire(waiter->lock, 60000, &waiter->lease);
    return NULL;
}

void waiting_gets_it_after_release(struct suite *suite)
{
    mcds_store *store = open_live(suite);
    mcds_lock *lock = open_lock(store, fresh_name(suite, "lock"), 60000, "");
    mcds_lease lease = MCDS_LEASE_INIT;
    struct waiter waiter = {lock, MCDS_LEASE_INIT, MCDS_IDLE};
    pthread_t thread;
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(lock, &lease));
    uint64_t fence = lease.fence;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &waiter), 0);
    mcds__sleep_until_ns(mcds_env_system(),
                         mcds__monotonic_ns(mcds_env_system()) + 20 * NS_PER_MS);
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &lease));
    assert_int_equal(pthread_join(thread, NULL), 0);
    CHECK_RESULT(MCDS_OK, waiter.result);
    assert_true(waiter.lease.fence > fence);
    CHECK_RESULT(MCDS_OK, mcds_lock_release(lock, &waiter.lease));
    mcds_lock_close(lock);
    mcds_close(store);
}

#define RIVALS 4
#define TENURES 8

struct arena {
    mcds_lock *lock;
    _Atomic int inside;
    _Atomic uint64_t fence; /* the newest of all tenures */
    _Atomic int trouble;
};

static void note(struct arena *arena, int result)
{
    int none = MCDS_OK;
    if (result != MCDS_OK)
        (void)atomic_compare_exchange_strong(&arena->trouble, &none, result);
}

static void *hold_often(void *argument)
{
    struct arena *arena = argument;
    for (int i = 0; i < TENURES; i++) {
        mcds_lease lease = MCDS_LEASE_INIT;
        int result = mcds_lock_acquire(arena->lock, 60000, &lease);
        note(arena, result);
        if (result != MCDS_OK)
            break;
        if (atomic_fetch_add(&arena->inside, 1) != 0 || lease.fence <= arena->fence)
            note(arena, MCDS_CORRUPT);
        arena->fence = lease.fence;
        note(arena, mcds_lock_renew(arena->lock, &lease));
        (void)atomic_fetch_sub(&arena->inside, 1);
        note(arena, mcds_lock_release(arena->lock, &lease));
    }
    return NULL;
}

void one_holder_at_a_time(struct suite *suite)
{
    mcds_store *store = open_live(suite);
    struct arena arena = {open_lock(store, fresh_name(suite, "lock"), 60000, ""), 0, 0, 0};
    pthread_t threads[RIVALS];
    for (int i = 0; i < RIVALS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_often, &arena), 0);
    for (int i = 0; i < RIVALS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    CHECK_RESULT(MCDS_OK, arena.trouble);
    mcds_lock_close(arena.lock);
    mcds_close(store);
}
