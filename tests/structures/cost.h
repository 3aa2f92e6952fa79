/* The common part of the cost tests: a store whose round trips are counted. */
#ifndef MCDS_TESTS_STRUCTURES_COST_H
#define MCDS_TESTS_STRUCTURES_COST_H

#include "structures/suite.h"
#include "support/counting_backend.h"

/* A store whose round trips are counted, and whose backend takes memory from elsewhere. */
struct counted {
    struct counting_backend counting;
    struct fake_env backend_env;
    mcds_store *store;
    mcds_pipeline *pipeline; /* as the mode says */
};

void open_counted(struct suite *suite, struct counted *counted);
void close_counted(struct counted *counted);
void check_trips(const struct counted *counted, uint64_t expected, const char *call, int line);
void check_memory(const struct suite *suite, uint64_t before, const char *call, int line);

/* The call ends with `expected` after `trips` round trips. */
#define TRIPS(trips, expected, suite, counted, verb, ...)                                      \
    do {                                                                                       \
        counting_backend_arm(&(counted)->counting, FAULT_NONE, 0, false);                      \
        check_result(CALL_IN(suite, (counted)->pipeline, verb, __VA_ARGS__), expected,         \
                     __FILE__, __LINE__);                                                      \
        check_trips(counted, trips, #verb, __LINE__);                                          \
    } while (0)

/* The same, and it takes no memory: for waiting calls on a warm handle. */
#define FREE_OF_MEMORY(expected, suite, verb, ...)                                             \
    do {                                                                                       \
        uint64_t before = (suite)->fake.allocations;                                           \
        check_result(verb(__VA_ARGS__), expected, __FILE__, __LINE__);                         \
        check_memory(suite, before, #verb, __LINE__);                                          \
    } while (0)

/* Those of cost_entries.c. */
void set_trips(struct suite *suite);
void table_trips(struct suite *suite);
void ids_trips(struct suite *suite);
void once_trips(struct suite *suite);
void array_trips(struct suite *suite);
void views_trips(struct suite *suite);
void a_change_costs_one_trip_at_any_size(struct suite *suite);

/* Those of cost_queue.c and cost_limit.c. */
void queue_trips(struct suite *suite);
void limit_trips(struct suite *suite);

/* Those of cost_sequences.c. */
void list_trips(struct suite *suite);
void log_trips(struct suite *suite);
void flush_trips(struct suite *suite);
void warm_sets_and_tables_take_no_memory(struct suite *suite);
void warm_lists_and_logs_take_no_memory(struct suite *suite);
void warm_views_take_no_memory(struct suite *suite);

#endif
