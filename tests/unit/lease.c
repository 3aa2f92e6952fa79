/* Leases whose requests are lost or refused: the answers, and how long the caller may assume
 * that it holds the lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define LEASE_MS 6000
#define TIMEOUT_MS 1000
#define WAIT_MS 40000

struct fixture {
    struct fake_env fake;
    struct counting_backend counting;
    mcds_store *store;
    mcds_lock *mine;
    mcds_lock *theirs;
    mcds_lease lease;
    mcds_lease other;
};

static int open_place(void **state)
{
    static struct fixture fixture;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_lock_options lock = MCDS_LOCK_OPTIONS_INIT;
    memset(&fixture, 0, sizeof fixture);
    fake_env_init(&fixture.fake, 1);
    options.env = &fixture.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    lock.lease_ms = LEASE_MS;
    assert_int_equal(counting_backend_open(&fixture.counting, "memory:", &fixture.fake.env,
                                           &options, &fixture.store),
                     MCDS_OK);
    assert_int_equal(mcds_lock_open(fixture.store, "job", &lock, &fixture.mine), MCDS_OK);
    assert_int_equal(mcds_lock_open(fixture.store, "job", &lock, &fixture.theirs), MCDS_OK);
    fixture.lease = fixture.other = (mcds_lease)MCDS_LEASE_INIT;
    *state = &fixture;
    return 0;
}

static int close_place(void **state)
{
    struct fixture *fixture = *state;
    mcds_lock_close(fixture->mine);
    mcds_lock_close(fixture->theirs);
    mcds_close(fixture->store);
    assert_int_equal(fixture->fake.blocks, 0);
    return 0;
}

static void pass_ms(struct fixture *fixture, int64_t ms)
{
    const mcds_env *env = &fixture->fake.env;
    mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + ms * NS_PER_MS);
}

/* Every request from now on meets the fault. */
static void suffer(struct fixture *fixture, enum fault fault)
{
    counting_backend_arm(&fixture->counting, fault, 1, true);
}

static bool is_taken(struct fixture *fixture)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    return mcds_lock_get_holder(fixture->theirs, &holder) == MCDS_OK;
}

/* The caller believes that it holds the lock no longer than the store keeps it. */
static void check_deadline(struct fixture *fixture)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    assert_int_equal(mcds_lock_get_holder(fixture->mine, &holder), MCDS_OK);
    assert_true(mcds_lock_remaining_ms(fixture->mine, &fixture->lease) <= holder.remaining_ms);
}

static void a_release_that_was_applied_is_ambiguous(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_lock_remaining_ms(fixture->mine, &fixture->lease), 0);
    suffer(fixture, FAULT_UNSENT);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    suffer(fixture, FAULT_NONE);
    assert_false(is_taken(fixture));
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_LOST);
}

/* Its late add may still arrive, and would be that of a reader. */
static void a_lease_in_doubt_keeps_its_mode(void **state)
{
    struct fixture *fixture = *state;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_equal(mcds_lock_try_acquire_shared(fixture->mine, &fixture->lease),
                     MCDS_AMBIGUOUS);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_INVALID);
    assert_non_null(strstr(mcds_errmsg(), "in the other mode"));
    assert_int_equal(mcds_lock_try_acquire_shared(fixture->theirs, &fixture->other), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_get_holder(fixture->mine, &holder), MCDS_OK);
    assert_int_equal(holder.shared, 2);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_OK);
    assert_false(is_taken(fixture));
}

/* A reader reads before it writes: a reply that is lost then changes nothing. */
static void a_reader_whose_look_is_lost_keeps_its_lease(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire_shared(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(fixture->theirs, &fixture->other), MCDS_OK);
    pass_ms(fixture, 1000);
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_UNAVAILABLE);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    check_deadline(fixture);
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_not_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_OK);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
    assert_false(is_taken(fixture));
}

static void a_release_that_is_refused_is_not_done(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    fixture->counting.stale_tokens = true;
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_UNAVAILABLE);
    assert_non_null(strstr(mcds_errmsg(), "compare-and-delete"));
    assert_true(is_taken(fixture));
    fixture->counting.stale_tokens = false;
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
    assert_false(is_taken(fixture));
}

/* BUSY would say that another holds it. */
static void a_renewal_that_is_refused_is_not_done(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    int64_t deadline_ns = fixture->lease.deadline_ns;
    pass_ms(fixture, 1000);
    fixture->counting.stale_tokens = true;
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_UNAVAILABLE);
    assert_non_null(strstr(mcds_errmsg(), "compare-and-set"));
    assert_int_equal(fixture->lease.deadline_ns, deadline_ns);
    fixture->counting.stale_tokens = false;
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    assert_true(fixture->lease.deadline_ns > deadline_ns);
}

/* An extension that landed during a renewal in doubt is not taken for one of the next renewal: its
 * time has begun earlier. */
static void an_extension_in_doubt_gives_no_more_time(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    pass_ms(fixture, 1000);
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    pass_ms(fixture, 2000);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    check_deadline(fixture);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    check_deadline(fixture);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
}

/* One that never landed hides no loss and is no loss. */
static void an_extension_that_never_landed_is_no_loss(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    suffer(fixture, FAULT_CUT_BEFORE);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    check_deadline(fixture);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
    assert_false(is_taken(fixture));
}

static void a_refusal_in_doubt_is_ambiguous(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->theirs, &fixture->other), MCDS_OK);
    counting_backend_arm(&fixture->counting, FAULT_CUT_BEFORE, 1, false);
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    counting_backend_arm(&fixture->counting, FAULT_NONE, 0, false);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_OK);
}

static void a_wait_outlasts_a_dead_server(void **state)
{
    static const enum fault faults[] = {FAULT_UNSENT, FAULT_CUT_BEFORE, FAULT_CUT_AFTER};
    static const int results[] = {MCDS_UNAVAILABLE, MCDS_AMBIGUOUS, MCDS_AMBIGUOUS};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        int64_t begun_ns = mcds__monotonic_ns(&fixture->fake.env);
        fixture->lease = (mcds_lease)MCDS_LEASE_INIT;
        suffer(fixture, faults[i]);
        assert_int_equal(mcds_lock_acquire(fixture->mine, WAIT_MS, &fixture->lease),
                         results[i]);
        int64_t waited_ns = mcds__monotonic_ns(&fixture->fake.env) - begun_ns;
        assert_in_range(waited_ns, WAIT_MS * NS_PER_MS, (WAIT_MS + TIMEOUT_MS) * NS_PER_MS);
    }
}

/* The last look is at the end of the wait, also after a server that was away. */
static void a_watch_outlasts_a_dead_server(void **state)
{
    static const enum fault faults[] = {FAULT_UNSENT, FAULT_CUT_BEFORE, FAULT_CUT_AFTER};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        mcds_lock_holder holder = {.size = sizeof holder, .fence = 7, .tenure = 9};
        int64_t begun_ns = mcds__monotonic_ns(&fixture->fake.env);
        suffer(fixture, faults[i]);
        assert_int_equal(mcds_lock_watch(fixture->mine, WAIT_MS, &holder), MCDS_UNAVAILABLE);
        int64_t waited_ns = mcds__monotonic_ns(&fixture->fake.env) - begun_ns;
        assert_in_range(waited_ns, WAIT_MS * NS_PER_MS, (WAIT_MS + TIMEOUT_MS) * NS_PER_MS);
        assert_int_equal(holder.fence, 7);
        assert_int_equal(holder.tenure, 9);
    }
}

/* A caller that has lost a lease with all that the server held gets a sentence that says so. */
static void a_server_that_lost_everything_is_named(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_break(fixture->theirs), MCDS_OK);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_LOST);
    assert_null(strstr(mcds_errmsg(), "restarted"));
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    static const char *const keys[] = {"mcds:lk1:job", "mcds:lf1:job"};
    for (int i = 0; i < 2; i++) {
        mcds_request erase = {.command = MCDS_DELETE, .key = mcds_text(keys[i])};
        mcds_batch batch = {.requests = &erase, .count = 1, .deadline_ns = INT64_MAX};
        mcds__store_execute(fixture->store, 0, &batch);
        assert_int_equal(erase.reply.outcome, MCDS_OUT_OK);
    }
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_LOST);
    assert_non_null(strstr(mcds_errmsg(), "the store has lost the lease and its fence"));
}

/* A lease that two processes have: `theirs` imports what `mine` has exported. */
static void share(struct fixture *fixture, char text[MCDS_LEASE_TEXT])
{
    assert_int_equal(mcds_lock_try_acquire(fixture->mine, &fixture->lease), MCDS_OK);
    assert_int_equal(mcds_lock_export(fixture->mine, &fixture->lease, text), MCDS_OK);
    mcds_lock_close(fixture->theirs);
    assert_int_equal(
        mcds_lock_import(fixture->store, "job", text, &fixture->theirs, &fixture->other),
        MCDS_OK);
}

/* The renewal of one process is not taken for that of the other, whose time began later. */
static void a_renewal_by_another_process_gives_no_more_time(void **state)
{
    struct fixture *fixture = *state;
    char text[MCDS_LEASE_TEXT];
    share(fixture, text);
    pass_ms(fixture, 1000);
    assert_int_equal(mcds_lock_renew(fixture->theirs, &fixture->other), MCDS_OK);
    pass_ms(fixture, 2000);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
    check_deadline(fixture);
    /* Also where each of them leaves renewals in doubt. */
    for (int i = 0; i < 4; i++) {
        mcds_lock *lock = i % 2 == 0 ? fixture->theirs : fixture->mine;
        mcds_lease *lease = i % 2 == 0 ? &fixture->other : &fixture->lease;
        pass_ms(fixture, 500);
        suffer(fixture, i < 2 ? FAULT_CUT_AFTER : FAULT_CUT_BEFORE);
        assert_int_equal(mcds_lock_renew(lock, lease), MCDS_AMBIGUOUS);
        suffer(fixture, FAULT_NONE);
        pass_ms(fixture, 500);
        assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_OK);
        check_deadline(fixture);
    }
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_OK);
    assert_false(is_taken(fixture));
}

/* A process that may have released the lease exports and renews it no more; the text of the others
 * says what has become of it. */
static void a_shared_lease_keeps_doubt(void **state)
{
    struct fixture *fixture = *state;
    char text[MCDS_LEASE_TEXT];
    char none[MCDS_LEASE_TEXT];
    share(fixture, text);
    suffer(fixture, FAULT_CUT_BEFORE);
    assert_int_equal(mcds_lock_release(fixture->mine, &fixture->lease), MCDS_AMBIGUOUS);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_export(fixture->mine, &fixture->lease, none), MCDS_INVALID);
    assert_int_equal(mcds_lock_renew(fixture->mine, &fixture->lease), MCDS_EXPIRED);
    assert_int_equal(mcds_lock_renew(fixture->theirs, &fixture->other), MCDS_OK);
    suffer(fixture, FAULT_CUT_AFTER);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_AMBIGUOUS);
    suffer(fixture, FAULT_NONE);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_AMBIGUOUS);
    mcds_lock_close(fixture->theirs);
    assert_int_equal(
        mcds_lock_import(fixture->store, "job", text, &fixture->theirs, &fixture->other),
        MCDS_OK);
    assert_int_equal(mcds_lock_release(fixture->theirs, &fixture->other), MCDS_LOST);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_release_that_was_applied_is_ambiguous, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(a_lease_in_doubt_keeps_its_mode, open_place, close_place),
    cmocka_unit_test_setup_teardown(a_reader_whose_look_is_lost_keeps_its_lease, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(a_release_that_is_refused_is_not_done, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(a_renewal_that_is_refused_is_not_done, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(an_extension_in_doubt_gives_no_more_time, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(an_extension_that_never_landed_is_no_loss, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(a_refusal_in_doubt_is_ambiguous, open_place, close_place),
    cmocka_unit_test_setup_teardown(a_renewal_by_another_process_gives_no_more_time, open_place,
                                    close_place),
    cmocka_unit_test_setup_teardown(a_shared_lease_keeps_doubt, open_place, close_place),
    cmocka_unit_test_setup_teardown(a_wait_outlasts_a_dead_server, open_place, close_place),
    cmocka_unit_test_setup_teardown(a_watch_outlasts_a_dead_server, open_place, close_place),
    cmocka_unit_test_setup_teardown(a_server_that_lost_everything_is_named, open_place,
                                    close_place),
};

int main(void)
{
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
