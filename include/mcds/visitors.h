/* mcds/visitors.h: number of distinct visitors in each period. mcds.h has the rules of all calls. For
 * those of this header:
 *
 * Arguments:   at_ms  Unix time, 0 or more; 0 = now */
#ifndef MCDS_VISITORS_H
#define MCDS_VISITORS_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What visitors and online store about each visitor. */
typedef enum mcds_members {
    /* A number, and for the current period a mark for each visitor. A visitor counts at most
     * once: a lost reply may leave one uncounted. */
    MCDS_MEMBERS_NONE = 0,
    /* The visitors themselves. Each counts exactly once, and a call may be repeated. Reading the
     * number reads all of them. */
    MCDS_MEMBERS_EXACT = 1,
    /* 4096 registers (HyperLogLog). The counts are estimates with a standard error of 1.6 %, and
     * an interval takes about 30 KB for any number of visitors. A call may be repeated. */
    MCDS_MEMBERS_ESTIMATED = 2
} mcds_members;

/* Number of visitors in each period of fixed length. Each period has its own key, named by its
 * absolute number and never used again, so the counts do not depend on when a key expires.
 *
 * Promise: at most once, as a counter. A hit close to the edge of a period may count in the
 * neighbouring period, if it is closer than the clocks of the machines differ.
 *
 * Period and members are stored with the visitors. On a handle with other options the first call
 * returns MCDS_INVALID and changes nothing. */
typedef struct mcds_visitors mcds_visitors;

typedef struct mcds_visitors_options {
    size_t size; /* sizeof(mcds_visitors_options) */
    /* 1 000 to 31 622 400 000; 0 = one period for all time, without expiry */
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
    uint64_t closed;  /* in the last complete period */
    uint64_t current; /* in the current period so far */
    /* In the period_ms before now: closed * (1 - part) + current, where part is the elapsed part
     * of the current period. */
    double estimate;
    /* One standard deviation of estimate if arrivals are even; the largest possible error is
     * closed * max(part, 1 - part). */
    double error;
    bool provisional; /* closed may still grow: its period ended less than settle_ms ago */
    /* A key was lost and made again since this handle saw it: hits are lost. Without members, only
     * where it was made again in another second. With members also where it was not made again, and
     * until this handle drops the period. */
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

/* Reads the period and the members that visitors were made with.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such visitors
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_visitors_made_with(mcds_store *store, const char *name,
                                                  mcds_visitors_options *options);

/* Counts a visit.
 * Arguments:   visitor  name of the visitor, 1 to 1024 bytes. It counts once per period, over all
 *                       handles and machines. NULL: every call counts; with members not allowed
 * Returns:     MCDS_OK         counted
 *              MCDS_EXISTS     this visitor was counted before; ESTIMATED: the estimate did not
 *                              change
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       a key vanished or was changed again and again; not counted
 *              MCDS_LOST       members: the store has lost the key that would hold this visitor, and
 *                              others with it; they cannot be counted before the period ends or is
 *                              dropped. Or it has lost the whole period: reported at most once, and
 *                              the next hit counts. mcds_visitors_get reports `reborn` for both
 * Cost:        1 without visitor or for one that was counted before; 2 for a new one. One more for
 *              the first hit of a period. One or two more for a handle's first call, and again every
 *              three periods, to check the settings. Members: 1, up to 3 for a handle's first two
 *              calls in a period; 0 where ESTIMATED knows that nothing changes
 * Lost reply:  MCDS_AMBIGUOUS: counted once or not at all. The same where the caller crashes between
 *              two round trips. With members the call may be repeated after it, and after any
 *              failure; the visitor then counts once */
MCDS_API MCDS_CHECKED int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor,
                                            int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor,
                                                  int64_t at_ms, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Reads the period of at_ms (0 = now) and the one before it. A period without hits is 0.
 * Arguments:   value_out  filled; ESTIMATED: `error` includes the error of the estimate
 * Returns:     MCDS_OK: also where no visit was counted; MCDS_BUSY: members: operations of this handle
 *              use too many other periods
 * Cost:        1; one more for a handle's first call, and again every three periods. Members: 1 per
 *              64 keys of a period; a key holds about 40 visitors */
MCDS_API MCDS_CHECKED int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms,
                                            mcds_visitors_value *value_out);
MCDS_API MCDS_CHECKED int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                                                  mcds_visitors_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the period of at_ms (0 = now) and the one before it. The marks of counted visitors stay
 * until they expire, so those visitors do not count again in these periods. When the current
 * period is erased, so are the settings: the visitors may then be opened with other options.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  there is nothing to erase
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_BUSY       as mcds_visitors_get
 * Cost:        as mcds_visitors_get; members: 2 per 64 keys
 * Lost reply:  MCDS_AMBIGUOUS: all of it is erased, a part, or nothing; call again */
MCDS_API int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms,
                                                   mcds_pipeline *pipeline, uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
