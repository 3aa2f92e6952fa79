/* mcds/ids.h: unique numbers that rise. mcds.h has the rules of all calls. */
#ifndef MCDS_IDS_H
#define MCDS_IDS_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers for orders, messages and rows: no number is returned twice, to any process on any
 * machine, also after the store has lost its data.
 *
 * An id has the time at which it was granted, in milliseconds since 2020 (41 bits), and a number in
 * that millisecond: 22 bits with 63 bits, 12 bits with 53. So ids sort by time, and last until 2089.
 *
 *     (id >> 22) + 1577836800000    Unix time in ms of an id of 63 bits; of 53 bits: id >> 12
 *
 * Choose 53 bits if ids go through JSON or JavaScript, whose numbers are exact up to 2^53. All
 * callers together then get at most four million ids in a second.
 *
 * Promise: no id is returned twice, whatever is lost, evicted, restarted, dropped or late, as long
 * as two clocks never differ by more than spread_ms: those of two machines, or one before and after
 * it was set back. Clocks that differ more do no harm while the store keeps the key. No machine
 * needs a number of its own. Ids of one handle rise. A handle can return a lower id than another
 * handle returned before. The times in these two ids differ by at most 1 000 ms plus spread_ms, and
 * the time of a call. There are gaps.
 *
 * A handle gets 1 024 ids at a time, and uses them for a second. All threads of a process may share
 * a handle. The first ids of a name come after spread_ms, and so do the first ones after its key was
 * lost or dropped.
 *
 * Not promised: a copy of a running process (a snapshot of a virtual machine that is started twice)
 * has a copy of its ids. A store that goes back to an earlier state (a backup that is restored)
 * must have been away for spread_ms. All callers must have the same list of servers, as always.
 *
 *     uint64_t id;
 *     if (mcds_ids_next(ids, &id) == MCDS_OK)
 *         insert(id);
 *
 * Sources: Twitter's Snowflake, for the layout; the hi/lo generator, for the ranges. */
typedef struct mcds_ids mcds_ids;

#define MCDS_IDS_BITS_63 63
#define MCDS_IDS_BITS_53 53
#define MCDS_IDS_TAKE_MAX 65536

typedef struct mcds_ids_options {
    size_t size;        /* sizeof(mcds_ids_options) */
    uint32_t bits;      /* 63 or 53, fixed by the first call; 0 = 63 */
    uint32_t spread_ms; /* as above; at most 60 000; 0 = 1 000 */
} mcds_ids_options;
#define MCDS_IDS_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_ids_options), 0, 0                                                         \
    }

/* Opens a source of ids.
 * Arguments:   ids_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_ids_open(mcds_store *store, const char *name,
                                        const mcds_ids_options *options, mcds_ids **ids_out);
/* Closes the handle. Ids that it has got and not returned are never used.
 * Arguments:   ids  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_ids_close(mcds_ids *ids);

/* Reads the bits that the ids of a name have.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such name
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_ids_made_with(mcds_store *store, const char *name,
                                             mcds_ids_options *options);

/* Returns an id.
 * Arguments:   id_out  1 or more, below 2^63 or 2^53
 * Returns:     MCDS_OK
 *              MCDS_TOO_OLD      this machine's clock is more than twice spread_ms before that of
 *                                another caller, or before 2020; one of the two is wrong
 *              MCDS_TOO_FUTURE   this machine's clock is after 2089
 *              MCDS_BUSY         other callers kept changing the key, or take ids faster than
 *                                there are; or the store keeps losing the key
 *              MCDS_INVALID      also: the ids of this name have other bits
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 *              Never MCDS_AMBIGUOUS, never MCDS_LOST
 * Cost:        none for most calls; 2 for each 1 024 ids, and for the first in a second; 5 and the
 *              spread_ms for the first ids of a name, and after a loss. This time is added to the
 *              timeout. If the store loses the key during the call, it makes the key up to three
 *              times more, and waits for the spread_ms each time
 * Lost reply:  The call gets other ids. Those that it may have got before are never used
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_ids_next(mcds_ids *ids, uint64_t *id_out);
MCDS_API MCDS_CHECKED int mcds_ids_next_start(mcds_ids *ids, uint64_t *id_out,
                                              mcds_pipeline *pipeline, uint64_t tag);

/* Returns n ids: first, first + 1, ... first + n - 1.
 * Arguments:   n          1 to 65 536
 *              first_out  the first of them
 * Returns:     as mcds_ids_next
 * Cost:        as mcds_ids_next; 2 if the handle has fewer than n. With 53 bits, 1 ms for each
 *              4 096 ids
 * Lost reply:  as mcds_ids_next
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_ids_take(mcds_ids *ids, uint64_t n, uint64_t *first_out);
MCDS_API MCDS_CHECKED int mcds_ids_take_start(mcds_ids *ids, uint64_t n, uint64_t *first_out,
                                              mcds_pipeline *pipeline, uint64_t tag);

/* Erases the key. The next ids are above all that were returned, and come after spread_ms.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such name
 *              MCDS_AMBIGUOUS  see below
 * Cost:        1
 * Lost reply:  MCDS_AMBIGUOUS: erased, not erased, or not yet. Ids are unique either way */
MCDS_API int mcds_ids_drop(mcds_ids *ids);
MCDS_API MCDS_CHECKED int mcds_ids_drop_start(mcds_ids *ids, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
