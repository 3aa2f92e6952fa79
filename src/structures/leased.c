/* Leased: the options and checks that lock and semaphore share, whose holders have leases. */
#include "structures/leased.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

#define LEASE_MS_DEFAULT 15000
#define LEASE_MS_MAX 86400000
#define LEASE_MS_MIN 50
/* Shortest lease where ttls are whole seconds and may end early. */
#define LEASE_MS_MIN_COARSE 3000

int mcds__leased_check_options(const char *noun, const char *name, uint32_t lease_ms,
                               const char *label, const mcds_capabilities *can)
{
    uint32_t least_ms = can->ttl_early_ms > 0 ? LEASE_MS_MIN_COARSE : LEASE_MS_MIN;
    const struct mcds__given lease = {MCDS_CAUSE_OUT_OF_RANGE, "lease_ms", lease_ms, least_ms,
                                      LEASE_MS_MAX};
    int result = mcds__check_given(noun, name, NULL, &lease, 1);
    if (result != MCDS_OK)
        return result;
    if (label != NULL && strnlen(label, MCDS__LEASE_LABEL_MAX + 1) > MCDS__LEASE_LABEL_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = noun, .name = name, .option = "label",
                          .wanted_max = MCDS__LEASE_LABEL_MAX);
    if (!can->expires)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(LOCK_WITHOUT_EXPIRY), .noun = noun,
                              .name = name);
    if (!can->compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(LOCK_WITHOUT_CAS), .noun = noun,
                              .name = name);
    return MCDS_OK;
}

void mcds__leased_init(struct mcds__leased *leased, uint32_t lease_ms, const char *label,
                       const mcds_capabilities *can)
{
    if (label != NULL)
        memcpy(leased->label, label, strlen(label));
    leased->lease_ms = lease_ms > 0 ? lease_ms : LEASE_MS_DEFAULT;
    leased->ttl_early_ms = can->ttl_early_ms;
    assert(leased->lease_ms >= LEASE_MS_MIN && leased->lease_ms <= LEASE_MS_MAX);
    assert(leased->label[MCDS__LEASE_LABEL_MAX] == '\0');
}

/* Whether calls can have written these fields. */
static bool is_lease(const mcds_lease *lease)
{
    bool held = (lease->state & MCDS__LEASE_HELD) != 0;
    bool extends = lease->extension < UINT64_MAX || mcds__lease_is_shared(lease);
    return (lease->state & ~(uint32_t)MCDS__LEASE_STATES) == 0 &&
           (!held || (lease->fence > 0 && extends));
}

int mcds__leased_check(const struct mcds__leased *leased, const mcds_lease *lease,
                       const struct mcds__operation_kind *kind, enum mcds__leased_need need)
{
    bool held = (lease->state & MCDS__LEASE_HELD) != 0;
    if (leased->handle.forks != mcds__forks())
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(FORKED),
                              MCDS__CALL(kind, leased->handle.name));
    if (!is_lease(lease))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, leased->handle.name),
                          .wanted = "a lease that this library has filled", .option = "lease");
    if (need == MCDS__NEED_EMPTY && held)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_HELD),
                              MCDS__CALL(kind, leased->handle.name));
    if (need == MCDS__NEED_EMPTY && (lease->state & MCDS__LEASE_TOKEN) == 0 &&
        mcds__wall_ns(mcds__store_env(leased->handle.store)) > MCDS__LEASE_WALL_NS_MAX)
        return mcds__fail_why(MCDS_IO, MCDS__WHY(CLOCK_AFTER_2190),
                              MCDS__CALL(kind, leased->handle.name));
    if (need != MCDS__NEED_EMPTY && (lease->state & MCDS__LEASE_GONE) != 0)
        return mcds__fail_why(MCDS_LOST, MCDS__WHY(LEASE_LOST_BEFORE),
                              MCDS__CALL(kind, leased->handle.name));
    if ((need == MCDS__NEED_HELD && !held) ||
        (need == MCDS__NEED_ANY &&
         (lease->state & (MCDS__LEASE_HELD | MCDS__LEASE_TOKEN)) == 0))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_EMPTY),
                              MCDS__CALL(kind, leased->handle.name));
    return MCDS_OK;
}

void mcds__leased_prepare(const struct mcds__leased *leased,
                          const struct mcds__lease_keys *keys, _Atomic uint64_t *fence_newest,
                          mcds_lease *lease, struct mcds__lease_call *call)
{
    memset(call, 0, offsetof(struct mcds__lease_call, seed_text));
    call->keys = keys;
    call->lease = lease;
    call->label = leased->label;
    /* The holder has all of lease_ms, also where the store may drop a key early. */
    call->lease_ms = leased->lease_ms + leased->ttl_early_ms;
    call->ttl_early_ms = leased->ttl_early_ms;
    call->env = mcds__store_env(leased->handle.store);
    call->fence_newest = fence_newest;
}

int64_t mcds__leased_remaining_ms(const struct mcds__leased *leased, const mcds_lease *lease)
{
    if ((lease->state & MCDS__LEASE_HELD) == 0)
        return 0;
    int64_t now_ns = mcds__monotonic_ns(mcds__store_env(leased->handle.store));
    return lease->deadline_ns > now_ns ? (lease->deadline_ns - now_ns) / NS_PER_MS : 0;
}
