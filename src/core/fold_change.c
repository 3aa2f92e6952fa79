/* Core fold: one change. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold_turn.h"

/* Between making the root and appending to it, in one ordered batch, it can only vanish by
 * eviction; a store that does so this often in a row has no room for it. */
#define ROOTINGS_MAX 3
#define REJECTIONS_MAX 2
/* The requests of a change. */
enum { APPEND, LOOK, ROOT };

enum {
    CHANGE_BEGIN,
    CHANGE_APPENDING,
    CHANGE_CHECKING_ROOM, /* appending, with a look before it */
    CHANGE_LOCATING,
    CHANGE_LOOKING_ABOVE, /* whether the split has ended that made its key */
    CHANGE_MAKING,
    CHANGE_UNPROVED, /* it is done, if its life is not over */
    CHANGE_PROVING,
    CHANGE_HELPING, /* finish another's split, or make room, then try again */
    CHANGE_GROWING  /* the change is done; the key has grown */
};

/* From now on this life is meant. */
static void set_life(struct mcds__fold_change *change, const struct mcds__fold_life *life)
{
    if (change->life.number == life->number)
        return;
    change->life = *life;
    change->hash = mcds__fold_hash(life->hash_key, change->element);
    change->deepest = 0;
}

/* Append and look, in this order on one server, and maybe at the root. */
static enum mcds__step ask_at(struct mcds__fold_change *change,
                              struct mcds__operation *operation, uint32_t depth)
{
    struct mcds__fold *fold = change->fold;
    change->depth = depth;
    if (depth > change->deepest)
        change->deepest = depth;
    mcds__fold_key(fold, change->life.number, change->hash, depth, &change->key);
    mcds_bytes key = mcds__key_bytes(&change->key);
    mcds_bytes route = mcds__fold_route(fold, depth);
    mcds__fold_readdress(&change->record, key);
    change->requests[APPEND] = (mcds_request){
        .command = MCDS_APPEND,
        .key = key,
        .route = route,
        .value = {change->record.at, change->record.length},
    };
    change->requests[LOOK] = (mcds_request){
        .command = MCDS_GET,
        .options = change->wants_code ? 0 : MCDS_NO_VALUE,
        .key = key,
        .route = route,
    };
    uint32_t count = ROOT + mcds__fold_prove_along(&change->proof, fold, operation,
                                                   &change->requests[ROOT]);
    change->stage = CHANGE_APPENDING;
    mcds__fold_take_turn(change);
    if (count > ROOT)
        return mcds__operation_ask_repeatable(operation, change->requests, count);
    return mcds__operation_ask_combinable(operation, change->requests, count);
}

static enum mcds__step finish(struct mcds__fold_change *change,
                              struct mcds__operation *operation, int result,
                              const mcds_reason *detail)
{
    if (change->doubt && result != MCDS_OK)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result, detail);
}

/* The time for waiting is over: others were in the way, or the store could not be reached. */
static enum mcds__step finish_waiting(struct mcds__fold_change *change,
                                      struct mcds__operation *operation,
                                      const mcds_reason *detail)
{
    if (operation->obstacle == NULL)
        return finish(change, operation, MCDS_BUSY, detail);
    operation->peer = operation->obstacle_peer;
    return finish(change, operation, MCDS_UNAVAILABLE, operation->obstacle);
}

static enum mcds__step finish_done(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    change->doubt = false;
    operation->peer = NULL;
    return finish(change, operation, MCDS_OK, NULL);
}

/* The life in which the record may count is over. */
static enum mcds__step finish_over(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    mcds__fold_forget(change->fold, change->life.number);
    change->doubt = true;
    return finish(change, operation, MCDS_AMBIGUOUS, MCDS__WHY(DROPPED_MEANWHILE));
}

/* A reply that ends it: what it stands for, or AMBIGUOUS after doubt. */
static enum mcds__step fail(struct mcds__fold_change *change, struct mcds__operation *operation,
                            const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    operation->result = change->doubt ? MCDS_AMBIGUOUS : operation->result;
    return MCDS__DONE;
}

static enum mcds__step locate(struct mcds__fold_change *change,
                              struct mcds__operation *operation);
static enum mcds__step begin(struct mcds__fold_change *change,
                             struct mcds__operation *operation);
static enum mcds__step prove(struct mcds__fold_change *change,
                             struct mcds__operation *operation);
static enum mcds__step take_making(struct mcds__fold_change *change,
                                   struct mcds__operation *operation);

/* A pause, then another try from the beginning with the same id. */
static enum mcds__step try_later(struct mcds__fold_change *change,
                                 struct mcds__operation *operation, const mcds_reply *reply)
{
    change->stage = CHANGE_BEGIN;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return fail(change, operation, reply);
}

/* The store has no room for what the key needs. The outcome of the record is certain where the key's
 * value has it and no append was sent to a deeper key. */
static enum mcds__step take_refused_growth(struct mcds__fold_change *change,
                                           struct mcds__operation *operation)
{
    const struct mcds__fold_growth *growth = &change->growth;
    if (growth->fate == MCDS__FOLD_COUNTED) {
        change->code = growth->code;
        change->number = growth->number;
        return prove(change, operation);
    }
    if (growth->fate == MCDS__FOLD_VOID && change->deepest <= change->depth)
        change->doubt = false;
    return finish(change, operation, operation->result, operation->detail);
}

/* The key's rewriting goes on, or has ended. */
static enum mcds__step take_growth(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    enum mcds__step step = mcds__fold_grow_step(&change->growth, change->fold, operation);
    if (step != MCDS__DONE)
        return step;
    if (change->stage == CHANGE_GROWING)
        return finish_done(change, operation);
    if (operation->result != MCDS_OK)
        return take_refused_growth(change, operation);
    change->stage = CHANGE_BEGIN;
    if (change->growth.moved && change->moves++ < MCDS__FOLD_MOVES_MAX)
        return begin(change, operation);
    if (mcds__operation_wait(operation, MCDS__FOLD_GROWTH_WAIT_NS))
        return MCDS__SLEEP;
    return finish_waiting(change, operation, MCDS__WHY(KEY_REWRITTEN));
}

static enum mcds__step grow(struct mcds__fold_change *change, struct mcds__operation *operation,
                            uint8_t stage)
{
    change->growth.life = change->life;
    change->growth.hash = change->hash;
    change->growth.depth = change->depth;
    change->growth.writer = change->writer;
    change->growth.seq = change->seq;
    change->stage = stage;
    return take_growth(change, operation);
}

/* The record counts, if its life is not over. */
static enum mcds__step prove(struct mcds__fold_change *change,
                             struct mcds__operation *operation)
{
    switch (mcds__fold_is_alive(&change->proof, change->fold, change->life.number)) {
    case MCDS__FOLD_ALIVE:
        break;
    case MCDS__FOLD_OVER:
        return finish_over(change, operation);
    default:
        change->doubt = true;
        change->stage = CHANGE_PROVING;
        change->requests[ROOT] = mcds__fold_look_at_root(change->fold);
        return mcds__operation_ask_repeatable(operation, &change->requests[ROOT], 1);
    }
    if (!change->grows)
        return finish_done(change, operation);
    mcds__fold_give_number(change);
    return grow(change, operation, CHANGE_GROWING);
}

static enum mcds__step take_proof(struct mcds__fold_change *change,
                                  struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->requests[ROOT].reply;
    if (mcds__is_refusal(reply))
        return fail(change, operation, reply);
    mcds__fold_take_proof(&change->proof, change->fold, change->life.number, reply);
    if (!mcds__is_transport_trouble(reply))
        return prove(change, operation);
    change->stage = CHANGE_UNPROVED;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return fail(change, operation, reply);
}

/* There is no such structure. */
static enum mcds__step make(struct mcds__fold_change *change, struct mcds__operation *operation)
{
    if (change->doubt)
        return finish_over(change, operation);
    if (change->must_exist)
        return finish(change, operation, MCDS_NOT_FOUND, NULL);
    if (change->rootings++ == ROOTINGS_MAX)
        return finish(change, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    change->stage = CHANGE_MAKING;
    change->making.wants_value = change->wants_code;
    return take_making(change, operation);
}

static enum mcds__step locate(struct mcds__fold_change *change,
                              struct mcds__operation *operation)
{
    if (change->stage != CHANGE_LOCATING && change->moves++ == MCDS__FOLD_MOVES_MAX)
        return finish(change, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    change->stage = CHANGE_LOCATING;
    enum mcds__step step = mcds__fold_locate_step(&change->place, change->fold, operation);
    if (step != MCDS__DONE)
        return step;
    const struct mcds__fold_place *place = &change->place;
    change->place.stage = 0;
    if (operation->result == MCDS_NOT_FOUND)
        return make(change, operation);
    if (operation->result != MCDS_OK) {
        if (change->doubt)
            operation->result = MCDS_AMBIGUOUS;
        return MCDS__DONE;
    }
    if (change->doubt && place->life.number != change->life.number)
        return finish_over(change, operation);
    set_life(change, &place->life);
    change->proof.seen = place->life.number;
    change->depth = place->depth;
    if (place->state == MCDS__FOLD_SEALED)
        return grow(change, operation, CHANGE_HELPING);
    return ask_at(change, operation, change->depth);
}

static enum mcds__step take_open(struct mcds__fold_change *change,
                                 struct mcds__operation *operation)
{
    const mcds_reply *looked = &change->requests[LOOK].reply;
    size_t size = looked->value_length;
    if (mcds__fold_is_below_floor(looked->flags, change->time_ms))
        return finish(change, operation, MCDS_IO, MCDS__WHY(CLOCK_BEHIND));
    if (size >= change->record.length &&
        !mcds__fold_has_room_at(looked->flags, size - change->record.length)) {
        change->doubt = true;
        return grow(change, operation, CHANGE_HELPING);
    }
    int result = change->wants_code ? mcds__fold_read_code(change, operation) : MCDS_OK;
    if (result == MCDS_NOT_FOUND)
        return grow(change, operation, CHANGE_HELPING);
    /* It counts, but what it has done cannot be told. */
    change->doubt = change->doubt || result == MCDS_NO_MEMORY;
    if (result != MCDS_OK)
        return finish(change, operation, result, mcds__fold_reason(result));
    mcds__fold_note_depth(change->fold, change->hash, change->depth);
    change->grows = mcds__fold_has_grown(change->hash, change->depth, looked->flags, size);
    return prove(change, operation);
}

/* The key is not where the record belongs, or not for long. */
static enum mcds__step go_on(struct mcds__fold_change *change,
                             struct mcds__operation *operation, enum mcds__fold_state state)
{
    switch (state) {
    case MCDS__FOLD_SEALED:
        return grow(change, operation, CHANGE_HELPING);
    case MCDS__FOLD_MOVED:
        if (change->depth >= MCDS__FOLD_DEPTH_MAX)
            return finish(change, operation, MCDS_CORRUPT, NULL);
        mcds__fold_note_moved(change->fold, change->hash, change->depth);
        return change->depth == 0 ? locate(change, operation)
                                  : ask_at(change, operation, change->depth + 1);
    default:
        return finish(change, operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    }
}

/* The record has been appended; what counts is the key's state behind it. SEALED or MOVED: the
 * record came before the seal, and counts, or behind it. */
static enum mcds__step take_look(struct mcds__fold_change *change,
                                 struct mcds__operation *operation)
{
    enum mcds__fold_state state = mcds__fold_state_of(change->requests[LOOK].reply.flags);
    if (state == MCDS__FOLD_OPEN)
        return take_open(change, operation);
    change->doubt = true;
    return go_on(change, operation, state);
}

/* The key is missing: its life may be over. */
static enum mcds__step locate_missing(struct mcds__fold_change *change,
                                      struct mcds__operation *operation)
{
    if (mcds__fold_is_alive(&change->proof, change->fold, change->life.number) ==
        MCDS__FOLD_OVER)
        mcds__fold_forget(change->fold, change->life.number);
    return locate(change, operation);
}

static enum mcds__step check_room(struct mcds__fold_change *change,
                                  struct mcds__operation *operation)
{
    mcds__fold_fill_room_check(change);
    change->stage = CHANGE_CHECKING_ROOM;
    mcds__fold_take_turn(change);
    return mcds__operation_ask_repeatable(operation, change->requests, 3);
}

/* Missing, or it has no room: so does a mark to which many have appended who came late. */
static enum mcds__step take_refusal(struct mcds__fold_change *change,
                                    struct mcds__operation *operation)
{
    mcds_capabilities can;
    const mcds_reply *looked = &change->requests[LOOK].reply;
    if (looked->outcome == MCDS_OUT_MISS)
        return locate_missing(change, operation);
    enum mcds__fold_state state = mcds__fold_state_of(looked->flags);
    if (state != MCDS__FOLD_OPEN)
        return go_on(change, operation, state);
    mcds__store_capabilities(change->fold->store, &can);
    if (looked->value_length + change->record.length > can.value_max)
        return grow(change, operation, CHANGE_HELPING);
    if (change->rejections < REJECTIONS_MAX) {
        change->rejections++;
        return check_room(change, operation);
    }
    change->stage = CHANGE_BEGIN;
    return mcds__operation_wait(operation, 0)
               ? MCDS__SLEEP
               : finish(change, operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
}

static enum mcds__step take_append(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    const mcds_reply *appended = &change->requests[APPEND].reply;
    const mcds_reply *looked = &change->requests[LOOK].reply;
    mcds__fold_give_turn(change);
    change->doubt = change->doubt || appended->outcome == MCDS_OUT_UNKNOWN;
    if (change->proof.looks)
        mcds__fold_take_proof(&change->proof, change->fold, change->life.number,
                              &change->requests[ROOT].reply);
    if (mcds__is_transport_trouble(appended))
        return try_later(change, operation, appended);
    if (mcds__is_refusal(appended))
        return fail(change, operation, appended);
    if (appended->outcome == MCDS_OUT_OK)
        change->doubt = change->doubt || looked->outcome != MCDS_OUT_OK;
    if (mcds__is_transport_trouble(looked))
        return try_later(change, operation, looked);
    if (looked->outcome != MCDS_OUT_OK && looked->outcome != MCDS_OUT_MISS)
        return fail(change, operation, looked);
    if (appended->outcome != MCDS_OUT_OK)
        return take_refusal(change, operation);
    if (looked->outcome == MCDS_OUT_MISS)
        return locate_missing(change, operation);
    return take_look(change, operation);
}

static enum mcds__step take_room_check(struct mcds__fold_change *change,
                                       struct mcds__operation *operation)
{
    if (!mcds__fold_take_room_check(change))
        return take_append(change, operation);
    mcds__fold_give_turn(change);
    return finish(change, operation, MCDS_FULL, MCDS__WHY(SERVER_FULL_FOR_IT));
}

/* It has been made with the record in it, or by another, or not. */
static enum mcds__step take_making(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    const struct mcds__fold_making *making = &change->making;
    enum mcds__step step = mcds__fold_make_step(&change->making, change->fold, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_OK || making->doubt) {
        set_life(change, &making->life);
        change->doubt = making->doubt;
    }
    change->stage = CHANGE_BEGIN;
    if (operation->result == MCDS_OK) {
        change->depth = 0;
        change->key = making->room->keys[0];
        change->proof = (struct mcds__fold_proof){.seen = making->life.number};
        mcds__fold_take_making(making, &change->requests[APPEND], &change->requests[LOOK]);
        return take_append(change, operation);
    }
    bool is_other = operation->result == MCDS_EXISTS;
    change->rootings -= is_other;
    if (is_other && mcds__fold_life(change->fold).number != 0)
        return begin(change, operation);
    if (!is_other && !making->may_repeat)
        return MCDS__DONE;
    if (mcds__operation_wait(operation, is_other ? MCDS__FOLD_GROWTH_WAIT_NS : 0))
        return MCDS__SLEEP;
    if (is_other)
        return finish_waiting(change, operation, MCDS__WHY(OTHERS_MAKE_IT));
    return finish(change, operation, operation->result, operation->detail);
}

/* Nothing is appended to a key before the split that made it has ended. */
static enum mcds__step ask_above(struct mcds__fold_change *change,
                                 struct mcds__operation *operation, uint32_t depth)
{
    change->depth = depth;
    mcds__fold_key(change->fold, change->life.number, change->hash, depth - 1, &change->key);
    change->requests[LOOK] = mcds__fold_look_at(change->fold, mcds__key_bytes(&change->key),
                                                depth - 1);
    change->stage = CHANGE_LOOKING_ABOVE;
    return mcds__operation_ask_repeatable(operation, &change->requests[LOOK], 1);
}

static enum mcds__step take_above(struct mcds__fold_change *change,
                                  struct mcds__operation *operation)
{
    const mcds_reply *reply = &change->requests[LOOK].reply;
    if (mcds__is_transport_trouble(reply))
        return try_later(change, operation, reply);
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
        return fail(change, operation, reply);
    if (reply->outcome == MCDS_OUT_MISS ||
        mcds__fold_state_of(reply->flags) != MCDS__FOLD_MOVED)
        return locate(change, operation);
    mcds__fold_note_moved(change->fold, change->hash, change->depth - 1);
    return ask_at(change, operation, change->depth);
}

static enum mcds__step begin(struct mcds__fold_change *change,
                             struct mcds__operation *operation)
{
    struct mcds__fold_life life = mcds__fold_life(change->fold);
    if (life.number == 0 && !mcds__fold_is_founder(change) &&
        mcds__operation_wait(operation, MCDS__FOLD_GROWTH_WAIT_NS))
        return MCDS__SLEEP;
    if (life.number == 0 || (change->doubt && life.number != change->life.number))
        return locate(change, operation);
    mcds__fold_resign(change);
    set_life(change, &life);
    uint32_t depth = mcds__fold_depth(change->fold, change->hash);
    /* What this handle appends itself would make its own rewriting fail. */
    if ((mcds__fold_is_growing(change->fold, change->hash, depth) ||
         !mcds__fold_has_turn(change, depth)) &&
        mcds__operation_wait(operation, MCDS__FOLD_GROWTH_WAIT_NS))
        return MCDS__SLEEP;
    if (!mcds__fold_has_split_above(change->fold, change->hash, depth))
        return ask_above(change, operation, depth);
    return ask_at(change, operation, depth);
}

enum mcds__step mcds__fold_change_step(struct mcds__fold_change *change,
                                       struct mcds__operation *operation)
{
    switch (change->stage) {
    case CHANGE_BEGIN:
        return begin(change, operation);
    case CHANGE_APPENDING:
        return take_append(change, operation);
    case CHANGE_CHECKING_ROOM:
        return take_room_check(change, operation);
    case CHANGE_LOCATING:
        return locate(change, operation);
    case CHANGE_LOOKING_ABOVE:
        return take_above(change, operation);
    case CHANGE_MAKING:
        return take_making(change, operation);
    case CHANGE_UNPROVED:
        return prove(change, operation);
    case CHANGE_PROVING:
        return take_proof(change, operation);
    default:
        return take_growth(change, operation);
    }
}
