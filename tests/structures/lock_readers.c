/* Lock: several holders share it, and one has it alone. */
#include "base/environment.h"
#include "structures/lock_cases.h"

/* Two that may share, and one that wants the lock alone; skips where no lock can be shared. */
static void open_sharers(struct suite *suite, struct rivals *r, mcds_lock **writer_out,
                         uint32_t lease_ms)
{
    open_rivals(suite, r, lease_ms);
    *writer_out = open_lock(suite->store, r->name, lease_ms, "writer");
    if (suite->can.ttl_readable)
        return;
    CHECK(MCDS_UNSUPPORTED, suite, mcds_lock_try_acquire_shared, r->mine, &r->lease);
    CHECK_SENTENCE("reports the time that a key has left");
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire, r->theirs, 10000, &r->other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r->theirs, &r->other);
    mcds_lock_close(*writer_out);
    close_rivals(r);
    skip_because("a store that reports no ttl, where no lock is shared");
}

static void close_sharers(struct rivals *r, mcds_lock *writer)
{
    mcds_lock_close(writer);
    close_rivals(r);
}

static void share_both(struct suite *suite, struct rivals *r)
{
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r->mine, &r->lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire_shared, r->theirs, &r->other);
}

void readers_share_and_exclude_a_writer(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lease alone = MCDS_LEASE_INIT;
    open_sharers(suite, &r, &writer, 20000);
    share_both(suite, &r);
    assert_true(r.other.fence > r.lease.fence);
    assert_true(mcds_lock_remaining_ms(r.mine, &r.lease) > 10000);
    CHECK(MCDS_BUSY, suite, mcds_lock_try_acquire, writer, &alone);
    CHECK_SENTENCE("another holds it");
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_BUSY, suite, mcds_lock_try_acquire, writer, &alone);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    uint64_t fence = r.other.fence;
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_acquire, writer, 10000, &alone);
    assert_true(alone.fence > fence);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
    fence = alone.fence;
    CHECK(MCDS_OK, suite, mcds_lock_release, writer, &alone);
    CHECK(MCDS_OK, suite, mcds_lock_acquire_shared, r.mine, 10000, &r.lease);
    assert_true(r.lease.fence > fence);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_sharers(&r, writer);
}

void the_holder_shows_who_shares(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_sharers(suite, &r, &writer, 20000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_watch, writer, 0, &holder);
    assert_int_equal(holder.shared, 1);
    assert_string_equal(holder.label, "mine");
    uint64_t tenure = holder.tenure;
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_watch, writer, 0, &holder);
    assert_int_equal(holder.shared, 2);
    assert_int_equal(holder.intended, 0);
    assert_true(holder.tenure != tenure && holder.remaining_ms > 10000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    CHECK(MCDS_BUSY, suite, mcds_lock_watch, writer, 0, &holder);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_watch, writer, 0, &holder);
    assert_int_equal(holder.shared, 1);
    assert_string_equal(holder.label, "theirs");
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_watch, writer, 0, &holder);
    assert_int_equal(holder.shared, 0);
    close_sharers(&r, writer);
}

/* Whichever of them has begun first. */
void the_label_and_the_time_are_those_of_one_holder(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_lease lease = MCDS_LEASE_INIT;
    open_sharers(suite, &r, &writer, 20000);
    mcds_lock *lasting = open_lock(suite->store, r.name, 3600000, "lasting");
    share_both(suite, &r);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, lasting, &lease);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, writer, &holder);
    assert_string_equal(holder.label, "lasting");
    assert_true(holder.remaining_ms > 3000000);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, writer, &holder);
    assert_string_equal(holder.label, "lasting");
    CHECK(MCDS_OK, suite, mcds_lock_release, lasting, &lease);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, writer, &holder);
    assert_true(holder.shared == 2 && holder.remaining_ms < 40000);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    mcds_lock_close(lasting);
    close_sharers(&r, writer);
}

/* Without the intent of the writer, readers that overlap would keep it out for ever. */
void a_writer_that_waits_keeps_readers_out(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lease alone = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    open_sharers(suite, &r, &writer, 20000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.mine, &r.lease);
    CHECK(MCDS_BUSY, suite, mcds_lock_acquire, writer, 200, &alone);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, writer, &holder);
    assert_int_equal(holder.shared, 1);
    assert_int_equal(holder.intended, 1);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
    CHECK_SENTENCE("a caller waits to have it alone");
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, writer, &holder);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, writer, &alone);
    CHECK(MCDS_OK, suite, mcds_lock_release, writer, &alone);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire_shared, r.theirs, 10000, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_sharers(&r, writer);
}

/* Also while others renew: each reader has its own time, which no other prolongs. */
void the_lease_of_one_reader_ends(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lease alone = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    open_sharers(suite, &r, &writer, 6000);
    share_both(suite, &r);
    for (int i = 0; i < 6; i++) {
        pass_ms(suite, 1500);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    }
    CHECK(MCDS_EXPIRED, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, writer, &holder);
    assert_int_equal(holder.shared, 1);
    assert_string_equal(holder.label, "theirs");
    CHECK(MCDS_BUSY, suite, mcds_lock_try_acquire, writer, &alone);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    pass_ms(suite, 8001);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, writer, &alone);
    CHECK_OTHER(MCDS_LOST, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_release, writer, &alone);
    close_sharers(&r, writer);
}

/* It keeps what the others have, to the millisecond: no rewriting shortens it. */
void nobody_shortens_the_lease_of_another_reader(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    open_sharers(suite, &r, &writer, 60000);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.mine, &r.lease);
    for (int i = 0; i < 500; i++) {
        pass_ms(suite, 117);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    }
    int64_t left_ms = mcds_lock_remaining_ms(r.mine, &r.lease);
    assert_in_range(left_ms, 1, 2000);
    pass_ms(suite, left_ms - 1);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_sharers(&r, writer);
}

void a_break_ends_all_that_share(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lease alone = MCDS_LEASE_INIT;
    open_sharers(suite, &r, &writer, 20000);
    share_both(suite, &r);
    CHECK(MCDS_BUSY, suite, mcds_lock_drop, writer);
    CHECK(MCDS_OK, suite, mcds_lock_break, writer);
    CHECK(MCDS_OK, suite, mcds_lock_acquire, writer, 10000, &alone);
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_OTHER(MCDS_LOST, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_release, writer, &alone);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_break, writer);
    close_sharers(&r, writer);
}

void a_shared_acquisition_has_a_text(struct suite *suite)
{
    struct rivals r;
    mcds_lock *writer;
    mcds_lock *imported = NULL;
    mcds_lease adopted = MCDS_LEASE_INIT;
    char text[MCDS_LEASE_TEXT];
    open_sharers(suite, &r, &writer, 20000);
    share_both(suite, &r);
    CHECK_RESULT(MCDS_OK, mcds_lock_export(r.mine, &r.lease, text));
    CHECK_RESULT(MCDS_OK, mcds_lock_import(suite->store, r.name, text, &imported, &adopted));
    assert_int_equal(adopted.fence, r.lease.fence);
    CHECK(MCDS_OK, suite, mcds_lock_renew, imported, &adopted);
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, imported, &adopted);
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    mcds_lock_close(imported);
    close_sharers(&r, writer);
}

void no_more_than_64_share(struct suite *suite)
{
    enum { MOST = MCDS_LOCK_SHARED_MAX };
    static mcds_lease leases[MOST];
    struct rivals r;
    mcds_lock *writer;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_sharers(suite, &r, &writer, 60000);
    for (int i = 0; i < MOST; i++) {
        leases[i] = (mcds_lease)MCDS_LEASE_INIT;
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire_shared, r.mine, &leases[i]);
        assert_true(i == 0 || leases[i].fence > leases[i - 1].fence);
    }
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire_shared, r.theirs, &r.other);
    CHECK_SENTENCE("64 share it");
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, r.mine, &holder);
    assert_int_equal(holder.shared, MOST);
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &leases[MOST / 2]);
    for (int i = 0; i < MOST; i++)
        CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &leases[i]);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.mine, &holder);
    close_sharers(&r, writer);
}
