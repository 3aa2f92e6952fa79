/* mcds/once.h: work that is done once for each key. mcds.h has the rules of all calls. These also
 * apply to this header:
 *
 * Arguments:   key  1 to 1024 bytes of any value: what identifies the work, for example the id of
 *                   an order or the idempotency key of a request */
#ifndef MCDS_ONCE_H
#define MCDS_ONCE_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Work that is to be done once, however often it is asked for: a payment, an e-mail, a webhook that
 * is delivered again. One caller runs it; every other caller, on any machine, gets its result.
 *
 *   mcds_once_run run = MCDS_ONCE_RUN_INIT;
 *   int result = mcds_once_begin(once, mcds_text("order:4711"), body, 30000, &run, &value, &code);
 *   if (result == MCDS_OK && run.mine) {
 *       code = charge(body, &receipt);
 *       mcds_once_finish(once, &run, code, receipt);
 *   } else if (result == MCDS_OK) {
 *       answer(code, value);                      the result of the caller that ran it
 *   }
 *
 * What goes wrong with "is there a result; if not, lock, run, store the result":
 *
 *   1. With the result and the lock under two keys, the work runs twice:
 *
 *          process A                     process B
 *                                        reads the result: none
 *          locks, runs, stores the
 *          result, unlocks
 *                                        locks, runs
 *
 *   2. With one time for the claim and the result, a process that dies blocks the key for a day.
 *   3. If the result is stored by a set, a caller whose claim has ended replaces a result that
 *      others have got.
 *
 * Here the claim and the result are one key. A claim lasts run_ms, unless it is renewed, and
 * becomes the result by compare-and-set. The store keeps the result for keep_ms.
 *
 * Promise: while its claim lives and the store loses nothing, one caller runs the work. All callers
 * get the same result, as long as the store keeps it. If mcds_once_finish returns MCDS_OK, no other
 * caller had a claim of this key since this caller's begin. A caller that dies blocks the key for
 * run_ms, on memcached for up to 3 s more. All this holds even if replies are lost or requests
 * arrive late.
 *
 * If a caller dies, the next one runs the work: the work is done at least once. With
 * MCDS_ONCE_STRICT, no caller runs it again: mcds_once_begin returns MCDS_LOST, until somebody has
 * checked what happened and calls mcds_once_settle or mcds_once_forget. The work is then begun at
 * most once, while the store keeps the key. The clocks of the caller that began strict work and
 * of the caller that asks decide when it counts as lost. If the first is ahead by S, that is S
 * later. If it is slow, a call can return MCDS_LOST while the work still runs: before a forget,
 * check that it has ended.
 *
 * Not promised: a store that evicts or restarts can lose a claim or a result; the work then runs
 * again. Use lmdb: for work that must not. A result is at most 1 000 000 bytes, and less if the
 * largest value of the store is smaller. */
typedef struct mcds_once mcds_once;

#define MCDS_ONCE_RESULT_MAX 1000000

/* Flags. */
#define MCDS_ONCE_STRICT 1u /* the work of a caller that died does not run again */

typedef struct mcds_once_options {
    size_t size; /* sizeof(mcds_once_options) */
    /* How long the store keeps a result. 1 to 31 622 400 000 (366 days); 0 = 86 400 000 (a day) */
    uint64_t keep_ms;
    /* How long a claim lasts. Work that takes longer must renew its claim. 3 000 (memcached) or 50
     * (others) to 86 400 000; 0 = 60 000 */
    uint32_t run_ms;
    uint32_t flags; /* MCDS_ONCE_STRICT or 0 */
} mcds_once_options;
#define MCDS_ONCE_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_once_options), 0, 0, 0                                                     \
    }

/* One caller's claim. The caller owns the run and initializes it with MCDS_ONCE_RUN_INIT. Only one
 * thread may use a run at a time. A run that was passed to X_start must live until the tag is
 * returned. */
typedef struct mcds_once_run {
    bool mine;        /* the caller has the claim: it runs the work */
    int64_t until_ms; /* Unix time at which the claim ends, the caller's or (BUSY) another's */
    /* private */
    bool doubt;
    bool strict;
    uint8_t suffix_length;
    char suffix[64];
    uint64_t token[2];
    uint64_t request;
    int64_t began_ms;
    uint64_t cas[2];
    uint64_t reserved[4];
} mcds_once_run;
#define MCDS_ONCE_RUN_INIT                                                                     \
    {                                                                                          \
        false, 0, false, false, 0, "", {0, 0}, 0, 0, {0, 0},                                   \
        {                                                                                      \
            0, 0, 0, 0                                                                         \
        }                                                                                      \
    }

/* Opens work that is done once.
 * Arguments:   once_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              has no expiry or no compare-and-set; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_once_open(mcds_store *store, const char *name,
                                         const mcds_once_options *options,
                                         mcds_once **once_out);
/* Closes the handle. Claims end at their time.
 * Arguments:   once  NULL is allowed
 * Cost:        none */
MCDS_API void mcds_once_close(mcds_once *once);

/* Claims the work of a key, or returns its result. The key must name one piece of work: take the id
 * that the client has sent with its request, or that of the order, and never a hash of the time.
 * Pass the request as well, so that a key that is used twice by mistake is refused and not
 * answered with the result of other work. A caller that gets a claim calls one of these:
 *
 *   mcds_once_finish    the work was done, or has failed for good
 *   mcds_once_abandon   the work certainly was not done
 *
 * If neither is certain, for example after a timeout of the bank, call neither: the claim ends, and
 * the next caller runs the work, or, if it is strict, gets MCDS_LOST.
 * Arguments:   request     what is asked for, of any length: the body of a request. Another
 *                          caller with the same key must ask for the same. Only a hash of 63 bits
 *                          is stored. It has no secret: it detects mistakes, not attacks. If a
 *                          client could gain by two requests with the same hash, add a digest of
 *                          the request to the key. No bytes: not checked
 *              wait_ms     how long to wait while another caller runs the work; 0 to 86 400 000
 *              run         in and out; empty, or that of a begin of this key that returned
 *                          MCDS_AMBIGUOUS
 *              result_out  the result, if run->mine is false
 *              code_out    the code that was stored with it; NULL is allowed
 * Returns:     MCDS_OK         if run->mine is true, this caller runs the work; else it was done,
 *                              and *result_out and *code_out are its result
 *              MCDS_EXISTS     this key was used for another request
 *              MCDS_BUSY       another caller runs the work, until run->until_ms at the latest
 *              MCDS_LOST       strict work was begun by a caller that has not finished it, and
 *                              nobody knows whether it was done. Find out, then settle or forget
 *                              the key
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    also: the run has a claim
 * Cost:        1 for a claim or a result; 2 soon after an abandon or a forget; 1 for each poll
 * Lost reply:  the call asks again with another token. MCDS_AMBIGUOUS: the caller may have the
 *              claim, or may get it later. Call again with the same run, or abandon it; else the
 *              key may be blocked for run_ms
 * Threads:     any; only one thread may use a run at a time */
MCDS_API MCDS_CHECKED int mcds_once_begin(mcds_once *once, mcds_bytes key, mcds_bytes request,
                                          uint32_t wait_ms, mcds_once_run *run,
                                          mcds_value *result_out, int32_t *code_out);
MCDS_API MCDS_CHECKED int mcds_once_begin_start(mcds_once *once, mcds_bytes key,
                                                mcds_bytes request, uint32_t wait_ms,
                                                mcds_once_run *run, mcds_value *result_out,
                                                int32_t *code_out, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Extends the claim to run_ms from now. A program whose work may take longer than run_ms calls this
 * every third of run_ms, for example from a thread of its own. A caller that gets MCDS_LOST stops
 * its work if it can: another caller may run the same work.
 * Arguments:   run  in and out; mine
 * Returns:     MCDS_OK         run->until_ms is the new end
 *              MCDS_LOST       the claim has ended, and another caller may have begun. The run is
 *                              now empty
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the run has no claim
 * Cost:        1; 2 if the store returns no tokens of writes (classic servers), or if the
 *              connection has changed since the last call with this run
 * Lost reply:  the call reads the key, and renews the claim again. MCDS_AMBIGUOUS: renewed or not
 * Threads:     as mcds_once_begin */
MCDS_API MCDS_CHECKED int mcds_once_renew(mcds_once *once, mcds_once_run *run);
MCDS_API MCDS_CHECKED int mcds_once_renew_start(mcds_once *once, mcds_once_run *run,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Stores the result, which every later begin of the key returns, and ends the claim. A failure is a
 * result as well: store it if the work must not be tried again, else abandon the run.
 * Arguments:   run     in and out; mine
 *              code    any number
 *              result  at most MCDS_ONCE_RESULT_MAX bytes; a pipeline copies them
 * Returns:     MCDS_OK         stored: no other caller has begun since this caller's begin. The run
 *                              is now empty
 *              MCDS_LOST       the claim has ended, and the result was not stored and never will
 *                              be: another caller has begun or may begin, or the store has lost
 *                              the key. The run is now empty
 *              MCDS_TOO_BIG    the result is larger than the store takes; the claim still lives
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the run has no claim
 * Cost:        1; 3 if the connection has changed since the last call with this run
 * Lost reply:  the call reads the key. MCDS_AMBIGUOUS: stored, not stored, or not yet. While
 *              run->mine is true, call again with the same result. If the first call has stored its
 *              result, a second call with another result does not replace it, but also returns
 *              MCDS_OK. If run->mine is false, the claim has ended, and the key does not show
 *              whether the result was stored
 * Threads:     as mcds_once_begin */
MCDS_API MCDS_CHECKED int mcds_once_finish(mcds_once *once, mcds_once_run *run, int32_t code,
                                           mcds_bytes result);
MCDS_API MCDS_CHECKED int mcds_once_finish_start(mcds_once *once, mcds_once_run *run,
                                                 int32_t code, mcds_bytes result,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Gives the claim back: the next caller runs the work. Only for work that certainly was not done.
 * Arguments:   run  in and out; mine, or that of a begin that returned MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         the claim was given back, or there was none. The run is now empty
 *              MCDS_LOST       the claim had ended before. The run is now empty
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the run is empty
 * Cost:        1; 3 if the connection has changed since the last call with this run
 * Lost reply:  the call reads the key. MCDS_AMBIGUOUS: given back, not, or not yet; call again,
 *              or let the claim end. MCDS_OK can then also mean that the claim had ended before
 * Threads:     as mcds_once_begin */
MCDS_API MCDS_CHECKED int mcds_once_abandon(mcds_once *once, mcds_once_run *run);
MCDS_API MCDS_CHECKED int mcds_once_abandon_start(mcds_once *once, mcds_once_run *run,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Stores a result without a claim, for work of which somebody has found out what happened: after
 * MCDS_LOST of mcds_once_begin, or for work that was done before mcds was used.
 *
 *   result = mcds_once_begin(once, order, body, 0, &run, &value, &code);
 *   if (result == MCDS_LOST && bank_has(order, &receipt))
 *       mcds_once_settle(once, order, 0, receipt);       it was done
 *   else if (result == MCDS_LOST)
 *       mcds_once_forget(once, order);                   it was not: the next begin runs it
 *
 * Arguments:   code    any number
 *              result  as for mcds_once_finish
 * Returns:     MCDS_OK
 *              MCDS_EXISTS     the key has a result; it stays
 *              MCDS_BUSY       a caller runs the work
 *              MCDS_TOO_BIG    the result is larger than the store takes
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2; 4 for a key that does not exist
 * Lost reply:  the call reads the key. MCDS_AMBIGUOUS: stored, not, or not yet; call again */
MCDS_API MCDS_CHECKED int mcds_once_settle(mcds_once *once, mcds_bytes key, int32_t code,
                                           mcds_bytes result);
MCDS_API MCDS_CHECKED int mcds_once_settle_start(mcds_once *once, mcds_bytes key, int32_t code,
                                                 mcds_bytes result, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Forgets the result of a key, or takes its claim from the caller that runs the work, which gets
 * MCDS_LOST. The next begin runs the work. The call erases bytes under the key that mcds did not
 * write.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  there was nothing
 *              MCDS_BUSY       other callers kept changing the key; not forgotten
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2; 1 if there was nothing
 * Lost reply:  the call reads the key again. MCDS_AMBIGUOUS: forgotten or not; call again. It never
 *              forgets what is begun after the call */
MCDS_API MCDS_CHECKED int mcds_once_forget(mcds_once *once, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_once_forget_start(mcds_once *once, mcds_bytes key,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* The state of a key. */
#define MCDS_ONCE_RUNNING 1u
#define MCDS_ONCE_DONE 2u
#define MCDS_ONCE_VANISHED 3u /* STRICT: the caller that began it has not finished in time */

typedef struct mcds_once_value {
    size_t size; /* sizeof(mcds_once_value) */
    uint32_t state;
    int32_t code;     /* of a result */
    int64_t began_ms; /* Unix time of the begin, by the clock of the caller that ran the work */
    int64_t until_ms; /* end of the claim, or of the time for which the result is kept */
} mcds_once_value;
#define MCDS_ONCE_VALUE_INIT                                                                   \
    {                                                                                          \
        sizeof(mcds_once_value), 0, 0, 0, 0                                                    \
    }

/* Reads what is known of a key, and claims nothing. For a page that shows the state of a request,
 * and for repairs by hand. A program that wants to run the work calls mcds_once_begin: between two
 * calls, another caller may begin.
 * Arguments:   value_out   filled
 *              result_out  the result; empty if there is none
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: nothing is known
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_once_get(mcds_once *once, mcds_bytes key,
                                        mcds_once_value *value_out, mcds_value *result_out);
MCDS_API MCDS_CHECKED int mcds_once_get_start(mcds_once *once, mcds_bytes key,
                                              mcds_once_value *value_out,
                                              mcds_value *result_out, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
