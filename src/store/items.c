/* Items in memory: a chained hash that grows a little with every write, expiry, and eviction of
 * the least recently used beyond a limit. */
#include "store/items.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"

#define BUCKETS_MIN 16
#define BUCKETS_MAX (UINT32_C(1) << 31)
#define MOVES_PER_WRITE 4  /* two would keep ahead of the next growth */
#define SWEEPS_PER_WRITE 2 /* so the dead are at most about half of the living */
#define ALLOCATION_COST 24 /* of an item beyond its own bytes: the allocator and its bucket */

/* Stands before the item when there is a limit, so that items without one stay small. */
struct links {
    struct mcds__item *newer;
    struct mcds__item *older;
};

static struct links *links_of(struct mcds__item *item)
{
    return (struct links *)(void *)item - 1;
}

static size_t prefix(const struct mcds__items *items)
{
    return items->bytes_max > 0 ? sizeof(struct links) : 0;
}

static size_t size_of(const struct mcds__items *items, size_t key_length, size_t value_length)
{
    return prefix(items) + offsetof(struct mcds__item, bytes) + key_length + value_length;
}

static uint64_t cost_of(const struct mcds__items *items, const struct mcds__item *item)
{
    return size_of(items, item->key_length, item->value_length) + ALLOCATION_COST;
}

static void free_item(const struct mcds__items *items, struct mcds__item *item)
{
    mcds__free(items->env, (uint8_t *)item - prefix(items));
}

/* Order of use. */

static void use_unlink(struct mcds__items *items, struct mcds__item *item)
{
    if (items->bytes_max == 0)
        return;
    struct links *links = links_of(item);
    if (links->newer != NULL)
        links_of(links->newer)->older = links->older;
    else
        items->newest = links->older;
    if (links->older != NULL)
        links_of(links->older)->newer = links->newer;
    else
        items->oldest = links->newer;
}

static void use_link_newest(struct mcds__items *items, struct mcds__item *item)
{
    if (items->bytes_max == 0)
        return;
    *links_of(item) = (struct links){NULL, items->newest};
    if (items->newest != NULL)
        links_of(items->newest)->newer = item;
    else
        items->oldest = item;
    items->newest = item;
}

/* Buckets. While a growth is under way, a bucket of the old array that has not been moved holds
 * what two of the new one will hold. */

static struct mcds__item **bucket_of(const struct mcds__items *items, uint32_t hash)
{
    if (items->old != NULL) {
        uint32_t at = hash & items->mask >> 1;
        if (at >= items->moved)
            return &items->old[at];
    }
    return &items->buckets[hash & items->mask];
}

static struct mcds__item **link_to(const struct mcds__items *items,
                                   const struct mcds__item *item)
{
    struct mcds__item **link = bucket_of(items, item->hash);
    while (*link != item)
        link = &(*link)->next;
    return link;
}

static void move_bucket(struct mcds__items *items)
{
    struct mcds__item *item = items->old[items->moved];
    items->moved++;
    while (item != NULL) {
        struct mcds__item *next = item->next;
        struct mcds__item **bucket = &items->buckets[item->hash & items->mask];
        item->next = *bucket;
        *bucket = item;
        item = next;
    }
    if (items->moved > items->mask >> 1) {
        mcds__free(items->env, items->old);
        items->old = NULL;
    }
}

/* Double the buckets when there are more items than buckets. Without memory for it the chains
 * become longer, nothing else. */
static void grow(struct mcds__items *items)
{
    uint64_t buckets = (uint64_t)items->mask + 1;
    if (items->old != NULL || items->count <= buckets || buckets >= BUCKETS_MAX)
        return;
    struct mcds__item **larger = mcds__allocate_zero(items->env,
                                                     (size_t)buckets * 2 * sizeof larger[0]);
    if (larger == NULL)
        return;
    items->old = items->buckets;
    items->moved = 0;
    items->buckets = larger;
    items->mask = (uint32_t)(buckets * 2 - 1);
}

static bool begin(struct mcds__items *items)
{
    if (items->buckets == NULL) {
        items->buckets = mcds__allocate_zero(items->env,
                                             BUCKETS_MIN * sizeof items->buckets[0]);
        items->mask = BUCKETS_MIN - 1;
    }
    return items->buckets != NULL;
}

/* Evict until `more` bytes fit under the limit, oldest use first, `keep` never. */
static bool make_room(struct mcds__items *items, uint64_t more, const struct mcds__item *keep)
{
    if (items->bytes_max == 0)
        return true;
    while (items->bytes + more > items->bytes_max) {
        struct mcds__item *victim = items->oldest;
        if (victim != NULL && victim == keep)
            victim = links_of(victim)->newer;
        if (victim == NULL || items->no_evict)
            return false;
        mcds__items_remove(items, victim);
    }
    return true;
}

void mcds__items_init(struct mcds__items *items, const mcds_env *env, uint64_t bytes_max,
                      bool no_evict)
{
    memset(items, 0, sizeof *items);
    items->env = env;
    items->bytes_max = bytes_max;
    items->no_evict = no_evict;
    items->due_ms = MCDS__ITEM_NEVER;
}

void mcds__items_clear(struct mcds__items *items)
{
    for (uint64_t i = 0; i < mcds__items_buckets(items); i++)
        for (struct mcds__item *item = mcds__items_at(items, i), *next; item != NULL;
             item = next) {
            next = item->next;
            free_item(items, item);
        }
    mcds__free(items->env, items->old);
    mcds__free(items->env, items->buckets);
    mcds__items_init(items, items->env, items->bytes_max, items->no_evict);
}

struct mcds__item *mcds__items_find(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                    int64_t now_ms)
{
    if (items->buckets == NULL)
        return NULL;
    struct mcds__item *item = *bucket_of(items, (uint32_t)hash);
    while (item != NULL && (item->hash != (uint32_t)hash || item->key_length != key.length ||
                            memcmp(item->bytes, key.at, key.length) != 0))
        item = item->next;
    if (item == NULL)
        return NULL;
    if (item->expires_ms <= now_ms) {
        mcds__items_remove(items, item);
        return NULL;
    }
    if (item != items->newest) {
        use_unlink(items, item);
        use_link_newest(items, item);
    }
    return item;
}

struct mcds__item *mcds__items_insert(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                      uint32_t value_length)
{
    assert(key.length > 0 && key.length <= UINT8_MAX);
    size_t size = size_of(items, key.length, value_length);
    if (!begin(items) || !make_room(items, size + ALLOCATION_COST, NULL))
        return NULL;
    uint8_t *memory = mcds__allocate(items->env, size);
    if (memory == NULL)
        return NULL;
    struct mcds__item *item = (struct mcds__item *)(void *)(memory + prefix(items));
    struct mcds__item **bucket = bucket_of(items, (uint32_t)hash);
    item->next = *bucket;
    item->cas = 0;
    item->expires_ms = MCDS__ITEM_NEVER;
    item->flags = 0;
    item->value_length = value_length;
    item->hash = (uint32_t)hash;
    item->key_length = (uint8_t)key.length;
    memcpy(item->bytes, key.at, key.length);
    *bucket = item;
    use_link_newest(items, item);
    items->count++;
    items->bytes += size + ALLOCATION_COST;
    grow(items);
    return item;
}

struct mcds__item *mcds__items_resize(struct mcds__items *items, struct mcds__item *item,
                                      uint32_t value_length)
{
    if (value_length == item->value_length)
        return item;
    if (value_length > item->value_length &&
        !make_room(items, value_length - item->value_length, item))
        return NULL;
    struct mcds__item **link = link_to(items, item);
    size_t size = size_of(items, item->key_length, value_length);
    use_unlink(items, item);
    uint8_t *memory = items->env->reallocate(items->env->self, (uint8_t *)item - prefix(items),
                                             size);
    if (memory == NULL) {
        use_link_newest(items, item);
        return NULL;
    }
    item = (struct mcds__item *)(void *)(memory + prefix(items));
    *link = item;
    use_link_newest(items, item);
    items->bytes += value_length;
    items->bytes -= item->value_length;
    item->value_length = value_length;
    return item;
}

static void note_due(struct mcds__items *items, int64_t expires_ms)
{
    if (expires_ms < items->due_ms)
        items->due_ms = expires_ms;
    if (expires_ms < items->next_due_ms)
        items->next_due_ms = expires_ms;
}

void mcds__items_set_expiry(struct mcds__items *items, struct mcds__item *item,
                            int64_t expires_ms)
{
    item->expires_ms = expires_ms;
    note_due(items, expires_ms);
}

void mcds__items_remove(struct mcds__items *items, struct mcds__item *item)
{
    *link_to(items, item) = item->next;
    use_unlink(items, item);
    items->count--;
    items->bytes -= cost_of(items, item);
    free_item(items, item);
}

static void sweep_bucket(struct mcds__items *items, int64_t now_ms)
{
    struct mcds__item *item = *bucket_of(items, items->hand);
    while (item != NULL) {
        struct mcds__item *next = item->next;
        if (item->expires_ms <= now_ms)
            mcds__items_remove(items, item);
        else if (item->expires_ms < items->next_due_ms)
            items->next_due_ms = item->expires_ms;
        item = next;
    }
    items->hand = (items->hand + 1) & items->mask;
    if (items->hand == 0)
        items->due_ms = items->next_due_ms;
}

/* Each sweep goes through all buckets, and learns when the next one is worth its while. */
static void sweep(struct mcds__items *items, int64_t now_ms)
{
    if (items->hand == 0)
        items->next_due_ms = MCDS__ITEM_NEVER;
    for (int i = 0; i < SWEEPS_PER_WRITE && (i == 0 || items->hand != 0); i++)
        sweep_bucket(items, now_ms);
}

void mcds__items_work(struct mcds__items *items, int64_t now_ms)
{
    for (int i = 0; i < MOVES_PER_WRITE && items->old != NULL; i++)
        move_bucket(items);
    if (items->buckets != NULL && (items->hand != 0 || items->due_ms <= now_ms))
        sweep(items, now_ms);
}

uint64_t mcds__items_buckets(const struct mcds__items *items)
{
    if (items->buckets == NULL)
        return 0;
    uint64_t buckets = (uint64_t)items->mask + 1;
    return items->old != NULL ? buckets + buckets / 2 : buckets;
}

struct mcds__item *mcds__items_at(const struct mcds__items *items, uint64_t bucket)
{
    if (bucket <= items->mask)
        return items->buckets[bucket];
    uint64_t at = bucket - items->mask - 1;
    return at < items->moved ? NULL : items->old[at];
}
