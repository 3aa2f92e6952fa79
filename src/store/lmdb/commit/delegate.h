/* Delegates a commit: a process that finds the write lock taken posts its requests in the
 * publication list (publications.h), and the owner of the lock executes them. */
#ifndef MCDS_STORE_LMDB_COMMIT_DELEGATE_H
#define MCDS_STORE_LMDB_COMMIT_DELEGATE_H

#include "store/lmdb/commit/message.h"
#include "store/lmdb/commit/writer.h"
#include "store/lmdb/file.h"

/* Add as many of the writers' first batches to a message as fit: whole batches, in order. Sets
 * `until` and `taken` of each writer. Returns the last writer with a batch in the message, or
 * NULL. */
struct mcds__lmdb_writer *mcds__lmdb_delegate_fill(struct mcds__lmdb_message *message,
                                                   struct mcds__lmdb_writer *writers);

enum mcds__lmdb_outcome {
    MCDS__LMDB_SERVED, /* the parts [first, until) of the writers are answered */
    MCDS__LMDB_OWNER,  /* nothing was done, and this process owns the write lock */
    MCDS__LMDB_LEFT    /* nothing was done: no slot was free, or until_ns has passed */
};
/* Post a message with the writers' requests and wait until until_ns for another process to
 * take it. Once one has taken it, wait until late_ns; then the answers are UNKNOWN. */
enum mcds__lmdb_outcome mcds__lmdb_delegate(struct mcds__lmdb_file *file, const mcds_env *env,
                                            const struct mcds__lmdb_message *message,
                                            struct mcds__lmdb_writer *writers, int64_t until_ns,
                                            int64_t late_ns);

#endif
