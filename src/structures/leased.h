/* Leased: the options and checks that lock and semaphore share, whose holders have leases. */
#ifndef MCDS_STRUCTURES_LEASED_H
#define MCDS_STRUCTURES_LEASED_H

#include "core/lease/lease.h"
#include "mcds.h"
#include "structures/structure.h"

struct mcds__leased {
    struct mcds__handle handle;
    char label[MCDS__LEASE_LABEL_MAX + 1];
    uint32_t lease_ms;
    uint32_t ttl_early_ms;
};

/* The longest wait of an acquire. */
#define MCDS__LEASED_WAIT_MS_MAX 86400000

/* Checks the options and the store. Returns MCDS_OK, or the result with the sentence set. */
int mcds__leased_check_options(const char *noun, const char *name, uint32_t lease_ms,
                               const char *label, const mcds_capabilities *can);
/* Takes the options, which were checked. */
void mcds__leased_init(struct mcds__leased *leased, uint32_t lease_ms, const char *label,
                       const mcds_capabilities *can);

/* The state in which a call requires the lease. */
enum mcds__leased_need { MCDS__NEED_EMPTY, MCDS__NEED_HELD, MCDS__NEED_ANY };

/* Whether the lease is in that state. Returns MCDS_OK, or the result with the sentence set. */
int mcds__leased_check(const struct mcds__leased *leased, const mcds_lease *lease,
                       const struct mcds__operation_kind *kind, enum mcds__leased_need need);

/* Begins a call of core/lease, without waiting for another holder. */
void mcds__leased_prepare(const struct mcds__leased *leased,
                          const struct mcds__lease_keys *keys, _Atomic uint64_t *fence_newest,
                          mcds_lease *lease, struct mcds__lease_call *call);

/* Milliseconds until the deadline of a lease; 0: it has passed, or the lease is empty. */
int64_t mcds__leased_remaining_ms(const struct mcds__leased *leased, const mcds_lease *lease);

#endif
