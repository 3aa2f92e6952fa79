/* Unique hit: write the mark of a visitor, then add to the tally. */
#include "core/tally/unique_hit.h"

#include <assert.h>

enum { BEGIN, FIRST_SEEN, COUNT, UNDO };

void mcds__unique_hit_init(struct mcds__unique_hit *unique, uint64_t tally,
                           uint64_t first_seen_ttl_ms, uint64_t tally_ttl_ms)
{
    unique->stage = BEGIN;
    mcds__mark_init(&unique->first_seen, first_seen_ttl_ms);
    unique->first_seen.numbers[0] = tally;
    mcds__tally_hit_init(&unique->hit, (mcds_bytes){NULL, 0}, 1, tally_ttl_ms);
}

/* If the mark was written and the visitor certainly not counted, the mark is deleted if
 * possible, so that a later hit counts. Otherwise the visitor is not counted in this interval,
 * and the caller cannot repair that. */
static enum mcds__step end_count(struct mcds__unique_hit *unique,
                                 struct mcds__operation *operation)
{
    assert(unique->stage == COUNT);
    if (operation->result == MCDS_OK || operation->result == MCDS_AMBIGUOUS ||
        unique->anonymous)
        return MCDS__DONE;
    if (!mcds__mark_can_undo(&unique->first_seen))
        return mcds__operation_finish(operation, MCDS_AMBIGUOUS);
    assert(unique->first_seen.cas.connection != 0);
    unique->stage = UNDO;
    unique->result = operation->result;
    unique->hit.requests[0] = mcds__mark_undo(&unique->first_seen);
    operation->connection = unique->first_seen.cas.connection;
    return mcds__operation_ask_repeatable(operation, unique->hit.requests, 1);
}

static enum mcds__step tally_unique_hit_step_count(struct mcds__unique_hit *unique,
                                                   struct mcds__operation *operation)
{
    enum mcds__step step = mcds__tally_hit_step(&unique->hit, operation);
    return step == MCDS__DONE ? end_count(unique, operation) : step;
}

static enum mcds__step begin_count(struct mcds__unique_hit *unique,
                                   struct mcds__operation *operation)
{
    assert(unique->stage == BEGIN || unique->stage == FIRST_SEEN);
    unique->stage = COUNT;
    unique->hit.key = mcds__key_bytes(&unique->key);
    return tally_unique_hit_step_count(unique, operation);
}

static enum mcds__step step_first_seen(struct mcds__unique_hit *unique,
                                       struct mcds__operation *operation)
{
    assert(!unique->anonymous);
    unique->stage = FIRST_SEEN;
    enum mcds__step step = mcds__first_seen_step(&unique->first_seen, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return begin_count(unique, operation);
}

static enum mcds__step tally_unique_hit_end_undo(struct mcds__unique_hit *unique,
                                                 struct mcds__operation *operation)
{
    assert(unique->stage == UNDO && !unique->anonymous);
    bool undone = unique->hit.requests[0].reply.outcome == MCDS_OUT_OK;
    return mcds__operation_finish(operation, undone ? unique->result : MCDS_AMBIGUOUS);
}

enum mcds__step mcds__unique_hit_step(struct mcds__unique_hit *unique,
                                      struct mcds__operation *operation)
{
    assert(unique->stage <= UNDO);
    switch (unique->stage) {
    case BEGIN:
        return unique->anonymous ? begin_count(unique, operation)
                                 : step_first_seen(unique, operation);
    case FIRST_SEEN:
        return step_first_seen(unique, operation);
    case COUNT:
        return tally_unique_hit_step_count(unique, operation);
    default:
        return tally_unique_hit_end_undo(unique, operation);
    }
}

bool mcds__unique_hit_read(struct mcds__operation *operation, const mcds_request *request,
                           struct mcds__tally_memory *memory, uint64_t number, bool seen,
                           uint64_t *count_out, bool *reborn)
{
    *count_out = 0;
    if (request->reply.outcome == MCDS_OUT_MISS) {
        *reborn = *reborn || seen;
        return true;
    }
    if (!mcds__tally_parse(mcds__operation_value(operation, request), count_out))
        return false;
    *reborn = mcds__tally_remember(memory, number, request->reply.flags) || *reborn;
    return true;
}
