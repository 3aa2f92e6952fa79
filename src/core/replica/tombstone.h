/* Replica: the tombstone of a drop, by which a handle distinguishes a dropped counter from a
 * lost one.
 *
 * A drop sets the tombstone, with a new random number, in every copy before it erases
 * anything. A handle reads the tombstones with its first write to a slot. When its entry is
 * missing later, it reads them again: if a majority has changed, the counter was dropped,
 * and what the handle had stored is gone for good. Otherwise a server has lost the entry,
 * and the handle writes it again. */
#ifndef MCDS_CORE_REPLICA_TOMBSTONE_H
#define MCDS_CORE_REPLICA_TOMBSTONE_H

#include "core/replica/replica.h"

#define MCDS__REPLICA_TOMBSTONE_MAX (8 + 8)

/* The request that reads the tombstone of copy `i`. */
mcds_request mcds__replica_tombstone_get(const struct mcds__replica *replica, uint32_t copy);
/* The request that sets it to `number`, not 0. `value` has MCDS__REPLICA_TOMBSTONE_MAX bytes. */
mcds_request mcds__replica_tombstone_set(const struct mcds__replica *replica, uint32_t copy,
                                         uint64_t number, uint8_t *value);

/* Read the tombstones of all copies: `requests` has one for each. */
enum mcds__step mcds__replica_ask_tombstones(const struct mcds__replica *replica,
                                             mcds_request *requests,
                                             struct mcds__operation *operation);
/* Whether one of these tombstones is so young that its drop may be erasing still, or has no
 * known age. */
bool mcds__replica_is_being_dropped(const struct mcds__replica *replica,
                                    const mcds_request *requests);
/* Remember the tombstone of one copy, of the life in which the slot was claimed. */
void mcds__replica_learn_tombstone(struct mcds__replica *replica, uint32_t copy,
                                   struct mcds__operation *operation,
                                   const mcds_request *request);
/* Whether a majority of the copies has remembered tombstones. */
bool mcds__replica_knows_tombstones(const struct mcds__replica *replica);
/* Whether a majority of the copies has another tombstone than the one remembered. */
bool mcds__replica_was_dropped(const struct mcds__replica *replica,
                               const mcds_request *requests, struct mcds__operation *operation);

/* Forget the life that was dropped: the slot, and what was stored there. What was not stored stays
 * in the handle. The mutex is held, and no other flush is in progress. */
void mcds__replica_forget_life(struct mcds__replica *replica);

#endif
