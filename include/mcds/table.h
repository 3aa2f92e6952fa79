/* mcds/table.h: a hash table of values by key. mcds.h has the rules of all calls. These also
 * apply to this header:
 *
 * Arguments:   key     1 to 1 024 bytes
 *              value   0 bytes to a quarter of the store's largest value
 *              ttl_ms  the entry expires after this time, by the clocks of writer and reader; at
 *                      most 366 days; 0 = never */
#ifndef MCDS_TABLE_H
#define MCDS_TABLE_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any number of values by key. Each entry is changed independently. As in a set, a change appends
 * one record and is applied exactly once, and a key of the store splits when it grows too large.
 * Key and value are one entry: neither is stored without the other. A table key is 1 to 1 024
 * bytes. A value is 0 bytes to a quarter of the store's largest value: 16 MB on memory: and
 * lmdb:, 262 016 bytes on memcached with the default largest item of 1 MB (memcached's option
 * -I). Values up to 64 KB perform well. The room of entries that were removed or have expired is used
 * again (G-TABLE-4). */
typedef struct mcds_table mcds_table;

typedef struct mcds_table_options {
    size_t size; /* sizeof(mcds_table_options) */
} mcds_table_options;
#define MCDS_TABLE_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_table_options)                                                             \
    }

/* Opens a table.
 * Arguments:   table_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_table_open(mcds_store *store, const char *name,
                                          const mcds_table_options *options,
                                          mcds_table **table_out);
/* Closes the handle.
 * Arguments:   table  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_table_close(mcds_table *table);

/* Reads a value.
 * Arguments:   value_out  filled; unchanged if there is no value
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such key or table
 *              MCDS_LOST       the part of the table that the key belongs to is gone, or the
 *                              whole table that this handle has seen is gone (reported once)
 *              MCDS_BUSY       other callers kept moving or dropping the keys
 * Cost:        1; a handle's first call takes 2, or 1 if there is no table */
MCDS_API MCDS_CHECKED int mcds_table_get(mcds_table *table, mcds_bytes key,
                                         mcds_value *value_out);
MCDS_API MCDS_CHECKED int mcds_table_get_start(mcds_table *table, mcds_bytes key,
                                               mcds_value *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Reports whether a key has a value.
 * Returns:     as mcds_table_get
 * Cost:        as mcds_table_get */
MCDS_API MCDS_CHECKED int mcds_table_has(mcds_table *table, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_table_has_start(mcds_table *table, mcds_bytes key,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value and replaces the old one. Makes the table if it does not exist.
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_LOST         the part of the table that the key belongs to is gone, or the
 *                                whole table that this handle has seen is gone (reported once);
 *                                not set
 *              MCDS_BUSY         other callers kept changing the same keys; not set
 *              MCDS_TOO_BIG      more than a quarter of the store's largest value
 *              MCDS_UNSUPPORTED  also: the store has no compare-and-set
 * Cost:        1. A handle's first call takes 2 if it makes the table, otherwise 3. About one
 *              call in twenty also rewrites a key that has grown, which takes 3 to 4 more
 * Lost reply:  The call repeats the change with the same id until the timeout. MCDS_AMBIGUOUS:
 *              set once, not at all, or not yet. The call also returns MCDS_AMBIGUOUS if it
 *              has sent the change and then finds that the table was dropped or lost. A table that
 *              was made since does not contain the change. The next call returns MCDS_LOST */
MCDS_API MCDS_CHECKED int mcds_table_put(mcds_table *table, mcds_bytes key, mcds_bytes value,
                                         uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_start(mcds_table *table, mcds_bytes key,
                                               mcds_bytes value, uint64_t ttl_ms,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value only if the key has none.
 * Returns:     as mcds_table_put, and MCDS_EXISTS: the key has a value; not set
 * Cost:        as mcds_table_put
 * Lost reply:  as mcds_table_put */
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent(mcds_table *table, mcds_bytes key,
                                                   mcds_bytes value, uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent_start(mcds_table *table, mcds_bytes key,
                                                         mcds_bytes value, uint64_t ttl_ms,
                                                         mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value only if the key has the value `expected`. The condition is evaluated where the
 * entry is stored, so changes by other callers never make the call retry.
 * Arguments:   expected  the value that the key must have
 * Returns:     as mcds_table_put, and
 *              MCDS_EXISTS     the key has another value; not set
 *              MCDS_NOT_FOUND  the key has none; not set
 * Cost:        as mcds_table_put
 * Lost reply:  as mcds_table_put */
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set(mcds_table *table, mcds_bytes key,
                                                     mcds_bytes expected, mcds_bytes value,
                                                     uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set_start(mcds_table *table, mcds_bytes key,
                                                           mcds_bytes expected,
                                                           mcds_bytes value, uint64_t ttl_ms,
                                                           mcds_pipeline *pipeline,
                                                           uint64_t tag);

/* Removes an entry. Does not make a table.
 * Arguments:   changed_out  whether there was an entry; NULL: not reported, so the call need not
 *                           read the key
 * Returns:     as mcds_table_put; MCDS_OK also if there was nothing to remove
 * Cost:        as mcds_table_put
 * Lost reply:  as mcds_table_put: removed once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_table_remove(mcds_table *table, mcds_bytes key,
                                            bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_table_remove_start(mcds_table *table, mcds_bytes key,
                                                  bool *changed_out, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Adds to a value that is a decimal number: an optional '-', then 1 to 20 digits. The number is
 * from -2^63 to 2^63 - 1. An entry that does not exist counts as 0.
 * Arguments:   delta      any number
 *              value_out  the number after the addition; NULL: discarded
 * Returns:     as mcds_table_put, and
 *              MCDS_CORRUPT   the value is not a number; not added
 *              MCDS_OVERFLOW  the number would leave 64 bits; not added
 * Cost:        as mcds_table_put
 * Lost reply:  as mcds_table_put: added once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_table_incr(mcds_table *table, mcds_bytes key, int64_t delta,
                                          int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_table_incr_start(mcds_table *table, mcds_bytes key,
                                                int64_t delta, int64_t *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Position of a scan. A cursor is plain data: it may be stored, and another process may use
 * it. */
typedef struct mcds_table_cursor {
    uint64_t position;
    bool done; /* nothing is left */
} mcds_table_cursor;
#define MCDS_TABLE_CURSOR_INIT                                                                 \
    {                                                                                          \
        0, false                                                                               \
    }

/* Called by mcds_table_scan for each entry. `key` and `value` are valid during the call only.
 * Returns false to end the scan after this entry. */
typedef bool (*mcds_table_scan_cb)(void *context, mcds_bytes key, mcds_bytes value);

/* Visits at most `limit` entries (0 = all) from the cursor on, unordered, and moves the cursor
 * past the last one. Entries that change during the scan may or may not be visited. A complete
 * scan visits every other entry exactly once, even if the scan is interrupted any number of
 * times.
 * Arguments:   cursor  in and out; MCDS_TABLE_CURSOR_INIT: from the beginning
 *              limit   0 = all
 *              visit   as above
 * Returns:     MCDS_OK         cursor->done is true if no entry is left. If the cursor was done
 *                              before the call, no entry is visited
 *              MCDS_NOT_FOUND  no such table
 *              MCDS_LOST       a part is gone. The cursor is after this part, all other entries
 *                              before the cursor were visited, and the next call continues the
 *                              scan. Or the whole table that this handle has seen is gone
 *                              (reported once), and the cursor is done
 *              MCDS_BUSY       other callers kept moving or dropping the keys
 *              After a failure a call with the same cursor continues the scan.
 * Cost:        1 per 64 keys of about 1 KB, and 2 more for each key that is gone. The timeout
 *              applies to each round trip
 * Lifetime:    the cursor must live until the pipeline has returned the tag
 * Threads:     any; only one call may use a cursor at a time */
MCDS_API MCDS_CHECKED int mcds_table_scan(mcds_table *table, mcds_table_cursor *cursor,
                                          uint64_t limit, mcds_table_scan_cb visit,
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_table_scan_start(mcds_table *table, mcds_table_cursor *cursor,
                                                uint64_t limit, mcds_table_scan_cb visit,
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Erases the table. Entries that are put during the call may be erased too. The call leaves one
 * empty key, which expires after a day.
 * Returns:     as mcds_set_drop, also for a drop that fails midway
 * Cost:        2, and 2 per 64 keys. The timeout applies to each round trip
 * Lost reply:  as mcds_set_drop */
MCDS_API int mcds_table_drop(mcds_table *table);
MCDS_API MCDS_CHECKED int mcds_table_drop_start(mcds_table *table, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
