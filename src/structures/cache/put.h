/* Cache: put, which ends a claim: by a value, by nothing, by a failure, or by giving it back.
 *
 *   PIECES  set pieces           of a large value, before the item refers to them
 *   WRITE   cas                  over the claim, or over the item that is refreshed; and, after a
 *                                refresh, cas of the claim, which gives it back
 *   CHECK   get                  after a lost reply, or another connection: whether the claim is
 *                                still there, or the written bytes
 *   KEEP    cas                  of a renewed claim to refresh: the item with a longer ttl
 *
 * A claim to refresh ends with the item that it names. So WRITE also gets the item when it renews
 * the claim, gives it back, or replaces it by a failure. If another item is there, the claim is over.
 *
 * Only a compare-and-set of what was claimed ends a claim. A set would store a value after a
 * forget. So would an add after the claim has vanished: a forget may have deleted the claim. */
#ifndef MCDS_STRUCTURES_CACHE_PUT_H
#define MCDS_STRUCTURES_CACHE_PUT_H

#include "structures/cache/cache.h"
#include "structures/cache/pieces.h"

enum mcds__cache_end {
    MCDS__CACHE_END_VALUE,
    MCDS__CACHE_END_NOTHING,
    MCDS__CACHE_END_FAILED,
    MCDS__CACHE_END_FREE,  /* give the claim back */
    MCDS__CACHE_END_RENEW, /* keep the claim */
};

struct mcds__cache_put {
    const mcds_cache *cache;
    mcds_cache_claim *claim;
    enum mcds__cache_end end;
    mcds_bytes value; /* or the sentence of the failure */
    uint8_t stage;    /* private, as all that follow; zero at the start */
    bool doubt;       /* the reply to a write was lost */
    bool is_renewed;
    bool frees;    /* the second request of the write gives the claim back */
    bool is_freed; /* the claim may be over, and the item was not replaced */
    uint8_t writes;
    uint64_t id;      /* of the item or claim that it writes */
    int64_t asked_ns; /* when it was written last */
    mcds_cas_token cas;
    uint64_t ttl_ms;
    int result; /* of a value that the store has refused */
    struct mcds__key key;
    struct mcds__key refresh_key;
    struct mcds__key item_key;
    struct mcds__cache_transfer transfer;
    mcds_buffer bytes;
    mcds_buffer kept; /* the item, for KEEP */
    mcds_request requests[2];
    uint8_t free_value[64];
};

/* DONE with MCDS_OK; MCDS_EXPIRED: the claim is over; MCDS_AMBIGUOUS; others: not done. */
enum mcds__step mcds__cache_put_step(struct mcds__cache_put *put,
                                     struct mcds__operation *operation);
void mcds__cache_put_free(struct mcds__cache_put *put, const mcds_env *env);

/* Whether the put changes the claim itself, and not the item that it protects. A failure to fill a
 * value whose time is over replaces it: nobody gets the value, and the store keeps the failure longer. */
bool mcds__cache_put_changes_claim(const struct mcds__cache_put *put);
/* All of the item to write but its value, and put->ttl_ms. */
void mcds__cache_put_fill(struct mcds__cache_put *put, struct mcds__cache_item *item,
                          const mcds_env *env);

#endif
