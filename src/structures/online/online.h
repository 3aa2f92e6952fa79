/* Online: the handle. */
#ifndef MCDS_STRUCTURES_ONLINE_ONLINE_H
#define MCDS_STRUCTURES_ONLINE_ONLINE_H

#include "core/descriptor/settings.h"
#include "core/members/members.h"
#include "core/tally/unique_hit.h"
#include "core/tally/window_hit.h"
#include "structures/structure.h"

#define MCDS__BUCKETS_MAX MCDS__BEATS_SPAN_MAX
/* Windows of which a handle remembers the number; more than one beat counts in. */
#define MCDS__ONLINE_BIRTHS (MCDS__BUCKETS_MAX + 2)

struct mcds_online {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint32_t buckets;
    uint32_t width_ms;
    struct mcds__tally_memory births[MCDS__ONLINE_BIRTHS]; /* by bucket modulo their number */
    struct mcds__settings settings;
    struct mcds__key counts;       /* prefix of the keys of the windows */
    struct mcds__key seen;         /* prefix of the keys of the visitors */
    struct mcds__members *members; /* NULL: visitors are counted, not kept */
};

/* The calls of online with members; `piped` is false for a waiting call. */
int mcds__online_open_members(mcds_online *online, bool estimated, uint64_t ttl_ms);
int mcds__online_member_beat(mcds_online *online, const char *visitor, int64_t at_ms,
                             bool piped, mcds_pipeline *pipeline, uint64_t tag);
/* Counts the window; erases it when `value_out` is NULL. */
int mcds__online_member_window(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                               bool piped, mcds_pipeline *pipeline, uint64_t tag);

#endif
