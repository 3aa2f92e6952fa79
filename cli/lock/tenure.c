/* Tenure: the lease that is held while COMMAND runs: a lock, a permit, or the lead. */
#include "lock/tenure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nouns/lock.h"
#include "table/nouns.h"

/* Appends a time like "3.2 s" between two words, or nothing if the time is not known. */
static void add_time(char *out, size_t capacity, const char *before, int64_t left_ms,
                     const char *after)
{
    if (left_ms >= 0)
        (void)snprintf(out, capacity, "%s%" PRId64 ".%" PRId64 " s%s", before, left_ms / 1000,
                       left_ms % 1000 / 100, after);
}

static int acquire_lock_of(struct tenure *tenure, uint32_t wait_ms)
{
    mcds_lease *lease = &tenure->permit.lease;
    if (tenure->is_shared)
        return wait_ms == 0 ? mcds_lock_try_acquire_shared(tenure->handle, lease)
                            : mcds_lock_acquire_shared(tenure->handle, wait_ms, lease);
    return wait_ms == 0 ? mcds_lock_try_acquire(tenure->handle, lease)
                        : mcds_lock_acquire(tenure->handle, wait_ms, lease);
}

static int renew_lock(void *handle, mcds_permit *permit)
{
    return mcds_lock_renew(handle, &permit->lease);
}

static int release_lock(void *handle, mcds_permit *permit)
{
    return mcds_lock_release(handle, &permit->lease);
}

static int64_t lock_remaining_ms(const void *handle, const mcds_permit *permit)
{
    return mcds_lock_remaining_ms(handle, &permit->lease);
}

/* A lock of which no holder is seen any more: it was released, or its lease ended, or those that
 * shared it have ended while a caller waits to have it alone. */
static void describe_unseen(const struct tenure *tenure, int result,
                            char out[TENURE_TEXT_CAPACITY])
{
    const char *text = result != MCDS_NOT_FOUND ? "held by somebody"
                       : tenure->is_shared
                           ? "another held it, or waited to have it alone, until a moment ago"
                           : "another held it until a moment ago";
    (void)snprintf(out, TENURE_TEXT_CAPACITY, "%s", text);
}

/* Only a caller that wants to share the lock is told of one that waits to have it alone: any other
 * may have recorded this wait itself. The record outlasts the wait by a few seconds. */
static bool describe_lock(const struct tenure *tenure, bool is_waiting,
                          char out[TENURE_TEXT_CAPACITY])
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    char others[32] = "";
    int result = mcds_lock_get_holder(tenure->handle, &holder);
    if (result != MCDS_OK) {
        describe_unseen(tenure, result, out);
        return false;
    }
    bool is_intended = tenure->is_shared && holder.intended != 0;
    if (tenure->is_shared && !is_intended && holder.shared >= MCDS_LOCK_SHARED_MAX) {
        (void)snprintf(out, TENURE_TEXT_CAPACITY, "%d callers share it, which is the most%s",
                       MCDS_LOCK_SHARED_MAX,
                       is_waiting ? "" : "; wait longer with -w, or use several locks");
        return true;
    }
    if (holder.shared > 1)
        (void)snprintf(others, sizeof others, " and %" PRIu32 " more", holder.shared - 1);
    int length = snprintf(out, TENURE_TEXT_CAPACITY, "%s by %.200s%s",
                          holder.shared > 0 ? "shared" : "held",
                          holder.label[0] != '\0' ? holder.label : "somebody", others);
    char after[24];
    (void)snprintf(after, sizeof after, " more%s", tenure_unless(is_waiting));
    add_time(out + length, TENURE_TEXT_CAPACITY - (size_t)length, " for ", holder.remaining_ms,
             after);
    size_t used = strlen(out);
    (void)snprintf(out + used, TENURE_TEXT_CAPACITY - used, "%s",
                   is_intended ? "; another waits, or has just waited, to have it alone" : "");
    return true;
}

static void set_lock_environment(const char *name, const mcds_permit *permit, int64_t left_ms)
{
    lock_set_environment(name, permit->lease.fence, left_ms);
}

/* The members that the lead has in common with the lock. */
#define LOCK_CALLS                                                                             \
    .lease = "lease", .open = lock_open_known, .close = lock_close,                            \
    .acquire = acquire_lock_of, .renew = renew_lock, .release = release_lock,                  \
    .remaining_ms = lock_remaining_ms, .describe = describe_lock,                              \
    .set_environment = set_lock_environment

const struct tenure_kind tenure_of_lock = {
    LOCK_CALLS,
    .noun = "lock",
    .thing = "lock",
    .why_shared = "the lock would exclude nobody",
    .corrupt_advice = ", or --break it",
};

static int look_at_lock(void *handle)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    return mcds_lock_get_holder(handle, &holder);
}

/* The leader of a name is the holder of its lock. Those that wait for the lead do so for days, so they
 * only read. */
const struct tenure_kind tenure_of_leader = {
    LOCK_CALLS,
    .noun = "leader",
    .thing = "lead",
    .why_shared = "everybody would lead",
    .corrupt_advice = ", or break it with 'mcds lock NAME --break'",
    .ends_descendants = true,
    .look = look_at_lock,
};

static int acquire_permit(struct tenure *tenure, uint32_t wait_ms)
{
    return wait_ms == 0 ? mcds_semaphore_try_acquire(tenure->handle, &tenure->permit)
                        : mcds_semaphore_acquire(tenure->handle, wait_ms, &tenure->permit);
}

static int renew_permit(void *handle, mcds_permit *permit)
{
    return mcds_semaphore_renew(handle, permit);
}

static int release_permit(void *handle, mcds_permit *permit)
{
    return mcds_semaphore_release(handle, permit);
}

static int64_t permit_remaining_ms(const void *handle, const mcds_permit *permit)
{
    return mcds_semaphore_remaining_ms(handle, permit);
}

struct holding {
    uint32_t count;
    int64_t left_ms; /* of the lease that ends first; -1: unknown */
};

static bool count_holder(void *context, const mcds_semaphore_holder *holder)
{
    struct holding *holding = context;
    holding->count++;
    if (holder->remaining_ms >= 0 &&
        (holding->left_ms < 0 || holder->remaining_ms < holding->left_ms))
        holding->left_ms = holder->remaining_ms;
    return true;
}

static bool describe_permits(const struct tenure *tenure, bool is_waiting,
                             char out[TENURE_TEXT_CAPACITY])
{
    struct holding holding = {0, -1};
    bool is_known = mcds_semaphore_holders(tenure->handle, count_holder, &holding) == MCDS_OK &&
                    holding.count > 0;
    if (!is_known) {
        (void)snprintf(out, TENURE_TEXT_CAPACITY, "all permits are held");
        return false;
    }
    int length = snprintf(out, TENURE_TEXT_CAPACITY, "all permits are held, by %" PRIu32 "%s",
                          holding.count, holding.left_ms < 0 ? "" : "; the first lease ends");
    add_time(out + length, TENURE_TEXT_CAPACITY - (size_t)length, " in ", holding.left_ms,
             tenure_unless(is_waiting));
    return true;
}

static void set_permit_environment(const char *name, const mcds_permit *permit, int64_t left_ms)
{
    lock_set_environment(name, permit->lease.fence, left_ms);
    set_number("MCDS_SLOT", permit->slot);
}

const struct tenure_kind tenure_of_semaphore = {
    .noun = "semaphore",
    .thing = "permit",
    .lease = "lease",
    .why_shared = "the semaphore would exclude nobody",
    .corrupt_advice = "",
    .open = semaphore_open_known,
    .close = semaphore_close,
    .acquire = acquire_permit,
    .renew = renew_permit,
    .release = release_permit,
    .remaining_ms = permit_remaining_ms,
    .describe = describe_permits,
    .set_environment = set_permit_environment,
};
