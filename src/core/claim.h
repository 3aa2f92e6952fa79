/* Core slot, who counts: of all that see the same visitor in the same interval, one claims it.
 *
 * The key holds the number of the slot in which the visitor was last claimed and a random token
 * of the claimer. Atomicity is that of add (first claim) and of cas (claim again, a span of
 * slots later); the token tells a claim of ours whose reply was lost from that of another. When
 * the key dies does not matter as long as it outlives the span. */
#ifndef MCDS_CORE_CLAIM_H
#define MCDS_CORE_CLAIM_H

#include "engine/operation.h"

#define MCDS__CLAIM_VALUE_LENGTH (8 + 8 + 8)

/* One claim. The caller fills the first part and steps until DONE:
 *
 *   MCDS_OK         ours to count
 *   MCDS_EXISTS     claimed before, by anybody
 *   MCDS_AMBIGUOUS  a write of ours went unanswered
 *   others          not claimed */
struct mcds__claim {
    struct mcds__key key;
    uint64_t slot;
    uint64_t span; /* claimed again from this many slots later on; 0 = once for good */
    uint64_t ttl_ms;
    uint64_t token; /* private from here */
    uint8_t stage;  /* 0 at the start */
    bool doubt;
    bool looks;
    bool renewed;       /* it may have stood over an older claim */
    mcds_cas_token cas; /* of the claim, when the store has told it */
    mcds_request requests[2];
    uint8_t value[MCDS__CLAIM_VALUE_LENGTH];
};

enum mcds__step mcds__claim_step(struct mcds__claim *claim, struct mcds__operation *operation);

/* Whether a claim can be taken back without harm: only as it was written, and only when there
 * was none before it that would be forgotten with it. */
bool mcds__claim_can_undo(const struct mcds__claim *claim);
/* The request that takes it back. */
mcds_request mcds__claim_undo(const struct mcds__claim *claim);

#endif
