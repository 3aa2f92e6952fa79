/* mcds/backend.h: the interface that a backend (a kind of store) implements.
 *
 * A request is a struct that holds one memcached command and its reply. A batch is an ordered
 * list of requests. A backend takes batches and later fills in the replies. There is no other
 * access to the stored bytes. Programs that only use structures do not need this header.
 *
 * Rules that every backend keeps:
 *
 *  1. MISS, EXISTS, NOT_STORED and similar answers always come from the storage itself. A
 *     transport failure is UNSENT or UNKNOWN, never MISS.
 *  2. UNSENT: the request was not applied and never will be. UNKNOWN: at least one byte was sent
 *     and no whole reply came, so the request was applied, was not, or will be later.
 *  3. A backend never sends a request twice. The engine decides which requests may be repeated.
 *  4. The requests of one batch that share routing key and copy run one after the other, in the
 *     order of the array, unless the batch is marked independent. A backend that cannot keep
 *     order over a pipelined connection sends them one by one. This takes more round trips and
 *     has the same meaning.
 *  5. A CAS token is valid only on the connection on which it was read. A backend compares
 *     `cas.connection` first. If it differs, the backend answers EXISTS and does not send the
 *     request.
 *  6. Every batch has a deadline. At the deadline each unanswered request gets UNSENT or UNKNOWN,
 *     and a connection with an unanswered request is closed.
 *
 * mcds.h has the rules of all calls. */
#ifndef MCDS_BACKEND_H
#define MCDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MCDS_BACKEND_VERSION 1

/* Bytes that grow up to capacity_max. A buffer may start in memory of the caller (`borrowed`).
 * When that memory is full, the buffer moves to memory of the environment. */
typedef struct mcds_buffer {
    uint8_t *data;
    size_t length;
    size_t capacity;
    size_t capacity_max;
    const mcds_env *env;
    bool borrowed;
} mcds_buffer;

/* Adds bytes at the end.
 * Arguments:   buffer  no argument of this function may be NULL
 *              bytes   copied
 *              length  0 adds nothing
 * Returns:     true; false if the buffer would grow beyond capacity_max or there is no memory.
 *              The buffer is then unchanged
 * Cost:        none
 * Threads:     one at a time for each buffer */
MCDS_API bool mcds_buffer_append(mcds_buffer *buffer, const void *bytes, size_t length);

typedef enum mcds_command {
    MCDS_GET = 1,
    MCDS_SET, /* when memcached is out of memory, only SET loses the old value */
    MCDS_ADD,
    MCDS_REPLACE,
    MCDS_APPEND,
    MCDS_PREPEND,
    MCDS_CAS,
    MCDS_DELETE, /* with a cas token: compare and delete */
    MCDS_INCR,
    MCDS_DECR,
    MCDS_TOUCH
} mcds_command;

/* Bits of mcds_request.options. */
typedef enum mcds_request_option {
    /* INCR, DECR: a missing key is created with `initial`, `ttl_ms` and `flags`; the delta is not
     * applied. APPEND: a missing key is created. A store without the capability answers MISS or
     * NOT_STORED as without this option. */
    MCDS_CREATE = 1,
    MCDS_WANT_TTL = 2, /* GET: fill reply.ttl_ms if the store can */
    MCDS_NO_VALUE = 4, /* GET: flags, cas and size only; a store that cannot sends the value */
    /* This request is a step of a deletion that frees more than it stores. A store that reserves
     * space for deletions lets the request use it. Other stores ignore this option. */
    MCDS_MAKES_ROOM = 8,
    /* Commands that write a value: the CAS number of the item becomes `initial`. A store without
     * MCDS_CAS_NUMBERS ignores this option and assigns a number. */
    MCDS_SETS_CAS = 16,
    /* APPEND: perhaps a step of a deletion. A store that reserves space for deletions lets the
     * request use it while most of it is left. Other stores ignore this option. */
    MCDS_MAY_MAKE_ROOM = 32,
    /* A later request of the caller compares the value that this request reads or writes. If the
     * server has no compare-and-set, the store sends nothing and answers UNSUPPORTED. Otherwise
     * this request could leave a value that nobody can change. A store that always compares
     * ignores this option. */
    MCDS_NEEDS_CAS = 64
} mcds_request_option;

typedef enum mcds_outcome {
    MCDS_OUT_NONE = 0,    /* not answered yet */
    MCDS_OUT_OK,          /* stored, found, deleted, counted */
    MCDS_OUT_MISS,        /* no such key */
    MCDS_OUT_EXISTS,      /* the CAS token differs */
    MCDS_OUT_NOT_STORED,  /* ADD: key there; REPLACE, APPEND, PREPEND: key missing or full */
    MCDS_OUT_TOO_BIG,     /* the value exceeds the store's limit; the old value stays */
    MCDS_OUT_NO_MEMORY,   /* out of memory or of disk; the old value stays */
    MCDS_OUT_NO_BUFFER,   /* this process has no memory for the value; nothing has changed */
    MCDS_OUT_NOT_NUMERIC, /* INCR, DECR on a value that is not a number */
    MCDS_OUT_BAD_REQUEST, /* refused before sending: key, ttl or delta out of range */
    MCDS_OUT_UNSUPPORTED, /* this store has no such command; not applied */
    MCDS_OUT_FAILED,      /* refused for another reason; not applied; see detail */
    MCDS_OUT_PROTOCOL,    /* the peer is not a server of this kind; not applied */
    MCDS_OUT_UNSENT,      /* not applied, and never will be */
    MCDS_OUT_UNKNOWN      /* applied, not applied, or applied later */
} mcds_outcome;

#define MCDS_TTL_NEVER INT64_C(-1)   /* reply.ttl_ms: does not expire */
#define MCDS_TTL_UNKNOWN INT64_C(-2) /* reply.ttl_ms: this store does not report it */

/* A token for CAS and compare-and-delete. All zero: none. */
typedef struct mcds_cas_token {
    uint64_t unique;
    uint64_t connection; /* where it was read; 0 is never a connection */
} mcds_cas_token;
/* The connection in a token for APPEND whose number a client has set: the token is valid on every
 * connection. */
#define MCDS_ANY_CONNECTION UINT64_MAX

/* Why a request failed. The struct is a constant of the backend and stays valid as long as the
 * program runs. */
typedef struct mcds_reason {
    mcds_cause cause;
    int os_error;     /* errno, or 0 */
    const char *text; /* one clause: "the disk is full" */
    /* For structures only: the option that differs; `found` is the stored value. */
    const char *option;
    int64_t found;
} mcds_reason;

typedef struct mcds_reply {
    mcds_outcome outcome;
    uint32_t flags;      /* GET: client flags */
    int64_t ttl_ms;      /* GET with WANT_TTL: the remaining time, NEVER or UNKNOWN */
    uint64_t number;     /* INCR, DECR: the new value */
    mcds_cas_token cas;  /* GET; stores, if the store is capable; else zero. APPEND, PREPEND,
                                  INCR and DECR may leave it out */
    size_t value_at;     /* GET: where in batch.values the value begins */
    size_t value_length; /* GET: its size; with NO_VALUE if the store reports it */
    const mcds_reason *detail; /* what went wrong, or NULL */
    const char *peer; /* the server concerned, valid while the store is open, or NULL */
} mcds_reply;

typedef struct mcds_request {
    mcds_command command;
    uint32_t options; /* mcds_request_option */
    uint32_t flags;   /* stores, CREATE: client flags */
    uint64_t ttl_ms;  /* stores, CREATE, TOUCH: 0 = never expires */
    uint64_t delta;   /* INCR, DECR */
    uint64_t initial; /* INCR, DECR with CREATE; writes with SETS_CAS */
    mcds_bytes key;   /* encoded: 1..250 bytes of 0x21..0x7e */
    mcds_bytes value; /* stores */
    mcds_bytes route; /* selects the server; empty: the key does */
    uint32_t copy;    /* 0: that server; N: the Nth after it, in the order of the URI; below
                         mcds_capabilities.places, else BAD_REQUEST */
    mcds_cas_token cas;
    mcds_reply reply;
} mcds_request;

typedef struct mcds_batch {
    mcds_request *requests;
    uint32_t count;          /* 1..MCDS_BATCH_MAX */
    uint32_t answered;       /* counted by the store; the batch is done when it equals count */
    bool independent;        /* no order is needed between these requests */
    bool combinable;         /* for the engine: may be sent together with others */
    bool combined;           /* for the engine: this batch replaces several */
    int64_t deadline_ns;     /* monotonic clock of the environment */
    mcds_buffer *values;     /* GET appends values to it; NULL: values are dropped; if a value
                                does not fit, the outcome is NO_BUFFER */
    struct mcds_batch *next; /* a list of the current holder: caller, store, caller again */
    uint64_t serial; /* for the current holder, which may overwrite it: the engine, for a
                                combined batch, which the store does not get; or the store, for
                                which it may at first be any number */
} mcds_batch;

#define MCDS_BATCH_MAX 64

/* The features of a store, determined by its behaviour. A structure checks the capabilities,
 * never the kind of store. Until a server has answered, each capability has its most cautious
 * value. */
typedef struct mcds_capabilities {
    bool create_on_increment; /* INCR with CREATE */
    bool flags_on_create;     /* INCR with CREATE also sets flags */
    bool create_on_append;    /* APPEND with CREATE */
    bool compare_and_delete;  /* DELETE with a token */
    bool compare_and_set;     /* CAS, and a token in the reply of GET */
    bool cas_on_store;        /* reply.cas of stores */
    bool size_after_write;    /* reply.value_length of APPEND */
    bool value_suppressed;    /* GET with NO_VALUE does not transfer the value */
    bool ttl_readable;        /* GET with WANT_TTL; a key that gets this ttl ends no earlier */
    bool ordered_batch;       /* a routed batch costs one round trip */
    bool durable;             /* a change answered OK survives a crash of the machine */
    bool evicts;              /* keys may vanish before their ttl ends */
    bool expires;             /* keys expire: ttl_ms has an effect */
    uint32_t ttl_unit_ms;     /* granularity of ttl_ms */
    uint32_t ttl_early_ms;    /* a key may expire this much earlier than requested */
    uint64_t value_max;       /* largest value in bytes */
    uint32_t places;          /* number of servers; a key can have that many copies */
} mcds_capabilities;

/* Bits of mcds_backend.features: what a store can do beyond its capabilities. */
typedef enum mcds_feature {
    /* The reply to APPEND has the flags and the value_length of the item after the append. */
    MCDS_STATE_AFTER_APPEND = 1,
    /* A write with MCDS_SETS_CAS sets the CAS number. If it is an APPEND, its reply has the
     * value_length of the item. An APPEND with a cas token compares the number: its outcome is
     * EXISTS if the number differs. Without this feature, the outcome of such an APPEND is always
     * EXISTS, and nothing changes. */
    MCDS_CAS_NUMBERS = 2
} mcds_feature;

struct mcds_uri; /* see mcds_uri_option */

/* A backend, a kind of store: the table of functions for one URI scheme.
 *
 * A session holds the connections and buffers that one caller uses alone. The engine keeps a pool
 * of sessions and never uses one from two threads at once. A backend without sessions
 * (session_open is NULL) answers whole batches inside submit, from any thread at any time; its
 * functions get the backend as the session. */
typedef struct mcds_backend {
    size_t size; /* sizeof(mcds_backend) */
    uint32_t
        version; /* MCDS_BACKEND_VERSION: of this header's other structs, which never change */
    const char *scheme;

    /* Prepares the backend that the URI names. Causes no network traffic. On failure, calls
     * mcds_fail() with a sentence and returns its result. `env` outlives the backend. */
    int (*open)(const struct mcds_uri *uri, const mcds_env *env, void **backend_out);
    void (*close)(void *backend);

    /* Reports the capabilities that every server of this backend has. */
    void (*capabilities)(void *backend, mcds_capabilities *out);

    int (*session_open)(void *backend, void **session_out);
    void (*session_close)(void *session);
    /* Returns whether a token read on `connection` is still valid on this session. */
    bool (*session_holds)(void *session, uint64_t connection);

    /* Takes a list of batches linked by `next`. Never waits for a server. Each batch belongs to
     * the session until collect returns it. A backend without sessions answers all batches before
     * submit returns, and keeps none. */
    void (*submit)(void *session, mcds_batch *first);

    /* Reads the value of a key in place, without the copy that a GET makes. Reads it only if this
     * requires no wait and no clock, for example for an item that never expires. Calls `see` at
     * most once, before it returns, with the reply of a GET with MCDS_WANT_TTL: OK, or MISS and
     * no value. The value is valid only inside `see`, which must not call the store. Returns
     * false when `see` was not called; the caller then submits a GET. Called from any thread at
     * any time. NULL: every read is submitted. */
    bool (*peek)(void *backend, mcds_bytes key,
                 void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                 void *context);

    /* Returns true if no item under `key` has been removed, replaced or given a ttl since this
     * function set *mark. An item without a ttl that peek has shown since then still exists; only
     * appends may have changed it. Returns false if such a change may have happened, to this key
     * or to another one, or if *mark is 0, which means that it was never set. Sets *mark to now
     * when it returns false. A backend that cannot detect such changes leaves *mark unchanged.
     * The function never sets *mark to 0. Called from any thread at any time. NULL: the backend
     * cannot detect changes. */
    bool (*remains)(void *backend, mcds_bytes key, uint64_t *mark);

    /* Returns finished batches as a list. Waits until a batch is finished or the monotonic clock
     * has reached until_ns. If until_ns is in the past, the function does not wait. Returns NULL
     * if no batch is finished. A backend without sessions has no collect and no watch. */
    mcds_batch *(*collect)(void *session, int64_t until_ns);

    /* For an event loop: returns a file descriptor that is readable when collect has something to
     * do, and sets *wake_ns_out to the time at which collect must be called in any case. Returns
     * -1 if there is no descriptor. Never blocks. NULL: there is no descriptor. */
    int (*watch)(void *session, int64_t *wake_ns_out);

    /* Visits every live key that begins with `prefix`, as far as the backend can list them, until
     * `visit` returns false. Blocks. For interactive use, not for programs. */
    int (*keys)(void *backend, mcds_bytes prefix, bool (*visit)(void *context, mcds_bytes key),
                void *context);

    /* Inspects the backend and reports findings, until `visit` returns false. Blocks. For
     * interactive use. */
    int (*inspect)(void *backend, mcds_inspect_cb visit, void *context);

    /* Copies the whole content, as of one moment, to a new file; a failed call leaves no file.
     * Blocks. For interactive use. NULL: not supported. */
    int (*backup)(void *backend, const char *path);

    /* Reports the features, bits of mcds_feature, that every server of this backend has. NULL:
     * none. */
    uint32_t (*features)(void *backend);
} mcds_backend;

/* Returns PLACE of SCHEME:PLACE?OPTION=VALUE&...
 * Arguments:   uri  as backend.open gets it
 * Returns:     the text, which may be empty
 * Cost:        none
 * Lifetime:    until backend.open returns */
MCDS_API const char *mcds_uri_place(const struct mcds_uri *uri);
/* Returns the value of an option, percent-decoded.
 * Arguments:   uri   as backend.open gets it
 *              name  of the option
 * Returns:     the text; NULL if the URI does not have the option
 * Cost:        none
 * Lifetime:    until backend.open returns */
MCDS_API const char *mcds_uri_option(const struct mcds_uri *uri, const char *name);

/* Records this thread's failure. mcds_errmsg() and the `reason` of mcds_last_error() return the
 * sentence.
 * Arguments:   code    the result
 *              format  as printf(3) has it, with its arguments; NULL: no sentence
 * Returns:     `code`
 * Cost:        none */
MCDS_API int mcds_fail(int code, const char *format, ...) MCDS_PRINTF(2, 3);

/* Opens a store on a backend that is not in the library.
 * Arguments:   backend        the struct is copied; everything that its functions use must
 *                             outlive the store
 *              backend_state  the value that backend.open would have returned; may be NULL
 *              store_out      the store
 * Returns:     MCDS_OK; MCDS_INVALID; MCDS_UNSUPPORTED: another `version` of this header;
 *              MCDS_IO: no source of random numbers, or a clock below 0; MCDS_NO_MEMORY
 * Cost:        none
 * Lifetime:    until mcds_close, which passes backend_state to backend.close */
MCDS_API int mcds_open_backend(const mcds_backend *backend, void *backend_state,
                               const mcds_options *options, mcds_store **store_out);

#ifdef __cplusplus
}
#endif
#endif
