/* Requests and answers as bytes in shared memory: the requests that one process asks another to execute.
 * Both are built for the same layout (write_lock.c checks that), but a reader validates what
 * it reads. */
#ifndef MCDS_STORE_LMDB_COMMIT_MESSAGE_H
#define MCDS_STORE_LMDB_COMMIT_MESSAGE_H

#include "mcds/backend.h"

/* A larger batch is not posted: its process waits until it holds the write lock, and then makes a
 * commit of its own. So a rewritten key of a map should fit. */
#define MCDS__LMDB_MESSAGE_BYTES 32768
#define MCDS__LMDB_MESSAGE_REQUESTS MCDS_BATCH_MAX

struct mcds__lmdb_message {
    uint32_t length; /* of the bytes in use */
    uint32_t count;  /* requests */
    uint64_t synced; /* whether the commit must be synced before it is answered */
    uint8_t bytes[MCDS__LMDB_MESSAGE_BYTES];
};

/* Add the requests of a batch, except GETs with a value: answers have no space for values, so
 * the sender reads them when the message is answered. False: the requests do not fit, or a
 * write follows such a GET; the message is unchanged. */
bool mcds__lmdb_message_add(struct mcds__lmdb_message *message, const mcds_batch *batch);
bool mcds__lmdb_message_leaves_out(const mcds_batch *batch, const mcds_request *request);
/* Decode the request at *at and move *at past it; the request points into the message. False:
 * the message ends here or is malformed. */
bool mcds__lmdb_message_next(const struct mcds__lmdb_message *message, size_t *at,
                             mcds_request *out);

struct mcds__answer {
    uint32_t outcome;
    uint32_t flags;
    uint64_t number;
    uint64_t cas;
    uint64_t connection;
    uint64_t value_length;
    int64_t ttl_ms;
    uint64_t is_explained;
};
void mcds__answer_write(const mcds_reply *reply, struct mcds__answer *out);
/* The text of the detail is not transmitted: a fixed sentence says where to find it. */
void mcds__answer_read(const struct mcds__answer *answer, mcds_reply *out);

#endif
