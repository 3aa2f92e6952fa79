/* Map: when a key must be rewritten, and which keys the operations of one handle rewrite. */
#include <assert.h>
#include <stdatomic.h>

#include "core/map/sequence.h"

/* An addition splits no key whose entries weigh at most the soft size divided by this. */
#define SPLIT_WEIGHT_PART 4
/* A key that was compacted this often without a split has entries that come and go. */
#define SETTLED 16
/* Removals do not cause the rewriting of a smaller key. */
#define LARGE 8192
#define REMOVED_PART 4
/* The length of a mark from which it is replaced by an empty one. */
#define MARK_MAX 2048

/* The value for a key in `growing`, never 0. */
static uint64_t mark_of(uint64_t hash, uint32_t depth)
{
    assert(depth <= MCDS__MAP_DEPTH_MAX);
    unsigned shift = 64 - MCDS__MAP_LEVEL_BITS * depth;
    uint64_t prefix = depth == 0 ? 0 : hash >> shift;
    return prefix << 5 | (depth + 1);
}

/* Evenly spread bits for a key, the same in all clients. */
static uint64_t spread_bits(uint64_t hash, uint32_t depth)
{
    return mark_of(hash, depth) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static size_t soft_size(uint64_t hash, uint32_t depth)
{
    if (depth == 0)
        return MCDS__MAP_SOFT;
    uint64_t mixed = spread_bits(hash, depth);
    return MCDS__MAP_SOFT_MIN + mixed % (MCDS__MAP_SOFT_MAX - MCDS__MAP_SOFT_MIN);
}

bool mcds__map_must_rewrite(const struct mcds__map *map, uint64_t hash, uint32_t depth,
                            uint32_t flags, size_t size, size_t needs)
{
    /* The flags contain the end rounded up. */
    bool has_doubled = size + MCDS__MAP_END_UNIT > 2 * mcds__map_snapshot_end(flags);
    return (size > soft_size(hash, depth) &&
            (has_doubled || !mcds__map_has_room_at(flags, size))) ||
           size + needs > mcds__store_can(map->store).value_max;
}

bool mcds__map_passes_soft_size(uint64_t hash, uint32_t depth, size_t size, size_t length)
{
    size_t soft = soft_size(hash, depth);
    assert(soft >= MCDS__MAP_SOFT_MIN && soft < MCDS__MAP_SOFT_MAX);
    return length > size || size / soft != (size - length) / soft;
}

bool mcds__map_is_worth_a_split(uint64_t hash, uint32_t depth, size_t weight, bool removes)
{
    return weight > soft_size(hash, depth) / (removes ? 1 : SPLIT_WEIGHT_PART);
}

size_t mcds__map_writers_room(const struct mcds__map *map, size_t weight)
{
    uint64_t value_max = mcds__store_can(map->store).value_max;
    uint64_t left = weight < value_max ? value_max - weight : 0;
    return left < map->writers_room ? (size_t)left : map->writers_room;
}

bool mcds__map_has_removed_much(size_t size, size_t removed)
{
    static_assert(LARGE > MCDS__MAP_SOFT_MAX, "smaller keys are rewritten anyway");
    return size > LARGE && removed > size / REMOVED_PART;
}

bool mcds__map_has_churn(const struct mcds__bucket *bucket, uint32_t count)
{
    assert(count <= bucket->entry_count);
    return bucket->entry_count > count || bucket->rewrites >= SETTLED;
}

bool mcds__map_is_mark_full(const struct mcds__map *map, size_t size)
{
    assert(map->flat == 0 && MARK_MAX > MCDS__MAP_HEAD);
    return size > MARK_MAX && map->ttl_ms == 0;
}

static uint32_t rewrite_number_of(uint64_t hash, uint32_t depth)
{
    uint64_t mark = mark_of(hash, depth);
    return (uint32_t)((mark >> 5 ^ mark) % MCDS__MAP_REWRITES_MAX);
}

_Atomic uint32_t *mcds__map_bytes_under_way(struct mcds__map *map, uint64_t hash,
                                            uint32_t depth)
{
    return &map->under_way[rewrite_number_of(hash, depth)];
}

bool mcds__map_is_growing(struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    const _Atomic uint64_t *place = &map->growing[rewrite_number_of(hash, depth)];
    return atomic_load_explicit(place, memory_order_relaxed) == mark_of(hash, depth);
}

bool mcds__map_must_help(const struct mcds__map_update *update, enum mcds__map_state state,
                         size_t size)
{
    if (state != MCDS__MAP_MOVED || update->depth == MCDS__MAP_DEPTH_MAX)
        return state == MCDS__MAP_SEALED;
    return mcds__map_is_mark_full(update->map, size) &&
           !mcds__map_is_growing(update->map, update->hash, update->depth);
}

static void forget_mark(_Atomic uint64_t *place, uint64_t hash, uint32_t depth)
{
    uint64_t mark = mark_of(hash, depth);
    (void)atomic_compare_exchange_strong(place, &mark, 0);
}

void mcds__map_leave_alone(struct mcds__map *map, uint64_t hash, uint32_t depth, uint32_t bytes)
{
    const uint32_t number = rewrite_number_of(hash, depth);
    atomic_store(&map->left_alone[number], bytes);
    forget_mark(&map->growing[number], hash, depth);
}

uint32_t mcds__map_bytes_left_alone(struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    return atomic_load_explicit(&map->left_alone[rewrite_number_of(hash, depth)],
                                memory_order_relaxed);
}

/* The word in which a key has its bit, and the bit. */
static _Atomic uint64_t *word_of(struct mcds__map *map, uint64_t hash, uint32_t depth,
                                 uint64_t *bit_out)
{
    uint64_t number = spread_bits(hash, depth) % (64 * MCDS__MAP_LOOK_WORDS);
    *bit_out = UINT64_C(1) << number % 64;
    return &map->looks_wanted[number / 64];
}

bool mcds__map_wants_look(struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    uint64_t bit;
    const _Atomic uint64_t *word = word_of(map, hash, depth, &bit);
    return (atomic_load_explicit(word, memory_order_relaxed) & bit) != 0;
}

void mcds__map_want_look(struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    uint64_t bit;
    _Atomic uint64_t *word = word_of(map, hash, depth, &bit);
    atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

void mcds__map_want_no_look(struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    uint64_t bit;
    _Atomic uint64_t *word = word_of(map, hash, depth, &bit);
    if ((atomic_load_explicit(word, memory_order_relaxed) & bit) != 0)
        atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
}

bool mcds__map_claim(struct mcds__map_rewrite *rewrite, struct mcds__map *map)
{
    assert(rewrite->claimed == NULL);
    _Atomic uint64_t *place = &map->growing[rewrite_number_of(rewrite->hash, rewrite->depth)];
    uint64_t expected = 0;
    if (!atomic_compare_exchange_strong(place, &expected,
                                        mark_of(rewrite->hash, rewrite->depth)))
        return false;
    rewrite->claimed = place;
    return true;
}

/* An operation that was held up may have erased the mark, and another may have set it again. */
void mcds__map_unclaim(struct mcds__map_rewrite *rewrite)
{
    if (rewrite->claimed != NULL)
        forget_mark(rewrite->claimed, rewrite->hash, rewrite->depth);
    rewrite->claimed = NULL;
}

void mcds__map_note_obstacle(struct mcds__map *map, const struct mcds__operation *operation)
{
    if (operation->obstacle.reason == NULL &&
        atomic_load_explicit(&map->obstacle, memory_order_relaxed) == NULL)
        return;
    (void)pthread_mutex_lock(&map->mutex);
    atomic_store_explicit(&map->obstacle, operation->obstacle.reason, memory_order_relaxed);
    map->obstacle_peer = operation->obstacle.peer;
    (void)pthread_mutex_unlock(&map->mutex);
}

void mcds__map_forget_old_obstacle(struct mcds__map *map, const mcds_batch *answered)
{
    struct mcds__obstacle obstacle;
    (void)pthread_mutex_lock(&map->mutex);
    obstacle.reason = atomic_load_explicit(&map->obstacle, memory_order_relaxed);
    obstacle.peer = map->obstacle_peer;
    mcds__obstacle_forget(&obstacle, answered);
    atomic_store_explicit(&map->obstacle, obstacle.reason, memory_order_relaxed);
    (void)pthread_mutex_unlock(&map->mutex);
}

void mcds__map_learn_obstacle(struct mcds__map *map, struct mcds__operation *operation)
{
    if (operation->obstacle.reason != NULL ||
        atomic_load_explicit(&map->obstacle, memory_order_relaxed) == NULL)
        return;
    (void)pthread_mutex_lock(&map->mutex);
    operation->obstacle.reason = atomic_load_explicit(&map->obstacle, memory_order_relaxed);
    operation->obstacle.peer = map->obstacle_peer;
    (void)pthread_mutex_unlock(&map->mutex);
}
