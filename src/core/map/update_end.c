/* Map: how an update ends. */
#include <assert.h>

#include "core/map/sequence.h"

enum mcds__step mcds__map_finish(struct mcds__map_update *update,
                                 struct mcds__operation *operation, int result,
                                 const mcds_reason *detail)
{
    (void)mcds__operation_explain(operation, result, detail);
    return update->doubt && result != MCDS_OK ? mcds__operation_doubt(operation) : MCDS__DONE;
}

enum mcds__step mcds__map_finish_waiting(struct mcds__map_update *update,
                                         struct mcds__operation *operation,
                                         const mcds_reason *detail)
{
    (void)mcds__operation_fail_waiting(operation, detail);
    return mcds__map_finish(update, operation, operation->result, operation->detail);
}

enum mcds__step mcds__map_finish_unrewritten(struct mcds__map_update *update,
                                             struct mcds__operation *operation)
{
    if (!update->rewrite.lacks_memory)
        return mcds__map_finish_waiting(update, operation, MCDS__WHY(KEY_REWRITTEN));
    operation->peer = NULL;
    return mcds__map_finish(update, operation, MCDS_NO_MEMORY, MCDS__WHY(NO_MEMORY_TO_REWRITE));
}

enum mcds__step mcds__map_finish_done(struct mcds__map_update *update,
                                      struct mcds__operation *operation)
{
    update->doubt = update->is_late = false;
    operation->peer = NULL;
    return mcds__map_finish(update, operation, MCDS_OK, NULL);
}

/* The reply to the request that makes the life was lost, and this update has not seen its root. */
static bool is_unmade(const struct mcds__map_update *update)
{
    const uint64_t life = update->life.number;
    return update->making.doubt && update->making.life.number == life &&
           update->proof.seen != life;
}

enum mcds__step mcds__map_finish_over(struct mcds__map_update *update,
                                      struct mcds__operation *operation)
{
    mcds__map_note_over(update->map, update->life.number);
    update->doubt = true;
    return mcds__map_finish(update, operation, MCDS_AMBIGUOUS,
                            is_unmade(update) ? MCDS__WHY(MAKING_IN_DOUBT)
                                              : MCDS__WHY(DROPPED_MEANWHILE));
}

enum mcds__step mcds__map_finish_failed(const struct mcds__map_update *update,
                                        struct mcds__operation *operation)
{
    assert(operation->result != MCDS_OK);
    return update->doubt ? mcds__operation_doubt(operation) : MCDS__DONE;
}

/* The number of copies of the record in the marks that the search has read. */
static uint32_t count_void_copies(const struct mcds__map_update *update,
                                  const struct mcds__operation *operation)
{
    const struct mcds__map_place *place = &update->place;
    uint32_t count = 0;
    assert(place->wants_value && place->depth <= MCDS__MAP_DEPTH_MAX);
    for (uint32_t depth = 0; depth <= place->depth; depth++) {
        const mcds_request *request = &place->scratch->requests[depth];
        const mcds_reply *reply = &request->reply;
        if (reply->outcome == MCDS_OUT_OK &&
            mcds__map_state_of(reply->flags) == MCDS__MAP_MOVED)
            count += mcds__map_count_record(mcds__reply_value(&operation->batch, request),
                                            request->key, reply->flags, update->writer,
                                            update->seq);
    }
    return count;
}

enum mcds__step mcds__map_finish_unlocated(struct mcds__map_update *update,
                                           struct mcds__operation *operation)
{
    bool is_part_lost = operation->result == MCDS_LOST && !update->place.lost_root;
    if (update->doubt && is_part_lost && count_void_copies(update, operation) == update->copies)
        update->doubt = update->is_late = false;
    return mcds__map_finish_failed(update, operation);
}

enum mcds__step mcds__map_fail(struct mcds__map_update *update,
                               struct mcds__operation *operation, const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    return mcds__map_finish_failed(update, operation);
}

enum mcds__step mcds__map_try_later(struct mcds__map_update *update,
                                    struct mcds__operation *operation, const mcds_reply *reply)
{
    update->stage = UPDATE_BEGIN;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return mcds__map_fail(update, operation, reply);
}

enum mcds__step mcds__map_fail_append(struct mcds__map_update *update,
                                      struct mcds__operation *operation)
{
    const mcds_reply *appended = &update->requests[MCDS__MAP_APPEND].reply;
    if (mcds__is_refusal(appended))
        return mcds__map_fail(update, operation, appended);
    assert(appended->outcome == MCDS_OUT_NOT_STORED); /* see mcds__map_take_room_check */
    operation->peer = appended->peer;
    return mcds__map_finish(update, operation, MCDS_FULL, MCDS__WHY(SERVER_FULL_FOR_IT));
}

void mcds__map_note_fate(struct mcds__map_rewrite *rewrite, struct mcds__bucket *bucket,
                         enum mcds__map_state state)
{
    assert(state == MCDS__MAP_OPEN || state == MCDS__MAP_SEALED);
    const struct mcds__map_id *id = mcds__map_outcome(bucket, rewrite->writer, rewrite->seq);
    if (id != NULL) {
        rewrite->fate = MCDS__MAP_COUNTED;
        rewrite->code = id->code;
        rewrite->number = id->number;
    } else if (rewrite->second < bucket->floor_s) {
        rewrite->fate = MCDS__MAP_FORGOTTEN;
    } else {
        rewrite->fate = state == MCDS__MAP_SEALED ? MCDS__MAP_VOID : MCDS__MAP_NOT_IN_OPEN;
    }
}

bool mcds__map_counts_nowhere(const struct mcds__map_update *update)
{
    assert(update->is_late <= update->doubt);
    if (update->rewrite.fate == MCDS__MAP_NOT_IN_OPEN)
        return !update->is_late;
    return update->rewrite.fate == MCDS__MAP_VOID && update->deepest <= update->depth;
}
