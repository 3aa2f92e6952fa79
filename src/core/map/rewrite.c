/* Map: rewrite a key that has grown: compact it, or split it four ways. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/sequence.h"

/* The limit of freezes in a row that appends of other clients undo before the read. */
#define THAWS_MAX 8

enum {
    GROW_BEGIN,
    GROW_READING,
    GROW_THAWING,
    GROW_COMPACTING,
    GROW_SEALING,
    GROW_MAKING,
    GROW_MOVING,
    GROW_CLEARING,
    GROW_UNDOING
};

void mcds__map_rewrite_free(struct mcds__map_rewrite *rewrite, const mcds_env *env)
{
    mcds__map_unclaim(rewrite);
    mcds__map_free_scratch(&rewrite->scratch, env);
}

static void end_rewrite(struct mcds__map_rewrite *rewrite, struct mcds__operation *operation)
{
    mcds__map_rewrite_free(rewrite, operation->env);
    rewrite->stage = GROW_BEGIN;
    mcds__operation_forget_batch(operation);
}

static enum mcds__step map_rewrite_finish(struct mcds__map_rewrite *rewrite,
                                          struct mcds__operation *operation)
{
    end_rewrite(rewrite, operation);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Another client has changed the key since it was read, or the reply was lost. */
static enum mcds__step map_rewrite_outrun(struct mcds__map_rewrite *rewrite,
                                          struct mcds__operation *operation)
{
    rewrite->is_outrun = true;
    return map_rewrite_finish(rewrite, operation);
}

/* There is nothing left to do. */
static enum mcds__step map_rewrite_complete(struct mcds__map_rewrite *rewrite,
                                            struct mcds__map *map,
                                            struct mcds__operation *operation)
{
    assert(rewrite->claimed != NULL && !rewrite->lacks_memory);
    mcds__map_want_no_look(map, rewrite->hash, rewrite->depth);
    return map_rewrite_finish(rewrite, operation);
}

/* This process has no memory. */
static enum mcds__step lack_memory(struct mcds__map_rewrite *rewrite,
                                   struct mcds__operation *operation)
{
    rewrite->lacks_memory = true;
    return map_rewrite_finish(rewrite, operation);
}

/* The store has refused. Copy the reply: end_rewrite() may free its memory. */
static enum mcds__step map_rewrite_refuse(struct mcds__map_rewrite *rewrite,
                                          struct mcds__operation *operation,
                                          const mcds_reply *reply)
{
    enum mcds__step step = mcds__operation_fail(operation, reply);
    end_rewrite(rewrite, operation);
    return step;
}

/* The key holds a value of another program, or of a newer version. */
static enum mcds__step map_rewrite_refuse_value(struct mcds__map_rewrite *rewrite,
                                                struct mcds__operation *operation, int result)
{
    enum mcds__step step = mcds__operation_explain(operation, result, mcds__map_reason(result));
    end_rewrite(rewrite, operation);
    return step;
}

static mcds_request *parent_request(struct mcds__map_rewrite *rewrite)
{
    return &rewrite->scratch->requests[MCDS__MAP_PARENT];
}

static mcds_bytes parent_key(const struct mcds__map_rewrite *rewrite)
{
    return mcds__key_bytes(&rewrite->scratch->keys[MCDS__MAP_PARENT]);
}

/* Read the key. If this is its number, freeze the key before the read. */
static enum mcds__step ask_parent(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                  struct mcds__operation *operation, mcds_cas_token token)
{
    assert(rewrite->claimed != NULL);
    mcds_request *requests = parent_request(rewrite);
    for (int i = 0; i < 2; i++)
        requests[i] = (mcds_request){
            .command = MCDS_GET,
            .key = parent_key(rewrite),
            .route = mcds__map_route(map, rewrite->depth),
        };
    rewrite->freezes = mcds__map_must_freeze(&rewrite->life, token);
    if (rewrite->freezes) {
        requests->command = MCDS_APPEND;
        requests->cas = token;
    }
    if (!mcds__map_sets_numbers(map, &rewrite->life)) /* the store cannot compare */
        requests->cas = (mcds_cas_token){0, 0};
    rewrite->stage = GROW_READING;
    return mcds__operation_ask(operation, requests, 1 + rewrite->freezes);
}

/* Set the open number again of a key that this has frozen, so that the next append finds it. */
static enum mcds__step map_rewrite_thaw(struct mcds__map_rewrite *rewrite,
                                        struct mcds__map *map,
                                        struct mcds__operation *operation, uint32_t flags)
{
    assert(rewrite->freezes && !mcds__map_must_freeze(&rewrite->life, rewrite->token));
    mcds_request *request = parent_request(rewrite);
    *request = (mcds_request){
        .command = MCDS_APPEND,
        .key = parent_key(rewrite),
        .route = mcds__map_route(map, rewrite->depth),
    };
    mcds__map_compare_number(map, &rewrite->life, request, rewrite->token, flags);
    rewrite->stage = GROW_THAWING;
    operation->connection = rewrite->token.connection;
    return mcds__operation_ask(operation, request, 1);
}

/* The key needs no rewriting. A server that has begun to run without cas returns no token. */
static enum mcds__step leave_parent(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                    struct mcds__operation *operation, uint32_t flags)
{
    bool is_frozen = rewrite->freezes && rewrite->token.connection != 0;
    return is_frozen ? map_rewrite_thaw(rewrite, map, operation, flags)
                     : map_rewrite_complete(rewrite, map, operation);
}

/* The key was not frozen: an append has set its open number again, or it has another floor. */
static enum mcds__step freeze_again(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                    struct mcds__operation *operation, const mcds_reply *read)
{
    assert(mcds__map_is_open_number(read->cas.unique) && rewrite->thaws <= THAWS_MAX);
    if (rewrite->thaws++ == THAWS_MAX)
        return map_rewrite_finish(rewrite, operation);
    mcds__map_note_floor(map, rewrite->hash, read->flags);
    return ask_parent(rewrite, map, operation, mcds__map_seen_token(read));
}

static enum mcds__step map_rewrite_begin(struct mcds__map_rewrite *rewrite,
                                         struct mcds__map *map,
                                         struct mcds__operation *operation)
{
    rewrite->moved = rewrite->lacks_memory = rewrite->is_outrun = false;
    rewrite->fate = MCDS__MAP_UNDECIDED;
    if (!mcds__map_claim(rewrite, map)) {
        mcds__map_learn_obstacle(map, operation);
        return map_rewrite_finish(rewrite, operation);
    }
    if (mcds__map_get_scratch(&rewrite->scratch, operation->env) == NULL)
        return lack_memory(rewrite, operation);
    mcds__map_key(map, rewrite->life.number, rewrite->hash, rewrite->depth,
                  &rewrite->scratch->keys[MCDS__MAP_PARENT]);
    rewrite->thaws = 0;
    mcds_cas_token token = {0, 0};
    if (mcds__map_sets_numbers(map, &rewrite->life))
        token = mcds__map_open_token(mcds__map_assumed_flags(map, rewrite->hash));
    return ask_parent(rewrite, map, operation, token);
}

/* A write of the parent's buffer. */
static mcds_request write_parent(const struct mcds__map_rewrite *rewrite,
                                 const struct mcds__map *map, mcds_command command,
                                 uint32_t flags)
{
    const mcds_buffer *value = &rewrite->scratch->values[MCDS__MAP_PARENT];
    assert(rewrite->claimed != NULL && value->length >= MCDS__MAP_HEAD);
    return (mcds_request){
        .command = command,
        .flags = flags,
        .ttl_ms = map->ttl_ms,
        .key = parent_key(rewrite),
        .route = mcds__map_route(map, rewrite->depth),
        .value = {value->data, value->length},
    };
}

/* Replace the parent's value by its buffer, if it is unchanged since it was read. */
static enum mcds__step ask_swap(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                struct mcds__operation *operation, uint32_t flags,
                                uint8_t stage)
{
    assert(stage == GROW_COMPACTING || stage == GROW_SEALING);
    *parent_request(rewrite) = write_parent(rewrite, map, MCDS_CAS, flags);
    parent_request(rewrite)->cas = rewrite->token;
    assert(!mcds__map_must_freeze(&rewrite->life, rewrite->token));
    mcds__map_set_number(map, &rewrite->life, parent_request(rewrite));
    rewrite->stage = stage;
    operation->connection = rewrite->token.connection;
    return mcds__operation_ask(operation, parent_request(rewrite), 1);
}

/* Encode the children from a value that was sealed, or is about to be sealed. Both values give the
 * same children, so every client makes the same ones. False: no memory. */
static bool make_children(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                          struct mcds__bucket *bucket, int64_t now_ms)
{
    assert(rewrite->depth < MCDS__MAP_DEPTH_MAX);
    struct mcds__map_scratch *scratch = rewrite->scratch;
    unsigned shift = 64 - MCDS__MAP_LEVEL_BITS * (rewrite->depth + 1);
    uint64_t others = rewrite->hash & ~((uint64_t)(MCDS__MAP_CHILDREN - 1) << shift);
    uint32_t flags[MCDS__MAP_CHILDREN];
    for (uint64_t digit = 0; digit < MCDS__MAP_CHILDREN; digit++)
        mcds__map_key(map, rewrite->life.number, others | digit << shift, rewrite->depth + 1,
                      &scratch->keys[digit]);
    if (!mcds__bucket_split(bucket, rewrite->depth, now_ms, scratch->keys, scratch->values,
                            flags))
        return false;
    for (uint32_t digit = 0; digit < MCDS__MAP_CHILDREN; digit++) {
        scratch->requests[digit] = (mcds_request){
            .command = MCDS_ADD,
            .flags = flags[digit],
            .ttl_ms = map->ttl_ms,
            .key = mcds__key_bytes(&scratch->keys[digit]),
            .value = {scratch->values[digit].data, scratch->values[digit].length},
        };
        mcds__map_set_number(map, &rewrite->life, &scratch->requests[digit]);
    }
    return true;
}

/* The key is sealed, and its children are encoded. */
static enum mcds__step ask_children(struct mcds__map_rewrite *rewrite,
                                    struct mcds__operation *operation)
{
    assert(rewrite->claimed != NULL && rewrite->stage < GROW_MAKING);
    rewrite->stage = GROW_MAKING;
    return mcds__operation_ask_any_order(operation, rewrite->scratch->requests,
                                         MCDS__MAP_CHILDREN);
}

/* Another client has sealed the key. */
static enum mcds__step finish_split(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                    struct mcds__bucket *bucket,
                                    struct mcds__operation *operation)
{
    return make_children(rewrite, map, bucket, mcds__wall_ms(operation->env))
               ? ask_children(rewrite, operation)
               : lack_memory(rewrite, operation);
}

/* Without its mark the key stays SEALED: the next call of this handle must begin at it. */
static enum mcds__step finish_unmarked(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                       struct mcds__operation *operation)
{
    mcds__map_note_depth(map, rewrite->life.number, rewrite->hash, rewrite->depth);
    return map_rewrite_finish(rewrite, operation);
}

/* Only this mark ever replaces a sealed value, so it needs no token: void records that other
 * clients append meanwhile would make a compare-and-set fail again and again. */
static bool fill_mark(struct mcds__map_rewrite *rewrite, struct mcds__map *map)
{
    mcds_buffer *value = &rewrite->scratch->values[MCDS__MAP_PARENT];
    struct mcds__bucket nothing;
    uint32_t flags;
    mcds__bucket_init(&nothing, map->env, parent_key(rewrite), (mcds_bytes){NULL, 0});
    if (!mcds__bucket_encode(&nothing, parent_key(rewrite), MCDS__MAP_MOVED, 0, value, &flags))
        return false;
    *parent_request(rewrite) = write_parent(rewrite, map, MCDS_REPLACE, flags);
    return true;
}

static enum mcds__step map_rewrite_ask_mark(struct mcds__map_rewrite *rewrite,
                                            struct mcds__map *map,
                                            struct mcds__operation *operation)
{
    assert(rewrite->stage == GROW_MAKING);
    if (!fill_mark(rewrite, map)) {
        rewrite->lacks_memory = true;
        return finish_unmarked(rewrite, map, operation);
    }
    parent_request(rewrite)[1] = mcds__map_request_root(map);
    rewrite->stage = GROW_MOVING;
    operation->connection = 0;
    return mcds__operation_ask(operation, parent_request(rewrite), 2);
}

/* The key is MOVED. If its mark has many void records, replace it by an empty one. Whether that
 * succeeds does not matter. */
static enum mcds__step take_moved(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                  struct mcds__operation *operation, size_t size)
{
    assert(rewrite->moved && rewrite->stage == GROW_READING);
    mcds__map_note_moved(map, rewrite->life.number, rewrite->hash, rewrite->depth);
    if (!mcds__map_is_mark_full(map, size) || !fill_mark(rewrite, map))
        return map_rewrite_complete(rewrite, map, operation);
    rewrite->stage = GROW_CLEARING;
    operation->connection = 0;
    return mcds__operation_ask(operation, parent_request(rewrite), 1);
}

static enum mcds__step rewrite_parent(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                      struct mcds__bucket *bucket,
                                      struct mcds__operation *operation)
{
    assert(rewrite->stage == GROW_READING);
    if (rewrite->token.connection == 0) {
        end_rewrite(rewrite, operation);
        return mcds__operation_lack_cas(operation);
    }
    int64_t now_ms = mcds__wall_ms(operation->env);
    mcds_buffer *value = &rewrite->scratch->values[MCDS__MAP_PARENT];
    uint32_t count, flags;
    size_t weight = mcds__map_weight(bucket, now_ms, &count);
    bucket->writers_room = mcds__map_writers_room(map, weight);
    bool removes = rewrite->removes || mcds__map_has_churn(bucket, count);
    bool splits = count >= 2 && map->flat == 0 && rewrite->depth < MCDS__MAP_DEPTH_MAX &&
                  mcds__map_is_worth_a_split(rewrite->hash, rewrite->depth, weight, removes);
    enum mcds__map_state state = splits ? MCDS__MAP_SEALED : MCDS__MAP_OPEN;
    if (!mcds__bucket_encode(bucket, parent_key(rewrite), state, now_ms, value, &flags) ||
        (splits && !make_children(rewrite, map, bucket, now_ms)))
        return lack_memory(rewrite, operation);
    return ask_swap(rewrite, map, operation, flags, splits ? GROW_SEALING : GROW_COMPACTING);
}

static enum mcds__step take_parent(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                   struct mcds__operation *operation)
{
    const mcds_request *request = &parent_request(rewrite)[rewrite->freezes];
    const mcds_reply *reply = &request->reply;
    enum mcds__map_state state = mcds__map_state_of(reply->flags);
    bool may_split = rewrite->depth < MCDS__MAP_DEPTH_MAX && map->flat == 0;
    if (mcds__is_refusal(reply))
        return map_rewrite_refuse(rewrite, operation, reply);
    rewrite->moved = reply->outcome == MCDS_OUT_OK && state == MCDS__MAP_MOVED && may_split;
    if (reply->outcome != MCDS_OUT_OK || state == MCDS__MAP_MOVED)
        return rewrite->moved ? take_moved(rewrite, map, operation, reply->value_length)
                              : map_rewrite_finish(rewrite, operation);
    if (mcds__map_must_freeze(&rewrite->life, reply->cas))
        return freeze_again(rewrite, map, operation, reply);
    rewrite->token = reply->cas;
    struct mcds__bucket bucket;
    mcds__bucket_init(&bucket, operation->env, parent_key(rewrite), (mcds_bytes){NULL, 0});
    memcpy(bucket.hash_key, rewrite->life.hash_key, sizeof bucket.hash_key);
    bucket.form = map->form;
    mcds_bytes value = mcds__operation_value(operation, request);
    enum mcds__step step;
    int result = mcds__map_load(&bucket, value, reply->flags);
    if (result == MCDS_OK)
        mcds__map_note_fate(rewrite, &bucket, state);
    if (result == MCDS_OK && state == MCDS__MAP_SEALED && !may_split)
        result = MCDS_CORRUPT;
    if (result == MCDS_CORRUPT || result == MCDS_UNSUPPORTED)
        step = map_rewrite_refuse_value(rewrite, operation, result);
    else if (result != MCDS_OK)
        step = lack_memory(rewrite, operation);
    else if (state == MCDS__MAP_SEALED)
        step = finish_split(rewrite, map, &bucket, operation);
    else if (rewrite->is_wanted || mcds__map_has_removed_much(value.length, bucket.removed) ||
             mcds__map_must_rewrite(map, rewrite->hash, rewrite->depth, reply->flags,
                                    value.length, rewrite->needs))
        step = rewrite_parent(rewrite, map, &bucket, operation);
    else
        step = leave_parent(rewrite, map, operation, reply->flags);
    mcds__bucket_free(&bucket);
    return step;
}

/* The key is sealed, with all records that it had when it was read, or the cas failed. */
static enum mcds__step take_seal(struct mcds__map_rewrite *rewrite,
                                 struct mcds__operation *operation)
{
    const mcds_reply *reply = &parent_request(rewrite)->reply;
    if (mcds__is_refusal(reply))
        return map_rewrite_refuse(rewrite, operation, reply);
    if (reply->outcome != MCDS_OUT_OK)
        return map_rewrite_outrun(rewrite, operation);
    if (rewrite->fate == MCDS__MAP_NOT_IN_OPEN)
        rewrite->fate = MCDS__MAP_VOID;
    return ask_children(rewrite, operation);
}

static bool is_made(const mcds_reply *reply)
{
    return reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_NOT_STORED;
}

static enum mcds__step take_children(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                     struct mcds__operation *operation)
{
    const mcds_request *requests = rewrite->scratch->requests;
    const mcds_reply *missing = NULL;
    for (uint32_t digit = 0; digit < MCDS__MAP_CHILDREN && missing == NULL; digit++)
        if (!is_made(&requests[digit].reply))
            missing = &requests[digit].reply;
    if (missing != NULL)
        return mcds__is_refusal(missing) ? map_rewrite_refuse(rewrite, operation, missing)
                                         : map_rewrite_finish(rewrite, operation);
    return map_rewrite_ask_mark(rewrite, map, operation);
}

static enum mcds__step take_compaction(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                       struct mcds__operation *operation)
{
    assert(rewrite->stage == GROW_COMPACTING);
    const mcds_reply *reply = &parent_request(rewrite)->reply;
    if (mcds__is_refusal(reply))
        return map_rewrite_refuse(rewrite, operation, reply);
    return reply->outcome == MCDS_OUT_OK ? map_rewrite_complete(rewrite, map, operation)
                                         : map_rewrite_outrun(rewrite, operation);
}

/* The life is over, and the drop may have erased this key before the children were made. */
static enum mcds__step undo(struct mcds__map_rewrite *rewrite,
                            struct mcds__operation *operation)
{
    assert(rewrite->stage == GROW_MOVING);
    struct mcds__map_scratch *scratch = rewrite->scratch;
    for (uint32_t digit = 0; digit < MCDS__MAP_CHILDREN; digit++)
        scratch->requests[digit] = (mcds_request){
            .command = MCDS_DELETE,
            .key = mcds__key_bytes(&scratch->keys[digit]),
        };
    rewrite->stage = GROW_UNDOING;
    return mcds__operation_ask_any_order(operation, scratch->requests, MCDS__MAP_CHILDREN);
}

/* Only now may updates append to the children. If there was no key to replace, the store has
 * lost the sealed one, and no client makes its children again. */
static enum mcds__step map_rewrite_take_mark(struct mcds__map_rewrite *rewrite,
                                             struct mcds__map *map,
                                             struct mcds__operation *operation)
{
    const mcds_reply *reply = &parent_request(rewrite)->reply;
    const mcds_reply *root = &parent_request(rewrite)[1].reply;
    bool is_there = root->outcome == MCDS_OUT_OK &&
                    mcds__descriptor_is_of(root->flags, rewrite->life.number);
    if (!is_there && (root->outcome == MCDS_OUT_OK || root->outcome == MCDS_OUT_MISS))
        return undo(rewrite, operation);
    if (mcds__is_refusal(reply)) {
        mcds__map_note_depth(map, rewrite->life.number, rewrite->hash, rewrite->depth);
        return map_rewrite_refuse(rewrite, operation, reply);
    }
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_NOT_STORED)
        return finish_unmarked(rewrite, map, operation);
    rewrite->moved = true;
    mcds__map_note_moved(map, rewrite->life.number, rewrite->hash, rewrite->depth);
    return map_rewrite_complete(rewrite, map, operation);
}

static enum mcds__step map_rewrite_step_on(struct mcds__map_rewrite *rewrite,
                                           struct mcds__map *map,
                                           struct mcds__operation *operation)
{
    assert((rewrite->stage == GROW_BEGIN) == (rewrite->claimed == NULL));
    assert(rewrite->stage <= GROW_UNDOING);
    switch (rewrite->stage) {
    case GROW_BEGIN:
        return map_rewrite_begin(rewrite, map, operation);
    case GROW_READING:
        return take_parent(rewrite, map, operation);
    case GROW_THAWING:
    case GROW_CLEARING:
        return map_rewrite_complete(rewrite, map, operation);
    case GROW_SEALING:
        return take_seal(rewrite, operation);
    case GROW_MAKING:
        return take_children(rewrite, map, operation);
    case GROW_MOVING:
        return map_rewrite_take_mark(rewrite, map, operation);
    case GROW_UNDOING:
        return map_rewrite_finish(rewrite, operation);
    default:
        return take_compaction(rewrite, map, operation);
    }
}

enum mcds__step mcds__map_rewrite_step(struct mcds__map_rewrite *rewrite, struct mcds__map *map,
                                       struct mcds__operation *operation)
{
    bool is_claimed = rewrite->claimed != NULL;
    if (is_claimed)
        mcds__map_forget_obstacle(map, &operation->batch);
    enum mcds__step step = map_rewrite_step_on(rewrite, map, operation);
    if (step == MCDS__DONE && is_claimed)
        mcds__map_note_obstacle(map, operation);
    return step;
}
