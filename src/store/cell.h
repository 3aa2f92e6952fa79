/* A cell: a number in memory that those who hold it add to without a lock.
 *
 * While a cell is open it is the truth, and the text of its item is behind. Whoever comes to the
 * item by its lock closes the cell first, and so finds every addition that was answered; then
 * additions to the cell fail, until it is opened again under that lock. */
#ifndef MCDS_STORE_CELL_H
#define MCDS_STORE_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Numbers up to this one are opened; from CLOSED_MIN on a cell is closed. An addition that finds
 * it so has changed what is left there, which means nothing: it would take 2^31 of the largest,
 * between two of those who go and open it again, to come out at the other end. */
#define MCDS__CELL_OPEN_MAX (UINT64_C(3) << 61)
#define MCDS__CELL_CLOSED_MIN (UINT64_C(1) << 63)
#define MCDS__CELL_CLOSED (UINT64_C(3) << 62)
#define MCDS__CELL_DELTA_MAX (UINT64_C(1) << 31)
#define MCDS__CELL_SUBTRACTIONS_MAX 64
#define MCDS__CELL_BYTES 64 /* the line of a processor's cache: no two numbers share one */

struct mcds__cell {
    _Atomic uint64_t number;
    _Atomic uint32_t flags;    /* of the item, while it is open */
    _Atomic uint32_t openings; /* counted before the flags are written */
    uint32_t holders;          /* guarded by the lock of the item */
    uint8_t padding[MCDS__CELL_BYTES - 20];
};

/* The caller has the lock of the item in these two. */
static inline void mcds__cell_open(struct mcds__cell *cell, uint64_t number, uint32_t flags)
{
    atomic_fetch_add(&cell->openings, 1);
    atomic_store(&cell->flags, flags);
    atomic_store(&cell->number, number);
}

/* True: it was open, and held *number_out. */
static inline bool mcds__cell_close(struct mcds__cell *cell, uint64_t *number_out)
{
    *number_out = atomic_exchange(&cell->number, MCDS__CELL_CLOSED);
    return *number_out < MCDS__CELL_CLOSED_MIN;
}

/* What INCR does, with a delta up to MCDS__CELL_DELTA_MAX. False: closed, nothing was done. */
static inline bool mcds__cell_add(struct mcds__cell *cell, uint64_t delta, uint64_t *after_out)
{
    uint64_t before = atomic_fetch_add(&cell->number, delta);
    *after_out = before + delta;
    return before < MCDS__CELL_CLOSED_MIN;
}

/* What DECR does, with a delta up to MCDS__CELL_DELTA_MAX. False: closed, or it would stop at
 * zero, or others were always faster; nothing was done. */
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

/* The number and the flags of one moment. False: closed, or opened meanwhile. */
static inline bool mcds__cell_read(struct mcds__cell *cell, uint64_t *number_out,
                                   uint32_t *flags_out)
{
    uint32_t openings = atomic_load(&cell->openings);
    *number_out = atomic_load(&cell->number);
    *flags_out = atomic_load(&cell->flags);
    return *number_out < MCDS__CELL_CLOSED_MIN && atomic_load(&cell->openings) == openings;
}

#endif
