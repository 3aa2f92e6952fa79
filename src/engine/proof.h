/* Proofs: that the root of a structure's life was seen, shared by the operations of one pipeline.
 *
 * A read of the root proves an operation if it was sent after the operation had begun. All
 * operations of a round had begun before the round was sent. So one of them reads the root, which
 * proves those of this round and of earlier ones. Over another connection, the replies to an
 * operation may arrive earlier. Such operations wait in a line, and its first reads the root. */
#ifndef MCDS_ENGINE_PROOF_H
#define MCDS_ENGINE_PROOF_H

#include "engine/operation.h"

/* The knowledge of a pipeline about one life. */
struct mcds__proof {
    uint64_t place; /* of the handle; 0: unused */
    uint64_t life;
    uint64_t asked; /* the last round in which a batch reads the root */
    uint64_t seen;  /* the last round in which one saw it; 0: none */
};
/* With more handles than this, lives displace each other, and roots are read more often. */
#define MCDS__PROOFS 16

/* Whether the next batch of this operation must read the root. False: another of its round does. */
bool mcds__proof_claim(const struct mcds__operation *operation, uint64_t place, uint64_t life);
/* A batch of this round has seen the root. */
void mcds__proof_publish(const struct mcds__operation *operation, uint64_t place, uint64_t life,
                         uint64_t round);
/* Whether the root was seen in this round or in a later one. */
bool mcds__proof_is_seen(const struct mcds__operation *operation, uint64_t place, uint64_t life,
                         uint64_t round);

#endif
