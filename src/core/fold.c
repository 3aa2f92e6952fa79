/* Core fold: what one handle knows, and the names of the keys. */
#include "core/fold.h"

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"

/* A child's value, or a rewritten one; more would be no value of any store. */
#define VALUE_MAX ((size_t)1 << 27)

/* An entry of the tables of depths: the depth, and whether the split above it has ended. */
#define DEPTH_BITS 15
#define HAS_SPLIT_ABOVE 128

void mcds__fold_init(struct mcds__fold *fold, mcds_store *store, const struct mcds__key *root,
                     uint8_t kind, uint8_t form, const mcds_reason *const *forms,
                     uint64_t ttl_ms)
{
    fold->store = store;
    fold->env = mcds__store_env(store);
    fold->kind = kind;
    fold->form = form;
    fold->forms = forms;
    fold->ttl_ms = ttl_ms;
    fold->root = *root;
    fold->writer = mcds__random_u64(fold->env);
    (void)pthread_mutex_init(&fold->mutex, NULL);
    fold->next_ticket = 1;
    fold->last_place = 0;
    fold->earlier = fold->current = (struct mcds__fold_span){1, 0};
    atomic_init(&fold->life_version, 0);
    for (int i = 0; i < 3; i++)
        atomic_init(&fold->life[i], 0);
    atomic_init(&fold->mark, 0);
    for (int i = 0; i < MCDS__FOLD_PROOFS; i++)
        atomic_init(&fold->proofs[i], 0);
    atomic_init(&fold->rest, 0);
    atomic_init(&fold->is_making, false);
    atomic_init(&fold->has_guess, false);
    for (int i = 0; i < MCDS__FOLD_GROWING_MAX; i++)
        atomic_init(&fold->growing[i], 0);
    for (int i = 0; i < MCDS__FOLD_GROWING_MAX; i++)
        atomic_init(&fold->under_way[i], 0);
    atomic_init(&fold->founder, 0);
    for (int i = 0; i < MCDS__FOLD_DEPTHS; i++)
        atomic_init(&fold->depths[i], 0);
    atomic_init(&fold->depths_wide, NULL);
}

void mcds__fold_destroy(struct mcds__fold *fold)
{
    (void)pthread_mutex_destroy(&fold->mutex);
    mcds__free(fold->env, atomic_load(&fold->depths_wide));
}

void mcds__fold_key(const struct mcds__fold *fold, uint64_t life, uint64_t hash, uint32_t depth,
                    struct mcds__key *key_out)
{
    *key_out = fold->root;
    mcds__key_add_hex(key_out, life, 16);
    if (depth > 0)
        mcds__key_add_hex(key_out, hash, depth);
}

mcds_bytes mcds__fold_route(const struct mcds__fold *fold, uint32_t depth)
{
    return depth == 0 ? mcds__key_bytes(&fold->root) : (mcds_bytes){NULL, 0};
}

mcds_request mcds__fold_look_at(const struct mcds__fold *fold, mcds_bytes key, uint32_t depth)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = key,
        .route = mcds__fold_route(fold, depth),
    };
}

/* The entry of this hash, and how many of its bits choose the entry. */
static uint8_t entry_of(const struct mcds__fold *fold, uint64_t hash, unsigned *bits_out)
{
    _Atomic uint8_t *wide = atomic_load_explicit(&fold->depths_wide, memory_order_acquire);
    *bits_out = wide != NULL ? 16 : 8;
    if (wide != NULL)
        return atomic_load_explicit(&wide[hash >> 48], memory_order_relaxed);
    return atomic_load_explicit(&fold->depths[hash >> 56], memory_order_relaxed);
}

uint32_t mcds__fold_depth(const struct mcds__fold *fold, uint64_t hash)
{
    unsigned bits;
    return entry_of(fold, hash, &bits) & DEPTH_BITS;
}

bool mcds__fold_has_split_above(const struct mcds__fold *fold, uint64_t hash, uint32_t depth)
{
    unsigned bits;
    uint8_t entry = entry_of(fold, hash, &bits);
    return depth == 0 ||
           (entry == (depth | HAS_SPLIT_ABOVE) && MCDS__FOLD_LEVEL_BITS * (depth - 1) <= bits);
}

/* The wide table, begun with what the small one knows; NULL: no memory, the small one serves. */
static _Atomic uint8_t *widen(struct mcds__fold *fold)
{
    _Atomic uint8_t *wide = mcds__allocate_zero(fold->env, MCDS__FOLD_DEPTHS_WIDE);
    if (wide == NULL)
        return NULL;
    for (uint32_t i = 0; i < MCDS__FOLD_DEPTHS_WIDE; i++)
        atomic_init(&wide[i],
                    atomic_load_explicit(&fold->depths[i >> 8], memory_order_relaxed));
    _Atomic uint8_t *expected = NULL;
    if (atomic_compare_exchange_strong(&fold->depths_wide, &expected, wide))
        return wide;
    mcds__free(fold->env, (void *)wide);
    return expected;
}

/* The table that serves this depth, and how many bits of the hash choose the entry. */
static _Atomic uint8_t *table_for(struct mcds__fold *fold, uint32_t depth, unsigned *bits_out)
{
    _Atomic uint8_t *wide = atomic_load_explicit(&fold->depths_wide, memory_order_acquire);
    if (wide == NULL && depth > 2)
        wide = widen(fold);
    *bits_out = wide != NULL ? 16 : 8;
    return wide != NULL ? wide : fold->depths;
}

/* Set the entries of all hashes that the key of depth `of` holds: those that are deeper than
 * `keep` stay. */
static void set_entries(struct mcds__fold *fold, uint64_t hash, uint32_t of, uint8_t entry,
                        uint32_t keep)
{
    unsigned bits;
    _Atomic uint8_t *table = table_for(fold, entry & DEPTH_BITS, &bits);
    unsigned known = MCDS__FOLD_LEVEL_BITS * of < bits ? MCDS__FOLD_LEVEL_BITS * of : bits;
    size_t count = (size_t)1 << (bits - known);
    size_t first = (size_t)(hash >> (64 - bits)) & ~(count - 1);
    for (size_t i = first; i < first + count; i++)
        if ((atomic_load_explicit(&table[i], memory_order_relaxed) & DEPTH_BITS) <= keep)
            atomic_store_explicit(&table[i], entry, memory_order_relaxed);
}

void mcds__fold_note_depth(struct mcds__fold *fold, uint64_t hash, uint32_t depth)
{
    if (mcds__fold_depth(fold, hash) != depth)
        set_entries(fold, hash, depth, (uint8_t)depth, MCDS__FOLD_DEPTH_MAX);
}

void mcds__fold_note_found(struct mcds__fold *fold, uint64_t hash, uint32_t depth)
{
    if (!atomic_exchange(&fold->has_guess, true))
        set_entries(fold, hash, 0, (uint8_t)depth, 0);
    mcds__fold_note_depth(fold, hash, depth);
}

void mcds__fold_note_moved(struct mcds__fold *fold, uint64_t hash, uint32_t depth)
{
    if (depth < MCDS__FOLD_DEPTH_MAX) /* deeper there is none, whatever a store may say */
        set_entries(fold, hash, depth, (uint8_t)(depth + 1) | HAS_SPLIT_ABOVE, depth + 1);
}

void mcds__fold_forget_depths(struct mcds__fold *fold)
{
    atomic_store(&fold->has_guess, false);
    _Atomic uint8_t *wide = atomic_load_explicit(&fold->depths_wide, memory_order_acquire);
    for (uint32_t i = 0; wide != NULL && i < MCDS__FOLD_DEPTHS_WIDE; i++)
        atomic_store_explicit(&wide[i], 0, memory_order_relaxed);
    for (uint32_t i = 0; i < MCDS__FOLD_DEPTHS; i++)
        atomic_store_explicit(&fold->depths[i], 0, memory_order_relaxed);
}

struct mcds__fold_room *mcds__fold_get_room(struct mcds__fold_room **room, const mcds_env *env)
{
    if (*room != NULL)
        return *room;
    *room = mcds__allocate(env, sizeof **room);
    for (uint32_t i = 0; *room != NULL && i < MCDS__FOLD_ROOM; i++)
        mcds__buffer_init(&(*room)->values[i], env, VALUE_MAX);
    return *room;
}

void mcds__fold_free_taken_room(struct mcds__fold_room **room, const mcds_env *env)
{
    for (uint32_t i = 0; i < MCDS__FOLD_ROOM; i++)
        mcds__buffer_free(&(*room)->values[i]);
    mcds__free(env, *room);
    *room = NULL;
}
