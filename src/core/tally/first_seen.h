/* First seen: a mark for each visitor, so that of all clients that see it in one interval only
 * one counts it.
 *
 * The key contains the number of the interval. The mark holds it too, and a random token of the
 * client that wrote it. Only one add succeeds. The token distinguishes an own mark whose reply
 * was lost from that of another client, so a repeated add is followed by a get of the mark. */
#ifndef MCDS_CORE_TALLY_FIRST_SEEN_H
#define MCDS_CORE_TALLY_FIRST_SEEN_H

#include "engine/operation.h"

#define MCDS__FIRST_SEEN_VALUE_LENGTH (8 + 8 + 8)

/* One mark. The caller fills the first part and steps until DONE:
 *
 *   MCDS_OK         written by this call, so the caller counts the visitor
 *   MCDS_EXISTS     written before, by any client
 *   MCDS_AMBIGUOUS  the reply to a write was lost
 *   others          not written */
struct mcds__first_seen {
    struct mcds__key key;
    uint64_t tally;
    uint64_t ttl_ms;
    uint64_t token; /* private from here */
    uint8_t stage;  /* 0 at the start */
    bool doubt;
    mcds_cas_token cas; /* of the mark, if the store has returned it */
    mcds_request requests[2];
    uint8_t value[MCDS__FIRST_SEEN_VALUE_LENGTH];
};

enum mcds__step mcds__first_seen_step(struct mcds__first_seen *first_seen,
                                      struct mcds__operation *operation);

/* Whether the mark can be undone: only if it is unchanged. */
bool mcds__first_seen_can_undo(const struct mcds__first_seen *first_seen);
/* The request that undoes it. */
mcds_request mcds__first_seen_undo(const struct mcds__first_seen *first_seen);

#endif
