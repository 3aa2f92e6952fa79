/* Core slot, a visit: claim the visitor, then count it in the slot; what visitors and online
 * have in common. */
#ifndef MCDS_CORE_VISIT_H
#define MCDS_CORE_VISIT_H

#include "core/claim.h"
#include "core/slot.h"

/* One visit. The caller fills in `claim` (unless anonymous), `key` and what `hit` needs, and
 * steps until DONE:
 *
 *   MCDS_OK         counted
 *   MCDS_EXISTS     this visitor was counted before
 *   MCDS_AMBIGUOUS  counted once or not at all
 *   others          not counted */
struct mcds__visit {
    bool anonymous; /* count without a claim */
    uint8_t stage;  /* private; 0 at the start */
    int result;
    struct mcds__claim claim;
    struct mcds__key key; /* of the slot */
    struct mcds__slot_hit hit;
};

/* Set everything but the keys. */
void mcds__visit_init(struct mcds__visit *visit, uint64_t slot, uint64_t span,
                      uint64_t claim_ttl_ms, uint64_t slot_ttl_ms);

enum mcds__step mcds__visit_step(struct mcds__visit *visit, struct mcds__operation *operation);

/* Read slot `number` from a GET: 0 when it is missing. `*reborn` is set, never cleared, when
 * this handle has seen an older life of it; `seen`: had it seen the slot before it asked?
 * False: no number. */
bool mcds__visit_read(const mcds_batch *batch, const mcds_request *request,
                      struct mcds__slot_memory *memory, uint64_t number, bool seen,
                      uint64_t *count_out, bool *reborn);

#endif
