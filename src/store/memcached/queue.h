/* The queue of a connection: the requests [0, encoded) were written and wait for their replies,
 * in order; the others up to `count` wait to be written. mcds__connection_enqueue() appends
 * one. */
#ifndef MCDS_STORE_MEMCACHED_QUEUE_H
#define MCDS_STORE_MEMCACHED_QUEUE_H

#include <assert.h>

#include "store/memcached/memcached.h"

static inline struct mcds__pending *mcds__queue_at(struct mcds__connection *connection,
                                                   uint32_t i)
{
    assert(i < connection->capacity);
    return &connection->pending[(connection->first + i) & (connection->capacity - 1)];
}

/* Where in the stream a request begins that was written. */
static inline uint64_t mcds__queue_begin(const struct mcds__connection *connection, uint32_t i)
{
    assert(i < connection->encoded);
    return connection->pending[(connection->first + i) & (connection->capacity - 1)].begin;
}

/* Count an answered request of the batch. If the batch is complete, or goes one by one, append
 * it to the session's list. */
void mcds__queue_count_answer(struct mcds__memcached_session *session, mcds_batch *batch);

/* Answer a request that has left the queue. The reply has only an outcome. */
void mcds__queue_answer(struct mcds__connection *connection, mcds_batch *batch, uint32_t index,
                        mcds_outcome outcome, const mcds_reason *detail);

/* Remove and answer the first `lost` requests, which will get no reply. Those that begin before
 * `sent` are UNKNOWN; the others were never sent and get `refusal`. */
void mcds__queue_answer_lost(struct mcds__connection *connection, uint32_t lost, uint64_t sent,
                             mcds_outcome refusal, const mcds_reason *trouble);

/* Write the requests that wait into the output of the socket, as far as it takes them. Those that
 * need no server, or lack memory, are answered. */
void mcds__queue_encode(struct mcds__connection *connection);

/* Remove the first request that waits to be written. */
struct mcds__pending mcds__queue_take_waiting(struct mcds__connection *connection);

/* A request of `batch` was not executed, as far as is known, and the requests after it in an
 * ordered batch must not be either: answer those that wait, UNSENT. They are adjacent in the
 * queue. */
void mcds__queue_give_up_rest(struct mcds__connection *connection, const mcds_batch *batch,
                              const mcds_reason *trouble);

#endif
