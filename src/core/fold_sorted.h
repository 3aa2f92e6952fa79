/* Numbers in their order, with what belongs to each: the next lower and the next higher of any number
 * in logarithmic time, whatever the order in which they come.
 *
 * A treap. Its priorities are random, so nobody who chooses the numbers can make it deep. */
#ifndef MCDS_CORE_FOLD_SORTED_H
#define MCDS_CORE_FOLD_SORTED_H

#include "mcds.h"

struct mcds__fold_node;

/* All zero: empty, and not in use. */
struct mcds__fold_sorted {
    struct mcds__fold_node *nodes; /* the first is none */
    uint32_t count, room;
    uint32_t root;
    uint64_t random; /* not 0 once in use */
};

/* Adds a number; one that is there already is there once more, with the newer item. False: no memory. */
bool mcds__fold_sorted_add(struct mcds__fold_sorted *sorted, const mcds_env *env,
                           uint64_t number, uint32_t item);
/* Takes a number away once, if it is there. */
void mcds__fold_sorted_remove(struct mcds__fold_sorted *sorted, uint64_t number);
/* The largest number below, or the smallest above, with its item. False: there is none. */
bool mcds__fold_sorted_below(const struct mcds__fold_sorted *sorted, uint64_t number,
                             uint64_t *number_out, uint32_t *item_out);
bool mcds__fold_sorted_above(const struct mcds__fold_sorted *sorted, uint64_t number,
                             uint64_t *number_out, uint32_t *item_out);
void mcds__fold_sorted_free(struct mcds__fold_sorted *sorted, const mcds_env *env);

static inline bool mcds__fold_sorted_is_used(const struct mcds__fold_sorted *sorted)
{
    return sorted->random != 0;
}

#endif
