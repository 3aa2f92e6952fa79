/* Semaphore: acquire.
 *
 *   LOOK    get settings | get each lease
 *   MAKE    add settings | get settings                where the store has none
 *   CLAIM   core/lease's acquire of one slot | get settings
 *   RETURN  core/lease's release                       the slot is at or above the permits
 *
 * After a claim that has found a damaged key, LOOK chooses another slot, and this one only if no
 * other is free.
 *
 * The settings are read after the claim, and a resize looks for claims after it has changed them.
 * So either the claim sees the new number, or the resize sees the claim. models/resize.pml shows
 * what fails otherwise. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/semaphore/semaphore.h"

/* So many slots may be taken by others before a call treats all as held. */
#define LOSSES_MAX 16

enum { BEGIN, LOOK, MAKE_AGAIN, MAKE, CLAIM, RETURN };

struct semaphore_acquire {
    struct mcds__operation base;
    mcds_semaphore *semaphore;
    mcds_permit *permit;
    int64_t wait_until_ns; /* 0: one try */
    uint8_t stage;
    uint8_t losses;
    bool is_claimed;     /* MAKE: the lease of the slot is held already */
    uint64_t unreadable; /* a bit for each slot whose claim has found a damaged key */
    int outcome;         /* after RETURN; MCDS_OK: look again */
    const mcds_reason *detail;
    uint8_t settings[MCDS__SETTINGS_SIZE];
    struct mcds__lease_keys keys;
    struct mcds__lease_call lease;
    struct mcds__semaphore_look look;
};

static enum mcds__step acquire_step_on(struct semaphore_acquire *acquire);

/* Whether to look again, and then at wake_ns. The last look is at the end of the wait. */
static bool semaphore_wait_more(struct semaphore_acquire *acquire, int64_t hint_ns)
{
    struct mcds__operation *operation = &acquire->base;
    operation->tries = 1;
    if (mcds__monotonic_ns(operation->env) >= acquire->wait_until_ns ||
        !mcds__operation_wait(operation, hint_ns))
        return false;
    if (operation->wake_ns > acquire->wait_until_ns)
        operation->wake_ns = acquire->wait_until_ns;
    acquire->stage = BEGIN;
    acquire->losses = 0;
    return true;
}

/* After a failure: again, while the caller waits for a server that does not answer. */
static enum mcds__step semaphore_take_trouble(struct semaphore_acquire *acquire)
{
    int result = acquire->base.result;
    bool is_silent = result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE ||
                     result == MCDS_AMBIGUOUS;
    assert(result != MCDS_OK);
    return is_silent && semaphore_wait_more(acquire, 0) ? MCDS__SLEEP : MCDS__DONE;
}

static enum mcds__step ask_look(struct semaphore_acquire *acquire)
{
    uint32_t known = atomic_load(&acquire->semaphore->permits);
    acquire->stage = LOOK;
    acquire->look.stage = 0;
    acquire->look.slots = known > 0                        ? known
                          : acquire->semaphore->wanted > 0 ? acquire->semaphore->wanted
                                                           : MCDS__SLOTS;
    acquire->base.tries = 1;
    acquire->base.connection = 0;
    return acquire_step_on(acquire);
}

static enum mcds__step ask_claim(struct semaphore_acquire *acquire, uint32_t slot)
{
    acquire->permit->slot = slot;
    mcds__semaphore_prepare(acquire->semaphore, slot, &acquire->permit->lease, &acquire->keys,
                            &acquire->lease);
    acquire->lease.beside = &acquire->semaphore->settings;
    acquire->stage = CLAIM;
    acquire->base.tries = 1;
    return acquire_step_on(acquire);
}

/* Gives back the lease of a slot that is not the caller's to use. */
static enum mcds__step ask_return(struct semaphore_acquire *acquire, int outcome,
                                  const mcds_reason *detail)
{
    assert((acquire->permit->lease.state & MCDS__LEASE_HELD) != 0);
    mcds__lease_call_begin(&acquire->lease);
    acquire->outcome = outcome;
    acquire->detail = detail;
    acquire->stage = RETURN;
    acquire->base.tries = 1;
    return acquire_step_on(acquire);
}

/* Whatever the release has answered, the caller forgets the lease, which ends by itself. */
static enum mcds__step take_return(struct semaphore_acquire *acquire, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    acquire->permit->lease = (mcds_lease)MCDS_LEASE_INIT;
    if (acquire->outcome == MCDS_OK)
        return ask_look(acquire);
    /* The key that was refused is that of the batch before. */
    acquire->base.result = acquire->outcome;
    acquire->base.detail = acquire->detail;
    return semaphore_take_trouble(acquire);
}

/* Makes the settings, or finishes: no such semaphore. */
static enum mcds__step ask_make(struct semaphore_acquire *acquire)
{
    mcds_semaphore *semaphore = acquire->semaphore;
    struct mcds__operation *operation = &acquire->base;
    uint32_t known = atomic_load(&semaphore->permits);
    mcds_request *requests = acquire->look.requests;
    mcds_bytes key = mcds__key_bytes(&semaphore->settings);
    assert(known <= MCDS__SLOTS && semaphore->wanted <= MCDS__SLOTS);
    if (semaphore->wanted == 0)
        return acquire->is_claimed ? ask_return(acquire, MCDS_NOT_FOUND, NULL)
                                   : mcds__operation_finish(operation, MCDS_NOT_FOUND);
    /* What the store has lost may have been resized: the smaller number is safe. */
    bool is_smaller = known > 0 && known < semaphore->wanted;
    const struct mcds__semaphore_settings settings = {is_smaller ? known : semaphore->wanted,
                                                      semaphore->wanted};
    acquire->stage = MAKE;
    requests[0] = (mcds_request){
        .command = MCDS_ADD,
        .options = MCDS_NEEDS_CAS,
        .key = key,
        .value = mcds__semaphore_encode(&settings, key, acquire->settings),
        .route = mcds__key_bytes(&semaphore->route),
    };
    requests[1] = (mcds_request){
        .command = MCDS_GET,
        .key = key,
        .route = mcds__key_bytes(&semaphore->route),
    };
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, requests, 2);
}

/* The caller has the lease of its slot, and `read` has read the settings after that. */
static enum mcds__step judge_claim(struct semaphore_acquire *acquire, const mcds_request *read)
{
    struct mcds__operation *operation = &acquire->base;
    int result = mcds__semaphore_learn(acquire->semaphore, operation, read);
    if (result == MCDS_NOT_FOUND && acquire->stage != MAKE) {
        acquire->is_claimed = true;
        return ask_make(acquire);
    }
    if (result != MCDS_OK)
        return ask_return(acquire, result, operation->detail);
    if (acquire->permit->slot >= atomic_load(&acquire->semaphore->permits))
        return ask_return(acquire, MCDS_OK, NULL);
    if (mcds__monotonic_ns(operation->env) >= acquire->permit->lease.deadline_ns)
        return ask_return(acquire, MCDS_TIMEOUT, MCDS__WHY(GRANTED_LATE));
    return mcds__operation_finish(operation, MCDS_OK);
}

static bool is_readable(const struct semaphore_acquire *acquire, uint32_t slot)
{
    assert(slot < MCDS__SLOTS);
    return (acquire->unreadable >> slot & 1) == 0;
}

/* A free slot, beginning with a random one; MCDS__SLOT_NONE: all are held. A slot whose claim
 * has found a damaged key comes last. *left_ns_out: when the first lease ends, 0: unknown.
 * *damaged_out: a slot whose lease holds other bytes. */
static uint32_t semaphore_choose_slot(struct semaphore_acquire *acquire, int64_t *left_ns_out,
                                      uint32_t *damaged_out)
{
    struct mcds__operation *operation = &acquire->base;
    const struct mcds__semaphore_look *look = &acquire->look;
    struct mcds__lease_value value;
    uint32_t permits = atomic_load(&acquire->semaphore->permits);
    uint32_t first;
    uint32_t last = MCDS__SLOT_NONE;
    int64_t left_ms = 0;
    assert(permits >= 1 && permits <= MCDS__SLOTS);
    operation->env->random(operation->env->self, &first, sizeof first);
    *damaged_out = MCDS__SLOT_NONE;
    for (uint32_t i = 0; i < permits; i++) {
        uint32_t slot = (first % permits + i) % permits;
        bool is_seen = slot < look->slots;
        enum mcds__slot_sight sight = SLOT_FREE;
        if (is_seen)
            sight = mcds__semaphore_see(look, operation, slot, &value);
        if (sight == SLOT_FREE && is_readable(acquire, slot))
            return slot;
        int64_t ttl_ms = is_seen ? look->requests[1 + slot].reply.ttl_ms : 0;
        if (sight == SLOT_FREE)
            last = slot;
        else if (sight == SLOT_DAMAGED)
            *damaged_out = slot;
        else if (ttl_ms > 0 && (left_ms == 0 || ttl_ms < left_ms))
            left_ms = ttl_ms;
    }
    *left_ns_out = left_ms * NS_PER_MS;
    return last;
}

static enum mcds__step semaphore_end_busy(struct semaphore_acquire *acquire, int64_t hint_ns,
                                          const mcds_reason *detail)
{
    if (semaphore_wait_more(acquire, hint_ns))
        return MCDS__SLEEP;
    return mcds__operation_explain(&acquire->base, MCDS_BUSY, detail);
}

static enum mcds__step claim_any(struct semaphore_acquire *acquire)
{
    struct mcds__operation *operation = &acquire->base;
    int64_t left_ns = 0;
    uint32_t damaged;
    uint32_t slot = semaphore_choose_slot(acquire, &left_ns, &damaged);
    if (slot != MCDS__SLOT_NONE)
        return ask_claim(acquire, slot);
    if (damaged == MCDS__SLOT_NONE)
        return semaphore_end_busy(acquire, left_ns, MCDS__WHY(HELD_BY_OTHERS));
    return mcds__semaphore_refuse(&acquire->look, operation, damaged);
}

static enum mcds__step semaphore_take_look(struct semaphore_acquire *acquire,
                                           enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (acquire->base.result != MCDS_OK)
        return semaphore_take_trouble(acquire);
    int result = mcds__semaphore_learn(acquire->semaphore, &acquire->base,
                                       &acquire->look.requests[0]);
    if (result == MCDS_NOT_FOUND) {
        acquire->is_claimed = false;
        acquire->look.slots = 0;
        return ask_make(acquire);
    }
    return result == MCDS_OK ? claim_any(acquire) : MCDS__DONE;
}

/* The settings were refused, or are gone again, or the replies are missing. */
static enum mcds__step fail_make(struct semaphore_acquire *acquire, const mcds_reply *reply)
{
    struct mcds__operation *operation = &acquire->base;
    bool is_gone = reply->outcome == MCDS_OUT_MISS;
    acquire->stage = MAKE_AGAIN;
    if (is_gone ? mcds__operation_again(operation)
                : mcds__operation_retry(operation, reply) == MCDS__SLEEP)
        return MCDS__SLEEP;
    if (is_gone)
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
    return acquire->is_claimed ? ask_return(acquire, operation->result, operation->detail)
                               : semaphore_take_trouble(acquire);
}

static enum mcds__step take_make(struct semaphore_acquire *acquire)
{
    const mcds_request *added = &acquire->look.requests[0];
    const mcds_request *read = &acquire->look.requests[1];
    assert(acquire->stage == MAKE);
    if (read->reply.outcome != MCDS_OUT_OK)
        return fail_make(acquire,
                         mcds__is_refusal(&added->reply) ? &added->reply : &read->reply);
    if (acquire->is_claimed)
        return judge_claim(acquire, read);
    int result = mcds__semaphore_learn(acquire->semaphore, &acquire->base, read);
    return result == MCDS_OK ? claim_any(acquire) : MCDS__DONE;
}

/* The fence or the lease of the slot holds other bytes. After the second claim of it, no other
 * slot was free. */
static enum mcds__step pass_over_slot(struct semaphore_acquire *acquire)
{
    const uint32_t slot = acquire->permit->slot;
    assert(acquire->stage == CLAIM && acquire->base.result == MCDS_CORRUPT);
    if (!is_readable(acquire, slot) || (acquire->permit->lease.state & MCDS__LEASE_TOKEN) != 0)
        return MCDS__DONE;
    acquire->unreadable |= UINT64_C(1) << slot;
    return ask_look(acquire);
}

static enum mcds__step take_claim(struct semaphore_acquire *acquire, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    switch (acquire->base.result) {
    case MCDS_OK:
        return judge_claim(acquire, &acquire->lease.requests[3]);
    case MCDS_BUSY:
        if (acquire->losses++ < LOSSES_MAX)
            return ask_look(acquire);
        return semaphore_end_busy(acquire, 0, MCDS__WHY(HELD_BY_OTHERS));
    case MCDS_CORRUPT:
        return pass_over_slot(acquire);
    default:
        return semaphore_take_trouble(acquire);
    }
}

/* A permit in doubt may only become that of its slot. */
static enum mcds__step begin_claim(struct semaphore_acquire *acquire)
{
    if ((acquire->permit->lease.state & MCDS__LEASE_TOKEN) != 0)
        return ask_claim(acquire, acquire->permit->slot);
    uint32_t hot = atomic_exchange(&acquire->semaphore->slot_hot, MCDS__SLOT_NONE);
    if (hot < atomic_load(&acquire->semaphore->permits))
        return ask_claim(acquire, hot);
    return ask_look(acquire);
}

static enum mcds__step acquire_step_on(struct semaphore_acquire *acquire)
{
    struct mcds__operation *operation = &acquire->base;
    switch (acquire->stage) {
    case BEGIN:
        return begin_claim(acquire);
    case LOOK:
        return semaphore_take_look(
            acquire, mcds__semaphore_look_step(&acquire->look, acquire->semaphore, operation));
    case MAKE_AGAIN:
        return ask_make(acquire);
    case MAKE:
        return take_make(acquire);
    case CLAIM:
        return take_claim(acquire, mcds__lease_acquire_step(&acquire->lease, operation));
    default:
        return take_return(acquire, mcds__lease_release_step(&acquire->lease, operation));
    }
}

static enum mcds__step semaphore_step_acquire(struct mcds__operation *operation)
{
    return acquire_step_on((struct semaphore_acquire *)operation);
}

static const struct mcds__operation_kind acquire_kind = {
    "semaphore", "acquire", sizeof(struct semaphore_acquire), semaphore_step_acquire, NULL};

static int check_acquire(const mcds_semaphore *semaphore, const mcds_permit *permit,
                         uint32_t wait_ms)
{
    if (semaphore == NULL || permit == NULL)
        return mcds__fail_missing("semaphore", "acquire", "a semaphore and a permit");
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0, MCDS__LEASED_WAIT_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "slot", permit->slot, 0, MCDS__SLOTS - 1},
    };
    int result = mcds__leased_check(&semaphore->leased, &permit->lease, &acquire_kind,
                                    MCDS__NEED_EMPTY);
    return result != MCDS_OK ? result
                             : mcds__check_given("semaphore", semaphore->leased.handle.name,
                                                 "acquire", given, 2);
}

static int semaphore_launch_acquire(mcds_semaphore *semaphore, bool waits, uint32_t wait_ms,
                                    mcds_permit *permit, const struct mcds__start *start)
{
    int result = check_acquire(semaphore, permit, wait_ms);
    if (result != MCDS_OK)
        return result;
    struct semaphore_acquire own;
    struct semaphore_acquire *acquire = mcds__call_begin(
        &own.base, &acquire_kind, &semaphore->leased.handle, start, &result);
    if (acquire == NULL)
        return result;
    acquire->base.deadline_ns += (int64_t)wait_ms * NS_PER_MS;
    acquire->semaphore = semaphore;
    acquire->permit = permit;
    acquire->stage = BEGIN;
    acquire->losses = 0;
    acquire->unreadable = 0;
    acquire->is_claimed = false;
    acquire->look.slots = 0;
    acquire->wait_until_ns = waits ? acquire->base.deadline_ns -
                                         mcds__store_timeout_ns(semaphore->leased.handle.store)
                                   : 0;
    return mcds__call_launch(&acquire->base, start);
}

int mcds_semaphore_try_acquire_start(mcds_semaphore *semaphore, mcds_permit *permit,
                                     mcds_pipeline *pipeline, uint64_t tag)
{
    return semaphore_launch_acquire(semaphore, false, 0, permit, MCDS__START(pipeline, tag));
}

int mcds_semaphore_try_acquire(mcds_semaphore *semaphore, mcds_permit *permit)
{
    return mcds_semaphore_try_acquire_start(semaphore, permit, MCDS__WAIT, 0);
}

int mcds_semaphore_acquire_start(mcds_semaphore *semaphore, uint32_t wait_ms,
                                 mcds_permit *permit, mcds_pipeline *pipeline, uint64_t tag)
{
    return semaphore_launch_acquire(semaphore, true, wait_ms, permit,
                                    MCDS__START(pipeline, tag));
}

int mcds_semaphore_acquire(mcds_semaphore *semaphore, uint32_t wait_ms, mcds_permit *permit)
{
    return mcds_semaphore_acquire_start(semaphore, wait_ms, permit, MCDS__WAIT, 0);
}
