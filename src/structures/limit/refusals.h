/* Limit: the identities that a handle has seen refused, and until when.
 *
 * A take of such an identity reads before it writes, so that what is refused over and over writes
 * nothing. The table only chooses the order of requests: whatever it holds, the store decides. So it
 * may forget, and two identities may share an entry. */
#ifndef MCDS_STRUCTURES_LIMIT_REFUSALS_H
#define MCDS_STRUCTURES_LIMIT_REFUSALS_H

#include <stdatomic.h>

#include "mcds.h"

#define MCDS__REFUSALS 1024

struct mcds__refusals {
    _Atomic uint64_t entries[MCDS__REFUSALS]; /* bits of the hash, and the time; 0: none */
};

/* The identity was refused, and is until this time if nothing else changes. */
void mcds__refusals_note(struct mcds__refusals *refusals, mcds_bytes identity,
                         int64_t until_ms);
/* A take of the identity has passed. */
void mcds__refusals_forget(struct mcds__refusals *refusals, mcds_bytes identity);
/* Whether the identity was refused until a time after now_ms. */
bool mcds__refusals_has(struct mcds__refusals *refusals, mcds_bytes identity, int64_t now_ms);

#endif
