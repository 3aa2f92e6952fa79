/* Limit, form BUCKET: the buckets that a handle has read last, of a few identities.
 *
 * A key has the records of many takes. While its bytes do not change, the bucket of an identity in
 * it does not change. So a take that only reads the key need not apply the records again. */
#ifndef MCDS_STRUCTURES_LIMIT_MEMO_H
#define MCDS_STRUCTURES_LIMIT_MEMO_H

#include <stdatomic.h>

#include "core/map/bucket/take.h"

#define MCDS__MEMO 16

struct mcds__memo {
    _Atomic bool is_used; /* a thread uses the memo; meanwhile other threads skip it */
    struct {
        uint64_t hash;   /* of the identity, with the hash key of the life; 0: none */
        uint64_t digest; /* of the value of the key */
        struct mcds__take_entry entry;
    } places[MCDS__MEMO];
};

/* Remember the bucket of the identity with this hash, in a key whose value has this digest. */
void mcds__memo_keep(struct mcds__memo *memo, uint64_t hash, uint64_t digest,
                     const struct mcds__take_entry *entry);
/* False: it is not known. */
bool mcds__memo_recall(struct mcds__memo *memo, uint64_t hash, uint64_t digest,
                       struct mcds__take_entry *entry_out);

#endif
