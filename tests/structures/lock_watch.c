/* Lock: a watch reports each change of the holder, and nothing else. */
#include "base/environment.h"
#include "structures/lock_cases.h"

void a_watch_follows_the_holders(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = {0};
    open_rivals(suite, &r, 60000);
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_int_equal(holder.tenure, 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_string_equal(holder.label, "theirs");
    assert_int_equal(holder.fence, r.other.fence);
    uint64_t first = holder.tenure;
    assert_true(first != 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_int_equal(holder.tenure, 0);
    assert_string_equal(holder.label, "");
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, &holder);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_true(holder.tenure != first);
    uint64_t second = holder.tenure;
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire, r.theirs, 10000, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_true(holder.tenure != second);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* Without the tenure, each watch would report the same holder again. The bytes after the size are
 * of the caller. */
void a_watch_needs_the_tenure(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holders[2];
    const size_t whole = offsetof(mcds_lock_holder, intended) + sizeof holders[0].intended;
    open_rivals(suite, &r, 60000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    for (size_t size = 1; size <= whole; size++) {
        bool is_enough = size >= offsetof(mcds_lock_holder, tenure) + sizeof(uint64_t);
        memset(holders, 0, sizeof holders);
        memset((uint8_t *)holders + size, 0xa5, sizeof holders - size);
        holders[0].size = size;
        if (size < sizeof size)
            memset((uint8_t *)holders + sizeof size, 0xa5, sizeof holders - sizeof size);
        CHECK(is_enough ? MCDS_OK : MCDS_INVALID, suite, mcds_lock_watch, r.mine, 0, holders);
        if (!is_enough)
            CHECK_SENTENCE("mcds_lock_holder: its size is");
        CHECK(is_enough ? MCDS_BUSY : MCDS_INVALID, suite, mcds_lock_watch, r.mine, 0, holders);
        assert_int_equal(holders[0].size, size);
        for (size_t i = size < sizeof size ? sizeof size : size; i < sizeof holders; i++)
            assert_int_equal(((uint8_t *)holders)[i], 0xa5);
    }
    memset(holders, 0, sizeof holders);
    memset((uint8_t *)holders + whole, 0xa5, sizeof holders - whole);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, holders);
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, holders);
    assert_int_equal(holders[0].size, 0);
    for (size_t i = whole; i < sizeof holders; i++)
        assert_int_equal(((uint8_t *)holders)[i], 0xa5);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* Each attempt increments the fence, and a renewal writes the lease. */
void a_watch_reports_no_attempt_and_no_renewal(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_lock_holder read = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 60000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, &holder);
    uint64_t fence = holder.fence;
    uint64_t tenure = holder.tenure;
    CHECK(MCDS_BUSY, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, &holder);
    CHECK_SENTENCE("same holder");
    assert_true(holder.fence > fence);
    assert_int_equal(holder.tenure, tenure);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, r.mine, &read);
    assert_int_equal(read.tenure, tenure);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* Once: the smaller fence is then the one that was seen. */
void a_watch_reports_a_fence_that_fell(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 60000);
    struct raw_key key = raw_fence(suite, r.name);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, r.mine, 0, &holder);
    uint64_t fence = holder.fence;
    /* One that is gone says nothing about the next one, and is not forgotten. */
    assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, &holder);
    assert_int_equal(holder.fence, fence);
    assert_int_equal(raw_set(suite, &key, "5000000000"), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_lock_watch, r.mine, 0, &holder);
    CHECK_SENTENCE("smaller");
    assert_int_equal(holder.fence, UINT64_C(5000000000));
    assert_string_equal(holder.label, "theirs");
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, r.mine, 0, &holder);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

void a_watch_runs_out(struct suite *suite)
{
    const mcds_env *env = &suite->fake.env;
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 60000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_watch, r.theirs, 0, &holder);
    int64_t wait_ms = suite->own_clock ? 50 : 2000;
    int64_t before_ns = mcds__monotonic_ns(env);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_watch, r.theirs, (uint32_t)wait_ms, &holder);
    int64_t waited_ns = mcds__monotonic_ns(env) - before_ns;
    assert_true(waited_ns >= wait_ms * NS_PER_MS);
    if (!suite->own_clock)
        assert_int_equal(waited_ns, wait_ms * NS_PER_MS);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_lock_watch, r.theirs, 86400001, &holder);
    CHECK_SENTENCE("wait_ms");
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* A holder that dies is reported when its lease ends. */
void a_watch_sees_a_lease_end(struct suite *suite)
{
    if (suite->own_clock && suite->mode != WAITING)
        skip_because("asked by waiting calls alone, where time passes by itself");
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 8000); /* a loaded machine reaches the watch before the end */
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_get_holder, r.theirs, &holder);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_watch, r.theirs, 60000, &holder);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}
