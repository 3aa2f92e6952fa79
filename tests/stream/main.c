/* stream HOME [SEED [COMMANDS]]: one random stream of commands gives equal replies on a table
 * in memory and on HOME. Tokens are compared by what they tell, not by their number: two of one
 * key are the same on both stores or on neither.
 *
 * One difference is forgiven. Before 1.6.22 memcached takes a number of 2^63 and more for none
 * when the byte '-' happens to follow in its memory. Such a key is erased on both sides, and
 * how often it came to that is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/number.h"
#include "store/store.h"
#include "stream/generator.h"
#include "support/fake_env.h"
#include "support/place.h"

#define EXIT_SKIPPED 77
#define SEED_DEFAULT 1
#define COMMANDS_DEFAULT 100000
#define VALUES_MAX ((size_t)64 << 20)
#define PATIENCE_NS (20 * NS_PER_S)
#define TTL_SLACK_MS 120000 /* the run itself, and what strict mode takes off */
#define EDGE_EVERY 2000     /* commands between two visits to the largest value */
#define EDGE_ROOM 1024      /* beyond what memcached takes more than we give it */
#define EDGE_VALUE_MAX ((uint64_t)4 << 20)

struct side {
    const char *name;
    const mcds_env *env;
    mcds_store *store;
    mcds_capabilities can;
    mcds_buffer values[STREAM_BATCHES_MAX];
    mcds_batch batches[STREAM_BATCHES_MAX];
    mcds_request requests[STREAM_BATCHES_MAX][MCDS_BATCH_MAX];
};

static bool side_open(struct side *side, const char *name, const char *uri, const mcds_env *env)
{
    side->name = name;
    side->env = env;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = env;
    if (mcds_open(uri, &options, &side->store) != MCDS_OK) {
        (void)fprintf(stderr, "%s: %s\n", uri, mcds_errmsg());
        return false;
    }
    for (int i = 0; i < STREAM_BATCHES_MAX; i++)
        mcds__buffer_init(&side->values[i], env, VALUES_MAX);
    return true;
}

static void side_close(struct side *side)
{
    for (int i = 0; i < STREAM_BATCHES_MAX; i++)
        mcds__buffer_free(&side->values[i]);
    mcds_close(side->store);
}

/* Carry out all batches of the round, submitted together. */
static bool side_run(struct side *side, int which, const struct stream *stream)
{
    uint32_t count = stream->batch_count;
    for (uint32_t b = 0; b < count; b++) {
        const struct stream_batch *made = &stream->batches[b];
        for (uint32_t i = 0; i < made->count; i++) {
            side->requests[b][i] = made->requests[i].request;
            side->requests[b][i].cas = made->requests[i].tokens[which];
        }
        side->values[b].length = 0;
        side->batches[b] = (mcds_batch){
            .requests = side->requests[b],
            .count = made->count,
            .independent = made->independent,
            .deadline_ns = mcds__monotonic_ns(side->env) + PATIENCE_NS,
            .values = &side->values[b],
            .next = b + 1 < count ? &side->batches[b + 1] : NULL,
        };
    }
    struct mcds__lane *lane;
    if (mcds__lane_take(side->store, 0, &lane) != MCDS_OK)
        return false;
    mcds__lane_submit(lane, &side->batches[0]);
    uint32_t back = 0;
    for (uint32_t turn = 0; turn < count && back < count; turn++)
        for (mcds_batch *batch =
                 mcds__lane_collect(lane, mcds__monotonic_ns(side->env) + PATIENCE_NS);
             batch != NULL; batch = batch->next)
            back++;
    mcds__lane_give(side->store, lane);
    return back == count;
}

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
                  shown ? (int)value.length : 0, shown ? (const char *)value.at : "",
                  reply->detail != NULL ? reply->detail : "");
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
            memcmp(values[0].at, values[1].at, values[0].length) != 0)
            return "value";
        if (!same_ttl(sides, b, i))
            return "ttl";
    }
    bool has_token = request->command == MCDS_GET ||
                     (sides[0].can.cas_on_store && sides[1].can.cas_on_store);
    if (request->command == MCDS_TOUCH || request->command == MCDS_DELETE)
        has_token = false;
    if (is_count && (one->cas.connection == 0 || two->cas.connection == 0))
        has_token = false; /* it may be left out */
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

/* False, with both replies printed, at the first difference. */
static bool compare_round(struct stream *stream, const struct side *sides, uint64_t done)
{
    memset(stream->is_spoilt, 0, sizeof stream->is_spoilt);
    for (uint32_t b = 0; b < stream->batch_count; b++)
        for (uint32_t i = 0; i < stream->batches[b].count; i++) {
            bool *is_spoilt = &stream->is_spoilt[stream->batches[b].requests[i].key];
            *is_spoilt = *is_spoilt || is_misread_number(sides, b, i);
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
                          (const char *)request->key.at, request->options, request->delta,
                          request->value.length);
            print_side(&sides[0], b, i);
            print_side(&sides[1], b, i);
            return false;
        }
    return true;
}

static bool round_of_one(struct stream *stream, struct side *sides, mcds_command command,
                         const uint8_t *value, size_t length)
{
    struct stream_request *made = &stream->batches[0].requests[0];
    memset(made->tokens, 0, sizeof made->tokens);
    made->key = 0;
    made->request = (mcds_request){.command = command, .key = {"stream:edge", 11}};
    made->request.value = (mcds_bytes){value, length};
    stream->batch_count = 1;
    stream->batches[0].count = 1;
    memset(stream->keys[0].pairs, 0, sizeof stream->keys[0].pairs);
    return side_run(&sides[0], 0, stream) && side_run(&sides[1], 1, stream) &&
           compare_round(stream, sides, 0);
}

/* Up to the largest value and beyond. What memcached takes of an append hangs on the length of
 * the key and lies up to 511 bytes above what we give it: there nothing is asked. */
static bool visit_the_edge(struct stream *stream, struct side *sides)
{
    size_t most = (size_t)sides[0].can.value_max;
    if (most != sides[1].can.value_max || most > EDGE_VALUE_MAX)
        return true;
    size_t room = (size_t)stream_random(stream, 600);
    uint8_t *value = malloc(most + 1);
    if (value == NULL)
        return false;
    for (size_t i = 0; i <= most; i++)
        value[i] = (uint8_t)('a' + stream_random(stream, 26));
    bool fine = round_of_one(stream, sides, MCDS_SET, value, most - room) &&
                round_of_one(stream, sides, MCDS_APPEND, value, room + EDGE_ROOM) &&
                round_of_one(stream, sides, MCDS_PREPEND, value, room + EDGE_ROOM) &&
                round_of_one(stream, sides, MCDS_INCR, NULL, 0) &&
                round_of_one(stream, sides, MCDS_APPEND, value, room) &&
                round_of_one(stream, sides, MCDS_GET, NULL, 0);
    for (mcds_command command = MCDS_SET; fine && command < MCDS_CAS; command++)
        fine = round_of_one(stream, sides, command, value, most + 1) &&
               round_of_one(stream, sides, MCDS_GET, NULL, 0);
    fine = fine && round_of_one(stream, sides, MCDS_REPLACE, value, most) &&
           round_of_one(stream, sides, MCDS_GET, NULL, 0) &&
           round_of_one(stream, sides, MCDS_DELETE, NULL, 0);
    free(value);
    return fine;
}

/* Erase the keys of misread numbers on both sides. */
static bool erase_spoilt(struct stream *stream, struct side *sides, uint64_t *forgiven)
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

static bool run_stream(struct side *sides, uint64_t seed, uint64_t commands)
{
    static struct stream stream;
    for (int side = 0; side < 2; side++) {
        mcds_request get = {.command = MCDS_GET, .key = {"first", 5}};
        mcds_batch batch = {.requests = &get, .count = 1};
        batch.deadline_ns = mcds__monotonic_ns(sides[side].env) + PATIENCE_NS;
        mcds__store_execute(sides[side].store, 0, &batch);
        mcds__store_capabilities(sides[side].store, &sides[side].can);
    }
    const mcds_capabilities *one = &sides[0].can;
    const mcds_capabilities *two = &sides[1].can;
    const struct stream_limits limits = {
        .create_on_increment = one->create_on_increment && two->create_on_increment,
        .flags_on_create = one->flags_on_create && two->flags_on_create,
        .create_on_append = one->create_on_append && two->create_on_append,
        .compare_and_set = one->compare_and_set && two->compare_and_set,
        .compare_and_delete = one->compare_and_delete && two->compare_and_delete,
    };
    stream_init(&stream, seed, &limits);
    uint64_t edge = 0;
    uint64_t forgiven = 0;
    for (uint64_t done = 0; done < commands;) {
        if (done >= edge) {
            if (!visit_the_edge(&stream, sides))
                return false;
            edge += EDGE_EVERY;
        }
        stream_next(&stream);
        for (int side = 0; side < 2; side++)
            if (!side_run(&sides[side], side, &stream)) {
                (void)fprintf(stderr, "%s: not all batches came back\n", sides[side].name);
                return false;
            }
        if (!compare_round(&stream, sides, done))
            return false;
        for (uint32_t b = 0; b < stream.batch_count; b++)
            done += stream.batches[b].count;
        if (!erase_spoilt(&stream, sides, &forgiven))
            return false;
    }
    if (forgiven > 0)
        (void)printf("%" PRIu64 " numbers of 2^63 and more were misread and forgiven\n",
                     forgiven);
    return true;
}

static bool number_of(int argc, char **argv, int at, uint64_t fallback, uint64_t *out)
{
    *out = fallback;
    return argc <= at || mcds__parse_u64(argv[at], strlen(argv[at]), out);
}

int main(int argc, char **argv)
{
    static struct side sides[2];
    static struct fake_env fake;
    uint64_t seed;
    uint64_t commands;
    const char *missing = NULL;
    bool fine = argc >= 2 && number_of(argc, argv, 2, SEED_DEFAULT, &seed) &&
                number_of(argc, argv, 3, COMMANDS_DEFAULT, &commands);
    struct place *place = fine ? place_start(argv[1], &missing) : NULL;
    if (place == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    if (place == NULL) {
        (void)fprintf(stderr, "usage: stream HOME [SEED [COMMANDS]], HOME one of:%s\n",
                      place_names());
        return 64;
    }
    fake_env_init(&fake, seed);
    /* Nothing is evicted within so much room, and the largest value is memcached's. */
    const char *reference = place_has_own_clock(place) ? "memory:?strict=1&bytes=4294967296"
                                                       : "memory:";
    fine = side_open(&sides[0], "memory", reference, &fake.env);
    if (fine && !side_open(&sides[1], argv[1], place_uri(place),
                           place_has_own_clock(place) ? mcds_env_system() : &fake.env)) {
        fine = false;
        side_close(&sides[0]);
    } else if (fine) {
        fine = run_stream(sides, seed, commands);
        side_close(&sides[0]);
        side_close(&sides[1]);
    }
    place_stop(place);
    (void)printf("%s: seed %" PRIu64 ", %" PRIu64 " commands: %s\n", argv[1], seed, commands,
                 fine ? "equal" : "DIFFERENT");
    return fine ? 0 : 1;
}
