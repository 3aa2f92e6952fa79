/* What the operations of a list share. */
#ifndef MCDS_STRUCTURES_LIST_H
#define MCDS_STRUCTURES_LIST_H

#include "core/generation.h"
#include "core/part.h"
#include "structures/structure.h"

struct mcds_list {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    struct mcds__generation generation;
    struct mcds__parts parts; /* a family per generation */
};

#endif
