/* Cache: fills, stale values, nothing, failures, large values. */
#include "structures/cache_cases.h"

#include <stdlib.h>

#include "base/frame.h"

const mcds_bytes key_k = {"k", 1};

int read_source(void *context, mcds_bytes key, mcds_fill *fill)
{
    struct source *source = context;
    assert_int_equal(key.length, 1);
    source->reads++;
    if (source->result != 0) {
        assert_int_equal(mcds_fill_add(fill, mcds_text("the source is away")), MCDS_OK);
        return source->result;
    }
    if (source->value == NULL)
        return MCDS_NOT_FOUND;
    return mcds_fill_add(fill, mcds_text(source->value));
}

void open_cached(struct suite *suite, struct cached *c, const mcds_cache_options *options)
{
    *c = (struct cached){.name = fresh_name(suite, "cache"),
                         .source = {.value = "one"},
                         .value = MCDS_VALUE_INIT};
    int result = mcds_cache_open(suite->store, c->name, options, &c->mine);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_cache_open(suite->other, c->name, options, &c->theirs));
}

void close_cached(struct cached *c)
{
    mcds_value_free(&c->value);
    mcds_cache_close(c->mine);
    mcds_cache_close(c->theirs);
}

void fetch_tagged(struct suite *suite, struct cached *c, int expected, mcds_cache_state state,
                  const char *value, const char *tag, const char *file, int line)
{
    const mcds_bytes tags[] = {mcds_text(tag)};
    c->state = MCDS_CACHE_MISSING;
    int result = CALL(suite, mcds_cache_fetch, c->mine, key_k, tags, tag != NULL, read_source,
                      &c->source, &c->value, &c->state);
    check_result(result, expected, file, line);
    _assert_int_equal((uintmax_t)c->state, (uintmax_t)state, file, line);
    if (value != NULL) {
        _assert_int_equal(c->value.length, strlen(value), file, line);
        _assert_memory_equal(c->value.data, value, strlen(value), file, line);
    }
}

uint32_t shortest_hold_ms(const struct suite *suite)
{
    return suite->can.ttl_early_ms > 0 ? 3000 : 50;
}

struct raw_key raw_item(const struct suite *suite, const char *tag, const char *name)
{
    struct raw_key raw = raw_key(suite, tag, name, -1);
    struct raw_key item = raw_key(suite, MCDS__TAG_CACHE_ITEM, name, -1);
    mcds__key_add_element(&raw.key, "k");
    mcds__key_add_element(&item.key, "k");
    raw.route = item.key;
    return raw;
}

static void one_fill_serves_all(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    c.source.value = "two";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_fetch, c.theirs, key_k, NULL, 0, read_source,
                &c.source, &c.value, NULL);
    CHECK_VALUE(&c, "one");
    assert_int_equal(c.source.reads, 1);
    close_cached(&c);
}

static void keys_have_values_of_their_own(struct suite *suite)
{
    static const char bytes[] = {'a', 0, 'b'};
    const mcds_bytes keys[] = {{bytes, 3}, {bytes, 1}, mcds_text("k:k"), mcds_text("~")};
    struct cached c;
    open_cached(suite, &c, NULL);
    for (size_t i = 0; i < 4; i++) {
        CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c.mine, keys[i], NULL, 0, 0, &c.value,
              &c.claim);
        assert_true(c.claim.mine);
        CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &keys[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK(MCDS_OK, suite, mcds_cache_look, c.mine, keys[i], NULL, 0, 0, &c.value, &c.claim);
        assert_int_equal(c.value.length, keys[i].length);
        assert_memory_equal(c.value.data, keys[i].data, keys[i].length);
    }
    close_cached(&c);
}

static void empty_values_are_values(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    c.source.value = "";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "");
    close_cached(&c);
}

static void nothing_is_stored_too(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.nothing_ms = 1000;
    open_cached(suite, &c, &options);
    c.source.value = NULL;
    FETCH(suite, &c, MCDS_NOT_FOUND, MCDS_CACHE_FILLED, NULL);
    FETCH(suite, &c, MCDS_NOT_FOUND, MCDS_CACHE_FRESH, NULL);
    assert_int_equal(c.source.reads, 1);
    shift_wall_ms(suite, 1001);
    c.source.value = "one";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    shift_wall_ms(suite, -1001);
    close_cached(&c);
}

static void failures_are_stored_and_rest(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    int64_t moved = 0;
    options.failed_ms = 1000;
    open_cached(suite, &c, &options);
    c.source.result = 7;
    for (uint32_t i = 1; i <= 3; i++) {
        FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
        CHECK_SENTENCE("the source could not be read");
        assert_int_equal(c.source.reads, i);
        int64_t rest_ms = 1000 << (i - 1);
        shift_wall_ms(suite, rest_ms - 500);
        FETCH(suite, &c, MCDS_IO, MCDS_CACHE_MISSING, "the source is away");
        CHECK_SENTENCE("no caller tries again yet");
        assert_int_equal(c.source.reads, i);
        shift_wall_ms(suite, 501);
        moved += rest_ms + 1;
    }
    c.source.result = 0;
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    shift_wall_ms(suite, -moved);
    close_cached(&c);
}

static void stale_values_are_shown_while_one_fills(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.ttl_ms = 1000;
    options.stale_ms = 10000;
    open_cached(suite, &c, &options);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    shift_wall_ms(suite, 1001);
    c.source.value = "two";
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_look, c.theirs, key_k, NULL, 0, 0, &c.value,
                &c.other);
    CHECK_VALUE(&c, "one");
    assert_true(c.other.mine);
    assert_int_equal(c.other.state, MCDS_CACHE_STALE);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    assert_int_equal(c.source.reads, 1);
    const mcds_bytes three = mcds_text("three");
    CHECK_OTHER(MCDS_OK, suite, mcds_cache_put, c.theirs, &c.other, &three);
    assert_false(c.other.mine);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "three");
    shift_wall_ms(suite, 1001);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two"); /* the claim was given back */
    shift_wall_ms(suite, 11002);
    c.source.value = "four";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "four"); /* nobody gets what is too old */
    shift_wall_ms(suite, -13004);
    close_cached(&c);
}

static void a_failed_refresh_shows_the_stale_value(struct suite *suite)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    struct cached c;
    options.ttl_ms = 1000;
    options.stale_ms = 100000;
    open_cached(suite, &c, &options);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    shift_wall_ms(suite, 1001);
    c.source.result = 7;
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    assert_int_equal(c.source.reads, 2);
    shift_wall_ms(suite, 1001);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    assert_int_equal(c.source.reads, 3);
    shift_wall_ms(suite, 1001);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_STALE, "one");
    assert_int_equal(c.source.reads, 3); /* twice the time */
    shift_wall_ms(suite, 1000);
    c.source.result = 0;
    c.source.value = "two";
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "two");
    shift_wall_ms(suite, -4003);
    close_cached(&c);
}

static char *make_large(size_t length, char byte)
{
    char *bytes = malloc(length);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(byte + (char)(i % 61));
    return bytes;
}

static void put_large(struct suite *suite, struct cached *c, char *bytes, size_t length)
{
    const mcds_bytes value = {bytes, length};
    CHECK(MCDS_OK, suite, mcds_cache_forget, c->mine, key_k);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c->mine, key_k, NULL, 0, 0, &c->value,
          &c->claim);
    CHECK(MCDS_OK, suite, mcds_cache_put, c->mine, &c->claim, &value);
}

/* In pieces: read whole or not at all. */
static void large_values_are_whole(struct suite *suite)
{
    enum { LENGTH = 1200001 };
    struct cached c;
    open_cached(suite, &c, NULL);
    char *bytes = make_large(LENGTH, 'a');
    put_large(suite, &c, bytes, LENGTH);
    CHECK(MCDS_OK, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
    assert_int_equal(c.value.length, LENGTH);
    assert_memory_equal(c.value.data, bytes, LENGTH);
    /* The life of its pieces is at the start of what follows the head. */
    struct raw_key item = raw_item(suite, MCDS__TAG_CACHE_ITEM, c.name);
    uint8_t frame[256];
    size_t length = 0;
    assert_true(raw_read(suite, &item, frame, sizeof frame, &length));
    struct raw_key piece = raw_item(suite, MCDS__TAG_CACHE_PIECE, c.name);
    mcds__key_add_hex(&piece.key, mcds__get_u64(frame + MCDS__FRAME_HEAD + 48), 16);
    mcds__key_add_number(&piece.key, 1);
    assert_int_equal(raw_set(suite, &piece, "another"), MCDS_OUT_OK);
    CHECK(MCDS_NOT_FOUND, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value,
          &c.claim);
    assert_true(c.claim.mine);
    CHECK(MCDS_OK, suite, mcds_cache_put, c.mine, &c.claim, &(mcds_bytes){bytes, LENGTH});
    assert_true(raw_read(suite, &item, frame, sizeof frame, &length));
    piece = raw_item(suite, MCDS__TAG_CACHE_PIECE, c.name);
    mcds__key_add_hex(&piece.key, mcds__get_u64(frame + MCDS__FRAME_HEAD + 48), 16);
    mcds__key_add_number(&piece.key, 0);
    assert_int_equal(raw_delete(suite, &piece), MCDS_OUT_OK);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    free(bytes);
    close_cached(&c);
}

/* Any number of pieces, and lengths around their ends. */
static void pieces_fit(struct suite *suite)
{
    static const size_t lengths[] = {524287, 524288, 524289, 1048576, 6000000};
    struct cached c;
    open_cached(suite, &c, NULL);
    char *bytes = make_large(6000000, 'A');
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        put_large(suite, &c, bytes, lengths[i]);
        CHECK(MCDS_OK, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
        assert_int_equal(c.value.length, lengths[i]);
        assert_memory_equal(c.value.data, bytes, lengths[i]);
    }
    free(bytes);
    close_cached(&c);
}

/* What is damaged is a miss, and is replaced. */
static void damage_is_a_miss(struct suite *suite)
{
    struct cached c;
    open_cached(suite, &c, NULL);
    struct raw_key item = raw_item(suite, MCDS__TAG_CACHE_ITEM, c.name);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    assert_int_equal(raw_set(suite, &item, "rubbish"), MCDS_OUT_OK);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FRESH, "one");
    struct raw_key generation = raw_key(suite, MCDS__TAG_CACHE, c.name, -1);
    assert_int_equal(raw_set(suite, &generation, "rubbish"), MCDS_OUT_OK);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_UNSTORED, "one");
    CHECK(MCDS_CORRUPT, suite, mcds_cache_look, c.mine, key_k, NULL, 0, 0, &c.value, &c.claim);
    CHECK(MCDS_OK, suite, mcds_cache_clear, c.mine);
    FETCH(suite, &c, MCDS_OK, MCDS_CACHE_FILLED, "one");
    close_cached(&c);
}

static const struct suite_case cases[] = {
    CASE(one_fill_serves_all),
    CASE(keys_have_values_of_their_own),
    CASE(empty_values_are_values),
    CASE(nothing_is_stored_too),
    CASE(failures_are_stored_and_rest),
    CASE(stale_values_are_shown_while_one_fills),
    CASE(a_failed_refresh_shows_the_stale_value),
    CASE_TWICE(large_values_are_whole),
    CASE_ONCE(pieces_fit),
    CASE(damage_is_a_miss),
    CASE(a_claim_has_one_owner),
    CASE(a_claim_ends_once),
    CASE(a_claim_is_renewed),
    CASE(an_ended_claim_to_refresh_is_told),
    CASE(who_waits_gets_the_value),
    CASE_ONCE(a_claim_ends_by_itself),
    CASE_ONCE(costly_values_are_filled_early),
    CASE_ONCE(looks_do_not_hasten_a_fill),
    CASE(an_early_claim_outlives_its_value),
    CASE(a_claim_keeps_its_value_in_the_store),
    CASE_ONCE(a_renewal_keeps_the_value_in_the_store),
    CASE(an_ended_claim_to_refresh_is_told),
    CASE(a_claim_of_another_value_is_replaced),
    CASE(a_failure_outlives_its_value),
    CASE_ONCE(a_failure_stays_when_the_value_is_gone),
    CASE(a_late_value_of_a_refresh_is_not_stored),
    CASE(a_damaged_claim_is_replaced),
    CASE(a_forgotten_fill_is_not_stored),
    CASE(an_expired_value_is_stale),
    CASE(tags_forget_their_values),
    CASE(tags_that_are_not_named_count),
    CASE(a_lost_generation_voids),
    CASE(clear_and_drop_forget_all),
    CASE(a_hold_keeps_fills_away),
    CASE(a_held_key_without_a_value),
    CASE(a_held_tag_keeps_fills_away),
    CASE_ONCE(a_hold_ends_with_its_value),
    CASE(a_hold_lives_as_long_as_it_was_asked),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
