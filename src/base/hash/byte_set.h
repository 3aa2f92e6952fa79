/* A multiset of byte strings. It refers to the strings and does not copy them.
 *
 * Open addressing with SipHash. Each set draws its own hash key, so strings chosen by an
 * attacker do not collide more often than others. */
#ifndef MCDS_BASE_HASH_BYTE_SET_H
#define MCDS_BASE_HASH_BYTE_SET_H

#include "mcds.h"

struct mcds__byte_entry {
    mcds_bytes bytes;
    uint64_t hash;
    size_t count; /* 0: free, or taken as often as it was added */
    bool is_used;
};

struct mcds__byte_set {
    const mcds_env *env;
    uint64_t key[2];
    struct mcds__byte_entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t used;     /* different strings */
    size_t probes;   /* entries that searches have passed over */
};

void mcds__byte_set_init(struct mcds__byte_set *set, const mcds_env *env);
/* Frees the entries, not the strings. */
void mcds__byte_set_free(struct mcds__byte_set *set);

/* How often the string is in it. */
size_t mcds__byte_set_count(struct mcds__byte_set *set, mcds_bytes bytes);
/* Add it once more. False: no memory, and nothing was added. */
bool mcds__byte_set_add(struct mcds__byte_set *set, mcds_bytes bytes);
/* Remove it once. False: it is not in the set. */
bool mcds__byte_set_take(struct mcds__byte_set *set, mcds_bytes bytes);

#endif
