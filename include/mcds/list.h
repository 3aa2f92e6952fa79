/* mcds/list.h: an ordered sequence of values that grows at the end. mcds.h has the rules of all
 * calls. */
#ifndef MCDS_LIST_H
#define MCDS_LIST_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values in the order in which they were pushed, in any number. A push appends one record to the
 * last of the list's keys, which hold 16 KB each; all of these are on one server. A push also reads
 * the root of the list, a key of its own, which may be on another.
 *
 * Promise: exactly once, and in order: a push that begins after another was acknowledged comes
 * after it. A push whose reply was lost is repeated with the same id until the timeout;
 * MCDS_AMBIGUOUS only where that does not decide it. What a server forgot is reported, not skipped:
 * MCDS_LOST. A value is 0 bytes to 64 MB of any bytes; a value of more than 8 KB is stored under
 * keys of its own, which takes one more round trip. Source: the append-only array of the articles.
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

/* Adds a value at the end. Makes the list when it does not exist.
 * Arguments:   value  0 bytes to 64 MB
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       the list that this handle knew is gone and another has begun; this
 *                              value is in neither, the next push goes into the new one
 *              MCDS_BUSY       others filled the keys as fast as they were found, until the timeout;
 *                              not pushed
 *              MCDS_TOO_BIG    more than 64 MB, or than the store accepts
 * Cost:        1; a handle's first push 2 more, 5 more when it makes the list; the push that begins
 *              a new key 1 more; a value of more than 8 KB 1 more
 * Lost reply:  The call repeats the push with the same id until the timeout. MCDS_AMBIGUOUS: pushed
 *              once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_list_push(mcds_list *list, mcds_bytes value);
MCDS_API MCDS_CHECKED int mcds_list_push_start(mcds_list *list, mcds_bytes value,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Adds values at the end in their order; values of others may come between them.
 * Arguments:   values      each of 0 bytes to 64 MB; NULL is allowed when count is 0
 *              count       0 or more
 *              pushed_out  after any result, how many of the first values have been pushed; NULL is
 *                          allowed
 * Returns:     as mcds_list_push; after a failure that is not MCDS_AMBIGUOUS none that follow the
 *              first *pushed_out values has been pushed
 * Cost:        1 per 4 KB of values, otherwise as mcds_list_push. The timeout applies to each round
 *              trip
 * Lost reply:  MCDS_AMBIGUOUS: some values that follow the first *pushed_out may have been pushed, or
 *              may still be
 * Lifetime:    X_start does not copy: `values`, their bytes and *pushed_out must live until the
 *              pipeline has returned the tag */
MCDS_API MCDS_CHECKED int mcds_list_push_many(mcds_list *list, const mcds_bytes *values,
                                              size_t count, size_t *pushed_out);
MCDS_API MCDS_CHECKED int mcds_list_push_many_start(mcds_list *list, const mcds_bytes *values,
                                                    size_t count, size_t *pushed_out,
                                                    mcds_pipeline *pipeline, uint64_t tag);

/* Called by mcds_list_scan for each value. `value` is valid during the call only. Returns false to
 * end the scan. */
typedef bool (*mcds_list_scan_cb)(void *context, mcds_bytes value);

/* Visits the values after the first `skip`, in order, at most `limit` of them (0 = all). Values
 * pushed meanwhile may be seen or not; a clear meanwhile may end the scan. The call keeps about
 * 1 MB of the list in memory.
 * Arguments:   skip   how many values are not visited; 0: none
 *              limit  most values that are visited; 0 = all
 *              visit  as above
 * Returns:     MCDS_OK         also where visit has ended the scan
 *              MCDS_NOT_FOUND  no such list
 *              MCDS_LOST       a part is gone, the rest was visited; or the list that this handle
 *                              knew is gone and another was visited, reported once
 *              MCDS_CORRUPT    a part holds something that mcds did not write, the rest was visited
 *              After another failure some values may have been visited.
 * Cost:        2 for a list of up to 128 KB, and 1 per 512 KB beyond; skipped values count. 1 more
 *              after another handle has cleared the list, 2 more where something is lost. The
 *              timeout starts again after each round trip that has returned a value. The call reads
 *              at most twice as many keys as the list had at the beginning, so it ends however fast
 *              others push and whatever the server replies */
MCDS_API MCDS_CHECKED int mcds_list_scan(mcds_list *list, uint64_t skip, uint64_t limit,
                                         mcds_list_scan_cb visit, void *context);
MCDS_API MCDS_CHECKED int mcds_list_scan_start(mcds_list *list, uint64_t skip, uint64_t limit,
                                               mcds_list_scan_cb visit, void *context,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Empties the list: values acknowledged before the call are no longer in it, values whose push
 * begins after it are. Then erases the old values, as far as the store can be reached.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND    no such list
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         others pushed as fast as the call looked for the end; not cleared
 *              MCDS_FULL         not cleared. Where only a new root has no room, the list is
 *                                cleared, and does not exist until the next push
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 * Cost:        4, or 5 where nothing is evicted, and 2 per 512 KB of old values. The timeout applies
 *              to the whole of the first step, then to each erasure; there are at most as many of
 *              these as the list had keys
 * Lost reply:  MCDS_AMBIGUOUS: cleared, not cleared, or cleared when the next value is pushed; call
 *              again */
MCDS_API MCDS_CHECKED int mcds_list_clear(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Empties the list and erases it: it does not exist afterwards.
 * Returns:     as mcds_list_clear, but it needs no compare-and-set
 * Cost:        as mcds_list_clear
 * Lost reply:  as mcds_list_clear */
MCDS_API int mcds_list_drop(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline,
                                               uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
