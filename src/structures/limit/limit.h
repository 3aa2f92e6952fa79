/* Limit: the handle, and the calls of its two forms. */
#ifndef MCDS_STRUCTURES_LIMIT_LIMIT_H
#define MCDS_STRUCTURES_LIMIT_LIMIT_H

#include "core/map/bucket/take.h"
#include "structures/keyed.h"
#include "structures/limit/memo.h"
#include "structures/limit/refusals.h"
#include "structures/limit/remembered.h"

/* The depth of all keys of a limit (core/map/map.h, flat): 4 096 keys. With 100 000 identities in
 * debt, a key has 25 of them, in about 1.5 KB. */
#define MCDS__LIMIT_DEPTH 6
/* WINDOW: the number of slots of a window, and of a block. */
#define MCDS__LIMIT_SLOTS 8

struct mcds_limit {
    struct mcds__keyed keyed; /* BUCKET: its map */
    mcds_limit_form form;
    uint64_t burst_min; /* the smallest burst, in tokens */
    uint32_t rate_count;
    struct mcds__take_rate rates[MCDS_LIMIT_RATES_MAX];
    /* WINDOW: */
    uint64_t count;
    uint64_t width_ms;
    struct mcds__key slots, blocks; /* prefixes of the keys: NS:TAG:NAME */
    struct mcds__refusals refusals;
    struct mcds__memo memo;
    struct mcds__remembered *remembered; /* NULL: each take asks the store */
};

/* Nanoseconds as milliseconds, rounded up. */
static inline uint64_t mcds__limit_ms(int64_t ns)
{
    return ns <= 0 ? 0 : ((uint64_t)ns + NS_PER_MS - 1) / NS_PER_MS;
}

/* Set the value that mcds_limit_get returns for the entry at own_ms. False: no take may be decided at
 * that time, which is *ahead_ns_out before the entry. `entry` has no rates if it does not exist. */
bool mcds__limit_see(const mcds_limit *limit, const struct mcds__take_entry *entry,
                     int64_t own_ms, mcds_limit_value *value_out, int64_t *ahead_ns_out);

/* The calls of the form BUCKET, whose arguments were checked. */
int mcds__limit_take_bucket(mcds_limit *limit, const struct mcds__operation_kind *kind,
                            mcds_bytes identity, int64_t tokens, uint64_t patience_ns,
                            mcds_limit_value *value_out, const struct mcds__start *start);
int mcds__limit_get_bucket(mcds_limit *limit, mcds_bytes identity, mcds_limit_value *value_out,
                           const struct mcds__start *start);
extern const struct mcds__operation_kind mcds__limit_take_kind;
extern const struct mcds__operation_kind mcds__limit_give_kind;
extern const struct mcds__operation_kind mcds__limit_get_kind;

/* Those of the form WINDOW; tokens 0: get. */
int mcds__limit_take_window(mcds_limit *limit, mcds_bytes identity, uint64_t tokens,
                            mcds_limit_value *value_out, const struct mcds__start *start);

#endif
