/* Whether a history of calls on one object is linearizable: whether there is an order in which each
 * takes effect at one moment between its begin and its end, and all answers are as they were.
 *
 * The search of Wing and Gong (JPDC 1993) with Lowe's memory of configurations that have been seen
 * (CCPE 2017). A call whose fate is unknown may take effect at any time after its begin, or never. */
#ifndef MCDS_TESTS_SUPPORT_LINEAR_H
#define MCDS_TESTS_SUPPORT_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define LINEAR_OPS_MAX 64

struct linear_op {
    int64_t began_ns;
    int64_t ended_ns;
    bool known; /* false: nobody was told what became of it, and ended_ns says nothing */
    uint32_t verb;
    int64_t argument;
    int64_t expected; /* a second argument */
    int64_t result;
};

/* Let the call take effect on the state. False: a known call cannot have had its result. */
typedef bool linear_apply(int64_t *state, const struct linear_op *op);

enum linear_verdict { LINEAR, NOT_LINEAR, LINEAR_TOO_LONG };

/* At most LINEAR_OPS_MAX calls. LINEAR_TOO_LONG: given up. */
enum linear_verdict linear_check(const struct linear_op *ops, uint32_t count, int64_t initial,
                                 linear_apply *apply);

#endif
