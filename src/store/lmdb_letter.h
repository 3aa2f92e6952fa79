/* Requests and their answers as bytes in memory that processes share: what one asks another to
 * carry out for it. Both are built alike (lmdb_line.c sees to it); what is read is checked all
 * the same. */
#ifndef MCDS_STORE_LMDB_LETTER_H
#define MCDS_STORE_LMDB_LETTER_H

#include "mcds_store.h"

#define MCDS__LETTER_BYTES 8192
#define MCDS__LETTER_REQUESTS MCDS_BATCH_MAX

struct mcds__letter {
    uint32_t length; /* of the bytes in use */
    uint32_t count;  /* requests */
    uint64_t synced; /* whether the commit is to be on the disk before it is answered */
    uint8_t bytes[MCDS__LETTER_BYTES];
};

/* Add the requests of a batch but those for values, which answers have no room for: the sender
 * reads them when the letter is answered. False: they do not fit, or something is to be written
 * behind such a reading; the letter is as it was. */
bool mcds__letter_add(struct mcds__letter *letter, const mcds_batch *batch);
bool mcds__letter_leaves_out(const mcds_batch *batch, const mcds_request *request);
/* The request that begins at *at, which moves behind it; it points into the letter. False: at the
 * end, or what stands there is none. */
bool mcds__letter_next(const struct mcds__letter *letter, size_t *at, mcds_request *out);

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
/* The sentence of an explanation does not come along: another tells where it is to be had. */
void mcds__answer_read(const struct mcds__answer *answer, mcds_reply *out);

#endif
