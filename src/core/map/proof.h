/* Map: the proof that the life of a structure is not over. */
#ifndef MCDS_CORE_MAP_PROOF_H
#define MCDS_CORE_MAP_PROOF_H

#include "engine/operation.h"

struct mcds__map;

/* The proof that a life is not over, needed at an operation's end. All zero at the start. The
 * operations of a pipeline share it (engine/proof.h). */
struct mcds__map_proof {
    uint64_t seen;  /* the life whose root it has seen */
    uint64_t over;  /* the life whose root it has found gone */
    uint64_t round; /* of the last batch; a read of the root in it proves the operation */
    bool looks;     /* the batch of this operation reads the root */
    bool is_alone;  /* in: the operation must read the root itself */
};
enum mcds__map_truth { MCDS__MAP_UNPROVED, MCDS__MAP_ALIVE, MCDS__MAP_OVER };
/* Prepare a batch. Returns the number of requests to add at its end: none, or a read of the
 * root, in *request_out. */
uint32_t mcds__map_prove_along(struct mcds__map_proof *proof, const struct mcds__map *map,
                               uint64_t life, const struct mcds__operation *operation,
                               mcds_request *request_out);
/* Process the reply of that read; `life` is the life that the batch was for. */
void mcds__map_take_proof(struct mcds__map_proof *proof, const struct mcds__map *map,
                          uint64_t life, const struct mcds__operation *operation,
                          const mcds_reply *reply);
/* Whether this life is over. If that is not known and the store is in this process, the root is
 * read at once. UNPROVED: the operation must read the root. Without an operation: a call that
 * has sent nothing. */
enum mcds__map_truth mcds__map_is_alive(struct mcds__map_proof *proof, struct mcds__map *map,
                                        uint64_t life, const struct mcds__operation *operation);
/* Wait while another operation of the pipeline reads the root because it was UNPROVED. True: the
 * step is *step_out. False: this operation reads it, and then calls mcds__line_release. */
bool mcds__map_waits_for_proof(const struct mcds__map *map, struct mcds__operation *operation,
                               enum mcds__step *step_out);
/* Read the root with this request, after waiting as mcds__map_waits_for_proof does. If `looks` is false
 * afterwards, the operation has waited, and has not asked. */
enum mcds__step mcds__map_prove_alone(struct mcds__map_proof *proof,
                                      const struct mcds__map *map, uint64_t life,
                                      struct mcds__operation *operation, mcds_request *request);

#endif
