/* Core fold: rewrite a key that has grown: compact it, or split it sixteen ways. */
#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold.h"

/* Entries that take less than this part of the soft size in a snapshot stay together: what has
 * grown is the records. */
#define SPLIT_WEIGHT_PART 4

enum {
    GROW_BEGIN,
    GROW_READING,
    GROW_COMPACTING,
    GROW_SEALING,
    GROW_MAKING,
    GROW_MOVING,
    GROW_UNDOING
};

void mcds__fold_grow_free(struct mcds__fold_growth *growth, const mcds_env *env)
{
    if (growth->claimed != NULL)
        atomic_store(growth->claimed, 0);
    growth->claimed = NULL;
    mcds__fold_free_room(&growth->room, env);
}

static void end(struct mcds__fold_growth *growth, struct mcds__operation *operation)
{
    mcds__fold_grow_free(growth, operation->env);
    growth->stage = GROW_BEGIN;
    operation->connection = 0;
}

static enum mcds__step finish(struct mcds__fold_growth *growth,
                              struct mcds__operation *operation)
{
    end(growth, operation);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The store has refused: the caller may want to say why. The reply may lie in the room that the
 * end frees. */
static enum mcds__step refuse(struct mcds__fold_growth *growth,
                              struct mcds__operation *operation, const mcds_reply *reply)
{
    enum mcds__step step = mcds__operation_fail(operation, reply);
    end(growth, operation);
    return step;
}

/* The outcome of the record that the caller asks about, as far as this value has it: a record that
 * is not in the snapshot of a sealed key is void, whenever it arrives. */
static void note_fate(struct mcds__fold_growth *growth, struct mcds__fold_contents *contents,
                      enum mcds__fold_state state)
{
    const struct mcds__fold_id *id = mcds__fold_outcome(contents, growth->writer, growth->seq);
    growth->fate = MCDS__FOLD_UNDECIDED;
    if (id != NULL) {
        growth->fate = MCDS__FOLD_COUNTED;
        growth->code = id->code;
        growth->number = id->number;
    } else if (state == MCDS__FOLD_SEALED) {
        growth->fate = MCDS__FOLD_VOID;
    }
}

/* What stands for a key in `growing`: never 0. */
static uint64_t mark_of(uint64_t hash, uint32_t depth)
{
    unsigned shift = 64 - MCDS__FOLD_LEVEL_BITS * depth;
    uint64_t prefix = depth == 0 ? 0 : hash >> shift;
    return prefix << 4 | (depth + 1);
}

static size_t soft_size(uint64_t hash, uint32_t depth)
{
    if (depth == 0)
        return MCDS__FOLD_SOFT;
    uint64_t mixed = mark_of(hash, depth) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    return MCDS__FOLD_SOFT_MIN + mixed % (MCDS__FOLD_SOFT_MAX - MCDS__FOLD_SOFT_MIN);
}

bool mcds__fold_has_grown(uint64_t hash, uint32_t depth, uint32_t flags, size_t size)
{
    return size > soft_size(hash, depth) && size > 2 * mcds__fold_snapshot_end(flags);
}

static uint32_t number_of(uint64_t mark)
{
    return (uint32_t)((mark >> 4 ^ mark) % MCDS__FOLD_GROWING_MAX);
}

static _Atomic uint64_t *place_of(struct mcds__fold *fold, uint64_t mark)
{
    return &fold->growing[number_of(mark)];
}

_Atomic uint32_t *mcds__fold_bytes_under_way(struct mcds__fold *fold, uint64_t hash,
                                             uint32_t depth)
{
    return &fold->under_way[number_of(mark_of(hash, depth))];
}

bool mcds__fold_is_growing(struct mcds__fold *fold, uint64_t hash, uint32_t depth)
{
    uint64_t mark = mark_of(hash, depth);
    return atomic_load_explicit(place_of(fold, mark), memory_order_relaxed) == mark;
}

/* One operation of a handle at a time rewrites a key; the others wait. */
static bool claim(struct mcds__fold_growth *growth, struct mcds__fold *fold)
{
    uint64_t mark = mark_of(growth->hash, growth->depth);
    _Atomic uint64_t *place = place_of(fold, mark);
    uint64_t expected = 0;
    if (!atomic_compare_exchange_strong(place, &expected, mark))
        return false;
    growth->claimed = place;
    return true;
}

static mcds_request *parent_request(struct mcds__fold_growth *growth)
{
    return &growth->room->requests[MCDS__FOLD_PARENT];
}

static mcds_bytes parent_key(const struct mcds__fold_growth *growth)
{
    return mcds__key_bytes(&growth->room->keys[MCDS__FOLD_PARENT]);
}

static enum mcds__step ask_parent(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                  struct mcds__operation *operation)
{
    *parent_request(growth) = (mcds_request){
        .command = MCDS_GET,
        .key = parent_key(growth),
        .route = mcds__fold_route(fold, growth->depth),
    };
    growth->stage = GROW_READING;
    return mcds__operation_ask(operation, parent_request(growth), 1);
}

static enum mcds__step begin(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                             struct mcds__operation *operation)
{
    growth->moved = false;
    growth->fate = MCDS__FOLD_UNDECIDED;
    if (!claim(growth, fold) || mcds__fold_get_room(&growth->room, operation->env) == NULL)
        return finish(growth, operation);
    mcds__fold_key(fold, growth->life.number, growth->hash, growth->depth,
                   &growth->room->keys[MCDS__FOLD_PARENT]);
    return ask_parent(growth, fold, operation);
}

/* Replace the parent's value by what stands in its buffer, if it is still the one read. */
static enum mcds__step ask_swap(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                struct mcds__operation *operation, uint32_t flags,
                                uint8_t stage)
{
    const mcds_buffer *value = &growth->room->values[MCDS__FOLD_PARENT];
    *parent_request(growth) = (mcds_request){
        .command = MCDS_CAS,
        .flags = flags,
        .ttl_ms = fold->ttl_ms,
        .key = parent_key(growth),
        .route = mcds__fold_route(fold, growth->depth),
        .value = {value->at, value->length},
        .cas = growth->token,
    };
    growth->stage = stage;
    operation->connection = growth->token.connection;
    return mcds__operation_ask(operation, parent_request(growth), 1);
}

static bool make_child(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                       struct mcds__fold_contents *contents, uint32_t digit, int64_t now_ms)
{
    struct mcds__fold_room *room = growth->room;
    unsigned shift = 64 - MCDS__FOLD_LEVEL_BITS * (growth->depth + 1);
    uint64_t child = (growth->hash & ~(UINT64_C(15) << shift)) | (uint64_t)digit << shift;
    uint32_t floor_s;
    mcds__fold_key(fold, growth->life.number, child, growth->depth + 1, &room->keys[digit]);
    mcds_bytes key = mcds__key_bytes(&room->keys[digit]);
    mcds_buffer *value = &room->values[digit];
    if (!mcds__fold_encode(contents, key, growth->depth, (int)digit, now_ms, value, &floor_s))
        return false;
    room->requests[digit] = (mcds_request){
        .command = MCDS_ADD,
        .flags = mcds__fold_flags(MCDS__FOLD_OPEN, value->length, floor_s),
        .ttl_ms = fold->ttl_ms,
        .key = key,
        .value = {value->at, value->length},
    };
    return true;
}

/* The contents are what the sealed value says, so whoever makes the children makes the same. */
static enum mcds__step ask_children(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                    struct mcds__fold_contents *contents,
                                    struct mcds__operation *operation)
{
    int64_t now_ms = mcds__wall_ms(operation->env);
    bool made = true;
    for (uint32_t digit = 0; made && digit < MCDS__FOLD_CHILDREN; digit++)
        made = make_child(growth, fold, contents, digit, now_ms);
    if (!made)
        return finish(growth, operation);
    growth->stage = GROW_MAKING;
    return mcds__operation_ask_any_order(operation, growth->room->requests,
                                         MCDS__FOLD_CHILDREN);
}

/* Without its mark the key stays SEALED: what this handle does next there has to come past it. */
static enum mcds__step finish_unmarked(struct mcds__fold_growth *growth,
                                       struct mcds__fold *fold,
                                       struct mcds__operation *operation)
{
    mcds__fold_note_depth(fold, growth->hash, growth->depth);
    return finish(growth, operation);
}

/* Nothing but this mark ever replaces a sealed value, so it needs no token: void records, which
 * others append meanwhile, would make a compare-and-set fail again and again. */
static enum mcds__step ask_mark(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                struct mcds__operation *operation)
{
    mcds_buffer *value = &growth->room->values[MCDS__FOLD_PARENT];
    struct mcds__fold_contents nothing;
    uint32_t floor_s;
    mcds__fold_contents_init(&nothing, operation->env, parent_key(growth),
                             (mcds_bytes){NULL, 0});
    if (!mcds__fold_encode(&nothing, parent_key(growth), growth->depth, MCDS__FOLD_ALL, 0,
                           value, &floor_s))
        return finish_unmarked(growth, fold, operation);
    *parent_request(growth) = (mcds_request){
        .command = MCDS_REPLACE,
        .flags = mcds__fold_flags(MCDS__FOLD_MOVED, value->length, 0),
        .ttl_ms = fold->ttl_ms,
        .key = parent_key(growth),
        .route = mcds__fold_route(fold, growth->depth),
        .value = {value->at, value->length},
    };
    parent_request(growth)[1] = mcds__fold_look_at_root(fold);
    growth->stage = GROW_MOVING;
    operation->connection = 0;
    return mcds__operation_ask(operation, parent_request(growth), 2);
}

static enum mcds__step rewrite(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                               struct mcds__fold_contents *contents,
                               struct mcds__operation *operation)
{
    int64_t now_ms = mcds__wall_ms(operation->env);
    mcds_buffer *value = &growth->room->values[MCDS__FOLD_PARENT];
    uint32_t count;
    uint32_t floor_s;
    size_t weight = mcds__fold_weight(contents, now_ms, &count);
    bool splits = count >= 2 && growth->depth < MCDS__FOLD_DEPTH_MAX &&
                  weight > soft_size(growth->hash, growth->depth) / SPLIT_WEIGHT_PART;
    if (!mcds__fold_encode(contents, parent_key(growth), growth->depth, MCDS__FOLD_ALL, now_ms,
                           value, &floor_s))
        return finish(growth, operation);
    enum mcds__fold_state state = splits ? MCDS__FOLD_SEALED : MCDS__FOLD_OPEN;
    return ask_swap(growth, fold, operation, mcds__fold_flags(state, value->length, floor_s),
                    splits ? GROW_SEALING : GROW_COMPACTING);
}

static enum mcds__step take_parent(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                   struct mcds__operation *operation)
{
    const mcds_reply *reply = &parent_request(growth)->reply;
    enum mcds__fold_state state = mcds__fold_state_of(reply->flags);
    bool may_split = growth->depth < MCDS__FOLD_DEPTH_MAX;
    growth->moved = reply->outcome == MCDS_OUT_OK && state == MCDS__FOLD_MOVED && may_split;
    if (reply->outcome != MCDS_OUT_OK || state == MCDS__FOLD_MOVED) {
        if (growth->moved)
            mcds__fold_note_moved(fold, growth->hash, growth->depth);
        return finish(growth, operation);
    }
    growth->token = reply->cas;
    struct mcds__fold_contents contents;
    mcds__fold_contents_init(&contents, operation->env, parent_key(growth),
                             (mcds_bytes){NULL, 0});
    memcpy(contents.hash_key, growth->life.hash_key, sizeof contents.hash_key);
    contents.form = fold->form;
    mcds_bytes value = mcds__reply_value(&operation->batch, parent_request(growth));
    enum mcds__step step;
    int result = mcds__fold_load(&contents, value, reply->flags);
    if (result == MCDS_OK)
        note_fate(growth, &contents, state);
    if (result != MCDS_OK || (state == MCDS__FOLD_SEALED && !may_split))
        step = finish(growth, operation);
    else if (state == MCDS__FOLD_SEALED)
        step = ask_children(growth, fold, &contents, operation);
    else if (mcds__fold_has_grown(growth->hash, growth->depth, reply->flags, value.length))
        step = rewrite(growth, fold, &contents, operation);
    else
        step = finish(growth, operation);
    mcds__fold_contents_free(&contents);
    return step;
}

/* The seal is on. */
static enum mcds__step take_seal(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                 struct mcds__operation *operation)
{
    const mcds_request *request = parent_request(growth);
    if (mcds__is_refusal(&request->reply))
        return refuse(growth, operation, &request->reply);
    if (request->reply.outcome != MCDS_OUT_OK)
        return finish(growth, operation);
    struct mcds__fold_contents contents;
    mcds__fold_contents_init(&contents, operation->env, parent_key(growth),
                             (mcds_bytes){NULL, 0});
    memcpy(contents.hash_key, growth->life.hash_key, sizeof contents.hash_key);
    contents.form = fold->form;
    int result = mcds__fold_load(&contents, request->value, request->flags);
    if (result == MCDS_OK)
        note_fate(growth, &contents, MCDS__FOLD_SEALED);
    enum mcds__step step = result == MCDS_OK ? ask_children(growth, fold, &contents, operation)
                                             : finish(growth, operation);
    mcds__fold_contents_free(&contents);
    return step;
}

static bool is_made(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_NOT_STORED;
}

static enum mcds__step take_children(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                     struct mcds__operation *operation)
{
    const mcds_request *requests = growth->room->requests;
    const mcds_reply *missing = NULL;
    for (uint32_t digit = 0; digit < MCDS__FOLD_CHILDREN && missing == NULL; digit++)
        if (!is_made(&requests[digit].reply))
            missing = &requests[digit].reply;
    if (missing != NULL)
        return mcds__is_refusal(missing) ? refuse(growth, operation, missing)
                                         : finish(growth, operation);
    return ask_mark(growth, fold, operation);
}

static enum mcds__step take_compaction(struct mcds__fold_growth *growth,
                                       struct mcds__operation *operation)
{
    const mcds_reply *reply = &parent_request(growth)->reply;
    return mcds__is_refusal(reply) ? refuse(growth, operation, reply)
                                   : finish(growth, operation);
}

/* The life is over, and the drop may have passed here before the children were made. */
static enum mcds__step undo(struct mcds__fold_growth *growth, struct mcds__operation *operation)
{
    struct mcds__fold_room *room = growth->room;
    for (uint32_t digit = 0; digit < MCDS__FOLD_CHILDREN; digit++)
        room->requests[digit] = (mcds_request){
            .command = MCDS_DELETE,
            .key = mcds__key_bytes(&room->keys[digit]),
        };
    growth->stage = GROW_UNDOING;
    return mcds__operation_ask_any_order(operation, room->requests, MCDS__FOLD_CHILDREN);
}

/* Only now may changes go into the children. Where the mark finds no key to replace, the store has
 * forgotten the sealed one, and nobody makes its children again. */
static enum mcds__step take_mark(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                 struct mcds__operation *operation)
{
    const mcds_reply *reply = &parent_request(growth)->reply;
    const mcds_reply *root = &parent_request(growth)[1].reply;
    bool is_there = root->outcome == MCDS_OUT_OK &&
                    mcds__descriptor_is_of(root->flags, growth->life.number);
    if (!is_there && (root->outcome == MCDS_OUT_OK || root->outcome == MCDS_OUT_MISS))
        return undo(growth, operation);
    if (mcds__is_refusal(reply)) {
        mcds__fold_note_depth(fold, growth->hash, growth->depth);
        return refuse(growth, operation, reply);
    }
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_NOT_STORED)
        return finish_unmarked(growth, fold, operation);
    growth->moved = true;
    mcds__fold_note_moved(fold, growth->hash, growth->depth);
    return finish(growth, operation);
}

enum mcds__step mcds__fold_grow_step(struct mcds__fold_growth *growth, struct mcds__fold *fold,
                                     struct mcds__operation *operation)
{
    switch (growth->stage) {
    case GROW_BEGIN:
        return begin(growth, fold, operation);
    case GROW_READING:
        return take_parent(growth, fold, operation);
    case GROW_SEALING:
        return take_seal(growth, fold, operation);
    case GROW_MAKING:
        return take_children(growth, fold, operation);
    case GROW_MOVING:
        return take_mark(growth, fold, operation);
    case GROW_UNDOING:
        return finish(growth, operation);
    default:
        return take_compaction(growth, operation);
    }
}
