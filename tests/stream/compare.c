/* Compares the replies of two stores. Tokens are compared by identity, not by number: two
 * tokens of a key are equal on both stores or on neither.
 *
 * Two differences are allowed. Before 1.6.22 memcached does not accept a number of 2^63 or more
 * if the byte '-' happens to follow it in memory. And memcached writes a shorter number over a
 * longer one with blanks after it, but without blanks if one of its own threads uses the item at
 * that moment. Such a key is deleted on both sides, and the number of these cases is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/side.h"

#define PADDED_MAX 64       /* bytes of a number with blanks */
#define UNPADDED_MAX 40     /* in one run: a store that never pads is another store */
#define TTL_SLACK_MS 120000 /* the run itself, and what strict mode takes off */

static void print_side(const struct side *side, uint32_t b, uint32_t i)
{
    const mcds_reply *reply = &side->requests[b][i].reply;
    mcds_bytes value = mcds__reply_value(&side->batches[b], &side->requests[b][i]);
    bool shown = side->requests[b][i].command == MCDS_GET && value.length <= 64 &&
                 !(side->requests[b][i].options & MCDS_NO_VALUE);
    (void)fprintf(stderr,
                  "  %-10s outcome %d flags %" PRIu32 " ttl_ms %" PRId64 " number %" PRIu64
                  " size %zu cas %" PRIu64 "/%" PRIu64 " value '%.*s' %s\n",
                  side->name, (int)reply->outcome, reply->flags, reply->ttl_ms, reply->number,
                  reply->value_length, reply->cas.unique, reply->cas.connection,
                  shown ? (int)value.length : 0, shown ? (const char *)value.data : "",
                  reply->detail != NULL ? reply->detail->text : "");
}

static bool same_ttl(const struct side *sides, uint32_t b, uint32_t i)
{
    int64_t one_ms = sides[0].requests[b][i].reply.ttl_ms;
    int64_t two_ms = sides[1].requests[b][i].reply.ttl_ms;
    if (!(sides[0].requests[b][i].options & MCDS_WANT_TTL) || !sides[0].can.ttl_readable ||
        !sides[1].can.ttl_readable)
        return true;
    if (one_ms == MCDS_TTL_NEVER || two_ms == MCDS_TTL_NEVER)
        return one_ms == two_ms;
    return llabs(one_ms - two_ms) <= TTL_SLACK_MS;
}

/* Equal now exactly when equal before, against every pair of tokens known for this key. */
static bool same_token(struct stream *stream, uint32_t key, const struct stream_pair *pair)
{
    const struct stream_key *known = &stream->keys[key];
    for (int i = 0; i < STREAM_PAIRS; i++) {
        const struct stream_pair *old = &known->pairs[i];
        if (old->of[0].connection == 0)
            continue;
        bool same[2];
        for (int side = 0; side < 2; side++)
            same[side] = old->of[side].unique == pair->of[side].unique &&
                         old->of[side].connection == pair->of[side].connection;
        if (same[0] != same[1])
            return false;
    }
    stream_note(stream, key, pair);
    return true;
}

static const char *difference(struct stream *stream, const struct side *sides, uint32_t b,
                              uint32_t i)
{
    const mcds_request *request = &sides[0].requests[b][i];
    const mcds_reply *one = &request->reply;
    const mcds_reply *two = &sides[1].requests[b][i].reply;
    if (one->outcome != two->outcome)
        return "outcome";
    if (one->outcome != MCDS_OUT_OK)
        return NULL;
    bool is_count = request->command == MCDS_INCR || request->command == MCDS_DECR;
    if (is_count && one->number != two->number)
        return "number";
    if (request->command == MCDS_GET) {
        mcds_bytes values[2];
        for (int side = 0; side < 2; side++)
            values[side] = mcds__reply_value(&sides[side].batches[b],
                                             &sides[side].requests[b][i]);
        if (one->flags != two->flags)
            return "flags";
        if (one->value_length != two->value_length)
            return "size";
        if (!(request->options & MCDS_NO_VALUE) && values[0].length > 0 &&
            memcmp(values[0].data, values[1].data, values[0].length) != 0)
            return "value";
        if (!same_ttl(sides, b, i))
            return "ttl";
    }
    bool has_token = request->command == MCDS_GET ||
                     (sides[0].can.cas_on_store && sides[1].can.cas_on_store);
    if (request->command == MCDS_TOUCH || request->command == MCDS_DELETE)
        has_token = false;
    bool may_omit = is_count || request->command == MCDS_APPEND ||
                    request->command == MCDS_PREPEND;
    if (may_omit && (one->cas.connection == 0 || two->cas.connection == 0))
        has_token = false;
    const struct stream_pair pair = {{one->cas, two->cas}};
    if (has_token && sides[1].can.compare_and_set &&
        !same_token(stream, stream->batches[b].requests[i].key, &pair))
        return "token";
    return NULL;
}

/* Whether only memory could read the number, which was 2^63 or more. */
static bool is_misread_number(const struct side *sides, uint32_t b, uint32_t i)
{
    const mcds_request *request = &sides[0].requests[b][i];
    if (request->reply.outcome != MCDS_OUT_OK ||
        sides[1].requests[b][i].reply.outcome != MCDS_OUT_NOT_NUMERIC)
        return false;
    uint64_t number = request->reply.number;
    uint64_t before = request->command == MCDS_INCR ? number - request->delta
                                                    : number + request->delta;
    return before > INT64_MAX && !(request->command == MCDS_DECR && number == 0);
}

/* Whether the values are equal but for blanks that only the reference has. Where they were not
 * asked for, the lengths decide. */
static bool lacks_blanks(const struct side *sides, uint32_t b, uint32_t i)
{
    const mcds_request *request = &sides[0].requests[b][i];
    mcds_bytes padded = mcds__reply_value(&sides[0].batches[b], request);
    mcds_bytes other = mcds__reply_value(&sides[1].batches[b], &sides[1].requests[b][i]);
    size_t length = sides[1].requests[b][i].reply.value_length;
    size_t at = 0;
    if (request->command != MCDS_GET || request->reply.outcome != MCDS_OUT_OK ||
        length >= request->reply.value_length)
        return false;
    if ((request->options & MCDS_NO_VALUE) != 0)
        return request->reply.value_length <= PADDED_MAX;
    for (size_t j = 0; j < padded.length; j++) {
        char byte = ((const char *)padded.data)[j];
        if (at < length && ((const char *)other.data)[at] == byte)
            at++;
        else if (byte != ' ')
            return false;
    }
    return at == length;
}

/* Whether the difference is one of those that are allowed. */
static bool is_allowed(struct stream *stream, const struct side *sides, uint32_t b, uint32_t i)
{
    if (is_misread_number(sides, b, i))
        return true;
    return lacks_blanks(sides, b, i) && ++stream->unpadded <= UNPADDED_MAX;
}

bool compare_round(struct stream *stream, const struct side *sides, uint64_t done)
{
    memset(stream->is_spoilt, 0, sizeof stream->is_spoilt);
    for (uint32_t b = 0; b < stream->batch_count; b++)
        for (uint32_t i = 0; i < stream->batches[b].count; i++) {
            bool *is_spoilt = &stream->is_spoilt[stream->batches[b].requests[i].key];
            *is_spoilt = *is_spoilt || is_allowed(stream, sides, b, i);
            const char *what = *is_spoilt ? NULL : difference(stream, sides, b, i);
            if (what == NULL)
                continue;
            const mcds_request *request = &sides[0].requests[b][i];
            (void)fprintf(stderr,
                          "after %" PRIu64 " commands: batch %u of %u, request %u of %u: "
                          "%s differs\n  command %d key %.*s options %u delta %" PRIu64
                          " value of %zu bytes\n",
                          done, b + 1, stream->batch_count, i + 1, stream->batches[b].count,
                          what, (int)request->command, (int)request->key.length,
                          (const char *)request->key.data, request->options, request->delta,
                          request->value.length);
            print_side(&sides[0], b, i);
            print_side(&sides[1], b, i);
            return false;
        }
    return true;
}

bool erase_spoilt(struct stream *stream, struct side *sides, uint64_t *forgiven)
{
    stream->batch_count = 1;
    stream->batches[0].count = 0;
    for (uint32_t i = 0; i < STREAM_KEYS; i++) {
        if (!stream->is_spoilt[i])
            continue;
        struct stream_request *made = &stream->batches[0].requests[stream->batches[0].count++];
        memset(made->tokens, 0, sizeof made->tokens);
        made->request = (mcds_request){.command = MCDS_DELETE};
        made->request.key = (mcds_bytes){stream->keys[i].bytes, strlen(stream->keys[i].bytes)};
        memset(stream->keys[i].pairs, 0, sizeof stream->keys[i].pairs);
        ++*forgiven;
    }
    return stream->batches[0].count == 0 ||
           (side_run(&sides[0], 0, stream) && side_run(&sides[1], 1, stream));
}
