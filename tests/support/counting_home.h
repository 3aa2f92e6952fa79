/* A home around another: counts what passes and lets a chosen request fail as a network or a
 * server would. Everything is answered inside submit. */
#ifndef MCDS_TESTS_COUNTING_HOME_H
#define MCDS_TESTS_COUNTING_HOME_H

#include <stdatomic.h>

#include "mcds_store.h"

/* What becomes of the request chosen, and of those behind it in its batch. */
enum fault {
    FAULT_NONE,
    FAULT_UNSENT,      /* it and all behind it never left */
    FAULT_PROTOCOL,    /* it and all behind it met no server of the kind that is meant */
    FAULT_CUT_BEFORE,  /* UNKNOWN, and none of them was applied */
    FAULT_CUT_AFTER,   /* UNKNOWN, and all of them were applied */
    FAULT_CUT_BETWEEN, /* UNKNOWN, and only the first of them was applied */
    FAULT_NO_MEMORY,   /* the server refuses this one alone; as the rest of the list */
    FAULT_TOO_BIG,
    FAULT_FAILED,
    FAULT_COUNT
};

struct counting_home {
    mcds_home table;
    const mcds_home *inner;
    void *inner_home;
    const mcds_env *env;
    _Atomic uint64_t submits;  /* lists of batches */
    _Atomic uint64_t batches;  /* round trips, one after the other or side by side */
    _Atomic uint64_t requests; /* since counting_home_arm */
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

/* Open a store on the home that the URI names, with `counting` between. The home takes time and
 * memory from `inner_env`. */
int counting_home_open(struct counting_home *counting, const char *uri,
                       const mcds_env *inner_env, const mcds_options *options,
                       mcds_store **store_out);
/* Begin to count anew; the request `at`, from 1, fails. FAULT_NONE: none does. */
void counting_home_arm(struct counting_home *counting, enum fault fault, uint64_t at,
                       bool stays);

#endif
