/* Our half of the contests over structures of many elements: one verb, elements by number. */
#ifndef BENCH_COLLECTION_H
#define BENCH_COLLECTION_H

#include "mcds.h"
#include "verbs.h"

struct collection {
    enum verb verb;
    mcds_store *store;
    mcds_pipeline *pipeline;
    uint32_t depth;
    uint64_t size; /* elements so far; HAS: those that there are */
    uint64_t next;
    mcds_set *set;
    mcds_table *table;
    mcds_list *list;
    mcds_log *log;
};

/* Open the structure of the verb by this name. False: told on stderr. */
bool collection_open(struct collection *collection, enum verb verb, const char *uri,
                     const char *name, uint32_t depth);
/* The same on a store of the caller's, which the collection then closes. */
bool collection_open_on(struct collection *collection, enum verb verb, mcds_store *store,
                        const char *name, uint32_t depth);
void collection_close(struct collection *collection);

/* Put in elements until there are `size`. */
bool collection_fill(struct collection *collection, uint64_t size);
/* contestant.run: the verb, pipelined or waiting, on elements that are new, or, where it asks,
 * on some that are there. */
bool collection_run(void *collection, uint64_t operations);
bool collection_run_waiting(void *collection, uint64_t operations);

#endif
