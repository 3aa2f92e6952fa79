/* mcds/sim.h: deterministic simulation of clients, a network and a memcached server with faults.
 *
 * The simulation uses one thread, virtual time and one seed. Programs run as clients. Each client
 * has a clock, a store and a pipeline of its own. All clients use one simulated memcached server.
 * The network delays requests, breaks connections before or after a request has been applied, and
 * delivers requests long after the sender has stopped waiting. The server evicts, is flushed,
 * restarts empty and lets items expire early. The structures run the same code as on a real
 * server.
 *
 * The same seed and the same programs give the same run.
 *
 *   static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
 *   {
 *       ... start the next operations on mcds_sim_client_pipeline(client) ...
 *   }
 *   mcds_sim_open(&options, &sim);
 *   mcds_sim_client_add(sim, program, context, &client);   any number of times
 *   mcds_sim_run(sim, 1000000);
 *
 * mcds.h has the rules of all calls. These also apply to this header:
 *
 * Arguments:   sim     the simulation that mcds_sim_open returned
 *              client  the client that mcds_sim_client_add returned
 * Cost:        none: no function of this header uses a network or waits
 * Lifetime:    everything that belongs to a simulation lives until mcds_sim_close
 * Threads:     only one thread at a time may use a simulation, its clients, their stores and
 *              pipelines */
#ifndef MCDS_SIM_H
#define MCDS_SIM_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcds_sim mcds_sim;
typedef struct mcds_sim_client mcds_sim_client;

/* How the simulation chooses faults and the delays of messages. */
typedef enum mcds_sim_scheduler {
    /* At random, with the rates of the options. */
    MCDS_SIM_RANDOM = 0,
    /* Each client has a priority. Messages of a client with a lower priority take many times as
     * long. Of the first 256 requests, `changes` requests, chosen at random, give their client
     * the lowest priority. Faults are random. Source: Burckhardt and others, A randomized
     * scheduler with probabilistic guarantees of finding bugs (ASPLOS 2010). */
    MCDS_SIM_PRIORITIES = 1,
    /* By the function `choose`, so that a program can enumerate all runs. Every message is fast
     * or slow. Every client begins at once or later. Each request has at most one of the faults
     * whose rate is not 0. */
    MCDS_SIM_CHOICES = 2
} mcds_sim_scheduler;

/* Rates of faults (_ppm: parts per million, at most 1 000 000) and limits. If all rates are 0,
 * the network only delays messages. */
typedef struct mcds_sim_options {
    size_t size;           /* sizeof(mcds_sim_options) */
    uint64_t seed;         /* any number; 0 = 1 */
    uint32_t delay_us_max; /* of one way; 0 = 1 000 */
    uint32_t
        cut_before_ppm;     /* of requests: the connection breaks, the request is not applied */
    uint32_t cut_after_ppm; /* of requests: applied, the reply is lost, the connection breaks */
    uint32_t late_ppm;      /* of requests: the connection breaks, and the request is applied
                               after late_ms_max at the latest */
    uint32_t silent_ppm;   /* of requests: applied, and nothing comes back until the deadline */
    uint32_t late_ms_max;  /* 0 = 60 000 */
    uint32_t evict_ppm;    /* of requests: some key is evicted before it */
    uint32_t flush_ppm;    /* of requests: all keys vanish before it */
    uint32_t restart_ppm;  /* of requests: the server restarts empty, with CAS from 1 again */
    uint32_t pause_ppm;    /* of steps of a client: it stops for up to pause_ms_max */
    uint32_t pause_ms_max; /* 0 = 30 000 */
    uint32_t skew_ms_max;  /* wall clocks of clients are off by up to this, either way */
    bool seconds;          /* the server keeps ttls in whole seconds, as memcached does */
    bool classic;          /* without create on increment, cas on store and readable ttl */
    bool unordered;        /* requests of a batch are sent one by one, as through a proxy */
    uint32_t scheduler;    /* mcds_sim_scheduler */
    uint32_t changes;      /* PRIORITIES: within the first 256 requests; at most 8 */
    /* CHOICES: returns 0 to count - 1, where count is 2 or more; 0: no fault and no delay. */
    uint32_t (*choose)(void *context, uint32_t count);
    /* Returns whether the nth fault, counted from 1, may happen; NULL: all may. */
    bool (*allow)(void *context, uint64_t nth);
    void *context; /* passed to both */
} mcds_sim_options;
#define MCDS_SIM_OPTIONS_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_sim_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false, false,  \
            MCDS_SIM_RANDOM, 0, NULL, NULL, NULL                                               \
    }

/* Faults that happened. */
typedef struct mcds_sim_counts {
    size_t size; /* sizeof(mcds_sim_counts) */
    uint64_t requests;
    uint64_t faults;  /* of all kinds */
    uint64_t refused; /* connections */
    uint64_t cut_before;
    uint64_t cut_after;
    uint64_t late;
    uint64_t silent;
    uint64_t evicted;
    uint64_t flushed;
    uint64_t restarted;
    uint64_t paused;
} mcds_sim_counts;
#define MCDS_SIM_COUNTS_INIT                                                                   \
    {                                                                                          \
        sizeof(mcds_sim_counts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                               \
    }

/* Begins a simulation.
 * Arguments:   sim_out  the simulation
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range, or CHOICES lacks `choose`;
 *              MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_sim_open(const mcds_sim_options *options, mcds_sim **sim_out);
/* Ends a simulation. Closes the clients' stores and pipelines too. Close the structures that are
 * open on them before this call.
 * Arguments:   sim  NULL is allowed */
MCDS_API void mcds_sim_close(mcds_sim *sim);

/* Called once with done == NULL, then for every operation of the client that has finished. The
 * program may start any number of operations. A client with no operation in flight has ended. */
typedef void mcds_sim_program(void *context, mcds_sim_client *client,
                              const mcds_completion *done);
/* Adds a client.
 * Arguments:   program     as above
 *              context     passed to `program`; may be NULL
 *              client_out  the client; NULL is allowed
 * Returns:     MCDS_OK; MCDS_INVALID: also for more than 64 clients; MCDS_IO: no source of random
 *              numbers; MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_sim_client_add(mcds_sim *sim, mcds_sim_program *program,
                                              void *context, mcds_sim_client **client_out);
/* Returns:     the client's store; NULL for NULL */
MCDS_API mcds_store *mcds_sim_client_store(mcds_sim_client *client);
/* Returns:     the client's pipeline; NULL for NULL */
MCDS_API mcds_pipeline *mcds_sim_client_pipeline(mcds_sim_client *client);
/* Returns:     1, 2 and so on in the order of adding; 0 for NULL */
MCDS_API uint32_t mcds_sim_client_number(const mcds_sim_client *client);
/* Returns:     the current time of the client's monotonic clock, which runs at the true speed and
 *              has its own start; 0 for NULL */
MCDS_API int64_t mcds_sim_client_ns(const mcds_sim_client *client);
/* Calls the client's program later with a completion that has this tag and MCDS_OK.
 * Arguments:   after_ns  from now, in true time; a negative number counts as 0. The latest time
 *                        is 146 years after the beginning; a later one counts as that
 * Returns:     MCDS_OK; MCDS_INVALID; MCDS_NO_MEMORY */
MCDS_API MCDS_CHECKED int mcds_sim_client_sleep(mcds_sim_client *client, int64_t after_ns,
                                                uint64_t tag);

/* Runs until every client has ended.
 * Arguments:   event_max  most events of this call
 * Returns:     MCDS_OK; MCDS_PENDING: event_max events have happened; MCDS_INVALID */
MCDS_API MCDS_CHECKED int mcds_sim_run(mcds_sim *sim, uint64_t event_max);
/* Delivers or drops the messages in flight and ends all faults, so that waiting calls can read
 * the final state. */
MCDS_API void mcds_sim_calm(mcds_sim *sim);

/* Returns:     the true time since the beginning; 0 for NULL */
MCDS_API int64_t mcds_sim_now_ns(const mcds_sim *sim);
/* Counts the faults that have happened.
 * Arguments:   counts_out  filled */
MCDS_API void mcds_sim_count(const mcds_sim *sim, mcds_sim_counts *counts_out);
/* Adds a line to the timeline.
 * Arguments:   client  the client that the line names; NULL: none
 *              format  as printf(3) has it, with its arguments */
MCDS_API void mcds_sim_note(mcds_sim *sim, const mcds_sim_client *client, const char *format,
                            ...) MCDS_PRINTF(3, 4);
/* Writes the last 256 lines of the timeline, oldest first, each with a newline: the client, its
 * request and the outcome.
 * Arguments:   out       the newest lines that fit as a whole, terminated by NUL
 *              capacity  size of `out` in bytes, with the NUL
 * Returns:     the length without the NUL */
MCDS_API size_t mcds_sim_timeline(const mcds_sim *sim, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
