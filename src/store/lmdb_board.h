/* The board: where a writer that finds another process at work posts what it wants written, for
 * whoever has the turn to carry it out along with its own, so that processes share a sync as
 * threads do. It lies in PATH-writer, behind the line (lmdb_line.c).
 *
 *     sender                          who has the turn
 *     posts, looks for the turn       takes what is posted, carries it out, writes the answers,
 *     again, sleeps                   draws the number of its turn into the same transaction,
 *     reads the answers               commits, says so, and wakes the sender
 *
 * When the one with the turn dies, the next one finds by that number whether the transaction has
 * been committed: then the answers hold, else what was taken is posted again. Nothing is lost,
 * carried out twice or left in doubt by that. A sender that dies has sent what it posted. */
#ifndef MCDS_STORE_LMDB_BOARD_H
#define MCDS_STORE_LMDB_BOARD_H

#include "store/lmdb_file.h"
#include "store/lmdb_letter.h"
#include "store/lmdb_ticket.h"

struct mcds__lmdb_board;

size_t mcds__lmdb_board_bytes(void);
/* Begin anew: nobody else has it. */
bool mcds__lmdb_board_begin(struct mcds__lmdb_board *board);

/* Put as much of the tickets' first batches into a letter as fits: whole batches, in order. Sets
 * `until` and `taken` of each ticket. Returns the last ticket that has something in it, or NULL: none. */
struct mcds__lmdb_ticket *mcds__lmdb_board_write(struct mcds__letter *letter,
                                                 struct mcds__lmdb_ticket *tickets);

enum mcds__lmdb_fate {
    MCDS__LMDB_SERVED, /* the parts [at, until) of the tickets are answered */
    MCDS__LMDB_TURN,   /* nothing was done, and this process has the turn */
    MCDS__LMDB_LEFT    /* nothing was done: no room on the board, or until_ns */
};
/* Post a letter with what the tickets want, and wait. Once another process has begun to carry it
 * out, that lasts until late_ns; then the answers are UNKNOWN. */
enum mcds__lmdb_fate mcds__lmdb_board_send(struct mcds__lmdb_file *file, const mcds_env *env,
                                           const struct mcds__letter *letter,
                                           struct mcds__lmdb_ticket *tickets, int64_t until_ns,
                                           int64_t late_ns);

/* Letters that nobody has taken yet. */
uint32_t mcds__lmdb_board_posted(const struct mcds__lmdb_file *file);

/* All below by the one who has the turn. */

/* The next letter that is posted. False: none that this process can carry out. */
bool mcds__lmdb_board_take(struct mcds__lmdb_file *file, struct mcds__letter *letter);
void mcds__lmdb_board_answer(struct mcds__lmdb_file *file, uint32_t number,
                             const mcds_reply *reply);
/* What was taken has been carried out in this transaction. 0 or a code. */
int mcds__lmdb_board_seal(struct mcds__lmdb_work *work, const mcds_env *env);

/* What has become of the transaction; NOTHING also where none has been. */
enum mcds__lmdb_end { MCDS__LMDB_NOTHING, MCDS__LMDB_DONE, MCDS__LMDB_DOUBT };
/* Also wakes who is answered, while the turn lasts: so they post again for the next one. */
void mcds__lmdb_board_end(struct mcds__lmdb_file *file, enum mcds__lmdb_end end);
/* The one who had the turn has died. `txn` is a write transaction: only its beginning makes LMDB
 * see a commit in the middle of which a process has died. NULL: none is to be had. */
void mcds__lmdb_board_recover(struct mcds__lmdb_file *file, struct MDB_txn *txn);

/* After the turn: wake somebody who waits for it. */
void mcds__lmdb_board_pass(const struct mcds__lmdb_file *file);

#endif
