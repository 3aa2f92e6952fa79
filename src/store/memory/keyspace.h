/* A keyspace with memcached's semantics, independent of threads, clocks and network: the caller
 * serializes the calls and passes the time. memory.c keeps several as stripes, each under a
 * lock; the simulator connects one through a faulty network. */
#ifndef MCDS_STORE_MEMORY_KEYSPACE_H
#define MCDS_STORE_MEMORY_KEYSPACE_H

#include <stdatomic.h>

#include "mcds/backend.h"

struct mcds__keyspace;
struct mcds__cell;

struct mcds__keyspace_options {
    uint64_t bytes_max; /* evict the least recently used beyond this; 0 = no limit */
    uint64_t value_max; /* larger values are TOO_BIG; an append that exceeds it is NOT_STORED */
    bool no_evict;      /* at bytes_max, answer NO_MEMORY instead of evicting */
    /* Incremented before an item is removed, replaced or given a ttl. NULL: not counted. */
    _Atomic uint64_t *losses;
    /* What memcached 1.6.18 lacks: */
    bool no_flags_on_create;
    bool no_create_on_append;
};

/* NULL: no memory. */
struct mcds__keyspace *mcds__keyspace_open(const mcds_env *env,
                                           const struct mcds__keyspace_options *options);
void mcds__keyspace_close(struct mcds__keyspace *keyspace);

/* Execute one request at the time `now_ms`. An item stored with ttl_ms is visible while now_ms
 * < stored at + ttl_ms rounded up to ttl_unit_ms - lag_ms. A token of another connection
 * is answered EXISTS, whether or not the key exists. Fills request->reply. */
struct mcds__keyspace_context {
    int64_t now_ms;
    uint32_t ttl_unit_ms; /* 0 counts as 1 */
    /* The clock that counts a ttl is late by this much, at a write and at a read. So a key that
     * is written again with the ttl that was read ends no earlier. A ttl that is no longer than
     * this is not shortened, so what is written exists. */
    uint32_t lag_ms;
    uint64_t *cas_next; /* the last cas token issued; several keyspaces may share one counter */
    uint64_t connection; /* goes into reply.cas */
    mcds_buffer
        *values; /* for GET; NULL: values are dropped; a value that does not fit is NO_MEMORY */
};
void mcds__keyspace_execute(struct mcds__keyspace *keyspace, mcds_request *request,
                            uint64_t hash, const struct mcds__keyspace_context *context);

/* Answer a GET with MCDS_WANT_TTL, with the address of the value, valid until the keyspace's next
 * change. Only for a missing item or one that never expires, so the times of the context are not
 * used. False: nothing was done. */
bool mcds__keyspace_peek(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash,
                         const struct mcds__keyspace_context *context, mcds_reply *reply_out,
                         mcds_bytes *value_out);

/* Open the number under a key for additions without the caller's lock (store/cell.h), until the
 * next command on this key. `cell` NULL: also take a hold on it; otherwise the caller has one.
 * NULL: the key has no number that never expires and fits a cell, or there is no memory. Not
 * for keyspaces with a limit. */
struct mcds__cell *mcds__keyspace_open_cell(struct mcds__keyspace *keyspace, mcds_bytes key,
                                            uint64_t hash, const struct mcds__cell *cell,
                                            uint64_t *cas_next);
/* Release one hold. */
void mcds__keyspace_release_cell(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash,
                                 uint64_t *cas_next);

/* Faults, for the simulator and for strict mode. */
bool mcds__keyspace_evict(struct mcds__keyspace *keyspace, mcds_bytes key, uint64_t hash);
/* Evict an item chosen by the random number `choice`. False: the keyspace is empty. */
bool mcds__keyspace_evict_any(struct mcds__keyspace *keyspace, uint64_t choice);
void mcds__keyspace_flush(struct mcds__keyspace *keyspace);

/* The number of items and their cost in bytes, with expired items that were not swept yet. */
uint64_t mcds__keyspace_count(const struct mcds__keyspace *keyspace);
uint64_t mcds__keyspace_bytes(const struct mcds__keyspace *keyspace);
/* Visit the living keys until `visit` returns false. Returns false if it did. */
bool mcds__keyspace_keys(struct mcds__keyspace *keyspace, int64_t now_ms, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context);

#endif
