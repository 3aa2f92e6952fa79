/* Core fold: find the key that holds a hash. */
#include "core/fold.h"

#include "base/environment.h"

enum { PLACE_BEGIN, PLACE_ROOT, PLACE_ALL };
#define DEPTHS (MCDS__FOLD_DEPTH_MAX + 1)
#define ROOT DEPTHS /* the request for the root, behind those of all depths */
/* What may be missing: the first key, the child of a mark, the root. */
#define FIRST 1
#define CHILD_OF(depth) ((depth) + 2)
#define MISSING_ROOT (DEPTHS + 2)

static enum mcds__step ask_root(struct mcds__fold_place *place, struct mcds__fold *fold,
                                struct mcds__operation *operation)
{
    struct mcds__fold_room *room = mcds__fold_get_room(&place->room, operation->env);
    if (room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    room->requests[0] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&fold->root),
    };
    place->stage = PLACE_ROOT;
    return mcds__operation_ask_repeatable(operation, room->requests, 1);
}

static enum mcds__step ask_keys(struct mcds__fold_place *place, struct mcds__fold *fold,
                                struct mcds__operation *operation)
{
    struct mcds__fold_room *room = mcds__fold_get_room(&place->room, operation->env);
    if (room == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (place->element.length > 0)
        place->hash = mcds__fold_hash(place->life.hash_key, place->element);
    for (uint32_t depth = 0; depth < DEPTHS; depth++) {
        mcds__fold_key(fold, place->life.number, place->hash, depth, &room->keys[depth]);
        room->requests[depth] = mcds__fold_look_at(fold, mcds__key_bytes(&room->keys[depth]),
                                                   depth);
    }
    room->requests[ROOT] = mcds__fold_look_at_root(fold);
    place->stage = PLACE_ALL;
    return mcds__operation_ask_repeatable(operation, room->requests,
                                          DEPTHS + !place->is_rootless);
}

static enum mcds__step ask(struct mcds__fold_place *place, struct mcds__fold *fold,
                           struct mcds__operation *operation)
{
    if (place->is_rootless)
        return ask_keys(place, fold, operation);
    uint64_t before = place->life.number;
    place->life = mcds__fold_life(fold);
    if (place->life.number != before)
        place->missing_depth = 0;
    return place->life.number == 0 ? ask_root(place, fold, operation)
                                   : ask_keys(place, fold, operation);
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

static enum mcds__step take_root(struct mcds__fold_place *place, struct mcds__fold *fold,
                                 struct mcds__operation *operation)
{
    const mcds_request *request = &place->room->requests[0];
    const mcds_reason *detail = NULL;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    int result = mcds__fold_read_root(fold, mcds__reply_value(&operation->batch, request),
                                      &place->life, &detail);
    if (result != MCDS_OK)
        return mcds__fold_refuse(fold, operation, result, detail);
    mcds__fold_adopt(fold, &place->life);
    place->missing_depth = 0;
    return ask_keys(place, fold, operation);
}

/* The deepest key that is there, plus 1; 0: none. */
static uint32_t deepest(const struct mcds__fold_place *place)
{
    uint32_t depth = DEPTHS;
    while (depth > 0 && place->room->requests[depth - 1].reply.outcome == MCDS_OUT_MISS)
        depth--;
    return depth;
}

static bool has_state(const mcds_reply *reply, enum mcds__fold_state state)
{
    return reply->outcome == MCDS_OUT_OK && mcds__fold_state_of(reply->flags) == state;
}

/* The first key whose split has not ended, else the deepest that is there. */
static uint32_t first_sealed(const struct mcds__fold_place *place, uint32_t deepest)
{
    uint32_t depth = 0;
    while (depth < deepest &&
           !has_state(&place->room->requests[depth].reply, MCDS__FOLD_SEALED))
        depth++;
    return depth;
}

/* The key above was read before it was sealed: one more look shows what has become of it. */
static bool is_read_early(struct mcds__fold_place *place)
{
    const mcds_request *requests = place->room->requests;
    if (place->was_open || place->depth == 0 ||
        !has_state(&requests[place->depth - 1].reply, MCDS__FOLD_OPEN))
        return false;
    place->was_open = true;
    return true;
}

/* Something is missing. Reads of different servers have no order: it may have been made after it was looked for, or the rest
 * have been erased since. So it is gone if a read that began after that was seen misses it too. */
static enum mcds__step miss(struct mcds__fold_place *place, struct mcds__fold *fold,
                            struct mcds__operation *operation, uint32_t missing)
{
    if (place->missing_depth != missing) {
        place->missing_depth = (uint8_t)missing;
        return ask(place, fold, operation);
    }
    place->stage = PLACE_BEGIN;
    place->missing_depth = 0;
    return mcds__operation_explain(
        operation, MCDS_LOST, place->lost_root ? MCDS__WHY(DROPPED) : MCDS__WHY(PART_GONE));
}

/* The root that this handle knows is not there. */
static enum mcds__step take_other_root(struct mcds__fold_place *place, struct mcds__fold *fold,
                                       struct mcds__operation *operation)
{
    bool is_missing = place->room->requests[ROOT].reply.outcome == MCDS_OUT_MISS;
    if (!is_missing || deepest(place) == 0) {
        mcds__fold_forget(fold, place->life.number);
        return ask_root(place, fold, operation);
    }
    place->lost_root = place->missing_depth == MISSING_ROOT;
    if (place->lost_root)
        mcds__fold_forget(fold, place->life.number);
    return miss(place, fold, operation, MISSING_ROOT);
}

static enum mcds__step take_keys(struct mcds__fold_place *place, struct mcds__fold *fold,
                                 struct mcds__operation *operation)
{
    const mcds_request *requests = place->room->requests;
    const mcds_reply *root = &requests[ROOT].reply;
    if (!place->is_rootless && (root->outcome == MCDS_OUT_MISS ||
                                !mcds__descriptor_is_of(root->flags, place->life.number)))
        return take_other_root(place, fold, operation);
    uint32_t depth = deepest(place);
    place->depth = depth > 0 ? first_sealed(place, depth - 1) : 0;
    if (depth == 0)
        return miss(place, fold, operation, FIRST);
    if (is_read_early(place))
        return ask(place, fold, operation);
    place->state = mcds__fold_state_of(requests[place->depth].reply.flags);
    if (place->state == MCDS__FOLD_FOREIGN)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (place->state == MCDS__FOLD_MOVED)
        return miss(place, fold, operation, CHILD_OF(place->depth));
    place->missing_depth = 0;
    mcds__fold_note_found(fold, place->hash, place->depth);
    if (place->depth > 0)
        mcds__fold_note_moved(fold, place->hash, place->depth - 1);
    return mcds__operation_finish(operation, MCDS_OK);
}

enum mcds__step mcds__fold_locate_step(struct mcds__fold_place *place, struct mcds__fold *fold,
                                       struct mcds__operation *operation)
{
    if (place->stage == PLACE_BEGIN) {
        place->lost_root = place->was_open = false;
        return ask(place, fold, operation);
    }
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &place->room->requests[i].reply;
        if (mcds__is_transport_trouble(reply))
            return ask_later(place, operation, reply);
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
    }
    return place->stage == PLACE_ROOT ? take_root(place, fold, operation)
                                      : take_keys(place, fold, operation);
}
