/* mcds: data structures that many processes and machines share, on memcached's own commands.
 *
 * Know these before the first call:
 *
 *  - A call returns one int. 0: done. Positive: a normal answer that the caller handles (not
 *    found, busy). Negative: failure; nothing was changed unless the comment says otherwise.
 *    MCDS_AMBIGUOUS is neither: a reply was lost, and the change may have been applied, or may
 *    still be. Each comment says what the call does about that.
 *  - The library prints nothing, starts no thread and installs no signal handler. No reply of a
 *    server and no content of a file aborts the program. mcds_errmsg() returns a sentence about
 *    this thread's last failure, mcds_last_error() its parts.
 *  - A store and the structures opened on it may be used from any thread at any time. A
 *    pipeline belongs to one thread. After fork, the child opens its own store; calls on what
 *    the parent has opened return MCDS_INVALID in the child.
 *  - Stores, structures and pipelines may be closed in any order and from any thread, also with
 *    operations in flight. A structure stays in memory until the completions of its operations
 *    are taken, a store until everything opened on it is closed. Only a waiting call must have
 *    returned before its handle is closed. Closing NULL does nothing.
 *  - Outputs are the last parameters of a call, before pipeline and tag. A call that does not
 *    return MCDS_OK leaves them untouched unless its comment says otherwise. Where a comment
 *    allows NULL, that output is discarded.
 *  - Names are C strings of 1 to 1024 bytes of any value. A name that takes more than 100 bytes
 *    when encoded is stored as a hash. open copies the name and the options.
 *  - `options` == NULL means the defaults. Opening a structure does not access the store; its first
 *    call does. Each open returns MCDS_OK, MCDS_INVALID, MCDS_UNSUPPORTED or MCDS_NO_MEMORY.
 *  - A struct that begins with `size` may get more members in later versions. Programs and
 *    libraries of different versions work together, because `size` is what the program was
 *    compiled with. Begin each such struct with its _INIT macro, or set it to {0}: size 0 means
 *    the members of version 0.1. Never pass it uninitialized: the library trusts `size`.
 *    Options: 0 is the default of every member, and members beyond `size` have their defaults. A
 *    member that this library does not know must be 0; otherwise the call returns MCDS_INVALID.
 *    Outputs: the library fills the members within `size` and clears those that it does not know.
 *    Other structs never change, except that those passed to a callback may get more members.
 *  - "Cost" counts round trips to one server when nothing goes wrong. On memory: and lmdb: the
 *    same number counts accesses to the table, or transactions.
 *  - at_ms and when_ms are Unix times in milliseconds; 0 means now. deadline_ns and wake_ns are
 *    times of mcds_env.monotonic_ns.
 *
 * Every waiting call X has a twin X_start that puts the same operation into a pipeline. It
 * takes the same arguments, then the pipeline and a tag. It fails only for an argument that
 * this store cannot take or for lack of memory; every other result comes with the completion.
 * X_start copies its inputs unless the comment says otherwise. Outputs, and the context of a
 * callback, must live until the pipeline has returned the tag or is closed.
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

/* Version of the library that is loaded: "0.1.0". */
MCDS_API const char *mcds_version(void);

/* Results. */

#define MCDS_RESULT_MAP(X)                                                                     \
    X(MCDS_OK, 0, "done")                                                                      \
    X(MCDS_NOT_FOUND, 1, "no such key")                                                        \
    X(MCDS_EXISTS, 2, "already there")                                                         \
    X(MCDS_BUSY, 3, "held or changed by others; not applied")                                  \
    X(MCDS_IDLE, 4, "nothing in flight")                                                       \
    X(MCDS_TOO_OLD, 5, "earlier than the log accepts")                                         \
    X(MCDS_TOO_FUTURE, 6, "later than the log accepts")                                        \
    X(MCDS_AMBIGUOUS, -1, "the reply was lost; it may have been applied, or may still be")     \
    X(MCDS_LOST, -2, "something that must exist is gone or was made again")                    \
    X(MCDS_TIMEOUT, -3, "the deadline passed; not applied")                                    \
    X(MCDS_UNAVAILABLE, -4, "the store cannot be reached; not applied")                        \
    X(MCDS_EXPIRED, -5, "the lease is over")                                                   \
    X(MCDS_INVALID, -6, "an argument is out of its documented range")                          \
    X(MCDS_TOO_BIG, -7, "larger than the store accepts")                                       \
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
/* Name of a result code: "MCDS_BUSY" for MCDS_BUSY; "?" for any other number. */
MCDS_API const char *mcds_result_name(int result);
/* Sentence about this thread's last failure: structure, verb, server, cause. "" if there was
 * none; never NULL. Valid until this thread's next call. */
MCDS_API const char *mcds_errmsg(void);

/* Causes of failures, for a program that must know more than the result. A cause says what went
 * wrong, the result what that means for the call. New versions add causes; numbers never change. */
/* clang-format off */
#define MCDS_CAUSE_MAP(X)                                                                      \
    X(MCDS_CAUSE_OTHER, 0, "none of these")                                                    \
    /* Of the call */                                                                          \
    X(MCDS_CAUSE_ARGUMENT_MISSING, 1, "an argument is missing")                                \
    X(MCDS_CAUSE_EMPTY, 2, "a name or an element is empty")                                    \
    X(MCDS_CAUSE_TOO_LONG, 3, "a name or an element is too long")                              \
    X(MCDS_CAUSE_OUT_OF_RANGE, 4, "a number is out of its range")                              \
    X(MCDS_CAUSE_UNKNOWN_VALUE, 5, "an option has a value that this version does not know")    \
    X(MCDS_CAUSE_CONFLICT, 6, "two options, or an option and a call, exclude each other")      \
    X(MCDS_CAUSE_BAD_BYTE, 7, "a byte that is not allowed here")                               \
    X(MCDS_CAUSE_BAD_URI, 8, "the URI, or a part of it, is not understood")                    \
    X(MCDS_CAUSE_BAD_CURSOR, 9, "the text is not a cursor, or the cursor is at its end")       \
    X(MCDS_CAUSE_BAD_LEASE, 10, "the lease is not in the state that the call needs")           \
    X(MCDS_CAUSE_STRUCT_SIZE, 11, "the size of a struct is not one of this library")           \
    X(MCDS_CAUSE_OTHER_STORE, 12, "the pipeline belongs to another store")                     \
    X(MCDS_CAUSE_FORKED, 13, "the store was opened before fork")                               \
    X(MCDS_CAUSE_FEW_SERVERS, 14, "there are fewer servers than copies")                       \
    /* Of what is stored */                                                                    \
    X(MCDS_CAUSE_OPTION_DIFFERS, 20, "it was made with another value of an option")            \
    X(MCDS_CAUSE_FORM_DIFFERS, 21, "it was made in another form")                              \
    X(MCDS_CAUSE_NOT_A_NUMBER, 22, "the value is not a number")                                \
    X(MCDS_CAUSE_FOREIGN, 23, "it was not written by mcds")                                    \
    X(MCDS_CAUSE_NEWER, 24, "it was made by a newer version of mcds")                          \
    X(MCDS_CAUSE_DAMAGED, 25, "it is damaged")                                                 \
    X(MCDS_CAUSE_GONE, 26, "something that must exist is gone")                                \
    X(MCDS_CAUSE_MADE_AGAIN, 27, "it was lost and made again")                                 \
    X(MCDS_CAUSE_OVERFLOW, 28, "the number leaves its range")                                  \
    X(MCDS_CAUSE_TOO_BIG, 29, "larger than the store accepts")                                 \
    X(MCDS_CAUSE_TOO_LATE, 30, "so late that readers may have passed it")                      \
    X(MCDS_CAUSE_CLOCK, 31, "this machine's clock differs too much")                           \
    /* Of other users */                                                                       \
    X(MCDS_CAUSE_CONTENDED, 40, "others keep changing it")                                     \
    X(MCDS_CAUSE_HELD, 41, "it is held")                                                       \
    X(MCDS_CAUSE_LEASE_OVER, 42, "the lease is over")                                          \
    X(MCDS_CAUSE_FILE_IN_USE, 43,                                                              \
      "another process uses the file in a way that excludes this one")                         \
    /* Of the way to the server */                                                             \
    X(MCDS_CAUSE_TIMEOUT, 50, "the deadline passed")                                           \
    X(MCDS_CAUSE_REPLY_LOST, 51, "the reply was lost")                                         \
    X(MCDS_CAUSE_UNREACHABLE, 52, "the store cannot be reached")                               \
    X(MCDS_CAUSE_CONNECTION_REFUSED, 53, "connection refused")                                 \
    X(MCDS_CAUSE_CONNECTION_CLOSED, 54, "the connection broke")                                \
    X(MCDS_CAUSE_NO_ROUTE, 55, "no route to the host")                                         \
    X(MCDS_CAUSE_NO_SOCKET_FILE, 56, "no such socket file")                                    \
    X(MCDS_CAUSE_HOST_SILENT, 57, "the host does not answer")                                  \
    X(MCDS_CAUSE_SERVER_SILENT, 58, "the server does not answer")                              \
    X(MCDS_CAUSE_UNKNOWN_HOST, 59, "the host name cannot be resolved")                         \
    X(MCDS_CAUSE_SEVERAL_ADDRESSES, 60, "the host name has several addresses")                 \
    X(MCDS_CAUSE_TOO_MANY_CONNECTIONS, 61, "the server has reached its limit of connections")  \
    /* Of the server */                                                                        \
    X(MCDS_CAUSE_NOT_MEMCACHED, 70, "the other side does not speak memcached's protocol")      \
    X(MCDS_CAUSE_TLS, 71, "the server speaks TLS")                                             \
    X(MCDS_CAUSE_PASSWORD, 72, "the server asks for a password")                               \
    X(MCDS_CAUSE_BAD_REPLY, 73, "a reply does not match its request")                          \
    X(MCDS_CAUSE_SERVER_ERROR, 74, "the server answered SERVER_ERROR")                         \
    X(MCDS_CAUSE_OTHER_SERVER, 75, "the server is now of another kind")                        \
    X(MCDS_CAUSE_NO_COMMAND, 76, "the server lacks a command")                                 \
    X(MCDS_CAUSE_NO_COMPARE_AND_SET, 77, "the store has no compare-and-set")                   \
    X(MCDS_CAUSE_UNSUPPORTED, 78, "this store cannot do it")                                   \
    X(MCDS_CAUSE_STORE_FULL, 79, "the store is full")                                          \
    /* Of this process */                                                                      \
    X(MCDS_CAUSE_NO_MEMORY, 90, "this process is out of memory")                               \
    X(MCDS_CAUSE_NO_DESCRIPTORS, 91, "this process has no file descriptors left")              \
    X(MCDS_CAUSE_NO_RANDOM, 92, "the system gives no random numbers")                          \
    X(MCDS_CAUSE_NO_PROC, 93, "/proc is not mounted")                                          \
    X(MCDS_CAUSE_CALLBACK_FAILED, 94, "a function of the program has failed")                  \
    /* Of files */                                                                             \
    X(MCDS_CAUSE_DISK_FULL, 100, "the disk, or a quota on it, is full")                        \
    X(MCDS_CAUSE_FILE_LIMIT, 101, "the limit of this process for file sizes is reached")       \
    X(MCDS_CAUSE_DISK_ERROR, 102, "the disk reports an error")                                 \
    X(MCDS_CAUSE_NO_PERMISSION, 103, "no permission for a file")                               \
    X(MCDS_CAUSE_READ_ONLY, 104, "the disk is mounted read-only")                              \
    X(MCDS_CAUSE_NO_DIRECTORY, 105, "the directory does not exist")                            \
    X(MCDS_CAUSE_WRONG_FILE, 106, "the file is of another kind or of another owner")           \
    X(MCDS_CAUSE_FILE_EXISTS, 107, "the file exists already")                                  \
    X(MCDS_CAUSE_FILE_REPLACED, 108, "the file was removed or replaced")                       \
    X(MCDS_CAUSE_OTHER_VERSION, 109,                                                           \
      "another version of mcds or LMDB uses or has written the file")                          \
    X(MCDS_CAUSE_OTHER_CONTAINER, 110, "the file is open in another container")
/* clang-format on */

typedef enum mcds_cause {
#define MCDS_CAUSE_ENUM(name, code, text) name = code,
    MCDS_CAUSE_MAP(MCDS_CAUSE_ENUM)
#undef MCDS_CAUSE_ENUM
} mcds_cause;

/* Name of a cause: "MCDS_CAUSE_TIMEOUT" for MCDS_CAUSE_TIMEOUT; "?" for any other number. */
MCDS_API const char *mcds_cause_name(int cause);

/* A failure in its parts, of which mcds_errmsg() is made. No text is NULL; "" is unknown. */
typedef struct mcds_error {
    size_t size; /* sizeof(mcds_error) of the library that is loaded */
    int result;  /* 0: this thread has had no failure */
    mcds_cause cause;
    int os_error;       /* errno of the system call that failed, or 0 */
    const char *noun;   /* "counter", "lock", ..., "store", "pipeline" */
    const char *name;   /* of the structure, as given to open */
    const char *verb;   /* "add", "get", ...; "" while something is opened */
    const char *option; /* the argument or the member of the options concerned: "stripes" */
    const char
        *wanted; /* OPTION_DIFFERS: what the handle was opened with; ARGUMENT_MISSING: what
                           the call needs; else what is allowed */
    const char
        *found; /* OPTION_DIFFERS: what the structure was made with; else what was given */
    int64_t wanted_min; /* the same as numbers, where they are numbers; else 0 */
    int64_t wanted_max;
    int64_t found_number;
    const char *peer; /* the server or file that the failure came from */
    const char
        *reason; /* the cause in one clause: the sentence without noun, name, verb, peer */
} mcds_error;

/* This thread's last failure; never NULL. It is the one that mcds_errmsg() describes, and both are
 * replaced together: a call with a negative result sets them, mcds_pipeline_next() and
 * mcds_pipeline_poll() where the completion that they return has a negative result. Valid, with all
 * its texts, until this thread's next call; copy what is needed longer. No other thread changes it.
 * Cost: none; it needs no memory. A library that is newer than the program may have more members at
 * the end, an older one fewer: then `size` is smaller. */
MCDS_API const mcds_error *mcds_last_error(void);

/* Environment. */

/* Source of time, random bytes, sleep and memory. Tests replace it. A function that is NULL is the
 * operating system's. The functions are called from any thread that uses the store. */
typedef struct mcds_env {
    size_t size; /* sizeof(mcds_env) */
    void *self;  /* passed to each function of this struct that is not NULL */
    /* Nanoseconds of a clock that never runs backwards and keeps running during suspend. */
    int64_t (*monotonic_ns)(void *self);
    /* Nanoseconds since 1970-01-01 UTC. */
    int64_t (*wall_ns)(void *self);
    void (*random)(void *self, void *out, size_t length);
    void (*sleep_until_ns)(void *self, int64_t monotonic_ns);
    /* As realloc(3); length 0 frees and returns NULL. */
    void *(*reallocate)(void *self, void *memory, size_t length);
} mcds_env;
#define MCDS_ENV_INIT                                                                          \
    {                                                                                          \
        sizeof(mcds_env), NULL, NULL, NULL, NULL, NULL, NULL                                   \
    }

/* The operating system's clocks, randomness and memory. */
MCDS_API const mcds_env *mcds_env_system(void);

/* Bytes. */

/* Bytes that the caller owns. */
typedef struct mcds_bytes {
    const void *at;
    size_t length;
} mcds_bytes;

/* The bytes of a C string without the terminating NUL; NULL gives no bytes. */
static inline mcds_bytes mcds_text(const char *text)
{
    mcds_bytes bytes = {text, 0};
    while (text != NULL && text[bytes.length] != '\0')
        bytes.length++;
    return bytes;
}

/* Buffer for bytes that a call reads. Begin with MCDS_VALUE_INIT, pass it to any number of calls,
 * one at a time, and free it with mcds_value_free(). It grows as needed; each call replaces its
 * content. */
typedef struct mcds_value {
    uint8_t *at;
    size_t length;
    /* private */
    size_t room;
    void *self;
    void *(*reallocate)(void *self, void *memory, size_t length);
} mcds_value;
#define MCDS_VALUE_INIT                                                                        \
    {                                                                                          \
        NULL, 0, 0, NULL, NULL                                                                 \
    }

/* Frees the memory. The value is empty and may be used again. NULL is allowed. */
MCDS_API void mcds_value_free(mcds_value *value);

/* Stores. */

typedef struct mcds_store mcds_store;

typedef struct mcds_options {
    size_t size;    /* sizeof(mcds_options) */
    const char *ns; /* prefix of all keys, 0..32 bytes of a-z A-Z 0-9 _ - .; NULL = "mcds" */
    uint32_t
        timeout_ms; /* of each whole operation; 0 = 1000; at most 3 600 000. Where a call says
                            that it applies to each round trip, the call ends after 1 024 of
                            them in which it showed, saved or stored nothing */
    /* NULL = mcds_env_system(). The struct is copied; what its functions use must outlive the
     * store, everything opened on it, and each mcds_value that it has filled. */
    const mcds_env *env;
} mcds_options;
#define MCDS_OPTIONS_INIT                                                                      \
    {                                                                                          \
        sizeof(mcds_options), NULL, 0, NULL                                                    \
    }

/* Opens the store that a URI names:
 *
 *   memory:            in this process, private to this handle
 *   memory:NAME        in this process, shared by all handles opened with this name
 *   lmdb:PATH          one durable file (with PATH-lock and PATH-writer next to it), shared by
 *                      the processes of a machine
 *   memcached://HOST[:PORT][*WEIGHT][,HOST...]      a cluster; [::1]:11211 for IPv6
 *   memcached:///run/memcached.sock[*WEIGHT][,...]  unix sockets
 *
 * Options after `?`, joined by `&`: ns=, timeout= (ms) for all;
 *   memory: strict=1 (emulate the worst behaviour that memcached permits), bytes=N (evict beyond
 *   N bytes)
 *   lmdb: sync=full|async, map_max= (largest size of the file in bytes), mode= (octal; permissions
 *   of new files whatever the umask is; default 0600). Users who may write a store's files can
 *   take over each other's programs through them: use mode=0660 only for users who trust each
 *   other fully.
 *   memcached: protocol=auto|meta|classic, connect_timeout= (ms; default 250; where a name has an
 *   IPv6 and an IPv4 address, the first one tried gets half of it), placement=ketama_weighted (as
 *   most clients) | ketama | modula (libmemcached's older rules), hash=one_at_a_time|md5 for
 *   these two, connections=1..4 (of each pipeline and each waiting thread to each server;
 *   default 1. Keys are spread over them, so that several threads of the server work for a deep
 *   pipeline)
 * An option of the URI takes precedence over `options`.
 *
 * A host name means one server. It may have one IPv6 and one IPv4 address, which are taken for the
 * same server: IPv6 is tried first, unless it did not answer the last time. Calls that need a name
 * with several addresses of one family are refused: two clients could use different servers for
 * one key.
 *
 * memcached: mcds_open() does not use the network; calls report a server that is down. lmdb:
 * mcds_open() opens the files. It overwrites nothing that is not its own: it refuses a symbolic
 * link (at PATH one of this user or of root is followed), a file of another kind or a file with
 * other contents at PATH, PATH-lock or PATH-writer, a file that was cut short, and a file that is
 * open in another pid namespace (another container). A user who may read PATH and may write neither
 * it nor PATH-lock reads a copy in memory, as of the opening. Both need /proc.
 *
 * One wait is not bounded by any timeout of the store: a call that connects to a memcached server
 * given by name calls getaddrinfo(3), which waits as long as the system's resolver does
 * (resolv.conf(5); 5 s for each name server that does not answer). Addresses are not looked up.
 *
 * Returns  MCDS_OK, MCDS_INVALID (the sentence names the part of the URI), MCDS_IO,
 *          MCDS_UNSUPPORTED (built without this kind of store), MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_open(const char *uri, const mcds_options *options,
                                    mcds_store **store_out);

/* Closes this handle of the store. NULL is allowed. Structures and pipelines that are open on it
 * keep working; the connections and the file are closed with the last of them. Nothing is erased,
 * except the content of a memory: store when its last handle is closed. */
MCDS_API void mcds_close(mcds_store *store);

/* Limits each operation that begins from now on to `timeout_ms` where the store's timeout is longer;
 * 0 ends the limit. For a caller with a deadline of its own. No operation may be in flight on this
 * handle of the store. */
MCDS_API void mcds_limit_timeout(mcds_store *store, uint32_t timeout_ms);

/* A structure that exists in the store. */
typedef struct mcds_listed {
    const char *noun; /* "counter", "lock", ... */
    const char *name; /* as given at open; "~..." where the store only has a hash of it */
} mcds_listed;
/* Lists the structures in the store's namespace: calls `visit` once for each, in no order, until
 * visit returns false. On memcached it is slow and may miss some: for people, not for programs. A
 * server that fails hides no other: the call visits what the others have, and then returns the
 * failure, whose sentence names each server that failed. Servers are greeted at the same time, so
 * many that are silent take no longer than one. */
MCDS_API MCDS_CHECKED int
mcds_catalogue(mcds_store *store, bool (*visit)(void *context, const mcds_listed *listed),
               void *context);

typedef enum mcds_severity { MCDS_FACT, MCDS_ADVICE, MCDS_PROBLEM } mcds_severity;
typedef struct mcds_finding {
    mcds_severity severity;
    const char *subject; /* the server, file or setting */
    const char *what;    /* one sentence */
    const char *fix;     /* what to do, or "" for a fact */
} mcds_finding;
/* Describes the store and reports problems: one call of `visit` for each finding, until visit
 * returns false. The strings are valid during the visit. */
MCDS_API MCDS_CHECKED int
mcds_inspect(mcds_store *store, bool (*visit)(void *context, const mcds_finding *finding),
             void *context);

/* Copies a whole lmdb: store, all namespaces, as of one moment, while other processes use it. The
 * copy is an lmdb: file with mode 0600 and is synced to the disk before the call returns. Open it
 * as a store of its own. Or restore it: close the store in every program and replace PATH. While a
 * program still has it open, the replaced file is refused. cp of a file in use makes a damaged copy.
 * The call blocks as long as the disk takes. Writers continue meanwhile, except while this process
 * enlarges the store's map.
 *
 * path      of a new file; an existing file is not overwritten
 * Returns   MCDS_OK, MCDS_UNSUPPORTED (another kind of store), MCDS_FULL (no room for the copy),
 *           MCDS_TIMEOUT (a writer is stopped), MCDS_IO, MCDS_INVALID. A failed call leaves no
 *           copy. */
MCDS_API MCDS_CHECKED int mcds_backup(mcds_store *store, const char *path);

/* Pipelines. */

/* Many operations of any structures of one store in flight at once. Their requests travel
 * together: one write per server carries all of them. Operations are unordered, as those of
 * different threads are. To order two, take the completion of the first before starting the
 * second.
 *
 *   for (uint64_t i = 0; i < count; i++) {
 *       result = mcds_counter_add_start(counter, 1, NULL, pipeline, i);
 *       ...
 *       while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
 *           take(done.tag, done.result);
 *   }
 *   while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
 *       take(done.tag, done.result);
 *
 * The polling loop may be left out: the results are then kept until the end. examples/tally is a
 * whole program. */
typedef struct mcds_pipeline mcds_pipeline;

typedef struct mcds_pipeline_options {
    size_t size;       /* sizeof(mcds_pipeline_options) */
    uint32_t depth;    /* most operations in flight, 1..65536; 0 = 128 */
    uint32_t reserved; /* 0 */
} mcds_pipeline_options;
#define MCDS_PIPELINE_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(mcds_pipeline_options), 0, 0                                                    \
    }

typedef struct mcds_completion {
    uint64_t tag;
    int result;
} mcds_completion;

MCDS_API MCDS_CHECKED int mcds_pipeline_open(mcds_store *store,
                                             const mcds_pipeline_options *options,
                                             mcds_pipeline **pipeline_out);
/* Closes the pipeline. NULL is allowed. Operations in flight may or may not be applied; their
 * completions are not returned. Must not be called from a callback of an operation of this
 * pipeline. */
MCDS_API void mcds_pipeline_close(mcds_pipeline *pipeline);

/* Waits for the next finished operation. X_start collects requests; they are sent by this call, or
 * by X_start when it has collected about half of `depth` (memory: and lmdb: all of it). X_start
 * waits while `depth` operations are unfinished. For a failed operation, mcds_errmsg() returns the
 * reason after this call.
 * Returns  MCDS_OK: *done is filled; MCDS_IDLE: nothing in flight; MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_pipeline_next(mcds_pipeline *pipeline, mcds_completion *done);

/* Same as mcds_pipeline_next without waiting: MCDS_BUSY when no operation has finished yet. A caller
 * that starts operations between its polls has more to send: collected requests are then kept for up
 * to 1 ms of polling. The second of two polls in a row sends them, and so does mcds_pipeline_prepare.
 */
MCDS_API MCDS_CHECKED int mcds_pipeline_poll(mcds_pipeline *pipeline, mcds_completion *done);

/* True when no operation is in flight and no completion is left to take. */
MCDS_API bool mcds_pipeline_is_idle(const mcds_pipeline *pipeline);

/* Time at which the pipeline must run again without a reply: the next sleeping operation resumes,
 * or now (0) when requests are unsent or completions are left to take. INT64_MAX: never. */
MCDS_API int64_t mcds_pipeline_wake_ns(const mcds_pipeline *pipeline);

/* What an event loop waits for before it calls mcds_pipeline_poll again. */
typedef struct mcds_wait {
    size_t size;     /* sizeof(mcds_wait) */
    int fd;          /* readable when there is something to do; the same as long as the pipeline
                        is open; -1: there is none, because poll does everything itself */
    int timeout_ms;  /* wait no longer than this; -1: for fd alone */
    int64_t wake_ns; /* the same as a time of the monotonic clock; INT64_MAX: fd alone */
} mcds_wait;
#define MCDS_WAIT_INIT                                                                         \
    {                                                                                          \
        sizeof(mcds_wait), -1, -1, 0                                                           \
    }
/* Sends the collected requests and fills *wait_out. Call it before each wait, in the thread of the
 * pipeline. mcds_poll.h, mcds_uv.h and mcds_event.h do this for poll(), libuv and libevent. */
MCDS_API void mcds_pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait_out);

/* Counters. */

/* A number that many handles add to. One key (or `stripes` keys); the number in memcached's own
 * text form, the second in which the key was made in the client flags.
 *
 * Promise: at most once. An add whose reply was lost is MCDS_AMBIGUOUS and is not repeated.
 *
 * With MCDS_COUNTER_EXACT: exactly once, even if replies are lost, connections break and writers
 * die. The handle sums its adds and writes the sum to the store in one round trip (a flush). The
 * value may go up and down.
 *  - An add is as durable as the store when a flush that began after it has returned MCDS_OK. An
 *    add flushes when `flush_ms` have passed since the last flush; mcds_counter_flush flushes at
 *    any time. No background thread flushes.
 *  - Adds that were not flushed are lost when the process ends. What a failed flush leaves in the
 *    handle is written once by the next flush: do not add it again.
 *  - When a server has lost the counter, each open handle restores what it has added since it was
 *    opened (or since it was last idle for a minute). The adds of closed handles are lost, and
 *    `reborn` is set.
 *  - Each flushing handle is a writer with its own key, up to 63; further handles share keys and
 *    need more round trips.
 * With `copies` = R the counter is kept on R servers. A flush succeeds when a majority has stored
 * it, a read when a majority has answered. Any minority of the servers may be killed and restart
 * empty without loss. The next get fills a server that restarted empty; until then it counts as
 * unavailable. */
typedef struct mcds_counter mcds_counter;

typedef enum mcds_counter_flag {
    /* Deltas and the value may be negative. Plain counters only grow: a negative delta is
     * MCDS_INVALID. Each form reads and adds to counters that the other has made. */
    MCDS_COUNTER_SIGNED = 1,
    /* MCDS_LOST when the key of a counter that this handle has seen is gone or was made again.
     * Costs one more request in the same round trip. */
    MCDS_COUNTER_STRICT = 2,
    /* Each add counts exactly once; see above. */
    MCDS_COUNTER_EXACT = 4
} mcds_counter_flag;

typedef struct mcds_counter_options {
    size_t size;    /* sizeof(mcds_counter_options) */
    uint32_t flags; /* mcds_counter_flag */
    /* 1..32 keys that share the load; 0 = 1. Stored with the counter. On a handle with another
     * number the first call returns MCDS_INVALID; MCDS_CORRUPT on a handle with 1. */
    uint32_t stripes;
    /* The counter expires so long after it was made, at most 366 days; 0 = never. */
    uint64_t ttl_ms;
    /* Only for EXACT, which has no stripes and no ttl: */
    uint32_t copies; /* 1..7 servers; 0 = 1. More than 1 implies EXACT. */
    /* An add flushes when so much time has passed since the last flush, at most 3 600 000; 0 = 100;
     * MCDS_COUNTER_FLUSH_EACH: each add flushes. */
    uint32_t flush_ms;
} mcds_counter_options;
#define MCDS_COUNTER_FLUSH_EACH UINT32_MAX
#define MCDS_COUNTER_OPTIONS_INIT                                                              \
    {                                                                                          \
        sizeof(mcds_counter_options), 0, 0, 0, 0, 0                                            \
    }

#define MCDS_COUNTER_MAX (INT64_C(1) << 61) /* |value| and |delta| stay below */

typedef struct mcds_counter_value {
    size_t size; /* sizeof(mcds_counter_value) */
    int64_t value;
    uint32_t since_s; /* second (Unix time) in which the oldest stripe was made; EXACT: 0 */
    bool reborn;      /* lost and made again since this handle saw it: counts are lost */
    bool reserved[3];
} mcds_counter_value;
#define MCDS_COUNTER_VALUE_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_counter_value), 0, 0, false,                                               \
        {                                                                                      \
            false, false, false                                                                \
        }                                                                                      \
    }

MCDS_API MCDS_CHECKED int mcds_counter_open(mcds_store *store, const char *name,
                                            const mcds_counter_options *options,
                                            mcds_counter **counter_out);
/* Closes the handle. NULL is allowed. EXACT: tries to flush what is left and to free the writer's
 * key for other handles; takes at most the store's timeout. It does not report failure: call
 * mcds_counter_flush first. With operations in flight this happens when the last completion is
 * taken or its pipeline is closed. */
MCDS_API void mcds_counter_close(mcds_counter *counter);

/* Reads what a counter was made with: stripes, copies and the flag EXACT. The other options stay as
 * they are, so that the counter can be opened with them. Cost 1.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such counter; MCDS_CORRUPT, MCDS_UNSUPPORTED: made by a newer
 *          version; MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_counter_made_with(mcds_store *store, const char *name,
                                                 mcds_counter_options *options);

/* Adds `delta`. Makes the counter when it does not exist.
 * delta      |delta| < MCDS_COUNTER_MAX; negative only with SIGNED or EXACT.
 * value_out  the value directly after this add. May be NULL; must be NULL for striped and EXACT
 *            counters.
 * Cost       1; one more for the add that makes the counter, for the first subtraction of a handle
 *            that has not seen the counter, and for a handle's first add to stripes. EXACT: 0, or
 *            that of a flush.
 * Returns    MCDS_OK: counted once.
 *            MCDS_AMBIGUOUS: a reply was lost; counted once or not at all. Not repeated.
 *            MCDS_OVERFLOW: the value would leave its range; not counted.
 *            MCDS_CORRUPT: the key does not hold a number.
 *            MCDS_LOST: STRICT: the counter was lost since this handle saw it. SIGNED: the counter
 *            was lost and made again without SIGNED; the subtraction stopped at zero.
 *            MCDS_BUSY: the key vanished again and again.
 *            MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL, MCDS_INVALID
 * EXACT      FLUSH_EACH: MCDS_OK: counted, and in the store. MCDS_AMBIGUOUS: counted in the
 *            handle; the flush failed after the sum was sent, or another flush of this handle did
 *            not end. Others: nothing was sent, and the add is not counted.
 *            Otherwise: MCDS_OK: counted in the handle. MCDS_OVERFLOW: not counted.
 *            The range is that of the sum of one handle. Where the sums of several handles leave
 *            it together, mcds_counter_get returns MCDS_OVERFLOW until an add brings the value back.
 *            MCDS_INVALID, MCDS_UNSUPPORTED, MCDS_CORRUPT: counted in the handle; the flush found
 *            that this counter cannot be used with these options. */
MCDS_API MCDS_CHECKED int mcds_counter_add(mcds_counter *counter, int64_t delta,
                                           int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_add_start(mcds_counter *counter, int64_t delta,
                                                 int64_t *value_out, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* EXACT: writes to the store everything that any thread added before this call.
 * Cost     1; 2 for a handle's first flush, 3 for the first flush of the counter; 0 when there is
 *          nothing to write. More while others write to the same key.
 * Returns  MCDS_OK: all of it is in the store. Also for counters that are not EXACT.
 *          MCDS_AMBIGUOUS: a part may be in the store; the handle keeps the rest. Call again.
 *          MCDS_TIMEOUT, MCDS_UNAVAILABLE (too few servers), MCDS_FULL, MCDS_BUSY (others kept
 *          changing the key): nothing was written; the handle keeps it.
 *          MCDS_INVALID (the counter was made without EXACT, or with other copies),
 *          MCDS_UNSUPPORTED, MCDS_CORRUPT */
MCDS_API MCDS_CHECKED int mcds_counter_flush(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_flush_start(mcds_counter *counter,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Reads the value. Striped and EXACT: the sum lies between the true values at the beginning and at
 * the end of the call. EXACT: includes what this handle has not flushed, and excludes what other
 * handles have not flushed.
 * Cost     1.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: never made, or lost before this handle saw it; MCDS_LOST: this
 *          handle saw it and it is gone (STRICT: or was made again); MCDS_CORRUPT, MCDS_OVERFLOW,
 *          MCDS_TIMEOUT, MCDS_UNAVAILABLE */
MCDS_API MCDS_CHECKED int mcds_counter_get(mcds_counter *counter,
                                           mcds_counter_value *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_get_start(mcds_counter *counter,
                                                 mcds_counter_value *value_out,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Reads the value and sets it to zero by compare-and-set, so that no add is lost and concurrent
 * takers get different parts. EXACT: MCDS_UNSUPPORTED, because two takers could get the same part.
 * taken_out  what was taken; after MCDS_AMBIGUOUS, what may have been taken.
 * Cost       2.
 * Returns    as add, and MCDS_NOT_FOUND */
MCDS_API MCDS_CHECKED int mcds_counter_take(mcds_counter *counter, int64_t *taken_out);
MCDS_API MCDS_CHECKED int mcds_counter_take_start(mcds_counter *counter, int64_t *taken_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the counter. EXACT: other open handles write their part again. Cost 2. Returns MCDS_OK,
 * MCDS_NOT_FOUND, MCDS_AMBIGUOUS, ...; nothing is erased where a counter of another form is:
 * MCDS_INVALID, MCDS_CORRUPT on a handle with one stripe. */
MCDS_API int mcds_counter_drop(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_drop_start(mcds_counter *counter,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Locks. */

/* A lock with leases: one holder at a time in the store, until it releases or its lease expires.
 *
 * No lock with a time limit stops a suspended process from resuming too late. Therefore every
 * acquisition gets a fence, a number larger than every earlier fence of the lock. Pass it to the
 * resource that the lock protects, and let that resource refuse smaller fences. A server that
 * evicts or restarts can forget a lease; the next holder still gets a larger fence, and the old
 * holder gets MCDS_LOST.
 * The holder has all of lease_ms, less a margin for clocks. memcached may forget a key up to 2 s
 * early, so there the server keeps the lease 2 s longer: after a crash others wait up to 2 s more.
 * Source: leases, Gray and Cheriton, SOSP 1989. */
typedef struct mcds_lock mcds_lock;

typedef struct mcds_lock_options {
    size_t size;       /* sizeof(mcds_lock_options) */
    uint32_t lease_ms; /* 3 000 (memcached) or 50 (others) to 86 400 000; 0 = 15 000 */
    const char *label; /* names the holder to others; 0..200 bytes; NULL = "" */
} mcds_lock_options;
#define MCDS_LOCK_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_lock_options), 0, NULL                                                     \
    }

/* One tenure of the lock. The caller owns it and begins with MCDS_LEASE_INIT. Used by one thread
 * at a time. Passed to X_start, it must live until the tag is returned. */
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
    uint32_t reserved[5];
} mcds_lease;
#define MCDS_LEASE_INIT                                                                        \
    {                                                                                          \
        0, 0, {0, 0}, 0, 0, 0, 0, 0,                                                           \
        {                                                                                      \
            0, 0, 0, 0, 0                                                                      \
        }                                                                                      \
    }

typedef struct mcds_lock_holder {
    size_t size; /* sizeof(mcds_lock_holder) */
    /* Newest fence drawn: the holder's, or that of a later attempt; 0: the store has lost it. */
    uint64_t fence;
    /* The lease ends within this time unless it is renewed; -1: the store does not report it. */
    int64_t remaining_ms;
    char label[208]; /* with a terminating NUL */
} mcds_lock_holder;
#define MCDS_LOCK_HOLDER_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_lock_holder), 0, 0, ""                                                     \
    }

MCDS_API MCDS_CHECKED int mcds_lock_open(mcds_store *store, const char *name,
                                         const mcds_lock_options *options,
                                         mcds_lock **lock_out);
MCDS_API void mcds_lock_close(mcds_lock *lock);

/* Tries once to acquire the lock. When a reply is lost, the call retries with the same token until
 * the timeout, so that a lost reply cannot lock the caller out.
 * lease     empty, or that of an acquisition that was MCDS_AMBIGUOUS.
 * Cost      1; one more for the first acquisition of this name ever, and for one soon after a
 *           release where the store cannot compare and delete (classic servers).
 * Returns   MCDS_OK: the caller holds the lock until lease->deadline_ns.
 *           MCDS_BUSY: another holder has it.
 *           MCDS_AMBIGUOUS: a reply was lost; the caller may hold the lock, or may get it later.
 *           Call again with the same lease, or release it.
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_CORRUPT, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Tries until the caller holds the lock or wait_ms (at most 86 400 000) have passed, also while the
 * server does not answer or is down. While another holder has the lock, the call polls it with one
 * small read at intervals with jitter. It takes at most wait_ms and the store's timeout. Returns as
 * mcds_lock_try_acquire. */
MCDS_API MCDS_CHECKED int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms,
                                            mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms,
                                                  mcds_lease *lease, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Extends the lease by lease_ms from now.
 * Cost      1; 2 when the connection has changed since.
 * Returns   MCDS_OK: lease->deadline_ns is the new deadline.
 *           MCDS_LOST: the lease had ended and another may have held the lock since; the lease is
 *           now empty.
 *           MCDS_EXPIRED: the deadline has passed on this machine; the store was not asked.
 *           MCDS_AMBIGUOUS: a reply was lost; the old deadline holds.
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE: not renewed; the old deadline holds. */
MCDS_API MCDS_CHECKED int mcds_lock_renew(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Releases the lock. Never touches the lease of another holder.
 * Cost      1; 2 when the connection has changed since.
 * Returns   MCDS_OK: released; the lease had not ended before. The lease is empty.
 *           MCDS_LOST: the lease had ended before, also where renew or release returned MCDS_LOST
 *           for it already; the caller's work may have overlapped with another holder's. The lease
 *           is empty.
 *           MCDS_AMBIGUOUS: a reply was lost. The lock may have been released, may still be, or
 *           the lease had ended before. The caller must not use the lock any more. Call again
 *           until the result is another one, or let the lease expire; MCDS_LOST then means that
 *           there is nothing left to release.
 *           MCDS_TIMEOUT, MCDS_UNAVAILABLE: still held; call again or let the lease expire. */
MCDS_API MCDS_CHECKED int mcds_lock_release(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_release_start(mcds_lock *lock, mcds_lease *lease,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Milliseconds until lease->deadline_ns; 0 when it has passed or the lease is empty. No I/O. */
MCDS_API int64_t mcds_lock_remaining_ms(const mcds_lock *lock, const mcds_lease *lease);

/* Reads the current holder. Cost 1. Returns MCDS_OK; MCDS_NOT_FOUND: the lock is free;
 * MCDS_CORRUPT, MCDS_TIMEOUT, MCDS_UNAVAILABLE */
MCDS_API MCDS_CHECKED int mcds_lock_holder_get(mcds_lock *lock, mcds_lock_holder *holder_out);
MCDS_API MCDS_CHECKED int mcds_lock_holder_get_start(mcds_lock *lock,
                                                     mcds_lock_holder *holder_out,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Takes the lock from its holder, which gets MCDS_LOST. The fence is kept and keeps growing. Cost 1.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: the lock is free; MCDS_AMBIGUOUS; failures as try_acquire */
MCDS_API int mcds_lock_break(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_break_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Erases a free lock with its fence, which is otherwise kept for ever. The next acquisition takes
 * its fence from the clock of its machine: that fence is larger than every earlier one where clocks
 * differ by less than a minute. For that reason a fence that is younger than a minute is erased
 * when it is a minute old, also if the lock is used meanwhile.
 * Cost     4; 5 where the store cannot compare and delete (classic servers).
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such lock; MCDS_BUSY: it is held; MCDS_INVALID: its fence is
 *          far ahead of this machine's clock, so the next one would be smaller; MCDS_AMBIGUOUS:
 *          erased or not: call again, and this call may hold it until a lease is over; failures
 *          as try_acquire */
MCDS_API int mcds_lock_drop(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_drop_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* What visitors and online store about each visitor. */
typedef enum mcds_members {
    /* A number, and for a while a mark for each visitor. A visitor counts at most once: a lost
     * reply may leave one uncounted. */
    MCDS_MEMBERS_NONE = 0,
    /* The visitors themselves. Each counts exactly once, and a call may be repeated. Reading visits
     * all of them. */
    MCDS_MEMBERS_EXACT = 1,
    /* 4096 registers (HyperLogLog). The counts are estimates with a standard error of 1.6 %, and
     * an interval takes about 30 KB for any number of visitors. A call may be repeated. */
    MCDS_MEMBERS_ESTIMATED = 2
} mcds_members;

/* Visitors. */

/* Number of visitors in each period of fixed length. Each period has its own key, named by its
 * absolute number and never used again, so the counts do not depend on when a key expires.
 *
 * Promise: at most once, as a counter. A hit close to the edge of a period may count in the
 * neighbouring period, if it is closer than the clocks of the machines differ.
 *
 * Period and members are stored with the visitors. On a handle with other options the first call
 * returns MCDS_INVALID and changes nothing. */
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
    size_t size;      /* sizeof(mcds_visitors_value) */
    uint64_t closed;  /* in the last complete period */
    uint64_t current; /* in the current period so far */
    /* In the period_ms before now: closed * (1 - part) + current, where part is the elapsed part
     * of the current period. */
    double estimate;
    /* One standard deviation of estimate if arrivals are even; the largest possible error is
     * closed * max(part, 1 - part). */
    double error;
    bool provisional; /* closed may still grow: its period ended less than settle_ms ago */
    bool reborn; /* a key was lost and made again since this handle saw it: hits are lost */
    bool reserved[6];
} mcds_visitors_value;
#define MCDS_VISITORS_VALUE_INIT                                                               \
    {                                                                                          \
        sizeof(mcds_visitors_value), 0, 0, 0, 0, false, false,                                 \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

MCDS_API MCDS_CHECKED int mcds_visitors_open(mcds_store *store, const char *name,
                                             const mcds_visitors_options *options,
                                             mcds_visitors **visitors_out);
MCDS_API void mcds_visitors_close(mcds_visitors *visitors);

/* Reads the period and the members. Cost and returns as mcds_counter_made_with. */
MCDS_API MCDS_CHECKED int mcds_visitors_made_with(mcds_store *store, const char *name,
                                                  mcds_visitors_options *options);

/* Counts a visit.
 * visitor  name of the visitor, 1 to 1024 bytes, copied. It counts once per period, over all
 *          handles and machines. NULL: every call counts.
 * at_ms    time of the visit (Unix time); 0 = now.
 * Cost     1 without visitor or for one that was counted before; 2 for a new one. One more for the
 *          first hit of a period. One or two more for a handle's first call, and again every three
 *          periods, to check the settings.
 * Returns  MCDS_OK: counted; MCDS_EXISTS: this visitor was counted before; MCDS_AMBIGUOUS: counted
 *          once or not at all; MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_INVALID, ...
 *          If the caller crashes between the two round trips, that visitor stays uncounted.
 * Members  `visitor` must not be NULL. Cost 1, up to 3 for a handle's first two calls in a period;
 *          0 where ESTIMATED knows that nothing changes. MCDS_OK and MCDS_EXISTS: the visitor is
 *          counted; ESTIMATED: MCDS_EXISTS when the estimate did not change. After MCDS_AMBIGUOUS
 *          and any failure the call may be repeated; the visitor then counts once. MCDS_LOST: the
 *          store has lost the key that would hold this visitor, and others with it; they cannot be
 *          counted before the period ends or is dropped, and mcds_visitors_get reports `reborn`. */
MCDS_API MCDS_CHECKED int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor,
                                            int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor,
                                                  int64_t at_ms, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Reads the period of at_ms (0 = now) and the one before it. A period without hits is 0.
 * Cost     1; one more for a handle's first call, and again every three periods. Members: 1 per 64
 *          keys of a period; a key holds about 40 visitors.
 * Members  ESTIMATED: `error` includes the error of the estimate. */
MCDS_API MCDS_CHECKED int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms,
                                            mcds_visitors_value *value_out);
MCDS_API MCDS_CHECKED int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                                                  mcds_visitors_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the period of at_ms (0 = now) and the one before it. The marks of counted visitors stay
 * until they expire, so those visitors do not count again in these periods. When the current
 * period is erased, so are the settings: the visitors may then be opened with other options. Cost
 * as get. */
MCDS_API int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Online. */

/* Number of visitors that were active within the last `buckets` buckets of `width_ms`, the window.
 * A visitor that stays active is counted in exactly one bucket of each window, so the number does
 * not dip and no visitor counts twice. Buckets, width and members are stored and checked as the
 * options of visitors are. */
typedef struct mcds_online mcds_online;

typedef struct mcds_online_options {
    size_t size;       /* sizeof(mcds_online_options) */
    uint32_t buckets;  /* 1..32; 0 = 5 */
    uint32_t width_ms; /* 1 000 to 86 400 000; 0 = 60 000 */
    uint32_t members;  /* mcds_members */
    uint32_t reserved; /* 0 */
} mcds_online_options;
#define MCDS_ONLINE_OPTIONS_INIT                                                               \
    {                                                                                          \
        sizeof(mcds_online_options), 0, 0, 0, 0                                                \
    }

typedef struct mcds_online_value {
    size_t size;     /* sizeof(mcds_online_value) */
    uint64_t closed; /* active in the last `buckets` complete buckets */
    /* Active so far in the current bucket. Without members: only those that no earlier bucket of
     * the window has counted, so closed + current counts each visitor of the window once. */
    uint64_t current;
    double estimate; /* in the window that ends now; the oldest bucket counts in part */
    double error;    /* one standard deviation of estimate if arrivals are even */
    bool reborn;     /* as in mcds_visitors_value */
    bool reserved[7];
} mcds_online_value;
#define MCDS_ONLINE_VALUE_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_online_value), 0, 0, 0, 0, false,                                          \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

MCDS_API MCDS_CHECKED int mcds_online_open(mcds_store *store, const char *name,
                                           const mcds_online_options *options,
                                           mcds_online **online_out);
MCDS_API void mcds_online_close(mcds_online *online);

/* Reads buckets, width and members. Cost and returns as mcds_counter_made_with. */
MCDS_API MCDS_CHECKED int mcds_online_made_with(mcds_store *store, const char *name,
                                                mcds_online_options *options);

/* Reports that `visitor` (1 to 1024 bytes, copied) is active at at_ms (Unix time; 0 = now).
 * Cost     1 when this window has counted the visitor; 2 to 3 once per window; one more for the
 *          first beat of a bucket.
 * Returns  MCDS_OK: counted now; MCDS_EXISTS: this window has counted it; MCDS_AMBIGUOUS: counted
 *          once or not at all; MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_INVALID, ...
 * Members  cost and results as those of mcds_visitors_hit, with buckets as periods. */
MCDS_API MCDS_CHECKED int mcds_online_beat(mcds_online *online, const char *visitor,
                                           int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_beat_start(mcds_online *online, const char *visitor,
                                                 int64_t at_ms, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Reads the window that ends at at_ms (0 = now).
 * Cost     1; one more for a handle's first call, and again after each window. Members: as
 *          mcds_visitors_get, for each bucket of the window.
 * Members  a visitor of several buckets counts once. */
MCDS_API MCDS_CHECKED int mcds_online_count(mcds_online *online, int64_t at_ms,
                                            mcds_online_value *value_out);
MCDS_API MCDS_CHECKED int mcds_online_count_start(mcds_online *online, int64_t at_ms,
                                                  mcds_online_value *value_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the buckets of the window that ends at at_ms (0 = now); with the current bucket, the
 * settings too. Cost as count. */
MCDS_API int mcds_online_drop(mcds_online *online, int64_t at_ms);
MCDS_API MCDS_CHECKED int mcds_online_drop_start(mcds_online *online, int64_t at_ms,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Sets. */

/* Elements that many handles add and remove, in any number. Each change appends one record to a
 * key, and keys split as they grow: so a change takes one round trip whether the set holds ten
 * elements or ten million, and no change waits for another.
 *
 * Promise: exactly once. A change whose reply was lost is repeated with the same id until the
 * timeout; MCDS_AMBIGUOUS only where that does not decide it. An element is 1 to 1 024 bytes of
 * any value. Source: one record per change, as in the append-only array of the articles; growth as
 * in extendible hashing (Fagin and others, TODS 1979). */
typedef struct mcds_set mcds_set;

typedef enum mcds_set_form {
    MCDS_SET_PLAIN, /* an element is in the set or not */
    MCDS_SET_BAG,   /* each element has a count: additions minus removals, not below 0 */
    /* Each addition has a position; a removal removes the first equal element. The additions of
     * one handle keep their order: within one key (about fifty elements) for any clocks, across
     * keys while the clocks of all writers agree within 30 seconds. Additions of different handles
     * are ordered by the clocks of their writers. */
    MCDS_SET_LIST
} mcds_set_form;

typedef struct mcds_set_options {
    size_t size; /* sizeof(mcds_set_options) */
    /* Stored with the set. On a handle with another form the first call that needs the store
     * returns MCDS_INVALID and changes nothing. */
    mcds_set_form form;
    uint32_t reserved; /* 0 */
} mcds_set_options;
#define MCDS_SET_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_set_options), MCDS_SET_PLAIN, 0                                            \
    }

MCDS_API MCDS_CHECKED int mcds_set_open(mcds_store *store, const char *name,
                                        const mcds_set_options *options, mcds_set **set_out);
MCDS_API void mcds_set_close(mcds_set *set);

/* Reads the form. Cost and returns as mcds_counter_made_with. */
MCDS_API MCDS_CHECKED int mcds_set_made_with(mcds_store *store, const char *name,
                                             mcds_set_options *options);

/* Adds an element. Makes the set when it does not exist.
 * element      1 to 1 024 bytes
 * changed_out  PLAIN: whether the element was absent before; BAG and LIST: always true. NULL:
 *              discarded, which saves reading the key.
 * Cost         1; a handle's first call 2 where it makes the set, else 3. About one call in twenty
 *              also rewrites a key that has grown: 3 to 4 more.
 * Returns      MCDS_OK: added once.
 *              MCDS_AMBIGUOUS: added once, not at all, or not yet; also where the set was dropped
 *              or lost meanwhile.
 *              MCDS_LOST: the part of the set that this element belongs to is gone; not added.
 *              MCDS_UNSUPPORTED: made by a newer version.
 *              MCDS_INVALID, MCDS_CORRUPT, MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL */
MCDS_API MCDS_CHECKED int mcds_set_add(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_add_start(mcds_set *set, mcds_bytes element,
                                             bool *changed_out, mcds_pipeline *pipeline,
                                             uint64_t tag);

/* Removes an element. BAG: subtracts one from its count. LIST: removes the first equal element.
 * changed_out  whether it was present; NULL: discarded.
 * Cost and returns as add. A set that does not exist is not made: MCDS_OK. */
MCDS_API MCDS_CHECKED int mcds_set_remove(mcds_set *set, mcds_bytes element, bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_set_remove_start(mcds_set *set, mcds_bytes element,
                                                bool *changed_out, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Looks for an element.
 * Cost     1; a handle's first call 3, or 1 where there is no set.
 * Returns  MCDS_OK: present; MCDS_NOT_FOUND: absent, or no such set; MCDS_LOST: its part of the set
 *          is gone, or the whole set that this handle has seen; failures as add, but never
 *          MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int mcds_set_has(mcds_set *set, mcds_bytes element);
MCDS_API MCDS_CHECKED int mcds_set_has_start(mcds_set *set, mcds_bytes element,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Visits all elements. PLAIN and BAG: unordered, each element once with its count. LIST: in the
 * order of addition, each occurrence with count 1. `element` is valid during the visit; the visit
 * ends when `visit` returns false. Changes made meanwhile may be seen or not; every other element
 * is seen exactly once. LIST keeps all elements in memory until it has read the last.
 * Cost     1 per 64 keys of about 1 KB. The timeout applies to each round trip.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such set; MCDS_LOST: a part is gone, the rest was visited;
 *          failures as add, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int
mcds_set_fetch(mcds_set *set, bool (*visit)(void *context, mcds_bytes element, uint64_t count),
               void *context);
MCDS_API MCDS_CHECKED int
mcds_set_fetch_start(mcds_set *set,
                     bool (*visit)(void *context, mcds_bytes element, uint64_t count),
                     void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erases the set. Elements added meanwhile may be erased too.
 * Cost     2, and 2 per 64 keys.
 * Returns  MCDS_OK; MCDS_NOT_FOUND; MCDS_AMBIGUOUS: all of it is erased, a part, or nothing; call
 *          again. Failures as add. A drop that fails midway has ended the set: the keys that it
 *          leaves are never read again, and the next drop by the same handle erases them. */
MCDS_API int mcds_set_drop(mcds_set *set);
MCDS_API MCDS_CHECKED int mcds_set_drop_start(mcds_set *set, mcds_pipeline *pipeline,
                                              uint64_t tag);

/* Tables. */

/* Values by key, in any number; each entry is changed on its own. As for sets: one record per
 * change, exactly once, keys that split as they grow. Key and value are one entry: neither is
 * stored without the other. A table key is 1 to 1 024 bytes, a value 0 bytes to a quarter of the
 * store's largest value (256 KB on memcached). Values up to 64 KB perform well. */
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

/* Reads a value (get), or whether the key has one (has).
 * Cost     1; a handle's first call 3, or 1 where there is no table.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such key or table; MCDS_LOST: the part of the table that
 *          the key belongs to is gone; MCDS_CORRUPT, MCDS_TIMEOUT, MCDS_UNAVAILABLE,
 *          MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_table_get(mcds_table *table, mcds_bytes key,
                                         mcds_value *value_out);
MCDS_API MCDS_CHECKED int mcds_table_get_start(mcds_table *table, mcds_bytes key,
                                               mcds_value *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);
MCDS_API MCDS_CHECKED int mcds_table_has(mcds_table *table, mcds_bytes key);
MCDS_API MCDS_CHECKED int mcds_table_has_start(mcds_table *table, mcds_bytes key,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value; replaces the old one. Makes the table when it does not exist.
 * ttl_ms   the entry expires after this time, at most 366 days, by the clocks of writer and reader;
 *          0 = never.
 * Cost     1; a handle's first call 2 to 3. About one call in twenty also rewrites a key that has
 *          grown: 3 to 4 more.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: set once, not at all, or not yet; MCDS_LOST: the part of the
 *          table that the key belongs to is gone, not set; MCDS_TOO_BIG, MCDS_INVALID,
 *          MCDS_CORRUPT, MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL */
MCDS_API MCDS_CHECKED int mcds_table_put(mcds_table *table, mcds_bytes key, mcds_bytes value,
                                         uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_start(mcds_table *table, mcds_bytes key,
                                               mcds_bytes value, uint64_t ttl_ms,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value only where the key has none. Returns MCDS_OK: set; MCDS_EXISTS: the key has a value;
 * otherwise as put. Cost as put. */
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent(mcds_table *table, mcds_bytes key,
                                                   mcds_bytes value, uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_put_if_absent_start(mcds_table *table, mcds_bytes key,
                                                         mcds_bytes value, uint64_t ttl_ms,
                                                         mcds_pipeline *pipeline, uint64_t tag);

/* Sets a value only where the key has the value `expected`. Returns MCDS_OK: set; MCDS_EXISTS: the
 * key has another value; MCDS_NOT_FOUND: it has none; otherwise as put. Cost as put: the condition
 * is evaluated where the entry is stored, so a call never retries because of others. */
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set(mcds_table *table, mcds_bytes key,
                                                     mcds_bytes expected, mcds_bytes value,
                                                     uint64_t ttl_ms);
MCDS_API MCDS_CHECKED int mcds_table_compare_and_set_start(mcds_table *table, mcds_bytes key,
                                                           mcds_bytes expected,
                                                           mcds_bytes value, uint64_t ttl_ms,
                                                           mcds_pipeline *pipeline,
                                                           uint64_t tag);

/* Removes an entry.
 * changed_out  whether there was one; NULL: discarded, which saves reading the key.
 * Cost and returns as put. An entry or table that does not exist is not made: MCDS_OK. */
MCDS_API MCDS_CHECKED int mcds_table_remove(mcds_table *table, mcds_bytes key,
                                            bool *changed_out);
MCDS_API MCDS_CHECKED int mcds_table_remove_start(mcds_table *table, mcds_bytes key,
                                                  bool *changed_out, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Adds to a value that is a decimal number of 64 bits; an entry that does not exist counts as 0.
 * value_out  the number after the addition; NULL: discarded.
 * Cost       as put.
 * Returns    as put; MCDS_CORRUPT: the value is not a number; MCDS_OVERFLOW: the number would
 *            leave 64 bits. In both cases nothing is changed. */
MCDS_API MCDS_CHECKED int mcds_table_incr(mcds_table *table, mcds_bytes key, int64_t delta,
                                          int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_table_incr_start(mcds_table *table, mcds_bytes key,
                                                int64_t delta, int64_t *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Position of a scan. Plain data: it may be stored, and used by another process. */
typedef struct mcds_table_cursor {
    uint64_t position;
    bool done; /* nothing is left */
} mcds_table_cursor;
#define MCDS_TABLE_CURSOR_INIT                                                                 \
    {                                                                                          \
        0, false                                                                               \
    }

/* Visits at most `limit` entries (0 = all) from the cursor on, unordered, and moves the cursor past
 * the last one. Changes made meanwhile may be seen or not; every other entry is seen exactly once
 * in a complete scan, even if it is interrupted any number of times. `visit` returns false to stop
 * after the entry that it was given.
 * cursor   in and out; must live until the tag is returned.
 * Cost     1 per 64 keys of about 1 KB, 2 more for each key that is gone. The timeout applies to
 *          each round trip.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such table; MCDS_LOST: a part is gone, the rest was visited;
 *          failures as get. After a failure a call with the same cursor continues the scan. */
MCDS_API MCDS_CHECKED int
mcds_table_scan(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                bool (*visit)(void *context, mcds_bytes key, mcds_bytes value), void *context);
MCDS_API MCDS_CHECKED int
mcds_table_scan_start(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                      bool (*visit)(void *context, mcds_bytes key, mcds_bytes value),
                      void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erases the table. Entries put meanwhile may be erased too.
 * Cost     2, and 2 per 64 keys.
 * Returns  as mcds_set_drop; after a drop that fails midway the same holds as there. */
MCDS_API int mcds_table_drop(mcds_table *table);
MCDS_API MCDS_CHECKED int mcds_table_drop_start(mcds_table *table, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Views. */

/* Number of views of each page: counted in the store, kept in the program's database. Views are
 * counted per interval of flush_ms, a slot. flush passes the counts of the intervals that have
 * ended to `save`; get adds the sum that `load` returns to the intervals that are not saved yet. A
 * count is saved as an absolute number, never as a difference: two programs may flush at once, a
 * flush may be cut off, and an interval may be saved again.
 *
 * Promise: no view is counted twice. Acknowledged views are in the value, and in the database when
 * the next flush after their interval has returned, unless the store forgets an interval first.
 * Then those views are missing; the value never falls below what the database held when it was last
 * read, at most ten minutes ago. */
typedef struct mcds_views mcds_views;

typedef struct mcds_views_options {
    size_t size; /* sizeof(mcds_views_options) */
    /* 1 000 to 86 400 000; 0 = 60 000. Stored with the views: on a handle with another time the
     * first call returns MCDS_INVALID. */
    uint32_t flush_ms;
    /* Sets *views_out to the sum of the views saved for this page in slots up to upto_slot; 0 when
     * nothing is saved. get calls it for one caller of a page at a time. Returns 0; any other
     * result, or a sum below 0, makes get return MCDS_IO. */
    int (*load)(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
    /* Stores that this page had `views` views in this slot. Replaces the number stored for the
     * page and slot before, unless that is larger. Called by flush. Returns 0; any other result
     * makes flush return MCDS_IO. */
    int (*save)(void *context, const char *page, uint64_t slot, int64_t views);
    void *context; /* for both; they run in the calling thread, also in several at once */
} mcds_views_options;
#define MCDS_VIEWS_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_views_options), 0, NULL, NULL, NULL                                        \
    }

/* `options` must set load and save. */
MCDS_API MCDS_CHECKED int mcds_views_open(mcds_store *store, const char *name,
                                          const mcds_views_options *options,
                                          mcds_views **views_out);
MCDS_API void mcds_views_close(mcds_views *views);

/* Counts n views of a page.
 * Cost     1; 2 to 3 for a handle's first view of a page in an interval; one more for a handle's
 *          first call of any kind.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: counted once or not at all; MCDS_BUSY, MCDS_TIMEOUT,
 *          MCDS_UNAVAILABLE, MCDS_FULL, MCDS_CORRUPT, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_views_hit(mcds_views *views, const char *page, uint32_t n);
MCDS_API MCDS_CHECKED int mcds_views_hit_start(mcds_views *views, const char *page, uint32_t n,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Reads the total number of views of a page.
 * Cost     1 per 15 intervals that the base does not include yet. The base is the sum of the saved
 *          intervals; it is kept in the store and read again from the database every ten minutes.
 *          That costs 5, and 2 calls of load, or 3 to 16 of them where the store does not know of
 *          a flush; more of both while saved intervals may still change.
 * Returns  MCDS_OK; MCDS_IO: load has failed; MCDS_TIMEOUT: also when another caller's load
 *          takes too long; MCDS_UNAVAILABLE, MCDS_CORRUPT, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_views_get(mcds_views *views, const char *page,
                                         int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_views_get_start(mcds_views *views, const char *page,
                                               int64_t *value_out, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Saves the intervals that have ended and are not saved yet. Saves again the two before them, and
 * those that ended within the last 5 s, because machines with slow clocks still count in them. At
 * least one program must call this about every flush_ms, and at least once a day; several may.
 * Cost     1, 1 per interval, and for an interval with views 1 more and 1 per 16 pages, and the
 *          calls of save. The first flush ever looks at the intervals of a day, 1 440 of them. The
 *          timeout applies to each round trip.
 * Returns  MCDS_OK; MCDS_IO: save has failed, call again; MCDS_LOST: the list of an interval's
 *          pages is gone; failures as get */
MCDS_API MCDS_CHECKED int mcds_views_flush(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_start(mcds_views *views, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Saves the current interval too, before the program ends: then all views acknowledged before the
 * call are in the database. Other programs may keep counting in that interval; the next flush of
 * any program saves it again. Cost and returns as mcds_views_flush. */
MCDS_API MCDS_CHECKED int mcds_views_flush_final(mcds_views *views);
MCDS_API MCDS_CHECKED int mcds_views_flush_final_start(mcds_views *views,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Arrays. */

/* A sequence of elements that is read often and changed as a whole: read in one round trip, changed
 * by compare-and-set. For sequences that only grow use mcds_list; for elements that are added and
 * removed one by one, mcds_set.
 *
 * Promise: linearizable, and each change exactly once: a change whose reply was lost reads the
 * array to learn whether it was applied; MCDS_AMBIGUOUS only where that does not show it. An
 * element is any bytes; the whole array is at most 64 MB. An array larger than half of the store's
 * largest value (512 KB on memcached) is stored in parts; a reader sees one whole value or the
 * next. */
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

/* Visits the elements in order. `element` is valid during the visit; the visit ends when `visit`
 * returns false.
 * Cost     1; for a value in parts, 1 more per 8 parts of 512 KB.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such array; MCDS_LOST: a part of the value is gone, or the
 *          whole array that this handle has seen (reported once); MCDS_CORRUPT, MCDS_NO_MEMORY,
 *          MCDS_TIMEOUT, MCDS_UNAVAILABLE */
MCDS_API MCDS_CHECKED int mcds_array_get(mcds_array *array,
                                         bool (*visit)(void *context, mcds_bytes element),
                                         void *context);
MCDS_API MCDS_CHECKED int mcds_array_get_start(mcds_array *array,
                                               bool (*visit)(void *context, mcds_bytes element),
                                               void *context, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Sets the whole array to `count` elements, which are copied.
 * Cost     2; for a value in parts 4 more, and 1 per 8 parts.
 * Returns  MCDS_OK.
 *          MCDS_AMBIGUOUS: set once, not at all, or not yet. Always so when the reply to the first
 *          change of an array is lost and its key is then missing, or made by another handle.
 *          MCDS_BUSY: others changed the array until the timeout.
 *          MCDS_TOO_BIG, MCDS_LOST, MCDS_CORRUPT, MCDS_NO_MEMORY, MCDS_TIMEOUT, MCDS_UNAVAILABLE,
 *          MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_array_set(mcds_array *array, const mcds_bytes *elements,
                                         size_t count);
MCDS_API MCDS_CHECKED int mcds_array_set_start(mcds_array *array, const mcds_bytes *elements,
                                               size_t count, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Removes the first element equal to each of `remove`, then adds `add` at the end; both are copied.
 * Makes an array that does not exist, unless there is nothing to add: MCDS_NOT_FOUND. When an array
 * that this handle has seen is gone, the first call returns MCDS_LOST and makes nothing.
 * Cost and returns as mcds_array_set; cost 1 when nothing changes. */
MCDS_API MCDS_CHECKED int mcds_array_change(mcds_array *array, const mcds_bytes *add,
                                            size_t add_count, const mcds_bytes *remove,
                                            size_t remove_count);
MCDS_API MCDS_CHECKED int mcds_array_change_start(mcds_array *array, const mcds_bytes *add,
                                                  size_t add_count, const mcds_bytes *remove,
                                                  size_t remove_count, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* The new elements of an array, collected by the callback of mcds_array_change_by. */
typedef struct mcds_elements mcds_elements;
/* Adds an element at the end; copies it. Returns MCDS_OK, MCDS_TOO_BIG or MCDS_NO_MEMORY. */
MCDS_API MCDS_CHECKED int mcds_elements_add(mcds_elements *elements, mcds_bytes element);

/* Any other change. `change` gets the current elements (old is NULL when there is no array) and
 * adds all new elements to `fresh`. It is called again when another change was made meanwhile, so
 * it must have no other effect. It returns 0 to write the new elements; any other result writes
 * nothing and is returned by this call. Cost and returns as mcds_array_set. */
MCDS_API MCDS_CHECKED int mcds_array_change_by(
    mcds_array *array,
    int (*change)(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh),
    void *context);
MCDS_API MCDS_CHECKED int mcds_array_change_by_start(
    mcds_array *array,
    int (*change)(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh),
    void *context, mcds_pipeline *pipeline, uint64_t tag);

/* Erases the array. Cost 2. Returns MCDS_OK, MCDS_NOT_FOUND, MCDS_AMBIGUOUS, ... */
MCDS_API int mcds_array_drop(mcds_array *array);
MCDS_API MCDS_CHECKED int mcds_array_drop_start(mcds_array *array, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Lists. */

/* Values in the order in which they were pushed, in any number. A push appends one record to the
 * last of the list's keys, which hold 16 KB each; the whole list is on one server.
 *
 * Promise: exactly once, and in order: a push that begins after another was acknowledged comes
 * after it. A push whose reply was lost is repeated with the same id until the timeout;
 * MCDS_AMBIGUOUS only where that does not decide it. What a server forgot is reported, not skipped:
 * MCDS_LOST. A value is 0 bytes to 64 MB of any bytes; a value of more than 8 KB is stored under
 * keys of its own, which takes one more round trip. Source: the append-only array of the articles.
 */
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

/* Adds a value at the end. Makes the list when it does not exist.
 * Cost     1; a handle's first push 2 more, 5 more when it makes the list; the push that begins a
 *          new key 2 more.
 * Returns  MCDS_OK; MCDS_AMBIGUOUS: pushed once, not at all, or not yet; MCDS_LOST: the list is
 *          gone and another has begun, this value is in neither; MCDS_CORRUPT, MCDS_TOO_BIG,
 *          MCDS_BUSY, MCDS_TIMEOUT, MCDS_UNAVAILABLE, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_list_push(mcds_list *list, mcds_bytes value);
MCDS_API MCDS_CHECKED int mcds_list_push_start(mcds_list *list, mcds_bytes value,
                                               mcds_pipeline *pipeline, uint64_t tag);

/* Adds values at the end in their order; values of others may come between them. Started in a
 * pipeline, `values`, their bytes and *pushed_out must live until the tag is returned.
 * Cost     1 per 4 KB of values, otherwise as push. The timeout applies to each round trip.
 * Returns  as push; after a failure the first *pushed_out values have been pushed (pushed_out may be
 *          NULL). After MCDS_AMBIGUOUS some that follow them may have been, after any other failure
 *          none has. */
MCDS_API MCDS_CHECKED int mcds_list_push_many(mcds_list *list, const mcds_bytes *values,
                                              size_t count, size_t *pushed_out);
MCDS_API MCDS_CHECKED int mcds_list_push_many_start(mcds_list *list, const mcds_bytes *values,
                                                    size_t count, size_t *pushed_out,
                                                    mcds_pipeline *pipeline, uint64_t tag);

/* Visits the values after the first `skip`, in order, at most `limit` of them (0 = all). `value` is
 * valid during the visit; the visit ends when `visit` returns false. Values pushed meanwhile may be
 * seen or not; a clear meanwhile may end the visit. The call keeps about 1 MB of the list in
 * memory.
 * Cost     2 for a list of up to 128 KB, and 1 per 512 KB beyond; skipped values count. The timeout
 *          starts again after each round trip that has returned a value. The call reads at most
 *          twice as many keys as the list had at the beginning: so it ends no matter how fast
 *          others push and what the server replies.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such list; MCDS_LOST: a part is gone, the rest was visited;
 *          MCDS_CORRUPT: a part holds something that mcds did not write, the rest was visited;
 *          failures as push, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int mcds_list_fetch(mcds_list *list, uint64_t skip, uint64_t limit,
                                          bool (*visit)(void *context, mcds_bytes value),
                                          void *context);
MCDS_API MCDS_CHECKED int mcds_list_fetch_start(mcds_list *list, uint64_t skip, uint64_t limit,
                                                bool (*visit)(void *context, mcds_bytes value),
                                                void *context, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Empties the list: values acknowledged before the call are no longer in it, values whose push
 * begins after it are. Then erases the old values, as far as the store can be reached.
 * Cost     4, and 2 per 512 KB of old values. The timeout applies to the whole of the first step,
 *          then to each erasure; there are at most as many of these as the list had keys.
 * Returns  MCDS_OK; MCDS_NOT_FOUND: no such list; MCDS_AMBIGUOUS: cleared, not cleared, or cleared
 *          when the next value is pushed; MCDS_UNSUPPORTED: the store has no compare-and-set;
 *          failures as push */
MCDS_API MCDS_CHECKED int mcds_list_clear(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_clear_start(mcds_list *list, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Empties the list and erases it: it does not exist afterwards. Cost and returns as
 * mcds_list_clear. */
MCDS_API int mcds_list_drop(mcds_list *list);
MCDS_API MCDS_CHECKED int mcds_list_drop_start(mcds_list *list, mcds_pipeline *pipeline,
                                               uint64_t tag);

/* Logs. */

/* Events with a time, kept for `retention_ms`. Each chunk of time has its own keys, named by its
 * absolute number and never used again, so the log does not depend on when a key expires. An event
 * is one record appended to the last key of its chunk.
 *
 * Promise: exactly once, and readable for at least `retention_ms`. A put whose reply was lost is
 * repeated with the same id until the timeout; MCDS_AMBIGUOUS only where that does not decide it.
 * What a server forgot is reported as a gap if something that is left shows it: other keys of its
 * chunk, or a handle that has used it lately. A chunk of more than 16 KB has a small key that counts
 * the others: a server that evicts the least recently used keys keeps it longest. An event is 0 bytes to 64 MB of any bytes; an event
 * of more than 8 KB is stored under keys of its own, which takes one more round trip. Source: the
 * event log of the articles. */
typedef struct mcds_log mcds_log;

typedef enum mcds_log_flag {
    /* An event is filed under its time of arrival, not under its own time: none is too old or too
     * far ahead, and ranges are ranges of arrival. Without this flag an event is filed under its
     * own time. */
    MCDS_LOG_BY_ARRIVAL = 1
} mcds_log_flag;

/* Stored with the log when its first event makes it. 0: the value of the log, or the default when
 * this handle makes it. On a handle with another value the first call returns MCDS_INVALID. */
typedef struct mcds_log_options {
    size_t size;           /* sizeof(mcds_log_options) */
    uint32_t flags;        /* mcds_log_flag */
    uint32_t late_ms;      /* age of the oldest event that is accepted; default 60 000 */
    uint64_t retention_ms; /* 1 000 to 31 622 400 000; default 604 800 000, 7 days */
    /* Length of a chunk: 1 000 to 86 400 000; at least retention_ms / 4 096, and at least
     * (late_ms + ahead_ms + 40 000) / 13, because a cursor holds every chunk that still accepts
     * events (the 40 s allow for different clocks and slow puts). Short chunks make it slow to
     * read a sparse log; long ones keep events longer than retention_ms. Default: the larger of
     * retention_ms / 1 000 and (late_ms + ahead_ms + 40 000) / 8. */
    uint64_t chunk_ms;
    uint32_t ahead_ms; /* an event may be so far ahead of this machine's clock; default 5 000 */
    uint32_t reserved; /* 0 */
} mcds_log_options;
#define MCDS_LOG_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_log_options), 0, 0, 0, 0, 0, 0                                             \
    }

typedef struct mcds_log_event {
    int64_t when_ms;  /* its own time, Unix time in milliseconds */
    int64_t filed_ms; /* BY_ARRIVAL: time of arrival; else the same */
    mcds_bytes event; /* valid during the visit */
} mcds_log_event;

/* Damage that a reader has met. */
typedef struct mcds_log_info {
    size_t size;      /* sizeof(mcds_log_info) */
    uint64_t gaps;    /* places where events are missing that the store should hold */
    uint64_t corrupt; /* sequences of bytes that mcds did not write */
} mcds_log_info;
#define MCDS_LOG_INFO_INIT                                                                     \
    {                                                                                          \
        sizeof(mcds_log_info), 0, 0                                                            \
    }
MCDS_API MCDS_CHECKED int mcds_log_open(mcds_store *store, const char *name,
                                        const mcds_log_options *options, mcds_log **log_out);
MCDS_API void mcds_log_close(mcds_log *log);

/* Puts an event. Makes the log when it does not exist.
 * when_ms  the event's own time (Unix time); 0 = now.
 * Cost     1; a handle's first put into a chunk 1 more, its first put 2 more, or 3 when it makes
 *          the log; the put that begins a new key 1 more; the first after another's drop 4 more.
 * Returns  MCDS_OK; MCDS_TOO_OLD, MCDS_TOO_FUTURE: not put, and no log is made; MCDS_AMBIGUOUS:
 *          put once, not at all, or not yet; MCDS_CORRUPT, MCDS_TOO_BIG, MCDS_BUSY, MCDS_TIMEOUT,
 *          MCDS_UNAVAILABLE, MCDS_FULL, MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event);
MCDS_API MCDS_CHECKED int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                                             mcds_pipeline *pipeline, uint64_t tag);

/* Puts several events of one time in their order. Started in a pipeline, `events`, their bytes and
 * *put_out must live until the tag is returned.
 * Cost     1 per 4 KB of events, otherwise as put. The timeout applies to each round trip.
 * Returns  as put; after a failure the first *put_out events have been put (put_out may be NULL).
 *          After MCDS_AMBIGUOUS some that follow them may have been, after any other failure none
 *          has. */
MCDS_API MCDS_CHECKED int mcds_log_put_many(mcds_log *log, int64_t when_ms,
                                            const mcds_bytes *events, size_t count,
                                            size_t *put_out);
MCDS_API MCDS_CHECKED int mcds_log_put_many_start(mcds_log *log, int64_t when_ms,
                                                  const mcds_bytes *events, size_t count,
                                                  size_t *put_out, mcds_pipeline *pipeline,
                                                  uint64_t tag);

typedef struct mcds_log_range {
    size_t size;      /* sizeof(mcds_log_range) */
    int64_t first_ms; /* events filed at or after this time; 0 = from the oldest on */
    /* And before this time; 0 = no end. Events that are filed more than ahead_ms and 10 s after
     * this machine's time, by a clock that is ahead, are not fetched yet. */
    int64_t last_ms;
    uint64_t limit; /* largest number of events; 0 = all */
    bool newest_first;
    bool reserved[7]; /* false */
} mcds_log_range;
#define MCDS_LOG_RANGE_INIT                                                                    \
    {                                                                                          \
        sizeof(mcds_log_range), 0, 0, 0, false,                                                \
        {                                                                                      \
            false                                                                              \
        }                                                                                      \
    }

/* Visits the events of a range chunk by chunk, within a chunk in the order in which they were put
 * (so a late event comes after earlier puts); newest_first: in exactly the opposite order. The
 * visit ends when `visit` returns false. The call keeps about 1 MB of the log in memory.
 * info_out  the call adds what it finds to these numbers; may be NULL.
 * Cost      1 per 28 chunks of the range: 36 for a whole log with default chunks. 2 more for a
 *           chunk of more than 16 KB, and 1 per 512 KB of it. 1 more for a handle's first call,
 *           and 1 more where the call finds no event. The timeout starts again for each chunk, and
 *           after each round trip that has returned an event. Of each chunk, the call reads at most
 *           twice as many keys as the chunk had when the call reached it.
 * Returns   MCDS_OK; MCDS_NOT_FOUND: no such log; `gaps` then counts what this handle has seen of
 *           it; failures as put, but never MCDS_AMBIGUOUS */
MCDS_API MCDS_CHECKED int mcds_log_fetch(mcds_log *log, const mcds_log_range *range,
                                         bool (*visit)(void *context,
                                                       const mcds_log_event *event),
                                         void *context, mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int
mcds_log_fetch_start(mcds_log *log, const mcds_log_range *range,
                     bool (*visit)(void *context, const mcds_log_event *event), void *context,
                     mcds_log_info *info_out, mcds_pipeline *pipeline, uint64_t tag);

/* Position of a reader that follows a log. The caller owns it; one call uses it at a time. */
#define MCDS_LOG_CURSOR_CHUNKS 16
typedef struct mcds_log_cursor {
    /* Start of a new cursor: events filed at or after this time; 0 = events put after the first
     * call. */
    int64_t from_ms;
    /* private */
    uint32_t count;
    uint32_t life;
    uint64_t chunk;
    struct {
        uint64_t part;
        uint32_t size;
        uint32_t birth;
    } at[MCDS_LOG_CURSOR_CHUNKS];
} mcds_log_cursor;
#define MCDS_LOG_CURSOR_INIT                                                                   \
    {                                                                                          \
        0, 0, 0, 0,                                                                            \
        {                                                                                      \
            {                                                                                  \
                0, 0, 0                                                                        \
            }                                                                                  \
        }                                                                                      \
    }

/* Visits the events put since the last call with this cursor: every event once, late ones too, in
 * the order of mcds_log_fetch within one call. Does not wait for events: call again later. The
 * visit ends when `visit` returns false.
 * cursor    moves past the last event visited, also when the call fails. Must live until the tag is
 *           returned.
 * info_out  the call adds what it finds to these numbers; may be NULL. A gap: events that were in
 *           the log, or may have been, are gone, because a server has forgotten them or they
 *           expired before this call. A cursor used at least once in each retention_ms is never
 *           too late.
 * Cost      1 when there is nothing new; otherwise as fetch. The timeout applies as for fetch.
 * Returns   MCDS_OK; MCDS_NOT_FOUND: no such log yet, or not any more: the cursor stays valid for a
 *           log that is made later, and then sees all of it; failures as fetch */
MCDS_API MCDS_CHECKED int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor,
                                        bool (*visit)(void *context,
                                                      const mcds_log_event *event),
                                        void *context, mcds_log_info *info_out);
MCDS_API MCDS_CHECKED int
mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor,
                    bool (*visit)(void *context, const mcds_log_event *event), void *context,
                    mcds_log_info *info_out, mcds_pipeline *pipeline, uint64_t tag);

/* Writes a cursor as text without blanks, terminated by NUL (save), and reads it (load). load
 * returns MCDS_INVALID when the text is not a cursor. */
#define MCDS_LOG_CURSOR_TEXT 1024
MCDS_API void mcds_log_cursor_save(const mcds_log_cursor *cursor,
                                   char text_out[MCDS_LOG_CURSOR_TEXT]);
MCDS_API MCDS_CHECKED int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text);

/* Erases the log. Events put meanwhile may be erased or stay, and a cursor may see such an event
 * twice.
 * Cost     3, 1 per 28 chunks that the log keeps, and 2 per 512 KB; the timeout applies to each round
 *          trip, and there are no more than these.
 * Returns  MCDS_OK; MCDS_NOT_FOUND; MCDS_AMBIGUOUS: all of it is erased, a part, or nothing; call
 *          again. Failures as put. */
MCDS_API int mcds_log_drop(mcds_log *log);
MCDS_API MCDS_CHECKED int mcds_log_drop_start(mcds_log *log, mcds_pipeline *pipeline,
                                              uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
