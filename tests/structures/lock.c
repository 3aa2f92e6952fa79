/* Lock: tenures, fences, loss, what is refused. */
#include "structures/lock_cases.h"

mcds_lock *open_lock(mcds_store *store, const char *name, uint32_t lease_ms, const char *label)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    options.lease_ms = lease_ms;
    options.label = label;
    int result = mcds_lock_open(store, name, &options, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return lock;
}

uint32_t shortest_lease_ms(const struct suite *suite)
{
    return suite->can.ttl_early_ms > 0 ? 3000 : 50;
}

void open_rivals(struct suite *suite, struct rivals *rivals, uint32_t lease_ms)
{
    rivals->name = fresh_name(suite, "lock");
    rivals->mine = open_lock(suite->store, rivals->name, lease_ms, "mine");
    rivals->theirs = open_lock(suite->other, rivals->name, lease_ms, "theirs");
    rivals->lease = rivals->other = (mcds_lease)MCDS_LEASE_INIT;
}

void close_rivals(struct rivals *rivals)
{
    mcds_lock_close(rivals->mine);
    mcds_lock_close(rivals->theirs);
}

static void check_empty(const mcds_lock *lock, const mcds_lease *lease)
{
    assert_int_equal(lease->fence, 0);
    assert_int_equal(lease->deadline_ns, 0);
    assert_int_equal(mcds_lock_remaining_ms(lock, lease), 0);
}

static void one_holds_the_other_waits(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 5000);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.mine, &holder);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    assert_true(r.lease.fence > 0);
    assert_in_range(mcds_lock_remaining_ms(r.mine, &r.lease), 1, 5000);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    check_empty(r.theirs, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_get_holder, r.theirs, &holder);
    assert_string_equal(holder.label, "mine");
    /* The refused attempt drew a fence too. */
    assert_in_range(holder.fence, r.lease.fence, r.lease.fence + 1);
    if (suite->can.ttl_readable)
        assert_in_range(holder.remaining_ms, 1, 6000 + suite->can.ttl_early_ms);
    else
        assert_true(holder.remaining_ms == -1 ||
                    (holder.remaining_ms >= 1 && holder.remaining_ms <= 6000));
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    check_empty(r.mine, &r.lease);
    CHECK(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.mine, &holder);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

static void fences_grow(struct suite *suite)
{
    struct rivals r;
    uint64_t newest = 0;
    open_rivals(suite, &r, 0);
    for (int i = 0; i < 6; i++) {
        CHECK(MCDS_OK, suite, mcds_lock_acquire, r.mine, 0, &r.lease);
        assert_true(r.lease.fence > newest);
        newest = r.lease.fence;
        if (i % 3 == 2)
            CHECK_OTHER(MCDS_OK, suite, mcds_lock_break, r.theirs);
        else
            CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
        r.lease = (mcds_lease)MCDS_LEASE_INIT;
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_acquire, r.theirs, 0, &r.other);
        assert_true(r.other.fence > newest);
        newest = r.other.fence;
        CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    }
    close_rivals(&r);
}

/* As after an eviction or a restart: the lease, the fence or both are gone. */
static void fences_grow_over_loss(struct suite *suite)
{
    struct rivals r;
    open_rivals(suite, &r, 0);
    struct raw_key lease = raw_key(suite, MCDS__TAG_LOCK, r.name, -1);
    struct raw_key fence = raw_fence(suite, r.name);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    uint64_t newest = r.lease.fence;
    pass_ms(suite, 2);
    assert_int_equal(raw_delete(suite, &lease), MCDS_OUT_OK);
    assert_int_equal(raw_delete(suite, &fence), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    assert_true(r.other.fence > newest);
    newest = r.other.fence;
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    /* A handle remembers the newest fence, whatever the wall clock says. */
    assert_int_equal(raw_delete(suite, &fence), MCDS_OUT_OK);
    shift_wall_ms(suite, -3600000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    assert_true(r.other.fence > newest);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    shift_wall_ms(suite, 3600000);
    close_rivals(&r);
}

static void loss_is_told(struct suite *suite)
{
    struct rivals r;
    open_rivals(suite, &r, 0);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_break, r.theirs);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_break, r.theirs);
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_SENTENCE(r.name);
    check_empty(r.mine, &r.lease);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_SENTENCE("lost before");
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);

    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_break, r.theirs);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_SENTENCE(r.name);
    check_empty(r.mine, &r.lease);

    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_break, r.theirs);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    mcds_lease copy = r.lease;
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &copy);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* A renewal that is too late does not lengthen the lease of another holder. */
static void a_lost_lease_prolongs_no_other(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 60000);
    mcds_lock *brief = open_lock(suite->other, r.name, 5000, "brief");
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_break, brief);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, brief, &r.other);
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_get_holder, r.mine, &holder);
    assert_string_equal(holder.label, "brief");
    if (suite->can.ttl_readable)
        assert_in_range(holder.remaining_ms, 1, 6000 + suite->can.ttl_early_ms);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, brief, &r.other);
    mcds_lock_close(brief);
    close_rivals(&r);
}

static void a_lease_is_used_as_it_stands(struct suite *suite)
{
    struct rivals r;
    open_rivals(suite, &r, 0);
    CHECK(MCDS_INVALID, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_SENTENCE("holds nothing");
    CHECK(MCDS_INVALID, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_SENTENCE("holds nothing");
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    uint64_t fence = r.lease.fence;
    CHECK(MCDS_INVALID, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK_SENTENCE("held already");
    CHECK(MCDS_INVALID, suite, mcds_lock_acquire, r.mine, 10, &r.lease);
    assert_int_equal(r.lease.fence, fence);
    /* Another lease of the same handle is another holder. */
    CHECK(MCDS_BUSY, suite, mcds_lock_try_acquire, r.mine, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    mcds_lease copy = r.lease;
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_INVALID, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &copy);
    CHECK_SENTENCE("or was released before");
    close_rivals(&r);
}

static void labels_are_shown(struct suite *suite)
{
    char label[202];
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    const char *name = fresh_name(suite, "lock");
    for (size_t i = 0; i < sizeof label; i++)
        label[i] = (char)(1 + i);
    label[201] = '\0';
    options.label = label;
    int result = mcds_lock_open(suite->store, name, &options, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_INVALID, result);
    CHECK_SENTENCE("label");
    CHECK_SENTENCE("200");
    assert_null(lock);
    label[200] = '\0';
    static const char *const none[] = {NULL, ""};
    for (int i = 0; i < 3; i++) {
        const char *given = i == 0 ? label : none[i - 1];
        lock = open_lock(suite->store, name, 0, given);
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, lock, &lease);
        CHECK(MCDS_OK, suite, mcds_lock_get_holder, lock, &holder);
        assert_string_equal(holder.label, given != NULL ? given : "");
        CHECK(MCDS_OK, suite, mcds_lock_release, lock, &lease);
        mcds_lock_close(lock);
    }
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    static const char *const foreign[] = {"", "junk", "mdL\1 but not of this library's making",
                                          "17"};
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 0);
    struct raw_key key = raw_key(suite, MCDS__TAG_LOCK, r.name, -1);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_int_equal(raw_set(suite, &key, foreign[i]), MCDS_OUT_OK);
        CHECK(MCDS_CORRUPT, suite, mcds_lock_try_acquire, r.mine, &r.lease);
        CHECK_SENTENCE(r.name);
        CHECK(MCDS_CORRUPT, suite, mcds_lock_acquire, r.mine, 10000, &r.lease);
        CHECK(MCDS_CORRUPT, suite, mcds_lock_get_holder, r.mine, &holder);
        CHECK(MCDS_OK, suite, mcds_lock_break, r.mine);
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
        assert_int_equal(raw_set(suite, &key, foreign[i]), MCDS_OUT_OK);
        mcds_lease copy = r.lease;
        CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &copy);
        CHECK(MCDS_LOST, suite, mcds_lock_release, r.mine, &r.lease);
    }
    close_rivals(&r);
}

static void a_foreign_fence_is_corrupt(struct suite *suite)
{
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 0);
    struct raw_key key = raw_fence(suite, r.name);
    assert_int_equal(raw_set(suite, &key, "no number"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    check_empty(r.mine, &r.lease);
    /* What was taken without a fence has been given back. */
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.theirs, &holder);
    assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

/* Increments of the highest number begin again at 0. */
static void a_forged_fence_is_corrupt(struct suite *suite)
{
    static const char *const forged[] = {"18446744073709551615", "18446744073709551613",
                                         "9223372036854775807", "0", "41"};
    struct rivals r;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    open_rivals(suite, &r, 0);
    struct raw_key key = raw_fence(suite, r.name);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        assert_int_equal(raw_set(suite, &key, forged[i]), MCDS_OUT_OK);
        for (int again = 0; again < 4; again++) {
            CHECK(MCDS_CORRUPT, suite, mcds_lock_try_acquire, r.mine, &r.lease);
            check_empty(r.mine, &r.lease);
        }
        CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_lock_get_holder, r.theirs, &holder);
    }
    assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* As where somebody restores an older copy of the store. */
static void a_fence_that_was_set_back_is_raised(struct suite *suite)
{
    struct rivals r;
    open_rivals(suite, &r, 0);
    struct raw_key key = raw_fence(suite, r.name);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    uint64_t newest = r.lease.fence;
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    assert_int_equal(raw_set(suite, &key, "5000000000"), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r.mine, &r.lease);
    assert_true(r.lease.fence > newest);
    newest = r.lease.fence;
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_try_acquire, r.theirs, &r.other);
    assert_true(r.other.fence > newest);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    close_rivals(&r);
}

static void names_are_apart(struct suite *suite)
{
    mcds_lock *locks[HARD_NAMES];
    mcds_lease leases[HARD_NAMES];
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        leases[i] = (mcds_lease)MCDS_LEASE_INIT;
        locks[i] = open_lock(suite->store, hard_name(i), 0, "");
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, locks[i], &leases[i]);
    }
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        CHECK(MCDS_OK, suite, mcds_lock_release, locks[i], &leases[i]);
        mcds_lock_close(locks[i]);
    }
}

static void check_refused(struct suite *suite, const mcds_lock_options *options,
                          const char *word)
{
    mcds_lock *lock = NULL;
    int result = mcds_lock_open(suite->store, "named", options, &lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_INVALID, result);
    CHECK_SENTENCE(word);
    assert_null(lock);
}

static void options_are_checked(struct suite *suite)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    char name[1026];
    mcds_lock *lock = NULL;
    options.size = 1;
    check_refused(suite, &options, "its size is 1");
    options.size = sizeof options;
    options.lease_ms = shortest_lease_ms(suite) - 1;
    check_refused(suite, &options,
                  suite->can.ttl_early_ms > 0 ? "must be 0 or 3000 to" : "must be 0 or 50 to");
    options.lease_ms = 86400001;
    check_refused(suite, &options, "86400000");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_RESULT(MCDS_INVALID, mcds_lock_open(suite->store, name, NULL, &lock));
    CHECK_SENTENCE("1024");
    CHECK_RESULT(MCDS_INVALID, mcds_lock_open(suite->store, "", NULL, &lock));
    CHECK_SENTENCE("empty");
    assert_null(lock);
    const uint32_t fine[] = {shortest_lease_ms(suite), 86400000};
    for (size_t i = 0; i < 2; i++) {
        mcds_lease lease = MCDS_LEASE_INIT;
        lock = open_lock(suite->store, fresh_name(suite, "lock"), fine[i], NULL);
        CHECK(MCDS_OK, suite, mcds_lock_try_acquire, lock, &lease);
        assert_true(mcds_lock_remaining_ms(lock, &lease) <= fine[i]);
        CHECK(MCDS_OK, suite, mcds_lock_release, lock, &lease);
        CHECK(MCDS_INVALID, suite, mcds_lock_acquire, lock, 86400001, &lease);
        CHECK_SENTENCE("wait");
        mcds_lock_close(lock);
    }
}

static void missing_arguments_are_refused(struct suite *suite)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    CHECK_RESULT(MCDS_INVALID, mcds_lock_open(NULL, "n", NULL, &lock));
    CHECK_SENTENCE("lock");
    CHECK_RESULT(MCDS_INVALID, mcds_lock_open(suite->store, NULL, NULL, &lock));
    CHECK_RESULT(MCDS_INVALID, mcds_lock_open(suite->store, "n", NULL, NULL));
    assert_null(lock);
    CHECK(MCDS_INVALID, suite, mcds_lock_try_acquire, NULL, &lease);
    CHECK_SENTENCE("acquire");
    CHECK(MCDS_INVALID, suite, mcds_lock_acquire, NULL, 1, &lease);
    CHECK(MCDS_INVALID, suite, mcds_lock_renew, NULL, &lease);
    CHECK_SENTENCE("renew");
    CHECK(MCDS_INVALID, suite, mcds_lock_release, NULL, &lease);
    CHECK_SENTENCE("release");
    CHECK(MCDS_INVALID, suite, mcds_lock_get_holder, NULL, &holder);
    CHECK_SENTENCE("holder");
    CHECK(MCDS_INVALID, suite, mcds_lock_watch, NULL, 1, &holder);
    CHECK_SENTENCE("watch");
    CHECK(MCDS_INVALID, suite, mcds_lock_break, NULL);
    CHECK_SENTENCE("break");
    char text[MCDS_LEASE_TEXT] = "x";
    CHECK_RESULT(MCDS_INVALID, mcds_lock_export(NULL, &lease, text));
    CHECK_SENTENCE("export");
    assert_string_equal(text, "");
    CHECK_RESULT(MCDS_INVALID, mcds_lock_import(suite->store, "n", NULL, &lock, &lease));
    CHECK_SENTENCE("import");
    CHECK(MCDS_INVALID, suite, mcds_lock_drop, NULL);
    CHECK_SENTENCE("drop");
    assert_int_equal(mcds_lock_remaining_ms(NULL, &lease), 0);
    lock = open_lock(suite->store, fresh_name(suite, "lock"), 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_try_acquire, lock, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_try_acquire_shared, lock, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_renew, lock, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_release, lock, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_get_holder, lock, NULL);
    CHECK(MCDS_INVALID, suite, mcds_lock_watch, lock, 1, NULL);
    assert_int_equal(mcds_lock_remaining_ms(lock, NULL), 0);
    CHECK_RESULT(MCDS_INVALID, mcds_lock_try_acquire_start(lock, &lease, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_lock_get_holder_start(lock, &holder, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_lock_break_start(lock, NULL, 1));
    mcds_lock_close(lock);
    mcds_lock_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(one_holds_the_other_waits),
    CASE(fences_grow),
    CASE(fences_grow_over_loss),
    CASE(drop_leaves_nothing),
    CASE(a_held_lock_is_not_dropped),
    CASE(a_young_fence_ends_by_itself),
    CASE(a_fence_ahead_of_the_clock_stays),
    CASE(a_number_that_is_no_fence_is_dropped),
    CASE(a_clock_after_2190_acquires_nothing),
    CASE(loss_is_told),
    CASE(a_lost_lease_prolongs_no_other),
    CASE(a_lease_is_used_as_it_stands),
    CASE(labels_are_shown),
    CASE(foreign_values_are_corrupt),
    CASE(a_foreign_fence_is_corrupt),
    CASE(a_forged_fence_is_corrupt),
    CASE(a_fence_that_was_set_back_is_raised),
    CASE(names_are_apart),
    CASE(options_are_checked),
    CASE(missing_arguments_are_refused),
    CASE(renewal_begins_the_time_again),
    CASE_WAITS(a_lease_ends),
    CASE_WAITS(a_release_after_the_deadline_is_lost),
    CASE(steps_of_the_wall_clock_move_no_lease),
    CASE(waiting_runs_out),
    CASE(a_watch_follows_the_holders),
    CASE(a_watch_needs_the_tenure),
    CASE(a_watch_reports_no_attempt_and_no_renewal),
    CASE(a_watch_reports_a_fence_that_fell),
    CASE(a_watch_runs_out),
    CASE_WAITS(a_watch_sees_a_lease_end),
    CASE(a_lease_is_shared_by_its_text),
    CASE(a_text_of_an_ended_lease_takes_no_other),
    CASE_WAITS(a_shared_lease_outlives_a_deadline),
    CASE_ONCE(a_text_that_is_not_whole_is_refused),
    CASE(readers_share_and_exclude_a_writer),
    CASE(the_holder_shows_who_shares),
    CASE(the_label_and_the_time_are_those_of_one_holder),
    CASE(a_writer_that_waits_keeps_readers_out),
    CASE(the_lease_of_one_reader_ends),
    CASE_ONCE(nobody_shortens_the_lease_of_another_reader),
    CASE(a_break_ends_all_that_share),
    CASE(a_shared_acquisition_has_a_text),
    CASE_ONCE(no_more_than_64_share),
    CASE_ONCE(waiting_gets_it_after_release),
    CASE_ONCE(one_holder_at_a_time),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
