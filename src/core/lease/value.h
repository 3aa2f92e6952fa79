/* Lease: the value of its key, and the requests that acquire, renew and release share. */
#ifndef MCDS_CORE_LEASE_VALUE_H
#define MCDS_CORE_LEASE_VALUE_H

#include "core/lease/lease.h"
#include "mcds.h"

/* The holder of the lease, from a GET. */
enum mcds__lease_sight {
    LEASE_MINE,
    LEASE_OTHERS,
    LEASE_FREE, /* a tombstone; readers that this client may join; or all leases have ended */
    LEASE_MISSING, /* no key */
    LEASE_DAMAGED, /* not written by this library */
    LEASE_UNSEEN   /* no answer, or a refusal */
};

/* The result of `request`, a GET of the lease key; sets *value_out for MINE and OTHERS, and
 * call->seen where the key has readers. */
enum mcds__lease_sight mcds__lease_read(struct mcds__lease_call *call, const mcds_batch *batch,
                                        const mcds_request *request,
                                        struct mcds__lease_value *value_out);

/* A request that writes the client's token with this extension (from call->value). */
mcds_request mcds__lease_write(struct mcds__lease_call *call, mcds_command command,
                               uint64_t extension, mcds_cas_token cas);
/* A request that writes a tombstone, which frees the lease and makes a late add fail. */
mcds_request mcds__lease_bury(struct mcds__lease_call *call, mcds_command command,
                              mcds_cas_token cas);
mcds_request mcds__lease_get(const struct mcds__lease_call *call);
/* If there is no token, because the server now runs without cas: a write that the store refuses.
 * A delete without a token could end the lease of another client. */
mcds_request mcds__lease_delete(struct mcds__lease_call *call, mcds_cas_token cas);

/* Whether a lock may draw this number: else the fence was written by another program. */
bool mcds__lease_is_fence(uint64_t number);

/* When the holder of a lease requested at asked_ns must stop: before it can expire. */
int64_t mcds__lease_deadline(const struct mcds__lease_call *call, int64_t asked_ns);

void mcds__lease_remember_cas(mcds_lease *lease, mcds_cas_token cas);
mcds_cas_token mcds__lease_cas(const mcds_lease *lease);
/* Whether a key with the client's token holds a late add and not the tenure. A tenure that
 * follows an add in doubt is marked with extension 1, so extension 0 is the add. */
bool mcds__lease_is_ghost(const mcds_lease *lease, uint64_t extension);
/* Empty the lease as MCDS_LEASE_INIT does. */
void mcds__lease_clear(mcds_lease *lease);
/* Empty the lease, record that it was lost or may have been, and finish with `result` and why. */
enum mcds__step mcds__lease_end_lost(struct mcds__lease_call *call,
                                     struct mcds__operation *operation, int result,
                                     const mcds_reason *detail);

#endif
