/* Counter: the number where it stands, for waiting calls on a store that has cells. */
#include <stdatomic.h>

#include "structures/counter.h"

#define TRIES 2 /* as the cell is found, and opened */

static bool may_have_cell(const mcds_counter *counter)
{
    return counter->stripes == 1 && counter->ttl_ms == 0;
}

struct mcds__cell *mcds__counter_open_cell(mcds_counter *counter, struct mcds__cell *held)
{
    mcds_bytes key = mcds__key_bytes(&counter->keys[0]);
    struct mcds__cell *cell = mcds__store_open_cell(counter->store, key, held);
    if (cell == NULL || held != NULL)
        return cell;
    /* Of two threads that have taken hold at once, one gives it up. */
    if (!atomic_compare_exchange_strong(&counter->cell, &held, cell))
        mcds__store_release_cell(counter->store, key);
    return cell;
}

void mcds__counter_release_cell(mcds_counter *counter)
{
    if (atomic_load(&counter->cell) != NULL)
        mcds__store_release_cell(counter->store, mcds__key_bytes(&counter->keys[0]));
}

bool mcds__counter_cell_add(mcds_counter *counter, uint64_t delta, bool down,
                            uint64_t *after_out)
{
    struct mcds__cell *cell = atomic_load_explicit(&counter->cell, memory_order_acquire);
    if (!may_have_cell(counter) || delta > MCDS__CELL_DELTA_MAX)
        return false;
    for (int i = 0; i < TRIES; i++) {
        if (cell != NULL && (down ? mcds__cell_subtract(cell, delta, after_out)
                                  : mcds__cell_add(cell, delta, after_out)))
            return true;
        cell = mcds__counter_open_cell(counter, cell);
        if (cell == NULL)
            return false;
    }
    return false;
}

bool mcds__counter_cell_read(mcds_counter *counter, uint64_t *stored_out, uint32_t *birth_out)
{
    struct mcds__cell *cell = atomic_load_explicit(&counter->cell, memory_order_acquire);
    if (!may_have_cell(counter))
        return false;
    for (int i = 0; i < TRIES; i++) {
        if (cell != NULL && mcds__cell_read(cell, stored_out, birth_out))
            return true;
        cell = mcds__counter_open_cell(counter, cell);
        if (cell == NULL)
            return false;
    }
    return false;
}
