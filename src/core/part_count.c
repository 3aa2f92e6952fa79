/* Core part: how many parts of a family have been made, and what is left of them after a loss. */
#include "base/buffer.h"
#include "base/environment.h"
#include "base/number.h"
#include "core/part.h"

void mcds__part_fill_count(const struct mcds__parts *parts, uint64_t family,
                           struct mcds__part_room *room, uint32_t i)
{
    room->positions[i] = 0;
    mcds_bytes route = mcds__part_count_key(parts, family, &room->keys[i]);
    room->requests[i] = (mcds_request){
        .command = MCDS_GET, .key = mcds__key_bytes(&room->keys[i]), .route = route};
}

uint64_t mcds__part_count_of(const mcds_reply *reply, const mcds_buffer *values)
{
    uint64_t count = 0;
    if (reply->outcome != MCDS_OUT_OK || reply->value_length == 0 ||
        !mcds__parse_stored_u64(values->at + reply->value_at, reply->value_length, &count))
        return 0;
    return count <= MCDS__PART_COUNT_MAX ? count : 0;
}

void mcds__part_write_count(struct mcds__part_append *append, mcds_request *request)
{
    mcds_bytes route = mcds__part_count_key(append->parts, append->family, &append->count_key);
    *request = (mcds_request){
        .command = MCDS_SET,
        .ttl_ms = append->ttl_ms,
        .key = mcds__key_bytes(&append->count_key),
        .route = route,
        .value = {append->count_text, mcds__format_u64(append->part, append->count_text)},
    };
}

static enum mcds__step ask(struct mcds__part_find *find, const struct mcds__parts *parts,
                           struct mcds__part_room *room, struct mcds__operation *operation)
{
    uint64_t stride = (find->high - find->low - 1) / MCDS__PART_ROOM + 1;
    find->count = 0;
    /* From the end, since that is where something is left. */
    for (uint64_t at = find->high - find->low; at > 0; at = at > stride ? at - stride : 0)
        mcds__part_fill_get(parts, find->family, room, find->count++, find->low + at - 1,
                            MCDS_NO_VALUE);
    return mcds__operation_ask_repeatable(operation, room->requests, find->count);
}

/* At first at distances from either end that double. */
static enum mcds__step ask_first(struct mcds__part_find *find, const struct mcds__parts *parts,
                                 struct mcds__part_room *room,
                                 struct mcds__operation *operation)
{
    uint64_t half = (find->high - find->low) / 2;
    uint64_t distance = 1;
    find->count = 0;
    for (; distance <= find->high - find->low - half; distance *= 2)
        mcds__part_fill_get(parts, find->family, room, find->count++, find->high - distance,
                            MCDS_NO_VALUE);
    for (; distance > 0; distance /= 2)
        if (distance <= half)
            mcds__part_fill_get(parts, find->family, room, find->count++,
                                find->low + distance - 1, MCDS_NO_VALUE);
    find->is_asked = true;
    return mcds__operation_ask_repeatable(operation, room->requests, find->count);
}

/* The parts asked for are in falling order: what lies between the part that has been found and its
 * neighbour, which is missing, is looked at next. */
static void take(struct mcds__part_find *find, const struct mcds__part_room *room)
{
    uint32_t at = find->count;
    for (uint32_t i = 0; i < find->count; i++) {
        if (room->requests[i].reply.outcome != MCDS_OUT_OK)
            continue;
        at = i;
        if (find->down)
            break;
    }
    if (at == find->count) {
        find->low = find->high;
        return;
    }
    find->found = true;
    find->part = room->positions[at];
    if (find->down) {
        find->low = find->part + 1;
        find->high = at > 0 ? room->positions[at - 1] : find->high;
    } else {
        find->high = find->part;
        find->low = at + 1 < find->count ? room->positions[at + 1] + 1 : find->low;
    }
}

enum mcds__step mcds__part_find_step(struct mcds__part_find *find,
                                     const struct mcds__parts *parts,
                                     struct mcds__part_room *room,
                                     struct mcds__operation *operation)
{
    if (!find->is_asked && find->low < find->high)
        return ask_first(find, parts, room, operation);
    for (uint32_t i = 0; find->is_asked && i < find->count; i++) {
        const mcds_reply *reply = &room->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        find->is_asked = false;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(operation, reply);
    }
    if (find->is_asked)
        take(find, room);
    if (find->low < find->high)
        return ask(find, parts, room, operation);
    return mcds__operation_finish(operation, MCDS_OK);
}
