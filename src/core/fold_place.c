/* Core fold: find the key that holds a hash. */
#include "core/fold.h"

#include <stdatomic.h>

#include "base/environment.h"

enum { PLACE_BEGIN, PLACE_ROOT, PLACE_ALL };

static enum mcds__step ask_keys(struct mcds__fold_place *place, struct mcds__fold *fold,
                                struct mcds__operation *operation, uint8_t stage)
{
    struct mcds__fold_room *room = mcds__fold_get_room(&place->room, operation->env);
    if (room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    uint32_t count = stage == PLACE_ROOT ? 1 : MCDS__FOLD_DEPTH_MAX + 1;
    for (uint32_t depth = 0; depth < count; depth++) {
        mcds__fold_key(fold, place->generation, place->hash, depth, &room->keys[depth]);
        room->requests[depth] = (mcds_request){
            .command = MCDS_GET,
            .options = depth == 0 ? 0 : MCDS_NO_VALUE,
            .key = mcds__key_bytes(&room->keys[depth]),
        };
    }
    place->stage = stage;
    return mcds__operation_ask_repeatable(operation, room->requests, count);
}

static enum mcds__step ask(struct mcds__fold_place *place, struct mcds__fold *fold,
                           struct mcds__operation *operation)
{
    place->generation = atomic_load(&fold->generation);
    return ask_keys(place, fold, operation, place->generation == 0 ? PLACE_ROOT : PLACE_ALL);
}

/* Again after a pause, or the end. */
static enum mcds__step ask_later(struct mcds__fold_place *place,
                                 struct mcds__operation *operation, const mcds_reply *reply)
{
    place->stage = PLACE_BEGIN;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(operation, reply);
}

static enum mcds__step take_deepest(struct mcds__fold_place *place, struct mcds__fold *fold,
                                    struct mcds__operation *operation)
{
    const mcds_request *requests = place->room->requests;
    uint32_t depth = MCDS__FOLD_DEPTH_MAX;
    while (requests[depth].reply.outcome == MCDS_OUT_MISS)
        depth--;
    place->depth = depth;
    place->state = mcds__fold_state_of(requests[depth].reply.flags);
    if (place->state == MCDS__FOLD_FOREIGN)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (place->state == MCDS__FOLD_MOVED) {
        /* Reads of different servers have no order: the child may have been made after it was
         * looked for. So it is gone if a read that began after its parent was known to have
         * moved misses it too. */
        if (place->moved_depth != depth + 1) {
            place->moved_depth = (uint8_t)(depth + 1);
            return ask(place, fold, operation);
        }
        place->stage = PLACE_BEGIN;
        return mcds__operation_explain(operation, MCDS_LOST,
                                       "a part of it is gone that the store should hold");
    }
    place->moved_depth = 0;
    mcds__fold_note_found(fold, place->hash, depth);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step take(struct mcds__fold_place *place, struct mcds__fold *fold,
                            struct mcds__operation *operation)
{
    struct mcds__fold_room *room = place->room;
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &room->requests[i].reply;
        if (mcds__is_transport_trouble(reply))
            return ask_later(place, operation, reply);
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
    }
    if (room->requests[0].reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    struct mcds__fold_head head;
    int result = mcds__fold_open_head(mcds__reply_value(&operation->batch, &room->requests[0]),
                                      mcds__key_bytes(&room->keys[0]), &head);
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, mcds__fold_saying(result));
    if (mcds__fold_form_of(room->requests[0].reply.flags) != fold->form)
        return mcds__operation_explain(
            operation, MCDS_INVALID,
            fold->forms[mcds__fold_form_of(room->requests[0].reply.flags)]);
    mcds__fold_adopt(fold, head.generation);
    if (place->stage == PLACE_ALL && place->generation == head.generation)
        return take_deepest(place, fold, operation);
    place->generation = head.generation;
    place->moved_depth = 0;
    return ask_keys(place, fold, operation, PLACE_ALL);
}

enum mcds__step mcds__fold_locate_step(struct mcds__fold_place *place, struct mcds__fold *fold,
                                       struct mcds__operation *operation)
{
    return place->stage == PLACE_BEGIN ? ask(place, fold, operation)
                                       : take(place, fold, operation);
}
