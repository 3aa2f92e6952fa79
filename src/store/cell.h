/* A cell: a number in memory to which its holders add without a lock.
 *
 *     closed   the item's text has the number; additions fail
 *       open, under the item's lock
 *     open     the cell has the number; the item's text is stale; additions are lock-free
 *       close, under the item's lock: the number is written into the item
 *
 * A command that uses the item closes its cell first, under the lock of the item. So it sees
 * every addition that was answered. */
#ifndef MCDS_STORE_CELL_H
#define MCDS_STORE_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Numbers up to this one can be opened; from CLOSED_MIN on the cell is closed. An addition that
 * finds the cell closed has changed the meaningless number in it. Only 2^31 of the largest
 * additions between two openings could make the cell look open. */
#define MCDS__CELL_OPEN_MAX (UINT64_C(3) << 61)
#define MCDS__CELL_CLOSED_MIN (UINT64_C(1) << 63)
#define MCDS__CELL_CLOSED (UINT64_C(3) << 62)
#define MCDS__CELL_DELTA_MAX (UINT64_C(1) << 31)
#define MCDS__CELL_SUBTRACTIONS_MAX 64
#define MCDS__CELL_BYTES 64 /* a cache line of the processor: no two numbers share one */

struct mcds__cell {
    _Atomic uint64_t number;
    _Atomic uint32_t flags;    /* of the item, while it is open */
    _Atomic uint32_t openings; /* incremented before the flags are written */
    uint32_t holders;          /* guarded by the lock of the item */
    uint8_t padding[MCDS__CELL_BYTES - 20];
};

/* The caller holds the lock of the item in these two functions. */
static inline void mcds__cell_open(struct mcds__cell *cell, uint64_t number, uint32_t flags)
{
    atomic_fetch_add(&cell->openings, 1);
    atomic_store(&cell->flags, flags);
    atomic_store(&cell->number, number);
}

/* True: the cell was open, and held *number_out. */
static inline bool mcds__cell_close(struct mcds__cell *cell, uint64_t *number_out)
{
    *number_out = atomic_exchange(&cell->number, MCDS__CELL_CLOSED);
    return *number_out < MCDS__CELL_CLOSED_MIN;
}

/* INCR with a delta up to MCDS__CELL_DELTA_MAX. False: the cell is closed; nothing was done. */
static inline bool mcds__cell_add(struct mcds__cell *cell, uint64_t delta, uint64_t *after_out)
{
    uint64_t before = atomic_fetch_add(&cell->number, delta);
    *after_out = before + delta;
    return before < MCDS__CELL_CLOSED_MIN;
}

/* DECR with a delta up to MCDS__CELL_DELTA_MAX. False: the cell is closed, the result would
 * stop at zero, or other threads always changed the number first; nothing was done. */
static inline bool mcds__cell_subtract(struct mcds__cell *cell, uint64_t delta,
                                       uint64_t *after_out)
{
    uint64_t before = atomic_load(&cell->number);
    for (int i = 0; i < MCDS__CELL_SUBTRACTIONS_MAX; i++) {
        if (before >= MCDS__CELL_CLOSED_MIN || before < delta)
            return false;
        *after_out = before - delta;
        if (atomic_compare_exchange_weak(&cell->number, &before, *after_out))
            return true;
    }
    return false;
}

/* Read number and flags of one moment. False: the cell is closed, or was opened meanwhile. */
static inline bool mcds__cell_read(struct mcds__cell *cell, uint64_t *number_out,
                                   uint32_t *flags_out)
{
    uint32_t openings = atomic_load(&cell->openings);
    *number_out = atomic_load(&cell->number);
    *flags_out = atomic_load(&cell->flags);
    return *number_out < MCDS__CELL_CLOSED_MIN && atomic_load(&cell->openings) == openings;
}

#endif
