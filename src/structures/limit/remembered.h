/* Limit: the refusals that a handle may repeat from memory (mcds_limit_options.remember_ms).
 *
 * A refusal is that of one take: of this identity, with so many tokens and so much patience. It ends
 * at the time to retry, or remember_ms after the store was asked. An identity has one entry. Nobody
 * can choose an identity that has the entry of another one: the hash has a secret key, and an entry
 * has all of its 64 bits. */
#ifndef MCDS_STRUCTURES_LIMIT_REMEMBERED_H
#define MCDS_STRUCTURES_LIMIT_REMEMBERED_H

#include <pthread.h>
#include <stdatomic.h>

#include "mcds.h"

#define MCDS__REMEMBERED_SETS 128
#define MCDS__REMEMBERED_WAYS 4

/* A take that the store has refused. */
struct mcds__refusal {
    uint64_t tokens;
    uint64_t patience_ms;
    int64_t own_ms;   /* of this machine's clock: the times of the value count from here */
    int64_t asked_ns; /* monotonic, not later than the store was asked */
    uint64_t changes; /* mcds__remembered_changes before that */
    mcds_limit_value value;
};

struct mcds__remembered_entry {
    uint64_t hash; /* 0: empty */
    uint64_t tokens;
    uint64_t patience_ms;
    int64_t from_ns; /* monotonic: the times of the value count from here */
    int64_t end_ns;
    mcds_limit_value value;
};

struct mcds__remembered {
    const mcds_env *env;
    pthread_mutex_t mutex; /* guards the entries */
    uint64_t key[2];       /* of the hash of identities */
    uint64_t remember_ms;
    _Atomic uint64_t changes; /* that this handle has made */
    struct mcds__remembered_entry entries[MCDS__REMEMBERED_SETS][MCDS__REMEMBERED_WAYS];
};

/* Empty, with a random key. Where `remembered` is NULL, the functions below do nothing. */
void mcds__remembered_init(struct mcds__remembered *remembered, const mcds_env *env,
                           uint64_t remember_ms);
void mcds__remembered_destroy(struct mcds__remembered *remembered);
/* A refusal from before a change of this handle is not remembered. */
uint64_t mcds__remembered_changes(const struct mcds__remembered *remembered);
void mcds__remembered_note(struct mcds__remembered *remembered, mcds_bytes identity,
                           const struct mcds__refusal *refusal);
/* This handle has changed the bucket of the identity, or of all. */
void mcds__remembered_forget(struct mcds__remembered *remembered, mcds_bytes identity);
void mcds__remembered_clear(struct mcds__remembered *remembered);
/* Whether the same take was refused, and the refusal has not ended. Sets the value, whose times count
 * from now. `remaining` is that of the refusal. */
bool mcds__remembered_has(struct mcds__remembered *remembered, mcds_bytes identity,
                          uint64_t tokens, uint64_t patience_ms, mcds_limit_value *value_out);

#endif
