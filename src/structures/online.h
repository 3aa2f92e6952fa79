/* What the files of online share: its handle. */
#ifndef MCDS_STRUCTURES_ONLINE_H
#define MCDS_STRUCTURES_ONLINE_H

#include "core/members.h"
#include "core/settings.h"
#include "core/visit.h"
#include "structures/structure.h"

#define MCDS__BUCKETS_MAX 32

struct mcds_online {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint32_t buckets;
    uint32_t width_ms;
    struct mcds__slot_memory births[MCDS__BUCKETS_MAX + 1]; /* by bucket modulo their number */
    struct mcds__settings settings;
    struct mcds__key counts;       /* what the keys of the buckets begin with */
    struct mcds__key seen;         /* what the keys of the visitors begin with */
    struct mcds__members *members; /* NULL: visitors are counted, not kept */
};

/* Whether the bucket of a slot still runs. */
bool mcds__online_is_running(const mcds_online *online, uint64_t slot);

/* The forms that members have of the calls; not `piped`: waiting. */
int mcds__online_open_members(mcds_online *online, bool estimated, uint64_t ttl_ms);
int mcds__online_member_beat(mcds_online *online, const char *visitor, int64_t at_ms,
                             bool piped, mcds_pipeline *pipeline, uint64_t tag);
/* Count, or erase when `value_out` is NULL. */
int mcds__online_member_window(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                               bool piped, mcds_pipeline *pipeline, uint64_t tag);

#endif
