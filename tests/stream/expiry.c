/* Items with a ttl. A server's clock is not ours, so items are read while they must exist,
 * which is repeated if that took too long, and again when a key that was stored last and lives
 * longest has expired. In between, when answers may differ, nothing is read. */
#include <stdio.h>
#include <string.h>

#include "stream/side.h"

/* The ttl of items that expire: the shortest at first, doubled after so many attempts that took too
 * long, so that the visit ends on a loaded machine too. */
#define SHORT_MS 4000u
#define ATTEMPTS_PER_TTL 5
#define ATTEMPTS_MAX 25
/* An item may live less than its ttl by this: a second is rounded, and two may be lost. */
#define EARLY_MS 3000u
#define LATE_MS 3000u
#define LOOK_NS (NS_PER_S / 10)
#define ROUNDS 12

static bool run_and_compare(struct stream *stream, struct side *sides)
{
    uint64_t forgiven = 0;
    return side_run(&sides[0], 0, stream) && side_run(&sides[1], 1, stream) &&
           compare_round(stream, sides, 0) && erase_spoilt(stream, sides, &forgiven);
}

/* One request on each key, or on every third. */
static void ask_each(struct stream *stream, mcds_command command, uint32_t step)
{
    struct stream_batch *batch = &stream->batches[0];
    stream->batch_count = 1;
    batch->count = 0;
    batch->independent = false;
    for (uint32_t i = 0; i < STREAM_KEYS; i += step) {
        struct stream_request *made = &batch->requests[batch->count++];
        memset(made->tokens, 0, sizeof made->tokens);
        made->key = i;
        made->request = (mcds_request){
            .command = command,
            .options = command == MCDS_GET ? MCDS_WANT_TTL : 0,
            .key = {stream->keys[i].bytes, strlen(stream->keys[i].bytes)},
        };
    }
}

static void shorten(struct stream *stream, uint64_t short_ms)
{
    const uint64_t ttls_ms[] = {0, 3600000, short_ms, short_ms};
    for (uint32_t b = 0; b < stream->batch_count; b++)
        for (uint32_t i = 0; i < stream->batches[b].count; i++)
            stream->batches[b].requests[i].request.ttl_ms = ttls_ms[stream_random(stream, 4)];
}

/* Any commands with short ttls, other ttls for some, then a read of all keys. *in_time_out: no item
 * can have expired meanwhile on either side. False: a difference. */
static bool store_for_a_while(struct stream *stream, struct side *sides, uint64_t short_ms,
                              bool *in_time_out)
{
    const int64_t alive_ns = (int64_t)(short_ms - EARLY_MS) * (NS_PER_S / 1000);
    int64_t begun_ns[2];
    for (int side = 0; side < 2; side++)
        begun_ns[side] = mcds__monotonic_ns(sides[side].env);
    *in_time_out = true;
    for (int round = 0; round <= ROUNDS && *in_time_out; round++) {
        uint64_t forgiven = 0;
        stream_next(stream);
        if (round == ROUNDS - 1)
            ask_each(stream, MCDS_TOUCH, 3);
        shorten(stream, short_ms);
        if (round == ROUNDS)
            ask_each(stream, MCDS_GET, 1);
        if (!side_run(&sides[0], 0, stream) || !side_run(&sides[1], 1, stream))
            return false;
        for (int side = 0; side < 2; side++)
            if (mcds__monotonic_ns(sides[side].env) - begun_ns[side] > alive_ns)
                *in_time_out = false;
        if (*in_time_out &&
            (!compare_round(stream, sides, 0) || !erase_spoilt(stream, sides, &forgiven)))
            return false;
    }
    return true;
}

static mcds_outcome ask_sentinel(struct side *side, mcds_command command, uint64_t ttl_ms)
{
    mcds_request request = {
        .command = command, .key = {"stream:sentinel", 15}, .ttl_ms = ttl_ms};
    mcds_batch batch = {.requests = &request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(side->env) + PATIENCE_NS;
    mcds__store_execute(side->store, 0, &batch);
    return request.reply.outcome;
}

/* Let time pass on this side until the sentinel is gone. */
static bool outlive_sentinel(struct side *side, uint64_t ttl_ms)
{
    int64_t until_ns = mcds__monotonic_ns(side->env) + (int64_t)ttl_ms * (NS_PER_S / 1000) +
                       PATIENCE_NS;
    mcds_outcome outcome = ask_sentinel(side, MCDS_GET, 0);
    while (outcome == MCDS_OUT_OK && mcds__monotonic_ns(side->env) < until_ns) {
        side->env->sleep_until_ns(side->env->self, mcds__monotonic_ns(side->env) + LOOK_NS);
        outcome = ask_sentinel(side, MCDS_GET, 0);
    }
    return outcome == MCDS_OUT_MISS;
}

static bool fail(const char *what)
{
    (void)fprintf(stderr, "expiry: %s\n", what);
    return false;
}

bool visit_expiry(struct stream *stream, struct side *sides)
{
    bool in_time = false;
    uint64_t short_ms = SHORT_MS;
    for (int attempt = 0; !in_time; attempt++) {
        if (attempt == ATTEMPTS_MAX)
            return fail("the stores are too slow to be looked at in time");
        if (attempt > 0 && attempt % ATTEMPTS_PER_TTL == 0)
            short_ms *= 2;
        for (uint32_t i = 0; i < STREAM_KEYS; i++)
            memset(stream->keys[i].pairs, 0, sizeof stream->keys[i].pairs);
        ask_each(stream, MCDS_DELETE, 1);
        if (!side_run(&sides[0], 0, stream) || !side_run(&sides[1], 1, stream) ||
            !store_for_a_while(stream, sides, short_ms, &in_time))
            return fail("while the items live");
    }
    for (int side = 0; side < 2; side++)
        if (ask_sentinel(&sides[side], MCDS_SET, short_ms + LATE_MS) != MCDS_OUT_OK)
            return fail("the sentinel is not stored");
    for (int side = 0; side < 2; side++)
        if (!outlive_sentinel(&sides[side], short_ms + LATE_MS))
            return fail("the sentinel does not go");
    /* At first any command, then a look at what is left. */
    for (int round = 0; round <= ROUNDS; round++) {
        stream_next(stream);
        if (round == ROUNDS)
            ask_each(stream, MCDS_GET, 1);
        if (!run_and_compare(stream, sides))
            return fail("when items have gone");
    }
    return true;
}
