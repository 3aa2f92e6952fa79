/* Visitors and online that keep their members, exactly or as an estimate. */
#include <math.h>

#include "base/environment.h"
#include "structures/suite.h"

#define MINUTE 60000
/* The beginning of a period of a minute. */
#define A_MS (T0_MS / MINUTE * MINUTE)
#define BUCKETS 3

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
    mcds_visitors_value value = {77, 77, 77, 77, true, true};
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, at_ms, &value);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
    assert_false(value.reborn);
}

static void check_online(struct suite *suite, mcds_online *online, int64_t at_ms,
                         uint64_t closed, uint64_t current)
{
    mcds_online_value value = {77, 77, 77, 77, true};
    CHECK(MCDS_OK, suite, mcds_online_count, online, at_ms, &value);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
    assert_false(value.reborn);
}

static void counts_once_a_period(struct suite *suite, uint32_t members)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, members);
    mcds_visitors *other = open_visitors(suite->other, name, members);
    check_visitors(suite, visitors, A_MS, 0, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS + 1);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_visitors_hit, other, "ann", A_MS + MINUTE - 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, other, "bob", A_MS + 2);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS + MINUTE);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "bob", A_MS + 3);
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
    mcds_visitors_value value;
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

/* The window holds whoever stays once, as the form without members does. */
static void stays(struct suite *suite, uint32_t members)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), members);
    for (int i = 0; i < 6; i++) {
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "stays", A_MS + i * MINUTE);
        CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "stays", A_MS + i * MINUTE + 5);
    }
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "came", A_MS + MINUTE);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "comes", A_MS + 5 * MINUTE);
    check_online(suite, online, A_MS, 0, 1);
    check_online(suite, online, A_MS + MINUTE, 1, 1);
    check_online(suite, online, A_MS + 2 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 4 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 5 * MINUTE, 1, 1);
    check_online(suite, online, A_MS + 8 * MINUTE, 2, 0);
    check_online(suite, online, A_MS + 9 * MINUTE, 0, 0);
    mcds_online_value value;
    CHECK(MCDS_OK, suite, mcds_online_count, online, A_MS + 4 * MINUTE + MINUTE / 2, &value);
    if (members == MCDS_MEMBERS_EXACT) {
        CHECK_NEAR(value.estimate, 1.5); /* of who came in the oldest bucket alone, half */
        CHECK_NEAR(value.error, 0.5);
    }
    mcds_online_close(online);
}

static void whoever_stays_is_one_of_the_window(struct suite *suite)
{
    stays(suite, MCDS_MEMBERS_EXACT);
    stays(suite, MCDS_MEMBERS_ESTIMATED);
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
    mcds_visitors_value value;
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
    mcds_visitors_value value;
    mcds_visitors_value again;
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, A_MS, &value);
    assert_true(fabs((double)value.current - count) < 5 * 0.01625 * count);
    assert_true(fabs(value.error - 0.01625 * value.estimate) < 1);
    fill(suite->other, fresh, count);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, fresh, A_MS, &again);
    assert_int_equal(again.current, value.current);
    mcds_visitors_close(visitors);
    mcds_visitors_close(fresh);
}

static void forms_are_told_apart(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *exact = open_visitors(suite->store, name, MCDS_MEMBERS_EXACT);
    mcds_visitors *estimated = open_visitors(suite->other, name, MCDS_MEMBERS_ESTIMATED);
    mcds_visitors_value value;
    CHECK(MCDS_OK, suite, mcds_visitors_hit, exact, "ann", A_MS);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_visitors_hit, estimated, "bob", A_MS);
    CHECK_SENTENCE("EXACT");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_visitors_get, estimated, A_MS, &value);
    CHECK_SENTENCE("EXACT");
    check_visitors(suite, exact, A_MS, 0, 1);
    mcds_visitors_close(exact);
    mcds_visitors_close(estimated);
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
    CHECK_SENTENCE("name");
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
        mcds_visitors_value value;
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
    CASE_ONCE(many_members_are_all_counted),
    CASE_ONCE(many_members_are_estimated),
    CASE(forms_are_told_apart),
    CASE(what_makes_no_sense_is_refused),
    CASE(drop_erases_what_is_read),
    CASE(loss_is_told),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
