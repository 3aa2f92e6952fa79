/* Unique hit: write the mark of a visitor, then add to the tally. */
#ifndef MCDS_CORE_TALLY_UNIQUE_HIT_H
#define MCDS_CORE_TALLY_UNIQUE_HIT_H

#include "core/tally/first_seen.h"
#include "core/tally/tally.h"

/* One hit. The caller fills in `first_seen` (unless anonymous), `key` and what `hit` needs, and
 * steps until DONE:
 *
 *   MCDS_OK         counted
 *   MCDS_EXISTS     this visitor was counted before
 *   MCDS_AMBIGUOUS  counted once or not at all
 *   others          not counted */
struct mcds__unique_hit {
    bool anonymous; /* count without a mark */
    uint8_t stage;  /* private; 0 at the start */
    int result;
    struct mcds__mark first_seen;
    struct mcds__key key; /* of the tally */
    struct mcds__tally_hit hit;
};

/* Set everything but the keys. */
void mcds__unique_hit_init(struct mcds__unique_hit *unique, uint64_t tally,
                           uint64_t first_seen_ttl_ms, uint64_t tally_ttl_ms);

enum mcds__step mcds__unique_hit_step(struct mcds__unique_hit *unique,
                                      struct mcds__operation *operation);

/* Read the tally of interval `number` from a GET: 0 if it is missing. Sets, never clears,
 * *reborn if this handle has seen an older incarnation; `seen`: the handle had seen the tally
 * before the GET. False: not a number. */
bool mcds__unique_hit_read(struct mcds__operation *operation, const mcds_request *request,
                           struct mcds__tally_memory *memory, uint64_t number, bool seen,
                           uint64_t *count_out, bool *reborn);

#endif
