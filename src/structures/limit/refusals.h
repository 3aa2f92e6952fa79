/* Limit: the identities that were refused to a handle, each with the time to retry.
 *
 * A take of such an identity reads before it writes. So an identity that is refused again and again
 * writes nothing. The table only decides whether a take reads first. The store decides whether the
 * take passes. So the table may forget, or take two identities for one, which costs a round trip.
 * Strangers choose identities. So each handle has a seed of its own, and an identity can use any
 * of several entries. */
#ifndef MCDS_STRUCTURES_LIMIT_REFUSALS_H
#define MCDS_STRUCTURES_LIMIT_REFUSALS_H

#include <stdatomic.h>

#include "mcds.h"

#define MCDS__REFUSALS_SETS 256
#define MCDS__REFUSALS_WAYS 4

struct mcds__refusals {
    uint64_t seed; /* of the hash of identities */
    /* Bits of the hash, whether others take the tokens, and the time; 0: empty. */
    _Atomic uint64_t entries[MCDS__REFUSALS_SETS][MCDS__REFUSALS_WAYS];
};

/* Empty, with a random seed. */
void mcds__refusals_init(struct mcds__refusals *refusals, const mcds_env *env);
/* The identity was refused, after a read (has_read) or a write. If nothing changes, it is refused
 * until this time. A write that is refused later shows that others take the tokens. */
void mcds__refusals_note(struct mcds__refusals *refusals, mcds_bytes identity, int64_t until_ms,
                         bool has_read);
/* A take of the identity has passed. */
void mcds__refusals_forget(struct mcds__refusals *refusals, mcds_bytes identity);
/* Whether the identity was refused until a time after now_ms, or others take its tokens. */
bool mcds__refusals_has(struct mcds__refusals *refusals, mcds_bytes identity, int64_t now_ms);

#endif
