/* Cache: what an item means to a caller, from the item and the generations read with it. */
#ifndef MCDS_STRUCTURES_CACHE_JUDGE_H
#define MCDS_STRUCTURES_CACHE_JUDGE_H

#include "structures/cache/cache.h"

enum mcds__cache_verdict {
    MCDS__CACHE_IS_MISSING, /* no key */
    MCDS__CACHE_IS_VOID,    /* any caller may replace it by a claim */
    MCDS__CACHE_IS_FILLING, /* claimed by another caller */
    MCDS__CACHE_IS_HELD,    /* a writer holds it, and there is nothing to show */
    MCDS__CACHE_IS_FAILED,  /* the source failed; no caller reads it yet */
    MCDS__CACHE_IS_FRESH,
    MCDS__CACHE_IS_STALE, /* to be shown, and filled again */
    MCDS__CACHE_IS_ENDED, /* its time is over: to be filled again as a stale one, and not shown */
    MCDS__CACHE_IS_KEPT   /* stale, and held: to be shown only */
};

/* The result of a read. */
struct mcds__cache_sight {
    bool is_there;
    bool is_whole; /* decoded */
    bool is_newer; /* of a newer version: not decoded */
    struct mcds__cache_item item;
    mcds_cas_token cas;
    uint64_t lost_id; /* of an item that has lost a piece; 0: none */
    const struct mcds__cache_generation *generations;
    uint8_t asked; /* generations that the item must carry: that of the cache, then tags */
    uint8_t count; /* of all that were read */
    size_t tag_at; /* where a tag begins in the key of its generation */
};

/* Take the reply to a GET of the item, OK or MISS. */
void mcds__cache_sight_take(struct mcds__cache_sight *sight, const mcds_batch *batch,
                            const mcds_request *request);
/* The generation of this tag, or NULL if it was not read. */
const struct mcds__cache_generation *
mcds__cache_sight_find(const struct mcds__cache_sight *sight, mcds_bytes tag);
enum mcds__cache_verdict mcds__cache_judge(const struct mcds__cache_sight *sight,
                                           int64_t now_ms);
/* How long before the end of its time a value without a stale time counts as stale. */
int64_t mcds__cache_early_ms(const struct mcds__cache_item *item);
/* Whether the source may be read again after this failure, or after a claim was given back. */
bool mcds__cache_failure_is_over(const struct mcds__cache_item *item, int64_t now_ms);
/* Whether an item may be stored under all generations that it must carry. */
bool mcds__cache_sight_stores(const struct mcds__cache_sight *sight);

#endif
