/* mcds/cache.h: values by key; of all callers that miss a key, one fills it. mcds.h has the rules
 * of all calls. These also apply to this header:
 *
 * Arguments:   key        1 to 1024 bytes of any value
 *              tags       each as a key; NULL is allowed if tag_count is 0
 *              tag_count  0 to 16 */
#ifndef MCDS_CACHE_H
#define MCDS_CACHE_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A cache of values that a program reads from a source: a database, a renderer, an API.
 *
 *   static int render(void *context, mcds_bytes key, mcds_fill *fill)
 *   {
 *       return mcds_fill_add(fill, page_of(context, key));
 *   }
 *
 *   mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
 *   options.ttl_ms = 60000;
 *   options.stale_ms = 600000;
 *   mcds_cache_open(store, "pages", &options, &cache);
 *   mcds_cache_fetch(cache, mcds_text("/home"), NULL, 0, render, site, &value, NULL);
 *   ...
 *   mcds_cache_forget(cache, mcds_text("/home"));      after the page has changed
 *
 * What goes wrong with "get; on a miss, read the source and set":
 *
 *   1. When a popular value expires, every process reads the source at once.
 *   2. A value that is read before a change is stored after it, and is shown for its whole ttl:
 *
 *          process A                     process B
 *          get: a miss
 *          reads the old row
 *                                        changes the row, deletes the key
 *          sets the key to the old row
 *
 *      A lock beside the key does not help: the delete does not check the lock.
 *   3. When the source fails, every process waits for its timeout, one after the other.
 *
 * Of all callers that miss a key, on all machines, one reads the source (it *fills* the key). The
 * others wait for its value. A value is *fresh* for ttl_ms. For stale_ms more it is *stale*: every
 * caller gets it at once, and one of them fills the key again. A writer that has changed the source
 * calls forget, or forget_tag for all values with a tag.
 *
 * Promise: no call that begins after a forget, expire, forget_tag, clear or drop was acknowledged
 * gets a value whose source was read before that (after expire: gets it as fresh). This holds even
 * if replies are lost, requests arrive late, or the store loses keys or restarts. A fill that
 * began before a forget or expire of its key is not stored. One that began before a forget_tag,
 * clear or drop may be stored, and no call gets its value. While a claim lives, no other caller
 * fills the key, unless one of these calls was made, or a piece of the value was lost; a caller
 * that dies blocks the key for fill_ms, on memcached up to 3 s more. A failed fill is stored as a
 * failure: every caller gets it, and one tries again after failed_ms. Each further failure doubles
 * this time, to at most a minute. A value that the store has lost is a miss. A call reads the
 * whole value or none of it.
 *
 * Tags: a value that is made from several records gets a tag for each of them, and the writer of a
 * record forgets its tag. The cost does not depend on the number of values with the tag.
 *
 *   mcds_bytes tags[] = {mcds_text("user:7"), mcds_text("prices")};
 *   mcds_cache_fetch(cache, key, tags, 2, render, site, &value, NULL);
 *   ...
 *   mcds_cache_forget_tag(cache, mcds_text("user:7"));
 *
 * Name the same tags at each call for a key. A value that lacks a tag which the call names is a
 * miss, because a forget of that tag did not reach it.
 *
 * If a writer dies between its commit and its forget, callers get the old value until its time is
 * over. To exclude this, hold the key or the tag first: hold, commit, forget. If the writer then
 * dies, the value ends with the hold.
 *
 * Not promised: that a value equals its source between a commit and the forget. Freshness depends
 * on the clocks of the caller that filled the key and of the caller that reads it. If the first is
 * far ahead, the value is fresh until the store erases it: after ttl_ms + stale_ms + fill_ms + 5
 * s, on memcached up to 3 s later. A caller ignores a failure that is dated two minutes or more
 * ahead of its clock. A value is at most 64 MB. A value larger than about half of the store's
 * largest value (512 KB on memcached) is stored in pieces.
 *
 * Early fills: without stale_ms, callers would wait at the end of each ttl. So each value has a
 * moment before this end from which the next call fills the key, while the value is fresh. The
 * moment is the end less the duration of the last fill, and less a random part that is
 * exponentially distributed with this duration as its mean; it is in the last quarter of the ttl.
 * It belongs to the value: all callers agree on it, and more calls do not hasten the fill. The
 * distribution is that of Vattani, Chierichetti and Lowenstein, VLDB 2015; they draw it for each
 * call. */
typedef struct mcds_cache mcds_cache;

typedef struct mcds_cache_options {
    size_t size; /* sizeof(mcds_cache_options) */
    /* How long a value is fresh. 1 to 2 592 000 000 (30 days); 0 = 60 000 */
    uint64_t ttl_ms;
    /* How long the value is then stale: every caller gets it, and one fills the key. 0: callers
     * wait for the fill. One of them begins it within the last quarter of the ttl, so that most
     * do not wait: see "Early fills". 0 to 2 592 000 000 */
    uint64_t stale_ms;
    /* How long "the source has nothing" is fresh. 1 to 2 592 000 000; 0 = ttl_ms */
    uint64_t nothing_ms;
    /* How long a claim lasts. A fill that takes longer must renew its claim. The store keeps a
     * value fill_ms longer than its time, because a claim may end later than the value. 3 000
     * (memcached) or 50 (others) to 3 600 000; 0 = 10 000 */
    uint32_t fill_ms;
    /* How long mcds_cache_fetch waits for another's fill; to 86 400 000; 0 = until the claim of a
     * caller that died has ended: fill_ms and 2 s, on memcached 4 s */
    uint32_t wait_ms;
    /* How long no caller reads the source after a failure. Each further failure doubles this
     * time, to at most 60 000. 1 to 60 000; 0 = 1 000 */
    uint32_t failed_ms;
    /* Each ttl is shortened at random by at most this many per cent, so that values which were
     * stored together do not expire together. 1 to 90; 0 = 10 */
    uint32_t jitter;
} mcds_cache_options;
#define MCDS_CACHE_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_cache_options), 0, 0, 0, 0, 0, 0, 0                                        \
    }

/* Where the answer of a call comes from. */
typedef enum mcds_cache_state {
    /* From the store, and within its ttl. */
    MCDS_CACHE_FRESH = 1,
    /* From the store; its ttl is over, or it was expired. */
    MCDS_CACHE_STALE,
    /* This call has read the source and stored the value. */
    MCDS_CACHE_FILLED,
    /* This call has read the source. The value is not in the store: the store failed, or the key
     * was forgotten, expired or held meanwhile. This caller may use it once. */
    MCDS_CACHE_UNSTORED,
    /* Of mcds_cache_look: there is no value. */
    MCDS_CACHE_MISSING
} mcds_cache_state;

/* Opens a cache.
 * Arguments:   cache_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              has no expiry or no compare-and-set; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_cache_open(mcds_store *store, const char *name,
                                          const mcds_cache_options *options,
                                          mcds_cache **cache_out);
/* Closes the handle.
 * Arguments:   cache  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_cache_close(mcds_cache *cache);

/* The value that a fill makes. */
typedef struct mcds_fill mcds_fill;
/* Adds bytes to the end of the value, or of the sentence that describes a failure. If it fails,
 * the fetch fails with the same result, whatever the callback returns, and nothing is stored.
 * Arguments:   fill   of the callback that is running
 *              bytes  copied
 * Returns:     MCDS_OK; MCDS_TOO_BIG: more than 64 MB in all; MCDS_NO_MEMORY; MCDS_INVALID
 * Cost:        none
 * Threads:     that of the callback */
MCDS_API MCDS_CHECKED int mcds_fill_add(mcds_fill *fill, mcds_bytes bytes);

/* Reads the source, for mcds_cache_fetch, and adds the value to `fill`. Returns
 *
 *   0               the value is the bytes that were added; without any, it is empty
 *   MCDS_NOT_FOUND  the source has nothing for this key, which is stored too
 *   another number  a failure; the bytes that were added describe it, up to 500 of them
 *
 * The source must be read inside this function, not before: a value that was read before the claim
 * can be older than a forget. The function may take longer than the timeout of the store, up to
 * fill_ms; a pipeline does nothing else meanwhile. It must not call the library with the same
 * pipeline. */
typedef int (*mcds_cache_fill_cb)(void *context, mcds_bytes key, mcds_fill *fill);

/* Reads the value of a key. If there is none, one caller fills it, and the others wait.
 * Arguments:   tags       the value is forgotten together with each of these
 *              fill       as above
 *              context    passed to `fill`; may be NULL
 *              value_out  also set after MCDS_IO: the sentence of the failed fill, or empty
 *              state_out  may be NULL
 * Returns:     MCDS_OK         the value; *state_out says where it comes from. It is STALE also
 *                              after a fill that has failed, and UNSTORED if the store failed or
 *                              the key was forgotten, expired or held during the fill
 *              MCDS_NOT_FOUND  the source has nothing for this key; *state_out is set
 *              MCDS_BUSY       another caller has not ended its fill within wait_ms, or other
 *                              callers kept changing the key. If it is a hold that has not
 *                              ended within wait_ms, the call reads the source instead and
 *                              stores nothing
 *              MCDS_IO         the fill failed, now or within failed_ms before (cause
 *                              MCDS_CAUSE_CALLBACK_FAILED)
 *              MCDS_TOO_BIG    `fill` made more than 64 MB
 *              If the store cannot be reached, or is a memcached without compare-and-set (-C),
 *              the call reads the source and stores nothing.
 * Cost:        1 for a value in the store. 3 for a fill. For a stale value, 3 for the caller that
 *              fills and 2 for the others. A value in pieces costs 1 more per 8 pieces, and the
 *              timeout applies to each of these round trips. While another caller fills the key,
 *              1 for each poll. Each tag is one more key to read in the same round trip; tags of
 *              the value that the call does not name cost one more round trip
 * Lost reply:  never MCDS_AMBIGUOUS: the caller has the value, and what may be stored later is
 *              refused if the key was forgotten since
 * Lifetime:    value_out and state_out as all outputs */
MCDS_API MCDS_CHECKED int mcds_cache_fetch(mcds_cache *cache, mcds_bytes key,
                                           const mcds_bytes *tags, size_t tag_count,
                                           mcds_cache_fill_cb fill, void *context,
                                           mcds_value *value_out, mcds_cache_state *state_out);
MCDS_API MCDS_CHECKED int mcds_cache_fetch_start(mcds_cache *cache, mcds_bytes key,
                                                 const mcds_bytes *tags, size_t tag_count,
                                                 mcds_cache_fill_cb fill, void *context,
                                                 mcds_value *value_out,
                                                 mcds_cache_state *state_out,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* The steps of fetch, for a program with its own loop: call mcds_cache_look; if claim.mine is
 * true, read the source, then call put, fail or release.
 *
 *   mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
 *   int result = mcds_cache_look(cache, key, NULL, 0, 0, &value, &claim);
 *   if (result == MCDS_OK)
 *       show(value);                        also while this caller fills the key again
 *   if (claim.mine && source_read(key, &bytes))
 *       mcds_cache_put(cache, &claim, &bytes);
 *   else if (claim.mine)
 *       mcds_cache_fail(cache, &claim, mcds_text("the database does not answer"));
 *   else if (result == MCDS_BUSY)
 *       ask again later                     another caller fills the key
 *
 * The caller owns the claim and initializes it with MCDS_CACHE_CLAIM_INIT. The claim ends in the
 * store fill_ms after look or renew, on memcached up to 3 s later, even if claim.mine is still
 * true. A later put returns MCDS_EXPIRED. Only one thread may use a claim at a time. A claim that
 * was passed to X_start must live until the tag is returned. */
typedef struct mcds_cache_claim {
    mcds_cache_state state; /* of what look has read */
    bool mine;              /* the caller has the claim: it fills the key */
    /* private */
    bool refreshes;
    bool stores;
    uint8_t failures;
    uint8_t tag_count;
    uint8_t suffix_length;
    uint16_t tags_length;
    char suffix[64];
    uint8_t tags[1104];
    uint64_t generation;
    uint64_t id;
    uint64_t cas[2];
    uint64_t base_id;
    uint64_t base_cas[2];
    int64_t made_ms;
    int64_t began_ns;
    int64_t until_ns;
    uint64_t reserved[3];
} mcds_cache_claim;
#define MCDS_CACHE_CLAIM_INIT                                                                  \
    {                                                                                          \
        MCDS_CACHE_MISSING, false, false, false, 0, 0, 0, 0, "", {0}, 0, 0, {0, 0}, 0, {0, 0}, \
            0, 0, 0,                                                                           \
        {                                                                                      \
            0, 0, 0                                                                            \
        }                                                                                      \
    }

/* Reads the value of a key, and claims the key if it is to be filled. A caller that gets a value
 * together with the claim can use the value while it fills the key.
 * Arguments:   tags       as for mcds_cache_fetch
 *              wait_ms    how long to wait for another's fill; 0 to 86 400 000
 *              value_out  also set after MCDS_IO, as for mcds_cache_fetch
 *              claim      out; one that is not in use
 * Returns:     MCDS_OK         a value, claim->state says which. If claim->mine is true, this
 *                              caller is to fill the key: the value is STALE, or FRESH and its
 *                              early fill is due
 *              MCDS_NOT_FOUND  no value: claim->mine is true, and this caller is to fill the key.
 *                              Or the source has nothing for this key: claim->mine is false
 *              MCDS_BUSY       another caller fills the key or holds it. If it is a hold,
 *                              mcds_last_error()->option is "hold", and the caller may read the
 *                              source and store nothing, as mcds_cache_fetch does
 *              MCDS_IO         as for mcds_cache_fetch
 * Cost:        1; 2 with a claim, and 1 more if the store would expire the value before the
 *              claim; and 1 for each poll
 * Lost reply:  the claim ends by itself after fill_ms if this call has not returned it
 * Threads:     any; only one thread may use a claim at a time */
MCDS_API MCDS_CHECKED int mcds_cache_look(mcds_cache *cache, mcds_bytes key,
                                          const mcds_bytes *tags, size_t tag_count,
                                          uint32_t wait_ms, mcds_value *value_out,
                                          mcds_cache_claim *claim);
MCDS_API MCDS_CHECKED int mcds_cache_look_start(mcds_cache *cache, mcds_bytes key,
                                                const mcds_bytes *tags, size_t tag_count,
                                                uint32_t wait_ms, mcds_value *value_out,
                                                mcds_cache_claim *claim,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Stores the value that the caller has read from the source, and ends the claim. If the result is
 * not MCDS_OK, the caller may still use the value once, although the store may not have it. The
 * value must have been read after mcds_cache_look returned the claim.
 * Arguments:   claim  in and out; mine
 *              value  up to 64 MB; NULL: the source has nothing for this key
 * Returns:     MCDS_OK         stored
 *              MCDS_EXPIRED    not stored, and never will be: the key was forgotten, expired or
 *                              held since the claim, or the claim has ended
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the claim is not the caller's
 *              After a forget_tag, clear or drop since the claim the result is MCDS_OK too: the
 *              value is stored under the old generation, and no call gets it. After a hold_tag, the
 *              value is shown until the hold ends.
 * Cost:        1. A value in pieces costs 1 more per 8 pieces, and the timeout applies to each of
 *              these round trips
 * Lost reply:  the call reads the key again. It returns MCDS_AMBIGUOUS if it does not learn the
 *              effect before the timeout, or if the key has been forgotten, lost or changed
 *              meanwhile: stored, not stored, or not yet. Each is correct: the store refuses a
 *              request that arrives after a forget of the key. If a further put returns
 *              MCDS_EXPIRED, this does not show whether the first put has stored its value
 * Threads:     as mcds_cache_look */
MCDS_API MCDS_CHECKED int mcds_cache_put(mcds_cache *cache, mcds_cache_claim *claim,
                                         const mcds_bytes *value);
MCDS_API MCDS_CHECKED int mcds_cache_put_start(mcds_cache *cache, mcds_cache_claim *claim,
                                               const mcds_bytes *value, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Reports that the source could not be read, and ends the claim. Every caller gets the failure,
 * or the stale value, until failed_ms are over; each further failure doubles this time.
 * Arguments:   claim     in and out; mine
 *              sentence  describes the failure; up to 500 bytes are kept; may be empty
 * Returns:     MCDS_OK         the failure is stored
 *              MCDS_EXPIRED    not stored: the key was forgotten, expired or held since the
 *                              claim, or the claim has ended
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the claim is not the caller's
 * Cost:        1
 * Lost reply:  the call reads the key again. MCDS_AMBIGUOUS: the failure is stored, was stored, or
 *              is not stored. If it is not stored, the claim ends after fill_ms, and the next
 *              caller reads the source
 * Threads:     as mcds_cache_look */
MCDS_API MCDS_CHECKED int mcds_cache_fail(mcds_cache *cache, mcds_cache_claim *claim,
                                          mcds_bytes sentence);
MCDS_API MCDS_CHECKED int mcds_cache_fail_start(mcds_cache *cache, mcds_cache_claim *claim,
                                                mcds_bytes sentence, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Keeps the claim for fill_ms more, for a fill that takes longer. fill_ms then limits the time
 * between two renewals, not the time of the fill: choose a short fill_ms, and renew after each
 * third of it.
 * Arguments:   claim  in and out; mine
 * Returns:     MCDS_OK         the claim lives for fill_ms from now, and the store keeps the old
 *                              value at least until the claim ends
 *              MCDS_EXPIRED    as mcds_cache_put; the value may still be used
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the claim is not the caller's
 * Cost:        1. 1 more if the connection has changed since the last call with this claim, and 1
 *              more if the store would expire the value before the claim
 * Lost reply:  MCDS_AMBIGUOUS: renewed or not; call again
 * Threads:     as mcds_cache_look */
MCDS_API MCDS_CHECKED int mcds_cache_renew(mcds_cache *cache, mcds_cache_claim *claim);
MCDS_API MCDS_CHECKED int mcds_cache_renew_start(mcds_cache *cache, mcds_cache_claim *claim,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Gives the claim back: the next caller fills the key. For a caller that stops before the source
 * has answered, for example because its own request was cancelled.
 * Arguments:   claim  in and out; mine
 * Returns:     MCDS_OK         the claim is over
 *              MCDS_EXPIRED    it was over before
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the claim is not the caller's
 * Cost:        1
 * Lost reply:  the call reads the key again. MCDS_AMBIGUOUS: given back or not; the claim ends
 *              after fill_ms in any case. MCDS_OK can then also mean that it was over before
 * Threads:     as mcds_cache_look */
MCDS_API int mcds_cache_release(mcds_cache *cache, mcds_cache_claim *claim);
MCDS_API MCDS_CHECKED int mcds_cache_release_start(mcds_cache *cache, mcds_cache_claim *claim,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Forgets the value of a key. Call it after each change of the source has been committed: a
 * caller that reads the source before the commit may store the old value after an earlier forget.
 * A fill that is under way is not stored. Ends a hold of the key.
 * Returns:     MCDS_OK, also if there was no value; MCDS_AMBIGUOUS: see below
 * Cost:        1
 * Lost reply:  the call repeats the request. The earlier request may take effect later, and may
 *              then also end a hold. MCDS_AMBIGUOUS: forgotten, not forgotten, or not yet; call
 *              again until the result is MCDS_OK */
MCDS_API MCDS_CHECKED int mcds_cache_forget(mcds_cache *cache, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_cache_forget_start(mcds_cache *cache, mcds_bytes key,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Makes the value of a key stale: callers get it as MCDS_CACHE_STALE until its stale_ms are over,
 * and one of them fills the key. A value without stale_ms is forgotten. A fill that is under
 * way is not stored. Ends a hold of the key.
 * Returns:     MCDS_OK, also if there was no value
 *              MCDS_BUSY       other callers kept changing the key until the timeout
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2
 * Lost reply:  the call reads the key again, and expires what is there. MCDS_AMBIGUOUS: expired,
 *              not, or not yet; call again until the result is MCDS_OK */
MCDS_API MCDS_CHECKED int mcds_cache_expire(mcds_cache *cache, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_cache_expire_start(mcds_cache *cache, mcds_bytes key,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Forgets all values that were stored with this tag. A fill that is under way is stored under the
 * old generation of the tag, and no caller gets its value. Ends a hold of the tag.
 * Arguments:   by  the tag
 * Returns:     MCDS_OK, also if there was no such value
 *              MCDS_AMBIGUOUS  see below
 * Cost:        1, for any number of values
 * Lost reply:  the call repeats the request. The earlier request may take effect later, and may
 *              then also end a hold. MCDS_AMBIGUOUS: forgotten, not forgotten, or not yet; call
 *              again until the result is MCDS_OK */
MCDS_API MCDS_CHECKED int mcds_cache_forget_tag(mcds_cache *cache, mcds_bytes by);
MCDS_API MCDS_CHECKED int mcds_cache_forget_tag_start(mcds_cache *cache, mcds_bytes by,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Forgets all values of the cache. The store keeps their bytes until their time is over. A fill
 * that is under way is stored under the old generation, and no caller gets its value. The call
 * makes a cache that does not exist: the store may have lost it during a fill, whose value must
 * not be stored.
 * Returns:     MCDS_OK, also if there was no value
 *              MCDS_AMBIGUOUS  see below
 * Cost:        1, for any number of values
 * Lost reply:  the call repeats the request. MCDS_AMBIGUOUS: forgotten, not, or not yet; call
 *              again until the result is MCDS_OK */
MCDS_API MCDS_CHECKED int mcds_cache_clear(mcds_cache *cache);
MCDS_API MCDS_CHECKED int mcds_cache_clear_start(mcds_cache *cache, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Holds a key before a change of the source, so that the writer may die at any point:
 *
 *   mcds_cache_hold(cache, key, 30000);
 *   change the source and commit            within the 30 s
 *   mcds_cache_forget(cache, key);
 *
 * Until the next forget or expire of the key, and for at most hold_ms, no fill is stored. memcached
 * may expire a key up to 2 s early and counts whole seconds, so mcds adds 2 s to the hold and
 * rounds the sum up to whole seconds. On memcached, the hold of a writer that died therefore ends
 * up to 3 s after hold_ms. The clock of the store measures the hold, because the clocks of the
 * callers may differ. During the hold, callers get the present value. If there is none, they wait,
 * and then read the source themselves. If the writer dies before the forget, the value ends with
 * the hold.
 *
 * Only one writer at a time may hold a key: the forget of one writer ends the hold of another. If a
 * forget or expire needed more than one try, its earlier request may arrive late, even after the
 * call was acknowledged. That request ends the hold, too, and a fill may then store the old value.
 * The forget after the commit erases this value. If the writer dies before that forget, callers get
 * the old value until its time is over.
 * Arguments:   hold_ms  longer than the change takes; 3 000 (memcached) or 50 (others) to
 *                       3 600 000
 * Returns:     MCDS_OK
 *              MCDS_BUSY       other callers kept changing the key until the timeout
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2
 * Lost reply:  the call reads the key again. MCDS_AMBIGUOUS: held, not, or not yet; call again */
MCDS_API MCDS_CHECKED int mcds_cache_hold(mcds_cache *cache, mcds_bytes key, uint32_t hold_ms);
MCDS_API MCDS_CHECKED int mcds_cache_hold_start(mcds_cache *cache, mcds_bytes key,
                                                uint32_t hold_ms, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Holds all values with a tag, as mcds_cache_hold holds one; end it with mcds_cache_forget_tag.
 * Callers get the present values with this tag. If one is missing, they wait, and then read the
 * source themselves. A fill that began before the hold may be stored; its value, too, ends with
 * the hold. If the writer dies, all values with the tag end with the hold. If a forget_tag needed
 * more than one try, its earlier request may end a later hold, as that of a forget may.
 * Arguments:   by       the tag
 *              hold_ms  longer than the change takes; 3 000 (memcached) or 50 (others) to
 *                       3 600 000
 * Returns:     MCDS_OK
 *              MCDS_BUSY       other callers kept changing the tag until the timeout
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2, for any number of values
 * Lost reply:  the call holds the tag once more. MCDS_AMBIGUOUS: held, not, or not yet; call
 *              again */
MCDS_API MCDS_CHECKED int mcds_cache_hold_tag(mcds_cache *cache, mcds_bytes by,
                                              uint32_t hold_ms);
MCDS_API MCDS_CHECKED int mcds_cache_hold_tag_start(mcds_cache *cache, mcds_bytes by,
                                                    uint32_t hold_ms, mcds_pipeline *pipeline,
                                                    uint64_t tag);

/* Erases the cache: forgets all values, as mcds_cache_clear, and leaves no key of its own. The
 * store keeps the bytes of the values until their time is over.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such cache; MCDS_AMBIGUOUS: see below
 * Cost:        1
 * Lost reply:  the call repeats the request. MCDS_AMBIGUOUS: erased, not, or not yet; call again */
MCDS_API int mcds_cache_drop(mcds_cache *cache);
MCDS_API MCDS_CHECKED int mcds_cache_drop_start(mcds_cache *cache, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
