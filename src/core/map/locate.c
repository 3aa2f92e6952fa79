/* Map: find the key that holds a hash. */
#include "core/map/map.h"

#include <assert.h>
#include <stdatomic.h>

enum { PLACE_BEGIN, PLACE_ROOT, PLACE_ALL };
#define DEPTHS (MCDS__MAP_DEPTH_MAX + 1)
#define ROOT DEPTHS /* the request for the root, after those of all depths */
/* The request for the tombstone, after that for the root: where a drop has erased the root
 * before its read, this shows the tombstone. */
#define END (DEPTHS + 1)
_Static_assert(END < MCDS__MAP_CAPACITY, "the scratch has room for all requests");
/* The missing key: the first key, the child of a MOVED key, or the root. */
#define FIRST 1
#define CHILD_OF(depth) ((depth) + 2)
#define MISSING_ROOT (DEPTHS + 2)

static enum mcds__step map_locate_ask_root(struct mcds__map_place *place, struct mcds__map *map,
                                           struct mcds__operation *operation)
{
    struct mcds__map_scratch *scratch = mcds__map_get_scratch(&place->scratch, operation->env);
    if (scratch == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    scratch->requests[0] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&map->root),
    };
    place->stage = PLACE_ROOT;
    return mcds__operation_ask_repeatable(operation, scratch->requests, 1);
}

static enum mcds__step ask_keys(struct mcds__map_place *place, struct mcds__map *map,
                                struct mcds__operation *operation)
{
    struct mcds__map_scratch *scratch = mcds__map_get_scratch(&place->scratch, operation->env);
    if (scratch == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    assert(place->life.number != 0);
    if (place->reads++ == MCDS__MAP_MOVES_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEYS_VANISH));
    mcds__map_fit(place, &place->life);
    if (place->element.length > 0)
        place->hash = mcds__map_hash(place->life.hash_key, place->element);
    for (uint32_t depth = 0; depth < DEPTHS; depth++) {
        mcds__map_key(map, place->life.number, place->hash, depth, &scratch->keys[depth]);
        scratch->requests[depth] = mcds__map_get_at(map, mcds__key_bytes(&scratch->keys[depth]),
                                                    depth);
        if (place->wants_value)
            scratch->requests[depth].options = 0;
    }
    scratch->requests[ROOT] = mcds__map_request_root(map);
    scratch->requests[END] = mcds__map_request_tombstone(map, place->life.number,
                                                         &scratch->keys[END]);
    place->stage = PLACE_ALL;
    return mcds__operation_ask_repeatable(operation, scratch->requests,
                                          place->is_rootless ? DEPTHS : DEPTHS + 2);
}

static enum mcds__step map_locate_ask(struct mcds__map_place *place, struct mcds__map *map,
                                      struct mcds__operation *operation)
{
    assert(map->flat == 0 || !place->is_rootless);
    if (map->flat != 0)
        return map_locate_ask_root(place, map, operation);
    if (place->is_rootless)
        return ask_keys(place, map, operation);
    uint64_t before = place->life.number;
    place->life = mcds__map_life(map);
    if (place->life.number != before)
        place->missing_depth = place->early_depth = 0;
    return place->life.number == 0 ? map_locate_ask_root(place, map, operation)
                                   : ask_keys(place, map, operation);
}

/* Read again after a pause, or finish. */
static enum mcds__step ask_later(struct mcds__map_place *place,
                                 struct mcds__operation *operation, const mcds_reply *reply)
{
    place->stage = PLACE_BEGIN;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(operation, reply);
}

/* The root was read after the keys of a life that is perhaps lost; place->life is that life. */
static bool reports_loss(struct mcds__map_place *place, struct mcds__map *map)
{
    if (place->lost_root && place->keeps_loss)
        mcds__map_note_over(map, place->life.number);
    else if (place->lost_root)
        place->lost_root = mcds__map_forget(map, place->life.number);
    return place->lost_root;
}

/* The root of a flat map, or that it has none. Its keys are made when they are needed. */
static enum mcds__step take_flat_root(struct mcds__map_place *place, struct mcds__map *map,
                                      struct mcds__operation *operation,
                                      const struct mcds__map_life *life)
{
    uint64_t known = mcds__map_life(map).number;
    if (life == NULL && known != 0)
        (void)mcds__map_forget(map, known);
    if (life == NULL)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    mcds__map_adopt(map, life);
    mcds__map_note_seen(map, operation->sent_ns);
    place->life = *life;
    place->depth = map->flat;
    place->state = MCDS__MAP_OPEN;
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step map_locate_take_root(struct mcds__map_place *place,
                                            struct mcds__map *map,
                                            struct mcds__operation *operation)
{
    assert(place->stage == PLACE_ROOT);
    const mcds_request *request = &place->scratch->requests[0];
    struct mcds__map_life life;
    const mcds_reason *detail = NULL;
    if (request->reply.outcome == MCDS_OUT_MISS && map->flat != 0)
        return take_flat_root(place, map, operation, NULL);
    if (request->reply.outcome == MCDS_OUT_MISS)
        return reports_loss(place, map)
                   ? mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(DROPPED))
                   : mcds__operation_finish(operation, MCDS_NOT_FOUND);
    int result = mcds__map_read_root(map, mcds__operation_value(operation, request),
                                     request->reply.flags, &life, &detail);
    if (result != MCDS_OK)
        return mcds__map_refuse(map, operation, result, detail);
    if (map->flat != 0)
        return take_flat_root(place, map, operation, &life);
    bool is_reported = reports_loss(place, map);
    if (!is_reported || !place->keeps_loss)
        mcds__map_adopt(map, &life);
    if (is_reported)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(DROPPED));
    place->life = life;
    place->missing_depth = place->early_depth = 0;
    return ask_keys(place, map, operation);
}

/* The deepest key that exists, plus 1; 0: none. */
static uint32_t deepest(const struct mcds__map_place *place)
{
    assert(place->stage == PLACE_ALL);
    uint32_t depth = DEPTHS;
    while (depth > 0 && place->scratch->requests[depth - 1].reply.outcome == MCDS_OUT_MISS)
        depth--;
    return depth;
}

static bool has_state(const mcds_reply *reply, enum mcds__map_state state)
{
    return reply->outcome == MCDS_OUT_OK && mcds__map_state_of(reply->flags) == state;
}

/* The first key whose split has not ended, else the deepest that exists. */
static uint32_t first_sealed(const struct mcds__map_place *place, uint32_t deepest)
{
    assert(deepest < DEPTHS);
    uint32_t depth = 0;
    while (depth < deepest &&
           !has_state(&place->scratch->requests[depth].reply, MCDS__MAP_SEALED))
        depth++;
    return depth;
}

/* The key above was read before it was sealed, or before it was made: one more read shows its
 * state, or that it is gone. */
static bool is_read_early(struct mcds__map_place *place)
{
    assert(place->depth < DEPTHS);
    if (place->depth == 0 || place->depth == place->early_depth)
        return false;
    const mcds_reply *above = &place->scratch->requests[place->depth - 1].reply;
    if (above->outcome != MCDS_OUT_MISS && !has_state(above, MCDS__MAP_OPEN))
        return false;
    place->early_depth = (uint8_t)place->depth;
    return true;
}

/* A key is missing. Reads of different servers have no order: it may have been created after
 * its read, or the other keys erased after theirs. So it is gone if a read that began
 * afterwards misses it too. */
static enum mcds__step miss(struct mcds__map_place *place, struct mcds__map *map,
                            struct mcds__operation *operation, uint32_t missing)
{
    assert(missing >= FIRST && missing <= MISSING_ROOT);
    if (place->missing_depth != missing) {
        place->missing_depth = (uint8_t)missing;
        return map_locate_ask(place, map, operation);
    }
    place->stage = PLACE_BEGIN;
    place->missing_depth = 0;
    operation->asked = place->scratch->requests[missing - 1].reply.peer;
    return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(PART_GONE));
}

/* Whether the store has lost this life, whose root is gone. One without any key was perhaps
 * dropped so long ago that its tombstone has expired. */
static bool is_lost(const struct mcds__map_place *place, const struct mcds__map *map,
                    const struct mcds__operation *operation, bool has_keys)
{
    if (place->scratch->requests[END].reply.outcome == MCDS_OUT_OK)
        return false;
    int64_t seen_ns = atomic_load_explicit(&map->seen_ns, memory_order_relaxed);
    return has_keys ||
           (map->ttl_ms == 0 && operation->sent_ns - seen_ns < MCDS__MAP_END_TRUSTED_NS);
}

/* The root that this handle knows does not exist. */
static enum mcds__step take_other_root(struct mcds__map_place *place, struct mcds__map *map,
                                       struct mcds__operation *operation)
{
    const mcds_request *requests = place->scratch->requests;
    const mcds_reply *tombstone = &requests[END].reply;
    if (tombstone->outcome == MCDS_OUT_OK &&
        (tombstone->value_length > 0 ||
         !mcds__descriptor_is_of(tombstone->flags, place->life.number))) {
        operation->read = &requests[END];
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    }
    bool has_keys = requests[ROOT].reply.outcome == MCDS_OUT_MISS && deepest(place) > 0;
    bool is_told = is_lost(place, map, operation, has_keys);
    if (is_told && has_keys && place->missing_depth != MISSING_ROOT)
        return miss(place, map, operation, MISSING_ROOT);
    if (!is_told)
        (void)mcds__map_forget(map, place->life.number);
    /* Bytes that are no root are reported before a loss. */
    place->lost_root = is_told;
    return map_locate_ask_root(place, map, operation);
}

static enum mcds__step found(struct mcds__map_place *place, struct mcds__map *map,
                             struct mcds__operation *operation)
{
    assert(place->depth < DEPTHS);
    assert(place->state == MCDS__MAP_OPEN || place->state == MCDS__MAP_SEALED);
    place->missing_depth = 0;
    operation->read = &place->scratch->requests[place->depth];
    if (!place->is_rootless)
        mcds__map_note_seen(map, operation->sent_ns);
    mcds__map_note_found(map, place->life.number, place->hash, place->depth);
    if (place->depth > 0)
        mcds__map_note_moved(map, place->life.number, place->hash, place->depth - 1);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step map_locate_take_keys(struct mcds__map_place *place,
                                            struct mcds__map *map,
                                            struct mcds__operation *operation)
{
    assert(place->stage == PLACE_ALL && place->life.number != 0);
    const mcds_request *requests = place->scratch->requests;
    const mcds_reply *root = &requests[ROOT].reply;
    if (!place->is_rootless && (root->outcome == MCDS_OUT_MISS ||
                                !mcds__descriptor_is_of(root->flags, place->life.number)))
        return take_other_root(place, map, operation);
    uint32_t depth = deepest(place);
    place->depth = depth > 0 ? first_sealed(place, depth - 1) : 0;
    if (depth == 0)
        return miss(place, map, operation, FIRST);
    place->state = mcds__map_state_of(requests[place->depth].reply.flags);
    operation->read = &requests[place->depth];
    bool is_too_deep = place->state != MCDS__MAP_OPEN && place->depth == MCDS__MAP_DEPTH_MAX;
    if (place->state == MCDS__MAP_FOREIGN || is_too_deep)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (place->state == MCDS__MAP_MOVED)
        return miss(place, map, operation, CHILD_OF(place->depth));
    if (is_read_early(place))
        return map_locate_ask(place, map, operation);
    return found(place, map, operation);
}

/* Some servers gave no answer. An open key is the place of the hash, whatever the others hold, if
 * the split above has ended: it was open during this call. */
static bool is_found_without(struct mcds__map_place *place)
{
    const mcds_request *requests = place->scratch->requests;
    const mcds_reply *root = &requests[ROOT].reply;
    if (place->stage != PLACE_ALL ||
        (!place->is_rootless && (root->outcome != MCDS_OUT_OK ||
                                 !mcds__descriptor_is_of(root->flags, place->life.number))))
        return false;
    place->state = MCDS__MAP_OPEN;
    place->depth = MCDS__MAP_DEPTH_MAX;
    while (place->depth > 0 && !has_state(&requests[place->depth].reply, MCDS__MAP_OPEN))
        place->depth--;
    return has_state(&requests[place->depth].reply, MCDS__MAP_OPEN) &&
           (place->depth == 0 || has_state(&requests[place->depth - 1].reply, MCDS__MAP_MOVED));
}

enum mcds__step mcds__map_locate_step(struct mcds__map_place *place, struct mcds__map *map,
                                      struct mcds__operation *operation)
{
    assert(place->stage <= PLACE_ALL);
    if (place->stage == PLACE_BEGIN) {
        place->reads = 0;
        place->early_depth = 0;
        place->lost_root = false;
        return map_locate_ask(place, map, operation);
    }
    const mcds_reply *trouble = mcds__first_trouble(place->scratch->requests,
                                                    operation->batch.count);
    if (trouble != NULL && !mcds__is_transport_trouble(trouble))
        return mcds__operation_fail_read(operation, trouble);
    if (trouble != NULL)
        return is_found_without(place) ? found(place, map, operation)
                                       : ask_later(place, operation, trouble);
    return place->stage == PLACE_ROOT ? map_locate_take_root(place, map, operation)
                                      : map_locate_take_keys(place, map, operation);
}
