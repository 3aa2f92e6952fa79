/* Internals of the memcached backend: servers, which all sessions share, and sessions, which
 * have as many connections to each server as the URI says. */
#ifndef MCDS_STORE_MEMCACHED_MEMCACHED_H
#define MCDS_STORE_MEMCACHED_MEMCACHED_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/key.h"
#include "store/memcached/ketama.h"
#include "store/memcached/socket.h"
#include "store/memcached/wire/wire.h"
#include "store/uri.h"

#define MCDS__CONNECTIONS_MAX 4
#define MCDS__SERVERS_MAX (MCDS__WAIT_MAX / MCDS__CONNECTIONS_MAX)
#define MCDS__SERVER_NAME_MAX (MCDS__HOST_MAX + 8)

enum mcds__protocol { PROTOCOL_AUTO, PROTOCOL_META, PROTOCOL_CLASSIC };

/* One server. The backend's mutex guards the members after `name`. */
struct mcds__server {
    struct mcds__address address;
    uint32_t weight;
    char name[MCDS__SERVER_NAME_MAX + 1];
    bool reached;       /* at least once; `can` and the next member are from the last time */
    bool has_logged_in; /* it has asked for the password */
    bool has_numbers;   /* MCDS_CAS_NUMBERS */
    mcds_capabilities can;
    int64_t retry_at_ns; /* after a failed connection: no new one before this time */
    int64_t pause_ns;
    int avoided;                /* the address family that did not answer last, or 0 */
    const mcds_reason *trouble; /* why the last connection failed, */
    mcds_outcome
        refusal; /* and the outcome of requests until the next one: UNSENT or PROTOCOL */
};

#define MCDS__ABILITIES_MAX 8

struct mcds__memcached {
    const mcds_env *env;
    enum mcds__protocol protocol;
    int64_t connect_timeout_ns;
    _Atomic int64_t silence_ns; /* after which a listing or inspection gives a server up */
    struct mcds__tls *tls;      /* NULL: plain connections */
    char *auth_file;            /* NULL: no password */
    bool has_client_cert;       /* the URI has cert= */
    struct mcds__ketama *ketama;
    pthread_mutex_t mutex;
    uint32_t connections; /* from a session to each server */
    uint64_t seed;        /* secret, of the hash that spreads keys over the connections */
    /* The capabilities of all servers, for callers that need them in each call: one of the sets
     * below, which never change. NULL: all sets are used, so compute them. */
    _Atomic(const mcds_capabilities *) can;
    mcds_capabilities abilities[MCDS__ABILITIES_MAX];
    uint32_t ability_count;
    _Atomic uint32_t features; /* that all reached servers have */
    uint32_t server_count;
    struct mcds__server servers[];
};

struct mcds__memcached_session;

enum mcds__connection_state {
    CONNECTION_DOWN,
    CONNECTION_CONNECTING,
    CONNECTION_PROBING,
    CONNECTION_READY
};

/* The place of a request in a command that reads several keys. */
enum mcds__place { PLACE_ALONE, PLACE_AMONG, PLACE_LAST };

/* A request that waits for its reply. */
struct mcds__pending {
    mcds_batch *batch;
    uint32_t index;
    enum mcds__place place; /* once it is encoded */
    uint64_t begin;         /* where its bytes begin in the connection's stream */
};

/* One session's connection to one server, and its requests in order. Of the requests from
 * `first` on, the first `held` have a reply that is not proven yet, the first `encoded` have
 * been written, and the rest wait to be written. */
struct mcds__connection {
    struct mcds__memcached_session *session;
    struct mcds__server *server;
    struct mcds__socket socket;
    enum mcds__connection_state state;
    const struct mcds__wire *wire;
    uint64_t
        serial; /* in the tokens read here; unique in the process; changes with each connect
                        and with each SERVER_ERROR, after which a proxy may use another server */
    uint64_t value_max;
    int64_t deadline_ns;     /* of the address that is being tried, or of probing */
    int64_t connected_by_ns; /* the deadline for all addresses and for probing */
    int64_t used_ns;
    bool is_troubled;     /* the server has sent an error about the connection itself */
    size_t needed;        /* bytes without which the next reply is incomplete */
    mcds_outcome refusal; /* the outcome of unsent requests if this connection fails */
    uint8_t probe_stage;
    bool probe_is_proxy;
    bool probe_logged_in; /* the server has asked for the password, and accepted it */
    bool probe_creates_on_append;
    bool has_numbers;   /* as that of the server, once it is READY */
    bool reads_several; /* the server is known to read several keys with one command */
    bool probe_settings_told;
    uint64_t probe_item_max;       /* the largest item of the server; 0: unknown */
    bool probe_evicts;             /* known for certain */
    mcds_capabilities probe_can;   /* of this connection, once it is READY */
    struct mcds__pending *pending; /* a ring */
    uint32_t capacity;             /* a power of two */
    uint32_t first;
    uint32_t count;
    uint32_t encoded;
    uint32_t held;
    uint32_t sequence; /* the number of the first request; the others follow in order */
    mcds_batch check;  /* the connection's own request, whose answer proves the held replies */
    mcds_request check_request;
    char check_key[MCDS__KEY_MAX];
};

/* batch.serial while the session has the batch: its requests are sent all at once or one by
 * one, or it is the check of a connection. */
enum { MCDS__AT_ONCE, MCDS__ONE_BY_ONE, MCDS__CHECK };

struct mcds__memcached_session {
    struct mcds__memcached *backend;
    uint32_t pending;    /* batches not yet answered or not yet collected */
    int64_t deadline_ns; /* no pending batch and no connection has an earlier one */
    mcds_batch *
        answered; /* batches whose last request was answered, or that may send their next one */
    mcds_batch **answered_end;
    mcds_batch *done;
    mcds_batch **done_end;
    int watcher; /* for its sockets; -1: the program has not asked for it, or the system had none
                    yet: the next call of watch tries again */
    uint32_t connection_count;
    struct mcds__connection connections[]; /* the first server's, then the second's, ... */
};

/* Parse "HOST[:PORT][*WEIGHT],..." into at most `capacity` servers; *count_out of them. */
int mcds__memcached_parse_servers(const char *place, struct mcds__server *servers,
                                  uint32_t capacity, uint32_t *count_out);

/* The capabilities of a server have changed. The mutex is held. */
void mcds__memcached_note_abilities(struct mcds__memcached *backend);

/* Append request `index` of a batch to the connection's queue. Without memory the request is
 * answered UNSENT here. */
void mcds__connection_enqueue(struct mcds__connection *connection, mcds_batch *batch,
                              uint32_t index);
/* Connect if necessary, and write out waiting requests, as far as the socket accepts them. */
void mcds__connection_push(struct mcds__connection *connection);
/* Continue after waiting. */
void mcds__connection_go_on(struct mcds__connection *connection, uint8_t ready);
/* Answer requests whose deadline has passed. A connection on which one was sent is closed. */
void mcds__connection_expire(struct mcds__connection *connection, int64_t now_ns);
/* The earliest deadline of the requests under way; INT64_MAX: there are none. */
int64_t mcds__connection_deadline(const struct mcds__connection *connection);
/* Close without answering anything. */
void mcds__connection_close(struct mcds__connection *connection);
/* The position in the stream at which the next TLS record ends. `context` is the connection. */
uint64_t mcds__connection_record_end(const void *context);
/* Whether the connection waits for its socket. */
bool mcds__connection_is_busy(const struct mcds__connection *connection);

/* Connecting. If a function returns false, `trouble` of the connection has the reason. */
/* Make no connection to the server for a while, which grows with each failure. */
void mcds__connect_back_off(struct mcds__connection *connection, const mcds_reason *trouble);
/* False during that time: *trouble_out and *refusal_out say why and how to answer. */
bool mcds__connect_may(struct mcds__connection *connection, mcds_outcome *refusal_out,
                       const mcds_reason **trouble_out);
bool mcds__connect_begin(struct mcds__connection *connection);
/* Connect once more within the same time. */
bool mcds__connect_again(struct mcds__connection *connection);
/* The address being tried has not answered in its share of the time: try the other one, and
 * start the next connection with that. */
bool mcds__connect_pass_over(struct mcds__connection *connection, int64_t now_ns);
/* Give the rest of this step, an address or the probe, the full time again. */
void mcds__connect_renew(struct mcds__connection *connection, int64_t now_ns);

/* Probing: find out what a server is and can do. */
/* False: no memory; `trouble` of the connection is set. */
bool mcds__probe_begin(struct mcds__connection *connection);
/* Read the answers. PARSE_DONE: the connection can be used; PARSE_BROKEN: `trouble` of the
 * connection is set. */
enum mcds__parse mcds__probe_go_on(struct mcds__connection *connection);
/* The server has closed the connection while probed. True: connect again, it may be a proxy. */
bool mcds__probe_hung_up(struct mcds__connection *connection);
/* The reason if the server is silent while it is probed. */
const mcds_reason *mcds__probe_silence(const struct mcds__connection *connection);

/* Logging in. The file of auth_file= is read each time: a new password holds from the next
 * connection on, and no copy stays in memory. */
/* Whether the file can be used. MCDS_OK, or a failure with the sentence set. */
int mcds__login_check(const char *path);
/* Append the login to what the connected socket sends. False: its `trouble` is set. */
bool mcds__login_append(struct mcds__socket *socket, const char *path);
/* Interpret a line that the server sends after the login. PARSE_MORE: it answers a command before
 * the login, and not the login; PARSE_BROKEN: *trouble_out says why. */
enum mcds__parse mcds__login_answer(const char *line, size_t length,
                                    const mcds_reason **trouble_out);
static inline bool mcds__login_is_asked(const char *line, size_t length)
{
    return mcds__wire_begins(line, length, "CLIENT_ERROR unauthenticated");
}

/* The capabilities assumed of a server that was not reached yet. */
mcds_capabilities mcds__memcached_careful(void);
/* The capabilities of all reached servers. The mutex is held, or the backend not shared yet. */
mcds_capabilities mcds__memcached_common_abilities(const struct mcds__memcached *backend);

int mcds__memcached_keys(void *backend, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context);
int mcds__memcached_inspect(void *backend, mcds_inspect_cb visit, void *context);

#endif
