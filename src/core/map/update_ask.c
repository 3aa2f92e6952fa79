/* Map: the requests that append an update's record. */
#include <assert.h>

#include "base/buffer.h"
#include "core/map/sequence.h"

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
    mcds_bytes key = mcds__key_bytes(&update->key);
    mcds_bytes route = mcds__map_route(map, depth);
    mcds__map_readdress(&update->record, key);
    update->requests[MCDS__MAP_APPEND] = (mcds_request){
        .command = MCDS_APPEND,
        .key = key,
        .route = route,
        .value = {update->record.data, update->record.length},
    };
    update->requests[MCDS__MAP_LOOK] = (mcds_request){
        .command = MCDS_GET,
        .options = update->wants_code ? 0 : MCDS_NO_VALUE,
        .key = key,
        .route = route,
    };
    uint32_t first = update->adds ? MCDS__MAP_ADD : MCDS__MAP_APPEND;
    uint32_t roots = mcds__map_prove_along(&update->proof, map, update->life.number, operation,
                                           &update->requests[MCDS__MAP_ROOT]);
    uint32_t count = MCDS__MAP_ROOT + roots - first;
    mcds__map_take_turn(update, operation);
    if (roots > 0)
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
    if (scratch == NULL || !mcds__bucket_encode(&nothing, key, 0, MCDS__MAP_ALL, MCDS__MAP_OPEN,
                                                0, &scratch->values[0], &flags))
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

void mcds__map_fill_room_check(struct mcds__map_update *update)
{
    update->requests[MCDS__MAP_ADD] = update->requests[MCDS__MAP_LOOK];
    update->requests[MCDS__MAP_ADD].options = MCDS_NO_VALUE;
    update->proof.looks = false;
}

bool mcds__map_take_room_check(const struct mcds__map_update *update)
{
    assert(!update->proof.looks);
    const mcds_reply *before = &update->requests[MCDS__MAP_ADD].reply;
    const mcds_reply *after = &update->requests[MCDS__MAP_LOOK].reply;
    return update->requests[MCDS__MAP_APPEND].reply.outcome == MCDS_OUT_NOT_STORED &&
           before->outcome == MCDS_OUT_OK && after->outcome == MCDS_OUT_OK &&
           before->cas.connection != 0 && before->cas.unique == after->cas.unique;
}
