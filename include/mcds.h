/* mcds: data structures that many processes and machines share, on memcached's own commands.
 *
 * Know these before the first call:
 *
 *  - A call answers with one int: 0 done, > 0 a normal answer that you handle (not found,
 *    busy), < 0 it did not work. MCDS_AMBIGUOUS stands for itself: the reply was lost, and what
 *    you asked for may have happened or may still happen. Each function says what it does about
 *    that.
 *  - Nothing is printed, nothing aborts on what a server sends, no thread or signal handler is
 *    made. mcds_errmsg() has the sentence for this thread's last failure.
 *  - A store and the structures opened on it may be used from any thread at any time. A
 *    pipeline belongs to one thread. After fork, the child opens its own store; what the parent
 *    has opened answers MCDS_INVALID there.
 *  - Stores, structures and pipelines may be closed in any order, from any thread, also with
 *    operations in flight. A structure stays in memory until the completions of its operations
 *    are taken, a store until everything opened on it is closed. Only a waiting call must have
 *    returned before its handle is closed.
 *  - Outputs are the last parameters of a call, before pipeline and tag. They stay untouched
 *    unless the comment says otherwise. NULL means "not wanted" wherever it is said to be
 *    allowed.
 *  - Names are C strings of 1 to 1024 bytes, any bytes; names of more than 100 bytes when encoded
 *    are kept as a hash.
 *  - "Cost" counts round trips to one server when nothing goes wrong. On memory: and lmdb: the
 *    same count is a number of table or transaction entries.
 *
 * Every waiting call X has a twin X_start that puts the same operation into a pipeline. It
 * takes the same arguments and then the pipeline and a tag; it fails only for a bad argument or
 * for lack of memory. Outputs must live until the pipeline has handed the tag back.
 */
#ifndef MCDS_H
#define MCDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MCDS_API __attribute__((visibility("default")))
#define MCDS_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define MCDS_CHECKED __attribute__((warn_unused_result))
#else
#define MCDS_API
#define MCDS_PRINTF(string, first)
#define MCDS_CHECKED
#endif

#define MCDS_VERSION_MAJOR 0
#define MCDS_VERSION_MINOR 1
#define MCDS_VERSION_PATCH 0

/* "0.1.0", of the library that is loaded. */
MCDS_API const char *mcds_version(void);

/* Results. */

#define MCDS_RESULT_MAP(X)                                                                     \
    X(MCDS_OK, 0, "done")                                                                      \
    X(MCDS_NOT_FOUND, 1, "no such key")                                                        \
    X(MCDS_EXISTS, 2, "already there")                                                         \
    X(MCDS_BUSY, 3, "held or changed by others; not applied")                                  \
    X(MCDS_IDLE, 4, "nothing in flight")                                                       \
    X(MCDS_TOO_OLD, 5, "earlier than the log takes")                                           \
    X(MCDS_TOO_FUTURE, 6, "later than the log takes")                                          \
    X(MCDS_AMBIGUOUS, -1, "the reply was lost; it may have been applied, or may still be")     \
    X(MCDS_LOST, -2, "something that must exist is gone or was born again")                    \
    X(MCDS_TIMEOUT, -3, "the deadline passed; not applied")                                    \
    X(MCDS_UNAVAILABLE, -4, "the store cannot be reached; not applied")                        \
    X(MCDS_EXPIRED, -5, "the lease is over")                                                   \
    X(MCDS_INVALID, -6, "an argument is out of its documented range")                          \
    X(MCDS_TOO_BIG, -7, "larger than the store takes")                                         \
    X(MCDS_NO_MEMORY, -8, "this process is out of memory")                                     \
    X(MCDS_FULL, -9, "the store is out of memory or of disk")                                  \
    X(MCDS_CORRUPT, -10, "the key holds something that mcds did not write")                    \
    X(MCDS_UNSUPPORTED, -11, "this store cannot do it")                                        \
    X(MCDS_PROTOCOL, -12, "the other side does not speak memcached's protocol")                \
    X(MCDS_OVERFLOW, -13, "the number leaves its range")                                       \
    X(MCDS_IO, -14, "the store refused; see the message")

typedef enum mcds_result {
#define MCDS_RESULT_ENUM(name, code, text) name = code,
    MCDS_RESULT_MAP(MCDS_RESULT_ENUM)
#undef MCDS_RESULT_ENUM
} mcds_result;

/* One line that explains a result code; never NULL. */
MCDS_API const char *mcds_strerror(int result);
/* "MCDS_BUSY" for MCDS_BUSY; "?" for a number that is no result. */
MCDS_API const char *mcds_result_name(int result);
/* The sentence on this thread's last failure: structure, verb, server, cause. "" if there was
 * none. Valid until this thread's next call. */
MCDS_API const char *mcds_errmsg(void);

/* Environment. */

/* Where the library gets time, randomness, sleep and memory. Replace it to test. All members
 * must be set. Called from any thread that uses the store. */
typedef struct mcds_env {
    size_t size; /* sizeof(mcds_env) */
    void *self;
    /* Nanoseconds that never run backwards and go on during suspend. */
    int64_t (*monotonic_ns)(void *self);
    /* Nanoseconds since 1970-01-01 UTC. */
    int64_t (*wall_ns)(void *self);
    void (*random)(void *self, void *out, size_t length);
    void (*sleep_until_ns)(void *self, int64_t monotonic_ns);
    /* As realloc(3); length 0 frees and returns NULL. */
    void *(*reallocate)(void *self, void *memory, size_t length);
} mcds_env;

/* The operating system's clocks, randomness and memory. */
MCDS_API const mcds_env *mcds_env_system(void);

/* Bytes. */

/* Bytes that somebody else owns. */
typedef struct mcds_bytes {
    const void *at;
    size_t length;
} mcds_bytes;

/* The bytes of a C string, without its end. */
static inline mcds_bytes mcds_text(const char *text)
{
    mcds_bytes bytes = {text, 0};
    while (text != NULL && text[bytes.length] != '\0')
        bytes.length++;
    return bytes;
}

/* Where a call leaves bytes that it has read: begin with MCDS_VALUE_INIT, give it to as many
 * calls as you like, one after the other, and free it in the end. It grows as needed. */
typedef struct mcds_value {
    uint8_t *at;
    size_t length;
    /* private */
    size_t room;
    const mcds_env *env;
} mcds_value;
#define MCDS_VALUE_INIT                                                                        \
    {                                                                                          \
        NULL, 0, 0, NULL                                                                       \
    }

/* Give the memory back; the value is empty and may be used again. NULL is allowed. */
MCDS_API void mcds_value_free(mcds_value *value);

/* Stores. */

typedef struct mcds_store mcds_store;

typedef struct mcds_options {
    size_t size;    /* sizeof(mcds_options) */
    const char *ns; /* prefix of all keys, 0..32 bytes of a-z A-Z 0-9 _ - .; NULL = "mcds" */
    uint32_t timeout_ms; /* of each whole operation; 0 = 1000; at most 3 600 000 */
    const mcds_env *env; /* NULL = mcds_env_system(); must outlive all that is opened with it */
} mcds_options;
#define MCDS_OPTIONS_INIT                                                                      \
    {                                                                                          \
        sizeof(mcds_options), NULL, 0, NULL                                                    \
    }

/* Open the store that a URI names:
 *
 *   memory:            in this process, private to this handle
 *   memory:NAME        in this process, shared by all handles that name it
 *   lmdb:PATH          one durable file (with PATH-lock and PATH-writer beside it), shared by the
 *                      processes of a machine
 *   memcached://HOST[:PORT][*WEIGHT][,HOST...]      a cluster; [::1]:11211 for IPv6
 *   memcached:///run/memcached.sock[*WEIGHT][,...]  unix sockets
 *
 * Options after `?`, joined by `&`: ns=, timeout= (ms) for all;
 *   memory: strict=1 (as bad as memcached may be), bytes=N (evict beyond N bytes)
 *   lmdb: sync=full|async, map_max= (bytes that the file may grow to), mode= (octal, of files that
 *   are made, whatever the umask is; 0600). Users who may write a store's files can take over each
 *   other's programs through them: give mode=0660 only to users who trust each other fully.
 *   memcached: protocol=auto|meta|classic, connect_timeout= (ms, default 250; where a name has an
 *   IPv6 and an IPv4 address, the first to be tried gets half of it), placement=ketama_weighted
 *   (as most clients) | ketama | modula (libmemcached's older rules), hash=one_at_a_time|md5 for
 *   these, connections=1..4 (of each pipeline and each waiting thread to each server; default 1.
 *   Keys are spread over them, so that more than one thread of the server works for a deep
 *   pipeline)
 * What stands in the URI wins over `options`. options == NULL: defaults.
 *
 * A host name means one server. It may have one IPv6 and one IPv4 address, which are taken for the
 * same server: IPv6 is tried first, unless it was silent last. A name with several addresses of one
 * family is refused by the calls that need it: two clients could use different servers for one key.
 *
 * No network traffic: a server that is down is reported by the calls that need it. lmdb: opens
 * its files here. It overwrites nothing that is not its own: a link, a file of another kind or a
 * file with other contents at PATH, PATH-lock or PATH-writer is refused, and so is a file that is
 * open in another pid namespace (another container). A user who may read PATH and may write neither
 * it nor PATH-lock reads a copy in memory, as it was when the store was opened.
 *
 * The one wait that no timeout of a store bounds: a call that has to connect to a memcached server
 * given by name looks the name up with getaddrinfo(3), which waits as long as the system's resolver
 * does (resolv.conf(5); 5 s for each name server that is silent). Where this matters, give
 * addresses; they are not looked up.
 *
 * Returns  MCDS_OK, MCDS_INVALID (the sentence names the part of the URI), MCDS_IO,
 *          MCDS_UNSUPPORTED (built without this home), MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_open(const char *uri, const mcds_options *options,
                                    mcds_store **store_out);

/* Give the store up. NULL is allowed. Structures and pipelines that are open on it go on working; the
 * store closes its connections and its file with the last of them. Erases nothing, except what a
 * memory: store held when its last handle goes. */
MCDS_API void mcds_close(mcds_store *store);

/* What exists: one call of `visit` for each structure, in no order; a structure of several keys
 * comes once. `noun` is "counter", "lock", ...; `name` as given at open, or "~..." where only a
 * hash is left. Best effort and slow on memcached: for people, not for programs.
 * visit returns false to end. */
typedef struct mcds_listed {
    const char *noun;
    const char *name;
} mcds_listed;
MCDS_API MCDS_CHECKED int
mcds_catalogue(mcds_store *store, bool (*visit)(void *context, const mcds_listed *listed),
               void *context);

/* What kind of place this store is and what is wrong with it. */
typedef enum mcds_severity { MCDS_FACT, MCDS_ADVICE, MCDS_PROBLEM } mcds_severity;
typedef struct mcds_finding {
    mcds_severity severity;
    const char *subject; /* the server, file or setting */
    const char *what;    /* one sentence */
    const char *fix;     /* what to do, or "" for a fact */
} mcds_finding;
MCDS_API MCDS_CHECKED int
mcds_inspect(mcds_store *store, bool (*visit)(void *context, const mcds_finding *finding),
             void *context);

/* Copies a whole lmdb: store, of all namespaces, as of one moment, while others use it. The copy is
 * an lmdb: file of its own with mode 0600, on the disk when the call returns; open it, or put it in
 * the place of PATH while no program has the store open, with PATH-lock and PATH-writer removed. cp
 * of a file in use makes a damaged copy. Blocking, as long as the disk takes; writers go on, except
 * where this process has to enlarge the store's map.
 *
 * path      of a new file; nothing is overwritten
 * Returns   MCDS_OK, MCDS_UNSUPPORTED (another kind of store), MCDS_FULL (no room for the copy),
 *           MCDS_TIMEOUT (a writer has been stopped), MCDS_IO, MCDS_INVALID; after a failure there
 *           is no copy */
MCDS_API MCDS_CHECKED int mcds_backup(mcds_store *store, const char *path);

/* Pipelines. */

/* Many operations of any structures of one store in flight at once. Their requests travel
 * together: one write per server carries all of them. They have no order among each other, as
 * those of different threads have none: who needs one takes the completion of the first before
 * starting the second. */
typedef struct mcds_pipeline mcds_pipeline;

typedef struct mcds_pipeline_options {
    size_t size;    /* sizeof(mcds_pipeline_options) */
    uint32_t depth; /* most operations in flight, 1..65536; 0 = 128 */
} mcds_pipeline_options;
#define MCDS_PIPELINE_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(mcds_pipeline_options), 0                                                       \
    }

typedef struct mcds_completion {
    uint64_t tag;
    int result;
} mcds_completion;

MCDS_API MCDS_CHECKED int mcds_pipeline_open(mcds_store *store,
                                             const mcds_pipeline_options *options,
                                             mcds_pipeline **pipeline_out);
/* Ends the pipeline; what is in flight may or may not be applied, and its completions are not handed
 * out. NULL is allowed. Not from a callback that an operation of this pipeline makes. */
MCDS_API void mcds_pipeline_close(mcds_pipeline *pipeline);

/* Wait for the next finished operation. X_start only collects; sending begins here, or in
 * X_start when `depth` operations are unfinished. For a failed operation, mcds_errmsg() tells
 * why.
 * Returns  MCDS_OK with *done filled; MCDS_IDLE: nothing in flight; MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_pipeline_next(mcds_pipeline *pipeline, mcds_completion *done);

/* As mcds_pipeline_next without waiting: MCDS_BUSY when nothing has finished yet. */
MCDS_API MCDS_CHECKED int mcds_pipeline_poll(mcds_pipeline *pipeline, mcds_completion *done);

/* Whether nothing is in flight and no completion is waiting to be taken. */
MCDS_API bool mcds_pipeline_is_idle(const mcds_pipeline *pipeline);

/* When an operation that waits by itself goes on, in nanoseconds of the monotonic clock;
 * INT64_MAX: none does. */
MCDS_API int64_t mcds_pipeline_wake_ns(const mcds_pipeline *pipeline);

/* What to wait for in a loop of one's own before mcds_pipeline_poll is called again; to be asked
 * for anew each time. Sends what has been started. The same thread as for the pipeline.
 * mcds_poll.h, mcds_uv.h and mcds_event.h do it for poll(), libuv and libevent. */
typedef struct mcds_wait {
    int fd;          /* readable when there is something to do; the same as long as the pipeline
                        lives; -1: there is none, as where everything is done within poll */
    int timeout_ms;  /* wait no longer than this; -1: for fd alone */
    int64_t wake_ns; /* the same as a time of the monotonic clock; INT64_MAX: fd alone */
} mcds_wait;
MCDS_API void mcds_pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait_out);

/* Counters. */

/* A number that anybody adds to. One key (or `stripes` keys), numbers in memcached's own text
 * form, the second of birth in the client flags.
 *
 * Promise: at most once. An add whose reply was lost is MCDS_AMBIGUOUS and is not repeated.
 *
 * With MCDS_COUNTER_EXACT: exactly once, whatever becomes of replies, connections and writers.
 * The handle adds up and brings its sum to the store in one round trip (a flush), however much
 * was added; it may always go down as well as up.
 *  - An add is durable, as far as the store is, when a flush begun after it has returned
 *    MCDS_OK. An add flushes by itself when `flush_ms` have passed since the last time;
 *    mcds_counter_flush does it at any time. No thread does it in the background.
 *  - What was not flushed dies with the process. What a failed flush has left in the handle the
 *    next one brings, once: never add it again.
 *  - When a server has lost the counter, each living handle brings back what it has added since
 *    it was opened (or last was idle for a minute); what others have left is lost, and `reborn`.
 *  - Each flushing handle is a writer with a key of its own, up to 63; more share keys and need
 *    more round trips.
 * With `copies` = R the counter stands on R servers. A flush is done when a majority has it, a
 * read when a majority has answered. Any minority of them may be killed and come back empty:
 * the value stands. A server that came back empty is filled by the next get, and until then
 * counts as one that is away. */
typedef struct mcds_counter mcds_counter;

typedef enum mcds_counter_flag {
    /* Adds may be negative and the value too. Plain counters only grow: a negative delta is
     * refused. Either form understands a counter that the other has made. */
    MCDS_COUNTER_SIGNED = 1,
    /* A counter that this handle has seen is never silently begun again: when its key is gone
     * or was born again, MCDS_LOST. Costs one more request in the same round trip. */
    MCDS_COUNTER_STRICT = 2,
    /* Neither loses nor doubles; see above. */
    MCDS_COUNTER_EXACT = 4
} mcds_counter_flag;

typedef struct mcds_counter_options {
    size_t size;    /* sizeof(mcds_counter_options) */
    uint32_t flags; /* mcds_counter_flag */
    /* 1..32 keys to spread the load over; 0 = 1. Kept with the counter: who opens it with another
     * number gets MCDS_INVALID, or MCDS_CORRUPT with 1, from its first call. */
    uint32_t stripes;
    uint64_t ttl_ms; /* counted from birth; 0 = for ever */
    /* EXACT alone, which in turn has no stripes and no ttl: */
    uint32_t copies;   /* 1..7 servers to keep it on; 0 = 1. More than 1 makes it EXACT. */
    uint32_t flush_ms; /* an add flushes after this time; 0 = every add does */
} mcds_counter_options;
#define MCDS_COUNTER_OPTIONS_INIT                                                              \
    {                                                                                          \
        sizeof(mcds_counter_options), 0, 0, 0, 0, 100                                          \
    }

#define MCDS_COUNTER_MAX (INT64_C(1) << 61) /* |value| and |delta| stay below */

typedef struct mcds_counter_value {
    int64_t value;
    uint32_t since_s; /* second of birth (Unix time) of the oldest stripe; EXACT: 0 */
    bool reborn;      /* this handle has seen an older life of it: counts were lost */
} mcds_counter_value;

MCDS_API MCDS_CHECKED int mcds_counter_open(mcds_store *store, const char *name,
                                            const mcds_counter_options *options,
                                            mcds_counter **counter_out);
/* EXACT: tries to flush what is left and to say good-bye, so that the key can be used again at
 * once; takes the store's timeout at most. Whether it worked is not told: flush first. With operations
 * in flight this is done where the completion of the last one is taken, or its pipeline closed. */
MCDS_API void mcds_counter_close(mcds_counter *counter);

/* Add `delta`; the counter is made when it does not exist.
 * value_out  the value just after; NULL allowed, and required when striped or EXACT.
 * Cost       1; one more for the first add ever, for the first subtraction of a handle that has
 *            not seen the counter, and for a handle's first add to stripes. EXACT: 0, or that of
 *            a flush.
 * Returns    MCDS_OK; MCDS_AMBIGUOUS; MCDS_OVERFLOW (it would leave the range; not counted);
 *            MCDS_CORRUPT (the key holds no number); MCDS_LOST (STRICT; or a subtraction,
 *            applied as far as zero, from a signed counter that was begun anew without
 *            SIGNED); MCDS_BUSY (the key kept vanishing); MCDS_TIMEOUT, MCDS_UNAVAILABLE,
 *            MCDS_FULL, MCDS_INVALID
 * EXACT      MCDS_OK: counted in the handle, and with flush_ms == 0 in the store;
 *            MCDS_AMBIGUOUS (flush_ms == 0): counted in the handle, the flush did not work;
 *            MCDS_OVERFLOW: not counted; MCDS_INVALID, MCDS_UNSUPPORTED, MCDS_CORRUPT: the flush
 *            says that this counter cannot be used so */
MCDS_API MCDS_CHECKED int mcds_counter_add(mcds_counter *counter, int64_t delta,
                                           int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_add_start(mcds_counter *counter, int64_t delta,
                                                 int64_t *value_out, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* EXACT: bring to the store all that was added by any thread before this call.
 * Cost     1; 2 for the first of a handle, 3 for the first ever; 0 when there is nothing to
 *          bring. More while others write to the same key.
 * Returns  MCDS_OK: it is there; MCDS_AMBIGUOUS: a part may be there, the handle keeps what is
 *          not; MCDS_TIMEOUT, MCDS_UNAVAILABLE (too few servers), MCDS_FULL, MCDS_BUSY (others
 *          kept changing the key): nothing of it is there, the handle keeps it;
 *          MCDS_INVALID (the counter was made without EXACT, or with other copies),
 *          MCDS_UNSUPPORTED, MCDS_CORRUPT. Counters that are not EXACT have nothing to flush:
 *          MCDS_OK */
MCDS_API MCDS_CHECKED int mcds_counter_flush(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_flush_start(mcds_counter *counter,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Read. Striped and EXACT: the sum lies between the true values at the beginning and the end of
 * the call. EXACT: with what this handle has not flushed; what others have not is not in it.
 * Cost     1.
 * Returns  MCDS_OK; MCDS_NOT_FOUND (never made, or lost before this handle saw it); MCDS_LOST
 *          (this handle saw it and it is gone; STRICT: or born again); MCDS_CORRUPT,
 *          MCDS_OVERFLOW, MCDS_TIMEOUT, MCDS_UNAVAILABLE */
MCDS_API MCDS_CHECKED int mcds_counter_get(mcds_counter *counter,
                                           mcds_counter_value *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_get_start(mcds_counter *counter,
                                                 mcds_counter_value *value_out,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Read and subtract what was read, so that later adds stay. Of several takers at once each
 * gets a different part. EXACT: MCDS_UNSUPPORTED, because two takers could get the same.
 * Cost     2.
 * Returns  as add, and MCDS_NOT_FOUND. After MCDS_AMBIGUOUS `taken_out` holds what may have
 *          been taken. */
MCDS_API MCDS_CHECKED int mcds_counter_take(mcds_counter *counter, int64_t *taken_out);
MCDS_API MCDS_CHECKED int mcds_counter_take_start(mcds_counter *counter, int64_t *taken_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erase the counter. Cost 1. EXACT: other handles that are open bring their part back. Returns MCDS_OK, MCDS_NOT_FOUND, MCDS_AMBIGUOUS, ... */
MCDS_API int mcds_counter_drop(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_drop_start(mcds_counter *counter,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Locks. */

/* A lease: one holder at a time in the store, until it releases or its time is over.
 *
 * No lock with a time limit keeps a stopped process from waking up late. Therefore every
 * acquisition has a fence, a number larger than that of every earlier one: pass it to whatever
 * the lock protects, and let that refuse a smaller one. Servers that evict or restart can
 * forget a lease; the next holder still gets a larger fence, and the old one learns MCDS_LOST.
 * Source: leases, Gray and Cheriton, SOSP 1989. */
typedef struct mcds_lock mcds_lock;

typedef struct mcds_lock_options {
    size_t size;       /* sizeof(mcds_lock_options) */
    uint32_t lease_ms; /* 3 000 (memcached) or 50 (others) to 86 400 000; 0 = 15 000 */
    const char *label; /* who we are, shown to others; 0..200 bytes; NULL = "" */
} mcds_lock_options;
#define MCDS_LOCK_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_lock_options), 0, NULL                                                     \
    }

/* One tenure. Yours to keep; begin with MCDS_LEASE_INIT. Not for two threads at once. */
typedef struct mcds_lease {
    uint64_t fence;
    int64_t deadline_ns; /* monotonic clock: stop before this */
    /* private */
    uint64_t token[2];
    uint64_t extension;
    uint64_t cas_unique;
    uint64_t cas_connection;
    int64_t asked_ns;
    uint32_t state;
} mcds_lease;
#define MCDS_LEASE_INIT                                                                        \
    {                                                                                          \
        0, 0, {0, 0}, 0, 0, 0, 0, 0                                                            \
    }

typedef struct mcds_lock_holder {
    uint64_t fence; /* newest fence drawn; the holder's own or one of a later attempt */
    /* At most this much longer, unless renewed; -1 = the store cannot tell. */
    int64_t remaining_ms;
    char label[201];
} mcds_lock_holder;

MCDS_API MCDS_CHECKED int mcds_lock_open(mcds_store *store, const char *name,
                                         const mcds_lock_options *options,
                                         mcds_lock **lock_out);
MCDS_API void mcds_lock_close(mcds_lock *lock);

/* Try once.
 * On loss of the reply, asks again with the same token until the timeout: never locks itself
 * out.
 * Cost      1; one more for the first acquisition of this name ever, and for one soon after a
 *            release where the store cannot compare and delete (classic servers).
 * Returns   MCDS_OK: you hold it until lease->deadline_ns; MCDS_BUSY: another does;
 *           MCDS_AMBIGUOUS: you may hold it, or may get it yet, because a reply was lost: call
 *           again with the same lease, or release it;
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_CORRUPT, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Try until it is ours or wait_ms (at most 86 400 000) have passed, also while the server is silent
 * or down. While another holds it, one small read now and then, with jitter. Returns as
 * mcds_lock_try_acquire. */
MCDS_API MCDS_CHECKED int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms,
                                            mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms,
                                                  mcds_lease *lease, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Begin the lease's time again.
 * Cost      1; 2 when the connection has changed since.
 * Returns   MCDS_OK: lease->deadline_ns is the new one; MCDS_LOST: it was over, and another may
 *           have held it since, and the lease is empty; MCDS_EXPIRED: our own deadline has passed,
 *           nothing was asked; MCDS_AMBIGUOUS: not known, the old deadline holds;
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE: not renewed, the old deadline holds */
MCDS_API MCDS_CHECKED int mcds_lock_renew(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Give it back. Never touches another's lease.
 * Cost      1; 2 when the connection has changed since.
 * Returns   MCDS_OK: it was ours to the end; MCDS_LOST: it had ended before, your work may have
 *           overlapped with another's, also when renew or release has said so before. In both the
 *           lease is empty.
 *           MCDS_AMBIGUOUS: a reply was lost. It may have been given back, may be yet, or had ended
 *           before. You hold it no longer. Call again, until the answer is another, or let it run
 *           out; MCDS_LOST then says that nothing is left to give back.
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE: still held; call again or let it run out. */
MCDS_API MCDS_CHECKED int mcds_lock_release(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_release_start(mcds_lock *lock, mcds_lease *lease,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Milliseconds until lease->deadline_ns, 0 when it has passed or nothing is held. No I/O. */
MCDS_API int64_t mcds_lock_remaining_ms(const mcds_lock *lock, const mcds_lease *lease);

/* Who holds it. Cost 1. Returns MCDS_OK; MCDS_NOT_FOUND: nobody */
MCDS_API MCDS_CHECKED int mcds_lock_holder_get(mcds_lock *lock, mcds_lock_holder *holder_out);
MCDS_API MCDS_CHECKED int mcds_lock_holder_get_start(mcds_lock *lock,
                                                     mcds_lock_holder *holder_out,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Erase the lock whoever holds it; the fence stays and keeps growing. Cost 1. */
MCDS_API int mcds_lock_drop(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_drop_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Whether visitors and online keep who was there. */
typedef enum mcds_members {
    /* A number is kept, and for a while a mark for each visitor. Whoever comes counts at most
     * once: a lost reply may cost one visitor. */
    MCDS_MEMBERS_NONE = 0,
    /* The visitors themselves are kept: each counts once whatever becomes of replies, and a call
     * may be repeated. Reading goes through all of them. */
    MCDS_MEMBERS_EXACT = 1,
    /* 4096 registers are kept: the counts are estimates with a standard error of 1.6 %, and an
     * interval takes some 30 KB however many come. A call may be repeated. */
    MCDS_MEMBERS_ESTIMATED = 2
} mcds_members;

/* Visitors. */

/* How many came in each period of fixed length. Every period has its own key, named by its
 * absolute number and never used again, so nothing hangs on when a key dies.
 *
 * Promise: at most once, as a counter. A hit within the clock difference between machines of a
 * period's edge may fall into the neighbour period.
 *
 * Period and members are kept with the visitors. Who opens them with others gets MCDS_INVALID from
 * its first call, and has changed nothing. */
typedef struct mcds_visitors mcds_visitors;

typedef struct mcds_visitors_options {
    size_t size; /* sizeof(mcds_visitors_options) */
    /* 1 000 to 31 622 400 000; 0 = one period for all time, without expiry */
    uint64_t period_ms;
    uint32_t settle_ms; /* clock difference between machines to allow for; 0 = 5 000 */
    uint32_t members;   /* mcds_members */
} mcds_visitors_options;
#define MCDS_VISITORS_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(mcds_visitors_options), 0, 0, 0                                                 \
    }

typedef struct mcds_visitors_value {
    uint64_t closed;  /* in the last whole period */
    uint64_t current; /* in the period that runs */
    double estimate;  /* in the period_ms up to now: closed * (1 - part of the period run) +
                         current */
    double error; /* one standard deviation of estimate if arrivals are even; at worst it is off
                     by closed * max(part, 1 - part) */
    bool provisional; /* the last whole period may still grow: it ended less than settle_ms ago
                       */
    bool reborn;      /* this handle has seen an older life of a key: hits were lost */
} mcds_visitors_value;

MCDS_API MCDS_CHECKED int mcds_visitors_open(mcds_store *store, const char *name,
                                             const mcds_visitors_options *options,
                                             mcds_visitors **visitors_out);
MCDS_API void mcds_visitors_close(mcds_visitors *visitors);

/* Count a visit.
 * visitor  who; counted once per period however often and from wherever it comes. NULL: every
 *          call counts.
 * at_ms    when (Unix time); 0 = now.
 * Cost     1 without visitor or when it was counted before; 2 for a new one; one more for the
 *          first of a period, and for a handle's first, 2 at times, and again after each 3 periods.
 * Returns  MCDS_OK: counted; MCDS_EXISTS: this visitor was counted before; MCDS_AMBIGUOUS:
 *          counted once or not at all; MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_INVALID, ...
 * A crash of the caller between the two round trips leaves that visitor uncounted.
 * Members: `visitor` is needed. Cost 1, and up to 3 for the first two of a handle in a period; 0
 * where ESTIMATED knows that nothing changes. MCDS_OK and MCDS_EXISTS: in; ESTIMATED: MCDS_EXISTS
 * when the estimate stays as it is. After MCDS_AMBIGUOUS and any failure the call may be repeated,
 * and then that visitor is in once. */
MCDS_API MCDS_CHECKED int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor,
                                            int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor,
                                                  int64_t at_ms, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Read both periods as of at_ms (0 = now). A period without hits is 0. Cost 1; one more for a
 * handle's first, and again after each 3 periods. Members: 1 for each 64 keys of a period, which
 * holds some 40 visitors a key; the error of ESTIMATED is in `error`. */
MCDS_API MCDS_CHECKED int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms,
                                            mcds_visitors_value *value_out);
MCDS_API MCDS_CHECKED int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                                                  mcds_visitors_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erase the period of at_ms (0 = now) and the one before it. Who was counted stays known until
 * the period's keys expire. With the running period the settings go too: then the visitors may be
 * opened otherwise. Cost as get. */
MCDS_API int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Online. */

/* Who is here: how many were active within the last `buckets` buckets of `width_ms`. A visitor
 * who stays active is counted in exactly one bucket of every window, so the number neither dips
 * nor counts anybody twice. Buckets, width and members are kept with it, as those of visitors. */
typedef struct mcds_online mcds_online;

typedef struct mcds_online_options {
    size_t size;       /* sizeof(mcds_online_options) */
    uint32_t buckets;  /* 1..32; 0 = 5 */
    uint32_t width_ms; /* 1 000 to 86 400 000; 0 = 60 000 */
    uint32_t members;  /* mcds_members */
} mcds_online_options;
#define MCDS_ONLINE_OPTIONS_INIT                                                               \
    {                                                                                          \
        sizeof(mcds_online_options), 0, 0, 0                                                   \
    }

typedef struct mcds_online_value {
    uint64_t closed; /* active in the last `buckets` whole buckets */
    /* Active so far in the bucket that runs. Without members only those whom no earlier bucket of the
     * window has counted; then closed + current is the window, each visitor once. */
    uint64_t current;
    double estimate; /* the window up to now: the oldest bucket in part, and the current one */
    double error;    /* one standard deviation of estimate if arrivals are even */
    bool reborn;     /* as in mcds_visitors_value */
} mcds_online_value;

MCDS_API MCDS_CHECKED int mcds_online_open(mcds_store *store, const char *name,
                                           const mcds_online_options *options,
                                           mcds_online **online_out);
MCDS_API void mcds_online_close(mcds_online *online);

/* Say that `visitor` is active at at_ms (Unix time; 0 = now).
 * Cost     1 when this window has counted the visitor; 2 to 3 once per window; one more for the
 *          first of a bucket.
 * Returns  MCDS_OK: counted now; MCDS_EXISTS: this window has counted it; MCDS_AMBIGUOUS:
 *          counted once or not at all; MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_INVALID, ...
 * Members: cost and results as those of mcds_visitors_hit, with a bucket in place of a period. */
MCDS_API MCDS_CHECKED int mcds_online_beat(mcds_online *online, const char *visitor,
                                           int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_beat_start(mcds_online *online, const char *visitor,
                                                 int64_t at_ms, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Count as of at_ms (0 = now). Cost 1; one more for a handle's first, and again after each window.
 * Members: as mcds_visitors_get, for each bucket of the window; who was in several buckets is
 * counted once. */
MCDS_API MCDS_CHECKED int mcds_online_count(mcds_online *online, int64_t at_ms,
                                            mcds_online_value *value_out);
MCDS_API MCDS_CHECKED int mcds_online_count_start(mcds_online *online, int64_t at_ms,
                                                  mcds_online_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erase the buckets of the window at at_ms (0 = now); with the running one the settings too. Cost
 * as count. */
MCDS_API int mcds_online_drop(mcds_online *online, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_drop_start(mcds_online *online, int64_t at_ms,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Sets. */

/* Elements that anybody adds and removes, any number of them. Each change is one record
 * appended to a key, which splits as it grows; so a change takes one round trip whether the set
 * holds ten elements or ten million, and no change waits for another.
 *
 * Promise: exactly once. A change whose reply was lost is repeated with the same id until the
 * timeout; MCDS_AMBIGUOUS only where that is not enough. An element is 1 to 1 024 bytes of any
 * kind. Source: one record per change, as in the append-only array of the articles; growth as in
 * extendible hashing (Fagin and others, TODS 1979). */
typedef struct mcds_set mcds_set;

typedef enum mcds_set_form {
    MCDS_SET_PLAIN, /* an element is there or not */
    MCDS_SET_BAG,   /* how often it was added, less how often removed, down to 0 */
    /* Every addition has its place; a removal takes the first that is equal. Within one key, so
     * up to some fifty elements, the order is that of arrival. Beyond, it is that of the writers'
     * clocks: the additions of one handle keep their order unless another writer's clock is
     * ahead by more than the time between them. */
    MCDS_SET_LIST
} mcds_set_form;

typedef struct mcds_set_options {
    size_t size; /* sizeof(mcds_set_options) */
    /* Kept with the set. Who opens it with another form gets MCDS_INVALID from the first call
     * that needs the store, and has changed nothing. */
    mcds_set_form form;
} mcds_set_options;
#define MCDS_SET_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_set_options), MCDS_SET_PLAIN                                               \
    }

MCDS_API MCDS_CHECKED int mcds_set_open(mcds_store *store, const char *name,
                                        const mcds_set_options *options, mcds_set **set_out);
MCDS_API void mcds_set_close(mcds_set *set);

/* Add an element; the set is made when it does not exist.
 * changed_out  PLAIN: whether it was not there before; BAG and LIST: always true. NULL: not
 *              wanted, which saves reading the key.
 * Cost         1; a handle's first call 2 where it makes the set, else 3; one call in some twenty
 *              also rewrites a key that has grown, 3 to 4 more.
 * Returns      MCDS_OK; MCDS_AMBIGUOUS: added once, not at all, or not yet, also where the set was
 *              dropped or lost meanwhile; MCDS_LOST: a part of the set is gone, this element's
 *              place with it; MCDS_UNSUPPORTED: made by a newer version; MCDS_INVALID, MCDS_CORRUPT,
 *              MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL */
MCDS_API MCDS_CHECKED int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_add_start(mcds_set *set, mcds_bytes element,
                                             bool *changed_out, mcds_pipeline *pipeline,
                                             uint64_t tag);

/* Remove an element: PLAIN: if it is there; BAG: once; LIST: the first that is equal.
 * changed_out  whether it was there; NULL: not wanted.
 * Cost and returns as add; a set that does not exist stays so, MCDS_OK. */
MCDS_API MCDS_CHECKED int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_remove_start(mcds_set *set, mcds_bytes element,
                                                bool *changed_out, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Whether an element is there. Cost 1; a handle's first call 3, or 1 where there is no set.
 * Returns MCDS_OK; MCDS_NOT_FOUND; MCDS_LOST: its part of the set is gone, or all of it that this
 * handle has known; failures as add, but never MCDS_AMBIGUOUS. */
MCDS_API MCDS_CHECKED int mcds_set_has(mcds_set *set, mcds_bytes element);
MCDS_API MCDS_CHECKED int mcds_set_has_start(mcds_set *set, mcds_bytes element,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Visit all elements: PLAIN and BAG in no order, each once, with its count; LIST in the order of
 * addition, each occurrence, count 1. `element` is valid during the visit; false ends it. What
 * is changed meanwhile may be seen or not; all else is seen exactly once. LIST keeps all elements
 * in memory until it has read the last.
 * Cost     1 per 64 keys of about 1 KB. The timeout counts for each.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such set; MCDS_LOST: a part is gone, the rest has been
 *          visited; failures as add, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int
mcds_set_fetch(mcds_set *set, bool (*visit)(void *context, mcds_bytes element, uint64_t count),
               void *context);
MCDS_API MCDS_CHECKED int
mcds_set_fetch_start(mcds_set *set,
                     bool (*visit)(void *context, mcds_bytes element, uint64_t count),
                     void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erase the set. What others add meanwhile may go with it. Cost 2 per 64 keys, and 2. A drop that
 * ends midway has ended the set; keys that it leaves are never seen again, and a drop by the same
 * handle erases them.
 * Returns MCDS_OK; MCDS_NOT_FOUND; MCDS_AMBIGUOUS: a part is gone, all of it, or nothing: call
 * again; failures as add */
MCDS_API int mcds_set_drop(mcds_set *set);
MCDS_API MCDS_CHECKED int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline,
                                              uint64_t tag);

/* Tables. */

/* Values by key, any number of them; each entry is changed by itself. What is said of sets holds
 * here too: one record per change, exactly once, keys that split as they grow. The key and its
 * value are one entry, so there is never one without the other. A table key is 1 to 1 024 bytes,
 * a value 0 bytes to a quarter of the largest value of the store (256 KB on memcached); up to
 * 64 KB is well. */
typedef struct mcds_table mcds_table;

typedef struct mcds_table_options {
    size_t size; /* sizeof(mcds_table_options) */
} mcds_table_options;
#define MCDS_TABLE_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_table_options)                                                             \
    }

MCDS_API MCDS_CHECKED int mcds_table_open(mcds_store *store, const char *name,
                                          const mcds_table_options *options,
                                          mcds_table **table_out);
MCDS_API void mcds_table_close(mcds_table *table);

/* Read a value, or only whether there is one. Cost 1; a handle's first call 3, or 1 where there is no
 * table.
 * Returns MCDS_OK; MCDS_NOT_FOUND; MCDS_LOST: the part of the table that should hold the key is
 * gone; MCDS_CORRUPT, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_table_get(mcds_table *table, mcds_bytes key,
                                         mcds_value *value_out);
MCDS_API MCDS_CHECKED int mcds_table_get_start(mcds_table *table, mcds_bytes key,
                                               mcds_value *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);
MCDS_API MCDS_CHECKED int mcds_table_has(mcds_table *table, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_table_has_start(mcds_table *table, mcds_bytes key,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Set a value, whatever was there; the table is made when it does not exist.
 * ttl_ms   the entry is gone after that; 0 = never. By the clocks of writer and reader.
 * Cost     1; a handle's first call 2 to 3; one call in some twenty also rewrites a key that has
 *          grown, 3 to 4 more.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: set once, not at all, or not yet; MCDS_TOO_BIG; MCDS_LOST;
 *          MCDS_INVALID, MCDS_CORRUPT, MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL */
MCDS_API MCDS_CHECKED int mcds_table_put(mcds_table *table, mcds_bytes key, mcds_bytes value,
                                         uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_start(mcds_table *table, mcds_bytes key,
                                               mcds_bytes value, uint64_t ttl_ms,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Set a value only where there is none. Returns MCDS_OK: set; MCDS_EXISTS: another was there;
 * else as put. Cost as put. */
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent(mcds_table *table, mcds_bytes key,
                                                   mcds_bytes value, uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent_start(mcds_table *table, mcds_bytes key,
                                                         mcds_bytes value, uint64_t ttl_ms,
                                                         mcds_pipeline *pipeline, uint64_t tag);

/* Set a value only where `expected` is. Returns MCDS_OK: set; MCDS_EXISTS: another value is
 * there; MCDS_NOT_FOUND: none is; else as put. Cost as put: there is no conflict to repeat. */
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set(mcds_table *table, mcds_bytes key,
                                                     mcds_bytes expected, mcds_bytes value,
                                                     uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set_start(mcds_table *table, mcds_bytes key,
                                                           mcds_bytes expected,
                                                           mcds_bytes value, uint64_t ttl_ms,
                                                           mcds_pipeline *pipeline,
                                                           uint64_t tag);

/* Remove an entry.
 * changed_out  whether there was one; NULL: not wanted, which saves reading the key.
 * Cost and returns as put; what does not exist stays so, MCDS_OK. */
MCDS_API MCDS_CHECKED int mcds_table_remove(mcds_table *table, mcds_bytes key,
                                            bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_table_remove_start(mcds_table *table, mcds_bytes key,
                                                  bool *changed_out, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Add to a value that is a decimal number of 64 bits; no entry counts as 0.
 * value_out  the number after; NULL: not wanted.
 * Returns    as put; MCDS_CORRUPT: the value is no number; MCDS_OVERFLOW: it would leave 64 bits.
 *            In both cases nothing is changed. Cost as put. */
MCDS_API MCDS_CHECKED int mcds_table_incr(mcds_table *table, mcds_bytes key, int64_t delta,
                                          int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_table_incr_start(mcds_table *table, mcds_bytes key,
                                                int64_t delta, int64_t *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Where a scan stands. Plain data: it may be kept, and be used by another process. */
typedef struct mcds_table_cursor {
    uint64_t position;
    bool done; /* nothing is left */
} mcds_table_cursor;
#define MCDS_TABLE_CURSOR_INIT                                                                 \
    {                                                                                          \
        0, false                                                                               \
    }

/* Visit entries from the cursor on, in no order that means anything, at most `limit` (0 = all);
 * the cursor moves behind the last. What is changed meanwhile may be seen or not; all else is
 * seen exactly once in a whole scan, however often it is stopped. `visit` returns false to stop
 * behind what it was given.
 * Cost     1 per 64 keys of about 1 KB. The timeout counts for each.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such table; MCDS_LOST: a part is gone, the rest has been
 *          visited; failures as get, with the cursor where to go on */
MCDS_API MCDS_CHECKED int
mcds_table_scan(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                bool (*visit)(void *context, mcds_bytes key, mcds_bytes value), void *context);
MCDS_API MCDS_CHECKED int
mcds_table_scan_start(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                      bool (*visit)(void *context, mcds_bytes key, mcds_bytes value),
                      void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erase the table. What others put meanwhile may go with it. Cost 2 per 64 keys, and 2. A drop
 * that ends midway: as of a set.
 * Returns MCDS_OK; MCDS_NOT_FOUND; MCDS_AMBIGUOUS: a part is gone, all of it, or nothing: call
 * again; failures as put */
MCDS_API int mcds_table_drop(mcds_table *table);
MCDS_API MCDS_CHECKED int mcds_table_drop_start(mcds_table *table, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Views. */

/* How often each page was viewed, by pages: counted in the store, kept in a database of the
 * program's. Views are counted per interval of flush_ms; flush hands the numbers of the intervals
 * that have ended to `save`, and get adds what `load` says of them to those that are not saved
 * yet. A number is saved as it is, never as a difference, so it does no harm when two flush at
 * once, when one dies and when an interval is saved again.
 *
 * Promise: no view is counted twice. What was acknowledged is in the value, and within flush_ms
 * and the next flush in the database, unless the store forgets an interval first; then it is
 * missing, and the value never falls below what the database had when it was last asked, ten
 * minutes ago at most. */
typedef struct mcds_views mcds_views;

typedef struct mcds_views_options {
    size_t size; /* sizeof(mcds_views_options) */
    /* 1 000 to 86 400 000; 0 = 60 000. Kept with the views: who opens them with another time gets
     * MCDS_INVALID from its first call. */
    uint32_t flush_ms;
    /* The sum of what has been saved for this page, of slots up to upto_slot; 0 where there is
     * nothing. Called by get, of one caller at a time however many ask. Not 0, or a sum below 0:
     * failure, MCDS_IO. */
    int (*load)(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
    /* Keep that this page had `views` views in this slot; what was kept for the pair before is
     * replaced, or stays if it is larger. Called by flush. Not 0: failure, MCDS_IO. */
    int (*save)(void *context, const char *page, uint64_t slot, int64_t views);
    void *context; /* for both; they run in the calling thread, and must allow several */
} mcds_views_options;
#define MCDS_VIEWS_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_views_options), 0, NULL, NULL, NULL                                        \
    }

/* options must have load and save. */
MCDS_API MCDS_CHECKED int mcds_views_open(mcds_store *store, const char *name,
                                          const mcds_views_options *options,
                                          mcds_views **views_out);
MCDS_API void mcds_views_close(mcds_views *views);

/* Count n views of a page.
 * Cost     1; 2 to 3 for a handle's first view of a page in an interval; one more for a handle's
 *          first call of any kind.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: counted once or not at all; MCDS_BUSY, MCDS_TIMEOUT,
 *          MCDS_UNAVAILABLE, MCDS_FULL, MCDS_CORRUPT, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_views_hit(mcds_views *views, const char *page, uint32_t n);
MCDS_API MCDS_CHECKED int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* How often a page was viewed, by all and ever.
 * Cost     1 for each 15 intervals that are not in the base yet, which is read anew from the
 *          database every ten minutes; then 5, and 2 calls of load, or 3 to 16 of them where the
 *          store knows of no flush; more of both where what is saved has not settled.
 * Returns  MCDS_OK; MCDS_IO: load has failed; MCDS_TIMEOUT: also when another caller's load
 *          takes too long; MCDS_UNAVAILABLE, MCDS_CORRUPT, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_views_get(mcds_views *views, const char *page,
                                         int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_views_get_start(mcds_views *views, const char *page,
                                               int64_t *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Save the intervals that have ended, and once more the two before them and those that ended within
 * the last 5 s, in which machines whose clocks are behind still count. To be called about every
 * flush_ms by at least one program, and within a day; more do no harm.
 * Cost     2 per interval and 1 per 16 pages, and the calls of save. The timeout counts for each.
 * Returns  MCDS_OK; MCDS_IO: save has failed, call again; MCDS_LOST: the list of an interval's
 *          pages is gone; failures as get */
MCDS_API MCDS_CHECKED int mcds_views_flush(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Save also the interval that has not ended, for a program that ends: all that was acknowledged
 * before the call is then in the database. Others may go on counting in that interval; the next
 * flush of any program saves it again. Cost and returns as mcds_views_flush. */
MCDS_API MCDS_CHECKED int mcds_views_flush_final(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_final_start(mcds_views *views,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Arrays. */

/* A list of elements that is read often and changed as a whole: read in one round trip, changed by
 * compare-and-set. For lists that only grow, or sets whose elements come and go, mcds_list and
 * mcds_set do more with less.
 *
 * Promise: linearizable, and each change exactly once: a change whose reply was lost finds out
 * what became of it; MCDS_AMBIGUOUS only where that cannot be told. An element is any bytes, the
 * whole at most 64 MB; beyond half of what one key of the store holds (512 KB on memcached) it
 * stands in parts, and readers switch from one whole value to the next. */
typedef struct mcds_array mcds_array;

typedef struct mcds_array_options {
    size_t size; /* sizeof(mcds_array_options) */
} mcds_array_options;
#define MCDS_ARRAY_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_array_options)                                                             \
    }

MCDS_API MCDS_CHECKED int mcds_array_open(mcds_store *store, const char *name,
                                          const mcds_array_options *options,
                                          mcds_array **array_out);
MCDS_API void mcds_array_close(mcds_array *array);

/* Visit the elements in their order. `element` is valid during the visit; false ends it.
 * Cost     1; for a value in parts, 1 more per 8 parts of 512 KB.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such array; MCDS_LOST: a part of the value is gone, or,
 *          told once, all of it, which this handle has seen; MCDS_CORRUPT, MCDS_NO_MEMORY,
 *          MCDS_TIMEOUT, MCDS_UNAVAILABLE */
MCDS_API MCDS_CHECKED int mcds_array_get(mcds_array *array,
                                         bool (*visit)(void *context, mcds_bytes element),
                                         void *context);
MCDS_API MCDS_CHECKED int mcds_array_get_start(mcds_array *array,
                                               bool (*visit)(void *context, mcds_bytes element),
                                               void *context, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Set the whole array to `count` elements; they are copied.
 * Cost     2; for a value in parts 4 more, and 1 per 8 parts.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: set once, not at all, or not yet (always so when the reply to
 *          the first change of an array is lost and its key is missing or another's after it);
 *          MCDS_TOO_BIG; MCDS_BUSY: others changed it until the timeout; MCDS_LOST, MCDS_CORRUPT, MCDS_NO_MEMORY,
 *          MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_array_set(mcds_array *array, const mcds_bytes *elements,
                                         size_t count);
MCDS_API MCDS_CHECKED int mcds_array_set_start(mcds_array *array, const mcds_bytes *elements,
                                               size_t count, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Remove elements, of each the first that is equal, and then add others at the end. An array that
 * does not exist is made, unless there is nothing to add: MCDS_NOT_FOUND; one that this handle has
 * seen and that is gone is not, the first time: MCDS_LOST. Cost and returns as set; without any
 * change 1. */
MCDS_API MCDS_CHECKED int mcds_array_change(mcds_array *array, const mcds_bytes *add,
                                            size_t add_count, const mcds_bytes *remove,
                                            size_t remove_count);
MCDS_API MCDS_CHECKED int mcds_array_change_start(mcds_array *array, const mcds_bytes *add,
                                                  size_t add_count, const mcds_bytes *remove,
                                                  size_t remove_count, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Where a change puts the new elements. */
typedef struct mcds_elements mcds_elements;
/* One more element at the end, copied. Returns MCDS_OK, MCDS_TOO_BIG or MCDS_NO_MEMORY. */
MCDS_API MCDS_CHECKED int mcds_elements_add(mcds_elements *elements, mcds_bytes element);

/* Any other change: `change` gets the elements that are there (old is NULL where there is no
 * array) and puts the new ones, all of them, into `fresh`. It is called again whenever another
 * change has come between, so it must have no other effect. It returns 0 to write, or a result
 * that the call then ends with, nothing being written. Cost and returns as set. */
MCDS_API MCDS_CHECKED int mcds_array_change_by(
    mcds_array *array,
    int (*change)(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh),
    void *context);
MCDS_API MCDS_CHECKED int mcds_array_change_by_start(
    mcds_array *array,
    int (*change)(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh),
    void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erase the array. Cost 2. Returns MCDS_OK, MCDS_NOT_FOUND, MCDS_AMBIGUOUS, ... */
MCDS_API int mcds_array_drop(mcds_array *array);
MCDS_API MCDS_CHECKED int mcds_array_drop_start(mcds_array *array, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Lists. */

/* Values in the order in which they were pushed, any number of them. A push is one record
 * appended to the last of the list's keys, which holds 16 KB; the list lives on one server.
 *
 * Promise: exactly once, and in order: a push that begins when another has been acknowledged
 * stands behind it. A push whose reply was lost is repeated with the same id until the timeout;
 * MCDS_AMBIGUOUS only where that is not enough. What a server forgot is told, not skipped:
 * MCDS_LOST. A value is 0 bytes to 64 MB of any kind; more than 8 KB is kept apart, which takes
 * one round trip more. Source: the append-only array of the articles. */
typedef struct mcds_list mcds_list;

typedef struct mcds_list_options {
    size_t size; /* sizeof(mcds_list_options) */
} mcds_list_options;
#define MCDS_LIST_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_list_options)                                                              \
    }

MCDS_API MCDS_CHECKED int mcds_list_open(mcds_store *store, const char *name,
                                         const mcds_list_options *options,
                                         mcds_list **list_out);
MCDS_API void mcds_list_close(mcds_list *list);

/* Add a value at the end; the list is made when it does not exist.
 * Cost     1; a handle's first push 2 more, the push that fills a key 1 more.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: pushed once, not at all, or not yet; MCDS_LOST: the list is
 *          gone and another has begun, this value is in neither; MCDS_CORRUPT, MCDS_TOO_BIG,
 *          MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_list_push(mcds_list *list, mcds_bytes value);
MCDS_API MCDS_CHECKED int mcds_list_push_start(mcds_list *list, mcds_bytes value,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Add values at the end, in their order; those of others may come between. Started in a
 * pipeline, `values` and their bytes must live until the tag comes back.
 * Cost     1 per 4 KB of values, otherwise as push. The timeout counts for each.
 * Returns  as push; after a failure, the first of them, or none, have been pushed. */
MCDS_API MCDS_CHECKED int mcds_list_push_many(mcds_list *list, const mcds_bytes *values,
                                              size_t count);
MCDS_API MCDS_CHECKED int mcds_list_push_many_start(mcds_list *list, const mcds_bytes *values,
                                                    size_t count, mcds_pipeline *pipeline,
                                                    uint64_t tag);

/* Visit the values behind the first `skip`, in order, `limit` of them at most (0 = all). `value`
 * is valid during the visit; false ends it. A value that is pushed meanwhile may be seen or not;
 * a clear meanwhile may end the visit. About 1 MB of the list is in memory at a time.
 * Cost     2 for a list of up to 128 KB, and 1 per 512 KB more, of what is skipped too. The
 *          timeout begins again after each of them that has brought a value, and at most twice as
 *          many keys are read as there were at the beginning: so the visit ends, however fast
 *          others push and whatever the server answers.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such list; MCDS_LOST: a part is gone, the rest has been
 *          visited; MCDS_CORRUPT: the same, it holds something that mcds did not write; failures
 *          as push, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int mcds_list_fetch(mcds_list *list, uint64_t skip, uint64_t limit,
                                          bool (*visit)(void *context, mcds_bytes value),
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_list_fetch_start(mcds_list *list, uint64_t skip, uint64_t limit,
                                                bool (*visit)(void *context, mcds_bytes value),
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Begin the list anew: what was acknowledged before is not in it after that, what begins
 * afterwards is. What it held is erased then, as far as the store can be reached.
 * Cost     5, and 2 per 512 KB of what it held. The timeout counts for all of it up to the point
 *          from which the list is empty, then for each erasure, of which there are at most as many
 *          as there were keys.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such list; MCDS_AMBIGUOUS: cleared, or not, or by whoever
 *          pushes next; MCDS_UNSUPPORTED: the store has no compare-and-set; failures as push */
MCDS_API MCDS_CHECKED int mcds_list_clear(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* The same, and the list does not exist afterwards. */
MCDS_API int mcds_list_drop(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Logs. */

/* Events with a time, kept for a while. Each chunk of time has keys of its own, named by its
 * absolute number and never used again, so nothing hangs on when a key dies; an event is one
 * record appended to the last key of its chunk.
 *
 * Promise: exactly once, and readable for `retention_ms` at least. A put whose reply was lost is
 * repeated with the same id until the timeout; MCDS_AMBIGUOUS only where that is not enough. What
 * a server forgot is told as a gap where something that is left tells of it: other keys of its
 * chunk, or a handle that has used it lately. An event is 0 bytes to 64 MB of any kind; more than
 * 8 KB is kept apart, which takes one round trip more. Source: the event log of the articles. */
typedef struct mcds_log mcds_log;

typedef enum mcds_log_flag {
    /* An event is filed under the time when it arrives, whatever its own time: none is too old
     * or too far ahead, and ranges mean times of arrival. Without it, an event is filed under its
     * own time. */
    MCDS_LOG_BY_ARRIVAL = 1
} mcds_log_flag;

/* Kept with the log when its first event makes it. 0: as the log has it, or the default when it
 * is made here. Who asks for something else than it has gets MCDS_INVALID from the first call. */
typedef struct mcds_log_options {
    size_t size;           /* sizeof(mcds_log_options) */
    uint32_t flags;        /* mcds_log_flag */
    uint32_t late_ms;      /* oldest event that is taken; default 60 000 */
    uint64_t retention_ms; /* 1 000 to 31 622 400 000; default 604 800 000, 7 days */
    /* Length of a chunk: 1 000 to 86 400 000, at least a 4 096th of the retention, and at least a
     * thirteenth of late_ms + ahead_ms + 40 000, because a cursor holds the chunks that still take
     * events (40 s allow for clocks that differ and for slow puts). Short chunks make reading all
     * of a sparse log slow; long ones keep events longer than asked. Default: a thousandth of the
     * retention, or an eighth of late_ms + ahead_ms + 40 000 where that is more. */
    uint64_t chunk_ms;
    uint32_t ahead_ms; /* event farthest ahead of this machine's clock; default 5 000 */
} mcds_log_options;
#define MCDS_LOG_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_log_options), 0, 0, 0, 0, 0                                                \
    }

typedef struct mcds_log_event {
    int64_t when_ms;  /* its own time, Unix time in milliseconds */
    int64_t filed_ms; /* BY_ARRIVAL: when it arrived; else the same */
    mcds_bytes event; /* valid during the visit */
} mcds_log_event;

/* What a reader has to know besides. */
typedef struct mcds_log_info {
    uint64_t gaps;    /* places where events are missing that the store should hold */
    uint64_t corrupt; /* stretches of bytes that mcds did not write */
} mcds_log_info;

/* Opens without asking the store. */
MCDS_API MCDS_CHECKED int mcds_log_open(mcds_store *store, const char *name,
                                        const mcds_log_options *options, mcds_log **log_out);
MCDS_API void mcds_log_close(mcds_log *log);

/* Put an event; when_ms is its own time, 0 = now. The log is made when it does not exist.
 * Cost     1; a handle's first put 1 more, or 2 when it makes the log; the put that fills a key
 *          1 more.
 * Returns  MCDS_OK; MCDS_TOO_OLD, MCDS_TOO_FUTURE: not put, and no log is made; MCDS_AMBIGUOUS:
 *          put once, not at all, or not yet; MCDS_CORRUPT, MCDS_TOO_BIG, MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE,
 *          MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event);
MCDS_API MCDS_CHECKED int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Put events of one time, in their order. Started in a pipeline, `events` and their bytes must
 * live until the tag comes back.
 * Cost     1 per 4 KB of events, otherwise as put. The timeout counts for each.
 * Returns  as put; after a failure, the first of them, or none, have been put. */
MCDS_API MCDS_CHECKED int mcds_log_put_many(mcds_log *log, int64_t when_ms,
                                            const mcds_bytes *events, size_t count);
MCDS_API MCDS_CHECKED int mcds_log_put_many_start(mcds_log *log, int64_t when_ms,
                                                  const mcds_bytes *events, size_t count,
                                                  mcds_pipeline *pipeline, uint64_t tag);

typedef struct mcds_log_range {
    int64_t first_ms; /* events filed at or after this; 0 = as far back as they are kept */
    int64_t last_ms;  /* and before this; 0 = no end */
    uint64_t limit;   /* events at most; 0 = all */
    bool newest_first;
} mcds_log_range;
#define MCDS_LOG_RANGE_INIT                                                                    \
    {                                                                                          \
        0, 0, 0, false                                                                         \
    }

/* Visit the events of a range, chunk by chunk, and within a chunk in the order in which they were
 * put (late ones therefore behind earlier ones); newest_first: in exactly the opposite order.
 * false ends the visit. About 1 MB of the log is in memory at a time.
 * info_out  NULL allowed; adds up what is found to what stands there.
 * Cost      1 per 28 chunks of the range, so 36 for all that a log with the default chunks can
 *           hold; for a chunk of more than 16 KB, 2 more, and 1 per 512 KB. 1 more for a handle's
 *           first call and where nothing is found. The timeout begins again for each chunk, and
 *           after each round trip that has brought an event; of a chunk at most twice as many
 *           keys are read as there were when its turn came.
 * Returns   MCDS_OK; MCDS_NOT_FOUND: no such log, `gaps` then counts what this handle has seen of
 *           it; failures as put, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int mcds_log_fetch(mcds_log *log, const mcds_log_range *range,
                                         bool (*visit)(void *context,
                                                       const mcds_log_event *event),
                                         void *context, mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int
mcds_log_fetch_start(mcds_log *log, const mcds_log_range *range,
                     bool (*visit)(void *context, const mcds_log_event *event), void *context,
                     mcds_log_info *info_out, mcds_pipeline *pipeline, uint64_t tag);

/* Where a reader stands that follows a log. Yours to keep, and for one call at a time. */
#define MCDS_LOG_CURSOR_CHUNKS 16
typedef struct mcds_log_cursor {
    /* Where a new cursor begins: events filed at or after this; 0 = what is put from the first
     * call on. */
    int64_t from_ms;
    /* private */
    uint32_t count;
    uint64_t chunk;
    struct {
        uint64_t part;
        uint32_t size;
        uint32_t birth;
    } at[MCDS_LOG_CURSOR_CHUNKS];
} mcds_log_cursor;
#define MCDS_LOG_CURSOR_INIT                                                                   \
    {                                                                                          \
        0, 0, 0,                                                                               \
        {                                                                                      \
            {                                                                                  \
                0, 0, 0                                                                        \
            }                                                                                  \
        }                                                                                      \
    }

/* Visit what has been put since the cursor was here last: every event once, late ones too, in
 * the order of mcds_log_fetch as far as they are there at once. Does not wait for any: call again
 * when it is time. Where false ends the visit, the cursor stands behind the last event visited.
 * info_out  NULL allowed; adds up. A gap: events that were there, or may have been, are gone:
 *           a server has forgotten them, or they expired before the cursor came. A cursor that is
 *           used once in each retention_ms never comes too late.
 * Cost      1 when there is nothing new; as fetch for what there is, the timeout too.
 * Returns   MCDS_OK; MCDS_NOT_FOUND: no such log yet, or no longer: the cursor stays good for a
 *           log that is made later; failures as fetch: the cursor is behind the last event
 *           visited */
MCDS_API MCDS_CHECKED int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor,
                                        bool (*visit)(void *context,
                                                      const mcds_log_event *event),
                                        void *context, mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int
mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor,
                    bool (*visit)(void *context, const mcds_log_event *event), void *context,
                    mcds_log_info *info_out, mcds_pipeline *pipeline, uint64_t tag);

/* A cursor as text without blanks, ended by NUL, and back. load: MCDS_INVALID when it is none. */
#define MCDS_LOG_CURSOR_TEXT 1024
MCDS_API void mcds_log_cursor_save(const mcds_log_cursor *cursor,
                                   char text_out[MCDS_LOG_CURSOR_TEXT]);
MCDS_API MCDS_CHECKED int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text);

/* Erase the log. What others put meanwhile may go with it or stay. Cost 1 per 28 chunks that the
 * log keeps, and 2 per 512 KB; the timeout counts for each, of which there are no more than that.
 * Returns MCDS_OK; MCDS_NOT_FOUND; MCDS_AMBIGUOUS: a part is gone, all of it, or nothing: call
 * again; failures as put */
MCDS_API int mcds_log_drop(mcds_log *log);
MCDS_API MCDS_CHECKED int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
