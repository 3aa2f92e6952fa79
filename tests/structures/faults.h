/* Every request of a call fails in turn, in every way: the answer of the call must be true. */
#ifndef MCDS_TESTS_STRUCTURES_FAULTS_H
#define MCDS_TESTS_STRUCTURES_FAULTS_H

#include "core/map/map.h"
#include "structures/suite.h"
#include "support/counting_backend.h"

/* What there is, told as text. */
#define STATE_MAX 256

/* One call under one fault. */
struct trial {
    struct suite *suite;
    struct counting_backend *counting;
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
    mcds_semaphore *semaphore;
    mcds_semaphore *other_semaphore;
    mcds_permit permit;
    mcds_permit other_permit;
    uint32_t above;
    mcds_visitors *visitors;
    mcds_online *online;
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_ids *ids;
    uint64_t id;
    mcds_queue *queue;
    mcds_job job;
    mcds_once *once;
    mcds_once_run run;
    mcds_list *list;
    mcds_log *log;
    mcds_views *views;
    mcds_cache *cache;
    mcds_cache *probe;
    mcds_cache_claim claim;
    mcds_value value;
    bool is_new; /* nothing is there */
    uint64_t before;
    int64_t out;          /* -1: untouched */
    char seen[STATE_MAX]; /* what a reading call brought */
};

struct scenario {
    const char *name;
    void (*prepare)(struct trial *trial);
    int (*act)(struct trial *trial);
    /* Asked with no fault any more; `result` is that of act. */
    void (*judge)(struct trial *trial, int result);
};

/* Run a scenario under each fault at each request, with each allocation refused, and without. */
void try_all_faults(struct suite *suite, const struct scenario *scenario);

/* The call certainly changed nothing. */
bool is_definite(int result);
/* A request got lost, and the next ones did not. */
bool was_lost_once(const struct trial *trial);
/* A fact that must hold; else the trial is told. */
#define HOLDS(trial, fact) holds(trial, fact, #fact, __FILE__, __LINE__)
void holds(const struct trial *trial, bool fact, const char *words, const char *file, int line);

/* What the last of so many equal calls answers, and what there is then. */
struct expected {
    int result;
    int64_t out;
    char state[STATE_MAX];
};
typedef void expect_calls_of(const struct trial *trial, uint32_t calls,
                             struct expected *expected);
/* A change is there once, not at all, or, where that is not known, either, as `read` finds it; and
 * the same call again does what it does then. */
void judge_change(struct trial *trial, int result, expect_calls_of *expect,
                  void (*read)(struct trial *trial, char *state));
/* There is what must be there after so many calls. */
void judge_state(struct trial *trial, uint32_t calls, expect_calls_of *expect,
                 void (*read)(struct trial *trial, char *state));
/* What a reading call has brought into `seen` and `out` is true, and it works again. */
void judge_read(struct trial *trial, int result, expect_calls_of *expect);

/* What the root of a map says: its state, its size, and whether `more` bytes make it grow. */
enum mcds__map_state first_state(struct trial *trial, const char *tag);
size_t first_size(struct trial *trial, const char *tag);
bool first_has_open_number(struct trial *trial, const char *tag);
bool first_is_ripe(struct trial *trial, const char *tag, size_t more);

/* The same call again. */
int act_again(struct trial *trial);

/* The case that tries all of `scenarios`, the only one of the program. */
#define FAULT_CASES(name)                                                                      \
    static void name(struct suite *suite)                                                      \
    {                                                                                          \
        for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)                    \
            try_all_faults(suite, &scenarios[i]);                                              \
    }                                                                                          \
    static const struct suite_case cases[] = {CASE_TWICE(name)};                               \
    const struct suite_cases suite_cases = {cases, 1}

#endif
