/* Map: the keys that a scan reads and erases, and the state of the keys above them. */
#include <assert.h>
#include <string.h>

#include "core/map/scan/parts.h"

/* Levels below a lost key of which all keys are asked for; of those below them only a few. */
#define ORPHAN_LEVELS 2
_Static_assert(MCDS__MAP_CHILDREN *(1 + MCDS__MAP_CHILDREN) + MCDS__MAP_DEPTH_MAX <=
                   MCDS__MAP_SCAN_KEYS_MAX,
               "a batch has room for these levels and a path below them");

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

/* The least depth at which a key begins with this hash. */
static uint32_t least_depth(uint64_t hash)
{
    uint32_t depth = MCDS__MAP_DEPTH_MAX;
    while (depth > 0 && hash << (MCDS__MAP_LEVEL_BITS * (depth - 1)) == 0)
        depth--;
    return depth;
}

/* The depth of the next key, which begins with this hash, by the plan or like that before. */
static uint32_t next_depth(const struct mcds__map_scan *scan, uint32_t at, uint64_t hash,
                           uint32_t before)
{
    const struct mcds__map_scan_scratch *scratch = scan->scratch;
    if (at < scratch->plan_end)
        return scratch->plan[at];
    uint32_t least = least_depth(hash);
    return before > least ? before : least;
}

/* Prepare requests for the keys from the position on: the first of this depth; the others too, or,
 * if they are leaves, as planned. */
static void map_scan_keys_prepare(struct mcds__map_scan *scan, uint32_t depth, uint64_t last,
                                  bool has_values, uint8_t stage)
{
    assert(last >= scan->position && scan->life.number != 0);
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    uint64_t hash = scan->position;
    uint32_t most = MCDS__MAP_SCAN_KEYS_MAX - looks_at_root(scan, stage);
    bool is_planned = stage == MCDS__MAP_SCAN_READING && !scan->is_below &&
                      scan->map->flat == 0;
    if (is_planned && next_depth(scan, scratch->planned, hash, depth) != depth)
        scratch->planned = scratch->plan_end = 0;
    scan->count = 0;
    do {
        uint32_t i = scan->count++;
        if (is_planned && i > 0)
            depth = next_depth(scan, scratch->planned + i, hash, depth);
        scratch->key_depths[i] = (uint8_t)depth;
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

/* Add `count` keys of this depth to a plan. */
static void plan_keys(struct mcds__map_scan_scratch *scratch, uint32_t depth, uint32_t count)
{
    assert(depth <= MCDS__MAP_DEPTH_MAX);
    while (count-- > 0 && scratch->plan_end < MCDS__MAP_SCAN_PLAN_MAX)
        scratch->plan[scratch->plan_end++] = (uint8_t)depth;
}

/* How many keys of this depth are from the hash on to the end of the key above. */
static uint32_t siblings_from(uint64_t hash, uint32_t depth)
{
    assert(depth > 0);
    uint64_t number = hash >> (64 - MCDS__MAP_LEVEL_BITS * depth);
    return MCDS__MAP_CHILDREN - (uint32_t)(number & (MCDS__MAP_CHILDREN - 1));
}

void mcds__map_scan_plan(struct mcds__map_scan *scan, uint32_t number)
{
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    uint8_t rest[MCDS__MAP_SCAN_PLAN_MAX];
    uint32_t first = scratch->planned + scan->count - number;
    uint32_t rest_count = scratch->plan_end > first ? scratch->plan_end - first : 0;
    uint64_t hash = scan->position;
    assert(number < scan->count && !scan->is_below);
    if (rest_count > 0)
        memcpy(rest, scratch->plan + first, rest_count);
    scratch->planned = scratch->plan_end = 0;
    for (uint32_t i = number; i < scan->count; i++) {
        const mcds_reply *reply = &scratch->requests[i].reply;
        uint32_t depth = scratch->key_depths[i];
        bool is_moved = reply->outcome == MCDS_OUT_OK && depth < MCDS__MAP_DEPTH_MAX &&
                        mcds__map_state_of(reply->flags) == MCDS__MAP_MOVED;
        plan_keys(scratch, depth + is_moved, is_moved ? siblings_from(hash, depth + 1) : 1);
        hash = mcds__map_scan_end(hash, depth) + 1;
    }
    for (uint32_t i = 0; i < rest_count; i++)
        plan_keys(scratch, rest[i], 1);
}

void mcds__map_scan_plan_below(struct mcds__map_scan *scan)
{
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    uint64_t hash = scan->position;
    scratch->planned = scratch->plan_end = 0;
    for (uint32_t i = 0; i < scan->count; i++) {
        const mcds_reply *reply = &scratch->requests[i].reply;
        bool is_leaf = reply->outcome == MCDS_OUT_OK &&
                       mcds__map_state_of(reply->flags) == MCDS__MAP_OPEN;
        plan_keys(scratch, scan->depth - is_leaf,
                  is_leaf ? 1 : siblings_from(hash, scan->depth));
        hash = mcds__map_scan_end(hash, scan->depth - 1) + 1;
    }
}

void mcds__map_scan_follow_plan(struct mcds__map_scan *scan, uint32_t depth)
{
    struct mcds__map_scan_scratch *scratch = scan->scratch;
    assert(scratch->planned <= scratch->plan_end);
    if (scratch->planned < scratch->plan_end && scratch->plan[scratch->planned] == depth)
        scratch->planned++;
    else
        scratch->planned = scratch->plan_end = 0;
}

void mcds__map_scan_take_depth(struct mcds__map_scan *scan)
{
    if (scan->map->flat == 0)
        scan->depth = next_depth(scan, scan->scratch->planned, scan->position, scan->depth);
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
    map_scan_keys_prepare(scan, scan->depth - 1, UINT64_MAX, false, MCDS__MAP_SCAN_PARENTS);
    return ask_all(scan, operation, scan->count);
}

static void add_orphan(struct mcds__map_scan *scan, uint64_t hash, uint32_t depth)
{
    uint32_t i = scan->count++;
    assert(i < MCDS__MAP_SCAN_KEYS_MAX && depth <= MCDS__MAP_DEPTH_MAX);
    struct mcds__key *key = &scan->scratch->keys[i];
    mcds__map_key(scan->map, scan->life.number, hash, depth, key);
    scan->scratch->requests[i] = mcds__map_get_at(scan->map, mcds__key_bytes(key), depth);
}

/* Add all keys of this depth from the position to the end of the lost key. */
static void add_orphans(struct mcds__map_scan *scan, uint32_t depth)
{
    uint64_t last = mcds__map_scan_end(scan->position, scan->depth);
    uint64_t hash = scan->position;
    do {
        add_orphan(scan, hash, depth);
        hash = mcds__map_scan_end(hash, depth) + 1;
    } while (hash != 0 && hash <= last);
}

enum mcds__step mcds__map_scan_ask_orphans(struct mcds__map_scan *scan,
                                           struct mcds__operation *operation)
{
    assert(scan->depth < MCDS__MAP_DEPTH_MAX);
    uint32_t first = scan->depth + ORPHAN_LEVELS + 1;
    uint32_t last = MCDS__MAP_DEPTH_MAX;
    scan->count = 0;
    scan->stage = MCDS__MAP_SCAN_ORPHANS;
    for (uint32_t depth = scan->depth + 1; depth < first && depth <= last; depth++)
        add_orphans(scan, depth);
    if (first > last)
        return ask_all(scan, operation, scan->count);
    uint32_t paths = (MCDS__MAP_SCAN_KEYS_MAX - scan->count) / (last - first + 1);
    uint64_t step = (mcds__map_scan_end(scan->position, scan->depth) - scan->position) / paths;
    for (uint32_t path = 0; path < paths; path++)
        for (uint32_t depth = first; depth <= last; depth++)
            add_orphan(scan, scan->position + path * step, depth);
    return ask_all(scan, operation, scan->count);
}

bool mcds__map_scan_has_orphans(const struct mcds__map_scan *scan)
{
    for (uint32_t i = 0; i < scan->count; i++)
        if (scan->scratch->requests[i].reply.outcome == MCDS_OUT_OK)
            return true;
    return false;
}

static void add_erasure(struct mcds__map_scan *scan, const struct mcds__key *key,
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
        add_erasure(scan, &scan->scratch->marks[i], scan->scratch->depths[i]);
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
    add_erasure(scan, &key, depth);
    while (depth > 0 && scan->map->flat == 0 && mcds__map_scan_end(hash, depth - 1) == end) {
        assert(scan->marks < MCDS__MAP_SCAN_KEYS_MAX);
        mcds__map_key(scan->map, scan->life.number, hash, --depth,
                      &scan->scratch->marks[scan->marks]);
        scan->scratch->depths[scan->marks++] = (uint8_t)depth;
    }
}
