/* What a lease key holds, and the requests that the three calls on a lease have in common. */
#ifndef MCDS_CORE_LEASE_VALUE_H
#define MCDS_CORE_LEASE_VALUE_H

#include "core/lease.h"

/* Whose the lease is, as a GET has shown. */
enum mcds__lease_sight {
    LEASE_MINE,
    LEASE_OTHERS,
    LEASE_FREE,    /* a tombstone */
    LEASE_MISSING, /* no key */
    LEASE_DAMAGED, /* not written by this library */
    LEASE_UNSEEN   /* no answer, or a refusal */
};

/* What `request`, a GET of the lease key, has shown; *value_out for MINE and OTHERS. */
enum mcds__lease_sight mcds__lease_look(const struct mcds__lease_call *call,
                                        const mcds_batch *batch, const mcds_request *request,
                                        struct mcds__lease_value *value_out);

/* A request that writes our token with this extension (into call->value). */
mcds_request mcds__lease_write(struct mcds__lease_call *call, mcds_command command,
                               uint64_t extension, mcds_cas_token cas);
/* A request that writes a tombstone, which frees the lease and yet keeps a late add out. */
mcds_request mcds__lease_bury(struct mcds__lease_call *call, mcds_command command,
                              mcds_cas_token cas);
mcds_request mcds__lease_get(const struct mcds__lease_call *call);
mcds_request mcds__lease_delete(const struct mcds__lease_call *call, mcds_cas_token cas);

/* When a lease asked for at asked_ns must be given up: before the store can have forgotten it.
 */
int64_t mcds__lease_deadline(const struct mcds__lease_call *call, int64_t asked_ns);

void mcds__lease_remember_cas(mcds_lease *lease, mcds_cas_token cas);
mcds_cas_token mcds__lease_cas(const mcds_lease *lease);
/* Whether a key with our token holds a late add of ours and not the tenure. A tenure that
 * follows an add in doubt is marked with extension 1, so extension 0 is the add. */
bool mcds__lease_is_ghost(const mcds_lease *lease, uint64_t extension);
/* Empty the lease as MCDS_LEASE_INIT does. */
void mcds__lease_clear(mcds_lease *lease);
/* Empty it, and remember that it was lost or may have been. */
void mcds__lease_clear_gone(mcds_lease *lease);

#endif
