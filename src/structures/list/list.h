/* List: the handle. */
#ifndef MCDS_STRUCTURES_LIST_LIST_H
#define MCDS_STRUCTURES_LIST_LIST_H

#include "core/descriptor/generation.h"
#include "core/segment/segment.h"
#include "structures/structure.h"

/* Setting of a root after a value has been acknowledged: a list without segments has lost them. */
#define LIST_USED 1

/* Longer than any operation lasts, and longer than a handle uses what it has cached. */
#define LIST_MARK_TTL_MS (UINT64_C(86400) * 1000)

struct mcds_list {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    struct mcds__generation generation;
    _Atomic int64_t seen_ns; /* when this handle last saw the root, on the monotonic clock */
    /* A life that this handle knew before another replaced it, and when its root was last seen:
     * the next scan finds out whether it was cleared or lost. 0: none. */
    _Atomic uint64_t former;
    _Atomic int64_t former_ns;
    _Atomic uint64_t used;          /* a generation whose root says that it has been used */
    _Atomic uint64_t pushed;        /* a generation to which this handle has pushed */
    struct mcds__segments segments; /* one stream per generation */
};

/* The root has been seen: this is the current life. */
void mcds__list_note_life(mcds_list *list, uint64_t life, int64_t now_ns);

#endif
