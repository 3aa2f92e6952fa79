/* One transaction: what it executes, and how a failed one is reverted. transaction.c executes it,
 * space.c decides which transactions a group needs. */
#ifndef MCDS_STORE_LMDB_COMMIT_TRANSACTION_H
#define MCDS_STORE_LMDB_COMMIT_TRANSACTION_H

#include "store/lmdb/commit/writer.h"

/* A batch of a group, or the end of the group: no writer. */
struct mcds__lmdb_place {
    struct mcds__lmdb_writer *writer;
    mcds_batch *batch;
};

/* The scope of one transaction: a list of writers, or a run of their batches, or one batch, or one
 * request of it, or only the maintenance that each transaction does. */
struct mcds__lmdb_scope {
    struct mcds__lmdb_writer *writers;
    struct mcds__lmdb_place from; /* the first batch of the run */
    uint64_t run_length;          /* batches */
    const mcds_env *env;          /* of the batch */
    mcds_batch *batch;
    mcds_request *request;
    bool must_commit; /* even if nothing has changed */
    bool may_not_grow;
    bool takes_messages; /* also executes the messages of other processes */
    int64_t until_ns;    /* the deadline for the write lock */
};

/* Returns the place itself if its batch is unanswered, otherwise the next such place. */
struct mcds__lmdb_place mcds__lmdb_skip_to_unanswered(struct mcds__lmdb_place place);
/* Execute a scope in one transaction: in `txn` unless it is NULL. 0: all is answered. After a code
 * nothing was applied unless *uncertain, and the answers are to be reverted. */
int mcds__lmdb_attempt(struct mcds__lmdb_file *file, const mcds_env *env,
                       const struct mcds__lmdb_scope *scope, struct MDB_txn *txn,
                       bool *uncertain);
/* Revert the answers of an attempt, and what it appended. */
void mcds__lmdb_undo_batch(mcds_batch *batch);
/* Revert the answers of an attempt that began at `from`: requests before it were committed. */
void mcds__lmdb_undo_from(struct mcds__lmdb_place from);

#endif
