/* Counts: operations of one pipeline that add to the same number share a request.
 *
 * As in combine.c, the table of a round is direct-mapped. Each request that shares one is a part of a
 * sum, which is sent as a batch of its own. A batch of several keys has parts in several sums, and is
 * done when all of them are answered. */
#include "engine/combine/counts.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/hash.h"
#include "base/number.h"

/* No sum is larger than a delta of one call may be. */
#define SUM_MAX ((uint64_t)INT64_MAX)
#define PARTS_MAX 65536
#define PARTS_HERE 4 /* parts of a sum without memory of their own */

struct part {
    mcds_batch *batch;
    mcds_request *request;
};

/* One batch in place of the requests of several. */
struct mcds__sum {
    mcds_batch batch;
    mcds_request requests[2];
    mcds_buffer parts;
    struct part parts_here[PARTS_HERE];
    char text[MCDS__U64_DIGITS];
    struct mcds__sum *all;   /* the next of all */
    struct mcds__sum *spare; /* the next free one */
    struct mcds__sum *open;  /* the next of this round */
};

void mcds__counts_init(struct mcds__counts *counts, const mcds_env *env, uint64_t seed)
{
    counts->env = env;
    counts->seed = seed;
}

void mcds__counts_free(struct mcds__counts *counts)
{
    for (struct mcds__sum *sum = counts->all, *next; sum != NULL; sum = next) {
        next = sum->all;
        if (!sum->parts.borrowed)
            mcds__buffer_free(&sum->parts);
        mcds__free(counts->env, sum);
    }
    counts->all = counts->spare = NULL;
}

void mcds__counts_begin(struct mcds__counts *counts)
{
    counts->round++;
    counts->is_used = false;
    counts->open = NULL;
}

/* Make sure that so many sums are spare. False: no memory. */
static bool reserve_sums(struct mcds__counts *counts, uint32_t count)
{
    for (const struct mcds__sum *sum = counts->spare; sum != NULL && count > 0;
         sum = sum->spare)
        count--;
    for (; count > 0; count--) {
        struct mcds__sum *sum = mcds__allocate(counts->env, sizeof *sum);
        if (sum == NULL)
            return false;
        mcds__buffer_init_in(&sum->parts, counts->env, PARTS_MAX * sizeof(struct part),
                             sum->parts_here, sizeof sum->parts_here);
        sum->all = counts->all;
        counts->all = sum;
        sum->spare = counts->spare;
        counts->spare = sum;
    }
    return true;
}

static bool is_pair(const mcds_batch *batch)
{
    return batch->count == 2 && !batch->independent;
}

/* Whether the request can be a part of a sum. The number of an ADD is also stored as its delta, which
 * no store reads. */
static bool has_number(mcds_request *request)
{
    if ((request->command != MCDS_INCR && request->command != MCDS_ADD) ||
        request->options != 0 || request->cas.connection != 0 || request->route.length != 0 ||
        request->copy != 0)
        return false;
    return request->command == MCDS_INCR ||
           mcds__parse_u64(request->value.data, request->value.length, &request->delta);
}

static bool is_count(const mcds_batch *batch)
{
    mcds_request *requests = batch->requests;
    for (uint32_t i = 0; i < batch->count; i++)
        if (!has_number(&requests[i]))
            return false;
    if (is_pair(batch))
        return requests[0].command == MCDS_ADD && requests[1].command == MCDS_INCR &&
               mcds__bytes_same(requests[0].key, requests[1].key);
    return batch->count == 1 || batch->independent;
}

static struct mcds__count_slot *count_slot_of(struct mcds__counts *counts, uint64_t hash)
{
    return &counts->slots[hash >> 56];
}
static_assert(MCDS__COUNT_SLOTS == 1 << 8, "the upper eight bits of the hash choose a slot");

static bool holds(const struct mcds__counts *counts, const struct mcds__count_slot *slot,
                  uint64_t hash, mcds_bytes key)
{
    return slot->round == counts->round && slot->hash == hash &&
           mcds__bytes_same(slot->first->key, key);
}

/* The batch that is sent for the slot. */
static mcds_batch *batch_of(const struct mcds__count_slot *slot)
{
    return slot->alone != NULL ? slot->alone : &slot->sum->batch;
}

/* Whether the request may share that of the slot, which is for the same key. */
static bool counts_goes_with(const struct mcds__count_slot *slot, const mcds_batch *batch,
                             const mcds_request *request)
{
    const mcds_batch *into = batch_of(slot);
    const mcds_request *own = into->requests;
    if (own->command != request->command || own->flags != request->flags ||
        own->ttl_ms != request->ttl_ms || is_pair(into) != is_pair(batch) ||
        !mcds__combine_deadlines_fit(batch, into))
        return false;
    if (is_pair(batch) && !mcds__bytes_same(own->value, request->value))
        return false;
    uint64_t sum = own[is_pair(into)].delta;
    return sum <= SUM_MAX && request[is_pair(batch)].delta <= SUM_MAX - sum;
}

/* The request that holds the sum, as its delta. */
static mcds_request *last_of(struct mcds__sum *sum)
{
    return &sum->requests[sum->batch.count - 1];
}

/* A sum of this request alone, from those that are spare. */
static struct mcds__sum *begin_sum(struct mcds__counts *counts, mcds_batch *batch,
                                   mcds_request *request)
{
    struct mcds__sum *sum = counts->spare;
    const struct part part = {batch, request};
    assert(sum != NULL);
    counts->spare = sum->spare;
    sum->requests[0] = request[0];
    if (is_pair(batch))
        sum->requests[1] = request[1];
    sum->batch = (mcds_batch){
        .requests = sum->requests,
        .count = is_pair(batch) ? 2 : 1,
        .deadline_ns = batch->deadline_ns,
        .combined = true,
        .serial = (uintptr_t)&sum->batch,
    };
    sum->open = counts->open;
    counts->open = sum;
    sum->parts.length = 0;
    bool has_room = mcds_buffer_append(&sum->parts, &part, sizeof part);
    assert(has_room);
    (void)has_room;
    return sum;
}

static bool join(struct mcds__counts *counts, struct mcds__count_slot *slot, mcds_batch *batch,
                 mcds_request *request)
{
    const struct part part = {batch, request};
    if (slot->alone != NULL) {
        slot->sum = begin_sum(counts, slot->alone, slot->first);
        slot->alone->combined = true;
        slot->alone->serial = (uintptr_t)&slot->sum->batch;
        slot->alone = NULL;
    }
    struct mcds__sum *sum = slot->sum;
    assert(sum->parts.length > 0);
    if (!mcds_buffer_append(&sum->parts, &part, sizeof part))
        return false;
    last_of(sum)->delta += request[is_pair(batch)].delta;
    if (batch->deadline_ns < sum->batch.deadline_ns)
        sum->batch.deadline_ns = batch->deadline_ns;
    return true;
}

/* A part of the sum of its key, or the first of a new one. */
static void put_request(struct mcds__counts *counts, mcds_batch *batch, mcds_request *request,
                        mcds_batch ***end)
{
    uint64_t hash = mcds__hash(counts->seed, request->key);
    struct mcds__count_slot *slot = count_slot_of(counts, hash);
    if (holds(counts, slot, hash, request->key) && counts_goes_with(slot, batch, request) &&
        join(counts, slot, batch, request))
        return;
    bool has_one_key = batch->count == 1 || is_pair(batch);
    *slot = (struct mcds__count_slot){counts->round, hash, request, batch, NULL};
    if (!has_one_key) {
        slot->alone = NULL;
        slot->sum = begin_sum(counts, batch, request);
    }
    mcds_batch *sent = batch_of(slot);
    **end = sent;
    *end = &sent->next;
}

bool mcds__counts_put(struct mcds__counts *counts, mcds_batch *batch, mcds_batch ***end)
{
    if (!is_count(batch) || !reserve_sums(counts, batch->count))
        return false;
    assert(!batch->combined);
    batch->answered = 0; /* a batch may be submitted again */
    uint32_t step = is_pair(batch) ? 2 : 1;
    counts->is_used = true;
    for (uint32_t i = 0; i < batch->count; i += step)
        put_request(counts, batch, &batch->requests[i], end);
    return true;
}

void mcds__counts_pass(struct mcds__counts *counts, const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count && counts->is_used; i++) {
        uint64_t hash = mcds__hash(counts->seed, batch->requests[i].key);
        struct mcds__count_slot *slot = count_slot_of(counts, hash);
        if (holds(counts, slot, hash, batch->requests[i].key))
            slot->round = 0;
    }
}

void mcds__counts_end(struct mcds__counts *counts)
{
    for (struct mcds__sum *sum = counts->open; sum != NULL; sum = sum->open) {
        mcds_request *last = last_of(sum);
        assert(last->delta <= SUM_MAX || sum->parts.length == sizeof(struct part));
        if (last->command == MCDS_ADD)
            last->value = (mcds_bytes){sum->text, mcds__format_u64(last->delta, sum->text)};
    }
}

bool mcds__counts_owns(const mcds_batch *combined)
{
    mcds_command last = combined->requests[combined->count - 1].command;
    return last == MCDS_INCR || (last == MCDS_ADD && combined->count == 1);
}

/* The reply to a request of the sum, for the part after which `later` more was added. */
static mcds_reply counts_share(const mcds_request *request, uint64_t later, bool is_last)
{
    mcds_reply reply = request->reply;
    if (reply.outcome == MCDS_OUT_OK && request->command == MCDS_INCR)
        reply.number -= later;
    if (!is_last) /* the token of a later value */
        reply.cas = (mcds_cas_token){0, 0};
    return reply;
}

/* In a pair, only the first ADD was sent; the others find the key. */
static mcds_reply share_pair_add(struct mcds__sum *sum)
{
    mcds_reply *reply = &sum->requests[0].reply;
    mcds_reply first = *reply;
    first.cas = (mcds_cas_token){0, 0};
    if (reply->outcome == MCDS_OUT_OK)
        reply->outcome = MCDS_OUT_NOT_STORED;
    return first;
}

mcds_batch *mcds__counts_separate(struct mcds__counts *counts, mcds_batch *combined)
{
    struct mcds__sum *sum = (struct mcds__sum *)combined;
    assert(combined->answered == combined->count);
    mcds_batch *done = NULL, **end = &done;
    const struct part *parts = (const void *)sum->parts.data;
    size_t count = sum->parts.length / sizeof *parts;
    uint32_t pair = is_pair(combined);
    uint64_t later = last_of(sum)->delta;
    assert(mcds__counts_owns(combined) && count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &parts[i];
        assert(part->request[pair].delta <= later);
        later -= part->request[pair].delta;
        if (pair)
            part->request->reply = share_pair_add(sum);
        part->request[pair].reply = counts_share(&sum->requests[pair], later, i + 1 == count);
        part->batch->answered += 1 + pair;
        assert(part->batch->answered <= part->batch->count);
        if (part->batch->answered < part->batch->count)
            continue;
        *end = part->batch;
        end = &part->batch->next;
    }
    assert(later == 0); /* each part has its reply, and nothing of the sum is left */
    *end = NULL;
    sum->spare = counts->spare;
    counts->spare = sum;
    return done;
}
