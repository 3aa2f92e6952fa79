/* The finished operations of a pipeline, until the caller takes their completions. */
#include "engine/completions.h"

#include <assert.h>

#include "base/environment.h"

#define CAPACITY_MIN 64

struct mcds__completion {
    mcds_completion completion;
    struct mcds__handle *handle;
    const struct mcds__operation_kind *kind;
    struct mcds__blame *blame; /* of the operation; freed with the completion */
    /* Of a failure. */
    const mcds_reason *detail;
    const char *peer;
    struct mcds__difference difference;
};

/* The one at this position after the oldest. */
static struct mcds__completion *completion_at(const struct mcds__completions *completions,
                                              uint32_t later)
{
    assert(later < completions->capacity);
    assert((completions->capacity & (completions->capacity - 1)) == 0);
    return &completions->ring[(completions->first + later) & (completions->capacity - 1)];
}

bool mcds__completions_reserve(struct mcds__completions *completions, uint32_t more)
{
    uint32_t needed = completions->count + more;
    if (needed <= completions->capacity)
        return true;
    uint32_t capacity = completions->capacity > 0 ? completions->capacity : CAPACITY_MIN;
    while (capacity < needed) {
        if (capacity > UINT32_MAX / 4)
            return false;
        capacity *= 2;
    }
    assert(capacity >= needed && (capacity & (capacity - 1)) == 0);
    struct mcds__completion *ring = mcds__allocate(completions->pool->env,
                                                   capacity * sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint32_t i = 0; i < completions->count; i++)
        ring[i] = *completion_at(completions, i);
    mcds__free(completions->pool->env, completions->ring);
    completions->ring = ring;
    completions->capacity = capacity;
    completions->first = 0;
    return true;
}

/* An operation whose wait was ended has no deadline any more: it reports that, and no deadline. */
static const mcds_reason *reason_of(const struct mcds__operation *operation)
{
    if (!operation->ends_wait || operation->deadline_ns > 0)
        return mcds__operation_reason(operation);
    if (operation->result == MCDS_TIMEOUT)
        return MCDS__WHY(WAIT_ENDED);
    bool is_late = operation->detail != NULL && operation->detail->cause == MCDS_CAUSE_TIMEOUT;
    return operation->result == MCDS_AMBIGUOUS && is_late ? MCDS__WHY(ENDED_UNFINISHED)
                                                          : operation->detail;
}

static bool has_own_words(const struct mcds__operation *operation)
{
    return operation->blame != NULL && operation->detail == &operation->blame->reason;
}

struct mcds__handle **mcds__completions_put(struct mcds__completions *completions,
                                            const struct mcds__operation *operation)
{
    struct mcds__completion *newest = completion_at(completions, completions->count);
    newest->completion = (mcds_completion){operation->tag, operation->result};
    newest->kind = operation->kind;
    newest->blame = operation->blame;
    if (mcds__result_has_cause(operation->result)) {
        newest->detail = has_own_words(operation) ? operation->detail : reason_of(operation);
        newest->peer = mcds__operation_peer(operation);
        newest->difference = operation->difference;
    }
    completions->count++;
    return &newest->handle;
}

static void completion_release(const struct mcds__completions *completions,
                               const struct mcds__completion *completion)
{
    if (completion->blame != NULL)
        mcds__free(completions->pool->env, completion->blame);
    mcds__pool_release(completions->pool, completion->handle);
}

void mcds__completions_take(struct mcds__completions *completions, mcds_completion *done)
{
    assert(completions->count > 0);
    const struct mcds__completion *oldest = completion_at(completions, 0);
    completions->first = (completions->first + 1) & (completions->capacity - 1);
    completions->count--;
    *done = oldest->completion;
    if (mcds__result_has_cause(done->result))
        mcds__describe_failure(oldest->kind, oldest->handle->name, done->result,
                               (struct mcds__where){oldest->peer, oldest->blame},
                               oldest->detail, &oldest->difference);
    completion_release(completions, oldest);
}

void mcds__completions_free(struct mcds__completions *completions)
{
    for (uint32_t i = 0; i < completions->count; i++)
        completion_release(completions, completion_at(completions, i));
    mcds__free(completions->pool->env, completions->ring);
}
