/* Items in memory: a chained hash table that grows a little with each write, with expiry and
 * with eviction of the least recently used item beyond a limit. It knows no commands;
 * keyspace.c executes memcached's commands on it. */
#ifndef MCDS_STORE_MEMORY_ITEMS_H
#define MCDS_STORE_MEMORY_ITEMS_H

#include <assert.h>
#include <string.h>

#include "mcds/backend.h"
#include "store/cell.h"

#define MCDS__ITEM_NEVER INT64_MAX

struct mcds__item {
    struct mcds__item *next; /* in its bucket */
    uint64_t cas;
    int64_t expires_ms; /* living while now < this */
    uint32_t flags;
    uint32_t value_length;
    uint32_t hash; /* low half of the key's hash */
    uint8_t key_length;
    uint8_t held;    /* bytes of the pointer to its cell; 0: it has none */
    uint8_t bytes[]; /* the key, the pointer to the cell, the value */
};

struct mcds__items {
    const mcds_env *env;
    uint64_t bytes_max; /* 0 = no limit */
    bool no_evict;
    _Atomic uint64_t *losses; /* or NULL */
    struct mcds__item **buckets;
    uint32_t mask;           /* number of buckets - 1 */
    struct mcds__item **old; /* the array before the last growth, half as large, or NULL */
    uint32_t moved;          /* buckets of `old` already emptied */
    uint32_t hand;       /* where the sweep for expired items continues; 0: none is under way */
    int64_t due_ms;      /* no item expires earlier: a sweep begins then */
    int64_t next_due_ms; /* the next due_ms, as far as this sweep has computed it */
    uint64_t count;
    uint64_t bytes;
    uint64_t buried;           /* removed items that are kept for the holders of their cells */
    struct mcds__item *newest; /* in order of use; maintained only with a limit */
    struct mcds__item *oldest;
};

void mcds__items_init(struct mcds__items *items, const mcds_env *env, uint64_t bytes_max,
                      bool no_evict, _Atomic uint64_t *losses);
void mcds__items_clear(struct mcds__items *items);

/* Prefetch, all at once, what mcds__items_find will read. */
void mcds__items_prefetch(const struct mcds__items *items, uint64_t hash);
/* The living item at now_ms, which becomes the most recently used; NULL: none. */
struct mcds__item *mcds__items_find(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                    int64_t now_ms);
/* Insert an item that never expires, with capacity for the value; the key must be absent. NULL:
 * no memory, or no space under the limit. */
struct mcds__item *mcds__items_insert(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                      uint32_t value_length);
/* Give the value another length, and keep what fits of it. Returns the item at its new address;
 * NULL: no memory, and the item is unchanged. */
struct mcds__item *mcds__items_resize(struct mcds__items *items, struct mcds__item *item,
                                      uint32_t value_length);
void mcds__items_set_expiry(struct mcds__items *items, struct mcds__item *item,
                            int64_t expires_ms);
void mcds__items_remove(struct mcds__items *items, struct mcds__item *item);
/* Count that an item is about to be removed, replaced or given a ttl. */
static inline void mcds__items_count_loss(struct mcds__items *items)
{
    if (items->losses != NULL)
        atomic_store_explicit(items->losses,
                              atomic_load_explicit(items->losses, memory_order_relaxed) + 1,
                              memory_order_release);
}

/* Take a hold on an item's cell; the first hold creates the cell, closed. While it is held, the
 * key keeps the same cell whatever happens to its items, and each item has space for the text
 * of any number. Only without a limit. Returns the item at its new address; NULL: no memory. */
struct mcds__item *mcds__items_hold(struct mcds__items *items, struct mcds__item *item);
/* Release the hold on a key's cell, which is closed, whether or not the item still exists. */
void mcds__items_release(struct mcds__items *items, mcds_bytes key, uint64_t hash);

/* A bounded amount of maintenance: moves a few buckets of a growth and removes the expired
 * items of a few. Called once for each write. */
void mcds__items_work(struct mcds__items *items, int64_t now_ms);

/* The number of buckets, and the first item of one. `next` links the items of a bucket. */
uint64_t mcds__items_buckets(const struct mcds__items *items);
struct mcds__item *mcds__items_at(const struct mcds__items *items, uint64_t bucket);

static inline uint8_t *mcds__item_value(struct mcds__item *item)
{
    return item->bytes + item->key_length + item->held;
}

/* NULL: no thread holds it. */
static inline struct mcds__cell *mcds__item_cell(const struct mcds__item *item)
{
    struct mcds__cell *cell = NULL;
    assert(item->held == 0 || item->held == sizeof cell);
    if (item->held > 0)
        memcpy(&cell, item->bytes + item->key_length, sizeof cell);
    return cell;
}

#endif
