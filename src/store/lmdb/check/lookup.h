/* Searches a key in checked pages, so that no overwritten page makes LMDB abort or crash.
 *
 * Each page on the path of the key must have its own number, a kind that fits, and its nodes within
 * it. Only the nodes that the search visits are checked. The result is that of mdb_get, or
 * MDB_CORRUPTED or MDB_PAGE_NOTFOUND. */
#ifndef MCDS_STORE_LMDB_CHECK_LOOKUP_H
#define MCDS_STORE_LMDB_CHECK_LOOKUP_H

#include "mcds/backend.h"

struct MDB_txn;
struct mcds__lmdb_file;

/* The pages of "items" as one transaction sees them. All zero: of no transaction. */
struct mcds__lmdb_view {
    uint64_t transaction;
    const uint8_t *pages; /* in the map */
    uint64_t end;         /* the number of pages */
    uint64_t root;
    const uint8_t *leaf; /* the last one that was searched, or NULL */
};

/* Fill in *view for `txn`, unless it has its pages already. A write transaction must not have
 * written anything. If the map changes, *view must be set to zero. 0 or a code of LMDB. */
int mcds__lmdb_view(const struct mcds__lmdb_file *file, struct MDB_txn *txn,
                    struct mcds__lmdb_view *view);

/* 0: *value_out is in the map. Otherwise a code of LMDB. */
int mcds__lmdb_lookup(const struct mcds__lmdb_file *file, struct mcds__lmdb_view *view,
                      mcds_bytes key, mcds_bytes *value_out);
/* Visit the keys from `from` on in their order, until visit returns false. Damaged pages are skipped.
 * A damaged value is {NULL, 0}. */
void mcds__lmdb_visit(const struct mcds__lmdb_file *file, const struct mcds__lmdb_view *view,
                      mcds_bytes from,
                      bool (*visit)(void *context, mcds_bytes key, mcds_bytes value),
                      void *context);

#endif
