/* Cache: a large value, in pieces under keys of their own.
 *
 * The keys contain the life of the value, a random number, so pieces are never changed. All are
 * written before the item refers to them. The item has their length and sum: if a piece is
 * missing or differs, the value is a miss. The store drops the pieces when their ttl is over. */
#ifndef MCDS_STRUCTURES_CACHE_PIECES_H
#define MCDS_STRUCTURES_CACHE_PIECES_H

#include "structures/cache/cache.h"

/* Pieces in one round trip. */
#define MCDS__CACHE_BATCH 8

struct mcds__cache_piece_scratch {
    struct mcds__key keys[MCDS__CACHE_BATCH];
    mcds_request requests[MCDS__CACHE_BATCH];
};

/* One value that is read or written. All zero at the start, except for `held` while reading. */
struct mcds__cache_transfer {
    struct mcds__cache_pieces pieces;
    struct mcds__key begin; /* of the keys */
    struct mcds__key route;
    uint32_t next; /* piece */
    bool is_asked;
    mcds_buffer held; /* what was read */
    struct mcds__cache_piece_scratch *scratch;
};

/* The largest piece, and the largest value that is stored in the item. */
size_t mcds__cache_piece_length(const mcds_cache *cache);
/* Prepare: the keys of the pieces of `item`, and, for reading, the place for the value. */
void mcds__cache_transfer_begin(struct mcds__cache_transfer *transfer, const mcds_cache *cache,
                                const char *suffix, size_t suffix_length,
                                const struct mcds__cache_pieces *pieces);
void mcds__cache_transfer_free(struct mcds__cache_transfer *transfer, const mcds_env *env);
/* DONE with MCDS_OK: the value is in `held`; MCDS_NOT_FOUND: a piece is gone or differs;
 * failures of reading. */
enum mcds__step mcds__cache_transfer_read_step(struct mcds__cache_transfer *transfer,
                                               struct mcds__operation *operation);
/* DONE with MCDS_OK: all are stored; others: some may be. */
enum mcds__step mcds__cache_transfer_write_step(struct mcds__cache_transfer *transfer,
                                                struct mcds__operation *operation,
                                                mcds_bytes value, uint64_t ttl_ms);

#endif
