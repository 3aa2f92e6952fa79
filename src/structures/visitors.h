/* What the files of visitors share: its handle. */
#ifndef MCDS_STRUCTURES_VISITORS_H
#define MCDS_STRUCTURES_VISITORS_H

#include "core/members.h"
#include "core/settings.h"
#include "core/visit.h"
#include "structures/structure.h"

struct mcds_visitors {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint64_t period_ms;
    uint32_t settle_ms;
    struct mcds__slot_memory births[2]; /* of the last even and the last odd slot */
    struct mcds__settings settings;
    struct mcds__key counts;       /* what the keys of the slots begin with */
    struct mcds__key seen;         /* what the keys of the visitors begin with */
    struct mcds__members *members; /* NULL: visitors are counted, not kept */
};

/* Whether the period at at_ms has begun so recently that the one before may still grow. */
bool mcds__visitors_is_provisional(const mcds_visitors *visitors, int64_t at_ms);

/* Whether the period of a slot still runs. */
bool mcds__visitors_is_running(const mcds_visitors *visitors, uint64_t slot);

/* The forms that members have of the calls; not `piped`: waiting. */
int mcds__visitors_open_members(mcds_visitors *visitors, bool estimated, uint64_t ttl_ms);
int mcds__visitors_member_hit(mcds_visitors *visitors, const char *visitor, int64_t at_ms,
                              bool piped, mcds_pipeline *pipeline, uint64_t tag);
/* Read, or erase when `value_out` is NULL. */
int mcds__visitors_member_pair(mcds_visitors *visitors, int64_t at_ms,
                               mcds_visitors_value *value_out, bool piped,
                               mcds_pipeline *pipeline, uint64_t tag);

#endif
