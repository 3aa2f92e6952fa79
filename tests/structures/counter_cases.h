/* The common part of the counter's tests. */
#ifndef MCDS_TESTS_STRUCTURES_COUNTER_CASES_H
#define MCDS_TESTS_STRUCTURES_COUNTER_CASES_H

#include "structures/suite.h"

mcds_counter *open_counter(mcds_store *store, const char *name, uint32_t flags,
                           uint32_t stripes, uint64_t ttl_ms);
void check_value(struct suite *suite, mcds_counter *counter, int64_t expected, const char *file,
                 int line);
/* The value of a counter of suite->store. */
#define CHECK_VALUE(suite, counter, expected)                                                  \
    check_value(suite, counter, expected, __FILE__, __LINE__)

/* Those of counter_life.c. */
void two_handles_count_one_counter(struct suite *suite);
void namespaces_are_apart(struct suite *suite);
void names_are_apart(struct suite *suite);
void names_have_a_length(struct suite *suite);
void options_are_checked(struct suite *suite);
void missing_arguments_are_refused(struct suite *suite);
void strict_says_lost(struct suite *suite);
void strict_says_lost_when_born_again(struct suite *suite);
void reborn_is_told(struct suite *suite);
void lives_for_its_ttl(struct suite *suite);
void reports_its_ttl(struct suite *suite);
void takers_share(struct suite *suite);

#endif
