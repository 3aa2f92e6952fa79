/* mcds/limit.h: rate limits for identities. mcds.h has the rules of all calls. These also apply
 * to this header:
 *
 * Arguments:   identity     an address, a user, an API key; 1 to 1 024 bytes
 *              n            tokens, at least 1 and at most the burst of each rate
 *              patience_ms  how long the caller may wait before it begins; at most 49 days; 0 =
 *                           the take passes now or not at all */
#ifndef MCDS_LIMIT_H
#define MCDS_LIMIT_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits how often each identity may do something, over all processes and machines.
 *
 * MCDS_LIMIT_BUCKET: a token bucket for each identity, with up to four rates at once. A bucket
 * holds `burst` tokens and refills at count per per_ms. A take passes if every rate has enough
 * tokens. It then takes them from all rates; otherwise it takes none. The algorithm is GCRA. A
 * take appends one record, and the order of the records under the key decides: no two callers
 * conflict, and a refused take changes nothing. The call repeats a take whose reply was lost,
 * with the same id. After a refused take and until its time to retry, the takes of the handle for
 * this identity read first, and append a record only if they would pass. In any time W at most
 * burst + rate * (W + 2 S) tokens pass, where S is the largest difference of a clock from the true
 * time plus the store's timeout. S must stay below 30 s. A caller gets MCDS_TOO_OLD if its clock is
 * more than 5 s before that of the last take of the identity.
 *
 * Without remember_ms, the store decides about each take. With it, the handle repeats a refusal
 * from memory for that time, so a client that tries again and again costs the store nothing. Only a
 * take with the same identity, n and patience_ms is refused so. When this handle has given tokens
 * back, or has dropped the limit, it asks again. Tokens that others give back, and their drops, count after
 * at most remember_ms. No more tokens pass than without it. A handle remembers 512 refusals, in
 * 41 KB, and then forgets the one that ends first.
 *
 * Each take sends its rates; the limit does not store them as options. A changed rate applies
 * from the next take on, and the tokens that were used still count: after 100 tokens at 100 an
 * hour, a rate of 1 000 an hour has 900 left. Rates are compared by their place in the list. If
 * the store loses a key, the identities in it (one 4 096th of all) have a full bucket again, and
 * burst + rate * 2 S more may pass; nothing is reported.
 *
 * MCDS_LIMIT_WINDOW: at most `count` tokens in any time `per_ms`, for quotas and for few, busy
 * identities. The window is counted in slots of an eighth. A take passes if its slot, the eight
 * slots before it and the slots after it would have at most `count` tokens. So under load at least
 * 8/9 of the rate passes, if the clocks differ by less than a slot. If the store loses a number, up
 * to `count` more tokens pass. One rate, without burst; no patience, no give, no scan, no drop: the
 * slots expire by themselves.
 *
 * To limit an address and a user, each at its own rate, use two limits. Put both takes into one
 * pipeline, which takes one round trip. If one take is refused, give back the token of the other.
 * Until then, that token is missing.
 *
 *     mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
 *     switch (mcds_limit_take(limit, mcds_text(address), 1, 0, &value)) {
 *     case MCDS_OK:
 *         return serve(request);
 *     case MCDS_BUSY:
 *         return refuse(request, 429, value.retry_ms);
 *     default:
 *         return serve_or_refuse(request);
 *     }
 *
 * If the store cannot be reached, the result reports it, and the caller decides. A program that
 * lets requests pass has no limit during that time. A program that refuses them serves none.
 *
 * Sources: GCRA, ITU-T I.371; "leaky bucket as a meter" (Turner 1986). */
typedef struct mcds_limit mcds_limit;

typedef enum mcds_limit_form {
    MCDS_LIMIT_BUCKET, /* a rate and a burst */
    MCDS_LIMIT_WINDOW  /* at most `count` in any `per_ms` */
} mcds_limit_form;

#define MCDS_LIMIT_RATES_MAX 4

/* `count` tokens per `per_ms`. The time of one token is rounded up to a nanosecond. */
typedef struct mcds_rate {
    uint64_t count;  /* 1 to a token per nanosecond */
    uint64_t per_ms; /* 1 to 366 days; WINDOW: 1 000 ms or more */
    uint64_t burst;  /* 0 = count; at most ten years of the rate; WINDOW: 0 or count */
} mcds_rate;

typedef struct mcds_limit_options {
    size_t size; /* sizeof(mcds_limit_options) */
    mcds_limit_form form;
    uint32_t rate_count; /* 0 to 4; WINDOW: 1. With 0, only scan and drop work */
    mcds_rate rates[MCDS_LIMIT_RATES_MAX];
    /* 0 to 60 000; 0 = never. For so long after the store has refused a take, and only before its
     * time to retry, the handle refuses the same take from memory, without a round trip. See
     * above. */
    uint64_t remember_ms;
} mcds_limit_options;
#define MCDS_LIMIT_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_limit_options), MCDS_LIMIT_BUCKET, 0, {{0, 0, 0}}, 0                       \
    }

/* Times count from the call, by this machine's clock, and are rounded up. */
typedef struct mcds_limit_value {
    size_t size;        /* sizeof(mcds_limit_value) */
    uint64_t remaining; /* tokens left in the smallest rate, also after a refusal */
    uint64_t retry_ms; /* BUSY: the same take passes then, and not 1 ms before, if no other take
                           comes between; get: until one token passes; else 0 */
    uint64_t delay_ms; /* OK: the caller must wait this long; 0 without patience */
    uint64_t full_ms;  /* at most: until all tokens that were taken are refilled */
} mcds_limit_value;
#define MCDS_LIMIT_VALUE_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_limit_value), 0, 0, 0, 0                                                   \
    }

/* Opens a limit.
 * Arguments:   limit_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_limit_open(mcds_store *store, const char *name,
                                          const mcds_limit_options *options,
                                          mcds_limit **limit_out);
/* Closes the handle.
 * Arguments:   limit  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_limit_close(mcds_limit *limit);

/* Takes n tokens of an identity.
 * Arguments:   patience_ms  BUCKET: a take that would pass within this time takes its tokens now,
 *                           and value_out->delay_ms says how long the caller must wait. WINDOW: 0
 *              value_out    filled after MCDS_OK and, if a rate refused the take, after MCDS_BUSY;
 *                           NULL is allowed
 * Returns:     MCDS_OK         taken once: begin after value_out->delay_ms
 *              MCDS_BUSY       nothing was taken. mcds_last_error()->cause is MCDS_CAUSE_LIMITED
 *                              if a rate refused it, and MCDS_CAUSE_CONTENDED if other callers
 *                              kept changing the same key
 *              MCDS_TOO_OLD    nothing was taken: this machine's clock is more than 5 s before
 *                              that of the last take of the identity, and one of the two is
 *                              wrong; or it is before 1970
 *              MCDS_TOO_FUTURE  nothing was taken: this machine's clock is after 2190
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    also: n is more than a burst; no rates
 *              MCDS_UNSUPPORTED  also: the store has no compare-and-set
 * Cost:        1; 0 for a take that is refused from memory (remember_ms). More in these cases:
 *              1  the take passes before the time to retry of an earlier, refused take
 *              1  BUCKET: the handle's first take, or the first identity of a key
 *              3  BUCKET: a key that has grown is rewritten: about one take in twenty
 *              1  WINDOW: the take is refused, and the time to retry of earlier refusals is over
 *              1  WINDOW: value_out is NULL, and more than half of `count` is used
 * Lost reply:  BUCKET: the call repeats the take with the same id until the timeout.
 *              MCDS_AMBIGUOUS: taken once, not at all, or not yet
 *              WINDOW: not repeated. MCDS_AMBIGUOUS: counted once or not at all.
 *              Both: treat MCDS_AMBIGUOUS as refused: the bound then holds */
MCDS_API MCDS_CHECKED int mcds_limit_take(mcds_limit *limit, mcds_bytes identity, uint64_t n,
                                          uint32_t patience_ms, mcds_limit_value *value_out);
MCDS_API MCDS_CHECKED int mcds_limit_take_start(mcds_limit *limit, mcds_bytes identity,
                                                uint64_t n, uint32_t patience_ms,
                                                mcds_limit_value *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Reads an identity's tokens and takes nothing.
 * Arguments:   value_out  filled; delay_ms is 0
 * Returns:     MCDS_OK       also if nothing was taken yet
 *              MCDS_TOO_OLD, MCDS_TOO_FUTURE  this machine's clock is wrong, as above
 *              MCDS_BUSY     other callers kept changing the same key
 * Cost:        1; 2 for a handle's first call */
MCDS_API MCDS_CHECKED int mcds_limit_get(mcds_limit *limit, mcds_bytes identity,
                                         mcds_limit_value *value_out);
MCDS_API MCDS_CHECKED int mcds_limit_get_start(mcds_limit *limit, mcds_bytes identity,
                                               mcds_limit_value *value_out,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Gives back n tokens that were taken and not used. A bucket does not get more than its burst.
 * Returns:     MCDS_OK           given back once, or the bucket was full
 *              MCDS_TOO_OLD, MCDS_TOO_FUTURE  as mcds_limit_take; not given back
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_UNSUPPORTED  also: WINDOW
 *              others as mcds_limit_take
 * Cost:        as mcds_limit_take
 * Lost reply:  as mcds_limit_take: given back once, not at all, or not yet */
MCDS_API MCDS_CHECKED int mcds_limit_give(mcds_limit *limit, mcds_bytes identity, uint64_t n);
MCDS_API MCDS_CHECKED int mcds_limit_give_start(mcds_limit *limit, mcds_bytes identity,
                                                uint64_t n, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Position of a scan. A cursor is plain data: it may be stored, and another process may use
 * it. */
typedef struct mcds_limit_cursor {
    uint64_t position;
    bool done; /* nothing is left */
} mcds_limit_cursor;
#define MCDS_LIMIT_CURSOR_INIT                                                                 \
    {                                                                                          \
        0, false                                                                               \
    }

/* Called by mcds_limit_scan for each identity. `identity` and `value` are valid only during the
 * call. Returns false to end the scan after this identity. */
typedef bool (*mcds_limit_scan_cb)(void *context, mcds_bytes identity,
                                   const mcds_limit_value *value);

/* Visits at most `limit_count` identities (0 = all) whose bucket is not full, unordered, from the
 * cursor on, and moves the cursor past the last one. An identity that takes or gives during the
 * scan may or may not be visited; every other one is visited once.
 * Arguments:   cursor       in and out; MCDS_LIMIT_CURSOR_INIT: from the beginning
 *              limit_count  0 = all
 *              visit        as above. Of a handle without rates, only full_ms is set
 * Returns:     MCDS_OK           cursor->done is true if no identity is left
 *              MCDS_NOT_FOUND    no such limit
 *              MCDS_UNSUPPORTED  also: WINDOW
 *              MCDS_BUSY         other callers kept dropping the limit
 *              After a failure a call with the same cursor continues the scan.
 * Cost:        65 round trips, each of 64 keys. The timeout applies to each round trip
 * Lifetime:    the cursor must live until the pipeline has returned the tag
 * Threads:     any; only one call may use a cursor at a time */
MCDS_API MCDS_CHECKED int mcds_limit_scan(mcds_limit *limit, mcds_limit_cursor *cursor,
                                          uint64_t limit_count, mcds_limit_scan_cb visit,
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_limit_scan_start(mcds_limit *limit, mcds_limit_cursor *cursor,
                                                uint64_t limit_count, mcds_limit_scan_cb visit,
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Erases the limit: every bucket is then full. Takes during the call may be erased too.
 * Returns:     as mcds_set_drop; and MCDS_UNSUPPORTED: WINDOW
 * Cost:        130 round trips, each of 64 keys
 * Lost reply:  as mcds_set_drop */
MCDS_API int mcds_limit_drop(mcds_limit *limit);
MCDS_API MCDS_CHECKED int mcds_limit_drop_start(mcds_limit *limit, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
