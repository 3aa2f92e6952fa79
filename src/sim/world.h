/* Internals of the simulated world. It has one server, or several (mcds__sim_add_servers) on which
 * keys and their copies are placed as the memcached backend places them. */
#ifndef MCDS_SIM_WORLD_H
#define MCDS_SIM_WORLD_H

#include "mcds/backend.h"
#include "mcds/sim.h"
#include "store/memory/keyspace.h"

#define MCDS__SIM_CLIENTS_MAX 64
#define MCDS__SIM_SERVERS_MAX 7
#define MCDS__SIM_CHANGES_MAX 8
#define MCDS__SIM_LINES 256
#define MCDS__SIM_LINE_MAX 120

struct mcds__sim_message;

enum mcds__sim_fate {
    MCDS__SIM_PASS,
    MCDS__SIM_CUT_BEFORE, /* the connection breaks, and the request is not executed */
    MCDS__SIM_CUT_AFTER,  /* it is executed, and then the connection breaks */
    MCDS__SIM_LATE        /* the connection breaks, and the request is executed later */
};

/* Callbacks with which a test controls one client instead of chance. */
struct mcds__sim_script {
    void *context;
    /* Called before a batch leaves the client. It may let time pass and run other clients.
     * False: the server cannot be reached. */
    bool (*leaves)(void *context, const mcds_batch *batch);
    /* Called when a request has reached the server, before it is executed. It may act on the
     * server, but must not let time pass. LATE sets *late_ns_out. */
    enum mcds__sim_fate (*arrives)(void *context, const mcds_request *request,
                                   int64_t *late_ns_out);
};

/* The open connection of a session to one server. */
struct mcds__sim_link {
    uint64_t connection;     /* its serial number */
    int64_t last_arrival_ns; /* requests of one connection arrive in order */
};

/* One client's connections to the servers. */
struct mcds__sim_session {
    struct mcds__sim_session *next; /* of the client's sessions */
    mcds_sim_client *client;
    struct mcds__sim_link links[MCDS__SIM_SERVERS_MAX];
    mcds_batch *done;
    mcds_batch **done_end;
};

struct mcds_sim_client {
    mcds_sim *sim;
    uint32_t number;
    uint32_t priority; /* 0 is the highest */
    mcds_env env;
    int64_t monotonic_start_ns;
    int64_t skew_ns;
    int64_t paused_until_ns; /* initially: when it starts */
    bool begun;
    uint32_t alarms; /* set by mcds_sim_client_sleep and still due */
    mcds_sim_program *program;
    void *context;
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct mcds__sim_session *sessions;
    const struct mcds__sim_script *script; /* NULL: chance decides everything */
};

struct mcds__sim_server {
    struct mcds__keyspace *keyspace; /* its items */
    uint64_t cas_next;
    uint64_t incarnation; /* increases with each restart */
    int64_t phase_ns;     /* the phase of its second */
    bool stalled;         /* its clock has stopped at stalled_ns */
    int64_t stalled_ns;
    int64_t down_until_ns; /* until then it refuses connections */
    int64_t held_until_ns; /* until then it executes nothing: what arrives waits */
};

/* A planned event. */
struct mcds__sim_event {
    int64_t at_ns;
    uint64_t serial; /* breaks ties: events planned first happen first */
    void (*happen)(mcds_sim *sim, void *subject, uint64_t number);
    void *subject;
    uint64_t number;
};

struct mcds_sim {
    mcds_sim_options options;
    bool calm;
    uint64_t random_state;
    uint32_t lowest; /* PRIORITIES: the lowest priority assigned so far */
    uint64_t
        changes[MCDS__SIM_CHANGES_MAX]; /* the request numbers at which priorities change */
    uint32_t change_count;
    uint64_t
        fault_serial; /* counts the faults that were due, whether or not they were allowed */
    int64_t now_ns;
    uint64_t serial;
    uint64_t connections;
    struct mcds__sim_event *events; /* a binary heap with the next event first */
    size_t event_count;
    size_t event_room;
    uint32_t client_count;
    mcds_sim_client *clients[MCDS__SIM_CLIENTS_MAX];
    struct mcds__sim_message *messages; /* all messages that exist */
    mcds_sim_counts counts;
    uint32_t server_count;
    struct mcds__sim_server servers[MCDS__SIM_SERVERS_MAX];
    /* With several servers: returns whether this server may lose its keys now, and notes that it
     * does. NULL: each may at any time. A server that may not becomes unreachable instead. */
    bool (*may_forget)(void *context, uint32_t server);
    void *may_forget_context;
    uint32_t hold_ppm; /* of requests: the server executes nothing for a while */
    bool passes;       /* CHOICES: this request is not one at which a fault is chosen */
    /* Of increments of an item that is being sent: the old number with the new CAS token. */
    uint32_t race_ppm;
    bool timeless;                                   /* it ignores ttl, like MemcacheDB */
    char lines[MCDS__SIM_LINES][MCDS__SIM_LINE_MAX]; /* the timeline, a ring */
    uint64_t line_count;
};

extern const mcds_backend mcds__backend_sim;

/* 64 random bits. */
uint64_t mcds__sim_next(mcds_sim *sim);
/* 0 .. bound - 1 */
uint64_t mcds__sim_random(mcds_sim *sim, uint64_t bound);
/* Call when the options are known. */
void mcds__sim_schedule(mcds_sim *sim);
/* How long after it was added a client starts. */
int64_t mcds__sim_start_ns(mcds_sim_client *client, int64_t most_ns);
/* Whether a fault with this rate happens here; never when calm. */
bool mcds__sim_fault(mcds_sim *sim, uint32_t ppm);
/* Which of `count` faults with these rates happens here; `count`: none. */
uint32_t mcds__sim_one_fault(mcds_sim *sim, const uint32_t *ppm, uint32_t count);
/* How long a message of this client travels, as the scheduler decides. */
int64_t mcds__sim_delay_ns(mcds_sim_client *client);
/* Count an executed request: PRIORITIES may change. */
void mcds__sim_count_request(mcds_sim_client *client);
/* False: no memory. */
bool mcds__sim_plan(mcds_sim *sim, int64_t at_ns,
                    void (*happen)(mcds_sim *sim, void *subject, uint64_t number),
                    void *subject, uint64_t number);
/* Run the next event if it is not later than until_ns; otherwise advance to until_ns. False:
 * nothing is planned, and until_ns is the end of time. */
bool mcds__sim_advance(mcds_sim *sim, int64_t until_ns);
/* Whether the next event is not later than until_ns. */
bool mcds__sim_is_due(const mcds_sim *sim, int64_t until_ns);
/* Remove the matching events. */
void mcds__sim_cancel(mcds_sim *sim,
                      bool (*matches)(const struct mcds__sim_event *event, const void *context),
                      const void *context);

/* The server that has this copy of the key. */
uint32_t mcds__sim_server_of(const mcds_sim *sim, const mcds_request *request);
/* Execute a request as the server would now. */
void mcds__sim_execute(mcds_sim *sim, uint32_t server, mcds_request *request,
                       mcds_buffer *values);
/* The CAS token of the item; 0: there is none. */
uint64_t mcds__sim_token_of(mcds_sim *sim, uint32_t server, mcds_bytes key);
/* Inject the server's faults before a request, then execute it. True: the server has restarted
 * or become unreachable, and every connection to it breaks. */
bool mcds__sim_serve(mcds_sim *sim, uint32_t server, mcds_request *request,
                     mcds_buffer *values);
/* As those of mcds_backend; `backend` is a client. */
void mcds__sim_capabilities(void *backend, mcds_capabilities *out);
uint32_t mcds__sim_features(void *backend);
/* Add servers until there are `count`, before the first client. False: no memory. */
bool mcds__sim_add_servers(mcds_sim *sim, uint32_t count);
void mcds__sim_close_servers(mcds_sim *sim);
/* All keys vanish, and cas tokens start at 1 again. */
void mcds__sim_server_restart(mcds_sim *sim, uint32_t server);
/* mcds__sim_server_restart, and every connection to the server breaks. */
void mcds__sim_restart(mcds_sim *sim, uint32_t server);
/* Of the first server. False: the key was missing. */
bool mcds__sim_evict(mcds_sim *sim, mcds_bytes key);

/* "get", "set" and so on. */
const char *mcds__sim_command_name(mcds_command command);
/* Add a request that a server has answered to the timeline, and `what` has become of it. */
void mcds__sim_note_request(const mcds_sim_client *client, uint32_t server,
                            const mcds_request *request, const char *what);

#endif
