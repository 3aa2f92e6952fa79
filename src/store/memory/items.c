/* Items in memory: a chained hash table that grows a little with each write, with expiry and
 * with eviction of the least recently used item beyond a limit. */
#include "store/memory/items.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/number.h"

#define BUCKETS_MIN 16
#define BUCKETS_MAX (UINT32_C(1) << 31)
#define MOVES_PER_WRITE 4 /* two moves would keep ahead of the next growth */
#define SWEEPS_PER_WRITE                                                                       \
    4 /* so at most about half as many expired items as living ones remain */
#define PREFETCH_LINES 16 /* most values that are read end before */
#define LARGE_ITEM 256    /* mean bytes that are worth another bucket and a prefetch */
#define ALLOCATION_COST                                                                        \
    24 /* cost of an item besides its own bytes: the allocator and its bucket */
#define BURIED INT64_MIN /* expired at any time */
#define ROOM_FROM 256

/* Precedes the item if there is a limit, so that items without a limit stay small. */
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

/* A value that grows by appends is not copied each time: a longer one reserves up to an eighth. */
static size_t with_room(size_t size)
{
    size_t step = ROOM_FROM / 8;
    while (size > 16 * step)
        step *= 2;
    return size <= ROOM_FROM ? size : (size + step - 1) / step * step;
}

static size_t memory_items_size_of(const struct mcds__items *items, size_t key_length,
                                   size_t held, size_t value_length)
{
    if (held > 0 && value_length < MCDS__U64_DIGITS)
        value_length = MCDS__U64_DIGITS;
    return with_room(prefix(items) + offsetof(struct mcds__item, bytes) + key_length + held +
                     value_length);
}

static uint64_t cost_of(const struct mcds__items *items, const struct mcds__item *item)
{
    size_t size = memory_items_size_of(items, item->key_length, item->held, item->value_length);
    return size + ALLOCATION_COST + (item->held > 0 ? sizeof(struct mcds__cell) : 0);
}

static void free_item(const struct mcds__items *items, struct mcds__item *item)
{
    mcds__free(items->env, (uint8_t *)item - prefix(items));
}

/* Maintain the order of use. */

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

/* While a growth is under way, a bucket of the old array that has not been moved holds what two
 * buckets of the new one will hold. */

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
    assert(items->old != NULL && items->moved <= items->mask >> 1);
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

/* On average; then one bucket more costs little. */
static bool are_large(const struct mcds__items *items)
{
    return items->bytes >= items->count * LARGE_ITEM;
}

/* Double the buckets if there are more items than buckets, or half as many large items: each
 * item in the chain before the wanted one costs two misses, one of the cache and one of the
 * page table. Without memory the chains just grow longer. */
static void memory_items_grow(struct mcds__items *items)
{
    uint64_t buckets = (uint64_t)items->mask + 1;
    uint64_t count_max = are_large(items) ? buckets / 2 : buckets;
    if (items->old != NULL || items->count <= count_max || buckets >= BUCKETS_MAX)
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

static bool memory_items_begin(struct mcds__items *items)
{
    if (items->buckets == NULL) {
        items->buckets = mcds__allocate_zero(items->env,
                                             BUCKETS_MIN * sizeof items->buckets[0]);
        items->mask = BUCKETS_MIN - 1;
    }
    return items->buckets != NULL;
}

/* Evict the least recently used items, but never `keep`, until there is room for `more` bytes. */
static bool memory_items_make_room(struct mcds__items *items, uint64_t more,
                                   const struct mcds__item *keep)
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
                      bool no_evict, _Atomic uint64_t *losses)
{
    memset(items, 0, sizeof *items);
    items->losses = losses;
    items->env = env;
    items->bytes_max = bytes_max;
    items->no_evict = no_evict;
    items->due_ms = MCDS__ITEM_NEVER;
}

void mcds__items_clear(struct mcds__items *items)
{
    mcds__items_count_loss(items);
    for (uint64_t i = 0; i < mcds__items_buckets(items); i++)
        for (struct mcds__item *item = mcds__items_at(items, i), *next; item != NULL;
             item = next) {
            next = item->next;
            mcds__free(items->env, mcds__item_cell(item));
            free_item(items, item);
        }
    mcds__free(items->env, items->old);
    mcds__free(items->env, items->buckets);
    mcds__items_init(items, items->env, items->bytes_max, items->no_evict, items->losses);
}

/* The item of this key: living, expired or buried. */
static struct mcds__item *search(const struct mcds__items *items, mcds_bytes key, uint32_t hash)
{
    if (items->buckets == NULL)
        return NULL;
    struct mcds__item *item = *bucket_of(items, hash);
    while (item != NULL && (item->hash != hash || item->key_length != key.length ||
                            memcmp(item->bytes, key.data, key.length) != 0))
        item = item->next;
    return item;
}

/* The cache lines after the first belong to other items if items are small. */
void mcds__items_prefetch(const struct mcds__items *items, uint64_t hash)
{
    if (items->buckets == NULL || !are_large(items))
        return;
    uintptr_t item = (uintptr_t)*bucket_of(items, (uint32_t)hash);
    for (uintptr_t i = 1; item != 0 && i < PREFETCH_LINES; i++)
        __builtin_prefetch((const void *)(item + i * MCDS__PROCESSOR_LINE));
}

struct mcds__item *mcds__items_find(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                    int64_t now_ms)
{
    struct mcds__item *item = search(items, key, (uint32_t)hash);
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

/* Revive a buried item. */
static struct mcds__item *unbury(struct mcds__items *items, struct mcds__item *item,
                                 uint32_t value_length)
{
    assert(item->expires_ms == BURIED && items->buried > 0);
    item = mcds__items_resize(items, item, value_length);
    if (item == NULL)
        return NULL;
    item->expires_ms = MCDS__ITEM_NEVER;
    item->flags = 0;
    items->buried--;
    items->count++;
    return item;
}

struct mcds__item *mcds__items_insert(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                      uint32_t value_length)
{
    assert(key.length > 0 && key.length <= UINT8_MAX);
    struct mcds__item *buried = items->buried > 0 ? search(items, key, (uint32_t)hash) : NULL;
    if (buried != NULL)
        return unbury(items, buried, value_length);
    size_t size = memory_items_size_of(items, key.length, 0, value_length);
    if (!memory_items_begin(items) ||
        !memory_items_make_room(items, size + ALLOCATION_COST, NULL))
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
    item->held = 0;
    memcpy(item->bytes, key.data, key.length);
    *bucket = item;
    use_link_newest(items, item);
    items->count++;
    assert(cost_of(items, item) == size + ALLOCATION_COST);
    items->bytes += size + ALLOCATION_COST;
    memory_items_grow(items);
    return item;
}

/* Give the item another size. Returns it at its new address, or NULL. */
static struct mcds__item *memory_items_move(struct mcds__items *items, struct mcds__item *item,
                                            size_t size)
{
    struct mcds__item **link = link_to(items, item);
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
    return item;
}

struct mcds__item *mcds__items_resize(struct mcds__items *items, struct mcds__item *item,
                                      uint32_t value_length)
{
    size_t before = memory_items_size_of(items, item->key_length, item->held,
                                         item->value_length);
    size_t size = memory_items_size_of(items, item->key_length, item->held, value_length);
    if (size > before && !memory_items_make_room(items, size - before, item))
        return NULL;
    if (size != before)
        item = memory_items_move(items, item, size);
    if (item == NULL)
        return NULL;
    item->value_length = value_length;
    items->bytes += size;
    assert(items->bytes >= before);
    items->bytes -= before;
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

/* Remove an item whose cell is held: it stays in its bucket, hidden, for the next of its key. */
static void bury(struct mcds__items *items, struct mcds__item *item)
{
    uint64_t number;
    if (item->expires_ms == BURIED)
        return;
    (void)mcds__cell_close(mcds__item_cell(item), &number);
    item->expires_ms = BURIED;
    items->count--;
    items->buried++;
    /* Without memory for a smaller copy it keeps its size. */
    (void)mcds__items_resize(items, item, 0);
}

void mcds__items_remove(struct mcds__items *items, struct mcds__item *item)
{
    mcds__items_count_loss(items);
    if (item->held > 0) {
        bury(items, item);
        return;
    }
    *link_to(items, item) = item->next;
    use_unlink(items, item);
    assert(items->count > 0 && items->bytes >= cost_of(items, item));
    items->count--;
    items->bytes -= cost_of(items, item);
    free_item(items, item);
}

static struct mcds__cell *make_cell(const mcds_env *env)
{
    struct mcds__cell *cell = mcds__allocate_zero(env, sizeof *cell);
    if (cell == NULL)
        return NULL;
    atomic_init(&cell->number, MCDS__CELL_CLOSED);
    atomic_init(&cell->flags, 0);
    atomic_init(&cell->openings, 0);
    return cell;
}

/* Put a pointer to a cell between the key and the value. */
static struct mcds__item *give_cell(struct mcds__items *items, struct mcds__item *item)
{
    uint64_t cost = cost_of(items, item);
    struct mcds__cell *cell = make_cell(items->env);
    if (cell == NULL)
        return NULL;
    size_t size = memory_items_size_of(items, item->key_length, sizeof cell,
                                       item->value_length);
    item = memory_items_move(items, item, size);
    if (item == NULL) {
        mcds__free(items->env, cell);
        return NULL;
    }
    uint8_t *at = mcds__item_value(item);
    memmove(at + sizeof cell, at, item->value_length);
    memcpy(at, &cell, sizeof cell);
    item->held = sizeof cell;
    items->bytes += cost_of(items, item) - cost;
    return item;
}

struct mcds__item *mcds__items_hold(struct mcds__items *items, struct mcds__item *item)
{
    assert(items->bytes_max == 0);
    if (item->held == 0)
        item = give_cell(items, item);
    if (item != NULL)
        mcds__item_cell(item)->holders++;
    return item;
}

void mcds__items_release(struct mcds__items *items, mcds_bytes key, uint64_t hash)
{
    struct mcds__item *item = search(items, key, (uint32_t)hash);
    struct mcds__cell *cell = item != NULL ? mcds__item_cell(item) : NULL;
    assert(cell != NULL && cell->holders > 0);
    if (--cell->holders > 0)
        return;
    items->bytes -= cost_of(items, item);
    memmove(item->bytes + item->key_length, mcds__item_value(item), item->value_length);
    item->held = 0;
    items->bytes += cost_of(items, item);
    mcds__free(items->env, cell);
    if (item->expires_ms == BURIED) {
        items->buried--;
        items->count++;
        mcds__items_remove(items, item);
        return;
    }
    size_t size = memory_items_size_of(items, item->key_length, 0, item->value_length);
    (void)memory_items_move(items, item, size);
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

/* Each sweep visits all buckets, and computes when the next one is due. */
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
