/* Visitors: the handle. */
#ifndef MCDS_STRUCTURES_VISITORS_VISITORS_H
#define MCDS_STRUCTURES_VISITORS_VISITORS_H

#include "core/descriptor/settings.h"
#include "core/members/members.h"
#include "core/tally/unique_hit.h"
#include "structures/structure.h"

struct mcds_visitors {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint64_t period_ms;
    uint32_t settle_ms;
    struct mcds__tally_memory incarnations[2]; /* of the last even and the last odd period */
    struct mcds__settings settings;
    struct mcds__key counts;       /* prefix of the keys of the periods */
    struct mcds__key seen;         /* prefix of the keys of the visitors */
    struct mcds__members *members; /* NULL: visitors are counted, not kept */
};

/* Whether the period of at_ms began so recently that the one before may still grow. */
bool mcds__visitors_is_provisional(const mcds_visitors *visitors, int64_t at_ms);

/* The calls of visitors with members; `piped` is false for a waiting call. */
int mcds__visitors_open_members(mcds_visitors *visitors, bool estimated, uint64_t ttl_ms);
int mcds__visitors_member_hit(mcds_visitors *visitors, const char *visitor, int64_t at_ms,
                              bool piped, mcds_pipeline *pipeline, uint64_t tag);
/* Reads; erases when `value_out` is NULL. */
int mcds__visitors_member_pair(mcds_visitors *visitors, int64_t at_ms,
                               mcds_visitors_value *value_out, bool piped,
                               mcds_pipeline *pipeline, uint64_t tag);

#endif
