/* Counter: the handle, and the stored form of its numbers. */
#ifndef MCDS_STRUCTURES_COUNTER_COUNTER_H
#define MCDS_STRUCTURES_COUNTER_COUNTER_H

#include "base/error.h"
#include "core/descriptor/settings.h"
#include "core/replica/replica.h"
#include "core/tally/tally.h"
#include "store/cell.h"
#include "structures/structure.h"

#define MCDS__STRIPES_MAX 32
#define MCDS__COUNTER_BIAS (UINT64_C(1) << 62)

enum mcds__counter_form { FORM_UNKNOWN, FORM_PLAIN, FORM_SIGNED };

struct mcds_counter {
    struct mcds__handle handle;
    struct mcds__replica
        *replica; /* EXACT: cells, form, settings, incarnations and keys are unused */
    uint32_t flags;
    uint32_t stripes;
    uint64_t ttl_ms;
    _Atomic uint64_t density; /* of its additions in a pipeline, core/tally/tally.h */
    _Atomic uint32_t form;    /* as last seen */
    uint32_t flush_ms;        /* 0: each add flushes */
    /* One per stripe after its first use, where the store has cells. */
    _Atomic(struct mcds__cell *) cells[MCDS__STRIPES_MAX];
    uint64_t seed;                  /* spreads the threads of many processes over the stripes */
    struct mcds__settings settings; /* of several stripes */
    struct mcds__tally_memory incarnations[MCDS__STRIPES_MAX];
    struct mcds__key keys[]; /* one per stripe; for several, followed by that of the settings */
};

/* The content of one stripe's reply. */
struct mcds__stripe {
    bool there;
    bool reborn; /* gone, or created again, since this handle saw it */
    enum mcds__counter_form form;
    int64_t value;
};

/* Decodes a stored number. False: it is outside the ranges of both forms. */
static inline bool mcds__counter_decode(uint64_t stored, int64_t *value_out,
                                        enum mcds__counter_form *form_out)
{
    if (stored < (uint64_t)MCDS_COUNTER_MAX) {
        *value_out = (int64_t)stored;
        *form_out = FORM_PLAIN;
        return true;
    }
    if (stored > MCDS__COUNTER_BIAS - (uint64_t)MCDS_COUNTER_MAX &&
        stored < MCDS__COUNTER_BIAS + (uint64_t)MCDS_COUNTER_MAX) {
        *value_out = stored >= MCDS__COUNTER_BIAS ? (int64_t)(stored - MCDS__COUNTER_BIAS)
                                                  : -(int64_t)(MCDS__COUNTER_BIAS - stored);
        *form_out = FORM_SIGNED;
        return true;
    }
    return false;
}

/* The form that the handle has seen last. */
static inline enum mcds__counter_form mcds__counter_form(const mcds_counter *counter)
{
    return atomic_load_explicit(&counter->form, memory_order_relaxed);
}
void mcds__counter_note_form(mcds_counter *counter, enum mcds__counter_form form);

/* The stripes that the handle has seen in the store, one bit each. Call it before reading them:
 * another thread may make one meanwhile, and its absence in the read is then no loss. */
uint32_t mcds__counter_seen(mcds_counter *counter);

/* Reads the reply of stripe `i`. Returns MCDS_OK, MCDS_CORRUPT or MCDS_OVERFLOW. */
int mcds__counter_stripe(mcds_counter *counter, struct mcds__operation *operation,
                         const mcds_request *request, uint32_t i, uint32_t seen,
                         struct mcds__stripe *stripe_out);

/* Finishes with the `result` that the reply of a stripe, or of an increment, means. */
enum mcds__step mcds__counter_refuse(struct mcds__operation *operation, int result);

/* Adds to a stripe in place, or reads the only stripe, for waiting calls: see store/cell.h.
 * Returns false if nothing was done. */
bool mcds__counter_cell_add(mcds_counter *counter, uint32_t stripe, uint64_t delta, bool down,
                            uint64_t *after_out);
bool mcds__counter_cell_read(mcds_counter *counter, uint64_t *stored_out,
                             uint32_t *incarnation_out);
/* Called when an addition has left the range. Opens the cell again, which fails for a number
 * that no cell can hold. */
void mcds__counter_cell_check(mcds_counter *counter, uint32_t stripe);
void mcds__counter_release_cells(mcds_counter *counter);

/* MCDS_INVALID, with the sentence set, when one of the two is NULL. */
static inline int mcds__counter_check(const mcds_counter *counter, const void *out,
                                      const char *verb)
{
    if (counter == NULL || out == NULL)
        return mcds__fail_missing("counter", verb, "a counter and a place for the value");
    return MCDS_OK;
}

/* The calls of an EXACT counter. */
int mcds__exact_open(mcds_counter *counter, uint32_t copies);
/* Flush what is left. The program's reference to the handle is still held. */
void mcds__exact_close(mcds_counter *counter);
void mcds__exact_destroy(mcds_counter *counter);
int mcds__exact_add(mcds_counter *counter, int64_t delta, const struct mcds__start *start);
int mcds__exact_get(mcds_counter *counter, mcds_counter_value *value_out,
                    const struct mcds__start *start);
int mcds__exact_drop(mcds_counter *counter, const struct mcds__start *start);

static inline bool mcds__counter_is_signed(const mcds_counter *counter)
{
    return (counter->flags & MCDS_COUNTER_SIGNED) != 0;
}

static inline bool mcds__counter_is_strict(const mcds_counter *counter)
{
    return (counter->flags & MCDS_COUNTER_STRICT) != 0;
}

#endif
