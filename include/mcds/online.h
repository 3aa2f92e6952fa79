/* mcds/online.h: number of visitors active in a sliding window. mcds.h has the rules of all
 * calls. These also apply to this header:
 *
 * Arguments:   at_ms  Unix time, 0 or more; 0 = now */
#ifndef MCDS_ONLINE_H
#define MCDS_ONLINE_H

#include "pipeline.h"
#include "visitors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of visitors active in a sliding window. The window is the current bucket of `width_ms`
 * and the `buckets` complete buckets before it, which are called closed. A visitor is active in a
 * bucket if it has a beat there. It counts once in each window that has such a bucket, for any
 * number of beats in any order.
 *
 * Promise without members: a window counts each visitor at most once. A lost reply, a crash
 * during a beat or an evicted number can leave a visitor uncounted in the windows that have the
 * bucket of the beat. No later window is affected. Each visitor has a mark. If the store evicts a
 * mark, the windows that have counted the visitor count it again at its next beat. Use members on
 * a store that evicts. A window counts fewer than 4 294 967 296 visitors.
 *
 * `buckets`, `width_ms` and `members` are stored and checked like the options of visitors. */
typedef struct mcds_online mcds_online;

typedef struct mcds_online_options {
    size_t size;       /* sizeof(mcds_online_options) */
    uint32_t buckets;  /* 1..32; 0 = 5 */
    uint32_t width_ms; /* 1 000 to 86 400 000; 0 = 60 000 */
    mcds_members members;
    uint32_t reserved; /* 0 */
} mcds_online_options;
#define MCDS_ONLINE_OPTIONS_INIT                                                               \
    {                                                                                          \
        sizeof(mcds_online_options), 0, 0, MCDS_MEMBERS_NONE, 0                                \
    }

typedef struct mcds_online_value {
    size_t size;      /* sizeof(mcds_online_value) */
    uint64_t closed;  /* visitors active in the closed buckets */
    uint64_t current; /* visitors active in the current bucket and in no closed bucket */
    /* Visitors active in the last buckets * width_ms: closed + current, minus N * the elapsed
     * part of the current bucket, where N visitors were active in the oldest bucket only. */
    double estimate;
    /* One standard deviation of estimate if the last beats in the oldest bucket are spread evenly
     * and independent. The estimate is between closed + current - N and closed + current. */
    double error;
    /* As in mcds_visitors_value. ESTIMATED: also if the settings were lost or dropped while
     * buckets of this window were counted, which then counts a part of the visitors. */
    bool reborn;
    bool reserved[7];
} mcds_online_value;
#define MCDS_ONLINE_VALUE_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_online_value), 0, 0, 0, 0, false,                                          \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

/* Opens an online counter.
 * Arguments:   online_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_online_open(mcds_store *store, const char *name,
                                           const mcds_online_options *options,
                                           mcds_online **online_out);
/* Closes the handle.
 * Arguments:   online  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_online_close(mcds_online *online);

/* Reads the options that an online counter was made with: `buckets`, `width_ms` and `members`.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such online counter
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_online_made_with(mcds_store *store, const char *name,
                                                mcds_online_options *options);

/* Reports that a visitor is active. Beats of one visitor may arrive in any order. A beat may be
 * up to 31 buckets older than the visitor's newest beat; with members, it may be of any age.
 * Arguments:   visitor  name of the visitor, 1 to 1024 bytes
 *              at_ms    at most width_ms and 5 s ahead of this machine's clock: after a beat far
 *                       ahead, later ones would be too old. Otherwise the call returns
 *                       MCDS_INVALID
 * Returns:     MCDS_OK         counted in each window that has the bucket; members: counted in
 *                              this bucket
 *              MCDS_EXISTS     the windows have already counted the visitor, or another call is
 *                              counting it; members: as mcds_visitors_hit
 *              MCDS_TOO_OLD    not counted: the newest beat of the visitor is more than 31
 *                              buckets later, perhaps by a clock that is ahead
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       a key kept vanishing or changing; not counted
 *              MCDS_LOST       members: as mcds_visitors_hit
 *              MCDS_UNSUPPORTED  the store has no compare-and-set
 * Cost:        1 if the bucket has a beat of the visitor; otherwise 3, or 2 for a new visitor.
 *              One or two more for the first beat of a bucket. With more than 7 buckets a new
 *              visitor may cost 8 more. One or two more for a handle's first call, and again
 *              after each window, to check the settings. Members: as mcds_visitors_hit
 * Lost reply:  MCDS_AMBIGUOUS: each window of the bucket counts the visitor once or not at all.
 *              The same applies if the caller crashes between two round trips. With members the
 *              call may be repeated, and the visitor then counts once */
MCDS_API MCDS_CHECKED int mcds_online_beat(mcds_online *online, const char *visitor,
                                           int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_beat_start(mcds_online *online, const char *visitor,
                                                 int64_t at_ms, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Reads the window whose current bucket is that of at_ms. The store keeps a window for at least
 * one width_ms after the end of its last bucket.
 * Arguments:   value_out  filled; ESTIMATED: `error` includes the error of the estimate
 * Returns:     as mcds_visitors_get
 * Cost:        1; one more for a handle's first call, and again after each window. Members: as
 *              mcds_visitors_get, for each bucket of the window. The timeout applies to each round
 *              trip */
MCDS_API MCDS_CHECKED int mcds_online_get(mcds_online *online, int64_t at_ms,
                                          mcds_online_value *value_out);
MCDS_API MCDS_CHECKED int mcds_online_get_start(mcds_online *online, int64_t at_ms,
                                                mcds_online_value *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Erases the window whose current bucket is that of at_ms, and the counts of later windows. If
 * the window has the current bucket, erases the settings too. The marks of the visitors stay until
 * they expire: a beat counts a visitor only in windows that had not counted it before the drop.
 * Afterwards, do not read the window of the bucket before that of at_ms: its estimate is too
 * small. Members: erases the buckets of the window; no marks stay.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  there is nothing to erase
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       as mcds_visitors_get
 * Cost:        as mcds_online_get. Members: 2 per 64 keys. The timeout applies to each round trip
 * Lost reply:  MCDS_AMBIGUOUS: the whole window is erased, a part of it, nothing, or not
 *              yet; call again */
MCDS_API int mcds_online_drop(mcds_online *online, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_drop_start(mcds_online *online, int64_t at_ms,
                                                 mcds_pipeline *pipeline, uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
