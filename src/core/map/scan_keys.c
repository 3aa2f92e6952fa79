/* Map: the keys that a scan reads and erases, and the state of the keys above them. */
#include <assert.h>

#include "core/map/scan.h"

uint64_t mcds__map_scan_end(uint64_t hash, uint32_t depth)
{
    assert(depth <= MCDS__MAP_DEPTH_MAX);
    unsigned bits = MCDS__MAP_LEVEL_BITS * depth;
    return bits == 0 ? UINT64_MAX : hash | UINT64_MAX >> bits;
}

static bool looks_at_root(const struct mcds__map_scan *scan, uint8_t stage)
{
    return !scan->is_proved && !scan->erases && stage == MCDS__MAP_SCAN_READING;
}

/* Add the read of the root after `count` requests, and ask. */
static enum mcds__step ask_all(struct mcds__map_scan *scan, struct mcds__operation *operation,
                               uint32_t count)
{
    assert(count + looks_at_root(scan, scan->stage) <= MCDS__MAP_SCAN_KEYS_MAX);
    if (looks_at_root(scan, scan->stage))
        scan->scratch->requests[count++] = mcds__map_request_root(scan->map);
    return mcds__operation_ask_any_order(operation, scan->scratch->requests, count);
}

/* Prepare requests for the keys of this depth from the position on. */
static void map_scan_keys_prepare(struct mcds__map_scan *scan, uint32_t depth, uint64_t last,
                                  bool has_values, uint8_t stage)
{
    assert(last >= scan->position && scan->life.number != 0);
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    uint64_t hash = scan->position;
    uint32_t most = MCDS__MAP_SCAN_KEYS_MAX - looks_at_root(scan, stage);
    scan->count = 0;
    do {
        uint32_t i = scan->count++;
        mcds__map_key(scan->map, scan->life.number, hash, depth, &scratch->keys[i]);
        scratch->requests[i] = (mcds_request){
            .command = MCDS_GET,
            .options = has_values ? 0 : MCDS_NO_VALUE,
            .key = mcds__key_bytes(&scratch->keys[i]),
            .route = mcds__map_route(scan->map, depth),
        };
        hash = mcds__map_scan_end(hash, depth) + 1;
    } while (hash != 0 && hash <= last && scan->count < most);
    assert(scan->count > 0 && scan->count <= MCDS__MAP_SCAN_KEYS_MAX);
    scan->stage = stage;
}

enum mcds__step mcds__map_scan_ask(struct mcds__map_scan *scan,
                                   struct mcds__operation *operation)
{
    scan->is_below = false;
    map_scan_keys_prepare(scan, scan->depth, UINT64_MAX, !scan->erases, MCDS__MAP_SCAN_READING);
    return ask_all(scan, operation, scan->count);
}

enum mcds__step mcds__map_scan_ask_below(struct mcds__map_scan *scan,
                                         struct mcds__operation *operation, uint32_t depth)
{
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    if (depth > MCDS__MAP_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    scan->depth = depth;
    assert(depth > 0 && !scan->erases);
    scan->is_below = true;
    scan->missed = 0;
    map_scan_keys_prepare(scan, depth, mcds__map_scan_end(scan->position, depth - 1), true,
                          MCDS__MAP_SCAN_READING);
    struct mcds__key *key = &scratch->keys[scan->count];
    assert(scan->count <= MCDS__MAP_CHILDREN);
    mcds__map_key(scan->map, scan->life.number, scan->position, depth - 1, key);
    scratch->requests[scan->count] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(key),
        .route = mcds__map_route(scan->map, depth - 1),
    };
    return ask_all(scan, operation, scan->count + 1);
}

static uint32_t digit_at_position(const struct mcds__map_scan *scan)
{
    assert(scan->depth > 0);
    return scan->position >> (64 - MCDS__MAP_LEVEL_BITS * scan->depth) &
           (MCDS__MAP_CHILDREN - 1);
}

enum mcds__step mcds__map_scan_ask_below_again(struct mcds__map_scan *scan,
                                               struct mcds__operation *operation,
                                               uint32_t number)
{
    assert(scan->is_below && number < scan->count);
    uint32_t missed = 0;
    uint32_t digit = digit_at_position(scan);
    assert(digit + scan->count - number <= MCDS__MAP_CHILDREN);
    for (uint32_t i = number; i < scan->count; i++)
        if (scan->scratch->requests[i].reply.outcome == MCDS_OUT_MISS)
            missed |= UINT32_C(1) << (digit + i - number);
    enum mcds__step step = mcds__map_scan_ask_below(scan, operation, scan->depth);
    scan->missed = missed;
    return step;
}

bool mcds__map_scan_has_missed(const struct mcds__map_scan *scan)
{
    return (scan->missed >> digit_at_position(scan) & 1) != 0;
}

/* How many keys of this depth lie before that of the hash. */
static uint64_t map_scan_keys_number_of(uint64_t hash, uint32_t depth)
{
    return depth == 0 ? 0 : hash >> (64 - MCDS__MAP_LEVEL_BITS * depth);
}

void mcds__map_scan_note_parents(struct mcds__map_scan *scan, uint32_t parents)
{
    assert(scan->depth > 0);
    scan->parents = parents;
    scan->parents_depth = (uint8_t)(scan->depth - 1);
    scan->parents_first = map_scan_keys_number_of(scan->position, scan->depth - 1);
}

bool mcds__map_scan_has_split_parent(const struct mcds__map_scan *scan)
{
    if (scan->parents == 0 || scan->depth != scan->parents_depth + 1u)
        return false;
    uint64_t at = map_scan_keys_number_of(scan->position, scan->parents_depth) -
                  scan->parents_first;
    return at < 32 && (scan->parents >> at & 1) != 0;
}

enum mcds__step mcds__map_scan_ask_parents(struct mcds__map_scan *scan,
                                           struct mcds__operation *operation)
{
    assert(scan->depth > 0);
    uint64_t last = scan->position;
    for (uint32_t i = 1;
         i < MCDS__MAP_SCAN_KEYS_MAX && mcds__map_scan_end(last, scan->depth) != UINT64_MAX;
         i++)
        last = mcds__map_scan_end(last, scan->depth) + 1;
    map_scan_keys_prepare(scan, scan->depth - 1, last, false, MCDS__MAP_SCAN_PARENTS);
    return ask_all(scan, operation, scan->count);
}

enum mcds__step mcds__map_scan_ask_orphans(struct mcds__map_scan *scan,
                                           struct mcds__operation *operation)
{
    assert(scan->depth < MCDS__MAP_DEPTH_MAX);
    map_scan_keys_prepare(scan, scan->depth + 1,
                          mcds__map_scan_end(scan->position, scan->depth), false,
                          MCDS__MAP_SCAN_ORPHANS);
    return ask_all(scan, operation, scan->count);
}

bool mcds__map_scan_has_orphans(const struct mcds__map_scan *scan)
{
    for (uint32_t i = 0; i < scan->count; i++)
        if (scan->scratch->requests[i].reply.outcome == MCDS_OUT_OK)
            return true;
    return false;
}

static void map_scan_keys_add_erasure(struct mcds__map_scan *scan, const struct mcds__key *key,
                                      uint32_t depth)
{
    assert(scan->erasures < MCDS__MAP_SCAN_KEYS_MAX);
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    uint32_t i = scan->erasures++;
    scratch->erased_keys[i] = *key;
    scratch->erased[i] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&scratch->erased_keys[i]),
        .route = mcds__map_route(scan->map, depth),
    };
}

/* All these keys are erased, so the marks above them may be erased too. */
void mcds__map_scan_begin_erasures(struct mcds__map_scan *scan)
{
    assert(scan->marks <= MCDS__MAP_SCAN_KEYS_MAX);
    scan->erasures = 0;
    for (uint32_t i = 0; i < scan->marks; i++)
        map_scan_keys_add_erasure(scan, &scan->scratch->marks[i], scan->scratch->depths[i]);
    scan->marks = 0;
}

bool mcds__map_scan_has_room_for_erasures(const struct mcds__map_scan *scan)
{
    return scan->erasures < MCDS__MAP_SCAN_KEYS_MAX &&
           scan->marks + MCDS__MAP_DEPTH_MAX <= MCDS__MAP_SCAN_KEYS_MAX;
}

/* Erase the key itself, and later the marks above it whose last child it is. */
void mcds__map_scan_add_erasures(struct mcds__map_scan *scan, uint32_t depth)
{
    assert(mcds__map_scan_has_room_for_erasures(scan));
    struct mcds__key key;
    uint64_t hash = scan->position;
    uint64_t end = mcds__map_scan_end(hash, depth);
    mcds__map_key(scan->map, scan->life.number, hash, depth, &key);
    map_scan_keys_add_erasure(scan, &key, depth);
    while (depth > 0 && scan->map->flat == 0 && mcds__map_scan_end(hash, depth - 1) == end) {
        assert(scan->marks < MCDS__MAP_SCAN_KEYS_MAX);
        mcds__map_key(scan->map, scan->life.number, hash, --depth,
                      &scan->scratch->marks[scan->marks]);
        scan->scratch->depths[scan->marks++] = (uint8_t)depth;
    }
}
