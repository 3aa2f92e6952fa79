/* Map: a scan that erases ends the life before it erases the keys. */
#include <assert.h>
#include <stdatomic.h>

#include "core/map/scan/parts.h"

/* The requests that end a life: its tombstone, then the root. A store without room for the
 * tombstone refuses it and erases the root. */
enum { TOMBSTONE, ERASURE };

/* To erase, first read the current root. A life that this handle knows before the read, and whose
 * root the read misses, is over. A life that it learns later may have begun after the read. */
enum mcds__step mcds__map_scan_ask_root(struct mcds__map_scan *scan,
                                        struct mcds__operation *operation)
{
    assert(scan->erases && !scan->is_proved);
    scan->known = mcds__map_life(scan->map).number;
    scan->scratch->requests[0] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&scan->map->root),
    };
    scan->stage = MCDS__MAP_SCAN_ROOT;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, scan->scratch->requests, 1);
}

/* The root is gone: no client will see the remaining keys. */
static enum mcds__step map_scan_root_finish(struct mcds__map_scan *scan,
                                            struct mcds__operation *operation)
{
    assert(scan->erases && scan->life.number != 0);
    (void)mcds__map_forget(scan->map, scan->life.number);
    atomic_store(&scan->map->rest, scan->life.number);
    scan->is_proved = true;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The root has this life: write its tombstone and erase the root. */
static enum mcds__step map_scan_root_end(struct mcds__map_scan *scan,
                                         struct mcds__operation *operation,
                                         const struct mcds__map_life *life)
{
    bool compares = mcds__store_can(scan->map->store).compare_and_delete;
    scan->life = *life;
    scan->token = compares ? scan->scratch->requests[0].reply.cas : (mcds_cas_token){0, 0};
    mcds_request *tombstone = &scan->scratch->requests[TOMBSTONE];
    *tombstone = mcds__map_request_tombstone(scan->map, life->number, &scan->scratch->keys[0]);
    tombstone->command = MCDS_SET;
    tombstone->options = MCDS_MAKES_ROOM;
    tombstone->flags = mcds__descriptor_flags(life->number);
    tombstone->ttl_ms = MCDS__MAP_END_TTL_MS;
    scan->scratch->requests[ERASURE] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&scan->map->root),
        .cas = scan->token,
    };
    scan->stage = MCDS__MAP_SCAN_ENDING;
    operation->connection = scan->token.connection;
    if (scan->map->ttl_ms > 0)
        return mcds__operation_ask(operation, &scan->scratch->requests[ERASURE], 1);
    return mcds__operation_ask(operation, scan->scratch->requests, ERASURE + 1);
}

/* There is no root. Keys may remain of a life whose root this operation has read before, or this
 * handle has known before the last read, or an earlier drop has erased: all are over. */
static uint64_t life_without_root(const struct mcds__map_scan *scan)
{
    assert(!scan->erased && !scan->is_proved);
    if (scan->life.number != 0)
        return scan->life.number;
    return scan->known != 0 ? scan->known : atomic_load(&scan->map->rest);
}

/* End the life of the root. */
static enum mcds__step map_scan_root_take(struct mcds__map_scan *scan,
                                          struct mcds__operation *operation)
{
    const mcds_request *request = &scan->scratch->requests[0];
    struct mcds__map_life life = {0};
    const mcds_reason *detail = NULL;
    if (mcds__first_trouble(request, 1) != NULL) {
        scan->stage = MCDS__MAP_SCAN_BEGIN;
        return mcds__operation_retry(operation, &request->reply);
    }
    int result = MCDS_NOT_FOUND;
    if (request->reply.outcome == MCDS_OUT_OK)
        result = mcds__map_read_root(scan->map, mcds__operation_value(operation, request),
                                     request->reply.flags, &life, &detail);
    if (result == MCDS_NOT_FOUND && !scan->erased) {
        scan->life.number = life_without_root(scan);
        if (scan->life.number != 0)
            return map_scan_root_finish(scan, operation);
    }
    /* An earlier try, whose reply was lost, has ended it. */
    if (scan->erased && life.number != scan->life.number)
        return map_scan_root_finish(scan, operation);
    if (result != MCDS_OK)
        return mcds__map_refuse(scan->map, operation, result, detail);
    return map_scan_root_end(scan, operation, &life);
}

static enum mcds__step take_end(struct mcds__map_scan *scan, struct mcds__operation *operation)
{
    assert(scan->stage == MCDS__MAP_SCAN_ENDING);
    const mcds_reply *reply = &scan->scratch->requests[ERASURE].reply;
    operation->connection = 0;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        scan->erased = true;
        return map_scan_root_finish(scan, operation);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        if (scan->moves++ == MCDS__MAP_MOVES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ROOT_CHANGES));
        return mcds__map_scan_ask_root(scan, operation);
    case MCDS_OUT_UNKNOWN:
        scan->erased = true;
        /* A late delete without a token could end a later life. */
        if (scan->token.connection == 0)
            return mcds__operation_fail(operation, reply);
        break;
    case MCDS_OUT_UNSENT:
        break;
    default:
        if (reply->outcome != MCDS_OUT_NO_MEMORY || scan->token.connection == 0)
            return mcds__operation_fail(operation, reply);
        /* A full server of the classic protocol has no memory to compare. */
        scan->token = scan->scratch->requests[ERASURE].cas = (mcds_cas_token){0, 0};
        return mcds__operation_ask(operation, &scan->scratch->requests[ERASURE], 1);
    }
    scan->stage = MCDS__MAP_SCAN_BEGIN;
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_fail(operation, reply);
}

enum mcds__step mcds__map_scan_end_life(struct mcds__map_scan *scan,
                                        struct mcds__operation *operation)
{
    assert(scan->stage == MCDS__MAP_SCAN_ROOT || scan->stage == MCDS__MAP_SCAN_ENDING);
    return scan->stage == MCDS__MAP_SCAN_ROOT ? map_scan_root_take(scan, operation)
                                              : take_end(scan, operation);
}
