/* One open LMDB file, shared by all stores of this process that name it.
 *
 *     lmdb.c                   the backend: its URI, and the execution of a submitted list
 *     commit/group_commit.c    writers of this process queue up, and one commits for all
 *     commit/write_lock.c      writers of all processes take one lock, with a deadline
 *     commit/delegate.c        a process without the lock has its requests executed by the owner
 *     commit/publications.c    the owner's side of the list of such requests
 *     commit/message.c         such requests and their answers as bytes
 *     commit/space.c           a group of batches in one transaction, or in several if space is short
 *     commit/transaction.c     what one transaction does
 *     commit/key_order.c       a long list sorted by its keys
 *     commit/commands.c        memcached's commands in a transaction
 *     commit/reply.c           answers to requests that no transaction has executed
 *     commit/expire.c          maintenance in each transaction: expiry and the cas counter
 *     read_txn.c               read transactions, and changes of the map's size
 *     write_txn.c              write transactions, and growth of the map
 *     clock.c                  the clock by which records expire
 *     format.c                 the bytes
 *     file.c                   the registry of the files that this process has open
 *     open.c                   opens one file and checks its format
 *     guard.c                  opens the three files of a store without overwriting anything else
 *     hold.c                   a lock on PATH itself while it is open
 *     check/pages.c            LMDB's pages as bytes: the header, and a walk over the trees
 *     check/lookup.c           searches a key in checked pages
 *     check/check.c            detects overwritten pages, and files that were cut short
 *     limit.c                  the limit for file sizes of this process
 *     snapshot.c               reads a file without the right to write anything
 *     backup.c                 copies a file in use
 *     inspect.c                for people: keys and findings
 *     health.c                 for people: what endangers the files
 *     reason.c                 reasons for codes, sentences for files that cannot be opened
 *
 * Order of locks: the turn to open, the turn to close (file.c), then one of the registry's mutex,
 * `queue_mutex` and `map_mutex`. */
#ifndef MCDS_STORE_LMDB_FILE_H
#define MCDS_STORE_LMDB_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "store/lmdb/check/lookup.h"
#include "store/lmdb/commit/message.h"
#include "store/lmdb/format.h"
#include "store/lmdb/limit.h"

#define MCDS__LMDB_VALUE_MAX (UINT64_C(64) << 20)
#define MCDS__LMDB_MAP_UNIT (UINT64_C(1) << 16) /* a multiple of every page size */
/* Reader slots in the lock file, for all processes together. */
#define MCDS__LMDB_READERS 1024
/* Concurrent read transactions of this process. A reader waits only for the disk, so more
 * threads than this merely alternate. */
#define MCDS__LMDB_READERS_HERE 32

/* Only the files of this backend include lmdb.h. */
struct MDB_env;
struct MDB_txn;
struct MDB_cursor;
struct mcds__lmdb_write_lock;
struct mcds__lmdb_publications;
struct mcds__lmdb_walk;
struct mcds__lmdb_writer;
struct mcds__report;

/* Messages from other processes that one transaction executes. */
#define MCDS__LMDB_PUBLICATIONS_MAX 64
struct mcds__lmdb_taken {
    uint32_t slot;
    uint64_t state;
};

/* The clock of a file: a monotonic clock plus an offset, which no step of the wall clock
 * changes (clock.c). */
struct mcds__lmdb_clock {
    int64_t (*monotonic_ns)(void *self); /* the monotonic clock; NULL: the wall clock is used */
    void *self;
    _Atomic int64_t offset_ns;
    const mcds_env *shared; /* whose clocks all processes have: the system's */
    /* The offset is final. Only the leader uses this once the file is open. */
    bool fixed;
    uint8_t boot[MCDS__LMDB_BOOT_BYTES];
};

/* One read transaction, on a cache line of its own. The thread that sets `busy` owns it. */
struct mcds__lmdb_reader {
    _Atomic bool busy;
    struct MDB_txn *txn; /* NULL, or reset while no thread owns it */
    struct mcds__lmdb_view view;
    char apart[8];
};

struct mcds__lmdb_file {
    struct mcds__lmdb_file *next; /* in the registry */
    dev_t device;
    ino_t inode;
    uint32_t references;
    /* mcds__forks() when it was opened. A child process must not use LMDB through this file,
     * not even to close it. */
    uint64_t forks;
    char *path; /* absolute, without symbolic links */

    struct MDB_env *env;
    /* LMDB's handles of the unnamed database and of the two that format.h describes. */
    unsigned root;
    unsigned items;
    unsigned expiry;
    uint64_t identity;
    bool read_only;
    int snapshot;                /* an in-memory copy that is read instead, or -1 */
    int held;                    /* a descriptor of PATH for locking and reading, or -1 */
    bool made;                   /* this process has created PATH */
    dev_t lock_device;           /* of PATH-lock */
    ino_t lock_inode;            /* 0: this user may not open it */
    const mcds_reason *no_write; /* why this process may not write, or NULL */
    size_t page_size;
    uint64_t size;     /* when it was opened */
    int stale_readers; /* reader slots of dead processes that opening has cleared */

    struct mcds__lmdb_reader readers[MCDS__LMDB_READERS_HERE];
    _Atomic bool changing; /* a thread changes the map, or waits for all transactions to end */
    _Atomic bool broken;   /* the map could not be restored after a failed change */
    _Atomic uint32_t waiting_readers; /* for a free reader, or for the end of the change */

    pthread_mutex_t map_mutex; /* guards down to the blank line */
    pthread_cond_t map_calm;   /* a transaction has ended, or the map has changed */
    bool writing;
    uint64_t map_size;
    uint64_t map_max;

    pthread_mutex_t queue_mutex; /* guards down to the blank line */
    struct mcds__lmdb_writer *first;
    struct mcds__lmdb_writer **end;
    bool leading;          /* a writer commits, or is about to */
    uint32_t full_handles; /* stores that want sync=full: if one does, every commit is synced */
    uint32_t waiting;      /* writers in the queue, including the leader */
    uint64_t batches;      /* written so far, in `commits` commits */
    uint64_t commits;

    struct mcds__lmdb_clock clock;

    _Atomic bool removed; /* PATH no longer named this file at the last check, at named_ns */
    _Atomic int64_t named_ns;

    struct mcds__lmdb_write_lock *write_lock;     /* NULL: this file is read-only */
    struct mcds__lmdb_publications *publications; /* NULL if write_lock is */
    int write_lock_descriptor;

    /* Used by the leader only. */
    bool holds_write_lock;
    /* The transaction removes or replaces an item, or gives it a ttl. */
    bool loses;
    struct mcds__lmdb_limit limit; /* held during a write transaction */
    uint32_t next_slot; /* the first one of the publication list that was not checked yet */
    uint32_t taken_count;
    struct mcds__lmdb_taken taken[MCDS__LMDB_PUBLICATIONS_MAX];
    /* Messages, which are too large for a stack: to the owner of the write lock, and from others. */
    struct mcds__lmdb_message posted;
    struct mcds__lmdb_message fetched;
    bool synced;     /* whether LMDB syncs each commit now */
    bool cas_joined; /* this process has skipped all cas numbers that were reserved */
    /* The value of `commits` when an empty commit last made freed pages reusable. */
    uint64_t recycled;
    int64_t checkpoint_ns; /* time of the last sync=async checkpoint */
};

/* The options of a store's URI. */
struct mcds__lmdb_terms {
    uint64_t map_max;
    uint32_t mode; /* of a new file; 0 = create none */
    bool full;     /* sync=full */
};

/* Open the file, or take another reference. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_file_open(const mcds_env *env, const char *path,
                         const struct mcds__lmdb_terms *terms,
                         struct mcds__lmdb_file **file_out);
void mcds__lmdb_file_close(struct mcds__lmdb_file *file, bool full);
/* The size of a map that holds `size` bytes. */
static inline uint64_t mcds__lmdb_rounded(uint64_t size)
{
    return (size + MCDS__LMDB_MAP_UNIT - 1) / MCDS__LMDB_MAP_UNIT * MCDS__LMDB_MAP_UNIT;
}

/* Open file->path, or create it with `mode` unless that is 0. Returns MCDS_OK or a code with the sentence set;
 * the caller closes file->env in either case. */
int mcds__lmdb_open(struct mcds__lmdb_file *file, const mcds_env *env, uint32_t mode);
/* Refuse a file with a damaged header or unnamed database, and one that lacks pages to which its
 * newest transaction refers: LMDB would abort, or be killed as it reads through its map beyond the
 * end of the file. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_check_open(const struct mcds__lmdb_file *file);
/* Copy a file that this user may only read into memory. MCDS_OK, or a code and a sentence. */
int mcds__lmdb_snapshot(struct mcds__lmdb_file *file, const mcds_env *env);
/* The pid namespace of this process; 0 if the system does not report it. */
uint64_t mcds__lmdb_process_namespace(void);

/* Start the clock of a file that is being opened, in any transaction. 0 or a code. */
int mcds__lmdb_clock_begin(struct mcds__lmdb_file *file, const mcds_env *env,
                           struct MDB_txn *txn);
/* The current time by which records expire, in ms since 1970; never below 0. The second
 * function takes a reading of the monotonic clock from the caller. */
uint64_t mcds__lmdb_now_ms(const struct mcds__lmdb_file *file, const mcds_env *env);
uint64_t mcds__lmdb_ms_at(const struct mcds__lmdb_file *file, const mcds_env *env,
                          int64_t monotonic_ns);

/* The directory of `path`, up to its slash; out holds PATH_MAX bytes. */
void mcds__lmdb_directory(const char *path, char *out);
/* The reason for a code of LMDB or of the system, as a constant sentence. */
const mcds_reason *mcds__lmdb_reason(int code);
/* The outcome of a read that failed with such a code: if the file is damaged or was removed, a
 * repetition fails as well. */
mcds_outcome mcds__lmdb_unread(int code);
/* Set the sentence for a file that cannot be opened, by a code of LMDB or errno.h. */
int mcds__lmdb_fail_open(const char *path, int code);
/* Set the sentence for a file that does not exist, with create=0. */
int mcds__lmdb_fail_absent(const char *path);
/* Set the sentence for a file that was removed or replaced while programs have it open. */
int mcds__lmdb_fail_replaced(const char *path);

/* Answer without executing anything. `detail` is a constant sentence. */
void mcds__lmdb_answer(const struct mcds__lmdb_file *file, mcds_request *request,
                       mcds_outcome outcome, const mcds_reason *detail);
void mcds__lmdb_answer_batch(const struct mcds__lmdb_file *file, mcds_batch *batch,
                             mcds_outcome outcome, const mcds_reason *detail);

/* Below, an int is 0 or a code of LMDB or errno.h. */

/* Begin a read transaction for the calling thread; end it soon. Waits for a free reader and for
 * a change of the map until until_ns; then ETIMEDOUT. */
int mcds__lmdb_read_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                          struct mcds__lmdb_reader **reader_out);
/* mcds__lmdb_read_begin without waiting. False: it would have to wait. */
bool mcds__lmdb_read_try(struct mcds__lmdb_file *file, struct mcds__lmdb_reader **reader_out);
void mcds__lmdb_read_end(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader);
/* Walk over the pages of one transaction (check/pages.h). walk->is_unfinished: also where commits are made
 * so fast that no transaction could be walked. */
int mcds__lmdb_check(struct mcds__lmdb_file *file, const mcds_env *env,
                     struct mcds__lmdb_walk *walk);

/* Change the size of the map. If `size` is 0, take the size that other processes have given it.
 * Waits until this process has no transaction, or until until_ns; then ETIMEDOUT. */
int mcds__lmdb_map_change(struct mcds__lmdb_file *file, const mcds_env *env, uint64_t size,
                          int64_t until_ns);

/* Join the write lock, before LMDB opens the file. Refuses, with the sentence set, a process of
 * another pid namespace, a file that other processes have open with another PATH-lock or
 * PATH-writer, and an empty file that had contents. If there is no write lock, the file becomes
 * read_only and `no_write` has the reason. */
int mcds__lmdb_write_lock_open(struct mcds__lmdb_file *file, const mcds_env *env,
                               const struct stat *data);
void mcds__lmdb_write_lock_close(struct mcds__lmdb_file *file);
/* Note in PATH-writer that PATH has contents, and that they are on the disk. If PATH is empty
 * later, mcds__lmdb_write_lock_open refuses it. */
void mcds__lmdb_note_contents(struct mcds__lmdb_file *file);

/* Lock file->held for this process. False: programs that are not mcds have locked it. */
bool mcds__lmdb_hold(struct mcds__lmdb_file *file);
/* Whether another process holds that lock. */
bool mcds__lmdb_is_held(const struct mcds__lmdb_file *file);
void mcds__lmdb_unhold(struct mcds__lmdb_file *file);

/* Take the write lock. Waits for other processes until until_ns; then ETIMEDOUT. EOWNERDEAD:
 * this process owns the lock, and settles next what the dead owner has left. ENOTRECOVERABLE: the
 * lock is damaged, and this process does not own it. */
int mcds__lmdb_write_lock_enter(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns);
/* Take the write lock without waiting. EBUSY: another process owns it, or the file has none. */
int mcds__lmdb_write_lock_try(struct mcds__lmdb_file *file);
void mcds__lmdb_write_lock_leave(struct mcds__lmdb_file *file);
/* Call with the write lock held, before and after a commit that removes or replaces items. */
void mcds__lmdb_begin_losses(struct mcds__lmdb_file *file);
void mcds__lmdb_end_losses(struct mcds__lmdb_file *file);
/* As mcds_backend.remains, for all keys. */
bool mcds__lmdb_remains(const struct mcds__lmdb_file *file, uint64_t *mark);
/* As mcds__lmdb_write_lock_enter, for a thread that does not lead the writers. ETIMEDOUT:
 * *holder_out is the process that owns the lock. 0 or EOWNERDEAD: end the visit soon. */
int mcds__lmdb_write_lock_visit(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns, int64_t *holder_out);
void mcds__lmdb_write_lock_end_visit(struct mcds__lmdb_file *file);

/* Allocate the ballast in PATH-writer, as far as the disk has space; or release it for a while,
 * so that a request that frees space can work on a full disk. */
void mcds__lmdb_ballast(const struct mcds__lmdb_file *file, bool hold);
/* Whether so many quarters of the ballast are there: the data file may keep what was lent. */
bool mcds__lmdb_has_ballast(const struct mcds__lmdb_file *file, int quarters);

/* `code` is the result of taking the write lock. EOWNERDEAD: settle what the dead owner has
 * left, and return 0. Any other code is returned unchanged. */
int mcds__lmdb_settle(struct mcds__lmdb_file *file, int code);
/* The process that owns the write lock still at until_ns, or 0. */
int64_t mcds__lmdb_stuck_writer(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns);

/* Whether writes would be lost: the file was removed, or PATH names another file. */
bool mcds__lmdb_is_removed(const struct mcds__lmdb_file *file);
/* mcds__lmdb_is_removed, by a check at most 100 ms before now_ns of the monotonic clock. */
bool mcds__lmdb_was_removed(struct mcds__lmdb_file *file, int64_t now_ns);
/* Begin a write transaction, for one thread of this process at a time. Waits for the write lock
 * until until_ns, and without a deadline for a program that writes the file through LMDB
 * alone. */
int mcds__lmdb_write_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           struct MDB_txn **txn_out);
/* Ends the transaction in either case. After a failure nothing was applied unless *uncertain.
 * With `sync` the commit is synced before its outcome is reported, even if LMDB does not. */
int mcds__lmdb_write_commit(struct mcds__lmdb_file *file, struct MDB_txn *txn, bool sync,
                            bool *uncertain);
void mcds__lmdb_write_abort(struct mcds__lmdb_file *file, struct MDB_txn *txn);

/* Enlarge the map, or clear the slots of dead readers. MDB_MAP_FULL: it is at its limit. Do not
 * call within a transaction. */
int mcds__lmdb_map_grow(struct mcds__lmdb_file *file, const mcds_env *env);
/* Let the map exceed its limit a little, so that a request that frees space can work; or
 * restore the limit. */
int mcds__lmdb_map_reserve(struct mcds__lmdb_file *file, const mcds_env *env, bool passing);
/* Whether the pages in use, with a value of this length, exceed the limit by less than half of the
 * reserve. */
bool mcds__lmdb_map_has_reserve(struct mcds__lmdb_file *file, size_t length);

/* A write transaction in use. */
struct mcds__lmdb_work {
    struct mcds__lmdb_file *file;
    struct MDB_txn *txn;
    struct MDB_cursor *cursor;   /* over the items */
    struct mcds__lmdb_view view; /* of the transaction before */
    mcds_buffer old_value;       /* of an append or a prepend */
    struct mcds__lmdb_cas cas;
    const mcds_env *clocks; /* whose clocks were read, or NULL: not read yet */
    int64_t now_ns;         /* the monotonic clock */
    uint64_t now_ms;        /* the file's clock */
    uint32_t looked;        /* requests before the last reading */
    uint32_t requests;      /* executed so far */
    bool changed;           /* there is something to commit */
    bool is_short;          /* the group was split for want of space */
    bool may_not_grow; /* if a compare-and-set lengthens a value, it returns MDB_MAP_FULL */
};

/* Execute a request at the time work->now_ms and fill in its reply. After any code the
 * transaction must be aborted, and its replies discarded. */
int mcds__lmdb_execute(struct mcds__lmdb_work *work, mcds_request *request,
                       mcds_buffer *values);
/* Execute a GET in a read transaction that began before now_ms, as mcds__lmdb_execute does. */
int mcds__lmdb_get(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                   uint64_t now_ms, mcds_request *request, mcds_buffer *values);
/* Answer a GET with MCDS_WANT_TTL without reading the clock. The value is in the map, valid until
 * the transaction ends. False: nothing was done, because the item may expire or LMDB failed. */
bool mcds__lmdb_peek(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                     mcds_bytes key, mcds_reply *reply_out, mcds_bytes *value_out);
/* Remove at most `count_max` items that have expired by work->now_ms. */
int mcds__lmdb_expire(struct mcds__lmdb_work *work, uint32_t count_max);
/* In a write transaction, before its requests: agree on the clock with others. 0 or a code. */
int mcds__lmdb_clock_agree(struct mcds__lmdb_work *work);
/* Read the cas counter at the start of a write transaction, and write it at the end. */
int mcds__lmdb_cas_load(struct mcds__lmdb_work *work);
/* `ahead`: the commit is not synced. *reserved: sync before any cas number is returned. */
int mcds__lmdb_cas_store(struct mcds__lmdb_work *work, bool ahead, bool *reserved);

/* Make the directory entry of a new file as durable as its contents. */
void mcds__lmdb_sync_directory(const char *path);
/* Copy the file to a new one. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_backup(struct mcds__lmdb_file *file, const mcds_env *env, const char *path);

int mcds__lmdb_keys(struct mcds__lmdb_file *file, const mcds_env *env, mcds_bytes prefix,
                    bool (*visit)(void *context, mcds_bytes key), void *context);
/* Report the state of the file. `terms` has the options of the store's URI. */
int mcds__lmdb_findings(struct mcds__lmdb_file *file, const mcds_env *env,
                        const struct mcds__lmdb_terms *terms,
                        bool (*finding)(void *context, const mcds_finding *finding),
                        void *context);
/* Report the location of the files and the users that may read and write them. `mode` is that of the
 * store's URI. */
void mcds__lmdb_tell_files(struct mcds__lmdb_file *file, uint32_t mode,
                           struct mcds__report *report);
/* Report readers that keep old pages from being reused. */
void mcds__lmdb_tell_readers(struct mcds__lmdb_file *file, uint64_t last_transaction,
                             struct mcds__report *report);

#endif
