/* Visitors and online that keep their members, exactly or as an estimate. */
#include <math.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/hash.h"
#include "base/hash/siphash.h"
#include "core/map/bucket/format.h"
#include "core/members/hyperloglog.h"
#include "structures/intervals.h"
#include "structures/suite.h"
#include "support/map_record.h"

#define MINUTE 60000
/* The beginning of a period of a minute. */
/* The beginning of a minute long enough ago for a hit in any of the minutes after it. */
#define A_MS (T0_MS / MINUTE * MINUTE - 200 * MINUTE)
#define PAST_MS (A_MS - 20 * MINUTE)
#define BUCKETS 3
/* One of them is another than any visitor for the estimate, which has 4096 registers. */
static const char *const others[] = {"bob", "cid", "dan"};
#define OTHERS (sizeof others / sizeof *others)

static mcds_visitors *open_visitors(mcds_store *store, const char *name, uint32_t members)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = MINUTE;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(store, name, &options, &visitors));
    return visitors;
}

static mcds_online *open_online(mcds_store *store, const char *name, uint32_t members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.buckets = BUCKETS;
    options.width_ms = MINUTE;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_online_open(store, name, &options, &online));
    return online;
}

static void check_visitors(struct suite *suite, mcds_visitors *visitors, int64_t at_ms,
                           uint64_t closed, uint64_t current)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value),
                                 .closed = 77,
                                 .current = 77,
                                 .estimate = 77,
                                 .error = 77,
                                 .provisional = true,
                                 .reborn = true};
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, at_ms, &value);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
    assert_false(value.reborn);
}

static void check_online(struct suite *suite, mcds_online *online, int64_t at_ms,
                         uint64_t closed, uint64_t current)
{
    mcds_online_value value = {.size = sizeof(mcds_online_value),
                               .closed = 77,
                               .current = 77,
                               .estimate = 77,
                               .error = 77,
                               .reborn = true};
    CHECK(MCDS_OK, suite, mcds_online_get, online, at_ms, &value);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
    assert_false(value.reborn);
}

/* A visitor that the estimate counts beside the first one. A hash of the structure decides, which is
 * the same in a period of the past. */
static const char *visitor_beside(struct suite *suite, mcds_visitors *visitors, const char *who)
{
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, who, PAST_MS);
    for (size_t i = 0; i < OTHERS; i++)
        if (CALL(suite, mcds_visitors_hit, visitors, others[i], PAST_MS) == MCDS_OK)
            return others[i];
    fail();
    return NULL;
}

static void counts_once_a_period(struct suite *suite, uint32_t members)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, members);
    mcds_visitors *other = open_visitors(suite->other, name, members);
    const char *bob = visitor_beside(suite, visitors, "ann");
    check_visitors(suite, visitors, A_MS, 0, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS + 1);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_visitors_hit, other, "ann", A_MS + MINUTE - 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, other, bob, A_MS + 2);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS + MINUTE);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, bob, A_MS + 3);
    check_visitors(suite, visitors, A_MS, 0, 2);
    check_visitors(suite, visitors, A_MS + MINUTE, 2, 1);
    check_visitors(suite, visitors, A_MS + 2 * MINUTE, 1, 0);
    check_visitors(suite, visitors, A_MS + 3 * MINUTE, 0, 0);
    mcds_visitors_close(visitors);
    mcds_visitors_close(other);
}

static void a_member_counts_once_a_period(struct suite *suite)
{
    counts_once_a_period(suite, MCDS_MEMBERS_EXACT);
    counts_once_a_period(suite, MCDS_MEMBERS_ESTIMATED);
}

static void the_estimate_takes_a_part_of_the_last_period(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"),
                                            MCDS_MEMBERS_EXACT);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    for (int i = 0; i < 4; i++) {
        char who[8];
        (void)snprintf(who, sizeof who, "%d", i);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, who, A_MS);
    }
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "9", A_MS + MINUTE);
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS + MINUTE + MINUTE / 4, &value);
    CHECK_NEAR(value.estimate, 4);
    CHECK_NEAR(value.error, sqrt(0.75));
    assert_false(value.provisional);
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS + MINUTE, &value);
    CHECK_NEAR(value.error, 0);
    assert_true(value.provisional);
    mcds_visitors_close(visitors);
}

/* As visitor_beside. */
static const char *beat_beside(struct suite *suite, mcds_online *online, const char *who)
{
    CHECK(MCDS_OK, suite, mcds_online_beat, online, who, PAST_MS);
    for (size_t i = 0; i < OTHERS; i++)
        if (CALL(suite, mcds_online_beat, online, others[i], PAST_MS) == MCDS_OK)
            return others[i];
    fail();
    return NULL;
}

/* The window holds a visitor that stays once, as the form without members does. */
static void stays(struct suite *suite, uint32_t members)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), members);
    const char *visits = beat_beside(suite, online, "stays");
    for (int i = 0; i < 6; i++) {
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "stays", A_MS + i * MINUTE);
        CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "stays", A_MS + i * MINUTE + 5);
    }
    CHECK(MCDS_OK, suite, mcds_online_beat, online, visits, A_MS + MINUTE);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, visits, A_MS + 5 * MINUTE);
    check_online(suite, online, A_MS, 0, 1);
    check_online(suite, online, A_MS + MINUTE, 1, 1);
    check_online(suite, online, A_MS + 2 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 4 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 5 * MINUTE, 1, 1);
    check_online(suite, online, A_MS + 8 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 9 * MINUTE, 0, 0);
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_online_get, online, A_MS + 4 * MINUTE + MINUTE / 2, &value);
    if (members == MCDS_MEMBERS_EXACT) {
        CHECK_NEAR(value.estimate,
                   1.5); /* half of those that came in the oldest bucket alone */
        CHECK_NEAR(value.error, 0.5);
    }
    mcds_online_close(online);
}

static void whoever_stays_is_one_of_the_window(struct suite *suite)
{
    stays(suite, MCDS_MEMBERS_EXACT);
    stays(suite, MCDS_MEMBERS_ESTIMATED);
}

/* Names of which a stranger can compute that an estimate with a known hash counts them as one, or
 * as a few. */
#define CHOSEN_MAX 8000
static char chosen[CHOSEN_MAX][48];

/* XXH3 multiplies the first 8 bytes, less 8 known ones and the seed, by the next 8, and adds the
 * last 16. */
static void choose_for_xxh3(int count)
{
    static const char head[] = "\xc4\xfe\x6c\x39\x23\xa4\x4b\xbe"; /* those, and the seed 12 */
    uint64_t hash = 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(chosen[i], sizeof chosen[i], "%s%08d%016d", head, i, 0);
        uint64_t other = mcds__hash(12, mcds_text(chosen[i]));
        assert_true(i == 0 || other == hash);
        hash = other;
    }
}

/* Under a hash key that somebody knows these have a few registers. */
static void choose_for_siphash(int count)
{
    static const uint64_t known[2] = {0, 0};
    unsigned number = 0;
    for (int i = 0; i < count; i++) {
        uint8_t rank;
        do {
            (void)snprintf(chosen[i], sizeof chosen[i], "%u", number++);
        } while (mcds__hll_register(mcds__siphash(known, mcds_text(chosen[i])), &rank) >= 16);
    }
}

/* All of them in the bucket, by this store's handle. */
static void beat_chosen(mcds_store *store, mcds_online *online, int count, int64_t at_ms)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    for (int i = 0; i < count; i++)
        CHECK_RESULT(MCDS_OK, mcds_online_beat_start(online, chosen[i], at_ms, pipeline, 1));
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        assert_true(done.result == MCDS_OK || done.result == MCDS_EXISTS);
    mcds_pipeline_close(pipeline);
}

static void assert_estimate(uint64_t value, int count)
{
    if (fabs((double)value - count) >= 5 * MCDS__HLL_ERROR * count)
        fail_msg("%llu for %d", (unsigned long long)value, count);
}

/* Two handles, each with the bucket that it makes. The window is their union. */
static void count_chosen(struct suite *suite, int count)
{
    const char *name = fresh_name(suite, "o");
    mcds_online *online = open_online(suite->store, name, MCDS_MEMBERS_ESTIMATED);
    mcds_online *other = open_online(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    beat_chosen(suite->store, online, count, A_MS);
    CHECK(MCDS_OK, suite, mcds_online_get, online, A_MS, &value);
    assert_estimate(value.current, count);
    beat_chosen(suite->other, other, count, A_MS + MINUTE);
    beat_chosen(suite->other, other, count, A_MS);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_get, other, A_MS + MINUTE, &value);
    assert_estimate(value.closed, count);
    assert_true(value.current == 0 && !value.reborn);
    mcds_online_close(online);
    mcds_online_close(other);
}

static void chosen_names_are_counted(struct suite *suite)
{
    int count = suite->can.durable ? CHOSEN_MAX / 16 : CHOSEN_MAX;
    choose_for_xxh3(count);
    count_chosen(suite, count);
    choose_for_siphash(CHOSEN_MAX / 16);
    count_chosen(suite, CHOSEN_MAX / 16);
}

/* The store has lost the settings, and another handle has made others: a window with buckets of
 * both hash keys counts nobody twice, and says that it may count too few. Then both handles use
 * the new key. */
static void a_lost_hash_key_counts_nobody_twice(struct suite *suite)
{
    const char *name = fresh_name(suite, "o");
    int count = CHOSEN_MAX / 16;
    mcds_online *online = open_online(suite->store, name, MCDS_MEMBERS_ESTIMATED);
    mcds_online *other = open_online(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    struct raw_key settings = raw_key(suite, MCDS__TAG_ONLINE, name, -1);
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    choose_for_siphash(count);
    beat_chosen(suite->store, online, count, A_MS);
    assert_int_equal(raw_delete(suite, &settings), MCDS_OUT_OK);
    beat_chosen(suite->other, other, count, A_MS + MINUTE);
    beat_chosen(suite->store, online, count, A_MS + MINUTE);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_get, other, A_MS + MINUTE, &value);
    assert_estimate(value.closed + value.current, count);
    assert_true(value.reborn);
    for (int i = 2; i < 5; i++)
        beat_chosen(suite->store, online, count, A_MS + i * MINUTE);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_get, other, A_MS + 4 * MINUTE, &value);
    assert_estimate(value.closed + value.current, count);
    assert_false(value.reborn);
    mcds_online_close(online);
    mcds_online_close(other);
}

/* A handle that makes lost settings again keeps their hash key, also one that it has only read. */
static void settings_are_made_again_with_their_hash_key(struct suite *suite)
{
    uint8_t value[2][256];
    size_t length[2];
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    const char *name = fresh_name(suite, "o");
    mcds_online *first = open_online(suite->store, name, MCDS_MEMBERS_ESTIMATED);
    mcds_online *online = open_online(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    struct raw_key settings = raw_key(suite, MCDS__TAG_ONLINE, name, -1);
    CHECK(MCDS_OK, suite, mcds_online_beat, first, "ann", 0);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", 0);
    assert_true(raw_read(suite, &settings, value[0], sizeof value[0], &length[0]));
    assert_int_equal(raw_delete(suite, &settings), MCDS_OUT_OK);
    pass_ms(suite, 10 * MINUTE);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
    assert_true(raw_read(suite, &settings, value[1], sizeof value[1], &length[1]));
    assert_int_equal(length[0], length[1]);
    /* after the head of the frame: life, hash key (docs/formats.md) */
    assert_memory_not_equal(value[0] + 4 + 8, value[1] + 4 + 8, 8);
    assert_memory_equal(value[0] + 4 + 16, value[1] + 4 + 16, 16);
    mcds_online_close(first);
    mcds_online_close(online);
}

/* The table of a read is in memory only, and each read hashes the names differently. */
static void each_read_hashes_differently(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"),
                                            MCDS_MEMBERS_EXACT);
    struct mcds__members *members = ((struct mcds__intervals *)(void *)visitors)->members;
    struct mcds__members_read reads[2];
    for (int i = 0; i < 2; i++)
        mcds__members_read_begin(&reads[i], members, 0, 1, false);
    for (int i = 0; i < 2; i++)
        assert_true(reads[0].seeds[i] != reads[1].seeds[i]);
    for (int i = 0; i < 2; i++)
        mcds__members_read_end(&reads[i]);
    mcds_visitors_close(visitors);
}

static void fill(mcds_store *store, mcds_visitors *visitors, int count)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    for (int i = 0; i < count; i++) {
        char who[32];
        (void)snprintf(who, sizeof who, "visitor %d", i);
        CHECK_RESULT(MCDS_OK,
                     mcds_visitors_hit_start(visitors, who, A_MS, pipeline, (uint64_t)i));
    }
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        assert_true(done.result == MCDS_OK || done.result == MCDS_EXISTS);
    mcds_pipeline_close(pipeline);
}

static void many_members_are_all_counted(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    int count = suite->can.durable ? 400 : 5000;
    mcds_visitors *visitors = open_visitors(suite->store, name, MCDS_MEMBERS_EXACT);
    fill(suite->store, visitors, count);
    fill(suite->store, visitors, count / 4);
    mcds_visitors *fresh = open_visitors(suite->other, name, MCDS_MEMBERS_EXACT);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS, &value);
    assert_int_equal(value.current, count);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, fresh, A_MS, &value);
    assert_int_equal(value.current, count);
    mcds_visitors_close(visitors);
    mcds_visitors_close(fresh);
}

static void many_members_are_estimated(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    int count = suite->can.durable ? 400 : 5000;
    mcds_visitors *visitors = open_visitors(suite->store, name, MCDS_MEMBERS_ESTIMATED);
    fill(suite->store, visitors, count);
    mcds_visitors *fresh = open_visitors(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors_value again = MCDS_VISITORS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS, &value);
    assert_true(fabs((double)value.current - count) < 5 * 0.01625 * count);
    assert_true(fabs(value.error - 0.01625 * value.estimate) < 1);
    fill(suite->other, fresh, count);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, fresh, A_MS, &again);
    assert_int_equal(again.current, value.current);
    mcds_visitors_close(visitors);
    mcds_visitors_close(fresh);
}

/* The same visitors, by two programs, some of them by both. */
static void the_estimate_is_near_the_exact_number(struct suite *suite)
{
    const char *exact_name = fresh_name(suite, "v");
    const char *guess_name = fresh_name(suite, "v");
    int count = suite->can.durable ? 300 : 3000;
    mcds_visitors *exact = open_visitors(suite->store, exact_name, MCDS_MEMBERS_EXACT);
    mcds_visitors *guess = open_visitors(suite->store, guess_name, MCDS_MEMBERS_ESTIMATED);
    mcds_visitors *exact_too = open_visitors(suite->other, exact_name, MCDS_MEMBERS_EXACT);
    mcds_visitors *guess_too = open_visitors(suite->other, guess_name, MCDS_MEMBERS_ESTIMATED);
    mcds_visitors_value known = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    fill(suite->store, exact, count);
    fill(suite->store, guess, count);
    fill(suite->other, exact_too, count * 4 / 3);
    fill(suite->other, guess_too, count * 4 / 3);
    CHECK(MCDS_OK, suite, mcds_visitors_get, exact, A_MS, &known);
    CHECK(MCDS_OK, suite, mcds_visitors_get, guess, A_MS, &value);
    assert_int_equal(known.current, count * 4 / 3);
    assert_true(fabs(value.estimate - known.estimate) < 5 * 0.01625 * known.estimate);
    mcds_visitors_close(exact);
    mcds_visitors_close(guess);
    mcds_visitors_close(exact_too);
    mcds_visitors_close(guess_too);
}

/* The members' key of the period, and that of the bucket, that run at at_ms. */
static struct raw_key members_key(struct suite *suite, const char *tag, const char *name,
                                  int64_t at_ms)
{
    struct raw_key raw = raw_key(suite, tag, name, MINUTE);
    raw_add_number(&raw, (uint64_t)at_ms / MINUTE);
    return raw;
}

/* Nothing but the ttl ends a period's members. */
static void members_expire_when_nobody_asks_for_them(struct suite *suite)
{
    char value[4096];
    if (suite->own_clock) {
        skip_because("this store's clock is its own");
    }
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        const char *name = fresh_name(suite, "v");
        const char *online_name = fresh_name(suite, "o");
        mcds_visitors *visitors = open_visitors(suite->store, name, members);
        mcds_online *online = open_online(suite->store, online_name, members);
        int64_t now_ms = wall_ms(suite);
        struct raw_key period = members_key(suite, MCDS__TAG_VISITOR_MEMBERS, name, now_ms);
        struct raw_key bucket = members_key(suite, MCDS__TAG_ONLINE_MEMBERS, online_name,
                                            now_ms);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", now_ms);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", now_ms);
        pass_ms(suite, 3 * MINUTE);
        assert_true(raw_get(suite, &period, value, sizeof value));
        pass_ms(suite, MINUTE);
        assert_false(raw_get(suite, &period, value, sizeof value));
        assert_true(raw_get(suite, &bucket, value, sizeof value));
        pass_ms(suite, 2 * MINUTE);
        assert_false(raw_get(suite, &bucket, value, sizeof value));
        mcds_visitors_close(visitors);
        mcds_online_close(online);
    }
}

/* As another program might write them: all sums are right. */
static void append_register(struct suite *suite, const struct raw_key *raw, mcds_bytes element,
                            mcds_bytes rank)
{
    mcds_buffer bytes;
    struct mcds__map_record record = {
        .command = {.verb = MCDS__MAP_PUT, .element = element, .value = rank},
        .writer = 4711,
        .seq = 1,
        .low = 1,
        .time_ms = wall_ms(suite),
    };
    mcds__buffer_init(&bytes, mcds_env_system(), 256);
    assert_true(map_record_put(&bytes, mcds__key_bytes(&raw->key), &record));
    assert_int_equal(raw_append(suite, raw, (mcds_bytes){bytes.data, bytes.length}),
                     MCDS_OUT_OK);
    mcds__buffer_free(&bytes);
}

static void times_before_1970_are_refused(struct suite *suite)
{
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"),
                                            MCDS_MEMBERS_EXACT);
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), MCDS_MEMBERS_EXACT);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", -5);
    CHECK_SENTENCE("at_ms must be 0 or more, not -5");
    CHECK(MCDS_INVALID, suite, mcds_visitors_get, visitors, -5, &visited);
    CHECK(MCDS_INVALID, suite, mcds_visitors_drop, visitors, -5);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", -5);
    CHECK(MCDS_INVALID, suite, mcds_online_get, online, -5, &present);
    CHECK(MCDS_INVALID, suite, mcds_online_drop, online, -5);
    CHECK_SENTENCE("at_ms");
    mcds_visitors_close(visitors);
    mcds_online_close(online);
}

static void times_far_ahead_are_refused(struct suite *suite)
{
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), members);
        mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), members);
        CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", INT64_MAX);
        CHECK_SENTENCE("ms after this machine's clock, not 9223372036854775807");
        CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", INT64_MAX);
        CHECK_SENTENCE("ms after this machine's clock, not 9223372036854775807");
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
        check_visitors(suite, visitors, INT64_MAX, 0, 0);
        check_online(suite, online, INT64_MAX, 0, 0);
        CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, INT64_MAX);
        CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, INT64_MAX);
        mcds_visitors_close(visitors);
        mcds_online_close(online);
    }
}

static void registers_that_cannot_be_are_corrupt(struct suite *suite)
{
    static const struct {
        uint8_t element[3];
        size_t length;
        uint8_t rank[2];
        size_t rank_length;
    } wrong[] = {
        {{0, 16, 0}, 2, {1, 0}, 1}, /* register 4096 */
        {{1, 0, 0}, 3, {1, 0}, 1},  {{1, 0, 0}, 1, {1, 0}, 1},   {{1, 0, 0}, 2, {0, 0}, 1},
        {{1, 0, 0}, 2, {54, 0}, 1}, {{1, 0, 0}, 2, {255, 0}, 1}, {{1, 0, 0}, 2, {1, 0}, 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *name = fresh_name(suite, "v");
        mcds_visitors *visitors = open_visitors(suite->store, name, MCDS_MEMBERS_ESTIMATED);
        mcds_visitors_value value = {.size = sizeof(mcds_visitors_value), .current = 77};
        struct raw_key raw = members_key(suite, MCDS__TAG_VISITOR_MEMBERS, name, A_MS);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        raw = raw_first(suite, &raw);
        append_register(suite, &raw, (mcds_bytes){wrong[i].element, wrong[i].length},
                        (mcds_bytes){wrong[i].rank, wrong[i].rank_length});
        CHECK(MCDS_CORRUPT, suite, mcds_visitors_get, visitors, A_MS, &value);
        CHECK_SENTENCE("register");
        assert_int_equal(value.current, 77);
        CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, A_MS);
        check_visitors(suite, visitors, A_MS, 0, 0);
        mcds_visitors_close(visitors);
    }
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        const char *name = fresh_name(suite, "v");
        mcds_visitors *visitors = open_visitors(suite->store, name, members);
        mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
        struct raw_key raw = members_key(suite, MCDS__TAG_VISITOR_MEMBERS, name, A_MS);
        assert_int_equal(raw_set(suite, &raw, "who wrote this?"), MCDS_OUT_OK);
        CHECK(MCDS_CORRUPT, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        CHECK(MCDS_CORRUPT, suite, mcds_visitors_get, visitors, A_MS, &value);
        mcds_visitors_close(visitors);
    }
}

static void forms_are_told_apart(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *exact = open_visitors(suite->store, name, MCDS_MEMBERS_EXACT);
    mcds_visitors *estimated = open_visitors(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_visitors_hit, exact, "ann", A_MS);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_visitors_hit, estimated, "bob", A_MS);
    CHECK_SENTENCE("EXACT");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_visitors_get, estimated, A_MS, &value);
    CHECK_SENTENCE("EXACT");
    check_visitors(suite, exact, A_MS, 0, 1);
    mcds_visitors_close(exact);
    mcds_visitors_close(estimated);
    const char *online_name = fresh_name(suite, "o");
    mcds_online *guess = open_online(suite->store, online_name, MCDS_MEMBERS_ESTIMATED);
    mcds_online *other = open_online(suite->other, online_name, MCDS_MEMBERS_EXACT);
    mcds_online_value count = MCDS_ONLINE_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_online_beat, guess, "ann", A_MS);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_online_beat, other, "bob", A_MS);
    CHECK_SENTENCE("ESTIMATED");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_online_get, other, A_MS, &count);
    CHECK_SENTENCE("ESTIMATED");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_online_drop, other, A_MS);
    check_online(suite, guess, A_MS, 0, 1);
    mcds_online_close(guess);
    mcds_online_close(other);
}

static void what_makes_no_sense_is_refused(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"),
                                            MCDS_MEMBERS_EXACT);
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"),
                                      MCDS_MEMBERS_ESTIMATED);
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *refused = NULL;
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, NULL, A_MS);
    CHECK_SENTENCE("needs a visitor");
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "", A_MS);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, NULL, A_MS);
    options.members = 3;
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, "refused", &options, &refused));
    CHECK_SENTENCE("members 3");
    assert_null(refused);
    mcds_visitors_close(visitors);
    mcds_online_close(online);
}

static void drop_erases_what_is_read(struct suite *suite)
{
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), members);
        mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), members);
        CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, A_MS);
        CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, A_MS);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS - MINUTE);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", A_MS);
        CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, A_MS);
        CHECK(MCDS_OK, suite, mcds_online_drop, online, A_MS);
        check_visitors(suite, visitors, A_MS, 0, 0);
        check_online(suite, online, A_MS, 0, 0);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        check_visitors(suite, visitors, A_MS, 0, 1);
        mcds_visitors_close(visitors);
        mcds_online_close(online);
    }
}

static void loss_is_told(struct suite *suite)
{
    for (uint32_t members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED; members++) {
        const char *name = fresh_name(suite, "v");
        mcds_visitors *visitors = open_visitors(suite->store, name, members);
        mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        check_visitors(suite, visitors, A_MS, 0, 1);
        struct raw_key raw = raw_key(suite, MCDS__TAG_VISITOR_MEMBERS, name, MINUTE);
        raw_add_number(&raw, (uint64_t)A_MS / MINUTE);
        assert_int_equal(raw_delete(suite, &raw), MCDS_OUT_OK);
        CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS, &value);
        assert_int_equal(value.current, 0);
        assert_true(value.reborn);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS, &value);
        assert_int_equal(value.current, 1);
        mcds_visitors_close(visitors);
    }
}

static const struct suite_case cases[] = {
    CASE(a_member_counts_once_a_period),
    CASE(the_estimate_takes_a_part_of_the_last_period),
    CASE(whoever_stays_is_one_of_the_window),
    CASE_ONCE(chosen_names_are_counted),
    CASE_ONCE(a_lost_hash_key_counts_nobody_twice),
    CASE(settings_are_made_again_with_their_hash_key),
    CASE_ONCE(each_read_hashes_differently),
    CASE_ONCE(many_members_are_all_counted),
    CASE_ONCE(many_members_are_estimated),
    CASE_ONCE(the_estimate_is_near_the_exact_number),
    CASE(members_expire_when_nobody_asks_for_them),
    CASE(times_before_1970_are_refused),
    CASE(times_far_ahead_are_refused),
    CASE(registers_that_cannot_be_are_corrupt),
    CASE(foreign_values_are_corrupt),
    CASE(forms_are_told_apart),
    CASE(what_makes_no_sense_is_refused),
    CASE(drop_erases_what_is_read),
    CASE(loss_is_told),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
