/* One table of items with memcached's semantics and no idea of threads, time or network: the
 * caller serialises and says what time it is. memory.c puts stripes of it behind locks; the
 * simulator puts one behind a faulty network. */
#ifndef MCDS_STORE_TABLE_H
#define MCDS_STORE_TABLE_H

#include <stdatomic.h>

#include "mcds_store.h"

struct mcds__table;
struct mcds__cell;

struct mcds__table_options {
    uint64_t bytes_max;       /* evict the least recently used beyond this; 0 = no limit */
    uint64_t value_max;       /* larger values are TOO_BIG; an append beyond it is NOT_STORED */
    bool no_evict;            /* at bytes_max answer NO_MEMORY instead of evicting */
    _Atomic uint64_t *losses; /* counts items that are removed, replaced or given a ttl, before
                                 that is done; NULL: nobody wants to know */
    /* What memcached 1.6.18 cannot: */
    bool no_flags_on_create;
    bool no_create_on_append;
};

/* NULL when memory is refused. */
struct mcds__table *mcds__table_open(const mcds_env *env,
                                     const struct mcds__table_options *options);
void mcds__table_close(struct mcds__table *table);

/* Carry out one request as of `now_ms`: an item stored with ttl_ms is visible while
 * now_ms < stored at + ttl_ms rounded up to ttl_unit_ms - ttl_early_ms. A token of another
 * connection answers EXISTS, whether or not the key is there. Fills request->reply. */
struct mcds__table_context {
    int64_t now_ms;
    uint32_t ttl_unit_ms;  /* 0 counts as 1 */
    uint32_t ttl_early_ms; /* what this write loses of its ttl */
    uint64_t *cas_next;    /* the last CAS token drawn; one counter may serve many tables */
    uint64_t connection;   /* goes into reply.cas */
    mcds_buffer *values;   /* of GET; NULL: dropped; a value that does not fit is NO_MEMORY */
};
void mcds__table_execute(struct mcds__table *table, mcds_request *request, uint64_t hash,
                         const struct mcds__table_context *context);

/* What a GET with MCDS_WANT_TTL would answer, and where the value lies until the table's next
 * change, if the item never expires or none is there: then the times of the context do not matter. False:
 * nothing was done. */
bool mcds__table_look(struct mcds__table *table, mcds_bytes key, uint64_t hash,
                      const struct mcds__table_context *context, mcds_reply *reply_out,
                      mcds_bytes *value_out);

/* Open the number under a key for adding without the caller's lock (store/cell.h), until the next
 * command on this key. `cell` NULL: take hold of it too; else it is held. NULL: no number is there
 * that never expires and that a cell can hold, or no memory. Not for tables with a limit. */
struct mcds__cell *mcds__table_open_cell(struct mcds__table *table, mcds_bytes key,
                                         uint64_t hash, const struct mcds__cell *cell,
                                         uint64_t *cas_next);
/* Give up the hold; once for each time that it was taken. */
void mcds__table_release_cell(struct mcds__table *table, mcds_bytes key, uint64_t hash,
                              uint64_t *cas_next);

/* Faults, for the simulator and for strict mode. */
bool mcds__table_evict(struct mcds__table *table, mcds_bytes key, uint64_t hash);
/* Evict the item at a random place chosen by `choice`; false when the table is empty. */
bool mcds__table_evict_any(struct mcds__table *table, uint64_t choice);
void mcds__table_flush(struct mcds__table *table);

/* Items and their cost in bytes, expired ones that were not swept yet included. */
uint64_t mcds__table_count(const struct mcds__table *table);
uint64_t mcds__table_bytes(const struct mcds__table *table);
/* Visit living keys; visit returns false to end. False when it was ended. */
bool mcds__table_keys(struct mcds__table *table, int64_t now_ms, mcds_bytes prefix,
                      bool (*visit)(void *context, mcds_bytes key), void *context);

#endif
