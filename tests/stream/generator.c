/* A random stream of commands on few keys. It omits commands whose answer depends on
 * memcached's memory:
 *
 *     - INCR or DECR after a GET or TOUCH of the same key in one batch. While the answer to that
 *       waits to be sent, memcached stores a shorter number without the padding.
 *     - Values of white space only: memcached reads on past the end of the item.
 */
#include "stream/generator.h"

#include <stdio.h>
#include <string.h>

#include "support/lengths.h"

void stream_init(struct stream *stream, uint64_t seed, const struct stream_limits *limits)
{
    memset(stream, 0, sizeof *stream);
    stream->state = seed;
    stream->limits = *limits;
    for (uint32_t i = 0; i < STREAM_KEYS; i++)
        (void)snprintf(stream->keys[i].bytes, sizeof stream->keys[i].bytes, "stream:%llu:%u",
                       (unsigned long long)seed, i);
}

uint64_t stream_random(struct stream *stream, uint64_t below)
{
    stream->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = stream->state;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % below;
}

static bool one_in(struct stream *stream, uint64_t chances)
{
    return stream_random(stream, chances) == 0;
}

static mcds_command choose_command(struct stream *stream)
{
    static const uint8_t shares[] = {
        [MCDS_GET] = 20,    [MCDS_SET] = 12,    [MCDS_ADD] = 8,   [MCDS_REPLACE] = 6,
        [MCDS_APPEND] = 10, [MCDS_PREPEND] = 6, [MCDS_CAS] = 8,   [MCDS_DELETE] = 7,
        [MCDS_INCR] = 12,   [MCDS_DECR] = 7,    [MCDS_TOUCH] = 4,
    };
    uint64_t ticket = stream_random(stream, 100);
    for (mcds_command command = MCDS_GET; command < MCDS_TOUCH; command++) {
        if (ticket < shares[command])
            return command;
        ticket -= shares[command];
    }
    return MCDS_TOUCH;
}

/* A number in one of the forms that count as one, or nearly. */
static size_t make_number(struct stream *stream, uint8_t *out)
{
    static const char *const forms[] = {"%llu",  "%llu",  "%llu",  "%llu",    "00%llu",
                                        " %llu", "+%llu", "%llu ", "%llu x9", "%llux"};
    static const uint64_t limits[] = {10, 100, 100000, UINT64_MAX, UINT64_MAX};
    uint64_t number = stream_random(stream, limits[stream_random(stream, 5)]);
    if (one_in(stream, 10))
        number = UINT64_MAX - stream_random(stream, 3);
    char text[64];
    /* The forms are the constants above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int length = snprintf(text, sizeof text, forms[stream_random(stream, 10)],
                          (unsigned long long)number);
#pragma GCC diagnostic pop
    memcpy(out, text, (size_t)length);
    return (size_t)length;
}

static size_t make_bytes(struct stream *stream, uint8_t *out)
{
    uint64_t dice = stream_random(stream, UINT64_MAX);
    size_t length = lengths_draw(&dice, 0, STREAM_VALUE_MAX);
    bool is_white = true;
    for (size_t i = 0; i < length; i++) {
        out[i] = (uint8_t)stream_random(stream, 256);
        is_white = is_white && (out[i] == ' ' || (out[i] >= '\t' && out[i] <= '\r'));
    }
    if (is_white && length > 0)
        out[0] = 'x';
    return length;
}

static void choose_token(struct stream *stream, struct stream_request *made)
{
    struct stream_key *key = &stream->keys[made->key];
    uint64_t age = one_in(stream, 4) ? stream_random(stream, STREAM_PAIRS) : 0;
    uint64_t at = (key->pair_next + STREAM_PAIRS * 2 - 1 - age) % STREAM_PAIRS;
    memcpy(made->tokens, key->pairs[at].of, sizeof made->tokens);
    if (made->tokens[0].connection != 0 && one_in(stream, 20))
        made->tokens[0].connection = made->tokens[1].connection = UINT64_C(1) << 60;
}

static uint64_t choose_ttl_ms(struct stream *stream)
{
    static const uint64_t ttls_ms[] = {0, 0, 3600000, 86400000, 2592000000, 3000000000};
    return ttls_ms[stream_random(stream, 6)];
}

static void fill_options(struct stream *stream, mcds_request *request)
{
    if (request->command == MCDS_GET)
        request->options = (one_in(stream, 2) ? MCDS_WANT_TTL : 0u) |
                           (one_in(stream, 4) ? MCDS_NO_VALUE : 0u);
    bool is_count = request->command == MCDS_INCR || request->command == MCDS_DECR;
    if (is_count && stream->limits.create_on_increment && one_in(stream, 3)) {
        request->options = MCDS_CREATE;
        request->initial = stream_random(stream, UINT64_MAX);
        if (!stream->limits.flags_on_create)
            request->flags = 0;
    }
    if (request->command == MCDS_APPEND && stream->limits.create_on_append && one_in(stream, 3))
        request->options = MCDS_CREATE;
}

/* A request on one of the keys `session`, `session + sessions`, ... */
static void make_request(struct stream *stream, struct stream_request *made, uint32_t session,
                         uint32_t sessions)
{
    made->key = session + sessions * (uint32_t)stream_random(stream, STREAM_KEYS / sessions);
    struct stream_key *key = &stream->keys[made->key];
    mcds_command command = choose_command(stream);
    memset(made->tokens, 0, sizeof made->tokens);
    if (command == MCDS_CAS || (command == MCDS_DELETE && one_in(stream, 2)))
        choose_token(stream, made);
    bool has_token = made->tokens[0].connection != 0;
    bool can = command == MCDS_CAS ? stream->limits.compare_and_set
                                   : stream->limits.compare_and_delete;
    if ((command == MCDS_CAS && !has_token) || (has_token && !can) ||
        ((command == MCDS_INCR || command == MCDS_DECR) && key->read)) {
        command = MCDS_GET;
        memset(made->tokens, 0, sizeof made->tokens);
    }
    key->read = key->read || command == MCDS_GET || command == MCDS_TOUCH;
    mcds_request *request = &made->request;
    *request = (mcds_request){
        .command = command,
        .key = {key->bytes, strlen(key->bytes)},
        .flags = (uint32_t)stream_random(stream, UINT64_C(1) << 32),
        .ttl_ms = choose_ttl_ms(stream),
        .delta = stream_random(stream, one_in(stream, 5) ? INT64_MAX : 200),
    };
    request->value.data = made->value;
    request->value.length = made->key % 4 < 2 && !one_in(stream, 8)
                                ? make_number(stream, made->value)
                                : make_bytes(stream, made->value);
    fill_options(stream, request);
}

static uint32_t choose_count(struct stream *stream)
{
    static const uint64_t counts[] = {1, 1, 4, 8, MCDS_BATCH_MAX};
    return 1 + (uint32_t)stream_random(stream, counts[stream_random(stream, 5)]);
}

/* In an independent batch no key may come twice. */
static void make_batch(struct stream *stream, struct stream_batch *batch, uint32_t session,
                       uint32_t sessions)
{
    bool used[STREAM_KEYS] = {false};
    uint32_t count = choose_count(stream);
    batch->independent = one_in(stream, 4);
    batch->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct stream_request *made = &batch->requests[batch->count];
        make_request(stream, made, session, sessions);
        if (batch->independent && used[made->key])
            continue;
        used[made->key] = true;
        batch->count++;
    }
}

void stream_next(struct stream *stream)
{
    stream->batch_count = one_in(stream, 2)
                              ? 1
                              : 1 + (uint32_t)stream_random(stream, STREAM_BATCHES_MAX);
    for (uint32_t i = 0; i < STREAM_KEYS; i++)
        stream->keys[i].read = false;
    for (uint32_t i = 0; i < stream->batch_count; i++)
        make_batch(stream, &stream->batches[i], i, stream->batch_count);
}

void stream_note(struct stream *stream, uint32_t key, const struct stream_pair *pair)
{
    struct stream_key *known = &stream->keys[key];
    known->pairs[known->pair_next % STREAM_PAIRS] = *pair;
    known->pair_next++;
}
