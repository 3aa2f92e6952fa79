/* Counts: operations of one pipeline that add to the same number share a request.
 *
 * Within one round, combinable batches of these forms are split by their keys:
 *
 *   INCR key              one INCR by the sum of the deltas
 *   ADD key               of a decimal number: one ADD of the sum of the numbers
 *   ADD key | INCR key    one ADD, and one INCR by the sum of the deltas
 *
 * A batch without an order may have several requests of the first two forms. Requests for one key
 * share one if they have the same form, flags and ttl, in the third form also the same value to add,
 * and if the round has no other batch with a request for the key between them. So the requests for a
 * key keep their order.
 *
 * Each request gets a reply that it could have got alone, if the others had run directly before and
 * after it. After an INCR, that is the number after its own delta, modulo 2^64 as on the servers. In
 * the third form only the first of them adds the key. In the second form OK means that the number
 * was counted: the others would have found the key, and would have incremented it. A refusal, a
 * request that was not sent, and a lost reply concern all of them. */
#ifndef MCDS_ENGINE_COMBINE_COUNTS_H
#define MCDS_ENGINE_COMBINE_COUNTS_H

#include "base/environment.h"
#include "mcds/backend.h"

#define MCDS__COUNT_SLOTS 256

/* Whether one batch may replace these two. It has the earliest deadline of its members, so no operation
 * waits beyond its own deadline. A connection with a late request is closed anyway, whichever request
 * it was. The deadlines are at most 100 ms apart, so that no operation loses much of its time. */
static inline bool mcds__combine_deadlines_fit(const mcds_batch *batch, const mcds_batch *other)
{
    const int64_t most_ns = 100 * NS_PER_MS;
    int64_t apart_ns = batch->deadline_ns - other->deadline_ns;
    return apart_ns >= -most_ns && apart_ns <= most_ns;
}

struct mcds__sum;

/* The requests of one key. */
struct mcds__count_slot {
    uint64_t round; /* in which it is taken */
    uint64_t hash;  /* of the key */
    mcds_request *first;
    mcds_batch *alone; /* the batch of `first`, which is sent as it is; NULL: there is a sum */
    struct mcds__sum *sum; /* if more than one request shares it */
};

struct mcds__counts {
    const mcds_env *env;
    uint64_t seed; /* of the hash of keys */
    uint64_t round;
    bool is_used; /* in this round */
    struct mcds__sum *all;
    struct mcds__sum *spare;
    struct mcds__sum *open; /* of this round */
    struct mcds__count_slot slots[MCDS__COUNT_SLOTS];
};

void mcds__counts_init(struct mcds__counts *counts, const mcds_env *env, uint64_t seed);
/* None of its batches may be in flight. */
void mcds__counts_free(struct mcds__counts *counts);

/* A round begins. */
void mcds__counts_begin(struct mcds__counts *counts);
/* Take the batch into the round, whose list ends at *end. False: it is sent as it is. A batch of
 * the list that another one replaces is marked as combined, and its serial is the other batch. */
bool mcds__counts_put(struct mcds__counts *counts, mcds_batch *batch, mcds_batch ***end);
/* This batch is sent as it is: later requests do not move before it. */
void mcds__counts_pass(struct mcds__counts *counts, const mcds_batch *batch);
/* The round ends: its list can be sent. */
void mcds__counts_end(struct mcds__counts *counts);

/* Whether the batch was sent for requests of others. */
bool mcds__counts_owns(const mcds_batch *combined);
/* Returns the batches that have all their replies now, as a list. */
mcds_batch *mcds__counts_separate(struct mcds__counts *counts, mcds_batch *combined);

#endif
