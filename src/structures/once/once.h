/* Once: the handle, and what its calls share.
 *
 * One key, o1:NAME:KEY, is first a claim and then the result (value.h):
 *
 *   begin    add RUNNING, get           or cas FREE -> RUNNING, get
 *   renew    cas RUNNING -> RUNNING
 *   finish   cas RUNNING -> DONE
 *   abandon  cas RUNNING -> FREE
 *   settle   cas RUNNING (STRICT, ended) -> DONE;  a missing key: add FREE, then cas FREE -> DONE
 *   forget   cas anything -> FREE
 *
 * Only a compare-and-set ends a claim or stores a result, so a request that arrives late changes
 * nothing but what it was made for. The only request that can arrive late and have an effect is an
 * add, of a claim that no caller counts as its own, or of a FREE, which is nothing. */
#ifndef MCDS_STRUCTURES_ONCE_ONCE_H
#define MCDS_STRUCTURES_ONCE_ONCE_H

#include "mcds.h"
#include "structures/once/value.h"
#include "structures/structure.h"

/* How long the store keeps a FREE, which any caller may replace. */
#define MCDS__ONCE_FREE_MS 1000

struct mcds_once {
    struct mcds__handle handle;
    struct mcds__key begin; /* of all keys */
    uint64_t keep_ms;
    uint32_t run_ms;
    uint32_t ttl_early_ms; /* how much earlier the store may expire a key */
    bool strict;
};

/* The ttl of a claim. That of a strict one must outlast its end: it shows that work was begun. */
static inline uint64_t mcds__once_claim_ttl_ms(const mcds_once *once, bool strict)
{
    return once->run_ms + (strict ? once->keep_ms : 0) + once->ttl_early_ms;
}

static inline uint64_t mcds__once_result_ttl_ms(const mcds_once *once)
{
    return once->keep_ms + once->ttl_early_ms;
}

/* Whether a strict claim has ended: its caller has vanished. */
static inline bool mcds__once_has_vanished(const struct mcds__once_value *value, int64_t now_ms)
{
    return value->kind == MCDS__ONCE_IS_RUNNING && value->strict && value->until_ms < now_ms;
}

/* The key of this work. */
struct mcds__key mcds__once_key(const mcds_once *once, mcds_bytes key);

/* A result that the store takes: MCDS_OK; MCDS_INVALID or MCDS_TOO_BIG with the sentence set. */
int mcds__once_check_result(const mcds_once *once, const struct mcds__operation_kind *kind,
                            mcds_bytes result);

/* The end of a call. With `doubt`, a request may still have an effect: a result that denies it is
 * AMBIGUOUS. */
enum mcds__step mcds__once_end(struct mcds__operation *operation, bool doubt);

#endif
