/* Cache: look, which reads an item and claims it if it is to be filled.
 *
 *   READ     get item | get generations           any order: the item must carry the generations
 *                                                 that are read during the call
 *   CLAIM    add claim | get item                 the item is missing; ours if the get shows our id
 *            cas claim | get item                 it is void
 *   REFRESH  add claim | get claim | get item     under the key of refreshes: the item is stale, or
 *                                                 its time is over
 *   KEEP     cas item | get item                  the store would expire it before the claim
 *   RELEASE  cas claim                            another caller has refreshed it meanwhile
 *   PIECES   get pieces                           of a large value
 *
 * Every request that writes a claim has an id of its own, and the transport never repeats a
 * request. So a claim that a get shows cannot arrive once more after another caller has deleted
 * it. With one id for two requests, a caller would take the late copy of the first for its claim:
 * after a forget, the fill that the forget has ended would be stored.
 *
 * An item whose time is over is not replaced by a claim: the claim of an early fill may live on,
 * under the key of refreshes. Both are one claim only because the item is there as long as either
 * lives: a key without an item has no claim to refresh.
 *
 * The source is read after this call: a claim protects only what is read after it. The
 * generations are read before it, so a value never has one that is newer than its source. */
#ifndef MCDS_STRUCTURES_CACHE_LOOK_H
#define MCDS_STRUCTURES_CACHE_LOOK_H

#include "structures/cache/judge.h"
#include "structures/cache/pieces.h"

/* Generations that one call reads: that of the cache, the caller's tags, and others of the item. */
#define MCDS__CACHE_GENERATIONS_MAX (1 + 2 * MCDS__CACHE_TAGS_MAX)
/* Ids of the newest claims that this call has written. */
#define MCDS__CACHE_IDS 4
/* The value of a claim: without tags. */
#define MCDS__CACHE_CLAIM_BYTES 64
/* A claim, two reads, and a write and a read of each generation that the item must carry. */
#define MCDS__CACHE_REQUESTS_MAX (3 + 2 * (1 + MCDS__CACHE_TAGS_MAX))
#define MCDS__CACHE_REQUESTS_FEW 5

/* Of a call with tags. */
struct mcds__cache_look_scratch {
    struct mcds__cache_generation generations[MCDS__CACHE_GENERATIONS_MAX];
    mcds_request requests[MCDS__CACHE_REQUESTS_MAX];
};

struct mcds__cache_look {
    mcds_cache *cache;
    mcds_cache_claim *claim; /* out */
    int64_t wait_until_ns;   /* on the monotonic clock; in the past: does not wait */
    mcds_bytes value;        /* out: the value or the sentence; until the next batch */
    bool is_held;            /* out, with BUSY: a writer holds it, or all under a generation */
    bool is_failed;          /* out, with IO: the source has failed */
    uint8_t stage;           /* private, as all that follow */
    uint8_t tag_count;
    uint8_t count; /* of requests */
    uint8_t claims;
    uint8_t reads; /* because the item has tags that were not read */
    uint8_t failures;
    bool has_refreshed;  /* whether the item is to be refreshed has been decided */
    bool awaits_refresh; /* a read also gets the claim to refresh */
    uint8_t id_count;
    uint64_t ids[MCDS__CACHE_IDS];
    mcds_cas_token refresh_cas; /* of another's claim, which is to be replaced */
    uint64_t base_id;           /* that the claim to refresh names */
    int64_t asked_ns;           /* when it was asked for */
    uint64_t kept_id;           /* of the claim to refresh, while the item is kept for it */
    mcds_cas_token kept_cas;
    mcds_buffer kept;
    struct mcds__key item_key;
    struct mcds__key refresh_key;
    struct mcds__cache_sight sight;
    struct mcds__cache_generation own_generation;
    struct mcds__cache_generation *generations;
    mcds_request own_requests[MCDS__CACHE_REQUESTS_FEW];
    mcds_request *requests;
    uint8_t at[MCDS__CACHE_GENERATIONS_MAX]; /* requests that read generations; 0: none */
    struct mcds__cache_look_scratch *scratch;
    struct mcds__cache_transfer transfer;
    uint8_t claim_value[MCDS__CACHE_CLAIM_BYTES];
};

/* Prepare a call; all of `look` is zero but the first three members. False: no memory. */
bool mcds__cache_look_begin(struct mcds__cache_look *look, mcds_bytes key,
                            const mcds_bytes *tags, size_t tag_count, const mcds_env *env);
void mcds__cache_look_free(struct mcds__cache_look *look, const mcds_env *env);
/* DONE with
 *
 *   MCDS_OK         `value`; the claim is the caller's if it is to fill a stale one again
 *   MCDS_NOT_FOUND  none; the claim is the caller's, or the source has nothing
 *   MCDS_BUSY       another fills or holds it
 *   others          not claimed */
enum mcds__step mcds__cache_look_step(struct mcds__cache_look *look,
                                      struct mcds__operation *operation);

#endif
