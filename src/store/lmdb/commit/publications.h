/* The publication list: a process that finds the write lock taken posts its requests here, and
 * the owner of the lock executes them in its own transaction. So processes share a sync as
 * threads do.
 *
 * The list lies in PATH-writer, after the page of the write lock (write_lock.c).
 *
 *     sender (delegate.c)                 owner of the write lock (publications.c)
 *     post: FREE -> POSTED
 *     try the write lock again; sleep     take a copy: POSTED -> FETCHED
 *                                         execute, write the answers
 *                                         put a random commit id into the same
 *                                         transaction: FETCHED -> SEALED
 *                                         commit
 *                                         SEALED -> ANSWERED, ring the doorbell
 *     read the answers; -> FREE
 *
 * If the owner dies, the next owner compares the commit id in the file with that of each
 * SEALED message. Equal: the transaction was committed and the answers hold. Otherwise the
 * message is POSTED again. Nothing is lost, executed twice or left in doubt. If a sender dies,
 * its message is still executed. */
#ifndef MCDS_STORE_LMDB_COMMIT_PUBLICATIONS_H
#define MCDS_STORE_LMDB_COMMIT_PUBLICATIONS_H

#include "store/lmdb/commit/message.h"
#include "store/lmdb/file.h"

struct mcds__lmdb_publications;

size_t mcds__lmdb_publications_bytes(void);
/* Initialize the list; no other process has it open. */
bool mcds__lmdb_publications_begin(struct mcds__lmdb_publications *publications);

/* The number of messages that no process has taken yet. */
uint32_t mcds__lmdb_publications_posted(const struct mcds__lmdb_file *file);

/* Only the owner of the write lock calls the functions below. */

/* Take the next posted message. False: there is none that this process can execute. */
bool mcds__lmdb_publications_take(struct mcds__lmdb_file *file,
                                  struct mcds__lmdb_message *message);
void mcds__lmdb_publications_answer(struct mcds__lmdb_file *file, uint32_t number,
                                    const mcds_reply *reply);
/* The taken messages have been executed in this transaction. 0 or a code. */
int mcds__lmdb_publications_seal(struct mcds__lmdb_work *work, const mcds_env *env);

/* The outcome of the transaction; NOTHING also if there was no transaction. */
enum mcds__lmdb_end { MCDS__LMDB_NOTHING, MCDS__LMDB_DONE, MCDS__LMDB_DOUBT };
/* Report the outcome to the senders and wake those that are answered. The lock is still held,
 * so they can post again before the next owner looks. */
void mcds__lmdb_publications_end(struct mcds__lmdb_file *file, enum mcds__lmdb_end end);
/* The previous owner died. `txn` is a write transaction, because LMDB sees the commit of a
 * dead process only when a write transaction begins. NULL: it could not begin. */
void mcds__lmdb_publications_recover(struct mcds__lmdb_file *file, struct MDB_txn *txn);

/* Call after the write lock is released: wakes a sender that waits for it. */
void mcds__lmdb_publications_pass(const struct mcds__lmdb_file *file);

#endif
