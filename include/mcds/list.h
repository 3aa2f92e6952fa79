/* mcds/list.h: an ordered sequence of values that grows at the end. mcds.h has the rules of all
 * calls. */
#ifndef MCDS_LIST_H
#define MCDS_LIST_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values in the order in which they were pushed, in any number. A push appends one record to the
 * last of the list's keys. Each key holds 16 KB, and all of them are on one server. A push also
 * reads the root of the list. The root is a separate key and may be on another server.
 *
 * Promise: each push is applied exactly once, and in order. If a push begins after another was
 * acknowledged, its value comes later in the list. A push whose reply was lost is repeated with
 * the same id until the timeout. The result is MCDS_AMBIGUOUS only if the repetition does not
 * show whether the push was applied. Values that a server has lost are reported with MCDS_LOST,
 * not skipped. A value is 0 bytes to 64 MB of any bytes. A value of more than 8 KB is stored
 * under keys of its own, which takes one more round trip. Source: the append-only array of the
 * articles.
 */
typedef struct mcds_list mcds_list;

typedef struct mcds_list_options {
    size_t size; /* sizeof(mcds_list_options) */
} mcds_list_options;
#define MCDS_LIST_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_list_options)                                                              \
    }

/* Opens a list.
 * Arguments:   list_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_list_open(mcds_store *store, const char *name,
                                         const mcds_list_options *options,
                                         mcds_list **list_out);
/* Closes the handle.
 * Arguments:   list  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_list_close(mcds_list *list);

/* Adds a value at the end. Makes the list if it does not exist.
 * Arguments:   value  0 bytes to 64 MB
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       the store has lost the root of the list that this handle knew,
 *                              and another handle has made a new list. The value is in neither
 *                              list. The next push adds to the new list. If the store has lost
 *                              all keys of the list, the push adds its value to the new list,
 *                              and the next scan returns MCDS_LOST
 *              MCDS_BUSY       other callers filled each key that the call found, until the
 *                              timeout; not pushed
 *              MCDS_TOO_BIG    more than 64 MB, or more than the store accepts
 * Cost:        1. A handle's first push takes 2 more, or 5 more if it makes the list. The push
 *              that begins a new key takes 1 more. A value of more than 8 KB takes 1 more
 * Lost reply:  The call repeats the push with the same id until the timeout. MCDS_AMBIGUOUS:
 *              pushed once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_list_push(mcds_list *list, mcds_bytes value);
MCDS_API MCDS_CHECKED int mcds_list_push_start(mcds_list *list, mcds_bytes value,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Adds values at the end in the order of the array. Values of other callers may come between
 * them.
 * Arguments:   values      each of 0 bytes to 64 MB; NULL is allowed when count is 0
 *              count       0 or more
 *              pushed_out  set after any result: the number of values from the start of the array
 *                          that have been pushed. NULL is allowed
 * Returns:     as mcds_list_push. After a failure other than MCDS_AMBIGUOUS, only the first
 *              *pushed_out values have been pushed
 * Cost:        1 per 4 KB of values, otherwise as mcds_list_push. The timeout applies to each
 *              round trip
 * Lost reply:  MCDS_AMBIGUOUS: some values after the first *pushed_out may have been pushed, or
 *              may be pushed later
 * Lifetime:    X_start makes no copy: `values`, their bytes and *pushed_out must live until the
 *              pipeline has returned the tag */
MCDS_API MCDS_CHECKED int mcds_list_push_many(mcds_list *list, const mcds_bytes *values,
                                              size_t count, size_t *pushed_out);
MCDS_API MCDS_CHECKED int mcds_list_push_many_start(mcds_list *list, const mcds_bytes *values,
                                                    size_t count, size_t *pushed_out,
                                                    mcds_pipeline *pipeline, uint64_t tag);

/* Called by mcds_list_scan for each value. `value` is valid during the call only. Returns false
 * to end the scan. */
typedef bool (*mcds_list_scan_cb)(void *context, mcds_bytes value);

/* Skips the first `skip` values and visits at most `limit` of the next ones in order (0 = all).
 * Values that are pushed during the scan may or may not be visited. A clear during the scan may
 * end it. The call keeps about 1 MB of the list in memory.
 * Arguments:   skip   number of values that are not visited; 0: none
 *              limit  largest number of values that are visited; 0 = all
 *              visit  as above
 * Returns:     MCDS_OK         also if visit has ended the scan
 *              MCDS_NOT_FOUND  no such list
 *              MCDS_LOST       a part is gone, and the rest was visited; or the list that this
 *                              handle knew is gone, and a new list was visited (reported once)
 *              MCDS_CORRUPT    a part holds something that mcds did not write, and the rest was
 *                              visited
 *              After another failure some values may have been visited.
 * Cost:        2 for a list of up to 128 KB, and 1 per 512 KB beyond that. Skipped values count.
 *              1 more after another handle has cleared the list, 2 more if something is lost. The
 *              timeout starts again after each round trip that has returned a value. The call
 *              reads at most twice as many keys as the list had at the beginning, so the call
 *              ends, however fast other callers push and whatever the server replies */
MCDS_API MCDS_CHECKED int mcds_list_scan(mcds_list *list, uint64_t skip, uint64_t limit,
                                         mcds_list_scan_cb visit, void *context);
MCDS_API MCDS_CHECKED int mcds_list_scan_start(mcds_list *list, uint64_t skip, uint64_t limit,
                                               mcds_list_scan_cb visit, void *context,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Empties the list. Values acknowledged before the call are then not in the list; values whose
 * push begins after the call are. The push of a value that overlaps the call is MCDS_OK, and the
 * value may be visited by a scan before the call and by another after it. The call then erases the
 * old values on the servers that it can reach. It leaves about six keys with 600 bytes together,
 * which expire after a day.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND    no such list
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         other callers pushed faster than the call could find the end of
 *                                the list; not cleared
 *              MCDS_FULL         not cleared. If there is no room for a new root only, the list
 *                                is cleared and does not exist until the next push. A full
 *                                memcached -M needs no room
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 * Cost:        4, or 5 on a store that neither evicts nor is durable, and 2 per 512 KB of old
 *              values. The timeout applies to the first step as a whole, and then to each erasure.
 *              There are at most as many erasures as the list had keys
 * Lost reply:  MCDS_AMBIGUOUS: cleared, not cleared, or cleared when the next value is pushed;
 *              call again */
MCDS_API MCDS_CHECKED int mcds_list_clear(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Empties and erases the list. The list does not exist afterwards.
 * Returns:     as mcds_list_clear, but the call needs no compare-and-set
 * Cost:        as mcds_list_clear
 * Lost reply:  as mcds_list_clear */
MCDS_API int mcds_list_drop(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline,
                                               uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
