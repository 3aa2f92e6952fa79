/* A writer in the queue of this process: group_commit.c queues, space.c executes it. */
#ifndef MCDS_STORE_LMDB_COMMIT_WRITER_H
#define MCDS_STORE_LMDB_COMMIT_WRITER_H

#include "store/lmdb/file.h"

enum mcds__lmdb_stage { WAITING, TAKEN, LEADING, DONE };

/* An amount of work. */
struct mcds__lmdb_totals {
    uint64_t batches;
    uint64_t requests;
    uint64_t bytes; /* of values */
};

/* One call of mcds__lmdb_commit. All members except `env` start as zero. */
struct mcds__lmdb_writer {
    struct mcds__lmdb_writer *next;
    const mcds_env *env;
    mcds_batch *first; /* the first batch without an answer */
    mcds_batch *until; /* the first batch that is not in the current group, or NULL */
    struct mcds__lmdb_totals totals; /* from `first` on */
    struct mcds__lmdb_totals taken;  /* the part of it in the group, up to `until` */
    int64_t deadline_ns;             /* the latest of its batches */
    enum mcds__lmdb_stage stage;
    pthread_cond_t wake;
};

/* Whether the batch needs no write transaction. */
static inline bool mcds__lmdb_only_reads(const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->requests[i].command != MCDS_GET)
            return false;
    return true;
}

static inline void mcds__lmdb_totals_count(struct mcds__lmdb_totals *totals,
                                           const mcds_batch *batch)
{
    totals->batches++;
    totals->requests += batch->count;
    for (uint32_t i = 0; i < batch->count; i++)
        totals->bytes += batch->requests[i].value.length;
}

static inline void mcds__lmdb_totals_add(struct mcds__lmdb_totals *totals,
                                         const struct mcds__lmdb_totals *more)
{
    totals->batches += more->batches;
    totals->requests += more->requests;
    totals->bytes += more->bytes;
}

static inline void mcds__lmdb_totals_take(struct mcds__lmdb_totals *totals,
                                          const struct mcds__lmdb_totals *part)
{
    totals->batches -= part->batches;
    totals->requests -= part->requests;
    totals->bytes -= part->bytes;
}

/* Append a batch of the list to the writer. Answered batches between them are allowed. */
static inline void mcds__lmdb_writer_add(struct mcds__lmdb_writer *writer, mcds_batch *batch)
{
    if (writer->first == NULL || batch->deadline_ns > writer->deadline_ns)
        writer->deadline_ns = batch->deadline_ns;
    if (writer->first == NULL)
        writer->first = batch;
    mcds__lmdb_totals_count(&writer->totals, batch);
}

static inline mcds_batch *mcds__lmdb_skip_answered(mcds_batch *batch)
{
    while (batch != NULL && batch->answered == batch->count)
        batch = batch->next;
    return batch;
}

/* One batch of a list that is being sorted. */
struct mcds__lmdb_row {
    uint64_t rank;
    mcds_batch *batch;
};

/* The unanswered batches from `at` to `until`, at most `capacity` of them, roughly in the
 * order of their first keys. Batches of one key keep their order. Free the result with
 * mcds__free. NULL: no memory. */
struct mcds__lmdb_row *mcds__lmdb_key_order(const mcds_env *env, mcds_batch *at,
                                            const mcds_batch *until, size_t capacity,
                                            size_t *count_out);

/* Execute every batch of the writer in one commit, which it shares with other waiting writers.
 * All batches are answered on return. */
void mcds__lmdb_commit(struct mcds__lmdb_file *file, struct mcds__lmdb_writer *writer);

/* Execute the parts [first, until) of the writers, at first in `txn`. On return they are answered
 * and the transaction has ended. */
void mcds__lmdb_transact(struct mcds__lmdb_file *file, const mcds_env *env,
                         struct mcds__lmdb_writer *writers, struct MDB_txn *txn);

#endif
