/* Whether a history of calls on one object is linearizable: whether there is an order in which each
 * takes effect at one moment between its begin and its end, and all answers are as they were.
 *
 * The search of Wing and Gong (JPDC 1993) with Lowe's memory of configurations that have been seen
 * (CCPE 2017). A call whose fate is unknown may take effect at any time after its begin, or never.
 *
 * A home may forget the object. Such an event has an interval too, from began_ns to ended_ns, both
 * included, and whether it has met the object nobody knows: within the interval the object may
 * begin anew, once or, of a home that was short of memory, any number of times; outside never. */
#ifndef MCDS_TESTS_SUPPORT_LINEAR_H
#define MCDS_TESTS_SUPPORT_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define LINEAR_OPS_MAX 64

enum linear_kind { LINEAR_CALL, LINEAR_LOSS, LINEAR_LOSSES, LINEAR_PERHAPS };

/* A call, or an event that may have made the object begin anew, once (LINEAR_LOSS) or as often
 * as may be (LINEAR_LOSSES), or what a call may have done within an interval, beside what the call
 * itself has done (LINEAR_PERHAPS; it is not known). */
struct linear_op {
    enum linear_kind kind;
    int64_t began_ns;
    int64_t ended_ns;
    /* All that follows is of calls. */
    bool known; /* false: nobody was told what became of it, and ended_ns says nothing */
    uint32_t verb;
    int64_t argument;
    int64_t expected; /* a second argument */
    int64_t result;
};

/* Let the call take effect on the state. False: a known call cannot have had its result. */
typedef bool linear_apply(int64_t *state, const struct linear_op *op);

enum linear_verdict { LINEAR, NOT_LINEAR, LINEAR_TOO_LONG };

/* At most LINEAR_OPS_MAX calls and losses together. LINEAR_TOO_LONG: given up. `initial` is the
 * state of an object that has just begun or begun anew. */
enum linear_verdict linear_check(const struct linear_op *ops, uint32_t count, int64_t initial,
                                 linear_apply *apply);

#endif
