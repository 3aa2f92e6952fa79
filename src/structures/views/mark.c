/* Views: the mark is the last interval of which all views are saved. A flush begins after it, so a
 * view that is counted before it would never be saved.
 *
 * That happens where the clock of a flush was ahead and is right again, and where the clock of a hit
 * is slow. No machine can know which of two clocks is wrong. Therefore a handle that has counted in
 * an interval that the mark includes sets the mark before that interval, and the next flush saves it
 * again. The handle looks once a second. A flush also saves again the two intervals before the mark:
 * so it saves the views that were counted since the last look. */
#include "structures/views/mark.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"

#define LOOK_NS INT64_C(1000000000)
#define TRIES_MAX 4 /* the mark is read and set */

enum { LOWER_BEGIN, LOWER_READING, LOWER_SETTING };

bool mcds__views_takes_look(mcds_views *views, const struct mcds__operation *operation)
{
    int64_t now_ns = mcds__operation_now_ns(operation);
    int64_t next_ns = atomic_load_explicit(&views->look_ns, memory_order_relaxed);
    return now_ns >= next_ns &&
           atomic_compare_exchange_strong(&views->look_ns, &next_ns, now_ns + LOOK_NS);
}

/* Whether the mark includes the interval, and a flush still reads intervals that are so old. */
static bool includes(const mcds_views *views, uint64_t mark, uint64_t slot)
{
    return slot > 0 && mark >= slot && mark - slot <= views->keep_slots;
}

static enum mcds__step ask_lowering(struct mcds__views_lowering *lowering, uint8_t stage,
                                    struct mcds__operation *operation)
{
    lowering->stage = stage;
    return mcds__operation_ask_repeatable(operation, &lowering->request, 1);
}

static enum mcds__step read_mark(struct mcds__views_lowering *lowering, mcds_views *views,
                                 struct mcds__operation *operation)
{
    lowering->tries++;
    lowering->request = (mcds_request){.command = MCDS_GET,
                                       .key = mcds__key_bytes(&views->mark)};
    return ask_lowering(lowering, LOWER_READING, operation);
}

static enum mcds__step take_mark(struct mcds__views_lowering *lowering, mcds_views *views,
                                 struct mcds__operation *operation)
{
    mcds_request *request = &lowering->request;
    mcds_bytes key = request->key;
    uint64_t mark[2];
    if (request->reply.outcome != MCDS_OUT_OK ||
        !mcds__frame_open_numbers(mcds__operation_value(operation, request), MCDS__VIEWS_MARK,
                                  MCDS__VIEWS_FRAME_VERSION, key, mark, 2) ||
        !includes(views, mark[0], lowering->slot))
        return mcds__operation_finish(operation, MCDS_OK);
    mark[0] = lowering->slot - 1;
    mcds_cas_token token = request->reply.cas;
    operation->connection = token.connection;
    *request = (mcds_request){
        .command = MCDS_CAS,
        .key = key,
        .value = mcds__frame_seal_numbers(lowering->pair, MCDS__VIEWS_MARK,
                                          MCDS__VIEWS_FRAME_VERSION, key, mark, 2),
        .cas = token,
    };
    return ask_lowering(lowering, LOWER_SETTING, operation);
}

/* Another client has set it since: that may be a flush that was begun before. */
static enum mcds__step take_lowered(struct mcds__views_lowering *lowering, mcds_views *views,
                                    struct mcds__operation *operation)
{
    if (lowering->request.reply.outcome == MCDS_OUT_EXISTS && lowering->tries < TRIES_MAX)
        return read_mark(lowering, views, operation);
    return mcds__operation_finish(operation, MCDS_OK);
}

enum mcds__step mcds__views_lower_step(struct mcds__views_lowering *lowering, mcds_views *views,
                                       struct mcds__operation *operation)
{
    assert(lowering->stage <= LOWER_SETTING && lowering->tries <= TRIES_MAX);
    switch (lowering->stage) {
    case LOWER_BEGIN:
        return read_mark(lowering, views, operation);
    case LOWER_READING:
        return take_mark(lowering, views, operation);
    default:
        return take_lowered(lowering, views, operation);
    }
}
