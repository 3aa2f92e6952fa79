/* Every request of a call failing in turn, in every way: what the call answers must be true. */
#ifndef MCDS_TESTS_STRUCTURES_FAULTS_H
#define MCDS_TESTS_STRUCTURES_FAULTS_H

#include "structures/suite.h"
#include "support/counting_home.h"

/* One call under one fault. */
struct trial {
    struct suite *suite;
    struct counting_home counting;
    mcds_store *store;
    mcds_pipeline *pipeline; /* as the mode says */
    const char *name;
    bool stays; /* the fault does */
    /* What a scenario needs. */
    mcds_counter *counter;
    uint32_t stripes;
    mcds_lock *lock;
    mcds_lock *rival;
    mcds_lease lease;
    mcds_lease other;
    mcds_visitors *visitors;
    mcds_online *online;
    uint64_t before;
    int64_t out;
};

struct scenario {
    const char *name;
    void (*prepare)(struct trial *trial);
    int (*act)(struct trial *trial);
    /* Asked with no fault any more; `result` is that of act. */
    void (*judge)(struct trial *trial, int result);
};

/* Run a scenario under each fault at each request, and without. */
void try_all_faults(struct suite *suite, const struct scenario *scenario);

/* The call certainly changed nothing. */
bool is_definite(int result);
/* A fact that must hold; else the trial is told. */
#define HOLDS(trial, fact) holds(trial, fact, #fact, __FILE__, __LINE__)
void holds(const struct trial *trial, bool fact, const char *words, const char *file, int line);

/* The scenarios of faults_exact.c, faults_lock.c and faults_visits.c. */
void exact_faults(struct suite *suite);
void lock_faults(struct suite *suite);
void visitors_faults(struct suite *suite);
void online_faults(struct suite *suite);

#endif
