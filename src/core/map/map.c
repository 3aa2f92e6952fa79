/* Map: the state of a handle, and the names of the keys. */
#include "core/map/map.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"

/* An entry of the tables of depths: the depth; whether a key was seen there, else it is assumed;
 * and whether the split above it has ended, which implies that. */
#define DEPTH_BITS 31
#define IS_SEEN 64
#define HAS_SPLIT_ABOVE 128
static_assert(MCDS__MAP_DEPTH_MAX <= DEPTH_BITS, "an entry can contain each depth");
static_assert(MCDS__MAP_DEPTHS == 1 << 8, "the first table has an entry for each first byte");

/* How many bits of the hash choose the entry, in the first table and in the wide ones. */
static const uint8_t table_bits[1 + MCDS__MAP_WIDE_TABLES] = {8, 16, 20};

/* Nothing is known of any key. */
static void init_keys(struct mcds__map *map)
{
    for (int i = 0; i < MCDS__MAP_REWRITES_MAX; i++) {
        atomic_init(&map->growing[i], 0);
        atomic_init(&map->under_way[i], 0);
        atomic_init(&map->left_alone[i], 0);
    }
    for (int i = 0; i < MCDS__MAP_LOOK_WORDS; i++)
        atomic_init(&map->looks_wanted[i], 0);
    for (int i = 0; i < MCDS__MAP_DEPTHS; i++) {
        atomic_init(&map->depths[i], 0);
        atomic_init(&map->floors[i], 0);
    }
    for (int i = 0; i < MCDS__MAP_WIDE_TABLES; i++)
        atomic_init(&map->wide_depths[i], NULL);
    atomic_init(&map->width, 0);
    atomic_init(&map->newest_floor_s, 0);
}

void mcds__map_init(struct mcds__map *map, mcds_store *store, const struct mcds__key *root,
                    uint8_t kind, uint8_t form, const mcds_reason *const *forms,
                    uint64_t ttl_ms)
{
    assert(form < MCDS__MAP_FORM_MAX);
    map->store = store;
    map->env = mcds__store_env(store);
    map->kind = kind;
    map->form = form;
    map->forms = forms;
    map->ttl_ms = ttl_ms;
    map->flat = 0;
    map->hash_key = NULL;
    map->root = *root;
    map->writer = mcds__random_u64(map->env);
    (void)pthread_mutex_init(&map->mutex, NULL);
    map->next_ticket = 1;
    map->last_place = 0;
    map->writers_room = MCDS__MAP_WRITERS_ROOM;
    map->earlier = map->current = (struct mcds__map_span){1, 0};
    atomic_init(&map->life_version, 0);
    for (int i = 0; i < 3; i++)
        atomic_init(&map->life[i], 0);
    atomic_init(&map->mark, 0);
    atomic_init(&map->has_numbers, false);
    atomic_init(&map->seen_ns, INT64_MIN / 2);
    atomic_init(&map->rest, 0);
    atomic_init(&map->over, 0);
    atomic_init(&map->maker, 0);
    map->has_guess = false;
    atomic_init(&map->obstacle, NULL);
    atomic_init(&map->founder, 0);
    init_keys(map);
}

void mcds__map_destroy(struct mcds__map *map)
{
    (void)pthread_mutex_destroy(&map->mutex);
    for (int i = 0; i < MCDS__MAP_WIDE_TABLES; i++)
        mcds__free(map->env, (void *)atomic_load(&map->wide_depths[i]));
}

void mcds__map_key(const struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth,
                   struct mcds__key *key_out)
{
    memcpy(key_out, &map->root, offsetof(struct mcds__key, bytes) + map->root.length);
    mcds__key_add_hex(key_out, life, 16);
    if (depth > 0)
        mcds__key_add_bits(key_out, hash, MCDS__MAP_LEVEL_BITS * depth);
}

mcds_bytes mcds__map_route(const struct mcds__map *map, uint32_t depth)
{
    return depth == 0 ? mcds__key_bytes(&map->root) : (mcds_bytes){NULL, 0};
}

mcds_request mcds__map_get_at(const struct mcds__map *map, mcds_bytes key, uint32_t depth)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = key,
        .route = mcds__map_route(map, depth),
    };
}

/* The table of this width; the first is 0. */
static const _Atomic uint8_t *table_at(const struct mcds__map *map, unsigned width)
{
    assert(width <= MCDS__MAP_WIDE_TABLES);
    if (width == 0)
        return map->depths;
    return atomic_load_explicit(&map->wide_depths[width - 1], memory_order_acquire);
}

/* The entry of this hash, and how many of its bits choose the entry. */
static uint8_t entry_of(const struct mcds__map *map, uint64_t hash, unsigned *bits_out)
{
    unsigned width = atomic_load_explicit(&map->width, memory_order_acquire);
    *bits_out = table_bits[width];
    return atomic_load_explicit(&table_at(map, width)[hash >> (64 - *bits_out)],
                                memory_order_relaxed);
}

uint32_t mcds__map_depth(const struct mcds__map *map, uint64_t hash)
{
    unsigned bits;
    return map->flat != 0 ? map->flat : entry_of(map, hash, &bits) & DEPTH_BITS;
}

/* Whether all hashes of an entry are in one key of this depth. */
static bool has_bits(unsigned bits, uint32_t depth)
{
    return MCDS__MAP_LEVEL_BITS * depth <= bits;
}

bool mcds__map_has_split_above(const struct mcds__map *map, uint64_t hash, uint32_t depth)
{
    unsigned bits;
    uint8_t entry = entry_of(map, hash, &bits);
    return depth == 0 || map->flat != 0 ||
           (entry == (depth | HAS_SPLIT_ABOVE) && has_bits(bits, depth - 1));
}

/* Add the table of the next width, filled from that of this width. Without memory the current one
 * stays. Called with the mutex held, so that no table is filled while the depths are forgotten. */
static void widen(struct mcds__map *map, unsigned width)
{
    unsigned bits = table_bits[width + 1];
    const _Atomic uint8_t *narrow = table_at(map, width);
    assert(atomic_load_explicit(&map->wide_depths[width], memory_order_relaxed) == NULL);
    _Atomic uint8_t *wide = mcds__allocate_zero(map->env, (size_t)1 << bits);
    if (wide == NULL)
        return;
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        atomic_init(&wide[i], atomic_load_explicit(&narrow[i >> (bits - table_bits[width])],
                                                   memory_order_relaxed));
    atomic_store_explicit(&map->wide_depths[width], wide, memory_order_release);
    atomic_store_explicit(&map->width, (uint8_t)(width + 1), memory_order_release);
}

/* The table that serves this depth, and how many bits of the hash choose the entry. The children of
 * one key may share an entry until one of them is split. Called with the mutex held. */
static _Atomic uint8_t *table_for(struct mcds__map *map, uint32_t depth, unsigned *bits_out)
{
    unsigned width = atomic_load_explicit(&map->width, memory_order_relaxed);
    while (depth > 0 && !has_bits(table_bits[width], depth - 1) &&
           width < MCDS__MAP_WIDE_TABLES) {
        widen(map, width);
        if (atomic_load_explicit(&map->width, memory_order_relaxed) == width)
            break;
        width++;
    }
    *bits_out = table_bits[width];
    return (_Atomic uint8_t *)table_at(map, width);
}

/* Set the entries of all hashes of the key of depth `of`: those deeper than `keep` stay. Called with
 * the mutex held. */
static void set_entries(struct mcds__map *map, uint64_t hash, uint32_t of, uint8_t entry,
                        uint32_t keep)
{
    assert(of <= MCDS__MAP_DEPTH_MAX && (entry & DEPTH_BITS) <= MCDS__MAP_DEPTH_MAX);
    unsigned bits;
    _Atomic uint8_t *table = table_for(map, entry & DEPTH_BITS, &bits);
    /* Without memory for a wider table, or beyond the widest: not true of all hashes of the entry. */
    if ((entry & HAS_SPLIT_ABOVE) != 0 && !has_bits(bits, (entry & DEPTH_BITS) - 1u))
        entry = (uint8_t)((entry & DEPTH_BITS) | IS_SEEN);
    unsigned known = MCDS__MAP_LEVEL_BITS * of < bits ? MCDS__MAP_LEVEL_BITS * of : bits;
    size_t count = (size_t)1 << (bits - known);
    size_t first = (size_t)(hash >> (64 - bits)) & ~(count - 1);
    assert(first + count <= (size_t)1 << bits);
    for (size_t i = first; i < first + count; i++)
        if ((atomic_load_explicit(&table[i], memory_order_relaxed) & DEPTH_BITS) <= keep)
            atomic_store_explicit(&table[i], entry, memory_order_relaxed);
}

static bool is_seen(uint8_t entry)
{
    return (entry & (IS_SEEN | HAS_SPLIT_ABOVE)) != 0;
}

bool mcds__map_is_depth_assumed(const struct mcds__map *map, uint64_t hash)
{
    unsigned bits;
    return map->flat == 0 && !is_seen(entry_of(map, hash, &bits));
}

/* set_entries, if the tables are those of this life: a reply of another life may come late. */
static void set_entries_of(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t of,
                           uint8_t entry, uint32_t keep)
{
    assert(life != 0);
    (void)pthread_mutex_lock(&map->mutex);
    if (atomic_load_explicit(&map->life[0], memory_order_relaxed) == life)
        set_entries(map, hash, of, entry, keep);
    (void)pthread_mutex_unlock(&map->mutex);
}

void mcds__map_note_depth(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth)
{
    unsigned bits;
    uint8_t entry = map->flat != 0 ? map->flat | IS_SEEN : entry_of(map, hash, &bits);
    if ((entry & DEPTH_BITS) != depth || !is_seen(entry))
        set_entries_of(map, life, hash, depth, (uint8_t)(depth | IS_SEEN), MCDS__MAP_DEPTH_MAX);
}

void mcds__map_note_found(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth)
{
    assert(map->flat == 0 && life != 0);
    (void)pthread_mutex_lock(&map->mutex);
    if (!map->has_guess && atomic_load_explicit(&map->life[0], memory_order_relaxed) == life) {
        map->has_guess = true;
        set_entries(map, hash, 0, (uint8_t)depth, 0);
    }
    (void)pthread_mutex_unlock(&map->mutex);
    mcds__map_note_depth(map, life, hash, depth);
}

void mcds__map_note_moved(struct mcds__map *map, uint64_t life, uint64_t hash, uint32_t depth)
{
    unsigned bits;
    uint8_t entry = (uint8_t)(depth + 1) | HAS_SPLIT_ABOVE;
    if (depth >= MCDS__MAP_DEPTH_MAX) /* no key is deeper, whatever a store replies */
        return;
    /* All operations that were in flight to the key note it. The first has set the entries: only
     * this function sets such an entry, and one of a key above replaces it. */
    if (entry_of(map, hash, &bits) != entry)
        set_entries_of(map, life, hash, depth, entry, depth + 1);
}

void mcds__map_forget_depths(struct mcds__map *map)
{
    map->has_guess = false;
    for (unsigned width = 0; width <= atomic_load(&map->width); width++) {
        unsigned bits = table_bits[width];
        for (size_t i = 0; i < (size_t)1 << bits; i++)
            atomic_store_explicit((_Atomic uint8_t *)&table_at(map, width)[i], 0,
                                  memory_order_relaxed);
    }
}

struct mcds__map_scratch *mcds__map_get_scratch(struct mcds__map_scratch **scratch,
                                                const mcds_env *env)
{
    if (*scratch != NULL)
        return *scratch;
    *scratch = mcds__allocate(env, sizeof **scratch);
    for (uint32_t i = 0; *scratch != NULL && i < MCDS__MAP_CAPACITY; i++)
        mcds__buffer_init(&(*scratch)->values[i], env, MCDS__VALUES_MAX);
    return *scratch;
}

void mcds__map_free_taken_scratch(struct mcds__map_scratch **scratch, const mcds_env *env)
{
    for (uint32_t i = 0; i < MCDS__MAP_CAPACITY; i++)
        mcds__buffer_free(&(*scratch)->values[i]);
    mcds__free(env, *scratch);
    *scratch = NULL;
}
