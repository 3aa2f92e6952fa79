/* Counter: additions and reads in place, for waiting calls on a store that has cells. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "structures/counter/counter.h"

/* Cells serve counters that do not expire and need no round trip before the first addition. */
static bool may_have_cells(const mcds_counter *counter)
{
    return counter->ttl_ms == 0 &&
           (counter->stripes == 1 || mcds__settings_are_kept(&counter->settings));
}

/* Opens the stripe's cell. `held` is the cell that the handle holds, or NULL. Returns NULL when
 * there is none or it cannot be opened. */
static struct mcds__cell *open_cell(mcds_counter *counter, uint32_t stripe,
                                    struct mcds__cell *held)
{
    assert(stripe < counter->stripes);
    mcds_bytes key = mcds__key_bytes(&counter->keys[stripe]);
    struct mcds__cell *cell = mcds__store_open_cell(counter->handle.store, key, held);
    if (cell == NULL || held != NULL)
        return cell;
    /* When two threads have acquired the cell at once, one releases it. */
    if (!atomic_compare_exchange_strong(&counter->cells[stripe], &held, cell))
        mcds__store_release_cell(counter->handle.store, key);
    return cell;
}

/* The cell that the handle holds, open or not. */
static struct mcds__cell *find_cell(mcds_counter *counter, uint32_t stripe)
{
    assert(stripe < counter->stripes);
    if (!may_have_cells(counter) || counter->handle.forks != mcds__forks())
        return NULL;
    struct mcds__cell *cell = atomic_load_explicit(&counter->cells[stripe],
                                                   memory_order_acquire);
    return cell != NULL ? cell : open_cell(counter, stripe, NULL);
}

static bool change(struct mcds__cell *cell, uint64_t delta, bool down, uint64_t *after_out)
{
    return down ? mcds__cell_subtract(cell, delta, after_out)
                : mcds__cell_add(cell, delta, after_out);
}

bool mcds__counter_cell_add(mcds_counter *counter, uint32_t stripe, uint64_t delta, bool down,
                            uint64_t *after_out)
{
    if (delta > MCDS__CELL_DELTA_MAX)
        return false;
    struct mcds__cell *cell = find_cell(counter, stripe);
    if (cell == NULL || change(cell, delta, down, after_out))
        return cell != NULL;
    cell = open_cell(counter, stripe, cell);
    return cell != NULL && change(cell, delta, down, after_out);
}

bool mcds__counter_cell_read(mcds_counter *counter, uint64_t *stored_out,
                             uint32_t *incarnation_out)
{
    assert(counter->stripes == 1);
    struct mcds__cell *cell = find_cell(counter, 0);
    if (cell == NULL || mcds__cell_read(cell, stored_out, incarnation_out))
        return cell != NULL;
    cell = open_cell(counter, 0, cell);
    return cell != NULL && mcds__cell_read(cell, stored_out, incarnation_out);
}

void mcds__counter_cell_check(mcds_counter *counter, uint32_t stripe)
{
    assert(stripe < counter->stripes);
    struct mcds__cell *cell = atomic_load(&counter->cells[stripe]);
    if (cell != NULL)
        (void)open_cell(counter, stripe, cell);
}

void mcds__counter_release_cells(mcds_counter *counter)
{
    assert(counter->stripes <= MCDS__STRIPES_MAX);
    for (uint32_t i = 0; i < counter->stripes; i++)
        if (atomic_load(&counter->cells[i]) != NULL)
            mcds__store_release_cell(counter->handle.store, mcds__key_bytes(&counter->keys[i]));
}
