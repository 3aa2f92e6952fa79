/* What the files of the counter share: its handle and how its numbers are stored. */
#ifndef MCDS_STRUCTURES_COUNTER_H
#define MCDS_STRUCTURES_COUNTER_H

#include "core/slot.h"
#include "structures/structure.h"

#define MCDS__STRIPES_MAX 32
#define MCDS__COUNTER_BIAS (UINT64_C(1) << 63)

enum mcds__counter_form { FORM_UNKNOWN, FORM_PLAIN, FORM_SIGNED };

struct mcds_counter {
    mcds_store *store;
    char *name;
    uint64_t ttl_ms;
    uint64_t seed; /* spreads the threads of many processes over the stripes */
    uint32_t flags;
    uint32_t stripes;
    _Atomic uint32_t form; /* as last seen */
    struct mcds__slot_memory births[MCDS__STRIPES_MAX];
    struct mcds__key keys[]; /* one per stripe */
};

/* What one stripe's reply says. */
struct mcds__stripe {
    bool there;
    bool reborn; /* gone, or born again, since this handle saw it */
    enum mcds__counter_form form;
    int64_t value;
};

/* What a stored number stands for. False: outside the ranges of both forms. */
bool mcds__counter_decode(uint64_t stored, int64_t *value_out,
                          enum mcds__counter_form *form_out);

/* The stripes that the handle has seen alive, one bit each. To be asked for before they are
 * read: another thread may make one meanwhile, and then its absence is no loss. */
uint32_t mcds__counter_seen(mcds_counter *counter);

/* Read the reply of stripe `i`. Returns MCDS_OK, MCDS_CORRUPT or MCDS_OVERFLOW. */
int mcds__counter_stripe(mcds_counter *counter, const mcds_batch *batch,
                         const mcds_request *request, uint32_t i, uint32_t seen,
                         struct mcds__stripe *stripe_out);

/* MCDS_INVALID, with the sentence set, when one of the two is NULL. */
int mcds__counter_check(const mcds_counter *counter, const void *out, const char *verb);

bool mcds__counter_is_signed(const mcds_counter *counter);
bool mcds__counter_is_strict(const mcds_counter *counter);

#endif
