/* Checks the log of a lock. */
#include "stress/tenures.h"

#include <stdlib.h>
#include <string.h>

#include "stress/stage.h"

static int by_begin(const void *left, const void *right)
{
    const struct tenure *a = left;
    const struct tenure *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int by_asked(const void *left, const void *right)
{
    const struct tenure *a = left;
    const struct tenure *b = right;
    return a->asked_ns < b->asked_ns ? -1 : a->asked_ns > b->asked_ns;
}

static int by_fence(const void *left, const void *right)
{
    const struct tenure *a = left;
    const struct tenure *b = right;
    return a->fence < b->fence ? -1 : a->fence > b->fence;
}

bool tenures_are_apart(struct tenure *tenures, size_t count)
{
    qsort(tenures, count, sizeof *tenures, by_begin);
    size_t latest = 0; /* of those before, the one that ends last */
    for (size_t i = 1; i < count; i++) {
        if (tenures[i].begin_ns < tenures[latest].end_ns)
            return COMPLAIN("fence %llu began %lld ns before fence %llu ended",
                            (unsigned long long)tenures[i].fence,
                            (long long)(tenures[latest].end_ns - tenures[i].begin_ns),
                            (unsigned long long)tenures[latest].fence);
        if (tenures[i].end_ns > tenures[latest].end_ns)
            latest = i;
    }
    return true;
}

static bool fences_differ(struct tenure *tenures, size_t count)
{
    qsort(tenures, count, sizeof *tenures, by_fence);
    for (size_t i = 1; i < count; i++)
        if (tenures[i].fence == tenures[i - 1].fence)
            return COMPLAIN("fence %llu came twice", (unsigned long long)tenures[i].fence);
    return true;
}

/* Both orders side by side: for each asker, the largest fence acquired before it asked. */
bool fences_grow(struct tenure *tenures, size_t count)
{
    if (count == 0 || !fences_differ(tenures, count))
        return count == 0;
    struct tenure *askers = malloc(count * sizeof *askers);
    if (askers == NULL)
        return COMPLAIN("out of memory");
    memcpy(askers, tenures, count * sizeof *askers);
    qsort(askers, count, sizeof *askers, by_asked);
    qsort(tenures, count, sizeof *tenures, by_begin);
    uint64_t largest = 0;
    size_t acquired = 0;
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++) {
        for (; acquired < count && tenures[acquired].begin_ns < askers[i].asked_ns; acquired++)
            if (tenures[acquired].fence > largest)
                largest = tenures[acquired].fence;
        if (askers[i].fence <= largest)
            fine = COMPLAIN("fence %llu was drawn after %llu",
                            (unsigned long long)askers[i].fence, (unsigned long long)largest);
    }
    free(askers);
    return fine;
}
