/* Core fold, a sweep: which keys it asks for and erases, and what it knows of those above them. */
#include "core/fold_sweep.h"

uint64_t mcds__sweep_end(uint64_t hash, uint32_t depth)
{
    unsigned bits = MCDS__FOLD_LEVEL_BITS * depth;
    return bits == 0 ? UINT64_MAX : hash | UINT64_MAX >> bits;
}

static bool looks_at_root(const struct mcds__fold_sweep *sweep, uint8_t stage)
{
    return !sweep->is_proved && !sweep->erases && stage == MCDS__SWEEP_READING;
}

/* Behind `count` requests. */
static enum mcds__step ask_all(struct mcds__fold_sweep *sweep,
                               struct mcds__operation *operation, uint32_t count)
{
    if (looks_at_root(sweep, sweep->stage))
        sweep->room->requests[count++] = mcds__fold_look_at_root(sweep->fold);
    return mcds__operation_ask_any_order(operation, sweep->room->requests, count);
}

/* Prepare requests for the keys of this depth from the position on. */
static void prepare(struct mcds__fold_sweep *sweep, uint32_t depth, uint64_t last,
                    bool has_values, uint8_t stage)
{
    struct mcds__fold_sweep_room *room = sweep->room;
    uint64_t hash = sweep->position;
    uint32_t most = MCDS__SWEEP_KEYS_MAX - looks_at_root(sweep, stage);
    sweep->count = 0;
    do {
        uint32_t i = sweep->count++;
        mcds__fold_key(sweep->fold, sweep->life.number, hash, depth, &room->keys[i]);
        room->requests[i] = (mcds_request){
            .command = MCDS_GET,
            .options = has_values ? 0 : MCDS_NO_VALUE,
            .key = mcds__key_bytes(&room->keys[i]),
            .route = mcds__fold_route(sweep->fold, depth),
        };
        hash = mcds__sweep_end(hash, depth) + 1;
    } while (hash != 0 && hash <= last && sweep->count < most);
    sweep->stage = stage;
}

enum mcds__step mcds__sweep_ask(struct mcds__fold_sweep *sweep,
                                struct mcds__operation *operation)
{
    sweep->is_below = false;
    prepare(sweep, sweep->depth, UINT64_MAX, !sweep->erases, MCDS__SWEEP_READING);
    return ask_all(sweep, operation, sweep->count);
}

enum mcds__step mcds__sweep_ask_below(struct mcds__fold_sweep *sweep,
                                      struct mcds__operation *operation, uint32_t depth)
{
    struct mcds__fold_sweep_room *room = sweep->room;
    if (depth > MCDS__FOLD_DEPTH_MAX)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    sweep->depth = depth;
    sweep->is_below = true;
    sweep->missed = 0;
    prepare(sweep, depth, mcds__sweep_end(sweep->position, depth - 1), true,
            MCDS__SWEEP_READING);
    struct mcds__key *key = &room->keys[sweep->count];
    mcds__fold_key(sweep->fold, sweep->life.number, sweep->position, depth - 1, key);
    room->requests[sweep->count] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(key),
        .route = mcds__fold_route(sweep->fold, depth - 1),
    };
    return ask_all(sweep, operation, sweep->count + 1);
}

static uint32_t digit_at_position(const struct mcds__fold_sweep *sweep)
{
    return sweep->position >> (64 - MCDS__FOLD_LEVEL_BITS * sweep->depth) &
           (MCDS__FOLD_CHILDREN - 1);
}

enum mcds__step mcds__sweep_ask_below_again(struct mcds__fold_sweep *sweep,
                                            struct mcds__operation *operation, uint32_t number)
{
    uint32_t missed = 0;
    uint32_t digit = digit_at_position(sweep);
    for (uint32_t i = number; i < sweep->count; i++)
        if (sweep->room->requests[i].reply.outcome == MCDS_OUT_MISS)
            missed |= UINT32_C(1) << (digit + i - number);
    enum mcds__step step = mcds__sweep_ask_below(sweep, operation, sweep->depth);
    sweep->missed = missed;
    return step;
}

bool mcds__sweep_has_missed(const struct mcds__fold_sweep *sweep)
{
    return (sweep->missed >> digit_at_position(sweep) & 1) != 0;
}

/* How many keys of this depth lie before that of the hash. */
static uint64_t number_of(uint64_t hash, uint32_t depth)
{
    return depth == 0 ? 0 : hash >> (64 - MCDS__FOLD_LEVEL_BITS * depth);
}

void mcds__sweep_note_parents(struct mcds__fold_sweep *sweep, uint32_t parents)
{
    sweep->parents = parents;
    sweep->parents_depth = (uint8_t)(sweep->depth - 1);
    sweep->parents_first = number_of(sweep->position, sweep->depth - 1);
}

bool mcds__sweep_has_split_parent(const struct mcds__fold_sweep *sweep)
{
    if (sweep->parents == 0 || sweep->depth != sweep->parents_depth + 1u)
        return false;
    uint64_t at = number_of(sweep->position, sweep->parents_depth) - sweep->parents_first;
    return at < 32 && (sweep->parents >> at & 1) != 0;
}

enum mcds__step mcds__sweep_ask_parents(struct mcds__fold_sweep *sweep,
                                        struct mcds__operation *operation)
{
    uint64_t last = sweep->position;
    for (uint32_t i = 1;
         i < MCDS__SWEEP_KEYS_MAX && mcds__sweep_end(last, sweep->depth) != UINT64_MAX; i++)
        last = mcds__sweep_end(last, sweep->depth) + 1;
    prepare(sweep, sweep->depth - 1, last, false, MCDS__SWEEP_PARENTS);
    return ask_all(sweep, operation, sweep->count);
}

enum mcds__step mcds__sweep_ask_orphans(struct mcds__fold_sweep *sweep,
                                        struct mcds__operation *operation)
{
    prepare(sweep, sweep->depth + 1, mcds__sweep_end(sweep->position, sweep->depth), false,
            MCDS__SWEEP_ORPHANS);
    return ask_all(sweep, operation, sweep->count);
}

bool mcds__sweep_has_orphans(const struct mcds__fold_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->count; i++)
        if (sweep->room->requests[i].reply.outcome == MCDS_OUT_OK)
            return true;
    return false;
}

static void add_erasure(struct mcds__fold_sweep *sweep, const struct mcds__key *key,
                        uint32_t depth)
{
    struct mcds__fold_sweep_room *room = sweep->room;
    uint32_t i = sweep->erasures++;
    room->erased_keys[i] = *key;
    room->erased[i] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&room->erased_keys[i]),
        .route = mcds__fold_route(sweep->fold, depth),
    };
}

/* All that has been asked for is gone, so the marks above it may go. */
void mcds__sweep_begin_erasures(struct mcds__fold_sweep *sweep)
{
    sweep->erasures = 0;
    for (uint32_t i = 0; i < sweep->marks; i++)
        add_erasure(sweep, &sweep->room->marks[i], sweep->room->depths[i]);
    sweep->marks = 0;
}

bool mcds__sweep_has_room_for_erasures(const struct mcds__fold_sweep *sweep)
{
    return sweep->erasures < MCDS__SWEEP_KEYS_MAX &&
           sweep->marks + MCDS__FOLD_DEPTH_MAX <= MCDS__SWEEP_KEYS_MAX;
}

/* The key itself, and later the marks above it whose last child it is. */
void mcds__sweep_add_erasures(struct mcds__fold_sweep *sweep, uint32_t depth)
{
    struct mcds__key key;
    uint64_t hash = sweep->position;
    uint64_t end = mcds__sweep_end(hash, depth);
    mcds__fold_key(sweep->fold, sweep->life.number, hash, depth, &key);
    add_erasure(sweep, &key, depth);
    while (depth > 0 && mcds__sweep_end(hash, depth - 1) == end) {
        mcds__fold_key(sweep->fold, sweep->life.number, hash, --depth,
                       &sweep->room->marks[sweep->marks]);
        sweep->room->depths[sweep->marks++] = (uint8_t)depth;
    }
}
