/* One open LMDB file, shared by all stores of this process that name it. The files lmdb*.c are
 * the parts of one home:
 *
 *     lmdb.c          the home: its URI, and what becomes of a submitted list
 *     lmdb_commit.c   writers queue up, and one of them commits for all
 *     lmdb_transact.c a group of batches in one transaction, or in several where space is short
 *     lmdb_sort.c     the order in which a long list is carried out
 *     lmdb_execute.c  memcached's commands inside a transaction
 *     lmdb_sweep.c    what a transaction does beside them: expiry and the cas counter
 *     lmdb_clock.c    the clock by which records expire
 *     lmdb_line.c     writers of all processes wait for their turn, with a deadline
 *     lmdb_board.c    and have what they want written by the one whose turn it is
 *     lmdb_letter.c   as bytes
 *     lmdb_read.c     read transactions, and changing the map while there are none
 *     lmdb_map.c      write transactions, and growing the map for them
 *     lmdb_limit.c    the limit for file sizes of this process
 *     lmdb_file.c     the registry of what this process has open
 *     lmdb_hold.c     PATH itself is locked while it is open
 *     lmdb_guard.c    the files beside each other, opened without overwriting anything else
 *     lmdb_length.c   files that were cut short
 *     lmdb_snapshot.c reading without the right to write anything
 *     lmdb_open.c     opening one file, and its format
 *     lmdb_backup.c   a copy of a file in use
 *     lmdb_health.c   for people: what endangers the files
 *     lmdb_inspect.c  for people: keys and findings
 *     lmdb_record.c   the bytes
 *
 * Order of locks: the registry's mutex, then `queue_mutex` or `map_mutex`, never both. */
#ifndef MCDS_STORE_LMDB_FILE_H
#define MCDS_STORE_LMDB_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "store/lmdb_limit.h"
#include "store/lmdb_record.h"

#define MCDS__LMDB_VALUE_MAX (UINT64_C(64) << 20)
/* Places for readers in the lock file, for all processes together. */
#define MCDS__LMDB_READERS 1024
/* Read transactions of this process at once. A reader never waits for anything but the disk, so
 * more threads than this only take turns. */
#define MCDS__LMDB_READERS_HERE 32

/* Only the lmdb*.c files see lmdb.h. */
struct MDB_env;
struct MDB_txn;
struct MDB_cursor;
struct mcds__lmdb_line;
struct mcds__lmdb_board;
struct mcds__lmdb_ticket;

/* Letters from other processes that one transaction carries out. */
#define MCDS__LMDB_BOARD_PLACES 64
struct mcds__lmdb_taken {
    uint32_t place;
    uint64_t state;
};

/* The clock of a file: a monotonic one, and an offset to it that no step of the wall clock
 * changes (lmdb_clock.c). */
struct mcds__lmdb_clock {
    int64_t (*monotonic_ns)(void *self); /* whose clock it is; NULL: the wall clock is used */
    void *self;
    _Atomic int64_t offset_ns;
    bool fixed; /* the offset will not change; of the leader alone once the file is open */
    uint8_t boot[MCDS__LMDB_BOOT_BYTES];
};

/* A place for one read transaction, on a cache line of its own. Whoever makes it busy has it.
 */
struct mcds__lmdb_reader {
    _Atomic bool busy;
    struct MDB_txn *txn; /* NULL, or reset while nobody has the place */
    char apart[48];
};

struct mcds__lmdb_file {
    struct mcds__lmdb_file *next; /* in the registry */
    dev_t device;
    ino_t inode;
    uint32_t references;
    uint64_t forks; /* mcds__forks() when it was opened: in a child LMDB must not be used
                       through this file, not even to close it */
    char *path;     /* absolute, without symbolic links */

    struct MDB_env *env;
    unsigned root;  /* LMDB's handles: the unnamed database, */
    unsigned items; /* and the two that lmdb_record.h tells of */
    unsigned expiry;
    uint64_t identity;
    bool read_only;
    int snapshot;                /* a copy in memory that is read instead, or -1 */
    int held;                    /* PATH, opened to be locked and read; or -1 */
    dev_t lock_device;           /* of PATH-lock */
    ino_t lock_inode;            /* 0: this user must not open it */
    const mcds_reason *no_write; /* why this process must not write, or NULL */
    size_t page_size;
    uint64_t size;     /* when it was opened */
    int stale_readers; /* places of dead processes that opening has cleared */

    struct mcds__lmdb_reader readers[MCDS__LMDB_READERS_HERE];
    _Atomic bool changing;            /* somebody waits for calm or changes the map */
    _Atomic bool broken;              /* the map could not be put back */
    _Atomic uint32_t waiting_readers; /* for a place, or for the end of the change */

    pthread_mutex_t map_mutex; /* guards down to the blank line */
    pthread_cond_t map_calm;   /* a transaction has ended, or the map has changed */
    bool writing;
    uint64_t map_size;
    uint64_t map_max;

    pthread_mutex_t queue_mutex; /* guards down to the blank line */
    struct mcds__lmdb_ticket *first;
    struct mcds__lmdb_ticket **end;
    bool leading;          /* somebody commits, or is about to */
    uint32_t full_handles; /* stores that want sync=full: if one does, every commit is synced */
    uint32_t waiting;      /* writers in line, the leader among them */
    uint64_t batches;      /* written, and in how many commits */
    uint64_t commits;

    struct mcds__lmdb_clock clock;

    struct mcds__lmdb_line *line;   /* NULL: none to be had */
    struct mcds__lmdb_board *board; /* NULL as well */
    int line_descriptor;

    /* Of the leader alone. */
    bool in_line;
    bool removed; /* it had no name when that was last looked at */
    int64_t named_ns;
    bool loses; /* its transaction removes an item, replaces one or gives it a ttl */
    struct mcds__lmdb_limit limit; /* held during a write transaction */
    uint32_t looked_at;            /* places of the board in this turn */
    uint32_t taken_count;
    struct mcds__lmdb_taken taken[MCDS__LMDB_BOARD_PLACES];
    bool synced;           /* what LMDB has been told last */
    bool cas_joined;       /* this process has begun behind all reserved cas numbers */
    uint64_t turned;       /* commits when the last one was made to free pages for good */
    int64_t checkpoint_ns; /* when the last sync=async checkpoint was */
};

/* What a store's URI asks for. */
struct mcds__lmdb_terms {
    uint64_t map_max;
    uint32_t mode; /* of files that are made */
    bool full;     /* sync=full */
};

/* Open, or take another reference. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_file_open(const mcds_env *env, const char *path,
                         const struct mcds__lmdb_terms *terms,
                         struct mcds__lmdb_file **file_out);
void mcds__lmdb_file_close(struct mcds__lmdb_file *file, bool full);
/* The size of a map that holds `size` bytes. */
uint64_t mcds__lmdb_rounded(uint64_t size);

/* Open file->path, or make it with `mode`. Returns MCDS_OK or a code with the sentence set;
 * file->env is for the caller to close either way. */
int mcds__lmdb_open(struct mcds__lmdb_file *file, const mcds_env *env, uint32_t mode);
/* What LMDB keeps of its newest transaction. */
struct mcds__lmdb_meta {
    uint64_t transaction;
    uint64_t last_page;
    uint64_t free_root; /* of the tree of free pages */
    uint64_t main_root;
    uint32_t page_size;
};

/* False: there is none, or these bytes are not LMDB's. */
bool mcds__lmdb_read_meta(int descriptor, struct mcds__lmdb_meta *out);
/* Refuse a file that lacks pages which its newest transaction refers to. Returns MCDS_OK or a code
 * with the sentence set. */
int mcds__lmdb_check_length(const struct mcds__lmdb_file *file);
/* Copy a file that this user may only read into memory. Returns MCDS_OK or a code with the sentence
 * set. */
int mcds__lmdb_snapshot(struct mcds__lmdb_file *file, const mcds_env *env);
/* The pid namespace of this process, 0 where the system does not say. */
uint64_t mcds__lmdb_process_namespace(void);
int mcds__lmdb_fail_replaced(const char *path);

/* Begin the clock of a file that is opened, in any transaction. 0 or a code. */
int mcds__lmdb_clock_begin(struct mcds__lmdb_file *file, const mcds_env *env,
                           struct MDB_txn *txn);
/* The current time by which records expire, in ms since 1970; never below 0. The second takes the
 * time of the monotonic clock from a caller that has read it. */
uint64_t mcds__lmdb_now_ms(const struct mcds__lmdb_file *file, const mcds_env *env);
uint64_t mcds__lmdb_ms_at(const struct mcds__lmdb_file *file, const mcds_env *env,
                          int64_t monotonic_ns);

/* Why LMDB or the system refused, as a constant sentence. */
const mcds_reason *mcds__lmdb_reason(int code);

/* Answer without having carried out anything. `detail` is a constant sentence. */
void mcds__lmdb_answer(const struct mcds__lmdb_file *file, mcds_request *request,
                       mcds_outcome outcome, const mcds_reason *detail);
void mcds__lmdb_answer_batch(const struct mcds__lmdb_file *file, mcds_batch *batch,
                             mcds_outcome outcome, const mcds_reason *detail);

/* Below, an int is 0 or a code of LMDB or errno.h. */

/* A read transaction for the calling thread, to be given back soon. Waits for a place and for a
 * change of the map at most until until_ns; then ETIMEDOUT. */
int mcds__lmdb_read_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                          struct mcds__lmdb_reader **reader_out);
/* The same where one can be had without waiting for anything; else false. */
bool mcds__lmdb_read_try(struct mcds__lmdb_file *file, struct mcds__lmdb_reader **reader_out);
void mcds__lmdb_read_end(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader);

/* Change the size of the map, to what other processes have made of it when size is 0. Waits
 * until this process has no transaction, at most until until_ns; then ETIMEDOUT. */
int mcds__lmdb_map_change(struct mcds__lmdb_file *file, const mcds_env *env, uint64_t size,
                          int64_t until_ns);

/* Join the line, before LMDB opens the file. Refused, with the sentence set, are a process of
 * another pid namespace, and files that other programs have open together with others than these. Where there is no line, the file becomes read_only and `no_write` says why. */
int mcds__lmdb_line_open(struct mcds__lmdb_file *file, const mcds_env *env,
                         const struct stat *data);
void mcds__lmdb_line_close(struct mcds__lmdb_file *file);

/* Lock file->held for this process. False: programs that are not mcds have locked it. */
bool mcds__lmdb_hold(struct mcds__lmdb_file *file);
/* Whether another process has locked it so. */
bool mcds__lmdb_is_held(const struct mcds__lmdb_file *file);
void mcds__lmdb_unhold(struct mcds__lmdb_file *file);

/* The turn to write. Waits for other processes until until_ns, then ETIMEDOUT. */
int mcds__lmdb_line_enter(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns);
/* The same without waiting. False: another process has it, or there is no line. */
bool mcds__lmdb_line_try(struct mcds__lmdb_file *file);
void mcds__lmdb_line_leave(struct mcds__lmdb_file *file);
/* In one's turn, before and after a transaction that loses something becomes visible. */
void mcds__lmdb_begin_losses(struct mcds__lmdb_file *file);
void mcds__lmdb_end_losses(struct mcds__lmdb_file *file);
/* As mcds_home.remains, of all keys. */
bool mcds__lmdb_remains(const struct mcds__lmdb_file *file, uint64_t *mark);
/* The process whose turn does not end until until_ns, or 0. */
int64_t mcds__lmdb_line_stuck(struct mcds__lmdb_file *file, const mcds_env *env,
                              int64_t until_ns);

/* Take some room on the disk, as far as there is some, or give it back for a while, so that what
 * frees space finds room to work in on a full disk. */
void mcds__lmdb_ballast(const struct mcds__lmdb_file *file, bool hold);

/* To be called in one's turn when the one before has died in it. */
void mcds__lmdb_take_over(struct mcds__lmdb_file *file);

/* A write transaction, for one thread of this process at a time. Waits as the line does, and
 * without end for a program that writes the file through LMDB alone. */
int mcds__lmdb_write_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           struct MDB_txn **txn_out);
/* Ends it either way; after a failure nothing has been applied unless *uncertain. `sync`: what LMDB
 * itself does not sync is synced before anybody hears of it. */
int mcds__lmdb_write_commit(struct mcds__lmdb_file *file, struct MDB_txn *txn, bool sync,
                            bool *uncertain);
void mcds__lmdb_write_abort(struct mcds__lmdb_file *file, struct MDB_txn *txn);

/* Make the map larger, or clear what dead readers hold. MDB_MAP_FULL: it is at its limit. Not
 * within a transaction. */
int mcds__lmdb_map_grow(struct mcds__lmdb_file *file, const mcds_env *env);
/* Let the map pass its limit a little, so that what frees space finds room to work in; and
 * back.
 */
int mcds__lmdb_map_reserve(struct mcds__lmdb_file *file, const mcds_env *env, bool passing);

/* A write transaction in use. */
struct mcds__lmdb_work {
    struct mcds__lmdb_file *file;
    struct MDB_txn *txn;
    struct MDB_cursor *cursor; /* over the items */
    mcds_buffer scratch;
    struct mcds__lmdb_cas cas;
    const mcds_env *clocks; /* whose, or NULL: not looked at yet */
    int64_t now_ns;         /* of the monotonic one, */
    uint64_t now_ms;        /* and of the wall */
    uint32_t looked;        /* requests before the last look */
    uint32_t requests;      /* carried out so far */
    bool changed;           /* there is something to commit */
    bool may_not_grow;      /* no value becomes longer by compare-and-set: MDB_MAP_FULL */
};

/* Carry out a request as of work->now_ms and fill in its reply. Any code spoils the transaction:
 * what it did must be given up, and the replies with it. */
int mcds__lmdb_execute(struct mcds__lmdb_work *work, mcds_request *request,
                       mcds_buffer *values);
/* The same for a GET alone, in a transaction of either kind. */
int mcds__lmdb_get(struct mcds__lmdb_file *file, struct MDB_txn *txn, const mcds_env *env,
                   mcds_request *request, mcds_buffer *values);
/* What a GET with MCDS_WANT_TTL would answer, without a look at the clock, and the value in the
 * map, good as long as the transaction. False: nothing was done, for it may expire, or LMDB has
 * refused. */
bool mcds__lmdb_look(struct mcds__lmdb_file *file, struct MDB_txn *txn, mcds_bytes key,
                     mcds_reply *reply_out, mcds_bytes *value_out);
/* Remove at most `count_max` items that have expired by work->now_ms. */
int mcds__lmdb_sweep(struct mcds__lmdb_work *work, uint32_t count_max);
/* In a write transaction, before its requests: agree on the clock with all others. 0 or a code. */
int mcds__lmdb_clock_agree(struct mcds__lmdb_work *work);
/* The cas counter, read at the beginning of a write transaction and written at its end. */
int mcds__lmdb_cas_load(struct mcds__lmdb_work *work);
/* ahead: the commit will not be synced by itself. *reserved: sync before any number is told. */
int mcds__lmdb_cas_store(struct mcds__lmdb_work *work, bool ahead, bool *reserved);

/* Make the name of a new file as durable as what is in it. */
void mcds__lmdb_sync_directory(const char *path);
/* Copy the file to a new one. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_backup(struct mcds__lmdb_file *file, const mcds_env *env, const char *path);

int mcds__lmdb_keys(struct mcds__lmdb_file *file, const mcds_env *env, mcds_bytes prefix,
                    bool (*visit)(void *context, mcds_bytes key), void *context);
int mcds__lmdb_findings(struct mcds__lmdb_file *file, const mcds_env *env, bool full,
                        bool (*finding)(void *context, const mcds_finding *finding),
                        void *context);

#endif
