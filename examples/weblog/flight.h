/* Operations on their way to the store, many at once.
 *
 * Each is remembered until it comes back, so that one that was certainly not applied can be started
 * again. One whose reply was lost must not be: it counts as uncertain. */
#ifndef WEBLOG_FLIGHT_H
#define WEBLOG_FLIGHT_H

#include <stdint.h>

#include "mcds.h"
#include "parse.h"
#include "sheet.h"

enum kind { COUNT, VIEW, HOST, HOST_OF_DAY, ONLINE, REQUESTS, REFERRER, ERROR_LOG };

/* One thing to tell the store. */
struct wish {
    enum kind kind;
    mcds_counter *counter; /* COUNT */
    int64_t delta;         /* COUNT, VIEW, REQUESTS */
    int64_t at_ms;         /* HOST and what follows */
    /* A name; it is copied. ERROR_LOG: the event, which must live until the flight has ended. */
    struct text text;
};

struct operation;

struct flight {
    struct sheet *sheet;
    mcds_pipeline *pipeline;
    struct operation *operations; /* one for each that can be in flight */
    uint32_t *idle;               /* indices of those that are not */
    uint32_t idle_count;
    uint64_t uncertain; /* operations that may have been applied */
};

/* All return an mcds_result. flight_close() is needed even after a failure. */
int flight_open(struct flight *flight, struct sheet *sheet);
void flight_close(struct flight *flight);

/* Start one; waits for another to come back when too many are under way. */
int flight_begin(struct flight *flight, struct wish wish);
/* Wait until all have come back. What was not applied for want of a connection or of time has
 * been tried again for some seconds. */
int flight_end(struct flight *flight);

/* After a failed attempt, the `attempts`-th: wait a little longer each time. False: that was the
 * last. */
bool flight_pause(uint32_t attempts);
/* Whether a call that ended so may be made again. */
bool flight_may_repeat(int result);

#endif
