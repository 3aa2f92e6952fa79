/* Once: one caller runs, all get its result; claims that end, are renewed, abandoned or strict; settle,
 * forget and get; other requests; losses; and what is refused. */
#include "structures/once/value.h"
#include "structures/suite.h"

#define RUN_MS 5000
#define KEEP_MS 60000

static const mcds_bytes key = {"order:4711", 10};
static const mcds_bytes none = {NULL, 0};

static mcds_once *open_once(mcds_store *store, const char *name, uint32_t flags)
{
    mcds_once_options options = MCDS_ONCE_OPTIONS_INIT;
    mcds_once *once = NULL;
    options.run_ms = RUN_MS;
    options.keep_ms = KEEP_MS;
    options.flags = flags;
    int result = mcds_once_open(store, name, &options, &once);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return once;
}

/* Two callers of one name, each with a run. */
struct pair {
    mcds_once *once, *other;
    mcds_once_run run, rival;
    mcds_value value;
    int32_t code;
    struct raw_key key;
};

static struct pair open_pair(struct suite *suite, uint32_t flags)
{
    const char *name = fresh_name(suite, "o");
    struct pair pair = {.once = open_once(suite->store, name, flags),
                        .other = open_once(suite->other, name, flags),
                        .run = MCDS_ONCE_RUN_INIT,
                        .rival = MCDS_ONCE_RUN_INIT,
                        .value = MCDS_VALUE_INIT,
                        .key = raw_key(suite, MCDS__TAG_ONCE, name, -1)};
    mcds__key_add_bytes(&pair.key.key, key);
    pair.key.route = pair.key.key;
    return pair;
}

static void close_pair(struct pair *pair)
{
    mcds_value_free(&pair->value);
    mcds_once_close(pair->once);
    mcds_once_close(pair->other);
}

static int begin(struct suite *suite, struct pair *pair)
{
    return CALL(suite, mcds_once_begin, pair->once, key, none, 0, &pair->run, &pair->value,
                &pair->code);
}

static int begin_other(struct suite *suite, struct pair *pair)
{
    return CALL_IN(suite, suite->other_pipeline, mcds_once_begin, pair->other, key, none, 0,
                   &pair->rival, &pair->value, &pair->code);
}

static void check_claimed(struct suite *suite, struct pair *pair)
{
    CHECK_RESULT(MCDS_OK, begin(suite, pair));
    assert_true(pair->run.mine && pair->run.until_ms > wall_ms(suite));
    assert_true(pair->run.until_ms <= wall_ms(suite) + RUN_MS);
}

/* The other caller gets this result. */
static void check_result_of(struct suite *suite, struct pair *pair, int32_t code,
                            const char *text)
{
    pair->code = ~code;
    CHECK_RESULT(MCDS_OK, begin_other(suite, pair));
    assert_false(pair->rival.mine);
    assert_int_equal(pair->code, code);
    assert_int_equal(pair->value.length, strlen(text));
    assert_memory_equal(pair->value.data, text, strlen(text));
}

static void one_runs_and_all_get_its_result(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK_RESULT(MCDS_BUSY, begin_other(suite, &pair));
    CHECK_SENTENCE("another caller runs the work");
    assert_true(!pair.rival.mine && pair.rival.until_ms == pair.run.until_ms);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, -7, mcds_text("receipt"));
    assert_false(pair.run.mine);
    check_result_of(suite, &pair, -7, "receipt");
    check_result_of(suite, &pair, -7, "receipt");
    CHECK_RESULT(MCDS_OK, begin(suite, &pair));
    assert_true(!pair.run.mine && pair.code == -7);
    CHECK(MCDS_OK, suite, mcds_once_begin, pair.once, mcds_text("another"), none, 0, &pair.run,
          &pair.value, NULL);
    assert_true(pair.run.mine);
    close_pair(&pair);
}

static void an_empty_result_is_a_result(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 0, none);
    check_result_of(suite, &pair, 0, "");
    close_pair(&pair);
}

static void a_result_is_kept_for_its_time(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("r"));
    if (!suite->own_clock) {
        pass_ms(suite, KEEP_MS - 1000);
        check_result_of(suite, &pair, 1, "r");
        pass_ms(suite, 5000);
        check_claimed(suite, &pair);
    }
    close_pair(&pair);
}

/* O2, O6: a caller that dies blocks the key for run_ms, and its result comes too late. */
static void a_dead_runner_blocks_for_run_ms(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    pass_ms(suite, RUN_MS - 1000);
    CHECK_RESULT(MCDS_BUSY, begin_other(suite, &pair));
    pass_ms(suite, 1000 + 4000);
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    assert_true(pair.rival.mine);
    CHECK(MCDS_LOST, suite, mcds_once_renew, pair.once, &pair.run);
    assert_false(pair.run.mine);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_finish, pair.other, &pair.rival, 2, mcds_text("two"));
    check_result_of(suite, &pair, 2, "two");
    close_pair(&pair);
}

static void a_late_finish_is_lost(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    assert_int_equal(raw_delete(suite, &pair.key), MCDS_OUT_OK);
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    CHECK(MCDS_LOST, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("one"));
    CHECK_SENTENCE("the claim has ended");
    CHECK_OTHER(MCDS_OK, suite, mcds_once_finish, pair.other, &pair.rival, 2, mcds_text("two"));
    check_result_of(suite, &pair, 2, "two");
    close_pair(&pair);
}

/* N3: the store has lost the claim; another caller may have begun and finished. */
static void what_is_gone_is_not_added(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    assert_int_equal(raw_delete(suite, &pair.key), MCDS_OUT_OK);
    CHECK(MCDS_LOST, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("one"));
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    assert_true(pair.rival.mine);
    close_pair(&pair);
}

static void a_renewed_claim_lasts(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    for (int i = 0; i < 3; i++) {
        pass_ms(suite, RUN_MS - 2000);
        CHECK(MCDS_OK, suite, mcds_once_renew, pair.once, &pair.run);
        assert_true(pair.run.mine && pair.run.until_ms > wall_ms(suite) + RUN_MS - 2000);
        CHECK_RESULT(MCDS_BUSY, begin_other(suite, &pair));
    }
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 3, mcds_text("r"));
    check_result_of(suite, &pair, 3, "r");
    close_pair(&pair);
}

static void an_abandoned_run_is_begun_at_once(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK(MCDS_OK, suite, mcds_once_abandon, pair.once, &pair.run);
    assert_false(pair.run.mine);
    CHECK(MCDS_INVALID, suite, mcds_once_abandon, pair.once, &pair.run);
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    assert_true(pair.rival.mine);
    CHECK_RESULT(MCDS_BUSY, begin(suite, &pair));
    CHECK_OTHER(MCDS_OK, suite, mcds_once_abandon, pair.other, &pair.rival);
    check_claimed(suite, &pair);
    close_pair(&pair);
}

/* An abandon takes no claim of another caller. */
static void a_late_abandon_takes_nothing(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_forget, pair.other, key);
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    CHECK(MCDS_LOST, suite, mcds_once_abandon, pair.once, &pair.run);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_finish, pair.other, &pair.rival, 0, none);
    close_pair(&pair);
}

static void a_strict_claim_outlasts_its_end(struct suite *suite)
{
    struct pair pair = open_pair(suite, MCDS_ONCE_STRICT);
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    check_claimed(suite, &pair);
    CHECK_RESULT(MCDS_BUSY, begin_other(suite, &pair));
    CHECK_OTHER(MCDS_BUSY, suite, mcds_once_settle, pair.other, key, 5, mcds_text("found"));
    pass_ms(suite, RUN_MS + 1);
    shift_wall_ms(suite, suite->own_clock ? RUN_MS : 0);
    CHECK_RESULT(MCDS_LOST, begin_other(suite, &pair));
    CHECK_SENTENCE("has not finished it");
    CHECK(MCDS_OK, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    assert_int_equal(value.state, MCDS_ONCE_VANISHED);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_settle, pair.other, key, 5, mcds_text("found"));
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_once_settle, pair.other, key, 6, mcds_text("x"));
    check_result_of(suite, &pair, 5, "found");
    CHECK(MCDS_LOST, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("late"));
    check_result_of(suite, &pair, 5, "found");
    close_pair(&pair);
}

/* A strict claim that has ended is finished by its caller, as long as nobody has settled it. */
static void a_slow_strict_runner_finishes(struct suite *suite)
{
    struct pair pair = open_pair(suite, MCDS_ONCE_STRICT);
    check_claimed(suite, &pair);
    pass_ms(suite, RUN_MS + 1);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("slow"));
    check_result_of(suite, &pair, 1, "slow");
    close_pair(&pair);
}

static void settle_makes_a_result(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    CHECK(MCDS_OK, suite, mcds_once_settle, pair.once, key, 9, mcds_text("old"));
    check_result_of(suite, &pair, 9, "old");
    close_pair(&pair);
}

static void what_is_forgotten_runs_again(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_once_forget, pair.once, key);
    check_claimed(suite, &pair);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("r"));
    CHECK_OTHER(MCDS_OK, suite, mcds_once_forget, pair.other, key);
    CHECK_OTHER(MCDS_NOT_FOUND, suite, mcds_once_forget, pair.other, key);
    CHECK(MCDS_OK, suite, mcds_once_settle, pair.once, key, 2, none);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_forget, pair.other, key);
    check_claimed(suite, &pair);
    close_pair(&pair);
}

static void get_reads_and_claims_nothing(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    check_claimed(suite, &pair);
    CHECK(MCDS_OK, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    assert_true(value.state == MCDS_ONCE_RUNNING && pair.value.length == 0);
    assert_true(value.until_ms == pair.run.until_ms);
    int64_t began_ms = value.began_ms;
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 4, mcds_text("four"));
    CHECK(MCDS_OK, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    assert_true(value.state == MCDS_ONCE_DONE && value.code == 4 && pair.value.length == 4);
    assert_true(value.began_ms == began_ms && value.until_ms > wall_ms(suite) + RUN_MS);
    CHECK(MCDS_OK, suite, mcds_once_forget, pair.once, key);
    CHECK(MCDS_NOT_FOUND, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    close_pair(&pair);
}

static void another_request_is_refused(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    const mcds_bytes one = mcds_text("10 euro"), two = mcds_text("20 euro");
    CHECK(MCDS_OK, suite, mcds_once_begin, pair.once, key, one, 0, &pair.run, &pair.value,
          NULL);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_once_begin, pair.other, key, two, 0, &pair.rival,
                &pair.value, NULL);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_once_begin, pair.other, key, one, 0, &pair.rival,
                &pair.value, NULL);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 1, mcds_text("r"));
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_once_begin, pair.other, key, two, 0, &pair.rival,
                &pair.value, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_begin, pair.other, key, one, 0, &pair.rival,
                &pair.value, NULL);
    check_result_of(suite, &pair, 1, "r");
    close_pair(&pair);
}

static void a_waiting_caller_gets_its_turn(struct suite *suite)
{
    struct pair pair = open_pair(suite, 0);
    check_claimed(suite, &pair);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_once_begin, pair.other, key, none, 100, &pair.rival,
                &pair.value, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_once_begin, pair.other, key, none, 3 * RUN_MS, &pair.rival,
                &pair.value, NULL);
    assert_true(pair.rival.mine);
    close_pair(&pair);
}

static void large_results_are_kept_or_refused(struct suite *suite)
{
    static uint8_t bytes[MCDS_ONCE_RESULT_MAX + 1];
    struct pair pair = open_pair(suite, 0);
    uint64_t most = suite->can.value_max - MCDS__ONCE_CLAIM_BYTES;
    size_t length = most < MCDS_ONCE_RESULT_MAX ? (size_t)most : MCDS_ONCE_RESULT_MAX;
    memset(bytes, 'x', sizeof bytes);
    check_claimed(suite, &pair);
    CHECK(MCDS_TOO_BIG, suite, mcds_once_finish, pair.once, &pair.run, 0,
          ((mcds_bytes){bytes, length + 1}));
    CHECK_SENTENCE("result");
    assert_true(pair.run.mine);
    CHECK(MCDS_OK, suite, mcds_once_finish, pair.once, &pair.run, 0,
          ((mcds_bytes){bytes, length}));
    CHECK_RESULT(MCDS_OK, begin_other(suite, &pair));
    assert_true(pair.value.length == length && pair.value.data[length - 1] == 'x');
    close_pair(&pair);
}

static void check_payload(struct suite *suite, uint8_t version, const uint8_t head[2],
                          size_t length, int expected)
{
    struct pair pair = open_pair(suite, 0);
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    uint8_t bytes[128] = {0};
    memcpy(bytes + MCDS__FRAME_HEAD, head, 2);
    size_t whole = mcds__frame_seal(bytes, 'N', version, mcds__key_bytes(&pair.key.key),
                                    length);
    assert_int_equal(raw_set_bytes(suite, &pair.key, (mcds_bytes){bytes, whole}), MCDS_OUT_OK);
    CHECK_RESULT(expected, begin(suite, &pair));
    CHECK(expected, suite, mcds_once_get, pair.once, key, &value, &pair.value);
    CHECK(expected, suite, mcds_once_settle, pair.once, key, 0, none);
    CHECK(MCDS_OK, suite, mcds_once_forget, pair.once, key);
    check_claimed(suite, &pair);
    close_pair(&pair);
}

static void foreign_values_are_refused_and_forgotten(struct suite *suite)
{
    check_payload(suite, 1, (const uint8_t[2]){0, 0}, MCDS__ONCE_HEAD, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[2]){4, 0}, MCDS__ONCE_HEAD, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[2]){1, 2}, MCDS__ONCE_HEAD, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[2]){1, 0}, MCDS__ONCE_HEAD - 1, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[2]){1, 0}, MCDS__ONCE_HEAD + 1, MCDS_CORRUPT);
    check_payload(suite, 2, (const uint8_t[2]){1, 0}, MCDS__ONCE_HEAD, MCDS_UNSUPPORTED);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    static const struct {
        mcds_once_options options;
        const char *words;
    } bad[] = {{{sizeof(mcds_once_options), UINT64_C(367) * 86400000, 0, 0}, "keep_ms"},
               {{sizeof(mcds_once_options), 0, 86400001, 0}, "run_ms"},
               {{sizeof(mcds_once_options), 0, 1, 0}, "run_ms"},
               {{sizeof(mcds_once_options), 0, 0, 2}, "flags"}};
    mcds_once *once = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_RESULT(MCDS_INVALID, mcds_once_open(suite->store, "o", &bad[i].options, &once));
        CHECK_SENTENCE(bad[i].words);
    }
    struct pair pair = open_pair(suite, 0);
    CHECK(MCDS_INVALID, suite, mcds_once_begin, pair.once, none, none, 0, &pair.run,
          &pair.value, NULL);
    CHECK(MCDS_INVALID, suite, mcds_once_begin, pair.once, key, none, 86400001, &pair.run,
          &pair.value, NULL);
    CHECK(MCDS_INVALID, suite, mcds_once_renew, pair.once, &pair.run);
    CHECK(MCDS_INVALID, suite, mcds_once_finish, pair.once, &pair.run, 0, none);
    CHECK_SENTENCE("has no claim");
    check_claimed(suite, &pair);
    CHECK_RESULT(MCDS_INVALID, begin(suite, &pair));
    CHECK(MCDS_INVALID, suite, mcds_once_finish, pair.once, &pair.run, 0,
          ((mcds_bytes){NULL, 1}));
    assert_true(pair.run.mine);
    mcds_once_close(NULL);
    close_pair(&pair);
}

static const struct suite_case cases[] = {
    CASE(one_runs_and_all_get_its_result),
    CASE_TWICE(an_empty_result_is_a_result),
    CASE_ONCE(a_result_is_kept_for_its_time),
    CASE_WAITS_ONCE(a_dead_runner_blocks_for_run_ms),
    CASE_TWICE(a_late_finish_is_lost),
    CASE_TWICE(what_is_gone_is_not_added),
    CASE_WAITS_ONCE(a_renewed_claim_lasts),
    CASE(an_abandoned_run_is_begun_at_once),
    CASE_TWICE(a_late_abandon_takes_nothing),
    CASE_WAITS_ONCE(a_strict_claim_outlasts_its_end),
    CASE_WAITS_ONCE(a_slow_strict_runner_finishes),
    CASE_TWICE(settle_makes_a_result),
    CASE(what_is_forgotten_runs_again),
    CASE_TWICE(get_reads_and_claims_nothing),
    CASE_TWICE(another_request_is_refused),
    CASE_WAITS_ONCE(a_waiting_caller_gets_its_turn),
    CASE_TWICE(large_results_are_kept_or_refused),
    CASE_TWICE(foreign_values_are_refused_and_forgotten),
    CASE_TWICE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
