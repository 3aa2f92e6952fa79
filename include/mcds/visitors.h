/* mcds/visitors.h: number of distinct visitors in each period. mcds.h has the rules of all calls.
 * These also apply to this header:
 *
 * Arguments:   at_ms  Unix time, 0 or more; 0 = now */
#ifndef MCDS_VISITORS_H
#define MCDS_VISITORS_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The data that visitors and online store about each visitor. */
typedef enum mcds_members {
    /* The number of visitors, and for the current period a mark for each visitor. A visitor
     * counts at most once. A lost reply may leave a visitor uncounted. */
    MCDS_MEMBERS_NONE = 0,
    /* The names of the visitors. Each visitor counts exactly once, and a call may be repeated.
     * Reading the number reads all of the names. */
    MCDS_MEMBERS_EXACT = 1,
    /* 4096 registers (HyperLogLog). The counts are estimates with a standard error of 1.6 %, and
     * an interval takes about 30 KB for any number of visitors. A call may be repeated. */
    MCDS_MEMBERS_ESTIMATED = 2
} mcds_members;

/* Number of visitors in each period of fixed length. Each period has its own key, which is named
 * by the number of the period and never used again. The counts therefore do not depend on when a
 * key expires.
 *
 * Promise: a visitor counts at most once per period. A hit near the edge of a period may count in
 * the neighbouring period, if it is nearer than the difference between the machines' clocks.
 *
 * `period_ms` and `members` are stored with the visitors. The first call on a handle with other
 * options returns MCDS_INVALID and changes nothing. */
typedef struct mcds_visitors mcds_visitors;

typedef struct mcds_visitors_options {
    size_t size; /* sizeof(mcds_visitors_options) */
    /* 1 000 to 31 622 400 000; 0 = one period for all time, without expiry. The command `mcds
     * visitors` and the Python package use 86 400 000, a day, if their users give no period. */
    uint64_t period_ms;
    uint32_t settle_ms; /* clock difference between machines to allow for; 0 = 5 000 */
    mcds_members members;
} mcds_visitors_options;
#define MCDS_VISITORS_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(mcds_visitors_options), 0, 0, MCDS_MEMBERS_NONE                                 \
    }

typedef struct mcds_visitors_value {
    size_t size;      /* sizeof(mcds_visitors_value) */
    uint64_t closed;  /* visitors in the last complete period */
    uint64_t current; /* visitors in the current period so far */
    /* Visitors in the last period_ms: closed * (1 - part) + current, where part is the elapsed
     * part of the current period. */
    double estimate;
    /* One standard deviation of estimate if arrivals are evenly distributed. The largest possible
     * error is closed * max(part, 1 - part). */
    double error;
    bool provisional; /* closed may still grow: its period ended less than settle_ms ago */
    /* A key was lost and made again since this handle saw it. Hits are lost. Without members,
     * this is set only if the key was made again in another second. With members, it is also set
     * if the key was not made again, and stays set until this handle drops the period. */
    bool reborn;
    bool reserved[6];
} mcds_visitors_value;
#define MCDS_VISITORS_VALUE_INIT                                                               \
    {                                                                                          \
        sizeof(mcds_visitors_value), 0, 0, 0, 0, false, false,                                 \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

/* Opens visitors.
 * Arguments:   visitors_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_visitors_open(mcds_store *store, const char *name,
                                             const mcds_visitors_options *options,
                                             mcds_visitors **visitors_out);
/* Closes the handle.
 * Arguments:   visitors  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_visitors_close(mcds_visitors *visitors);

/* Reads the options that visitors were made with: `period_ms` and `members`.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such visitors
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_visitors_made_with(mcds_store *store, const char *name,
                                                  mcds_visitors_options *options);

/* Counts a visit.
 * Arguments:   visitor  name of the visitor, 1 to 1024 bytes. The visitor counts once per period,
 *                       over all handles and machines. NULL: every call counts; NULL is not
 *                       allowed with members
 *              at_ms    at most period_ms and settle_ms ahead of this machine's clock, so that
 *                       its keys live until the period is read; any time if period_ms is 0.
 *                       Otherwise the call returns MCDS_INVALID
 * Returns:     MCDS_OK         counted
 *              MCDS_EXISTS     this visitor was counted before; ESTIMATED: the estimate did not
 *                              change
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       a key kept vanishing or changing; not counted
 *              MCDS_LOST       members: the store has lost the key that would hold this visitor
 *                              and others. These visitors cannot be counted until the period ends
 *                              or is dropped. Or the store has lost the whole period (reported at
 *                              most once), and the next hit counts. mcds_visitors_get reports
 *                              `reborn` in both cases
 * Cost:        1 without a visitor or for a visitor that was counted before; 2 for a new visitor.
 *              One more for the first hit of a period. One or two more for a handle's first call,
 *              and again every three periods, to check the settings. Members: 1, or up to 3 for a
 *              handle's first two calls in a period; 0 if the handle has seen in the last second
 *              that an ESTIMATED number does not change
 * Lost reply:  MCDS_AMBIGUOUS: counted once or not at all. The same applies if the caller crashes
 *              between two round trips. With members, the same applies if the call has sent the
 *              visit and then finds that the period was dropped or lost. With members, the call
 *              may be repeated after MCDS_AMBIGUOUS and after any failure. The visitor then counts
 *              once */
MCDS_API MCDS_CHECKED int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor,
                                            int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor,
                                                  int64_t at_ms, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Reads the period of at_ms (0 = now) and the period before it. A period without hits counts 0.
 * Arguments:   value_out  filled; ESTIMATED: `error` includes the error of the estimate
 * Returns:     MCDS_OK, also if no visit was counted; MCDS_BUSY: members: operations of this
 *              handle use too many other periods
 * Cost:        1; one more for a handle's first call, and again every three periods. Members: 1
 *              per 64 keys of a period; a key contains about 40 visitors. The timeout applies to
 *              each round trip */
MCDS_API MCDS_CHECKED int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms,
                                            mcds_visitors_value *value_out);
MCDS_API MCDS_CHECKED int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                                                  mcds_visitors_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the period of at_ms (0 = now) and the period before it. The marks of counted visitors
 * stay until they expire, so those visitors do not count again in these periods. If the current
 * period is erased, the settings are erased too, and the visitors may then be opened with other
 * options.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  there is nothing to erase
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       as mcds_visitors_get
 * Cost:        as mcds_visitors_get. Members: 2 per 64 keys. The timeout applies to each round trip
 * Lost reply:  MCDS_AMBIGUOUS: both periods are erased, a part of them, nothing, or not yet;
 *              call again */
MCDS_API int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms,
                                                   mcds_pipeline *pipeline, uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
