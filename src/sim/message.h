/* A message: the requests of a batch that go to one server.
 *
 * It keeps its own copy of the requests, because one may be applied long after its sender has given
 * up, and of the replies, because a reply may never arrive. */
#ifndef MCDS_SIM_MESSAGE_H
#define MCDS_SIM_MESSAGE_H

#include "base/buffer.h"
#include "sim/world.h"

struct mcds__sim_message {
    mcds_sim *sim;
    struct mcds__sim_session *session;
    mcds_batch *batch; /* NULL once the sender has its answer */
    struct mcds__sim_message *all_next;
    struct mcds__sim_message *all_previous;
    uint32_t server;
    uint64_t connection;
    uint64_t incarnation; /* the server's incarnation when it was sent */
    bool independent;     /* its requests have no order */
    uint32_t plans;       /* planned events that refer to this message */
    uint32_t arrived;     /* requests that have reached the server */
    uint32_t late_end;    /* requests before this index arrive late */
    bool broken;          /* its connection is broken */
    bool silent;          /* no reply will come */
    bool held;            /* it has reached a server that executes nothing for a while */
    uint32_t count;
    mcds_buffer values;
    uint32_t index[MCDS_BATCH_MAX]; /* of the requests, in the batch */
    mcds_request requests[];
};

/* The part of a batch that goes to one server. */
struct mcds__sim_part {
    uint32_t server;
    uint32_t count;
    uint32_t index[MCDS_BATCH_MAX]; /* of its requests, in the batch */
};

/* Copy the part. NULL: no memory. */
struct mcds__sim_message *mcds__sim_message_copy(struct mcds__sim_session *session,
                                                 mcds_batch *batch,
                                                 const struct mcds__sim_part *part);
/* Remove it from the messages that exist. */
void mcds__sim_message_free(struct mcds__sim_message *message);
/* Give the batch the first `answered` replies. The outcome of the others up to `sent` is UNKNOWN,
 * and that of the rest is UNSENT. */
void mcds__sim_message_hand_back(struct mcds__sim_message *message, uint32_t answered,
                                 uint32_t sent);
/* `count` more requests of the batch have their answers. Return it when all have. */
void mcds__sim_batch_answered(struct mcds__sim_session *session, mcds_batch *batch,
                              uint32_t count);

#endif
