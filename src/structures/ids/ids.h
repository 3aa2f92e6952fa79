/* Ids: the handle, its range, and the call that gets a range from the store. */
#ifndef MCDS_STRUCTURES_IDS_IDS_H
#define MCDS_STRUCTURES_IDS_IDS_H

#include <pthread.h>

#include "structures/ids/value.h"
#include "structures/structure.h"

struct mcds_ids {
    struct mcds__handle handle;
    struct mcds__key key;
    uint32_t bits;
    int64_t spread_ms;
    pthread_mutex_t mutex; /* protects what follows */
    uint64_t next, end;    /* the ids that this handle has and no caller has got */
    int64_t until_ns;      /* they are used before this, so that ids of all handles rise */
};

/* The first of n ids of the handle's range, which are then the caller's. False: it has fewer, or
 * they are too old. */
bool mcds__ids_use(mcds_ids *ids, uint64_t n, uint64_t *first_out);
/* Keep the ids from `next` up to `end`, which were asked for at this monotonic time, unless another
 * thread has kept higher ones. */
void mcds__ids_keep(mcds_ids *ids, uint64_t next, uint64_t end, int64_t asked_ns);

/* A take whose arguments were checked. */
int mcds__ids_take(mcds_ids *ids, const struct mcds__operation_kind *kind, uint64_t n,
                   uint64_t *first_out, const struct mcds__start *start);
extern const struct mcds__operation_kind mcds__ids_next_kind;
extern const struct mcds__operation_kind mcds__ids_take_kind;

#endif
