/* The inside of a simulated world. */
#ifndef MCDS_SIM_WORLD_H
#define MCDS_SIM_WORLD_H

#include "mcds_sim.h"
#include "mcds_store.h"
#include "store/table.h"

#define MCDS__SIM_CLIENTS_MAX 64
#define MCDS__SIM_CHANGES_MAX 8
#define MCDS__SIM_LINES 256
#define MCDS__SIM_LINE_MAX 120

struct mcds__sim_message;

enum mcds__sim_fate {
    MCDS__SIM_PASS,
    MCDS__SIM_CUT_BEFORE, /* the connection breaks, the request is not applied */
    MCDS__SIM_CUT_AFTER,  /* it is applied, and the connection breaks */
    MCDS__SIM_LATE        /* the connection breaks, and the request is applied later */
};

/* A test's hand on one client: it decides what else chance decides. */
struct mcds__sim_script {
    void *context;
    /* Asked before a batch leaves the client. It may let time pass and other clients act. False:
     * the server cannot be reached. */
    bool (*leaves)(void *context, const mcds_batch *batch);
    /* Asked when a request has reached the server and is not carried out yet. It may act on the
     * server, and must not let time pass. LATE fills *late_ns_out. */
    enum mcds__sim_fate (*arrives)(void *context, const mcds_request *request,
                                   int64_t *late_ns_out);
};

/* One client's connection to the server. */
struct mcds__sim_lane {
    struct mcds__sim_lane *next; /* of the client's lanes */
    mcds_sim_client *client;
    uint64_t connection;     /* serial of the connection that is open */
    int64_t last_arrival_ns; /* requests of one connection arrive in order */
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
    int64_t paused_until_ns; /* at first: when it starts */
    bool begun;
    uint32_t alarms; /* set by mcds_sim_client_sleep and not yet rung */
    mcds_sim_program *program;
    void *context;
    mcds_store *store;
    mcds_pipeline *pipeline;
    struct mcds__sim_lane *lanes;
    const struct mcds__sim_script *script; /* NULL: chance alone */
};

/* Something that will happen. */
struct mcds__sim_event {
    int64_t at_ns;
    uint64_t serial; /* breaks ties: first planned, first done */
    void (*happen)(mcds_sim *sim, void *subject, uint64_t number);
    void *subject;
    uint64_t number;
};

struct mcds_sim {
    mcds_sim_options options;
    bool calm;
    uint64_t random_state;
    uint32_t lowest;                         /* PRIORITIES: the last that was given */
    uint64_t changes[MCDS__SIM_CHANGES_MAX]; /* at which requests */
    uint32_t change_count;
    uint64_t fault_serial; /* of faults that were to happen, allowed or not */
    int64_t now_ns;
    uint64_t serial;
    uint64_t connections;
    struct mcds__sim_event *events; /* a binary heap, the next one first */
    size_t event_count;
    size_t event_room;
    uint32_t client_count;
    mcds_sim_client *clients[MCDS__SIM_CLIENTS_MAX];
    struct mcds__sim_message *messages; /* all that live */
    mcds_sim_counts counts;
    struct mcds__table *table; /* the server */
    uint64_t cas_next;
    uint64_t incarnation; /* grows with each restart */
    int64_t phase_ns;     /* of the server's second */
    bool stalled;         /* its second stands at stalled_ns */
    int64_t stalled_ns;
    bool timeless;                                   /* it keeps no ttl, as MemcacheDB */
    char lines[MCDS__SIM_LINES][MCDS__SIM_LINE_MAX]; /* the timeline, a ring */
    uint64_t line_count;
};

extern const mcds_home mcds__home_sim;

/* 64 bits of chance. */
uint64_t mcds__sim_next(mcds_sim *sim);
/* 0 .. bound - 1 */
uint64_t mcds__sim_random(mcds_sim *sim, uint64_t bound);
/* CHOICES: 0 .. count - 1, 0 when calm. */
uint32_t mcds__sim_choose(mcds_sim *sim, uint32_t count);
/* To be called when the options are known. */
void mcds__sim_schedule(mcds_sim *sim);
/* How long after its adding a client begins. */
int64_t mcds__sim_start_ns(mcds_sim_client *client, int64_t most_ns);
/* Whether a fault of this rate happens here: never when calm. */
bool mcds__sim_fault(mcds_sim *sim, uint32_t ppm);
/* Which of `count` faults of these rates happens here, or `count`: none. */
uint32_t mcds__sim_one_fault(mcds_sim *sim, const uint32_t *ppm, uint32_t count);
/* How long a message of this client is on its way, as the scheduler will have it. */
int64_t mcds__sim_delay_ns(mcds_sim_client *client);
/* Another request is served: PRIORITIES may change. */
void mcds__sim_count_request(mcds_sim_client *client);
/* False when memory is refused. */
bool mcds__sim_plan(mcds_sim *sim, int64_t at_ns,
                    void (*happen)(mcds_sim *sim, void *subject, uint64_t number),
                    void *subject, uint64_t number);
/* Let the next event happen if it is not later than until_ns, else let it be until_ns. False
 * when nothing at all is planned and until_ns is the end of time. */
bool mcds__sim_advance(mcds_sim *sim, int64_t until_ns);
/* Whether the next event is not later than until_ns. */
bool mcds__sim_is_due(const mcds_sim *sim, int64_t until_ns);
/* Take the events of this lane's messages out of the plan. */
void mcds__sim_cancel(mcds_sim *sim, const struct mcds__sim_lane *lane);
bool mcds__sim_is_of_lane(const struct mcds__sim_event *event,
                          const struct mcds__sim_lane *lane);

/* Carry out a request as the server would at this moment. */
void mcds__sim_execute(mcds_sim *sim, mcds_request *request, mcds_buffer *values);
/* The server's faults that come before a request, then the request. */
void mcds__sim_serve(mcds_sim *sim, mcds_request *request, mcds_buffer *values);
bool mcds__sim_server_open(mcds_sim *sim);
/* All keys vanish, CAS begins at 1 again, every connection breaks. */
void mcds__sim_restart(mcds_sim *sim);
/* False: it was not there. */
bool mcds__sim_evict(mcds_sim *sim, mcds_bytes key);

/* Break the client's connections. */
void mcds__sim_disconnect(mcds_sim_client *client);
/* Free what is under way on a lane that closes. */
void mcds__sim_forget_lane(mcds_sim *sim, struct mcds__sim_lane *lane);

#endif
