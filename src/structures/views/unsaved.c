/* Views: the pages that a flush could not save. */
#include "structures/views/unsaved.h"

#include <assert.h>

#include "base/environment.h"
#include "base/hash/siphash.h"

#define CAPACITY_MIN 16

void mcds__views_unsaved_init(struct mcds__views_unsaved *unsaved, const mcds_env *env)
{
    *unsaved = (struct mcds__views_unsaved){.env = env};
}

void mcds__views_unsaved_free(struct mcds__views_unsaved *unsaved)
{
    mcds__free(unsaved->env, unsaved->hashes);
    mcds__free(unsaved->env, unsaved->first);
}

/* The place of the hash, or the free place for it. */
static uint64_t *unsaved_find(const struct mcds__views_unsaved *unsaved, uint64_t hash)
{
    assert(hash != 0 && unsaved->used < unsaved->capacity);
    size_t at = (size_t)hash & (unsaved->capacity - 1);
    while (unsaved->hashes[at] != 0 && unsaved->hashes[at] != hash)
        at = (at + 1) & (unsaved->capacity - 1);
    return &unsaved->hashes[at];
}

static uint64_t unsaved_hash(const struct mcds__views_unsaved *unsaved, const char *page)
{
    uint64_t hash = mcds__siphash(unsaved->hash_key, mcds_text(page));
    return hash != 0 ? hash : 1;
}

static bool unsaved_grow(struct mcds__views_unsaved *unsaved)
{
    struct mcds__views_unsaved larger = *unsaved;
    if (unsaved->used == MCDS__VIEWS_UNSAVED_MAX)
        return false;
    larger.capacity = unsaved->capacity > 0 ? 2 * unsaved->capacity : CAPACITY_MIN;
    larger.hashes = mcds__allocate_zero(unsaved->env, larger.capacity * sizeof *larger.hashes);
    if (larger.hashes == NULL)
        return false;
    for (size_t i = 0; i < unsaved->capacity; i++)
        if (unsaved->hashes[i] != 0)
            *unsaved_find(&larger, unsaved->hashes[i]) = unsaved->hashes[i];
    mcds__free(unsaved->env, unsaved->hashes);
    *unsaved = larger;
    return true;
}

bool mcds__views_unsaved_has(const struct mcds__views_unsaved *unsaved, const char *page)
{
    return unsaved->used > 0 && *unsaved_find(unsaved, unsaved_hash(unsaved, page)) != 0;
}

static void unsaved_begin(struct mcds__views_unsaved *unsaved, const char *page)
{
    unsaved->hash_key[0] = mcds__random_u64(unsaved->env);
    unsaved->hash_key[1] = mcds__random_u64(unsaved->env);
    unsaved->first = mcds__copy_string(unsaved->env, page);
}

bool mcds__views_unsaved_add(struct mcds__views_unsaved *unsaved, const char *page)
{
    assert(!mcds__views_unsaved_has(unsaved, page));
    if (unsaved->pages++ == 0)
        unsaved_begin(unsaved, page);
    if (unsaved->used >= unsaved->capacity / 2 && !unsaved_grow(unsaved))
        return false;
    uint64_t hash = unsaved_hash(unsaved, page);
    *unsaved_find(unsaved, hash) = hash;
    unsaved->used++;
    assert(unsaved->used <= unsaved->capacity / 2);
    return true;
}
