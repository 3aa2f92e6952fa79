/* One random stream of commands has the same replies on memory: and lmdb: under one clock; the
 * file is closed and opened again several times. */
#include "support/lmdb_fixture.h"

#include <inttypes.h>

#include "support/dice.h"
#include "support/fake_env.h"

#define ROUNDS 4000
#define BATCH_MAX 16
#define KEYS 24
#define VALUE_MAX 4000
#define SEED 20261121

struct side {
    mcds_store *store;
    mcds_request requests[BATCH_MAX];
    mcds_buffer values;
    mcds_cas_token tokens[KEYS]; /* as last told for each key */
};

struct stream {
    uint64_t state;
    struct fake_env fake;
    struct side sides[2];
    char bytes[VALUE_MAX];
    char keys[KEYS][8];
};

static uint64_t pick(struct stream *stream, uint64_t below)
{
    return dice_roll(&stream->state, below);
}

static void pick_value(struct stream *stream, mcds_request *request)
{
    static const char *const words[] = {"0",    "7",      " 12", "99 bottles",          "",
                                        "text", "+3\tno", "4x",  "18446744073709551615"};
    uint64_t word = pick(stream, 12);
    if (word < sizeof words / sizeof words[0])
        request->value = text(words[word]);
    else
        request->value = (mcds_bytes){stream->bytes, (size_t)pick(stream, VALUE_MAX)};
}

/* The request for both sides, but for its token; returns the number of its key. */
static uint64_t pick_request(struct stream *stream, mcds_request *request)
{
    static const uint64_t ttls_ms[] = {0, 0, 1, 40, 500, 100000};
    uint64_t key = pick(stream, KEYS);
    *request = (mcds_request){.command = (mcds_command)(MCDS_GET + pick(stream, MCDS_TOUCH)),
                              .key = text(stream->keys[key])};
    request->flags = (uint32_t)pick(stream, 1000);
    request->ttl_ms = ttls_ms[pick(stream, sizeof ttls_ms / sizeof ttls_ms[0])];
    request->delta = pick(stream, 4) == 0 ? INT64_MAX : pick(stream, 300);
    request->initial = pick(stream, 300);
    request->options = (uint32_t)pick(stream, 8);
    if (request->command >= MCDS_SET && request->command <= MCDS_CAS)
        pick_value(stream, request);
    return key;
}

static void assert_same(const struct stream *stream, size_t at, int round)
{
    const struct side *one = &stream->sides[0];
    const struct side *two = &stream->sides[1];
    const mcds_reply *a = &one->requests[at].reply;
    const mcds_reply *b = &two->requests[at].reply;
    bool same = a->outcome == b->outcome && a->flags == b->flags && a->ttl_ms == b->ttl_ms &&
                a->number == b->number && a->value_at == b->value_at &&
                a->value_length == b->value_length &&
                (a->cas.unique == 0) == (b->cas.unique == 0);
    if (!same)
        print_error("seed %d round %d: command %d on %s gives outcomes %d and %d, numbers "
                    "%" PRIu64 " and %" PRIu64 "\n",
                    SEED, round, (int)one->requests[at].command,
                    (const char *)one->requests[at].key.data, (int)a->outcome, (int)b->outcome,
                    a->number, b->number);
    assert_true(same);
}

static void run_round(struct stream *stream, int round)
{
    uint64_t key_of[BATCH_MAX];
    uint32_t count = 1 + (uint32_t)pick(stream, BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        key_of[i] = pick_request(stream, &stream->sides[0].requests[i]);
        bool with_token = pick(stream, 2) == 0;
        stream->sides[1].requests[i] = stream->sides[0].requests[i];
        for (int s = 0; s < 2; s++) {
            mcds_request *request = &stream->sides[s].requests[i];
            mcds_cas_token token = stream->sides[s].tokens[key_of[i]];
            bool wants = request->command == MCDS_CAS ||
                         (request->command == MCDS_DELETE && with_token);
            /* Without a token a CAS is refused before any backend sees it. */
            if (wants && token.connection != 0)
                request->cas = token;
            else if (request->command == MCDS_CAS)
                request->command = MCDS_SET;
        }
    }
    for (int s = 0; s < 2; s++) {
        stream->sides[s].values.length = 0;
        run(stream->sides[s].store, stream->sides[s].requests, count, &stream->sides[s].values);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_same(stream, i, round);
        for (int s = 0; s < 2; s++)
            if (stream->sides[s].requests[i].reply.cas.unique != 0)
                stream->sides[s].tokens[key_of[i]] = stream->sides[s].requests[i].reply.cas;
    }
    const mcds_buffer *one = &stream->sides[0].values;
    const mcds_buffer *two = &stream->sides[1].values;
    assert_int_equal(one->length, two->length);
    if (one->length > 0)
        assert_memory_equal(one->data, two->data, one->length);
}

static void memory_and_lmdb_agree(void **state)
{
    struct fixture *fixture = *state;
    struct stream *stream = calloc(1, sizeof *stream);
    assert_non_null(stream);
    stream->state = SEED;
    fake_env_init(&stream->fake, SEED);
    memset(stream->bytes, 'v', sizeof stream->bytes);
    for (int i = 0; i < KEYS; i++)
        (void)snprintf(stream->keys[i], sizeof stream->keys[i], "key%d", i);
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &stream->fake.env;
    assert_int_equal(mcds_open("memory:", &options, &stream->sides[0].store), MCDS_OK);
    stream->sides[1].store = open_store(fixture->file, "?sync=async", &stream->fake.env);
    for (int s = 0; s < 2; s++)
        mcds__buffer_init(&stream->sides[s].values, mcds_env_system(), (size_t)1 << 20);
    for (int round = 0; round < ROUNDS; round++) {
        run_round(stream, round);
        fake_env_advance_ms(&stream->fake, (int64_t)pick(stream, 30));
        if (round % 500 == 499) {
            mcds_close(stream->sides[1].store);
            stream->sides[1].store = open_store(fixture->file, "?sync=async",
                                                &stream->fake.env);
        }
    }
    for (int s = 0; s < 2; s++) {
        mcds_close(stream->sides[s].store);
        mcds__buffer_free(&stream->sides[s].values);
    }
    free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_and_lmdb_agree, fixture_make, fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
