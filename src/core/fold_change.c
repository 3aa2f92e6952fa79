/* Core fold: one change. */
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold_turn.h"

/* Between making the root and appending to it, in one ordered batch, it can only vanish by
 * eviction; a store that does so this often in a row has no room for it. */
#define ROOTINGS_MAX 3
#define RECORD_MAX ((size_t)1 << 27)

enum {
    CHANGE_BEGIN,
    CHANGE_APPENDING,
    CHANGE_LOCATING,
    CHANGE_HELPING, /* finish another's split, or make room, then try again */
    CHANGE_GROWING  /* the change is done; the key has grown */
};

void mcds__fold_change_free(struct mcds__fold_change *change)
{
    mcds__fold_give_turn(change);
    mcds__fold_resign(change);
    mcds__fold_give_number(change);
    mcds__buffer_free(&change->record);
    mcds__fold_free_room(&change->place.room, change->fold->env);
    mcds__fold_grow_free(&change->growth, change->fold->env);
}

bool mcds__fold_change_begin(struct mcds__fold_change *change, struct mcds__fold *fold,
                             const struct mcds__fold_command *command)
{
    uint32_t low;
    change->fold = fold;
    change->must_exist = false;
    change->wants_code = false;
    change->code = MCDS__FOLD_ABSENT;
    change->number = 0;
    change->stage = CHANGE_BEGIN;
    change->under_way = NULL;
    change->doubt = false;
    change->rootings = 0;
    change->moves = 0;
    change->deepest = 0;
    change->hash = mcds__fold_hash(command->element);
    int64_t wall_ns = mcds__wall_ns(fold->env);
    change->time_ms = wall_ns / NS_PER_MS;
    change->place = (struct mcds__fold_place){.hash = change->hash};
    change->growth = (struct mcds__fold_growth){.hash = change->hash};
    mcds__buffer_init_in(&change->record, fold->env, RECORD_MAX, change->record_room,
                         sizeof change->record_room);
    mcds__fold_take_number(fold, change, &low);
    struct mcds__fold_record record = {
        *command, change->writer, change->seq, low, change->time_ms,
    };
    if (command->verb == MCDS__FOLD_PUSH)
        record.command.delta = mcds__fold_take_place(fold, wall_ns);
    if (!mcds__fold_put_record(&change->record, mcds__key_bytes(&fold->root), &record)) {
        mcds__fold_change_free(change);
        return false;
    }
    size_t at = 0;
    (void)mcds__fold_next_record((mcds_bytes){change->record.at, change->record.length},
                                 mcds__fold_key_sum(mcds__key_bytes(&fold->root)), &at,
                                 &record);
    change->element = record.command.element;
    return true;
}

static mcds_request *append_request(struct mcds__fold_change *change)
{
    return &change->requests[change->requests_at];
}

static mcds_request *look_request(struct mcds__fold_change *change)
{
    return &change->requests[change->requests_at + 1];
}

/* [add the root], append, look: in this order on one server. */
static enum mcds__step ask(struct mcds__fold_change *change, struct mcds__operation *operation,
                           const mcds_buffer *root, uint32_t root_flags)
{
    struct mcds__fold *fold = change->fold;
    mcds__fold_key(fold, change->generation, change->hash, change->depth, &change->key);
    mcds_bytes key = mcds__key_bytes(&change->key);
    mcds__fold_readdress(&change->record, key);
    change->requests_at = root != NULL;
    if (change->depth > change->deepest)
        change->deepest = change->depth;
    if (root != NULL)
        change->requests[0] = (mcds_request){
            .command = MCDS_ADD,
            .flags = root_flags,
            .ttl_ms = fold->ttl_ms,
            .key = key,
            .value = {root->at, root->length},
        };
    *append_request(change) = (mcds_request){
        .command = MCDS_APPEND,
        .key = key,
        .value = {change->record.at, change->record.length},
    };
    *look_request(change) = (mcds_request){
        .command = MCDS_GET,
        .options = change->wants_code ? 0 : MCDS_NO_VALUE,
        .key = key,
    };
    change->stage = CHANGE_APPENDING;
    mcds__fold_take_turn(change);
    return mcds__operation_ask_combinable(operation, change->requests, change->requests_at + 2);
}

static enum mcds__step ask_at(struct mcds__fold_change *change,
                              struct mcds__operation *operation, uint32_t depth)
{
    change->depth = depth;
    return ask(change, operation, NULL, 0);
}

static enum mcds__step finish(struct mcds__fold_change *change,
                              struct mcds__operation *operation, int result, const char *detail)
{
    if (change->doubt && result != MCDS_OK)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result, detail);
}

static enum mcds__step finish_done(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    change->doubt = false;
    operation->peer = NULL;
    return finish(change, operation, MCDS_OK, NULL);
}

/* A reply that ends it: what it stands for, or AMBIGUOUS after doubt. */
static enum mcds__step fail(struct mcds__fold_change *change, struct mcds__operation *operation,
                            const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    if (change->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step locate(struct mcds__fold_change *change,
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

static enum mcds__step make_root(struct mcds__fold_change *change,
                                 struct mcds__operation *operation)
{
    struct mcds__fold *fold = change->fold;
    if (change->must_exist)
        return finish(change, operation, MCDS_NOT_FOUND, NULL);
    if (change->rootings++ == ROOTINGS_MAX)
        return finish(change, operation, MCDS_BUSY, "its key vanishes again and again");
    struct mcds__fold_room *room = mcds__fold_get_room(&change->place.room, operation->env);
    struct mcds__fold_contents nothing;
    uint32_t floor_s;
    mcds_bytes key = mcds__key_bytes(&fold->root);
    mcds__fold_contents_init(&nothing, operation->env, key, (mcds_bytes){NULL, 0});
    nothing.generation = mcds__random_u64(operation->env) | 1;
    if (room == NULL ||
        !mcds__fold_encode(&nothing, key, 0, MCDS__FOLD_ALL, 0, &room->values[0], &floor_s))
        return finish(change, operation, MCDS_NO_MEMORY, NULL);
    change->depth = 0;
    return ask(change, operation, &room->values[0],
               mcds__fold_flags(MCDS__FOLD_OPEN, fold->form, room->values[0].length, 0));
}

static enum mcds__step begin(struct mcds__fold_change *change,
                             struct mcds__operation *operation);

/* The store has no room for what the key needs. What became of the record is certain where the
 * key's value tells, and no append has gone deeper: then nothing is in doubt. */
static enum mcds__step take_refused_growth(struct mcds__fold_change *change,
                                           struct mcds__operation *operation)
{
    const struct mcds__fold_growth *growth = &change->growth;
    if (growth->fate == MCDS__FOLD_COUNTED) {
        change->code = growth->code;
        change->number = growth->number;
        return finish_done(change, operation);
    }
    if (growth->fate == MCDS__FOLD_VOID && change->deepest <= change->depth)
        change->doubt = false;
    if (growth->has_child && change->moves++ < MCDS__FOLD_MOVES_MAX)
        return ask_at(change, operation, change->depth + 1);
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
    return finish(change, operation, MCDS_BUSY, "its key is being rewritten by others");
}

static enum mcds__step grow(struct mcds__fold_change *change, struct mcds__operation *operation,
                            uint8_t stage)
{
    change->growth.generation = change->generation;
    change->growth.depth = change->depth;
    change->growth.writer = change->writer;
    change->growth.seq = change->seq;
    change->stage = stage;
    return take_growth(change, operation);
}

static enum mcds__step locate(struct mcds__fold_change *change,
                              struct mcds__operation *operation)
{
    if (change->stage != CHANGE_LOCATING && change->moves++ == MCDS__FOLD_MOVES_MAX)
        return finish(change, operation, MCDS_BUSY, "its key vanishes again and again");
    change->stage = CHANGE_LOCATING;
    enum mcds__step step = mcds__fold_locate_step(&change->place, change->fold, operation);
    if (step != MCDS__DONE)
        return step;
    change->place.stage = 0;
    change->generation = change->place.generation;
    change->depth = change->place.depth;
    if (operation->result == MCDS_NOT_FOUND)
        return make_root(change, operation);
    if (operation->result != MCDS_OK) {
        if (change->doubt)
            operation->result = MCDS_AMBIGUOUS;
        return MCDS__DONE;
    }
    if (change->place.state == MCDS__FOLD_SEALED)
        return grow(change, operation, CHANGE_HELPING);
    return ask_at(change, operation, change->depth);
}

/* What became of the record, from the value that was read behind it. */
static int read_code(struct mcds__fold_change *change, struct mcds__operation *operation)
{
    const mcds_request *looked = look_request(change);
    struct mcds__fold_contents contents;
    mcds__fold_contents_init(&contents, operation->env, looked->key, change->element);
    int result = mcds__fold_load(&contents, mcds__reply_value(&operation->batch, looked),
                                 looked->reply.flags);
    const struct mcds__fold_id *id = mcds__fold_outcome(&contents, change->writer, change->seq);
    if (result == MCDS_OK && id == NULL)
        result = MCDS_NOT_FOUND;
    if (result == MCDS_OK) {
        change->code = id->code;
        change->number = id->number;
    }
    mcds__fold_contents_free(&contents);
    return result;
}

static enum mcds__step take_open(struct mcds__fold_change *change,
                                 struct mcds__operation *operation)
{
    const mcds_reply *looked = &look_request(change)->reply;
    size_t size = looked->value_length;
    if (mcds__fold_form_of(looked->flags) != change->fold->form)
        return finish(change, operation, MCDS_INVALID,
                      change->fold->forms[mcds__fold_form_of(looked->flags)]);
    if (mcds__fold_is_below_floor(looked->flags, change->time_ms))
        return finish(change, operation, MCDS_IO,
                      "this machine's clock is more than ten minutes behind the others'");
    if (size >= change->record.length &&
        !mcds__fold_has_room_at(looked->flags, size - change->record.length)) {
        change->doubt = true;
        return grow(change, operation, CHANGE_HELPING);
    }
    int result = change->wants_code ? read_code(change, operation) : MCDS_OK;
    if (result == MCDS_NOT_FOUND)
        return grow(change, operation, CHANGE_HELPING);
    /* It counts, but what it has done cannot be told. */
    change->doubt = change->doubt || result == MCDS_NO_MEMORY;
    if (result != MCDS_OK)
        return finish(change, operation, result, mcds__fold_saying(result));
    mcds__fold_note_depth(change->fold, change->hash, change->depth);
    if (mcds__fold_has_grown(change->hash, change->depth, looked->flags, size)) {
        mcds__fold_give_number(change);
        return grow(change, operation, CHANGE_GROWING);
    }
    return finish(change, operation, MCDS_OK, NULL);
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
        return finish(change, operation, MCDS_CORRUPT,
                      "its key holds something that mcds did not write");
    }
}

/* The record has been appended; what counts is the key's state behind it. SEALED or MOVED: the
 * record came before the seal, and counts, or behind it. */
static enum mcds__step take_look(struct mcds__fold_change *change,
                                 struct mcds__operation *operation)
{
    enum mcds__fold_state state = mcds__fold_state_of(look_request(change)->reply.flags);
    if (state == MCDS__FOLD_OPEN)
        return take_open(change, operation);
    change->doubt = true;
    return go_on(change, operation, state);
}

/* Missing, or it has no room: so does a mark to which many have appended who came late. */
static enum mcds__step take_refusal(struct mcds__fold_change *change,
                                    struct mcds__operation *operation)
{
    mcds_capabilities can;
    const mcds_reply *looked = &look_request(change)->reply;
    const mcds_reply *added = &change->requests[0].reply;
    if (looked->outcome == MCDS_OUT_MISS) {
        if (change->requests_at == 1 && added->outcome != MCDS_OUT_OK &&
            added->outcome != MCDS_OUT_NOT_STORED)
            return fail(change, operation, added);
        return locate(change, operation);
    }
    enum mcds__fold_state state = mcds__fold_state_of(looked->flags);
    if (state != MCDS__FOLD_OPEN)
        return go_on(change, operation, state);
    mcds__store_capabilities(change->fold->store, &can);
    if (looked->value_length + change->record.length > can.value_max)
        return grow(change, operation, CHANGE_HELPING);
    change->stage = CHANGE_BEGIN;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return finish(change, operation, MCDS_BUSY, "its key has no room");
}

static enum mcds__step take_append(struct mcds__fold_change *change,
                                   struct mcds__operation *operation)
{
    const mcds_reply *appended = &append_request(change)->reply;
    const mcds_reply *looked = &look_request(change)->reply;
    mcds__fold_give_turn(change);
    change->doubt = change->doubt || appended->outcome == MCDS_OUT_UNKNOWN;
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
        return locate(change, operation);
    return take_look(change, operation);
}

static enum mcds__step begin(struct mcds__fold_change *change,
                             struct mcds__operation *operation)
{
    change->generation = atomic_load(&change->fold->generation);
    if (change->generation == 0) {
        if (!mcds__fold_is_founder(change) &&
            mcds__operation_wait(operation, MCDS__FOLD_GROWTH_WAIT_NS))
            return MCDS__SLEEP;
        return locate(change, operation);
    }
    mcds__fold_resign(change);
    uint32_t depth = mcds__fold_depth(change->fold, change->hash);
    /* What this handle appends itself would make its own rewriting fail. */
    if ((mcds__fold_is_growing(change->fold, change->hash, depth) ||
         !mcds__fold_has_turn(change, depth)) &&
        mcds__operation_wait(operation, MCDS__FOLD_GROWTH_WAIT_NS))
        return MCDS__SLEEP;
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
    case CHANGE_LOCATING:
        return locate(change, operation);
    default:
        return take_growth(change, operation);
    }
}
