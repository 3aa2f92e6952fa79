/* One writer in line, between lmdb_commit.c, which lines them up, and lmdb_transact.c, which
 * carries out what they want. */
#ifndef MCDS_STORE_LMDB_TICKET_H
#define MCDS_STORE_LMDB_TICKET_H

#include "store/lmdb_file.h"

enum mcds__lmdb_stage { WAITING, TAKEN, LEADING, DONE };

/* One call of mcds__lmdb_commit. */
struct mcds__lmdb_ticket {
    struct mcds__lmdb_ticket *next;
    const mcds_env *env;
    mcds_batch *at;    /* the first batch that is not answered */
    mcds_batch *until; /* the first that is not of this round's group, or NULL */
    int64_t deadline_ns;
    enum mcds__lmdb_stage stage;
    pthread_cond_t wake;
};

static inline mcds_batch *mcds__lmdb_skip_answered(mcds_batch *batch)
{
    while (batch != NULL && batch->answered == batch->count)
        batch = batch->next;
    return batch;
}

/* Carry out the parts [at, until) of the tickets, first in `txn`. They are answered on return
 * and the transaction is over. */
void mcds__lmdb_transact(struct mcds__lmdb_file *file, const mcds_env *env,
                         struct mcds__lmdb_ticket *tickets, struct MDB_txn *txn);

void mcds__lmdb_answer_late(const struct mcds__lmdb_file *file, mcds_batch *batch);

#endif
