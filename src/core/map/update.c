/* Map: one update, a stage for each wait. Its requests: update_ask.c. How it ends: update_end.c.
 *
 *   stage          function                 next stage
 *   BEGIN          map_update_begin         LOCATING, if the life is in doubt; LOOKING, if it is not
 *                                           known that the split above has ended; else APPENDING
 *   APPENDING      map_update_take_append   in an open key: READING_FLOOR or PROVING; sealed: HELPING;
 *                                           moved: APPENDING, one deeper; missing: LOCATING;
 *                                           full: CHECKING_ROOM or HELPING; refused: RESOLVING
 *   CHECKING_ROOM  take_room_check          as APPENDING
 *   LOCATING       map_update_locate        APPENDING; sealed: HELPING; there is no root: MAKING
 *   LOOKING        take_around              APPENDING or LOCATING
 *   MAKING         take_making              as APPENDING; another client makes it: BEGIN
 *   READING_FLOOR  take_read_floor          PROVING; the key has changed: BEGIN
 *   PROVING        take_proof               the end; the key has grown: GROWING
 *   RESOLVING      take_rewrite             the record counts: PROVING; not known: BEGIN; else the end
 *   HELPING        take_rewrite             BEGIN; the store refuses the rewrite: as RESOLVING
 *   GROWING        take_rewrite             the end
 * A transport failure: BEGIN, after a pause. Where a stage needs no wait, its function is called at once. */
#include <assert.h>

#include "base/buffer.h"
#include "core/map/sequence.h"
#include "engine/line_wait.h"

/* Between the creation of the first key and the append to it, in one ordered batch, the key can
 * only vanish by eviction. A store that evicts it this often in a row has no room for it. */
#define ROOTINGS_MAX 3
#define REJECTIONS_MAX 2
/* Refusals of an append because of the number of an open key, before the update pauses. */
#define REFUSALS_MAX 8

static enum mcds__step map_update_ask_at(struct mcds__map_update *update,
                                         struct mcds__operation *operation, uint32_t depth)
{
    update->stage = UPDATE_APPENDING;
    return mcds__map_ask_append(update, operation, depth);
}

static enum mcds__step map_update_begin(struct mcds__map_update *update,
                                        struct mcds__operation *operation);
static enum mcds__step prove(struct mcds__map_update *update,
                             struct mcds__operation *operation);
static enum mcds__step take_making(struct mcds__map_update *update,
                                   struct mcds__operation *operation);

/* The store has no room for the record, or to rewrite the key. It counts if the key's value has
 * counted it. */
static enum mcds__step take_refused_rewrite(struct mcds__map_update *update,
                                            struct mcds__operation *operation)
{
    const struct mcds__map_rewrite *rewrite = &update->rewrite;
    if (rewrite->fate == MCDS__MAP_COUNTED) {
        update->code = rewrite->code;
        update->number = rewrite->number;
        return prove(update, operation);
    }
    return update->stage == UPDATE_RESOLVING ? mcds__map_fail_append(update, operation)
                                             : mcds__map_finish_failed(update, operation);
}

/* Continue the rewriting of the key, or finish after it. */
static enum mcds__step take_rewrite(struct mcds__map_update *update,
                                    struct mcds__operation *operation)
{
    enum mcds__step step = mcds__map_rewrite_step(&update->rewrite, update->map, operation);
    if (step != MCDS__DONE)
        return step;
    if (update->stage == UPDATE_GROWING)
        return mcds__map_finish_done(update, operation);
    if (mcds__map_counts_nowhere(update))
        update->doubt = update->is_late = false;
    bool is_resolved = update->stage == UPDATE_RESOLVING &&
                       update->rewrite.fate != MCDS__MAP_UNDECIDED;
    if (operation->result != MCDS_OK || is_resolved)
        return take_refused_rewrite(update, operation);
    if (!update->rewrite.is_outrun) /* else an append would make rewrites of others fail */
        update->stage = UPDATE_BEGIN;
    if (update->rewrite.moved && update->moves++ < MCDS__MAP_MOVES_MAX)
        return map_update_begin(update, operation);
    bool waits = update->doubt || !update->rewrite.lacks_memory;
    if (waits && mcds__operation_wait(operation, MCDS__MAP_REWRITE_WAIT_NS))
        return MCDS__SLEEP;
    return mcds__map_finish_unrewritten(update, operation);
}

static enum mcds__step map_update_grow(struct mcds__map_update *update,
                                       struct mcds__operation *operation, uint8_t stage)
{
    assert(stage >= UPDATE_RESOLVING);
    assert(update->numbered || stage == UPDATE_GROWING);
    mcds__map_fill_rewrite(update, stage == UPDATE_HELPING ? update->record.length : 0);
    update->stage = stage;
    return take_rewrite(update, operation);
}

/* The record counts, if its life is not over. */
static enum mcds__step prove(struct mcds__map_update *update, struct mcds__operation *operation)
{
    assert(update->life.number != 0);
    switch (mcds__map_is_alive(&update->proof, update->map, update->life.number, operation)) {
    case MCDS__MAP_ALIVE:
        mcds__map_note_seen(update->map, operation->sent_ns);
        mcds__line_release(operation);
        break;
    case MCDS__MAP_OVER:
        return mcds__map_finish_over(update, operation);
    default:
        update->doubt = true;
        update->stage = UPDATE_PROVING;
        operation->place = 0; /* its append was answered, so the next may be sent */
        return mcds__map_prove_alone(&update->proof, update->map, update->life.number,
                                     operation, &update->requests[MCDS__MAP_ROOT]);
    }
    if (!update->grows)
        return mcds__map_finish_done(update, operation);
    mcds__map_give_number(update);
    return map_update_grow(update, operation, UPDATE_GROWING);
}

static enum mcds__step take_proof(struct mcds__map_update *update,
                                  struct mcds__operation *operation)
{
    const mcds_reply *reply = &update->requests[MCDS__MAP_ROOT].reply;
    if (!update->proof.looks) /* it has waited, and has not asked */
        return prove(update, operation);
    if (mcds__is_refusal(reply))
        return mcds__map_fail(update, operation, reply);
    mcds__map_take_proof(&update->proof, update->map, update->life.number, operation, reply);
    if (!mcds__is_transport_trouble(reply))
        return prove(update, operation);
    update->proof.looks = false;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return mcds__map_fail(update, operation, reply);
}

/* Append the record to a key of a flat map and, before it, add the key, empty, if it is missing. */
static enum mcds__step add_and_append(struct mcds__map_update *update,
                                      struct mcds__operation *operation)
{
    if (update->rootings++ == ROOTINGS_MAX)
        return mcds__map_finish(update, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    if (!mcds__map_fill_add(update))
        return mcds__map_finish(update, operation, MCDS_NO_MEMORY, NULL);
    return map_update_ask_at(update, operation, update->map->flat);
}

/* There is no such structure. */
static enum mcds__step make(struct mcds__map_update *update, struct mcds__operation *operation)
{
    if (update->doubt)
        return mcds__map_finish_over(update, operation);
    if (update->must_exist)
        return mcds__map_finish(update, operation, MCDS_NOT_FOUND, NULL);
    if (update->rootings++ == ROOTINGS_MAX)
        return mcds__map_finish(update, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    update->stage = UPDATE_MAKING;
    update->making.wants_value = update->wants_code;
    return take_making(update, operation);
}

static enum mcds__step map_update_locate(struct mcds__map_update *update,
                                         struct mcds__operation *operation)
{
    if (update->stage != UPDATE_LOCATING && update->moves++ == MCDS__MAP_MOVES_MAX)
        return mcds__map_finish(update, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    update->stage = UPDATE_LOCATING;
    update->place.keeps_loss = update->keeps_loss || update->doubt;
    update->place.wants_value = update->doubt;
    enum mcds__step step = mcds__map_locate_step(&update->place, update->map, operation);
    if (step != MCDS__DONE)
        return step;
    const struct mcds__map_place *place = &update->place;
    update->place.stage = 0;
    if (operation->result == MCDS_NOT_FOUND)
        return make(update, operation);
    if (operation->result != MCDS_OK)
        return mcds__map_finish_unlocated(update, operation);
    if (update->doubt && place->life.number != update->life.number)
        return mcds__map_finish_over(update, operation);
    mcds__map_update_set_life(update, &place->life);
    update->proof.seen = place->life.number;
    update->depth = place->depth;
    if (update->map->flat != 0)
        return add_and_append(update, operation);
    if (place->state == MCDS__MAP_SEALED)
        return map_update_grow(update, operation, UPDATE_HELPING);
    return map_update_ask_at(update, operation, update->depth);
}

/* The record counts in an OPEN key. */
static enum mcds__step take_counted(struct mcds__map_update *update,
                                    struct mcds__operation *operation)
{
    const mcds_reply *looked = &update->requests[MCDS__MAP_LOOK].reply;
    size_t size = looked->value_length;
    update->doubt = true;
    if (!update->is_told && size >= update->record.length &&
        !mcds__map_has_room_at(looked->flags, size - update->record.length))
        return map_update_grow(update, operation, UPDATE_HELPING);
    int result = update->wants_code ? mcds__map_read_code(update, operation) : MCDS_OK;
    if (result == MCDS_NOT_FOUND)
        return map_update_grow(update, operation, UPDATE_HELPING);
    /* It may count, but what became of it cannot be read. */
    if (result != MCDS_OK)
        return mcds__map_finish(update, operation, result, mcds__map_reason(result));
    mcds__map_note_depth(update->map, update->life.number, update->hash, update->depth);
    update->refusals = 0;
    mcds__map_note_growth(update, looked);
    return prove(update, operation);
}

static enum mcds__step take_floor(struct mcds__map_update *update,
                                  struct mcds__operation *operation, const mcds_request *read)
{
    bool is_reached = false;
    int result = mcds__map_take_floor(update, operation, read, &is_reached);
    if (result != MCDS_OK)
        return mcds__map_finish(update, operation, result, mcds__map_reason(result));
    if (!is_reached)
        return mcds__map_finish(update, operation, MCDS_IO, MCDS__WHY(CLOCK_BEHIND));
    return take_counted(update, operation);
}

static enum mcds__step take_open(struct mcds__map_update *update,
                                 struct mcds__operation *operation)
{
    const mcds_request *look = &update->requests[MCDS__MAP_LOOK];
    if (mcds__map_shows_floor_reached(update, look->reply.flags))
        return take_counted(update, operation);
    return update->wants_code ? take_floor(update, operation, look)
                              : mcds__map_ask_floor(update, operation);
}

/* If the key has another floor by now, or is not open, the update begins again. */
static enum mcds__step take_read_floor(struct mcds__map_update *update,
                                       struct mcds__operation *operation)
{
    const mcds_request *read = &update->requests[MCDS__MAP_ADD];
    if (mcds__is_transport_trouble(&read->reply))
        return mcds__map_try_later(update, operation, &read->reply);
    if (mcds__is_refusal(&read->reply))
        return mcds__map_fail(update, operation, &read->reply);
    if (mcds__map_has_floor_of(&read->reply, &update->requests[MCDS__MAP_LOOK].reply))
        return take_floor(update, operation, read);
    if (update->moves++ == MCDS__MAP_MOVES_MAX)
        return mcds__map_finish(update, operation, MCDS_BUSY, MCDS__WHY(KEY_REWRITTEN));
    return map_update_begin(update, operation);
}

/* The key is not open, or must be rewritten first. */
static enum mcds__step map_update_go_on(struct mcds__map_update *update,
                                        struct mcds__operation *operation,
                                        enum mcds__map_state state)
{
    assert(state != MCDS__MAP_OPEN);
    const mcds_reply *looked = &update->requests[MCDS__MAP_LOOK].reply;
    operation->read = &update->requests[MCDS__MAP_APPEND]; /* the look may not have been sent */
    if (update->map->flat != 0 || state == MCDS__MAP_FOREIGN)
        return mcds__map_finish(update, operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    if (mcds__map_must_help(update, state, looked->value_length))
        return map_update_grow(update, operation, UPDATE_HELPING);
    if (update->depth >= MCDS__MAP_DEPTH_MAX)
        return mcds__map_finish(update, operation, MCDS_CORRUPT, NULL);
    mcds__map_note_moved(update->map, update->life.number, update->hash, update->depth);
    return update->depth == 0 ? map_update_locate(update, operation)
                              : map_update_ask_at(update, operation, update->depth + 1);
}

/* The key has another number, so the record was not appended. If it is open, it has another floor
 * or was frozen, probably because it has grown. */
static enum mcds__step take_other_number(struct mcds__map_update *update,
                                         struct mcds__operation *operation)
{
    const mcds_reply *looked = &update->requests[MCDS__MAP_LOOK].reply;
    enum mcds__map_state state = mcds__map_state_of(looked->flags);
    if (state != MCDS__MAP_OPEN)
        return map_update_go_on(update, operation, state);
    mcds__map_note_floor(update->map, update->hash, looked->flags);
    if (update->refusals++ < REFUSALS_MAX) {
        if (mcds__map_must_rewrite(update->map, update->hash, update->depth, looked->flags,
                                   looked->value_length, 0))
            return map_update_grow(update, operation, UPDATE_HELPING);
        update->must_look = false;
        update->token = mcds__map_seen_token(looked);
        update->seen = looked->flags;
        return map_update_ask_at(update, operation, update->depth);
    }
    update->refusals = 0;
    update->stage = UPDATE_BEGIN;
    return mcds__operation_wait(operation, 0)
               ? MCDS__SLEEP
               : mcds__map_finish_waiting(update, operation, MCDS__WHY(KEY_REWRITTEN));
}

/* The record was appended; the key's state after it decides. SEALED or MOVED: it was appended
 * before the seal, and counts, or after it. */
static enum mcds__step map_update_take_look(struct mcds__map_update *update,
                                            struct mcds__operation *operation)
{
    enum mcds__map_state state = mcds__map_state_of(
        update->requests[MCDS__MAP_LOOK].reply.flags);
    if (state == MCDS__MAP_OPEN)
        return take_open(update, operation);
    update->doubt = true;
    return map_update_go_on(update, operation, state);
}

static enum mcds__step take_missing_key(struct mcds__map_update *update,
                                        struct mcds__operation *operation)
{
    const mcds_reply *added = &update->requests[MCDS__MAP_ADD].reply;
    if (update->map->flat == 0)
        return map_update_locate(update, operation);
    if (update->adds && mcds__is_refusal(added))
        return mcds__map_fail(update, operation, added);
    return add_and_append(update, operation);
}

/* The append was refused: the key is missing or full. Late records may fill a MOVED key too. */
static enum mcds__step map_update_take_refusal(struct mcds__map_update *update,
                                               struct mcds__operation *operation)
{
    const mcds_reply *looked = &update->requests[MCDS__MAP_LOOK].reply;
    if (looked->outcome == MCDS_OUT_MISS)
        return take_missing_key(update, operation);
    enum mcds__map_state state = mcds__map_state_of(looked->flags);
    if (state != MCDS__MAP_OPEN)
        return map_update_go_on(update, operation, state);
    uint64_t value_max = mcds__store_can(update->map->store).value_max;
    if (looked->value_length + update->record.length > value_max)
        return map_update_grow(update, operation, UPDATE_HELPING);
    if (update->rejections < REJECTIONS_MAX) {
        update->rejections++;
        return mcds__map_check_room(update, operation);
    }
    update->stage = UPDATE_BEGIN;
    return mcds__operation_wait(operation, 0)
               ? MCDS__SLEEP
               : mcds__map_finish(update, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
}

/* The store has refused the record. Where an earlier append may have put it into the key, reading
 * the key decides. */
static enum mcds__step take_no_room(struct mcds__map_update *update,
                                    struct mcds__operation *operation)
{
    assert(update->under_way == NULL);
    return update->doubt ? map_update_grow(update, operation, UPDATE_RESOLVING)
                         : mcds__map_fail_append(update, operation);
}

static enum mcds__step map_update_take_append(struct mcds__map_update *update,
                                              struct mcds__operation *operation)
{
    const mcds_reply *appended = &update->requests[MCDS__MAP_APPEND].reply;
    const mcds_reply *looked = &update->requests[MCDS__MAP_LOOK].reply;
    mcds__map_give_turn(update);
    mcds__map_take_replies(update, &operation->batch);
    update->is_late = update->is_late || appended->outcome == MCDS_OUT_UNKNOWN ||
                      (appended->outcome == MCDS_OUT_OK && looked->outcome != MCDS_OUT_OK);
    update->doubt = update->doubt || update->is_late;
    if (update->proof.looks)
        mcds__map_take_proof(&update->proof, update->map, update->life.number, operation,
                             &update->requests[MCDS__MAP_ROOT].reply);
    if (mcds__is_transport_trouble(appended))
        return mcds__map_try_later(update, operation, appended);
    if (mcds__is_refusal(appended))
        return take_no_room(update, operation);
    if (looked->outcome == MCDS_OUT_NONE) /* a record that was appended twice counts once */
        return map_update_ask_at(update, operation, update->depth);
    if (mcds__is_transport_trouble(looked))
        return mcds__map_try_later(update, operation, looked);
    if (looked->outcome != MCDS_OUT_OK && looked->outcome != MCDS_OUT_MISS)
        return mcds__map_fail(update, operation, looked);
    if (appended->outcome == MCDS_OUT_EXISTS && looked->outcome == MCDS_OUT_OK)
        return take_other_number(update, operation);
    if (appended->outcome != MCDS_OUT_OK)
        return map_update_take_refusal(update, operation);
    if (looked->outcome == MCDS_OUT_MISS)
        return take_missing_key(update, operation);
    return map_update_take_look(update, operation);
}

static enum mcds__step take_room_check(struct mcds__map_update *update,
                                       struct mcds__operation *operation)
{
    if (!mcds__map_take_room_check(update))
        return map_update_take_append(update, operation);
    mcds__map_give_turn(update);
    return take_no_room(update, operation);
}

/* The structure was created with the record, or by another client, or not. */
static enum mcds__step take_making(struct mcds__map_update *update,
                                   struct mcds__operation *operation)
{
    const struct mcds__map_making *making = &update->making;
    enum mcds__step step = mcds__map_make_step(&update->making, update->map, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_OK || making->doubt) {
        mcds__map_update_set_life(update, &making->life);
        update->copies = update->doubt = update->is_late = making->doubt;
    }
    update->stage = UPDATE_BEGIN;
    if (operation->result == MCDS_OK) {
        mcds__map_take_made(update);
        return map_update_take_append(update, operation);
    }
    bool is_other = operation->result == MCDS_EXISTS;
    mcds__map_note_unmade(update, is_other);
    if (is_other && mcds__map_life(update->map).number != 0)
        return map_update_begin(update, operation);
    if (!is_other && !making->may_repeat)
        return MCDS__DONE;
    if (mcds__operation_wait(operation, is_other ? MCDS__MAP_REWRITE_WAIT_NS : 0))
        return MCDS__SLEEP;
    if (is_other)
        return mcds__map_finish_waiting(update, operation, MCDS__WHY(OTHERS_MAKE_IT));
    return mcds__map_finish(update, operation, operation->result, operation->detail);
}

static enum mcds__step take_around(struct mcds__map_update *update,
                                   struct mcds__operation *operation)
{
    const mcds_reply *trouble = mcds__first_trouble(update->place.scratch->requests,
                                                    operation->batch.count);
    if (trouble != NULL && !mcds__is_transport_trouble(trouble))
        return mcds__map_fail(update, operation, trouble);
    if (mcds__map_take_around(update, operation))
        return map_update_ask_at(update, operation, update->depth);
    return trouble != NULL ? mcds__map_try_later(update, operation, trouble)
                           : map_update_locate(update, operation);
}

static enum mcds__step map_update_begin(struct mcds__map_update *update,
                                        struct mcds__operation *operation)
{
    assert(update->under_way == NULL);
    struct mcds__map_life life = mcds__map_life(update->map);
    enum mcds__step step;
    bool is_doubtful = mcds__map_is_doubtful(update->map, life.number);
    if (is_doubtful && mcds__map_waits_for_root(update, operation, &step))
        return step;
    if (is_doubtful || (update->doubt && life.number != update->life.number)) {
        mcds__map_take_number(update);
        update->has_asked = true;
        return map_update_locate(update, operation);
    }
    mcds__map_resign(update);
    mcds__map_update_set_life(update, &life);
    update->adds = false;
    uint32_t depth = mcds__map_depth(update->map, update->hash);
    if (mcds__map_waits_for_turn(update, operation, depth, &step))
        return step;
    mcds__map_take_number(update);
    update->has_asked = true;
    if (!mcds__map_has_split_above(update->map, update->hash, depth)) {
        /* A record is appended to a key only after the split that made it has ended. */
        update->stage = UPDATE_LOOKING;
        return mcds__map_ask_around(update, operation, depth);
    }
    return map_update_ask_at(update, operation, depth);
}

static enum mcds__step map_update_step_on(struct mcds__map_update *update,
                                          struct mcds__operation *operation)
{
    assert(update->stage <= UPDATE_GROWING);
    switch (update->stage) {
    case UPDATE_BEGIN:
        return map_update_begin(update, operation);
    case UPDATE_APPENDING:
        return map_update_take_append(update, operation);
    case UPDATE_CHECKING_ROOM:
        return take_room_check(update, operation);
    case UPDATE_LOCATING:
        return map_update_locate(update, operation);
    case UPDATE_LOOKING:
        return take_around(update, operation);
    case UPDATE_MAKING:
        return take_making(update, operation);
    case UPDATE_READING_FLOOR:
        return take_read_floor(update, operation);
    case UPDATE_PROVING:
        return take_proof(update, operation);
    default:
        return take_rewrite(update, operation);
    }
}

enum mcds__step mcds__map_update_step(struct mcds__map_update *update,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = map_update_step_on(update, operation);
    if (step == MCDS__DONE) /* the caller may continue with something else */
        mcds__line_release(operation);
    return step;
}
