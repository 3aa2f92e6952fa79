/* The log of the holders of a lock, and the checks on it. */
#ifndef MCDS_TESTS_STRESS_TENURES_H
#define MCDS_TESTS_STRESS_TENURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tenure {
    int64_t asked_ns; /* just before the call that acquired */
    int64_t begin_ns; /* just after it */
    int64_t end_ns;   /* the deadline, or just before the release if that came first */
    uint64_t fence;
};

/* No two were holders at one time. Changes the order of the log. */
bool tenures_are_apart(struct tenure *tenures, size_t count);

/* A client that asked after another had acquired got a larger fence, and no fence came twice. Changes
 * the order of the log. */
bool fences_grow(struct tenure *tenures, size_t count);

#endif
