/* Reference counts that keep a structure in memory: one reference of the program, from open to
 * close, and one for each operation that a pipeline has in flight. The release of the last one
 * frees the structure. A handle keeps its store in the same way, so a program may close them in
 * any order. */
#ifndef MCDS_ENGINE_HANDLE_H
#define MCDS_ENGINE_HANDLE_H

#include <stdatomic.h>

#include "store/store.h"

/* The first member of every structure. */
struct mcds__handle {
    mcds_store *store;
    char *name;
    uint64_t forks; /* as those of the store */
    _Atomic uint32_t references;
    /* Frees the memory of the structure besides its name; may be NULL. */
    void (*destroy)(struct mcds__handle *handle);
};

/* A structure of `size` bytes, which are zero after the handle, with one reference, the program's,
 * and one on the store, which outlives `destroy`. NULL: no memory, and the sentence is set. */
void *mcds__handle_open(const char *noun, mcds_store *store, const char *name, size_t size,
                        void (*destroy)(struct mcds__handle *handle));
void mcds__handle_hold(struct mcds__handle *handle);
/* A child calls on a handle of its parent, whose other threads may hold its mutexes. Returns NULL;
 * *result is MCDS_INVALID, and the sentence is set. */
void *mcds__handle_refuse(const struct mcds__handle *handle, const char *noun, const char *verb,
                          int *result);
/* NULL is allowed. */
void mcds__handle_release(struct mcds__handle *handle);

#endif
