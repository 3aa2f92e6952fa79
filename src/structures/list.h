/* What the operations of a list share. */
#ifndef MCDS_STRUCTURES_LIST_H
#define MCDS_STRUCTURES_LIST_H

#include "core/generation.h"
#include "core/part.h"
#include "structures/structure.h"

/* The setting of a root once a value has been acknowledged: without parts, it has lost them. */
#define LIST_USED 1

struct mcds_list {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    struct mcds__generation generation;
    _Atomic uint64_t used;    /* a generation whose root says that it has been used */
    struct mcds__parts parts; /* a family per generation */
};

#endif
