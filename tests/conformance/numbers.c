/* INCR and DECR: arithmetic, which values are numbers, and what the commands keep. */
#include "conformance/world.h"

static void counting(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_INCR, .key = k, .delta = 1);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_DECR, .key = k, .delta = 1);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("9"), .flags = 21);
    mcds_request incr = {.command = MCDS_INCR, .key = k, .delta = 1};
    assert_int_equal(run(world, &incr), MCDS_OUT_OK);
    assert_int_equal(incr.reply.number, 10);
    EXPECT_VALUE(world, k, text("10"));
    mcds_request decr = {.command = MCDS_DECR, .key = k, .delta = 3};
    assert_int_equal(run(world, &decr), MCDS_OUT_OK);
    assert_int_equal(decr.reply.number, 7);
    EXPECT_VALUE(world, k, text("7"));
    decr.delta = 8;
    assert_int_equal(run(world, &decr), MCDS_OUT_OK);
    assert_int_equal(decr.reply.number, 0);
    EXPECT_VALUE(world, k, text("0"));
    incr.delta = 0;
    assert_int_equal(run(world, &incr), MCDS_OUT_OK);
    assert_int_equal(incr.reply.number, 0);
    assert_int_equal(get_reply(world, k).flags, 21);
}

/* NUL ends the number: memcached before 1.6.22 looks for a minus after one of 2^63 and
 * more. */
static mcds_request count_from(struct world *world, const char *number, mcds_command command,
                               uint64_t delta)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k,
           .value = {number, strlen(number) + 1});
    mcds_request request = {.command = command, .key = k, .delta = delta};
    assert_int_equal(run(world, &request), MCDS_OUT_OK);
    return request;
}

static void counting_wraps_above_and_stops_at_zero(struct world *world)
{
    mcds_request request = count_from(world, "18446744073709551615", MCDS_INCR, 3);
    assert_int_equal(request.reply.number, 2);
    EXPECT_VALUE(world, request.key, text("2"));
    request = count_from(world, "9223372036854775807", MCDS_INCR, 2);
    assert_true(request.reply.number == UINT64_C(9223372036854775809));
    EXPECT_VALUE(world, request.key, text("9223372036854775809"));
    request = count_from(world, "9223372036854775809", MCDS_DECR, INT64_MAX);
    assert_int_equal(request.reply.number, 2);
    request = count_from(world, "9223372036854775806", MCDS_DECR, INT64_MAX);
    assert_int_equal(request.reply.number, 0);
    EXPECT_VALUE(world, request.key, text("0"));
}

/* What all backends agree on; the odd corners of memcached are in the tests of the table. */
static void what_is_a_number(struct world *world)
{
    static const struct {
        const char *value;
        bool is_number;
        uint64_t number;
    } values[] = {
        {"0", true, 0},
        {"00000000000000000000000000041", true, 41},
        {"41   ", true, 41},
        {"9223372036854775807", true, INT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-1", false, 0},
        {"text", false, 0},
        {"12x", false, 0},
        {"0x10", false, 0},
        {"1.5", false, 0},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        mcds_bytes k = key(world, values[i].value[0] == '\0' ? "empty" : "k");
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k,
               .value = text(values[i].value));
        for (mcds_command command = MCDS_INCR; command <= MCDS_DECR; command++) {
            mcds_request request = {.command = command, .key = k, .options = MCDS_CREATE};
            mcds_outcome expected = values[i].is_number ? MCDS_OUT_OK : MCDS_OUT_NOT_NUMERIC;
            check_outcome(run(world, &request), expected, values[i].value, __LINE__);
            if (values[i].is_number)
                assert_true(request.reply.number == values[i].number);
            else
                EXPECT_VALUE(world, k, text(values[i].value));
        }
    }
}

static void digits_may_be_appended_to_a_number(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("5"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k, .value = text("0"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_PREPEND, .key = k, .value = text("1"));
    mcds_request incr = {.command = MCDS_INCR, .key = k, .delta = 1};
    assert_int_equal(run(world, &incr), MCDS_OUT_OK);
    assert_int_equal(incr.reply.number, 151);
}

static void creation_sets_the_initial_number(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request create = {
        .command = MCDS_INCR, .options = MCDS_CREATE, .key = k, .delta = 5, .initial = 40};
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_int_equal(create.reply.number, 40);
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_int_equal(create.reply.number, 45);
    EXPECT_VALUE(world, k, text("45"));
    create.command = MCDS_DECR;
    create.key = key(world, "down");
    create.initial = INT64_MAX;
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_true(create.reply.number == INT64_MAX);
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_true(create.reply.number == INT64_MAX - 5);
}

static const struct conformance_case cases[] = {
    CASE(counting),
    CASE(counting_wraps_above_and_stops_at_zero),
    CASE(what_is_a_number),
    CASE(digits_may_be_appended_to_a_number),
    CASE_NEEDS(creation_sets_the_initial_number, create_on_increment),
};
const struct conformance_suite suite_numbers = {cases, sizeof cases / sizeof cases[0]};
