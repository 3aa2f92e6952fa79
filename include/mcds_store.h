/* mcds_store.h: what the author of a store implements.
 *
 * A request is one memcached command as data, with room for its reply. A batch is an ordered
 * list of requests. A store takes batches and, later, fills in the replies; there is no other way
 * to the stored bytes. Programs that only use structures never include this header.
 *
 * Rules that every store keeps:
 *
 *  1. MISS, EXISTS, NOT_STORED and other answers come only from where the bytes are stored. A
 *     transport failure is UNSENT or UNKNOWN, never a miss.
 *  2. UNSENT: the request is not applied and never will be. UNKNOWN: at least one byte was sent
 *     and no whole reply came, so the request was applied, was not, or will be later.
 *  3. A store never sends a request twice. The layer above decides what may be repeated.
 *  4. The requests of one batch that share routing key and copy run one after the other, in the order
 *     of the array, unless the batch is marked independent. A store that cannot keep order over
 *     a pipelined connection sends them one by one: more round trips, the same meaning.
 *  5. A CAS token means nothing outside the connection on which it was read. A store compares
 *     `cas.connection` first and answers EXISTS by itself, without sending, when it differs.
 *  6. Every batch has a deadline. At the deadline each request still open gets UNSENT or
 *     UNKNOWN, and a connection with an open request is closed, never used again.
 */
#ifndef MCDS_STORE_H
#define MCDS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcds.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MCDS_HOME_VERSION 1

/* Growing bytes with a ceiling. It may start in storage of the caller's (`borrowed`), and moves
 * to the environment's memory only when that is full. */
typedef struct mcds_buffer {
    uint8_t *at;
    size_t length;
    size_t room;
    size_t room_max;
    const mcds_env *env;
    bool borrowed;
} mcds_buffer;

/* Add `length` bytes at the end. Returns false, with the buffer as it was, when that would pass
 * room_max or when memory is refused. */
MCDS_API bool mcds_buffer_append(mcds_buffer *buffer, const void *bytes, size_t length);

typedef enum mcds_command {
    MCDS_GET = 1,
    MCDS_SET, /* a memcached that has no room for it drops the old value, and no other command's */
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

/* Wishes of a request, or-ed into `options`. */
typedef enum mcds_request_option {
    /* INCR, DECR: a missing key is created with `initial`, `ttl_ms` and `flags`, the delta not
     * applied. APPEND: a missing key is created. A store without the capability answers MISS or
     * NOT_STORED as if the wish were absent. */
    MCDS_CREATE = 1,
    MCDS_WANT_TTL = 2, /* GET: fill reply.ttl_ms if the store can */
    MCDS_NO_VALUE = 4, /* GET: flags, cas and size only; a store that cannot sends the value */
    /* A step of a deletion that frees more in the end: a store that keeps room back for deletions
     * may use it. Others take no notice. */
    MCDS_MAKES_ROOM = 8
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
    MCDS_OUT_FAILED,      /* a definite refusal of another kind; not applied; see detail */
    MCDS_OUT_PROTOCOL,    /* the peer is not a server of this kind; not applied */
    MCDS_OUT_UNSENT,      /* certainly not applied and never will be */
    MCDS_OUT_UNKNOWN      /* applied, not applied, or applied later */
} mcds_outcome;

#define MCDS_TTL_NEVER INT64_C(-1)   /* reply.ttl_ms: does not expire */
#define MCDS_TTL_UNKNOWN INT64_C(-2) /* reply.ttl_ms: this store does not report it */

/* A token for CAS and compare-and-delete. All zero: none. */
typedef struct mcds_cas_token {
    uint64_t unique;
    uint64_t connection; /* where it was read; 0 is never a connection */
} mcds_cas_token;

/* Why a request failed: a constant of the home, valid as long as the program runs. */
typedef struct mcds_reason {
    mcds_cause cause;
    int os_error;     /* errno, or 0 */
    const char *text; /* one clause: "the disk is full" */
    const char
        *option; /* of a structure, not of a home: the option that differs, and what it was */
    int64_t found;
} mcds_reason;

typedef struct mcds_reply {
    mcds_outcome outcome;
    uint32_t flags;            /* GET: client flags */
    int64_t ttl_ms;            /* GET with WANT_TTL: the remaining time, NEVER or UNKNOWN */
    uint64_t number;           /* INCR, DECR: the new value */
    mcds_cas_token cas;        /* GET; stores, if the store is capable; else zero */
    size_t value_at;           /* GET: where in batch.values the value begins */
    size_t value_length;       /* GET: its size; with NO_VALUE if the store reports it */
    const mcds_reason *detail; /* what went wrong, or NULL */
    const char *peer; /* the server concerned, valid while the store is open, or NULL */
} mcds_reply;

typedef struct mcds_request {
    mcds_command command;
    uint32_t options; /* mcds_request_option */
    uint32_t flags;   /* stores, CREATE: client flags */
    uint64_t ttl_ms;  /* stores, CREATE, TOUCH: 0 = never expires */
    uint64_t delta;   /* INCR, DECR */
    uint64_t initial; /* INCR, DECR with CREATE */
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
    uint32_t answered;       /* the store counts; the batch is done when it equals count */
    bool independent;        /* no order is needed between these requests */
    bool combinable;         /* for the engine: may be sent together with others */
    bool combined;           /* for the engine: this batch replaces several */
    int64_t deadline_ns;     /* monotonic clock of the environment */
    mcds_buffer *values;     /* where GET appends values; NULL: dropped; a value that does not
                                fit any more answers NO_MEMORY */
    struct mcds_batch *next; /* for the current holder: caller, store, caller again */
    uint64_t serial;         /* for the store while it holds the batch */
} mcds_batch;

#define MCDS_BATCH_MAX 64

/* What a store can do, determined by its behaviour. A structure checks these and never the kind
 * of store. Until a server has been reached, they have their cautious values. */
typedef struct mcds_capabilities {
    bool create_on_increment; /* INCR with CREATE */
    bool flags_on_create;     /* INCR with CREATE also sets flags */
    bool create_on_append;    /* APPEND with CREATE */
    bool compare_and_delete;  /* DELETE with a token */
    bool compare_and_set;     /* CAS and the token of GET */
    bool cas_on_store;        /* reply.cas of stores */
    bool size_after_write;    /* reply.value_length of APPEND */
    bool value_suppressed;    /* GET with NO_VALUE really saves the transfer */
    bool ttl_readable;        /* GET with WANT_TTL */
    bool ordered_batch;       /* a routed batch costs one round trip */
    bool durable;             /* what was answered OK survives a crash of everything */
    bool evicts;              /* keys may vanish before their time */
    bool expires;             /* ttl_ms is kept at all */
    uint32_t ttl_unit_ms;     /* granularity of ttl_ms */
    uint32_t ttl_early_ms;    /* how much sooner than asked a key may be gone */
    uint64_t value_max;       /* largest value in bytes */
    uint32_t places;          /* servers: of one key, so many copies can be kept apart */
} mcds_capabilities;

struct mcds_uri;   /* see mcds_uri_option */
struct mcds__cell; /* private */

/* A home, a kind of store: the table of functions for one URI scheme.
 *
 * A lane is one caller's private session with the home (its connections, its buffers). The engine
 * keeps a pool and never uses one lane from two threads at once. A home without lanes
 * (lane_open NULL) answers whole batches inside submit, from any thread at any time; its functions
 * get the home as the lane. */
typedef struct mcds_home {
    size_t size; /* sizeof(mcds_home) */
    uint32_t
        version; /* MCDS_HOME_VERSION: of this header's other structs, which never change */
    const char *scheme;

    /* Prepares the home that the URI names. No network traffic. On failure returns the result of
     * mcds_fail() with its sentence. `env` outlives the home. */
    int (*open)(const struct mcds_uri *uri, const mcds_env *env, void **home_out);
    void (*close)(void *home);

    /* Capabilities that every server of this home has. */
    void (*capabilities)(void *home, mcds_capabilities *out);

    int (*lane_open)(void *home, void **lane_out);
    void (*lane_close)(void *lane);
    /* Whether a token read on `connection` is still valid on this lane. */
    bool (*lane_holds)(void *lane, uint64_t connection);

    /* Takes a list of batches linked by `next`. Never blocks on a peer. Each batch belongs to
     * the lane until collect returns it; a home without lanes has answered all batches on return
     * and keeps none. */
    void (*submit)(void *lane, mcds_batch *first);

    /* Shows the value under a key in place, without the copy of a GET, if that needs neither
     * waiting nor the clock, as for items that never expire. Calls `see` at most once, before it
     * returns, with the reply of a GET with MCDS_WANT_TTL: OK, or MISS and no value. The value is
     * valid only inside `see`, which must not call the store. False: `see` was not called; submit
     * a GET. From any thread at any time. NULL: always submit. */
    bool (*look)(void *home, mcds_bytes key,
                 void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                 void *context);

    /* Whether no item under `key` has been removed, replaced or given a ttl since this function
     * set *mark; 0: it has not. So an item without a ttl that a look has shown after that is still
     * there, appends apart, and need not be looked at again. False: something of the kind may have
     * happened, to this key or another; *mark is set to now, or left as it is where the home does
     * not know. 0 is never set. From any thread at any time. NULL: the home never knows. */
    bool (*remains)(void *home, mcds_bytes key, uint64_t *mark);

    /* Cells: numbers that a handle adds to in place, without a request; only for homes of this
     * library. open_cell opens the cell of `key`, which is not checked, until the next command on
     * that key. `cell` NULL: it also holds the cell; otherwise the caller holds it already.
     * Returns NULL where there is no cell; submit INCR. release_cell gives up the hold. From any
     * thread at any time. Both NULL: the home has no cells. */
    struct mcds__cell *(*open_cell)(void *home, mcds_bytes key, struct mcds__cell *cell);
    void (*release_cell)(void *home, mcds_bytes key);

    /* Returns finished batches as a list. Waits until one is done or the monotonic clock has
     * reached until_ns; a time in the past means "do not wait". NULL: none. */
    mcds_batch *(*collect)(void *lane, int64_t until_ns);

    /* For an event loop: returns a file descriptor that is readable when collect has something to
     * do, and the time at which it has in any case. Never blocks. -1: there is none. NULL: as
     * collect. */
    int (*watch)(void *lane, int64_t *wake_ns_out);

    /* Visits every live key that begins with `prefix`, as far as the home can list them, until
     * `visit` returns false. Blocking; for people, not for programs. */
    int (*keys)(void *home, mcds_bytes prefix, bool (*visit)(void *context, mcds_bytes key),
                void *context);

    /* Inspects the home and reports findings, until `visit` returns false. Blocking; for people. */
    int (*inspect)(void *home, bool (*visit)(void *context, const mcds_finding *finding),
                   void *context);

    /* Copies the whole content, as of one moment, to a new file; a failed call leaves no file.
     * Blocking; for people. NULL: not supported. */
    int (*backup)(void *home, const char *path);
} mcds_home;

/* The parts of SCHEME:PLACE?OPTION=VALUE&... ; owned by the caller of home.open. */
MCDS_API const char *mcds_uri_place(const struct mcds_uri *uri);
/* The value of an option, percent-decoded, or NULL. */
MCDS_API const char *mcds_uri_option(const struct mcds_uri *uri, const char *name);

/* Record this thread's sentence for mcds_errmsg() and return `code`. */
MCDS_API int mcds_fail(int code, const char *format, ...) MCDS_PRINTF(2, 3);

/* Open a store over a home that is not in the library. `home_state` is what home.open would
 * have returned; mcds_close() gives it to home.close. */
MCDS_API int mcds_open_home(const mcds_home *home, void *home_state,
                            const mcds_options *options, mcds_store **store_out);

#ifdef __cplusplus
}
#endif
#endif
