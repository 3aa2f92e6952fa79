/* The backends that the library knows by URI scheme. */
#ifndef MCDS_STORE_BACKENDS_H
#define MCDS_STORE_BACKENDS_H

#include "mcds/backend.h"

struct mcds__cell;

extern const mcds_backend mcds__backend_memory;
extern const mcds_backend mcds__backend_lmdb;
extern const mcds_backend mcds__backend_memcached;

/* The backend of this URI scheme; NULL: none. */
const mcds_backend *mcds__backend_of(const char *scheme);

/* Cells of memory: numbers to which a handle adds in place, without a request. open_cell opens
 * the cell of `key` until the next command on that key; it does not validate the key. With
 * `cell` NULL it also takes a hold on the cell; otherwise the caller has one. Returns NULL if
 * there is no cell: then submit INCR. release_cell releases the hold. Both may be called from
 * any thread at any time. */
struct mcds__cell *mcds__memory_open_cell(void *backend, mcds_bytes key,
                                          struct mcds__cell *cell);
void mcds__memory_release_cell(void *backend, mcds_bytes key);

/* How long a server may be silent in the listings and inspections of a memcached backend that begin
 * later: the timeout of the store. */
void mcds__memcached_limit_silence(void *backend, int64_t silence_ns);

#endif
