/* Ids: the range of a handle, which all its threads use.
 *
 * A range only rises: the ids that a handle returns one after the other rise. If two threads get a
 * range at once, the lower one may arrive last. It is not kept: its ids are never used. */
#include <assert.h>

#include "base/environment.h"
#include "structures/ids/ids.h"

/* A handle that keeps its ids longer returns some that are lower than those of other handles. */
#define KEEP_NS NS_PER_S

bool mcds__ids_use(mcds_ids *ids, uint64_t n, uint64_t *first_out)
{
    assert(n > 0);
    int64_t now_ns = mcds__monotonic_ns(mcds__store_env(ids->handle.store));
    (void)pthread_mutex_lock(&ids->mutex);
    assert(ids->next <= ids->end);
    bool has_them = ids->end - ids->next >= n && now_ns < ids->until_ns;
    if (has_them) {
        *first_out = ids->next;
        ids->next += n;
    }
    (void)pthread_mutex_unlock(&ids->mutex);
    return has_them;
}

void mcds__ids_keep(mcds_ids *ids, uint64_t next, uint64_t end, int64_t asked_ns)
{
    assert(next <= end && end <= UINT64_C(1) << ids->bits);
    (void)pthread_mutex_lock(&ids->mutex);
    if (next >= ids->end) {
        ids->next = next;
        ids->end = end;
        ids->until_ns = asked_ns + KEEP_NS;
    }
    (void)pthread_mutex_unlock(&ids->mutex);
}
