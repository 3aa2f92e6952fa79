/* Views: the handle, the keys, and the list of pages viewed in each interval. In the code an
 * interval is a slot. */
#ifndef MCDS_STRUCTURES_VIEWS_VIEWS_H
#define MCDS_STRUCTURES_VIEWS_VIEWS_H

#include "base/frame.h"
#include "core/descriptor/settings.h"
#include "core/members/members.h"
#include "core/tally/tally.h"
#include "structures/structure.h"

/* Pages of which a handle remembers that it has counted them in an interval, so they are in its list. */
#define MCDS__VIEWS_ENTERED 8192

/* Intervals for which a key lives longer than it is read. */
#define MCDS__VIEWS_SPARE_SLOTS 4

/* A flush saves again so many intervals before the mark: hits that were slow may count in them. */
#define MCDS__VIEWS_AGAIN_SLOTS 2

/* Clocks of machines may differ by this. */
#define MCDS__VIEWS_SETTLE_MS 5000

struct mcds_views {
    struct mcds__handle handle;
    uint64_t flush_ms;
    uint64_t keep_slots; /* number of intervals for which a hit can be read */
    int (*load)(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
    int (*save)(void *context, const char *page, uint64_t slot, int64_t views);
    void *context;
    struct mcds__settings settings;
    struct mcds__key counts; /* prefix of the keys of the intervals */
    struct mcds__key bases;
    struct mcds__key loads;
    struct mcds__key mark;
    _Atomic uint64_t upto;   /* the last interval included in the newest base seen */
    _Atomic int64_t look_ns; /* when a hit looks at the mark again, on the monotonic clock */
    struct mcds__members *pages; /* the list of the pages viewed in each interval */
    /* The key of the hashes in `entered`: the pages that this handle has counted. Without a key that
     * nobody knows, a stranger could choose two pages with one hash, and the list would lack one. */
    uint64_t hash_key[2];
    _Atomic uint64_t entered[MCDS__VIEWS_ENTERED];
};

/* Returns MCDS_INVALID, with the sentence set, when the handle is NULL or the page no name. */
int mcds__views_check(const mcds_views *views, const char *page,
                      const struct mcds__operation_kind *kind);
/* The first interval in which a slow clock may still count. Those before have settled. */
uint64_t mcds__views_unsettled(const mcds_views *views);
/* Whether the interval lies in the future of every correct clock. A base or mark that includes such
 * an interval is wrong: other machines still count in earlier ones. */
bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot);
struct mcds__key mcds__views_count_key(const mcds_views *views, uint64_t slot,
                                       const char *page);

/* The frames of base and mark hold two numbers. */
#define MCDS__VIEWS_PAIR (MCDS__FRAME_OVERHEAD + 2 * 8)
#define MCDS__VIEWS_FRAME_VERSION 1
#define MCDS__VIEWS_BASE 'B' /* views, last interval included */
#define MCDS__VIEWS_MARK 'M' /* last interval of which all views are saved, 0 */

#endif
