/* Cache: claims, and callers that wait for them. */
#include "structures/cache_cases.h"

/* Claims "k" through `mine`. */
static void claim_key(struct suite *suite, struct cached *c)
{
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c->mine, key_k, NULL, 0, 0, &c->value,
          &c->claim);
    assert_true(c->claim.mine);
    assert_int_equal(c->claim.state, MCDS_CACHE_MISSING);
}

void a_claim_has_one_owner(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    claim_key(suite, &c);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_cache_look, c.theirs, key_k, NULL, 0, 0, &c.value,
                &c.other);
    CHECK_SENTENCE("another caller is filling the key");
    assert_false(c.other.mine);
    CHECK(MCDS_OK, suite, mcds_cache_release, c.mine, &c.claim);
    assert_false(c.claim.mine);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_cache_look, c.theirs, key_k, NULL, 0, 0, &c.value,
                &c.other);
    assert_true(c.other.mine);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value,
          &c.claim);
    assert_false(c.claim.mine);
    assert_int_equal(c.claim.state, MCDS_CACHE_FRESH);
    close_cached(&c);
}

void a_claim_ends_once(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    claim_key(suite, &c);
    mcds_cache_claim copy = c.claim;
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    CHECK(MCDS_INVALID, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    CHECK_SENTENCE("not the caller's");
    const mcds_bytes other = mcds_text("other");
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &copy, &other);
    CHECK_SENTENCE("not stored");
    assert_false(copy.mine);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "k");
    close_cached(&c);
}

void a_claim_is_renewed(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    claim_key(suite, &c);
    for (int i = 0; i < 3; i++)
        CHECK(MCDS_OK, suite, mcds_cache_renew, c.mine, &c.claim);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "k");
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_key(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_renew, c.mine, &c.claim);
    assert_false(c.claim.mine);
    close_cached(&c);
}

/* A claim that is released within the wait is taken over; one that stays is not. */
enum ending { FORGOTTEN, EXPIRED, HELD, ENDINGS };

/* A value "k", which is to be filled again: the claim is ours. Then the other handle ends it. */
static void end_refresh(struct suite *suite, struct cached *c, enum ending ending)
{
    claim_key(suite, c);
    CHECK(MCDS_OK, suite, mcds_cache_put, c->mine, &c->claim, &key_k);
    CHECK(MCDS_OK, suite, mcds_cache_expire, c->mine, key_k);
    CHECK(MCDS_OK, suite, mcds_cache_look, c->mine, key_k, NULL, 0, 0, &c->value, &c->claim);
    assert_true(c->claim.mine && c->claim.refreshes);
    if (ending == FORGOTTEN)
        CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c->theirs, key_k);
    else if (ending == EXPIRED)
        CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c->theirs, key_k);
    else
        CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c->theirs, key_k, 10000);
}

void an_ended_claim_to_refresh_is_told(struct suite *suite)
{
    struct cached c;
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.stale_ms = 600000;
    for (enum ending ending = FORGOTTEN; ending < ENDINGS; ending++) {
        open_cached(suite, &c, &options);
        end_refresh(suite, &c, ending);
        CHECK(MCDS_EXPIRED, suite, mcds_cache_fail, c.mine, &c.claim, mcds_text("no"));
        assert_false(c.claim.mine);
        close_cached(&c);
        open_cached(suite, &c, &options);
        end_refresh(suite, &c, ending);
        CHECK(MCDS_EXPIRED, suite, mcds_cache_release, c.mine, &c.claim);
        close_cached(&c);
    }
}

void who_waits_gets_the_value(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.wait_ms = 1;
    open_cached(suite, &c, &options);
    claim_key(suite, &c);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_cache_look, c.theirs, key_k, NULL, 0, 5, &c.value,
                &c.other);
    int result = CALL_IN(suite, suite->other_pipeline, mcds_cache_fetch, c.theirs, key_k, NULL,
                         0, read_source, &c.source, &c.value, NULL);
    CHECK_RESULT(MCDS_BUSY, result);
    assert_int_equal(c.source.reads, 0);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_fetch, c.theirs, key_k, NULL, 0, read_source,
                &c.source, &c.value, &c.state);
    assert_int_equal(c.state, MCDS_CACHE_FRESH);
    CHECK_VALUE(&c, "k");
    close_cached(&c);
}

/* The time of a caller that has died. */
void a_claim_ends_by_itself(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    options.fill_ms = shortest_hold_ms(suite);
    open_cached(suite, &c, &options);
    claim_key(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_fetch, c.theirs, key_k, NULL, 0, read_source,
                &c.source, &c.value, &c.state);
    assert_int_equal(c.state, MCDS_CACHE_FILLED);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    close_cached(&c);
}
