/* A wrapper around a backend: counts requests and lets a chosen request fail as a network or a
 * server would. Everything is answered inside submit. */
#ifndef MCDS_TESTS_COUNTING_BACKEND_H
#define MCDS_TESTS_COUNTING_BACKEND_H

#include <stdatomic.h>

#include "mcds/backend.h"

/* The outcome of the request chosen, and of those after it in its batch. */
enum fault {
    FAULT_NONE,
    FAULT_UNSENT,      /* it and all after it never left */
    FAULT_PROTOCOL,    /* it and all after it met no server of the right kind */
    FAULT_CUT_BEFORE,  /* UNKNOWN, and none of them was applied */
    FAULT_CUT_AFTER,   /* UNKNOWN, and all of them were applied */
    FAULT_CUT_BETWEEN, /* UNKNOWN, and only the first of them was applied */
    FAULT_NO_MEMORY,   /* the server refuses this one alone; as the rest of the list */
    FAULT_TOO_BIG,
    FAULT_FAILED,
    FAULT_NO_CAS, /* a server without cas answers it and all after it in its batch */
    FAULT_COUNT
};

struct counting_backend {
    mcds_backend table;
    const mcds_backend *inner;
    void *inner_backend;
    const mcds_env *env;
    _Atomic uint64_t submits;  /* lists of batches */
    _Atomic uint64_t batches;  /* round trips, one after the other or side by side */
    _Atomic uint64_t requests; /* since counting_backend_arm */
    enum fault fault;
    uint64_t fault_at; /* which request, from 1 */
    bool fault_stays;  /* and all later ones */
    bool fault_came;
    uint64_t fault_first; /* the requests of the batch that met it first */
    uint64_t fault_last;
    uint64_t fault_erasures; /* deletes that met it */
    bool stale_tokens; /* each CAS token is refused, as after the loss of its connection */
};

const char *fault_name(enum fault fault);

/* Open a store on the backend that the URI names, with `counting` between. The backend takes time and
 * memory from `inner_env`. */
int counting_backend_open(struct counting_backend *counting, const char *uri,
                          const mcds_env *inner_env, const mcds_options *options,
                          mcds_store **store_out);
/* Reset the count. The request with number `at`, from 1, fails; FAULT_NONE: none fails. */
void counting_backend_arm(struct counting_backend *counting, enum fault fault, uint64_t at,
                          bool stays);

#endif
