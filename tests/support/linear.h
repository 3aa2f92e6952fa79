/* Decides whether a history of calls on one object is linearizable: whether there is an order
 * in which each call takes effect at one moment between its start and its end and has the
 * recorded result.
 *
 * The search is that of Wing and Gong (JPDC 1993) with Lowe's memory of visited configurations
 * (CCPE 2017). A call with an unknown outcome may take effect at any time after its start, or
 * never.
 *
 * A backend may forget the object. Such an event has an interval, from began_ns to ended_ns
 * inclusive, and it is unknown whether it has affected the object. Within the interval the
 * object may start again: once, or any number of times if the backend was short of memory.
 * Outside of such intervals it never does. */
#ifndef MCDS_TESTS_SUPPORT_LINEAR_H
#define MCDS_TESTS_SUPPORT_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#define LINEAR_OPS_MAX 64

enum linear_kind { LINEAR_CALL, LINEAR_LOSS, LINEAR_LOSSES, LINEAR_PERHAPS };

/* A call; an event that may have reset the object once (LINEAR_LOSS) or any number of times
 * (LINEAR_LOSSES); or an effect that a call may have had within an interval besides its own
 * (LINEAR_PERHAPS; it is not known). */
struct linear_op {
    enum linear_kind kind;
    int64_t began_ns;
    int64_t ended_ns;
    /* The members below are for calls. */
    bool known; /* false: the outcome is unknown, and ended_ns means nothing */
    uint32_t verb;
    int64_t argument;
    int64_t expected; /* a second argument */
    int64_t result;
};

/* Apply the call to the state. False: a known call cannot have had its result. */
typedef bool linear_apply(int64_t *state, const struct linear_op *op);

enum linear_verdict { LINEAR, NOT_LINEAR, LINEAR_TOO_LONG };

/* At most LINEAR_OPS_MAX calls and losses together. LINEAR_TOO_LONG: the search gave up.
 * `initial` is the state of a new object. */
enum linear_verdict linear_check(const struct linear_op *ops, uint32_t count, int64_t initial,
                                 linear_apply *apply);

#endif
