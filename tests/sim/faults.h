/* Sets of faults to run a structure under, and a failure that can be replayed. */
#ifndef MCDS_TESTS_SIM_FAULTS_H
#define MCDS_TESTS_SIM_FAULTS_H

#include <stdlib.h>

#include "mcds_sim.h"

/* Trouble on the way only: the server forgets nothing. */
static inline mcds_sim_options network_faults(uint64_t seed)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    options.seed = seed;
    options.cut_before_ppm = 30000;
    options.cut_after_ppm = 30000;
    options.late_ppm = 30000;
    options.silent_ppm = 10000;
    options.late_ms_max = seed % 3 == 0 ? 60000 : 2000;
    options.pause_ppm = 5000;
    options.skew_ms_max = 5000;
    options.seconds = seed % 2 == 0;
    options.classic = seed / 2 % 2 == 0;
    options.unordered = seed / 4 % 4 == 0;
    return options;
}

/* And a server that loses keys. */
static inline mcds_sim_options all_faults(uint64_t seed)
{
    mcds_sim_options options = network_faults(seed);
    options.evict_ppm = 20000;
    options.flush_ppm = 5000;
    options.restart_ppm = 5000;
    options.skew_ms_max = 0;
    return options;
}

/* How many seeds to run: MCDS_SIM_SEEDS, else `usual`. */
static inline uint64_t seed_count(uint64_t usual)
{
    const char *text = getenv("MCDS_SIM_SEEDS");
    uint64_t count = text != NULL ? strtoull(text, NULL, 10) : 0;
    return count > 0 ? count : usual;
}

/* The first seed: MCDS_SIM_SEED, else 1. */
static inline uint64_t first_seed(void)
{
    const char *text = getenv("MCDS_SIM_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 0;
    return seed > 0 ? seed : 1;
}

/* Print the seed and what happened last. Always false. */
static inline bool report(const mcds_sim *sim, uint64_t seed, const char *what)
{
    static char timeline[32768];
    (void)mcds_sim_timeline(sim, timeline, sizeof timeline);
    (void)fprintf(stderr, "seed %llu: %s\n%sreplay with MCDS_SIM_SEED=%llu MCDS_SIM_SEEDS=1\n",
                  (unsigned long long)seed, what, timeline, (unsigned long long)seed);
    return false;
}

#endif
