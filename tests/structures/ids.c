/* Ids: none twice, the time in them, losses, clocks, bits, and what is refused. */
#include "structures/ids/value.h"
#include "structures/suite.h"

#define SPREAD_MS 2000
#define HOUR_MS INT64_C(3600000)
#define MANY 1500 /* more than a range */

static mcds_ids *open_ids(mcds_store *store, const char *name, uint32_t bits)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = NULL;
    options.bits = bits;
    options.spread_ms = SPREAD_MS;
    CHECK_RESULT(MCDS_OK, mcds_ids_open(store, name, &options, &ids));
    return ids;
}

/* A waiting call: where a server has its own clock, only that moves the wall clock of a test. */
static uint64_t first_id(struct suite *suite, mcds_ids *ids)
{
    uint64_t id = 0;
    suite->skips_sleep = true;
    int result = mcds_ids_next(ids, &id);
    suite->skips_sleep = false;
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return id;
}

static uint64_t next_id(struct suite *suite, mcds_ids *ids)
{
    uint64_t id = 0;
    CHECK(MCDS_OK, suite, mcds_ids_next, ids, &id);
    return id;
}

/* In Unix milliseconds. */
static int64_t time_of(uint64_t id, uint32_t bits)
{
    return mcds__ids_time_of(id, bits) + MCDS__IDS_EPOCH_MS;
}

static void ids_rise_and_differ(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    mcds_ids *ids = open_ids(suite->store, name, 63);
    mcds_ids *other = open_ids(suite->other, name, 63);
    uint64_t last = first_id(suite, ids);
    uint64_t last_of_other = first_id(suite, other);
    static uint64_t seen[2 * MANY];
    for (size_t i = 0; i < MANY; i++) {
        uint64_t id = next_id(suite, ids);
        assert_true(id > last);
        seen[2 * i] = last = id;
        CHECK_OTHER(MCDS_OK, suite, mcds_ids_next, other, &id);
        assert_true(id > last_of_other);
        seen[2 * i + 1] = last_of_other = id;
    }
    for (size_t i = 0; i < MANY; i++)
        for (size_t j = 0; j < MANY; j++)
            assert_true(seen[2 * i] != seen[2 * j + 1]);
    mcds_ids_close(ids);
    mcds_ids_close(other);
}

static void check_first(struct suite *suite, uint32_t bits)
{
    mcds_ids *ids = open_ids(suite->store, fresh_name(suite, "i"), bits);
    int64_t before_ms = wall_ms(suite);
    uint64_t id = first_id(suite, ids);
    assert_true(id > 0 && id < UINT64_C(1) << bits);
    assert_true(time_of(id, bits) > before_ms + SPREAD_MS);
    assert_true(time_of(id, bits) <= wall_ms(suite));
    mcds_ids_close(ids);
}

static void the_first_come_after_the_spread(struct suite *suite)
{
    check_first(suite, 63);
    check_first(suite, 53);
}

/* I1, I2: the fast machine has used ids that are ahead of the slow one by the whole spread. */
static void what_follows_a_loss_is_above(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    struct raw_key key = raw_key(suite, MCDS__TAG_IDS, name, -1);
    mcds_ids *fast = open_ids(suite->store, name, 53);
    uint64_t highest = first_id(suite, fast);
    for (int i = 0; i < 3; i++) {
        shift_wall_ms(suite, SPREAD_MS);
        CHECK(MCDS_OK, suite, mcds_ids_take, fast, 4000, &highest);
        highest += 3999;
        shift_wall_ms(suite, -SPREAD_MS);
        assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
        mcds_ids *slow = open_ids(suite->other, name, 53);
        assert_true(first_id(suite, slow) > highest);
        mcds_ids_close(slow);
    }
    mcds_ids_close(fast);
}

/* I3: a late add is a mark, which is not a number. */
static void a_mark_is_no_number(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    struct raw_key key = raw_key(suite, MCDS__TAG_IDS, name, -1);
    const struct mcds__ids_value mark = {.is_mark = true, .bits = 63};
    uint8_t bytes[MCDS__IDS_VALUE_LENGTH];
    mcds_ids *ids = open_ids(suite->store, name, 63);
    mcds_ids *other = open_ids(suite->other, name, 63);
    (void)first_id(suite, ids);
    (void)mcds__ids_encode(&mark, mcds__key_bytes(&key.key), bytes);
    (void)raw_delete(suite, &key);
    assert_int_equal(raw_set_bytes(suite, &key, (mcds_bytes){bytes, sizeof bytes}),
                     MCDS_OUT_OK);
    int64_t before_ms = wall_ms(suite);
    assert_true(time_of(first_id(suite, other), 63) > before_ms + SPREAD_MS);
    mcds_ids_close(ids);
    mcds_ids_close(other);
}

/* No id is ahead of the clock of its handle, and a clock that is slow by twice the spread waits. */
static void a_slow_clock_waits_or_is_reported(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    mcds_ids *ids = open_ids(suite->store, name, 63);
    uint64_t id = first_id(suite, ids);
    shift_wall_ms(suite, HOUR_MS);
    mcds_ids *fast = open_ids(suite->other, name, 63);
    uint64_t highest = first_id(suite, fast);
    shift_wall_ms(suite, -HOUR_MS);
    mcds_ids *slow = open_ids(suite->store, name, 63);
    CHECK(MCDS_TOO_OLD, suite, mcds_ids_next, slow, &id);
    CHECK_SENTENCE("next: this machine's clock is more than twice spread_ms before");
    CHECK_SENTENCE("; the difference is 3");
    CHECK_SENTENCE(" ms, and at most 4000 ms is accepted");
    assert_true(mcds_last_error()->cause == MCDS_CAUSE_CLOCK &&
                mcds_last_error()->found_number > HOUR_MS - 2 * SPREAD_MS);
    shift_wall_ms(suite, HOUR_MS - 2 * SPREAD_MS - 2);
    CHECK(MCDS_TOO_OLD, suite, mcds_ids_next, slow, &id);
    shift_wall_ms(suite, 1);
    int64_t before_ms = wall_ms(suite);
    id = first_id(suite, slow);
    assert_true(id > highest && time_of(id, 63) <= wall_ms(suite));
    assert_true(wall_ms(suite) > before_ms);
    shift_wall_ms(suite, 2 * SPREAD_MS + 1 - HOUR_MS);
    mcds_ids_close(ids);
    mcds_ids_close(fast);
    mcds_ids_close(slow);
}

static void a_clock_out_of_range_is_reported(struct suite *suite)
{
    mcds_ids *ids = open_ids(suite->store, fresh_name(suite, "i"), 53);
    int64_t now_ms = wall_ms(suite);
    int64_t last_ms = MCDS__IDS_EPOCH_MS + MCDS__IDS_TIME_END;
    uint64_t id = 0;
    shift_wall_ms(suite, MCDS__IDS_EPOCH_MS - 1 - now_ms);
    int result = CALL(suite, mcds_ids_next, ids, &id);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_TOO_OLD, result);
    CHECK_SENTENCE("before 2020");
    shift_wall_ms(suite, last_ms - MCDS__IDS_EPOCH_MS + 1);
    CHECK(MCDS_TOO_FUTURE, suite, mcds_ids_next, ids, &id);
    CHECK_SENTENCE("after 2089");
    assert_true(id == 0);
    shift_wall_ms(suite, -10 * SPREAD_MS);
    id = first_id(suite, ids);
    assert_true(id < UINT64_C(1) << 53);
    shift_wall_ms(suite, now_ms - wall_ms(suite));
    mcds_ids_close(ids);
}

static void a_range_of_a_second_ago_is_not_used(struct suite *suite)
{
    mcds_ids *ids = open_ids(suite->store, fresh_name(suite, "i"), 63);
    uint64_t id = first_id(suite, ids);
    uint64_t next = next_id(suite, ids);
    pass_ms(suite, 999);
    shift_wall_ms(suite, 1);
    int64_t then_ms = wall_ms(suite);
    pass_ms(suite, 1);
    assert_true(next > id);
    assert_true(time_of(next_id(suite, ids), 63) >= then_ms);
    mcds_ids_close(ids);
}

static void ids_of_one_take_are_adjacent(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    mcds_ids *ids = open_ids(suite->store, name, 53);
    mcds_ids *other = open_ids(suite->other, name, 53);
    uint64_t first = first_id(suite, ids);
    uint64_t second = 0, third = 0, many = 0, after = 0;
    CHECK(MCDS_OK, suite, mcds_ids_take, ids, 10, &second);
    CHECK(MCDS_OK, suite, mcds_ids_take, ids, 500, &third);
    assert_true(second > first && third >= second + 10);
    if (!suite->own_clock) /* a range lasts a second */
        assert_true(second == first + 1 && third == second + 10);
    shift_wall_ms(suite, 17); /* of as many milliseconds as it has ids */
    CHECK(MCDS_OK, suite, mcds_ids_take, ids, MCDS_IDS_TAKE_MAX, &many);
    CHECK_OTHER(MCDS_OK, suite, mcds_ids_take, other, 1, &after);
    assert_true(many > third + 499 && after >= many + MCDS_IDS_TAKE_MAX);
    assert_true(time_of(many + MCDS_IDS_TAKE_MAX - 1, 53) <= wall_ms(suite));
    mcds_ids_close(ids);
    mcds_ids_close(other);
}

/* The clock of this machine moves on only while it waits. */
static void takes_wait_for_the_time_of_their_ids(struct suite *suite)
{
    mcds_ids *ids = open_ids(suite->store, fresh_name(suite, "i"), 53);
    uint64_t last = first_id(suite, ids);
    int64_t before_ms = wall_ms(suite);
    suite->skips_sleep = true;
    for (int i = 0; i < 8; i++) {
        uint64_t first = 0;
        CHECK_RESULT(MCDS_OK, mcds_ids_take(ids, MCDS_IDS_TAKE_MAX, &first));
        assert_true(first > last);
        last = first + MCDS_IDS_TAKE_MAX - 1;
        assert_true(time_of(last, 53) <= wall_ms(suite));
    }
    suite->skips_sleep = false;
    assert_true(wall_ms(suite) >= before_ms + 7 * 16);
    mcds_ids_close(ids);
}

static void a_drop_is_a_loss(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    mcds_ids *ids = open_ids(suite->store, name, 63);
    CHECK(MCDS_NOT_FOUND, suite, mcds_ids_drop, ids);
    uint64_t highest = first_id(suite, ids);
    CHECK(MCDS_OK, suite, mcds_ids_take, ids, 1023, &highest);
    CHECK(MCDS_OK, suite, mcds_ids_drop, ids);
    int64_t before_ms = wall_ms(suite);
    mcds_ids_close(ids);
    ids = open_ids(suite->store, name, 63);
    uint64_t id = first_id(suite, ids);
    assert_true(id > highest + 1022 && time_of(id, 63) > before_ms + SPREAD_MS);
    mcds_ids_close(ids);
}

static void bits_must_agree(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = open_ids(suite->store, name, 53);
    mcds_ids *wrong = open_ids(suite->other, name, 63);
    uint64_t id = 0;
    options.spread_ms = 7;
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_ids_made_with(suite->store, name, &options));
    (void)first_id(suite, ids);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_ids_next, wrong, &id);
    CHECK_SENTENCE("bits");
    CHECK_SENTENCE("53, not 63");
    CHECK_RESULT(MCDS_OK, mcds_ids_made_with(suite->store, name, &options));
    assert_true(options.bits == 53 && options.spread_ms == 7);
    mcds_ids_close(ids);
    mcds_ids_close(wrong);
}

/* A whole frame with another payload, or of a later version. */
static void check_payload(struct suite *suite, uint8_t version, const uint8_t payload[10],
                          int expected)
{
    const char *name = fresh_name(suite, "i");
    struct raw_key key = raw_key(suite, MCDS__TAG_IDS, name, -1);
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = open_ids(suite->store, name, 63);
    uint8_t bytes[MCDS__IDS_VALUE_LENGTH];
    uint64_t id = 0;
    memcpy(bytes + MCDS__FRAME_HEAD, payload, 10);
    (void)mcds__frame_seal(bytes, 'I', version, mcds__key_bytes(&key.key), 10);
    assert_int_equal(raw_set_bytes(suite, &key, (mcds_bytes){bytes, sizeof bytes}),
                     MCDS_OUT_OK);
    CHECK(expected, suite, mcds_ids_next, ids, &id);
    CHECK_RESULT(expected, mcds_ids_made_with(suite->store, name, &options));
    assert_true(id == 0 && options.bits == 0);
    mcds_ids_close(ids);
}

static void foreign_values_are_refused(struct suite *suite)
{
    const char *name = fresh_name(suite, "i");
    struct raw_key key = raw_key(suite, MCDS__TAG_IDS, name, -1);
    mcds_ids *ids = open_ids(suite->store, name, 63);
    uint64_t id = 0;
    (void)first_id(suite, ids);
    mcds_ids *other = open_ids(suite->other, name, 63);
    assert_int_equal(raw_set(suite, &key, "17"), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_CORRUPT, suite, mcds_ids_next, other, &id);
    check_payload(suite, 1, (const uint8_t[10]){3, 63}, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[10]){1, 63, 1}, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[10]){2, 54}, MCDS_CORRUPT);
    check_payload(suite, 1, (const uint8_t[10]){2, 63, 1, 0, 0, 0, 0, 0, 0, 128}, MCDS_CORRUPT);
    check_payload(suite, 2, (const uint8_t[10]){2, 63}, MCDS_UNSUPPORTED);
    mcds_ids_close(ids);
    mcds_ids_close(other);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    static const struct {
        uint32_t bits, spread_ms;
        const char *words;
    } bad[] = {{54, 0, "bits must be 0, 53 or 63, not 54"},
               {0, 60001, "spread_ms must be 0 to 60000"}};
    mcds_ids *ids = NULL;
    uint64_t id = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
        options.bits = bad[i].bits;
        options.spread_ms = bad[i].spread_ms;
        CHECK_RESULT(MCDS_INVALID, mcds_ids_open(suite->store, "i", &options, &ids));
        CHECK_SENTENCE(bad[i].words);
    }
    ids = open_ids(suite->store, "i", 0);
    CHECK(MCDS_INVALID, suite, mcds_ids_take, ids, 0, &id);
    CHECK(MCDS_INVALID, suite, mcds_ids_take, ids, MCDS_IDS_TAKE_MAX + 1, &id);
    CHECK_SENTENCE("n must be 1 to 65536, not 65537");
    CHECK(MCDS_INVALID, suite, mcds_ids_next, ids, NULL);
    CHECK(MCDS_INVALID, suite, mcds_ids_next, NULL, &id);
    CHECK(MCDS_INVALID, suite, mcds_ids_drop, NULL);
    mcds_ids_close(ids);
    mcds_ids_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(ids_rise_and_differ),
    CASE_ONCE(the_first_come_after_the_spread),
    CASE_TWICE(what_follows_a_loss_is_above),
    CASE_ONCE(a_mark_is_no_number),
    CASE_TWICE(a_slow_clock_waits_or_is_reported),
    CASE_TWICE(a_clock_out_of_range_is_reported),
    CASE_TWICE(a_range_of_a_second_ago_is_not_used),
    CASE(ids_of_one_take_are_adjacent),
    CASE_ONCE(takes_wait_for_the_time_of_their_ids),
    CASE_TWICE(a_drop_is_a_loss),
    CASE_TWICE(bits_must_agree),
    CASE_TWICE(foreign_values_are_refused),
    CASE_TWICE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
