/* mcds_sim.h: a world in which everything that can go wrong does, and can be replayed.
 *
 * One thread, virtual time, one seed. Programs run as clients: each has a clock, a store and a
 * pipeline of its own and talks to one simulated memcached server over a network that delays,
 * cuts before or after a request has been applied, and delivers requests long after their
 * sender has given up. The server evicts, is flushed, restarts empty and lets items expire
 * early. The operations are the real ones: nothing in a structure knows that it is simulated.
 *
 * Not thread-safe. The same seed and the same programs give the same run.
 *
 *   static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
 *   {
 *       ... start the next operations on mcds_sim_client_pipeline(client) ...
 *   }
 *   mcds_sim_open(&options, &sim);
 *   mcds_sim_client_add(sim, program, context, &client);   as many as wanted
 *   mcds_sim_run(sim, 1000000);
 */
#ifndef MCDS_SIM_H
#define MCDS_SIM_H

#include "mcds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcds_sim mcds_sim;
typedef struct mcds_sim_client mcds_sim_client;

/* How delays of messages and faults are chosen. */
typedef enum mcds_sim_scheduler {
    /* At random, with the rates of the options. */
    MCDS_SIM_RANDOM = 0,
    /* Each client has a priority; messages of a lower one take many times as long, and at
     * `changes` moments the client whose turn it is gets the lowest. Faults at random. Source:
     * Burckhardt and others, A randomized scheduler with probabilistic guarantees of finding bugs
     * (ASPLOS 2010). */
    MCDS_SIM_PRIORITIES = 1,
    /* `choose`: to go through all there are. Every message is fast or slow, every client begins
     * at once or later, and of the faults whose rate is not 0 one or none meets a request. */
    MCDS_SIM_CHOICES = 2
} mcds_sim_scheduler;

/* How often, in a million, and how much. All 0: a network that only delays. */
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
    uint32_t pause_ppm;    /* of turns of a client: it stops for up to pause_ms_max */
    uint32_t pause_ms_max; /* 0 = 30 000 */
    uint32_t skew_ms_max;  /* wall clocks of clients are off by up to this, either way */
    bool seconds;          /* ttl in whole seconds of the server's clock, as memcached */
    bool classic;          /* without create on increment, cas on store and readable ttl */
    bool unordered;        /* requests of a batch go one by one, as through a proxy */
    uint32_t scheduler;    /* mcds_sim_scheduler */
    uint32_t changes;      /* PRIORITIES: within the first 256 requests; at most 8 */
    /* CHOICES: 0 .. count - 1, where count is 2 or more; 0 is what happens in peace. */
    uint32_t (*choose)(void *context, uint32_t count);
    /* Whether the nth fault, from 1, may happen; NULL: all may. */
    bool (*allow)(void *context, uint64_t nth);
    void *context; /* of both */
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

MCDS_API MCDS_CHECKED int mcds_sim_open(const mcds_sim_options *options, mcds_sim **sim_out);
/* Closes the clients' stores and pipelines too; close structures opened on them before. */
MCDS_API void mcds_sim_close(mcds_sim *sim);

/* Called once with done == NULL, then for every operation of the client that has finished. It
 * may start any number of operations; a client with none in flight has ended. */
typedef void mcds_sim_program(void *context, mcds_sim_client *client,
                              const mcds_completion *done);
MCDS_API MCDS_CHECKED int mcds_sim_client_add(mcds_sim *sim, mcds_sim_program *program,
                                              void *context, mcds_sim_client **client_out);
MCDS_API mcds_store *mcds_sim_client_store(mcds_sim_client *client);
MCDS_API mcds_pipeline *mcds_sim_client_pipeline(mcds_sim_client *client);
/* 1, 2, ... in the order of adding. */
MCDS_API uint32_t mcds_sim_client_number(const mcds_sim_client *client);
/* The client's monotonic clock now. It runs at the true speed, from a start of its own. */
MCDS_API int64_t mcds_sim_client_ns(const mcds_sim_client *client);
/* Call the client's program again `after_ns` from now with a completion of this tag and
 * MCDS_OK. */
MCDS_API MCDS_CHECKED int mcds_sim_client_sleep(mcds_sim_client *client, int64_t after_ns,
                                                uint64_t tag);

/* Run until every client has ended. Returns MCDS_OK, or MCDS_BUSY after event_max events. */
MCDS_API MCDS_CHECKED int mcds_sim_run(mcds_sim *sim, uint64_t event_max);
/* Deliver or drop what is still under way, and inject no faults from here on: for looking at
 * the end with waiting calls. */
MCDS_API void mcds_sim_calm(mcds_sim *sim);

/* True time since the beginning. */
MCDS_API int64_t mcds_sim_now_ns(const mcds_sim *sim);
MCDS_API void mcds_sim_count(const mcds_sim *sim, mcds_sim_counts *counts_out);
/* Add a line to the timeline. `client` may be NULL. */
MCDS_API void mcds_sim_note(mcds_sim *sim, const mcds_sim_client *client, const char *format,
                            ...) MCDS_PRINTF(3, 4);
/* Writes the newest lines of the timeline, oldest first, each with a newline: the client, its
 * request and the outcome. Writes at most `room` bytes with the closing NUL; returns the length. */
MCDS_API size_t mcds_sim_timeline(const mcds_sim *sim, char *out, size_t room);

#ifdef __cplusplus
}
#endif
#endif
