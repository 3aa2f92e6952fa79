/* Lock: a lease that one process exports as text and another imports. The second store is that of the
 * other process. */
#include "base/environment.h"
#include "base/frame.h"
#include "structures/lock_cases.h"

#define DIGITS "0123456789abcdef"

/* Acquires and exports as one process, and imports as the other. `theirs` is then the imported handle. */
static void share(struct suite *suite, struct rivals *r, uint32_t lease_ms,
                  char text[MCDS_LEASE_TEXT])
{
    open_rivals(suite, r, lease_ms);
    mcds_lock_close(r->theirs);
    CHECK(MCDS_OK, suite, mcds_lock_try_acquire, r->mine, &r->lease);
    CHECK_RESULT(MCDS_OK, mcds_lock_export(r->mine, &r->lease, text));
    CHECK_RESULT(MCDS_OK, mcds_lock_import(suite->other, r->name, text, &r->theirs, &r->other));
    assert_int_equal(r->other.fence, r->lease.fence);
    assert_int_equal(r->other.deadline_ns, 0);
    assert_int_equal(mcds_lock_remaining_ms(r->theirs, &r->other), 0);
}

void a_lease_is_shared_by_its_text(struct suite *suite)
{
    struct rivals r;
    char text[MCDS_LEASE_TEXT];
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    share(suite, &r, 20000, text);
    assert_null(strpbrk(text, " \t\n"));
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    assert_in_range(mcds_lock_remaining_ms(r.theirs, &r.other), 10000, 20000);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_get_holder, r.theirs, &holder);
    assert_string_equal(holder.label, "mine");
    /* The owner renews too, and the text stays valid. */
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    mcds_lock_close(r.theirs);
    CHECK_RESULT(MCDS_OK, mcds_lock_import(suite->other, r.name, text, &r.theirs, &r.other));
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_LOST, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK_RESULT(MCDS_LOST, mcds_lock_export(r.mine, &r.lease, text));
    assert_string_equal(text, "");
    close_rivals(&r);
}

/* Whatever has happened to the lease of a text, it acts on no other lease. */
void a_text_of_an_ended_lease_takes_no_other(struct suite *suite)
{
    struct rivals r;
    char text[MCDS_LEASE_TEXT];
    share(suite, &r, 20000, text);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_LOST, suite, mcds_lock_release, r.theirs, &r.other);
    CHECK(MCDS_OK, suite, mcds_lock_acquire, r.mine, 10000, &r.lease);
    for (int renews = 0; renews < 2; renews++) {
        mcds_lock_close(r.theirs);
        CHECK_RESULT(MCDS_OK,
                     mcds_lock_import(suite->other, r.name, text, &r.theirs, &r.other));
        if (renews == 1)
            CHECK_OTHER(MCDS_LOST, suite, mcds_lock_renew, r.theirs, &r.other);
        else
            CHECK_OTHER(MCDS_LOST, suite, mcds_lock_release, r.theirs, &r.other);
        CHECK_OTHER(MCDS_LOST, suite, mcds_lock_release, r.theirs, &r.other);
    }
    CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    close_rivals(&r);
}

/* One process renews, and the other counts on it: its own deadline does not decide. */
static void outlive_deadline(struct suite *suite, bool renews)
{
    struct rivals r;
    char text[MCDS_LEASE_TEXT];
    share(suite, &r, suite->own_clock ? 8000 : 20000, text);
    int64_t left_ms = mcds_lock_remaining_ms(r.mine, &r.lease);
    pass_ms(suite, left_ms / 2);
    CHECK_OTHER(MCDS_OK, suite, mcds_lock_renew, r.theirs, &r.other);
    pass_ms(suite, left_ms / 2 + 1);
    assert_int_equal(mcds_lock_remaining_ms(r.mine, &r.lease), 0);
    if (renews)
        CHECK(MCDS_OK, suite, mcds_lock_renew, r.mine, &r.lease);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    CHECK_OTHER(MCDS_LOST, suite, mcds_lock_renew, r.theirs, &r.other);
    close_rivals(&r);
}

void a_shared_lease_outlives_a_deadline(struct suite *suite)
{
    if (suite->own_clock && suite->mode != WAITING)
        skip_because("asked by waiting calls alone, where time passes by itself");
    outlive_deadline(suite, true);
    if (!suite->own_clock)
        outlive_deadline(suite, false);
}

/* A text that mcds of a newer version has written. */
static void write_newer(char text[MCDS_LEASE_TEXT])
{
    uint8_t frame[32] = {0};
    size_t length = mcds__frame_seal(frame, 'T', 3, (mcds_bytes){NULL, 0}, 5);
    size_t at = strlen("mcds-lease:");
    memcpy(text, "mcds-lease:", at);
    for (size_t i = 0; i < length; i++) {
        text[at++] = DIGITS[frame[i] >> 4];
        text[at++] = DIGITS[frame[i] & 15];
    }
    text[at] = '\0';
}

static void refuse(mcds_store *store, const char *name, const char *text, int result)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = {.fence = 17};
    CHECK_RESULT(result, mcds_lock_import(store, name, text, &lock, &lease));
    assert_null(lock);
    assert_int_equal(lease.fence, 17);
}

/* Each character that is changed and each end that is missing shows. */
void a_text_that_is_not_whole_is_refused(struct suite *suite)
{
    struct rivals r;
    char text[MCDS_LEASE_TEXT];
    share(suite, &r, 20000, text);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        refuse(suite->other, r.name, text, MCDS_INVALID);
        CHECK_SENTENCE("not a lease");
        text[i] = '\0';
        refuse(suite->other, r.name, text, MCDS_INVALID);
        text[i] = was;
    }
    memcpy(text + length, "00", 3);
    refuse(suite->other, r.name, text, MCDS_INVALID);
    text[length] = '\0';
    refuse(suite->other, "another", text, MCDS_INVALID);
    CHECK_SENTENCE(r.name);
    CHECK(MCDS_OK, suite, mcds_lock_release, r.mine, &r.lease);
    write_newer(text);
    refuse(suite->other, r.name, text, MCDS_UNSUPPORTED);
    CHECK_SENTENCE("newer version");
    close_rivals(&r);
}
