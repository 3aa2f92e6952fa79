/* Cache: forget, expire, tags, clear, drop and holds. */
#include "structures/cache_cases.h"

static void claim_tagged(struct suite *suite, struct cached *c, const char *tag)
{
    const mcds_bytes tags[] = {mcds_text(tag)};
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c->mine, key_k, tags, tag != NULL, 0,
          &c->value, &c->claim);
    assert_true(c->claim.mine);
}

/* A fill that began before is not stored, and its value is shown by no later call. */
void a_forgotten_fill_is_not_stored(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    claim_tagged(suite, &c, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    c.source.value = "two";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two");
    /* And in the middle of another claim. */
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_tagged(suite, &c, NULL);
    mcds_cache_claim late = c.claim;
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_tagged(suite, &c, NULL);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &late, &key_k);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, NULL);
    close_cached(&c);
}

void an_expired_value_is_stale(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.stale_ms = 60000;
    open_cached(suite, &c, &options);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    CHECK(MCDS_OK, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
    CHECK_VALUE(&c, "one");
    assert_int_equal(c.claim.state, MCDS_CACHE_STALE);
    assert_true(c.claim.mine);
    /* A refresh that began before another expire is not stored. */
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    c.source.value = "two";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "two");
    /* A claim of a fill ends too. */
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_tagged(suite, &c, NULL);
    CHECK(MCDS_OK, suite, mcds_cache_expire, c.mine, key_k);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    close_cached(&c);
    /* Without a stale time there is nothing to show. */
    open_cached(suite, &c, NULL);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK(MCDS_OK, suite, mcds_cache_expire, c.mine, key_k);
    claim_tagged(suite, &c, NULL);
    CHECK(MCDS_OK, suite, mcds_cache_release, c.mine, &c.claim);
    close_cached(&c);
}

void tags_forget_their_values(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one", "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget_tag, c.theirs, mcds_text("blue"));
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one", "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget_tag, c.theirs, mcds_text("red"));
    c.source.value = "two";
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two", "red");
    /* The fill that began before: its value is stored, and shown by no call. */
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_tagged(suite, &c, "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget_tag, c.theirs, mcds_text("red"));
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two", "red");
    close_cached(&c);
}

/* A reader that names fewer tags, or others, than the value was stored with. */
void tags_that_are_not_named_count(struct suite *suite)
{
    const mcds_bytes tags[] = {mcds_text("a"), mcds_text("b"), mcds_text("b")};
    struct cached c;
    open_cached(suite, &c, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c.mine, key_k, tags, 3, 0, &c.value,
          &c.claim);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "k");
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "k", "b");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget_tag, c.theirs, mcds_text("a"));
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "b");
    /* A value without the tag would outlive a forget of it. */
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "c");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    close_cached(&c);
}

/* What the store forgets is a miss, and a generation that is made again is another one. */
void a_lost_generation_voids(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    struct raw_key generation = raw_key(suite, MCDS__TAG_CACHE, c.name, -1);
    struct raw_key tag = raw_key(suite, MCDS__TAG_CACHE_TAG, c.name, -1);
    mcds__key_add_element(&tag.key, "red");
    tag.route = tag.key;
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    assert_int_equal(raw_delete(suite, &generation), MCDS_OUT_OK);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    assert_int_equal(raw_delete(suite, &tag), MCDS_OUT_OK);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one", "red");
    /* Forgotten, then lost, and made again for another key. */
    CHECK(MCDS_OK, suite, mcds_cache_forget_tag, c.mine, mcds_text("red"));
    assert_int_equal(raw_delete(suite, &tag), MCDS_OUT_OK);
    const mcds_bytes red = mcds_text("red");
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c.mine, mcds_text("j"), &red, 1, 0, &c.value,
          &c.claim);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &red);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    close_cached(&c);
}

void clear_and_drop_forget_all(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_drop, c.mine);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_clear, c.theirs);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_drop, c.theirs);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_cache_drop, c.theirs);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    close_cached(&c);
}

void a_hold_keeps_fills_away(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.ttl_ms = 1000;
    options.stale_ms = 60000;
    open_cached(suite, &c, &options);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, 30000);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    shift_wall_ms(suite, 1001);
    c.source.value = "two";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    assert_int_equal(c.source.reads, 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two");
    /* A refresh that began before the hold. */
    shift_wall_ms(suite, 1001);
    CHECK(MCDS_OK, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
    assert_true(c.claim.mine);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, 30000);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_expire, c.theirs, key_k);
    c.source.value = "three";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "three");
    shift_wall_ms(suite, -2002);
    close_cached(&c);
}

/* Callers wait, and then read the source themselves. */
void a_held_key_without_a_value(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.wait_ms = 1;
    open_cached(suite, &c, &options);
    claim_tagged(suite, &c, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, 30000);
    CHECK(MCDS_EXPIRED, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_UNSTORED, "one");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_UNSTORED, "one");
    CHECK(MCDS_BUSY, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
    CHECK_SENTENCE("a writer holds the key");
    assert_string_equal(mcds_last_error()->option, "hold");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget, c.theirs, key_k);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    close_cached(&c);
}

void a_held_tag_keeps_fills_away(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.wait_ms = 1;
    open_cached(suite, &c, &options);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold_tag, c.theirs, mcds_text("red"), 30000);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one", "red");
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_UNSTORED, "one", "red");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one"); /* without the tag */
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_forget_tag, c.theirs, mcds_text("red"));
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    /* A tag that no value has had. */
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold_tag, c.theirs, mcds_text("blue"), 30000);
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold_tag, c.theirs, mcds_text("blue"), 30000);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_UNSTORED, "one", "blue");
    close_cached(&c);
}

/* The writer has died: the value that it held ends, and so do those under a tag. */
void a_hold_ends_with_its_value(struct suite *suite)
{
    struct cached c;
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    open_cached(suite, &c, NULL);
    uint32_t hold_ms = shortest_hold_ms(suite);
    int64_t over_ms = (int64_t)hold_ms + suite->can.ttl_early_ms + 1001;
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one", "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, hold_ms);
    c.source.value = "two";
    pass_ms(suite, over_ms);
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two", "red");
    /* A fill that begins before the hold of a tag renews no hold. */
    CHECK(MCDS_OK, suite, mcds_cache_forget, c.mine, key_k);
    claim_tagged(suite, &c, "red");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold_tag, c.theirs, mcds_text("red"), hold_ms);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &key_k);
    pass_ms(suite, over_ms);
    c.source.value = "three";
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "three", "red");
    FETCH_TAGGED(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "three", "red");
    close_cached(&c);
}

/* A second, shorter hold does not shorten the first. */
void a_hold_lives_as_long_as_it_was_asked(struct suite *suite)
{
    struct cached c;
    uint32_t hold_ms = shortest_hold_ms(suite);
    open_cached(suite, &c, NULL);
    CHECK(MCDS_INVALID, suite, mcds_cache_hold, c.mine, key_k, hold_ms - 1);
    CHECK_SENTENCE("hold_ms");
    CHECK(MCDS_INVALID, suite, mcds_cache_hold_tag, c.mine, key_k, 3600001);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_hold, c.theirs, key_k, 60000);
    CHECK(MCDS_OK, suite, mcds_cache_hold, c.mine, key_k, hold_ms);
    if (!suite->own_clock && suite->can.ttl_readable) {
        pass_ms(suite, 20000);
        FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    }
    close_cached(&c);
}
