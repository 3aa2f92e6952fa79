/* Map: the requests that append an update's record. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "core/map/sequence.h"

#define REWRITE_STEP 512

void mcds__map_fill_rewrite(struct mcds__map_update *update, size_t needs)
{
    assert(update->numbered || needs == 0);
    update->rewrite.life = update->life;
    update->rewrite.hash = update->hash;
    update->rewrite.depth = update->depth;
    update->rewrite.writer = update->writer;
    update->rewrite.seq = update->seq;
    update->rewrite.second = (uint32_t)(update->time_ms / 1000);
    update->rewrite.needs = needs;
    update->rewrite.is_wanted = update->rewrites && needs == 0;
    update->rewrite.removes = update->removes || update->makes_room;
}

/* Whether the batch must read the key. A change that returns its outcome needs the value. The
 * open number does not show whether a key has grown. */
static bool must_look(const struct mcds__map_update *update)
{
    bool compares = update->requests[MCDS__MAP_APPEND].cas.connection != 0;
    if (update->wants_code || update->must_look)
        return true;
    if (mcds__store_has(update->map->store, MCDS_STATE_AFTER_APPEND))
        return false;
    return !compares || mcds__map_wants_look(update->map, update->hash, update->depth);
}

/* Let the append compare the number that a look has shown, or that of the assumed flags. */
static void compare_number(struct mcds__map_update *update)
{
    if (update->token.connection == 0) {
        update->seen = mcds__map_assumed_flags(update->map, update->hash);
        update->token = mcds__map_open_token(update->seen);
    }
    mcds__map_compare_number(update->map, &update->life, &update->requests[MCDS__MAP_APPEND],
                             update->token, update->seen);
    update->token = (mcds_cas_token){0, 0};
}

void mcds__map_take_replies(struct mcds__map_update *update, const mcds_batch *batch)
{
    const mcds_reply *appended = &update->requests[MCDS__MAP_APPEND].reply;
    mcds_request *look = &update->requests[MCDS__MAP_LOOK];
    mcds__map_forget_obstacle(update->map, batch);
    update->is_told = false;
    update->copies += appended->outcome == MCDS_OUT_OK || appended->outcome == MCDS_OUT_UNKNOWN;
    if (appended->outcome == MCDS_OUT_UNKNOWN)
        mcds__map_want_look(update->map, update->hash, update->depth);
    assert(update->requests[MCDS__MAP_APPEND].command == MCDS_APPEND);
    if (update->looks)
        return;
    if (update->proof.looks)
        update->requests[MCDS__MAP_ROOT] = *look;
    look->reply = *appended;
    update->is_told = update->requests[MCDS__MAP_APPEND].cas.connection != 0;
    if (update->is_told) /* the other bits of the flags are not known */
        look->reply.flags = (uint32_t)update->requests[MCDS__MAP_APPEND].initial;
    if (appended->outcome != MCDS_OUT_OK ||
        mcds__map_state_of(look->reply.flags) == MCDS__MAP_FOREIGN)
        look->reply.outcome = MCDS_OUT_NONE;
    assert(!update->must_look); /* else it has looked */
    update->must_look = look->reply.outcome == MCDS_OUT_NONE;
}

/* Whether the record, which ends at `size`, has passed a multiple of the step. If a key has many
 * writers, only some of them try to rewrite it: most tries fail because another writer has
 * appended. */
static bool passes_step(const struct mcds__map_update *update, size_t size)
{
    size_t length = update->record.length;
    assert(length > 0);
    return length > size || size / REWRITE_STEP != (size - length) / REWRITE_STEP;
}

/* Whether a removal has perhaps left much that is removed in a large key. If it has not read the key,
 * its rewriting decides. In a list, one element has many small entries. */
static bool has_freed(const struct mcds__map_update *update, size_t size)
{
    size_t removed = update->wants_code ? update->removed : size;
    assert(update->wants_code || update->removed == 0);
    return update->removes && update->map->form != MCDS__MAP_FORM_LIST &&
           mcds__map_has_removed_much(size, removed);
}

void mcds__map_note_growth(struct mcds__map_update *update, const mcds_reply *looked)
{
    size_t size = looked->value_length;
    update->grows = update->is_told
                        ? mcds__map_passes_soft_size(update->hash, update->depth, size,
                                                     update->record.length)
                        : mcds__map_must_rewrite(update->map, update->hash, update->depth,
                                                 looked->flags, size, 0) &&
                              (!update->has_rivals || passes_step(update, size));
    update->grows = update->grows || update->rewrites || has_freed(update, size);
    if (update->grows)
        mcds__map_want_look(update->map, update->hash, update->depth);
    else if (!update->is_told)
        mcds__map_want_no_look(update->map, update->hash, update->depth);
}

/* The store clears the reply. */
static mcds_request *begin_request(struct mcds__map_update *update, uint32_t number,
                                   mcds_command command, uint32_t depth)
{
    mcds_request *request = &update->requests[number];
    memset(request, 0, offsetof(mcds_request, reply));
    request->command = command;
    request->key = mcds__key_bytes(&update->key);
    request->route = mcds__map_route(update->map, depth);
    return request;
}

enum mcds__step mcds__map_ask_append(struct mcds__map_update *update,
                                     struct mcds__operation *operation, uint32_t depth)
{
    struct mcds__map *map = update->map;
    assert(update->numbered && update->life.number != 0 && depth <= MCDS__MAP_DEPTH_MAX);
    assert(!update->adds || map->flat != 0);
    update->depth = depth;
    if (depth > update->deepest)
        update->deepest = depth;
    mcds__map_key(map, update->life.number, update->hash, depth, &update->key);
    mcds__map_readdress(&update->record, mcds__key_bytes(&update->key));
    mcds_request *append = begin_request(update, MCDS__MAP_APPEND, MCDS_APPEND, depth);
    if (update->makes_room || update->removes)
        append->options = update->makes_room ? MCDS_MAKES_ROOM : MCDS_MAY_MAKE_ROOM;
    append->value = (mcds_bytes){update->record.data, update->record.length};
    compare_number(update);
    update->looks = must_look(update);
    if (update->looks) {
        mcds_request *look = begin_request(update, MCDS__MAP_LOOK, MCDS_GET, depth);
        look->options = update->wants_code ? 0 : MCDS_NO_VALUE;
    }
    uint32_t first = update->adds ? MCDS__MAP_ADD : MCDS__MAP_APPEND;
    uint32_t last = update->looks ? MCDS__MAP_ROOT : MCDS__MAP_LOOK;
    uint32_t roots = mcds__map_prove_along(&update->proof, map, update->life.number, operation,
                                           &update->requests[last]);
    uint32_t count = last + roots - first;
    mcds__map_take_turn(update, operation);
    uint64_t connection = append->cas.connection;
    bool is_assigned = connection != 0 && connection != MCDS_ANY_CONNECTION;
    operation->connection = is_assigned ? connection : 0;
    if (roots > 0 || is_assigned)
        return mcds__operation_ask_repeatable(operation, &update->requests[first], count);
    return mcds__operation_ask_combinable(operation, &update->requests[first], count);
}

bool mcds__map_fill_add(struct mcds__map_update *update)
{
    struct mcds__map *map = update->map;
    struct mcds__bucket nothing;
    uint32_t flags;
    assert(map->flat != 0 && update->life.number != 0);
    struct mcds__map_scratch *scratch = mcds__map_get_scratch(&update->place.scratch, map->env);
    mcds__map_key(map, update->life.number, update->hash, map->flat, &update->key);
    mcds_bytes key = mcds__key_bytes(&update->key);
    mcds__bucket_init(&nothing, map->env, key, (mcds_bytes){NULL, 0});
    if (scratch == NULL ||
        !mcds__bucket_encode(&nothing, key, MCDS__MAP_OPEN, 0, &scratch->values[0], &flags))
        return false;
    update->requests[MCDS__MAP_ADD] = (mcds_request){
        .command = MCDS_ADD,
        .flags = flags,
        .ttl_ms = map->ttl_ms,
        .key = key,
        .value = {scratch->values[0].data, scratch->values[0].length},
    };
    update->adds = true;
    return true;
}

void mcds__map_take_made(struct mcds__map_update *update)
{
    const struct mcds__map_making *making = &update->making;
    update->depth = update->map->flat;
    update->key = making->scratch->keys[0];
    update->proof = (struct mcds__map_proof){.seen = making->life.number};
    update->looks = true;
    mcds__map_take_making(making, &update->requests[MCDS__MAP_APPEND],
                          &update->requests[MCDS__MAP_LOOK]);
}

void mcds__map_note_unmade(struct mcds__map_update *update, bool is_other)
{
    bool may_repeat = update->making.may_repeat;
    if (is_other || may_repeat) /* the store has evicted nothing */
        update->rootings--;
    if (may_repeat && !is_other) {
        assert(update->moves > 0); /* it has looked for the root */
        update->moves--;
    }
}

enum mcds__step mcds__map_check_room(struct mcds__map_update *update,
                                     struct mcds__operation *operation)
{
    update->requests[MCDS__MAP_ADD] = update->requests[MCDS__MAP_LOOK];
    update->requests[MCDS__MAP_ADD].options = MCDS_NO_VALUE;
    update->proof.looks = false;
    update->stage = UPDATE_CHECKING_ROOM;
    mcds__map_take_turn(update, operation);
    return mcds__operation_ask_repeatable(operation, update->requests, MCDS__MAP_ROOT);
}

bool mcds__map_take_room_check(const struct mcds__map_update *update)
{
    assert(!update->proof.looks && update->looks);
    const mcds_reply *before = &update->requests[MCDS__MAP_ADD].reply;
    const mcds_reply *after = &update->requests[MCDS__MAP_LOOK].reply;
    return update->requests[MCDS__MAP_APPEND].reply.outcome == MCDS_OUT_NOT_STORED &&
           before->outcome == MCDS_OUT_OK && after->outcome == MCDS_OUT_OK &&
           before->cas.connection != 0 && before->cas.unique == after->cas.unique;
}

/* Keys split at different sizes, so the key may also be one level above or below. */
enum mcds__step mcds__map_ask_around(struct mcds__map_update *update,
                                     struct mcds__operation *operation, uint32_t depth)
{
    struct mcds__map *map = update->map;
    struct mcds__map_scratch *scratch = mcds__map_get_scratch(&update->place.scratch, map->env);
    if (scratch == NULL)
        return mcds__map_finish(update, operation, MCDS_NO_MEMORY, NULL);
    assert(depth > 0 && depth <= MCDS__MAP_DEPTH_MAX);
    uint32_t first = depth > 1 ? depth - 2 : 0;
    uint32_t last = depth < MCDS__MAP_DEPTH_MAX ? depth + 1 : depth;
    for (uint32_t at = first; at <= last; at++) {
        struct mcds__key *key = &scratch->keys[at - first];
        mcds__map_key(map, update->life.number, update->hash, at, key);
        scratch->requests[at - first] = mcds__map_get_at(map, mcds__key_bytes(key), at);
    }
    update->depth = first;
    return mcds__operation_ask_repeatable(operation, scratch->requests, last - first + 1);
}

bool mcds__map_take_around(struct mcds__map_update *update,
                           const struct mcds__operation *operation)
{
    const mcds_request *requests = update->place.scratch->requests;
    uint32_t count = (uint32_t)operation->batch.count;
    assert(count >= 2 && update->depth + count <= MCDS__MAP_DEPTH_MAX + 1);
    bool has_split_above = update->depth == 0;
    for (uint32_t i = 0; i < count; i++) {
        const mcds_reply *reply = &requests[i].reply;
        enum mcds__map_state state = mcds__map_state_of(reply->flags);
        if (has_split_above && reply->outcome == MCDS_OUT_OK && state == MCDS__MAP_OPEN) {
            update->depth += i;
            mcds__map_note_depth(update->map, update->life.number, update->hash, update->depth);
            return true;
        }
        has_split_above = reply->outcome == MCDS_OUT_OK && state == MCDS__MAP_MOVED;
        if (has_split_above)
            mcds__map_note_moved(update->map, update->life.number, update->hash,
                                 update->depth + i);
    }
    return false;
}
