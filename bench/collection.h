/* The mcds side of the comparisons of structures with many elements: one verb, elements by
 * number. */
#ifndef BENCH_COLLECTION_H
#define BENCH_COLLECTION_H

#include "mcds.h"
#include "verbs.h"

struct collection {
    enum verb verb;
    mcds_store *store;
    mcds_pipeline *pipeline;
    uint32_t depth;
    uint64_t size; /* elements so far; for HAS the number of existing ones */
    uint64_t next;
    mcds_set *set;
    mcds_table *table;
    mcds_list *list;
    mcds_log *log;
};

/* Open the structure for the verb under this name. False: an error was printed on stderr. */
bool collection_open(struct collection *collection, enum verb verb, const char *uri,
                     const char *name, uint32_t depth);
/* The same on the caller's store, which the collection then closes. */
bool collection_open_on(struct collection *collection, enum verb verb, mcds_store *store,
                        const char *name, uint32_t depth);
void collection_close(struct collection *collection);

/* Add elements until there are `size`. */
bool collection_fill(struct collection *collection, uint64_t size);
/* contestant.run: the verb, pipelined or waiting, on new elements; on existing ones if it
 * reads. */
bool collection_run(void *collection, uint64_t operations);
bool collection_run_waiting(void *collection, uint64_t operations);

#endif
