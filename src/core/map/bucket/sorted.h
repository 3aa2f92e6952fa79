/* Bucket: a sorted set of numbers, each with an item. It finds the next lower and the next
 * higher of any number in logarithmic time, whatever the order in which they are added.
 *
 * A treap. Its priorities are random, so numbers chosen by a user cannot make it deep. */
#ifndef MCDS_CORE_MAP_BUCKET_SORTED_H
#define MCDS_CORE_MAP_BUCKET_SORTED_H

#include "mcds.h"

struct mcds__map_node;

/* All zero: empty, and not in use. */
struct mcds__bucket_sorted {
    struct mcds__map_node *nodes; /* the first is none */
    uint32_t count, capacity;
    uint32_t root;
    uint64_t random; /* not 0 once in use */
};

/* Add a number; one that is already there counts twice, with the newer item. False: no memory. */
bool mcds__bucket_sorted_add(struct mcds__bucket_sorted *sorted, const mcds_env *env,
                             uint64_t number, uint32_t item);
/* Remove a number once, if it is there. */
void mcds__bucket_sorted_remove(struct mcds__bucket_sorted *sorted, uint64_t number);
/* The largest number below, or the smallest above, with its item. False: there is none. */
bool mcds__bucket_sorted_below(const struct mcds__bucket_sorted *sorted, uint64_t number,
                               uint64_t *number_out, uint32_t *item_out);
bool mcds__bucket_sorted_above(const struct mcds__bucket_sorted *sorted, uint64_t number,
                               uint64_t *number_out, uint32_t *item_out);
void mcds__bucket_sorted_free(struct mcds__bucket_sorted *sorted, const mcds_env *env);

static inline bool mcds__bucket_sorted_is_used(const struct mcds__bucket_sorted *sorted)
{
    return sorted->random != 0;
}

#endif
