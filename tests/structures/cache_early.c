/* Cache: claims to fill a value again, before its time is over or after. */
#include "structures/cache_cases.h"

static const mcds_bytes two = {"two", 3};

void put_costly(struct suite *suite, struct cached *c, mcds_cache *cache, int64_t cost_ms)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    CHECK(MCDS_OK, suite, mcds_cache_forget, c->mine, key_k);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, cache, key_k, NULL, 0, 0, &c->value, &claim);
    pass_ms(suite, cost_ms);
    CHECK(MCDS_OK, suite, mcds_cache_put, cache, &claim, &key_k);
}

/* Looks through `mine`: whether this call has the claim. */
static bool look_mine(struct suite *suite, struct cached *c, int expected)
{
    CHECK(expected, suite, mcds_cache_look, c->mine, key_k, NULL, 0, 0, &c->value, &c->claim);
    return c->claim.mine;
}

static bool look_theirs(struct suite *suite, struct cached *c, int expected)
{
    CHECK_OTHER(expected, suite, mcds_cache_look, c->theirs, key_k, NULL, 0, 0, &c->value,
                &c->other);
    return c->other.mine;
}

/* Without a stale time: reading the source takes half the ttl, so the fill begins when the last
 * quarter does. With a jitter of 1 that is 2970 to 3000 ms after the put. It is later by a quarter of the
 * time that a busy machine adds to reading the source, which the wall clock of the tests does not show. */
static void open_costly(struct suite *suite, struct cached *c)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.ttl_ms = 4000;
    options.jitter = 1;
    open_cached(suite, c, &options);
    put_costly(suite, c, c->mine, 2000);
}

/* A value whose filler has the shortest claim. */
static void open_hasty(struct suite *suite, struct cached *c, uint64_t stale_ms)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.ttl_ms = 4000;
    options.stale_ms = stale_ms;
    options.fill_ms = shortest_hold_ms(suite);
    open_cached(suite, c, &options);
    put_costly(suite, c, c->mine, 0);
}

/* One moment for each value, on which all callers agree. */
void costly_values_are_filled_early(struct suite *suite)
{
    enum { VALUES = 60, COST_MS = 100, LEFT_MS = 250 };
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    uint32_t early = 0;
    options.ttl_ms = 4000;
    options.jitter = 1;
    open_cached(suite, &c, &options);
    for (int i = 0; i < VALUES; i++) {
        put_costly(suite, &c, c.mine, COST_MS);
        shift_wall_ms(suite, 4000 - LEFT_MS);
        bool is_early = look_mine(suite, &c, MCDS_OK);
        early += is_early;
        assert_int_equal(c.claim.state, MCDS_CACHE_FRESH);
        if (is_early)
            CHECK(MCDS_OK, suite, mcds_cache_release, c.mine, &c.claim);
        assert_true(look_theirs(suite, &c, MCDS_OK) == is_early);
        if (is_early)
            CHECK_OTHER(MCDS_OK, suite, mcds_cache_release, c.theirs, &c.other);
        shift_wall_ms(suite, -(4000 - LEFT_MS));
    }
    /* One in e^1.1 to e^1.5: with 60 draws, between 2 and 40 but for one run in 10^5. */
    assert_in_range(early, 2, 40);
    close_cached(&c);
}

/* However many callers look, and how often: never before the last quarter of the time. */
void looks_do_not_hasten_a_fill(struct suite *suite)
{
    struct cached c;
    open_costly(suite, &c);
    for (int i = 0; i < 1000; i++) {
        shift_wall_ms(suite, i % 100 == 99 ? 296 : 0);
        assert_false(look_mine(suite, &c, MCDS_OK));
        assert_false(look_theirs(suite, &c, MCDS_OK));
        assert_int_equal(c.claim.state, MCDS_CACHE_FRESH);
    }
    shift_wall_ms(suite, 3500 - 2960);
    assert_true(look_mine(suite, &c, MCDS_OK));
    assert_int_equal(c.claim.state, MCDS_CACHE_FRESH);
    shift_wall_ms(suite, -3500);
    close_cached(&c);
}

/* The time of the value ends during the fill: no other caller fills the key. */
void an_early_claim_outlives_its_value(struct suite *suite)
{
    struct cached c;
    open_costly(suite, &c);
    shift_wall_ms(suite, 3500);
    assert_true(look_mine(suite, &c, MCDS_OK));
    assert_false(look_theirs(suite, &c, MCDS_OK));
    shift_wall_ms(suite, 501);
    assert_false(look_theirs(suite, &c, MCDS_BUSY));
    CHECK_SENTENCE("another caller is filling the key");
    CHECK_OTHER(MCDS_BUSY, suite, mcds_cache_look, c.theirs, key_k, NULL, 0, 500, &c.value,
                &c.other);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &two);
    assert_false(look_theirs(suite, &c, MCDS_OK));
    assert_int_equal(c.other.state, MCDS_CACHE_FRESH);
    CHECK_VALUE(&c, "two");
    /* A claim of a value whose time is over has one owner too, and can be given back. */
    shift_wall_ms(suite, 4001);
    assert_true(look_mine(suite, &c, MCDS_NOT_FOUND));
    assert_int_equal(c.claim.state, MCDS_CACHE_MISSING);
    assert_false(look_theirs(suite, &c, MCDS_BUSY));
    CHECK(MCDS_OK, suite, mcds_cache_release, c.mine, &c.claim);
    assert_true(look_theirs(suite, &c, MCDS_NOT_FOUND));
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "k");
    shift_wall_ms(suite, -8002);
    close_cached(&c);
}

/* The claim of a handle with a long fill_ms on a value that the store would expire before. */
static void check_kept(struct suite *suite, uint64_t stale_ms)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    mcds_cache *patient = NULL;
    struct cached c;
    open_hasty(suite, &c, stale_ms);
    options.fill_ms = 120000;
    CHECK_RESULT(MCDS_OK, mcds_cache_open(suite->store, c.name, &options, &patient));
    shift_wall_ms(suite, 4001);
    CHECK(stale_ms > 0 ? MCDS_OK : MCDS_NOT_FOUND, suite, mcds_cache_look, patient, key_k, NULL,
          0, 0, &c.value, &c.claim);
    assert_true(c.claim.mine);
    if (stale_ms > 0)
        CHECK_VALUE(&c, "k");
    if (suite->own_clock)
        shift_wall_ms(suite, 60000);
    else
        pass_ms(suite, 60000);
    assert_false(look_theirs(suite, &c, MCDS_BUSY));
    CHECK(MCDS_OK, suite, mcds_cache_put, patient, &c.claim, &two);
    assert_false(look_theirs(suite, &c, MCDS_OK));
    CHECK_VALUE(&c, "two");
    shift_wall_ms(suite, suite->own_clock ? -64001 : -4001);
    mcds_cache_close(patient);
    close_cached(&c);
}

void a_claim_keeps_its_value_in_the_store(struct suite *suite)
{
    check_kept(suite, 0);
    check_kept(suite, 10000);
}

/* A fill that takes longer than the store would keep the value. */
void a_renewal_keeps_the_value_in_the_store(struct suite *suite)
{
    struct cached c;
    uint32_t fill_ms = shortest_hold_ms(suite);
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    open_hasty(suite, &c, 0);
    pass_ms(suite, 4001);
    assert_true(look_mine(suite, &c, MCDS_NOT_FOUND));
    for (int64_t passed_ms = 0; passed_ms < 30000; passed_ms += fill_ms / 2) {
        pass_ms(suite, fill_ms / 2);
        CHECK(MCDS_OK, suite, mcds_cache_renew, c.mine, &c.claim);
    }
    assert_false(look_theirs(suite, &c, MCDS_BUSY));
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &two);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "two");
    close_cached(&c);
}

/* Opens a cache whose value is stale, and claims it. */
static void claim_stale(struct suite *suite, struct cached *c)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.stale_ms = 60000;
    open_cached(suite, c, &options);
    put_costly(suite, c, c->mine, 0);
    CHECK(MCDS_OK, suite, mcds_cache_expire, c->mine, key_k);
    assert_true(look_mine(suite, c, MCDS_OK));
    CHECK(MCDS_OK, suite, mcds_cache_renew, c->mine, &c->claim);
}

static void check_renewal_is_over(struct suite *suite, struct cached *c)
{
    CHECK(MCDS_EXPIRED, suite, mcds_cache_renew, c->mine, &c->claim);
    CHECK_SENTENCE("claim");
    assert_false(c->claim.mine);
}

/* The result of a renewal shows that the fill is in vain. */
void a_claim_to_refresh_ends_with_its_value(struct suite *suite)
{
    struct cached c;
    claim_stale(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    check_renewal_is_over(suite, &c);
    close_cached(&c);
    claim_stale(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    check_renewal_is_over(suite, &c);
    assert_true(look_theirs(suite, &c, MCDS_OK)); /* the claim was given back */
    close_cached(&c);
    claim_stale(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, 30000);
    check_renewal_is_over(suite, &c);
    close_cached(&c);
    claim_stale(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    assert_true(look_theirs(suite, &c, MCDS_NOT_FOUND));
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, &two);
    check_renewal_is_over(suite, &c);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "two");
    close_cached(&c);
}

/* A claim that is in vain keeps nobody from the value that is there now. */
void a_claim_of_another_value_is_replaced(struct suite *suite)
{
    struct cached c;
    claim_stale(suite, &c);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    assert_true(look_theirs(suite, &c, MCDS_OK));
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_renew, c.theirs, &c.other);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, &two);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "two");
    close_cached(&c);
}

/* The source fails, and the time of the value ends before or after. */
void a_failure_outlives_its_value(struct suite *suite)
{
    struct cached c;
    open_costly(suite, &c);
    c.source.result = 7;
    shift_wall_ms(suite, 3700);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "k");
    assert_int_equal(c.source.reads, 1);
    shift_wall_ms(suite, 400);
    FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
    assert_int_equal(c.source.reads, 1);
    shift_wall_ms(suite, 700);
    FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
    assert_int_equal(c.source.reads, 2);
    shift_wall_ms(suite, 1900); /* twice the time */
    FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
    assert_int_equal(c.source.reads, 2);
    shift_wall_ms(suite, 101);
    c.source.result = 0;
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    shift_wall_ms(suite, -6801);
    close_cached(&c);
}

/* The store keeps the failure for longer than it would have kept the value. */
void a_failure_stays_when_the_value_is_gone(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    options.ttl_ms = 1000;
    options.failed_ms = 60000;
    open_cached(suite, &c, &options);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    pass_ms(suite, 1001);
    c.source.result = 7;
    FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
    pass_ms(suite, 50000);
    FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
    assert_int_equal(c.source.reads, 2);
    close_cached(&c);
}

/* Another caller may have the claim by now: only the caller's clock shows that its own is over. */
void a_late_value_of_a_refresh_is_not_stored(struct suite *suite)
{
    struct cached c;
    claim_stale(suite, &c);
    pass_ms(suite, 10001);
    if (!suite->own_clock)
        assert_true(look_theirs(suite, &c, MCDS_OK) || suite->can.ttl_early_ms > 0);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &two);
    assert_false(c.claim.mine);
    close_cached(&c);
}

void a_damaged_claim_is_replaced(struct suite *suite)
{
    struct cached c;
    claim_stale(suite, &c);
    struct raw_key refresh = raw_item(suite, MCDS__TAG_CACHE_REFRESH, c.name);
    assert_int_equal(raw_set(suite, &refresh, "rubbish"), MCDS_OUT_OK);
    assert_true(look_theirs(suite, &c, MCDS_OK));
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, &two);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "two");
    close_cached(&c);
}
