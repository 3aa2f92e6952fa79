/* Several reads in one command of the memcached backend: which reads share a command, and what
 * comes of each reply, right or wrong. A wrong one ends the connection, and no read believes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/store.h"
#include "support/fake_server.h"

#define PATIENCE_MS 10000
#define READS 16
#define ASKED                                                                                  \
    "gets k00 k01 k02 k03 k04 k05 k06 k07 k08 k09 k10 k11 k12 k13 k14\r\nmg k15 v f c O"
/* A hit of k03 and of k14, which is the last key of the command, and the misses of the others. */
#define SOME "VALUE k03 7 4 9\r\nEND\r\r\nVALUE k14 0 0 10\r\n\r\nEND\r\n"
#define PROOF "VA 2 f5 c11 O#1\r\nab\r\n"

struct reads {
    mcds_request requests[READS + 1];
    char keys[READS + 1][4];
    mcds_buffer values;
    mcds_batch batch;
};

static void reads_init(struct reads *reads, uint32_t count, bool independent)
{
    memset(reads, 0, sizeof *reads);
    mcds__buffer_init(&reads->values, mcds_env_system(), 1 << 20);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(reads->keys[i], sizeof reads->keys[i], "k%02u", (unsigned)i % 100);
        reads->requests[i] = (mcds_request){.command = MCDS_GET, .key = {reads->keys[i], 3}};
    }
    reads->batch = (mcds_batch){.requests = reads->requests,
                                .count = count,
                                .independent = independent,
                                .values = &reads->values};
}

/* Send the batches to a server that follows the steps. */
static void ask_both(struct reads *first, struct reads *second, const struct fake_step *steps,
                     int64_t wait_ms)
{
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(fake_server_uri(server), NULL, &store), MCDS_OK);
    int64_t deadline_ns = mcds__monotonic_ns(mcds_env_system()) + wait_ms * NS_PER_MS;
    first->batch.deadline_ns = deadline_ns;
    mcds__store_execute(store, 0, &first->batch);
    if (second != NULL) {
        second->batch.deadline_ns = deadline_ns;
        mcds__store_execute(store, 0, &second->batch);
    }
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void ask(struct reads *reads, const struct fake_step *steps, int64_t wait_ms)
{
    ask_both(reads, NULL, steps, wait_ms);
}

static void expect_outcomes(const struct reads *reads, mcds_outcome outcome)
{
    for (uint32_t i = 0; i < reads->batch.count; i++)
        if (reads->requests[i].reply.outcome != outcome)
            fail_msg("read %u: outcome %d, not %d", (unsigned)i,
                     reads->requests[i].reply.outcome, outcome);
}

/* Sixteen reads, answered by the script, and all with one outcome. */
static void expect_all(const struct fake_step *steps, mcds_outcome outcome, const char *detail)
{
    struct reads reads;
    reads_init(&reads, READS, true);
    ask(&reads, steps, PATIENCE_MS);
    expect_outcomes(&reads, outcome);
    assert_non_null(strstr(reads.requests[0].reply.detail->text, detail));
    mcds__buffer_free(&reads.values);
}

#define SCRIPT(verb, replies)                                                                  \
    {                                                                                          \
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, ASKED}, {verb, replies}, {FAKE_STALL, NULL},        \
            {FAKE_END, NULL},                                                                  \
    }

static void expect_hit(struct reads *reads, uint32_t i, const char *value, uint32_t flags,
                       uint64_t cas)
{
    const mcds_reply *reply = &reads->requests[i].reply;
    mcds_bytes found = mcds__reply_value(&reads->batch, &reads->requests[i]);
    assert_int_equal(reply->outcome, MCDS_OUT_OK);
    assert_int_equal(found.length, strlen(value));
    if (found.length > 0)
        assert_memory_equal(found.data, value, found.length);
    assert_int_equal(reply->flags, flags);
    assert_int_equal(reply->cas.unique, cas);
    reads->requests[i].reply.outcome = MCDS_OUT_MISS;
}

static void each_read_takes_its_own_reply(void **state)
{
    static const struct fake_step at_once[] = SCRIPT(FAKE_SEND, SOME PROOF);
    static const struct fake_step slowly[] = SCRIPT(FAKE_DRIP, SOME PROOF);
    static const struct fake_step none[] = SCRIPT(FAKE_SEND, "END\r\nEN O#1\r\n");
    const struct fake_step *const both[] = {at_once, slowly};
    struct reads reads;
    (void)state;
    for (int i = 0; i < 2; i++) {
        reads_init(&reads, READS, true);
        ask(&reads, both[i], PATIENCE_MS);
        expect_hit(&reads, 3, "END\r", 7, 9);
        expect_hit(&reads, 14, "", 0, 10);
        expect_hit(&reads, 15, "ab", 5, 11);
        expect_outcomes(&reads, MCDS_OUT_MISS);
        mcds__buffer_free(&reads.values);
    }
    reads_init(&reads, READS, true);
    ask(&reads, none, PATIENCE_MS);
    expect_outcomes(&reads, MCDS_OUT_MISS);
    mcds__buffer_free(&reads.values);
}

/* Each of them answers another request, or is not a reply. */
static void a_wrong_reply_is_believed_by_none(void **state)
{
    static const struct fake_step unasked[] = SCRIPT(FAKE_SEND,
                                                     "VALUE k99 0 1 1\r\nx\r\nEND\r\n" PROOF);
    static const struct fake_step twice[] = SCRIPT(
        FAKE_SEND, "VALUE k03 0 1 1\r\nx\r\nVALUE k03 0 1 1\r\nx\r\nEND\r\n" PROOF);
    static const struct fake_step exchanged[] = SCRIPT(
        FAKE_SEND, "VALUE k04 0 1 1\r\nx\r\nVALUE k03 0 1 1\r\nx\r\nEND\r\n" PROOF);
    static const struct fake_step without_end[] = SCRIPT(FAKE_SEND,
                                                         "VALUE k14 0 1 1\r\nx\r\n" PROOF);
    (void)state;
    expect_all(unasked, MCDS_OUT_UNKNOWN, "not memcached's protocol");
    expect_all(twice, MCDS_OUT_UNKNOWN, "not memcached's protocol");
    expect_all(exchanged, MCDS_OUT_UNKNOWN, "not memcached's protocol");
    expect_all(without_end, MCDS_OUT_UNKNOWN, "not memcached's protocol");
}

/* END alone could be the reply to any read: the opaque of the next reply decides. */
static void a_reply_without_its_proof_is_believed_by_none(void **state)
{
    static const struct fake_step two[] = SCRIPT(FAKE_SEND, "END\r\n" SOME PROOF);
    static const struct fake_step foreign[] = SCRIPT(FAKE_SEND, SOME "EN Oxy\r\n");
    static const struct fake_step cut[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, ASKED}, {FAKE_SEND, SOME},
        {FAKE_CLOSE, NULL},  {FAKE_END, NULL},
    };
    static const struct fake_step in_value[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, ASKED}, {FAKE_SEND, "VALUE k03 0 5 1\r\nab"},
        {FAKE_CLOSE, NULL},  {FAKE_END, NULL},
    };
    (void)state;
    expect_all(two, MCDS_OUT_UNKNOWN, "not memcached's protocol");
    expect_all(foreign, MCDS_OUT_UNKNOWN, "do not match the requests");
    expect_all(cut, MCDS_OUT_UNKNOWN, "closed the connection");
    expect_all(in_value, MCDS_OUT_UNKNOWN, "closed the connection");
}

static void a_server_that_falls_silent_among_the_values(void **state)
{
    static const struct fake_step steps[] = SCRIPT(FAKE_SEND, SOME);
    struct reads reads;
    (void)state;
    reads_init(&reads, READS, true);
    ask(&reads, steps, 500);
    expect_outcomes(&reads, MCDS_OUT_UNKNOWN);
    assert_string_equal(reads.requests[0].reply.detail->text, "no answer before the deadline");
    mcds__buffer_free(&reads.values);
}

#define FULL "SERVER_ERROR out of memory writing get response\r\n"

/* It replaces the replies to all keys of the command, and only to those. */
static void an_error_answers_all_keys_of_its_command(void **state)
{
    static const struct fake_step one[] = SCRIPT(FAKE_SEND, FULL PROOF);
    static const struct fake_step after_some[] = SCRIPT(
        FAKE_SEND, "VALUE k03 7 4 9\r\nEND\r\r\n" FULL PROOF);
    struct reads reads;
    (void)state;
    reads_init(&reads, READS, true);
    ask(&reads, one, PATIENCE_MS);
    assert_int_equal(reads.requests[15].reply.outcome, MCDS_OUT_OK);
    reads.requests[15].reply.outcome = MCDS_OUT_NO_MEMORY;
    expect_outcomes(&reads, MCDS_OUT_NO_MEMORY);
    mcds__buffer_free(&reads.values);
    reads_init(&reads, READS, true);
    ask(&reads, after_some, PATIENCE_MS);
    assert_int_equal(reads.requests[2].reply.outcome, MCDS_OUT_MISS);
    assert_int_equal(reads.requests[3].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(reads.requests[4].reply.outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(reads.requests[14].reply.outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(reads.requests[15].reply.outcome, MCDS_OUT_OK);
    mcds__buffer_free(&reads.values);
}

/* The reply that was to be the proof has no opaque: another request brings it. */
static void an_error_in_place_of_the_proof(void **state)
{
    static const char *const errors[] = {FULL, "SERVER_ERROR temporary failure\r\n"};
    static const mcds_outcome outcomes[] = {MCDS_OUT_NO_MEMORY, MCDS_OUT_UNKNOWN};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct fake_step steps[] = {
            {FAKE_PROBED, NULL},
            {FAKE_EXPECT, ASKED},
            {FAKE_SEND, SOME},
            {FAKE_SEND, errors[i]},
            {FAKE_EXPECT, "mg k15 s f c O"},
            {FAKE_SEND, "EN O#2\r\n"},
            {FAKE_STALL, NULL},
            {FAKE_END, NULL},
        };
        struct reads reads;
        reads_init(&reads, READS, true);
        ask(&reads, steps, PATIENCE_MS);
        assert_int_equal(reads.requests[15].reply.outcome, outcomes[i]);
        expect_hit(&reads, 3, "END\r", 7, 9);
        assert_int_equal(reads.requests[4].reply.outcome, MCDS_OUT_MISS);
        mcds__buffer_free(&reads.values);
    }
}

/* Sends the batch to a server that checks only how it begins, and hangs up. */
static void expect_sent(struct reads *reads, const char *bytes)
{
    const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, bytes},
        {FAKE_CLOSE, NULL},
        {FAKE_END, NULL},
    };
    ask(reads, steps, PATIENCE_MS);
    expect_outcomes(reads, MCDS_OUT_UNKNOWN);
    mcds__buffer_free(&reads->values);
}

static void reads_that_get_a_command_each(void **state)
{
    struct reads reads;
    (void)state;
    reads_init(&reads, READS - 1, true); /* too few */
    expect_sent(&reads, "mg k00 v f c O");
    reads_init(&reads, READS + 1, true);
    reads.requests[0].options = MCDS_WANT_TTL; /* which no classic reply has */
    expect_sent(&reads, " t O");
    reads_init(&reads, READS, true);
    reads.requests[8].options = MCDS_NO_VALUE;
    expect_sent(&reads, "mg k00 v f c O");
}

/* The first read finds out that the server keeps order. */
static void reads_whose_order_counts_get_a_command_each(void **state)
{
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},       {FAKE_EXPECT, "mg k00 v f c O"},
        {FAKE_SEND, "EN O#1\r\n"}, {FAKE_EXPECT, "mg k00 v f c O"},
        {FAKE_CLOSE, NULL},        {FAKE_END, NULL},
    };
    struct reads first;
    struct reads reads;
    (void)state;
    reads_init(&first, 1, true);
    reads_init(&reads, READS, false);
    ask_both(&first, &reads, steps, PATIENCE_MS);
    expect_outcomes(&first, MCDS_OUT_MISS);
    expect_outcomes(&reads, MCDS_OUT_UNKNOWN);
    mcds__buffer_free(&first.values);
    mcds__buffer_free(&reads.values);
}

/* A read that asks for more stays alone, and those after it share a command. */
static void reads_after_another_share_a_command(void **state)
{
    struct reads reads;
    (void)state;
    reads_init(&reads, READS + 1, true);
    reads.requests[0].options = MCDS_NO_VALUE;
    expect_sent(&reads, "gets k01 k02 k03 k04 k05 k06 k07 k08 k09 k10 k11 k12 k13 k14 k15\r\n"
                        "mg k16 v f c O");
}

/* A proxy distributes the keys, and may answer some of them. */
static void a_proxy_is_asked_one_by_one(void **state)
{
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "EN kmcds-probe Oq\r\nVERSION 1.6.40\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "NS\r\nCLIENT_ERROR invalid flag\r\nEN\r\nEND\r\nSTAT evictions on\r\nSTAT "
                    "proxy_enabled yes\r\nEND\r\n"},
        {FAKE_EXPECT, "mg k00 v f c O"},
        {FAKE_CLOSE, NULL},
        {FAKE_END, NULL},
    };
    struct reads reads;
    (void)state;
    reads_init(&reads, READS, true);
    ask(&reads, steps, PATIENCE_MS);
    expect_outcomes(&reads, MCDS_OUT_UNKNOWN);
    mcds__buffer_free(&reads.values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_takes_its_own_reply),
        cmocka_unit_test(a_wrong_reply_is_believed_by_none),
        cmocka_unit_test(a_reply_without_its_proof_is_believed_by_none),
        cmocka_unit_test(a_server_that_falls_silent_among_the_values),
        cmocka_unit_test(an_error_answers_all_keys_of_its_command),
        cmocka_unit_test(an_error_in_place_of_the_proof),
        cmocka_unit_test(reads_that_get_a_command_each),
        cmocka_unit_test(reads_whose_order_counts_get_a_command_each),
        cmocka_unit_test(reads_after_another_share_a_command),
        cmocka_unit_test(a_proxy_is_asked_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
