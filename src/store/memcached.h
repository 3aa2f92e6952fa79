/* The inside of the memcached home: servers, which all lanes share, and lanes with as many links
 * to each server as the URI says. */
#ifndef MCDS_STORE_MEMCACHED_H
#define MCDS_STORE_MEMCACHED_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/key.h"
#include "store/connection.h"
#include "store/ketama.h"
#include "store/uri.h"
#include "store/wire.h"

#define MCDS__CONNECTIONS_MAX 4
#define MCDS__SERVERS_MAX (MCDS__WAIT_MAX / MCDS__CONNECTIONS_MAX)
#define MCDS__SERVER_NAME_MAX (MCDS__HOST_MAX + 8)

enum mcds__protocol { PROTOCOL_AUTO, PROTOCOL_META, PROTOCOL_CLASSIC };

/* One server. What follows the name is guarded by the home's mutex. */
struct mcds__server {
    struct mcds__address address;
    uint32_t weight;
    char name[MCDS__SERVER_NAME_MAX + 1];
    bool reached; /* at least once; `can` is as found last */
    mcds_capabilities can;
    int64_t retry_at_ns; /* no new connection before, after a failed one */
    int64_t pause_ns;
    int avoided;                /* the address family that was silent last, or 0 */
    const mcds_reason *trouble; /* why the last connection failed, */
    mcds_outcome refusal;       /* and what that makes of a request: UNSENT or PROTOCOL */
};

#define MCDS__ABILITIES_MAX 8

struct mcds__memcached {
    const mcds_env *env;
    enum mcds__protocol protocol;
    int64_t connect_timeout_ns;
    struct mcds__ketama *ketama;
    pthread_mutex_t mutex;
    uint32_t connections; /* of a lane to each server */
    /* What all can do, for those who ask with each call: one of the sets below, which never change;
     * NULL: there was no room for it, ask the servers. */
    _Atomic(const mcds_capabilities *) can;
    mcds_capabilities abilities[MCDS__ABILITIES_MAX];
    uint32_t ability_count;
    uint32_t server_count;
    struct mcds__server servers[];
};

struct mcds__lane_of_memcached;

enum mcds__link_state { LINK_DOWN, LINK_CONNECTING, LINK_PROBING, LINK_READY };

/* A request that waits for its reply. */
struct mcds__slot {
    mcds_batch *batch;
    uint32_t index;
    uint64_t begin; /* where its bytes begin in the connection's stream */
};

/* One lane's connection to one server, and the requests that go over it, in order: of those from
 * `first` on, the first `held` have a reply that is not proven yet, the first `encoded` have been
 * written, and the rest wait to be written. */
struct mcds__link {
    struct mcds__lane_of_memcached *lane;
    struct mcds__server *server;
    struct mcds__connection connection;
    enum mcds__link_state state;
    const struct mcds__wire *wire;
    uint64_t serial; /* of the connection, unique in the process */
    uint64_t value_max;
    int64_t deadline_ns;     /* of the address that is being tried; of probing */
    int64_t connected_by_ns; /* the deadline of all addresses and of probing */
    int64_t used_ns;
    bool is_troubled;     /* it has answered with an error of its own */
    size_t needed;        /* bytes without which the next reply is not whole */
    mcds_outcome refusal; /* what a failure of this connection makes of requests not sent */
    uint8_t probe_stage;
    bool probe_is_proxy;
    bool probe_creates_on_append;
    bool probe_settings_told;
    uint64_t probe_item_max;     /* that the server holds; 0: unknown */
    bool probe_evicts;           /* surely */
    mcds_capabilities probe_can; /* of this connection, once it is READY */
    struct mcds__slot *slots;    /* a ring */
    uint32_t room;               /* a power of two */
    uint32_t first;
    uint32_t count;
    uint32_t encoded;
    uint32_t held;
    uint32_t turn;    /* of the first request; the next ones follow in order */
    mcds_batch check; /* a request of the link's own, whose answer proves what is held */
    mcds_request check_request;
    char check_key[MCDS__KEY_MAX];
};

/* batch.serial while a batch is here: whether its requests go one by one; it is a link's check. */
enum { MCDS__AT_ONCE, MCDS__ONE_BY_ONE, MCDS__CHECK };

struct mcds__lane_of_memcached {
    struct mcds__memcached *home;
    uint32_t pending;    /* batches not handed back and not done */
    int64_t deadline_ns; /* no pending batch and no link has an earlier one */
    mcds_batch *done;
    mcds_batch **done_end;
    int watcher; /* of its connections; -1: nobody has asked for it */
    uint32_t link_count;
    struct mcds__link links[]; /* the first server's, then the second's, ... */
};

/* Take apart "HOST[:PORT][*WEIGHT],..." into servers; `count_out` of them, at most `room`. */
int mcds__memcached_parse_servers(const char *place, struct mcds__server *servers,
                                  uint32_t room, uint32_t *count_out);

/* A request is answered: count it, go on with a batch that goes one by one, and when the batch
 * is done put it where collect finds it. */
void mcds__lane_answered(struct mcds__lane_of_memcached *lane, mcds_batch *batch);

/* A server has been found to be able to something else. The mutex is held. */
void mcds__memcached_note_abilities(struct mcds__memcached *home);

/* Ask one server, whatever the placement says. */
void mcds__lane_ask(struct mcds__lane_of_memcached *lane, uint32_t server, mcds_batch *batch);

/* Put request `index` of a batch at the end of the link's queue. When memory is refused it is
 * answered UNSENT here. */
void mcds__link_enqueue(struct mcds__link *link, mcds_batch *batch, uint32_t index);
/* Connect if need be; write out what waits, as far as the socket takes it. */
void mcds__link_push(struct mcds__link *link);
/* Go on after waiting. */
void mcds__link_go_on(struct mcds__link *link, uint8_t ready);
/* Answer what is past its deadline; a connection on which it had been sent is closed. */
void mcds__link_expire(struct mcds__link *link, int64_t now_ns);
/* The soonest deadline of what is under way; INT64_MAX: nothing is. */
int64_t mcds__link_deadline(const struct mcds__link *link);
/* Close without answering anything. */
void mcds__link_close(struct mcds__link *link);
/* Whether there is something to wait for. */
bool mcds__link_is_busy(const struct mcds__link *link);

/* Connecting. Where it is false, `trouble` of the connection has the reason. */
/* Leave the server alone for a while, which grows from failure to failure. */
void mcds__connect_back_off(struct mcds__link *link, const mcds_reason *trouble);
/* False while the server is left alone, for this reason, which makes this of a request. */
bool mcds__connect_may(struct mcds__link *link, mcds_outcome *refusal_out,
                       const mcds_reason **trouble_out);
bool mcds__connect_begin(struct mcds__link *link);
/* Once more within the same time. */
bool mcds__connect_again(struct mcds__link *link);
/* The address that is being tried has been silent for its share of the time: try the other, and
 * begin the next connection with that. */
bool mcds__connect_pass_over(struct mcds__link *link, int64_t now_ns);
/* Give what is left to be done, of the address that is being tried or of the probe, the whole time. */
void mcds__connect_renew(struct mcds__link *link, int64_t now_ns);

/* Finding out what a server is. */
/* False: no memory, as `trouble` of the connection says. */
bool mcds__probe_begin(struct mcds__link *link);
/* Read what has come: PARSE_DONE: the link may be used; PARSE_BROKEN: `trouble` of the
 * connection is set. */
enum mcds__parse mcds__probe_go_on(struct mcds__link *link);
/* The server has hung up while being probed. True: connect again, it may be a proxy. */
bool mcds__probe_hung_up(struct mcds__link *link);

/* The careful answer of a server that was not reached yet. */
mcds_capabilities mcds__memcached_careful(void);

int mcds__memcached_keys(void *home, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context);
int mcds__memcached_inspect(void *home,
                            bool (*visit)(void *context, const mcds_finding *finding),
                            void *context);

#endif
