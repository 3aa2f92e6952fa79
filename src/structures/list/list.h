/* List: the handle. */
#ifndef MCDS_STRUCTURES_LIST_LIST_H
#define MCDS_STRUCTURES_LIST_LIST_H

#include "core/descriptor/generation.h"
#include "core/segment/segment.h"
#include "structures/structure.h"

/* Setting of a root after a value has been acknowledged: a list without segments has lost them. */
#define LIST_USED 1

/* Longer than any operation lasts, and longer than a handle uses what it has cached. */
#define LIST_END_TTL_MS (UINT64_C(86400) * 1000)

struct mcds_list {
    struct mcds__handle handle;
    struct mcds__generation generation;
    _Atomic uint64_t used;          /* a generation whose root says that it has been used */
    _Atomic uint64_t pushed;        /* a generation to which this handle has pushed */
    struct mcds__segments segments; /* one stream per generation */
};

/* Forget a generation that has ended: it has no values that could be lost. */
void mcds__list_forget_life(mcds_list *list, uint64_t generation);

/* Turn the failure of a call into AMBIGUOUS: a part of it may be done. */
void mcds__list_end_in_doubt(struct mcds__operation *operation);

/* Whether the store is a server that keeps every key until somebody erases it (memcached
 * -M). A root that is missing there was erased, also without an end segment, and no push
 * adds it again. */
bool mcds__list_keeps_all(const mcds_list *list);

#endif
