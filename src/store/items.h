/* Items in memory: a chained hash that grows a little with every write, expiry, and eviction of
 * the least recently used beyond a limit. Knows nothing of commands; table.c gives it
 * memcached's meaning. */
#ifndef MCDS_STORE_ITEMS_H
#define MCDS_STORE_ITEMS_H

#include <string.h>

#include "mcds_store.h"
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
    uint8_t held;    /* bytes of the pointer to its cell: 0 for want of one */
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
    uint32_t hand;           /* where the sweep for expired items goes on; 0: it rests */
    int64_t due_ms;          /* nothing expires before this: then a sweep begins */
    int64_t next_due_ms;     /* what due_ms will be, as far as this sweep has come */
    uint64_t count;
    uint64_t bytes;
    uint64_t buried;           /* removed items that stay for those who hold their cells */
    struct mcds__item *newest; /* by use; kept only with a limit */
    struct mcds__item *oldest;
};

void mcds__items_init(struct mcds__items *items, const mcds_env *env, uint64_t bytes_max,
                      bool no_evict, _Atomic uint64_t *losses);
void mcds__items_clear(struct mcds__items *items);

/* Have what mcds__items_find will find brought near, all of it at once. */
void mcds__items_prefetch(const struct mcds__items *items, uint64_t hash);
/* The item as of now_ms, and the newest by use from here on; NULL: none. */
struct mcds__item *mcds__items_find(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                    int64_t now_ms);
/* A new item that never expires, with room for the value; the key must not be there. NULL: no
 * memory, or none within the limit. */
struct mcds__item *mcds__items_insert(struct mcds__items *items, mcds_bytes key, uint64_t hash,
                                      uint32_t value_length);
/* Give the value another length; what fits of it stays. Returns the item at its new place, or
 * NULL, with the item as it was, when there is no memory. */
struct mcds__item *mcds__items_resize(struct mcds__items *items, struct mcds__item *item,
                                      uint32_t value_length);
void mcds__items_set_expiry(struct mcds__items *items, struct mcds__item *item,
                            int64_t expires_ms);
void mcds__items_remove(struct mcds__items *items, struct mcds__item *item);
/* Count that an item is about to be no longer what it was. */
static inline void mcds__items_count_loss(struct mcds__items *items)
{
    if (items->losses != NULL)
        atomic_store_explicit(items->losses,
                              atomic_load_explicit(items->losses, memory_order_relaxed) + 1,
                              memory_order_release);
}

/* Take hold of an item's cell, which is made, closed, for the first one. While it is held, a key
 * has the same cell whatever becomes of its items, and there is room for the text of any number.
 * Only where there is no limit. Returns the item at its new place, or NULL when there is no
 * memory. */
struct mcds__item *mcds__items_hold(struct mcds__items *items, struct mcds__item *item);
/* Give up the hold of a key's cell, closed, whether or not the item is still there. */
void mcds__items_release(struct mcds__items *items, mcds_bytes key, uint64_t hash);

/* A bounded piece of housekeeping: moves a few buckets of a growth and drops the expired items
 * of a few. Called once per write. */
void mcds__items_work(struct mcds__items *items, int64_t now_ms);

/* Buckets in all, and the first item of one; the items of a bucket are linked by next. */
uint64_t mcds__items_buckets(const struct mcds__items *items);
struct mcds__item *mcds__items_at(const struct mcds__items *items, uint64_t bucket);

static inline uint8_t *mcds__item_value(struct mcds__item *item)
{
    return item->bytes + item->key_length + item->held;
}

/* NULL: nobody holds it. */
static inline struct mcds__cell *mcds__item_cell(const struct mcds__item *item)
{
    struct mcds__cell *cell = NULL;
    if (item->held > 0)
        memcpy(&cell, item->bytes + item->key_length, sizeof cell);
    return cell;
}

#endif
