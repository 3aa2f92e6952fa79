/* The queue of a link: [0, encoded) have been written out and wait for their replies, in order; the
 * others up to `count` wait to be written. mcds__link_enqueue() adds one. */
#ifndef MCDS_STORE_MEMCACHED_QUEUE_H
#define MCDS_STORE_MEMCACHED_QUEUE_H

#include "store/memcached.h"

static inline struct mcds__slot *mcds__queue_at(struct mcds__link *link, uint32_t i)
{
    return &link->slots[(link->first + i) & (link->room - 1)];
}

/* Answer a request that has left the queue, by its outcome alone. */
void mcds__queue_answer(struct mcds__link *link, mcds_batch *batch, uint32_t index,
                        mcds_outcome outcome, const mcds_reason *detail);

/* Take out and answer the first `lost`, which will get no reply: those that begin before `sent` are
 * UNKNOWN, the others never left, and get `refusal`. */
void mcds__queue_answer_lost(struct mcds__link *link, uint32_t lost, uint64_t sent,
                             mcds_outcome refusal, const mcds_reason *trouble);

/* Take out the first that waits to be written. */
struct mcds__slot mcds__queue_take_waiting(struct mcds__link *link);

/* A request of `batch` has not been carried out, as far as one knows, and those after it in an
 * ordered batch must not be: answer those that wait, UNSENT. They follow each other in the queue. */
void mcds__queue_give_up_rest(struct mcds__link *link, const mcds_batch *batch,
                              const mcds_reason *trouble);

#endif
