/* Map: whether a record is older than the floor of its key, and therefore void.
 *
 * The client flags of a key hold its floor modulo 48 days. They alone do not show whether the clock
 * of this machine is slow, or the floor is old because the key was not rewritten for weeks. The head
 * of the value holds the whole floor. So a handle reads it with its first change of a key that has a
 * floor. Later it derives the whole floor from the flags, if that is near one that it has read. */
#include <assert.h>
#include <stdatomic.h>

#include "core/map/sequence.h"

/* Two floors are near if they differ by at most a day. Floors of keys that are in use do. Then another
 * floor with the same flags is at least 47 days away. */
#define NEAR (86400 / MCDS__MAP_FLOOR_UNIT_S)

static bool has_reached(const struct mcds__map_update *update, int64_t floor_s)
{
    return update->time_ms / MS_PER_S >= floor_s;
}

bool mcds__map_shows_floor_reached(const struct mcds__map_update *update, uint32_t flags)
{
    _Atomic uint32_t *newest = &update->map->newest_floor_s;
    uint32_t floor = flags >> 16;
    if (floor == 0)
        return true;
    uint32_t known = atomic_load_explicit(newest, memory_order_relaxed) /
                     MCDS__MAP_FLOOR_UNIT_S;
    int32_t ahead = (int16_t)(uint16_t)(floor - known);
    if (known == 0 || ahead > NEAR || ahead < -NEAR)
        return false;
    int64_t floor_s = ((int64_t)known + ahead) * MCDS__MAP_FLOOR_UNIT_S;
    if (!has_reached(update, floor_s))
        return false;
    if (ahead > 0)
        atomic_store_explicit(newest, (uint32_t)floor_s, memory_order_relaxed);
    return true;
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

/* Whether no copy of the record counts, because each is below the floor. That is certain of the only copy
 * if the key had this floor at the append. Otherwise the floor may have risen after the record had counted.
 * Then the rewriting has removed the record from those after the snapshot. */
static bool is_certainly_void(const struct mcds__map_update *update,
                              struct mcds__operation *operation, const mcds_request *read)
{
    const mcds_request *append = &update->requests[MCDS__MAP_APPEND];
    bool compares = append->cas.connection != 0;
    bool had_floor = !update->looks ||
                     (compares && (uint32_t)append->initial >> 16 == read->reply.flags >> 16);
    if (update->copies == 1 && had_floor)
        return true;
    return mcds__map_count_record(mcds__operation_value(operation, read), read->key,
                                  read->reply.flags, update->writer,
                                  update->seq) == update->copies;
}

int mcds__map_take_floor(struct mcds__map_update *update, struct mcds__operation *operation,
                         const mcds_request *read, bool *is_reached_out)
{
    struct mcds__map_head head;
    _Atomic uint32_t *newest = &update->map->newest_floor_s;
    assert(read->reply.outcome == MCDS_OUT_OK && (read->options & MCDS_NO_VALUE) == 0);
    update->doubt = true;
    int result = mcds__map_open_head(mcds__operation_value(operation, read), read->key,
                                     read->reply.flags, &head);
    if (result != MCDS_OK)
        return result;
    *is_reached_out = has_reached(update, head.floor_s);
    if (*is_reached_out && head.floor_s > atomic_load_explicit(newest, memory_order_relaxed))
        atomic_store_explicit(newest, head.floor_s, memory_order_relaxed);
    if (!*is_reached_out)
        update->doubt = !is_certainly_void(update, operation, read);
    return MCDS_OK;
}
