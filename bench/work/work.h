/* The comparisons, one file for each kind of work. Each adds its rows to the bench. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "comparison.h"
#include "mcds.h"
#include "servers.h"

void work_memcached(struct bench *bench, const struct servers *servers);
void work_memcached_nearby(struct bench *bench, const struct servers *servers);
void work_lock(struct bench *bench, const struct servers *servers);
void work_one_processor(struct bench *bench);
void work_memory(struct bench *bench);
void work_table(struct bench *bench);
void work_bytes(struct bench *bench, const struct servers *servers);
void work_lmdb(struct bench *bench);
void work_lmdb_processes(struct bench *bench);
void work_structures(struct bench *bench, const struct servers *servers);
/* Only its pipelined changes and reads, over one connection. */
void work_structures_nearby(struct bench *bench, const struct servers *servers);
void work_weblog(struct bench *bench, const struct servers *servers);
void work_command(struct bench *bench, const struct servers *servers);

/* One point of a curve: adds with this depth; adds in memory by this many threads; a lock
 * contended by this many threads; adds by this many processes. */
void work_memcached_depth(struct bench *bench, const struct servers *servers, uint32_t depth);
void work_memory_threads(struct bench *bench, const struct servers *servers, uint32_t threads);
void work_lock_threads(struct bench *bench, const struct servers *servers, uint32_t threads);
void work_processes(struct bench *bench, const struct servers *servers, uint32_t processes);

/* Keep this process, and those that it starts, to one of its processors. */
bool keep_to_one_processor(void);

/* Remove the files of an LMDB store or of an SQLite database in bench->place. */
void forget_file(const struct bench *bench, const char *name);

/* An open store with one counter, the subject of most comparisons. */
struct tool {
    mcds_store *store;
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    uint32_t depth;
};

/* False: an error was printed on stderr. */
bool tool_open(struct tool *tool, const char *uri, const char *name, uint32_t depth);
void tool_close(struct tool *tool);
/* Start operations, at most `depth` of them in flight, until all have finished. False: one
 * could not be started, or failed. */
bool keep_in_flight(mcds_pipeline *pipeline, uint32_t depth, uint64_t operations,
                    bool (*start)(void *context, uint64_t tag), void *context);
/* contestant.run: waiting adds. */
bool tool_add(void *tool, uint64_t operations);

/* An open store with one lock. */
struct locker {
    mcds_store *store;
    mcds_lock *lock;
    mcds_lease lease;
};

/* False: an error was printed on stderr. */
bool locker_open(struct locker *locker, const char *uri, const char *name);
void locker_close(struct locker *locker);
/* contestant.run: acquire, however long others hold it, and release. */
bool locker_lock(void *locker, uint64_t operations);

#endif
