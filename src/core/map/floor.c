/* Map: whether a record is older than the floor of its key, and therefore void.
 *
 * The client flags of a key hold its floor modulo 48 days. They alone do not show whether the clock
 * of this machine is slow, or the floor is old because the key was not rewritten for weeks. The head
 * of the value holds the whole floor. So a handle reads it with its first change of a key that has a
 * floor. Later it derives the whole floor from the flags, if the two floors are near each other. */
#include <assert.h>
#include <stdatomic.h>

#include "core/map/sequence.h"

/* Two floors are near if they differ by at most this: a quarter of what the flags distinguish. */
#define NEAR (UINT16_MAX / 4)

static uint32_t units_of(uint32_t floor_s)
{
    return floor_s / MCDS__MAP_FLOOR_UNIT_S;
}

/* One for all keys whose hashes begin with the same byte; 0: none was read. */
static _Atomic uint32_t *whole_floor_of(struct mcds__map *map, uint64_t hash)
{
    return &map->whole_floors[hash >> 56];
}

enum mcds__map_floor mcds__map_compare_floor(const struct mcds__map_update *update,
                                             uint32_t flags)
{
    uint32_t floor = flags >> 16;
    if (floor == 0)
        return MCDS__MAP_FLOOR_REACHED;
    uint32_t known_s = atomic_load_explicit(whole_floor_of(update->map, update->hash),
                                            memory_order_relaxed);
    int32_t ahead = (int16_t)(uint16_t)(floor - units_of(known_s));
    if (known_s == 0 || ahead > NEAR || ahead < -NEAR)
        return MCDS__MAP_FLOOR_UNKNOWN;
    int64_t floor_s = ((int64_t)units_of(known_s) + ahead) * MCDS__MAP_FLOOR_UNIT_S;
    return update->time_ms / MS_PER_S < floor_s ? MCDS__MAP_FLOOR_MISSED
                                                : MCDS__MAP_FLOOR_REACHED;
}

enum mcds__step mcds__map_ask_floor(struct mcds__map_update *update,
                                    struct mcds__operation *operation)
{
    assert(update->numbered && !update->wants_code);
    update->doubt = true;
    update->stage = UPDATE_READING_FLOOR;
    update->requests[MCDS__MAP_ADD] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&update->key),
        .route = mcds__map_route(update->map, update->depth),
    };
    return mcds__operation_ask_repeatable(operation, &update->requests[MCDS__MAP_ADD], 1);
}

bool mcds__map_has_floor_of(const mcds_reply *reply, const mcds_reply *other)
{
    assert(mcds__map_state_of(other->flags) == MCDS__MAP_OPEN);
    return reply->outcome == MCDS_OUT_OK &&
           mcds__map_state_of(reply->flags) == MCDS__MAP_OPEN &&
           reply->flags >> 16 == other->flags >> 16;
}

int mcds__map_take_floor(struct mcds__map_update *update, struct mcds__operation *operation,
                         const mcds_request *read, enum mcds__map_floor *floor_out)
{
    struct mcds__map_head head;
    assert(read->reply.outcome == MCDS_OUT_OK && (read->options & MCDS_NO_VALUE) == 0);
    update->doubt = true;
    int result = mcds__map_open_head(mcds__operation_value(operation, read), read->key,
                                     read->reply.flags, &head);
    if (result != MCDS_OK)
        return result;
    atomic_store_explicit(whole_floor_of(update->map, update->hash), head.floor_s,
                          memory_order_relaxed);
    bool is_void = update->time_ms / MS_PER_S < head.floor_s;
    if (is_void && update->copies == 1)
        update->doubt = false; /* this was its only copy */
    *floor_out = is_void ? MCDS__MAP_FLOOR_MISSED : MCDS__MAP_FLOOR_REACHED;
    return MCDS_OK;
}
