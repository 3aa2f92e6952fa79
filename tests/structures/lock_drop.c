/* The drop of a lock: what it erases, what it refuses, and the fences of later holders. */
#include <inttypes.h>

#include "structures/lock_cases.h"

static void hold_and_release(struct suite *suite, struct rivals *r)
{
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r->mine, &r->lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, r->mine, &r->lease);
}

struct sought {
    const char *name;
    bool is_there;
};

static bool seek(void *context, const mcds_listed *listed)
{
    struct sought *sought = context;
    sought->is_there = sought->is_there || strcmp(listed->name, sought->name) == 0;
    return true;
}

/* Stores the fence of a lock that was made so long ago. */
static void age_fence(struct suite *suite, const struct rivals *r, int64_t age_ms)
{
    char text[32];
    struct raw_key fence = raw_fence(suite, r->name);
    (void)snprintf(text, sizeof text, "%" PRId64, (wall_ms(suite) - age_ms) * 1000000);
    assert_int_equal(raw_set(suite, &fence, text), MCDS_OUT_OK);
}

void drop_leaves_nothing(struct suite *suite)
{
    struct rivals r;
    char text[64];
    open_rivals(suite, &r, 0);
    struct raw_key fence = raw_fence(suite, r.name);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_drop, r.mine);
    assert_false(raw_get(suite, &fence, text, sizeof text));
    hold_and_release(suite, &r);
    assert_true(raw_get(suite, &fence, text, sizeof text));
    age_fence(suite, &r, 61000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_drop, r.theirs);
    assert_false(raw_get(suite, &fence, text, sizeof text));
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_drop, r.theirs);
    assert_false(raw_get(suite, &fence, text, sizeof text));
    struct sought sought = {.name = r.name};
    if (mcds_scan(suite->store, seek, &sought) == MCDS_OK && suite->can.compare_and_delete)
        assert_false(sought.is_there);
    hold_and_release(suite, &r);
    close_rivals(&r);
}

/* A drop leaves a young fence in the store until it ends. So a machine whose clock is slow gets a
 * larger fence. */
void a_young_fence_ends_by_itself(struct suite *suite)
{
    struct rivals r;
    char text[64];
    open_rivals(suite, &r, 0);
    struct raw_key fence = raw_fence(suite, r.name);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    uint64_t first = r.lease.fence;
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_drop, r.mine);
    shift_wall_ms(suite, -50000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    assert_in_range(r.other.fence, first + 1, first + 10);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    shift_wall_ms(suite, 50000);
    if (!suite->own_clock) {
        pass_ms(suite, 63000);
        assert_false(raw_get(suite, &fence, text, sizeof text));
        shift_wall_ms(suite, -50000);
        mcds_lock *fresh = open_lock(suite->other, r.name, 0, NULL);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, fresh, &r.other);
        assert_true(r.other.fence > first + 10);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, fresh, &r.other);
        mcds_lock_close(fresh);
        shift_wall_ms(suite, 50000);
    }
    close_rivals(&r);
}

void a_held_lock_is_not_dropped(struct suite *suite)
{
    struct rivals r;
    open_rivals(suite, &r, 0);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_drop, r.theirs);
    CHECK(MCDS_BUSY, suite, mcds_lock_drop, r.mine);
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    uint64_t held = r.lease.fence;
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    assert_true(r.lease.fence > held);
    assert_in_range(r.lease.fence - held, 1, 5);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* A machine whose clock was ahead has made the fence. Without it, a machine whose clock is right
 * would get a smaller one. */
void a_fence_ahead_of_the_clock_stays(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 0);
    uint64_t ahead = (uint64_t)(wall_ms(suite) + 7200000) * 1000000;
    age_fence(suite, &r, -7200000);
    CHECK(MCDS_INVALID, suite, mcds_lock_drop, r.mine);
    CHECK_SENTENCE("far ahead of this machine's clock");
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.mine, &holder);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    assert_true(r.lease.fence >= ahead);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* No holder has had such a fence, so later fences may be smaller. */
void a_number_that_is_no_fence_is_dropped(struct suite *suite)
{
    static const char *const forged[] = {"18446744073709551615", "18446744073709551613",
                                         "9223372036854775807", "0", "41"};
    struct rivals r;
    char text[64];
    open_rivals(suite, &r, 0);
    struct raw_key fence = raw_fence(suite, r.name);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        assert_int_equal(raw_set(suite, &fence, forged[i]), MCDS_OUT_OK);
        CHECK(MCDS_CORRUPT, suite, mcds_lock_try_acquire, r.mine, &r.lease);
        CHECK_SENTENCE("somebody has set it; drop it");
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_drop, r.theirs);
        assert_false(raw_get(suite, &fence, text, sizeof text));
        CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_drop, r.theirs);
        hold_and_release(suite, &r);
    }
    close_rivals(&r);
}

static void check_clock_refused(struct suite *suite, struct rivals *r)
{
    CHECK(MCDS_IO, suite, mcds_lock_try_acquire, r->mine, &r->lease);
    CHECK_SENTENCE(
        "this machine's clock is after 2190, until which locks and limits work: set it");
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_CLOCK);
    CHECK(MCDS_IO, suite, mcds_lock_acquire, r->mine, 0, &r->lease);
    assert_int_equal(r->lease.state, 0);
}

/* Only a few numbers are larger than a fence from such a clock. A lock that was acquired before can
 * be renewed, released and dropped. */
void a_clock_after_2190_acquires_nothing(struct suite *suite)
{
    static const int64_t clocks_ms[] = {INT64_C(7000000000001), INT64_MAX / 1000000 - 60000};
    for (size_t i = 0; i < sizeof clocks_ms / sizeof clocks_ms[0]; i++) {
        struct rivals r;
        char text[64];
        open_rivals(suite, &r, 0);
        struct raw_key fence = raw_fence(suite, r.name);
        int64_t ahead_ms = clocks_ms[i] - wall_ms(suite);
        shift_wall_ms(suite, ahead_ms);
        check_clock_refused(suite, &r);
        CHECK(MCDS_NOT_FOUND, suite, mcds_lock_drop, r.mine);
        shift_wall_ms(suite, -ahead_ms);
        assert_false(raw_get(suite, &fence, text, sizeof text));
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
        assert_true(r.lease.fence < UINT64_C(7000000000000000000));
        shift_wall_ms(suite, ahead_ms);
        CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
        CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
        check_clock_refused(suite, &r);
        CHECK(MCDS_OK, suite, mcds_lock_drop, r.mine);
        shift_wall_ms(suite, -ahead_ms);
        assert_false(raw_get(suite, &fence, text, sizeof text));
        close_rivals(&r);
    }
}
