/* The two text protocols: every reply, complete and cut at every byte, and malformed
 * replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "store/memcached/memcached.h"
#include "store/memcached/wire/wire.h"

#define WALL_S 1700000000
#define SEQUENCE 66 /* its opaque is O12 */

static mcds_request request_of(mcds_command command)
{
    return (mcds_request){.command = command, .key = {"k", 1}, .value = {"abc", 3}};
}

/* From memory of its own size, so that a read beyond it is seen. */
static enum mcds__parse parse(const struct mcds__wire *wire, const mcds_request *request,
                              const char *bytes, size_t length, struct mcds__wire_reply *reply,
                              size_t *consumed, size_t *needed)
{
    static char *exact;
    free(exact);
    exact = malloc(length > 0 ? length : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    *consumed = *needed = 0;
    return wire->parse(request, SEQUENCE, exact, length, reply, consumed, needed);
}

struct answer {
    mcds_command command;
    const char *bytes;
    mcds_outcome outcome;
    uint64_t cas;
    uint32_t flags;
    int64_t ttl_ms;
    uint64_t number;
    uint64_t size;
    const char *value;
};

/* Cut at every byte it is not whole, and what follows does not belong to it. */
static void check_answer(const struct mcds__wire *wire, const struct answer *answer)
{
    mcds_request request = request_of(answer->command);
    if (answer->size > 0)
        request.options = MCDS_NO_VALUE;
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    size_t length = strlen(answer->bytes);
    char longer[256];
    for (size_t cut = 0; cut < length; cut++) {
        if (parse(wire, &request, answer->bytes, cut, &reply, &consumed, &needed) != PARSE_MORE)
            fail_msg("'%s' cut at %zu is not MORE", answer->bytes, cut);
        assert_in_range(needed, cut + 1, length);
    }
    memcpy(longer, answer->bytes, length);
    memcpy(longer + length, "HD\r\n", 4);
    for (size_t more = 0; more <= 4; more++) {
        enum mcds__parse step = parse(wire, &request, longer, length + more, &reply, &consumed,
                                      &needed);
        if (step != PARSE_DONE || reply.outcome != answer->outcome)
            fail_msg("%s: command %d: '%s': step %d, outcome %d", wire->name, answer->command,
                     answer->bytes, step, reply.outcome);
        assert_int_equal(consumed, length);
    }
    if (answer->outcome != MCDS_OUT_OK)
        return;
    assert_true(reply.cas == answer->cas && reply.number == answer->number);
    assert_int_equal(reply.flags, answer->flags);
    assert_int_equal(reply.size, answer->size);
    assert_int_equal(reply.ttl_ms, answer->ttl_ms != 0 ? answer->ttl_ms : MCDS_TTL_UNKNOWN);
    assert_int_equal(reply.value.length, answer->value != NULL ? strlen(answer->value) : 0);
    if (answer->value != NULL)
        assert_memory_equal(reply.value.data, answer->value, reply.value.length);
}

static void meta_answers(void **state)
{
    (void)state;
    static const struct answer answers[] = {
        {MCDS_GET, "EN O12\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_GET, "VA 3 f99 c1 t-1 O12\r\nabc\r\n", MCDS_OUT_OK, 1, 99, MCDS_TTL_NEVER, 0, 0,
         "abc"},
        {MCDS_GET, "VA 0 f0 c16 t30 O12 W\r\n\r\n", MCDS_OUT_OK, 16, 0, 30000, 0, 0, NULL},
        {MCDS_GET, "VA 6 f4294967295 c18446744073709551615 O12\r\n\r\nHD\r\n\r\n", MCDS_OUT_OK,
         UINT64_MAX, UINT32_MAX, 0, 0, 0, "\r\nHD\r\n"},
        {MCDS_GET, "HD s20 f7 c5 O12\r\n", MCDS_OUT_OK, 5, 7, 0, 0, 20, NULL},
        {MCDS_SET, "HD c8 O12\r\n", MCDS_OUT_OK, .cas = 8},
        {MCDS_SET, "HD O12\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_ADD, "NS c0 O12\r\n", MCDS_OUT_NOT_STORED, .cas = 0},
        {MCDS_REPLACE, "NS c0 O12\r\n", MCDS_OUT_NOT_STORED, .cas = 0},
        {MCDS_APPEND, "NS c0 O12\r\n", MCDS_OUT_NOT_STORED, .cas = 0},
        {MCDS_PREPEND, "NS c0 O12\r\n", MCDS_OUT_NOT_STORED, .cas = 0},
        {MCDS_CAS, "EX c0 O12\r\n", MCDS_OUT_EXISTS, .cas = 0},
        {MCDS_CAS, "NF c0 O12\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_DELETE, "HD O12\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_DELETE, "NF O12\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_DELETE, "EX O12\r\n", MCDS_OUT_EXISTS, .cas = 0},
        {MCDS_INCR, "NF O12\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_INCR, "VA 2 c33 O12\r\n10\r\n", MCDS_OUT_OK, 33, 0, 0, 10, 0, "10"},
        {MCDS_DECR, "VA 20 O12\r\n18446744073709551615\r\n", MCDS_OUT_OK, 0, 0, 0, UINT64_MAX,
         0, "18446744073709551615"},
        {MCDS_TOUCH, "HD O12\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_TOUCH, "EN O12\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_INCR, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
         MCDS_OUT_NOT_NUMERIC, .cas = 0},
        {MCDS_SET, "SERVER_ERROR object too large for cache\r\n", MCDS_OUT_TOO_BIG, .cas = 0},
        {MCDS_SET, "SERVER_ERROR out of memory storing object\r\n", MCDS_OUT_NO_MEMORY,
         .cas = 0},
        {MCDS_INCR, "SERVER_ERROR Out of memory allocating new item\r\n", MCDS_OUT_NO_MEMORY,
         .cas = 0},
        {MCDS_INCR, "SERVER_ERROR out of memory\r\n", MCDS_OUT_NO_MEMORY, .cas = 0},
        {MCDS_SET, "SERVER_ERROR Connection refused\r\n", MCDS_OUT_UNKNOWN, .cas = 0},
        {MCDS_SET, "SERVER_ERROR Out of memory during read\r\n", MCDS_OUT_NO_MEMORY, .cas = 0},
        /* the value has been stored, and there is no memory for saying so */
        {MCDS_SET, "SERVER_ERROR out of memory preparing response\r\n", MCDS_OUT_UNKNOWN,
         .cas = 0},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        check_answer(&mcds__wire_meta, &answers[i]);
}

static void classic_answers(void **state)
{
    (void)state;
    static const struct answer answers[] = {
        {MCDS_GET, "END\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_GET, "VALUE k 5 3 1\r\nabc\r\nEND\r\n", MCDS_OUT_OK, 1, 5, 0, 0, 0, "abc"},
        {MCDS_GET, "VALUE k 0 0\r\n\r\nEND\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_GET, "VALUE k 0 7 9\r\n\r\nEND\r\n\r\nEND\r\n", MCDS_OUT_OK, 9, 0, 0, 0, 0,
         "\r\nEND\r\n"},
        {MCDS_SET, "STORED\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_ADD, "NOT_STORED\r\n", MCDS_OUT_NOT_STORED, .cas = 0},
        {MCDS_CAS, "EXISTS\r\n", MCDS_OUT_EXISTS, .cas = 0},
        {MCDS_CAS, "NOT_FOUND\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_DELETE, "DELETED\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_DELETE, "NOT_FOUND\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_INCR, "18446744073709551615\r\n", MCDS_OUT_OK, 0, 0, 0, UINT64_MAX, 0, NULL},
        {MCDS_DECR, "0\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_DECR, "NOT_FOUND\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_TOUCH, "TOUCHED\r\n", MCDS_OUT_OK, .cas = 0},
        {MCDS_TOUCH, "NOT_FOUND\r\n", MCDS_OUT_MISS, .cas = 0},
        {MCDS_DECR, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
         MCDS_OUT_NOT_NUMERIC, .cas = 0},
        {MCDS_ADD, "SERVER_ERROR out of memory storing object\r\n", MCDS_OUT_NO_MEMORY,
         .cas = 0},
        {MCDS_GET, "SERVER_ERROR out of memory writing get response\r\n", MCDS_OUT_NO_MEMORY,
         .cas = 0},
        {MCDS_GET, "SERVER_ERROR Connection timed out\r\n", MCDS_OUT_UNKNOWN, .cas = 0},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        check_answer(&mcds__wire_classic, &answers[i]);
}

/* A server without the command says so in one line, and nothing was done. */
static void an_unknown_command_is_unsupported(void **state)
{
    (void)state;
    static const mcds_command plain[] = {MCDS_GET, MCDS_DELETE, MCDS_INCR, MCDS_DECR,
                                         MCDS_TOUCH};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        const struct answer answer = {plain[i], "ERROR\r\n", MCDS_OUT_UNSUPPORTED, .cas = 0};
        check_answer(&mcds__wire_classic, &answer);
        check_answer(&mcds__wire_meta, &answer);
    }
}

static void expect_broken(const struct mcds__wire *wire, const mcds_request *request,
                          const char *bytes)
{
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    enum mcds__parse step = parse(wire, request, bytes, strlen(bytes), &reply, &consumed,
                                  &needed);
    if (step != PARSE_BROKEN)
        fail_msg("%s: command %d: '%s' is not BROKEN: step %d, outcome %d", wire->name,
                 request->command, bytes, step, reply.outcome);
}

/* An answer to another command means that the two sides are out of step. */
static void answers_to_other_commands_are_broken(void **state)
{
    (void)state;
    static const struct {
        mcds_command command;
        const char *bytes;
    } classic[] =
        {
            {MCDS_DECR, "STORED\r\n"},
            {MCDS_INCR, "DELETED\r\n"},
            {MCDS_INCR, "EXISTS\r\n"},
            {MCDS_INCR, "NOT_STORED\r\n"},
            {MCDS_SET, "DELETED\r\n"},
            {MCDS_SET, "TOUCHED\r\n"},
            {MCDS_SET, "NOT_FOUND\r\n"},
            {MCDS_ADD, "EXISTS\r\n"},
            {MCDS_CAS, "NOT_STORED\r\n"},
            {MCDS_CAS, "DELETED\r\n"},
            {MCDS_DELETE, "STORED\r\n"},
            {MCDS_DELETE, "TOUCHED\r\n"},
            {MCDS_DELETE, "EXISTS\r\n"},
            {MCDS_TOUCH, "DELETED\r\n"},
            {MCDS_TOUCH, "NOT_STORED\r\n"},
            {MCDS_GET, "NOT_FOUND\r\n"},
            {MCDS_SET, "5\r\n"},
            {MCDS_SET, "ERROR\r\n"},
            {MCDS_SET, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
        },
      meta[] = {
          {MCDS_SET, "EN O12\r\n"},    {MCDS_SET, "NF O12\r\n"},
          {MCDS_ADD, "EX O12\r\n"},    {MCDS_GET, "NF O12\r\n"},
          {MCDS_GET, "NS O12\r\n"},    {MCDS_GET, "EX O12\r\n"},
          {MCDS_GET, "MN O12\r\n"},    {MCDS_DELETE, "EN O12\r\n"},
          {MCDS_DELETE, "NS O12\r\n"}, {MCDS_TOUCH, "NF O12\r\n"},
          {MCDS_TOUCH, "NS O12\r\n"},  {MCDS_INCR, "HD O12\r\n"},
          {MCDS_INCR, "EN O12\r\n"},   {MCDS_INCR, "EX O12\r\n"},
          {MCDS_CAS, "EN O12\r\n"},    {MCDS_SET, "VA 1 O12\r\n1\r\n"},
          {MCDS_SET, "ERROR\r\n"},
      };
    for (size_t i = 0; i < sizeof classic / sizeof classic[0]; i++) {
        mcds_request request = request_of(classic[i].command);
        expect_broken(&mcds__wire_classic, &request, classic[i].bytes);
    }
    for (size_t i = 0; i < sizeof meta / sizeof meta[0]; i++) {
        mcds_request request = request_of(meta[i].command);
        expect_broken(&mcds__wire_meta, &request, meta[i].bytes);
    }
}

/* The value itself was asked for: a head alone would pass for an empty one. */
static void a_get_without_its_value_is_broken(void **state)
{
    (void)state;
    mcds_request request = request_of(MCDS_GET);
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    expect_broken(&mcds__wire_meta, &request, "HD f0 c5 O12\r\n");
    request.options = MCDS_NO_VALUE;
    assert_int_equal(parse(&mcds__wire_meta, &request, "HD s3 f0 c5 O12\r\n", 17, &reply,
                           &consumed, &needed),
                     PARSE_DONE);
}

/* It answers another request: one too many has come, or one is missing. */
static void an_answer_to_another_turn_is_broken(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "EN\r\n",
        "EN O13\r\n",
        "EN O1\r\n",
        "EN O122\r\n",
        "EN O\r\n",
        "EN X12\r\n",
        "ENO12\r\n",
        "EN O12 O13\r\n",
        "EN O12 W\r\n",
        "EN O12 f1\r\n",
        "VA 3 f0 c1 O13\r\nabc\r\n",
    };
    mcds_request request = request_of(MCDS_GET);
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bool is_marked = strstr(lines[i], " W") != NULL; /* by the server, after the opaque */
        enum mcds__parse step = parse(&mcds__wire_meta, &request, lines[i], strlen(lines[i]),
                                      &reply, &consumed, &needed);
        assert_int_equal(step, is_marked ? PARSE_DONE : PARSE_BROKEN);
        assert_true(is_marked == (reply.proof == PROOF_MADE));
    }
}

/* Errors carry none. */
static void an_error_proves_nothing(void **state)
{
    (void)state;
    static const char line[] = "SERVER_ERROR out of memory\r\n";
    mcds_request request = request_of(MCDS_INCR);
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    assert_int_equal(
        parse(&mcds__wire_meta, &request, line, strlen(line), &reply, &consumed, &needed),
        PARSE_DONE);
    assert_int_equal(reply.proof, PROOF_MISSING);
    assert_int_equal(
        parse(&mcds__wire_classic, &request, line, strlen(line), &reply, &consumed, &needed),
        PARSE_DONE);
    assert_int_equal(reply.proof, PROOF_NONE);
}

static void garbage_is_broken(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "\r\n",
        "\n",
        "x\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "STORED\n",
        " \r\n",
        "V\r\n",
        "VA\r\n",
        "VA \r\n",
        "VA x f0\r\n",
        "VA 99999999999999999999 f0\r\n",
        "VA -1\r\n",
        "VA 3 fx c1\r\nabc\r\n",
        "VA 3 f4294967296 c1\r\nabc\r\n",
        "VA 3 f0 c18446744073709551616\r\nabc\r\n",
        "VA 3 f0 c1 tx\r\nabc\r\n",
        "VA 3 f0 c1\r\nabcde",
        "VA 3 f0 c1 O12\r\nabcde",
        "VA x f0 O12\r\n",
        "VA 99999999999999999999 f0 O12\r\n",
        "VA 3 fx c1 O12\r\nabc\r\n",
        "VA 3 f4294967296 c1 O12\r\nabc\r\n",
        "VA 3 f0 c18446744073709551616 O12\r\nabc\r\n",
        "VA 3 f0 c1 tx O12\r\nabc\r\n",
        "VALUE\r\n",
        "VALUE k\r\n",
        "VALUE k 0\r\n",
        "VALUE k 0 x\r\n",
        "VALUE other 0 3 1\r\nabc\r\nEND\r\n",
        "VALUE kk 0 3 1\r\nabc\r\nEND\r\n",
        "VALUE k 0 3 1 2\r\nabc\r\nEND\r\n",
        "VALUE k 4294967296 3 1\r\nabc\r\nEND\r\n",
        "VALUE k 0 99999999999999999999 1\r\n",
        "VALUE k 0 3 1\r\nabcdeEND\r\n",
        "VALUE k 0 3 1\r\nabc\r\nVALUE k 0 3\r\n",
        "ERROR Too many open connections\r\n",
        "CLIENT_ERROR bad data chunk\r\n",
        "CLIENT_ERROR bad command line format\r\n",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        mcds_request request = request_of(MCDS_GET);
        expect_broken(&mcds__wire_meta, &request, garbage[i]);
        expect_broken(&mcds__wire_classic, &request, garbage[i]);
    }
    mcds_request incr = request_of(MCDS_INCR);
    expect_broken(&mcds__wire_meta, &incr, "VA 2 c1 O12\r\nab\r\n");
    expect_broken(&mcds__wire_meta, &incr, "VA 1000000 c1 O12\r\n");
    expect_broken(&mcds__wire_classic, &incr, "18446744073709551616\r\n");
    char endless[MCDS__WIRE_LINE_MAX + 1];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    expect_broken(&mcds__wire_meta, &incr, endless);
    expect_broken(&mcds__wire_classic, &incr, endless);
}

/* One read of "gets a k ...", or of "gets a k" where it is the last. */
static void expect_read(bool is_last, const char *bytes, mcds_outcome outcome, size_t consumed)
{
    mcds_request request = request_of(MCDS_GET);
    struct mcds__wire_reply reply;
    size_t length = strlen(bytes);
    for (size_t cut = 0; cut <= length; cut++) {
        char *exact = malloc(cut + 1);
        size_t used = 0;
        size_t needed = 0;
        assert_non_null(exact);
        memcpy(exact, bytes, cut);
        enum mcds__parse step = mcds__wire_parse_read(&request, is_last, exact, cut, &reply,
                                                      &used, &needed);
        if (cut < length ? step != PARSE_MORE || needed <= cut
                         : step != PARSE_DONE || reply.outcome != outcome || used != consumed)
            fail_msg("'%s' cut at %zu: step %d, outcome %d, consumed %zu", bytes, cut, step,
                     reply.outcome, used);
        if (step == PARSE_DONE && outcome == MCDS_OUT_OK) {
            assert_memory_equal(reply.value.data, "\r\nEND", 5);
            assert_int_equal(reply.flags, 7);
            assert_int_equal(reply.cas, 9);
        }
        if (step == PARSE_DONE)
            assert_int_equal(reply.proof, PROOF_FOLLOWS);
        free(exact);
    }
}

static void a_read_among_others_takes_its_own_reply(void **state)
{
    static const char hit[] = "VALUE k 7 5 9\r\n\r\nEND\r\n";
    static const char full[] = "SERVER_ERROR out of memory writing get response\r\n";
    static const char down[] = "SERVER_ERROR Connection refused\r\n";
    (void)state;
    expect_read(false, hit, MCDS_OUT_OK, sizeof hit - 1);
    expect_read(true, "VALUE k 7 5 9\r\n\r\nEND\r\nEND\r\n", MCDS_OUT_OK, sizeof hit + 4);
    expect_read(false, "VALUE kk 0 1 1\r\n", MCDS_OUT_MISS, 0);
    expect_read(false, "END\r\n", MCDS_OUT_MISS, 0);
    expect_read(true, "END\r\n", MCDS_OUT_MISS, 5);
    expect_read(false, full, MCDS_OUT_NO_MEMORY, 0);
    expect_read(true, full, MCDS_OUT_NO_MEMORY, sizeof full - 1);
    expect_read(true, down, MCDS_OUT_UNKNOWN, sizeof down - 1);
}

static void expect_read_broken(bool is_last, const char *bytes)
{
    mcds_request request = request_of(MCDS_GET);
    struct mcds__wire_reply reply;
    size_t consumed;
    size_t needed;
    if (mcds__wire_parse_read(&request, is_last, bytes, strlen(bytes), &reply, &consumed,
                              &needed) != PARSE_BROKEN)
        fail_msg("'%s' is not BROKEN: outcome %d", bytes, reply.outcome);
}

static void a_reply_to_no_read_is_broken(void **state)
{
    (void)state;
    /* no key follows to which these belong */
    expect_read_broken(true, "VALUE a 0 1 1\r\nx\r\nEND\r\n");
    expect_read_broken(true, "VALUE k 0 1 1\r\nx\r\nVALUE k 0 1 1\r\nx\r\nEND\r\n");
    expect_read_broken(true, "VALUE k 0 1 1\r\nx\r\nENDED\r\n");
    for (int is_last = 0; is_last <= 1; is_last++) {
        expect_read_broken(is_last != 0, "VALUE k 0 1 1\r\nxyzEND\r\n");
        expect_read_broken(is_last != 0, "VALUE k 0 99999999999999999999 1\r\n");
        expect_read_broken(is_last != 0, "VALUE k 4294967296 1 1\r\nx\r\nEND\r\n");
        expect_read_broken(is_last != 0, "VALUE k 0 1 1 1\r\nx\r\nEND\r\n");
        expect_read_broken(is_last != 0, "EN\r\n");
        expect_read_broken(is_last != 0, "HD O12\r\n");
        expect_read_broken(is_last != 0, "\n");
        expect_read_broken(is_last != 0, "CLIENT_ERROR bad command line format\r\n");
    }
}

static void expect_sent(const struct mcds__wire *wire, mcds_request request, const char *bytes)
{
    mcds_buffer out;
    mcds__buffer_init(&out, mcds_env_system(), 4096);
    assert_true(wire->encode(&request, SEQUENCE, WALL_S, &out));
    if (out.length != strlen(bytes) || memcmp(out.data, bytes, out.length) != 0)
        fail_msg("%s: '%.*s' is not '%s'", wire->name, (int)out.length, (const char *)out.data,
                 bytes);
    mcds__buffer_free(&out);
}

#define SENT(wire, bytes, ...)                                                                 \
    expect_sent(wire, (mcds_request){.key = {"k", 1}, __VA_ARGS__}, bytes)

/* The server's clock is right, and takes an earlier time for one that has passed. */
static void a_wrong_clock_ends_no_long_ttl(void **state)
{
    static const int64_t wrong[] = {INT64_MIN,  -1,         0,        1577836799,
                                    2144891647, 7258118400, INT64_MAX};
    const uint64_t forty_days_ms = UINT64_C(40) * 86400000;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(2592000, mcds__wire_exptime(forty_days_ms, wrong[i]));
    assert_int_equal(1577836800 + 40 * 86400, mcds__wire_exptime(forty_days_ms, 1577836800));
    assert_int_equal(2147483647, mcds__wire_exptime(forty_days_ms, 2144891646));
}

/* memcached may end a key of n seconds just after n - 2 seconds: one for the second that has begun, and
 * one for a tick of its clock that is late. A lease lasts, and ends less than 3 s late; one of whole
 * seconds at most 2 s. */
static void a_ttl_is_rounded_up(void **state)
{
    static const uint64_t lease_ms[] = {3000, 3001, 3999, 4000, 4001, 86399999, 86400000};
    const uint64_t early_ms = mcds__memcached_careful().ttl_early_ms;
    (void)state;
    assert_int_equal(2000, early_ms);
    for (size_t i = 0; i < sizeof lease_ms / sizeof lease_ms[0]; i++) {
        uint64_t ms = lease_ms[i];
        uint64_t kept_ms = 1000 * mcds__wire_exptime(ms + early_ms, WALL_S);
        assert_true(kept_ms - 2000 >= ms);
        assert_true(kept_ms < ms + 3000);
        assert_true(ms % 1000 != 0 || kept_ms == ms + 2000);
    }
}

static void commands_as_they_are_sent(void **state)
{
    (void)state;
    const struct mcds__wire *classic = &mcds__wire_classic;
    const mcds_cas_token token = {UINT64_MAX, 1};
    const mcds_bytes abc = {"abc", 3};
    SENT(classic, "set k 0 0 3\r\nabc\r\n", .command = MCDS_SET, .value = abc);
    SENT(classic, "add k 7 1 0\r\n\r\n", .command = MCDS_ADD, .flags = 7, .ttl_ms = 1);
    SENT(classic, "cas k 0 2592000 3 18446744073709551615\r\nabc\r\n", .command = MCDS_CAS,
         .ttl_ms = 2592000000, .cas = token, .value = abc);
    SENT(classic, "set k 0 1702592001 0\r\n\r\n", .command = MCDS_SET, .ttl_ms = 2592000001);
    SENT(classic, "set k 0 2147483647 0\r\n\r\n", .command = MCDS_SET,
         .ttl_ms = UINT64_C(500000000000));
    SENT(classic, "cas k 0 2592001 0 18446744073709551615\r\n\r\n", .command = MCDS_DELETE,
         .cas = token);
    SENT(classic, "delete k\r\n", .command = MCDS_DELETE);
    SENT(classic, "incr k 0\r\n", .command = MCDS_INCR);
    SENT(classic, "decr k 9223372036854775807\r\n", .command = MCDS_DECR, .delta = INT64_MAX);
    SENT(classic, "touch k 0\r\n", .command = MCDS_TOUCH);
    SENT(classic, "gets k\r\n", .command = MCDS_GET, .options = MCDS_NO_VALUE);
    SENT(&mcds__wire_plain, "get k\r\n", .command = MCDS_GET);
    const struct mcds__wire *meta = &mcds__wire_meta;
    SENT(meta, "md k C18446744073709551615 O12\r\n", .command = MCDS_DELETE, .cas = token);
    SENT(meta, "md k O12\r\n", .command = MCDS_DELETE);
    SENT(meta, "mg k T2 O12\r\n", .command = MCDS_TOUCH, .ttl_ms = 1001);
    SENT(meta, "mg k T0 O12\r\n", .command = MCDS_TOUCH);
    SENT(meta, "mg k v f c O12\r\n", .command = MCDS_GET);
    SENT(meta, "ms k 3 ME T1 F7 c O12\r\nabc\r\n", .command = MCDS_ADD, .flags = 7,
         .ttl_ms = 999, .value = abc);
    const uint32_t sets = MCDS_SETS_CAS;
    SENT(meta, "ms k 3 ME E5 s O12\r\nabc\r\n", .command = MCDS_ADD, .options = sets,
         .initial = 5, .value = abc);
    SENT(meta, "ms k 0 MA C18446744073709551615 O12\r\n\r\n", .command = MCDS_APPEND,
         .cas = token);
    SENT(meta, "ms k 3 MA C18446744073709551615 E5 s O12\r\nabc\r\n", .command = MCDS_APPEND,
         .options = sets, .initial = 5, .cas = token, .value = abc);
    SENT(meta, "ms k 3 MA C18446744073709551615 E18446744073709551615 s O12\r\nabc\r\n",
         .command = MCDS_APPEND, .options = sets, .initial = token.unique, .cas = token,
         .value = abc);
    SENT(meta, "ms k 3 C18446744073709551615 E0 s O12\r\nabc\r\n", .command = MCDS_CAS,
         .options = sets, .cas = token, .value = abc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta_answers),
        cmocka_unit_test(classic_answers),
        cmocka_unit_test(an_unknown_command_is_unsupported),
        cmocka_unit_test(answers_to_other_commands_are_broken),
        cmocka_unit_test(a_get_without_its_value_is_broken),
        cmocka_unit_test(garbage_is_broken),
        cmocka_unit_test(a_read_among_others_takes_its_own_reply),
        cmocka_unit_test(a_reply_to_no_read_is_broken),
        cmocka_unit_test(an_answer_to_another_turn_is_broken),
        cmocka_unit_test(an_error_proves_nothing),
        cmocka_unit_test(a_wrong_clock_ends_no_long_ttl),
        cmocka_unit_test(a_ttl_is_rounded_up),
        cmocka_unit_test(commands_as_they_are_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
