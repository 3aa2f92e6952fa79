/* One writer in line, between lmdb_commit.c, which lines them up, and lmdb_transact.c, which
 * carries out what they want. */
#ifndef MCDS_STORE_LMDB_TICKET_H
#define MCDS_STORE_LMDB_TICKET_H

#include "store/lmdb_file.h"

enum mcds__lmdb_stage { WAITING, TAKEN, LEADING, DONE };

/* How much there is to do. */
struct mcds__lmdb_load {
    uint64_t batches;
    uint64_t requests;
    uint64_t bytes; /* of values */
};

/* One call of mcds__lmdb_commit. Begins with all zero but `env`. */
struct mcds__lmdb_ticket {
    struct mcds__lmdb_ticket *next;
    const mcds_env *env;
    mcds_batch *at;               /* the first batch that is not answered */
    mcds_batch *until;            /* the first that is not of this round's group, or NULL */
    struct mcds__lmdb_load load;  /* from `at` on */
    struct mcds__lmdb_load taken; /* of that, up to `until` */
    int64_t deadline_ns;          /* the last of any batch */
    enum mcds__lmdb_stage stage;
    pthread_cond_t wake;
};

/* Whether the batch wants no write transaction. */
static inline bool mcds__lmdb_only_reads(const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->requests[i].command != MCDS_GET)
            return false;
    return true;
}

static inline struct mcds__lmdb_load mcds__lmdb_load_of(const mcds_batch *batch)
{
    struct mcds__lmdb_load load = {1, batch->count, 0};
    for (uint32_t i = 0; i < batch->count; i++)
        load.bytes += batch->requests[i].value.length;
    return load;
}

static inline void mcds__lmdb_load_add(struct mcds__lmdb_load *load,
                                       const struct mcds__lmdb_load *more)
{
    load->batches += more->batches;
    load->requests += more->requests;
    load->bytes += more->bytes;
}

static inline void mcds__lmdb_load_take(struct mcds__lmdb_load *load,
                                        const struct mcds__lmdb_load *part)
{
    load->batches -= part->batches;
    load->requests -= part->requests;
    load->bytes -= part->bytes;
}

/* Put the next batch of a list on the ticket. Those between that are answered do no harm. */
static inline void mcds__lmdb_ticket_add(struct mcds__lmdb_ticket *ticket, mcds_batch *batch)
{
    struct mcds__lmdb_load load = mcds__lmdb_load_of(batch);
    if (ticket->at == NULL || batch->deadline_ns > ticket->deadline_ns)
        ticket->deadline_ns = batch->deadline_ns;
    if (ticket->at == NULL)
        ticket->at = batch;
    mcds__lmdb_load_add(&ticket->load, &load);
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

/* The batches from `at` to `until` that are not answered, at most `room` of them, roughly in the
 * order of their first keys. Those of one key keep theirs. To be freed with mcds__free. NULL: no
 * memory. */
struct mcds__lmdb_row *mcds__lmdb_sort(const mcds_env *env, mcds_batch *at,
                                       const mcds_batch *until, size_t room, size_t *count_out);

/* Carry out every batch of the ticket; one commit, shared with whoever else waits. All are
 * answered on return. */
void mcds__lmdb_commit(struct mcds__lmdb_file *file, struct mcds__lmdb_ticket *ticket);

/* Carry out the parts [at, until) of the tickets, first in `txn`. They are answered on return
 * and the transaction is over. */
void mcds__lmdb_transact(struct mcds__lmdb_file *file, const mcds_env *env,
                         struct mcds__lmdb_ticket *tickets, struct MDB_txn *txn);

void mcds__lmdb_answer_late(const struct mcds__lmdb_file *file, mcds_batch *batch);

#endif
