/* Descriptor: read, make, replace and erase the root of a structure that can be cleared as a
 * whole. The root holds its current generation and the settings that it was made with.
 *
 * A generation is the life in the descriptor, a number that is never used again: keys that
 * contain it are never confused with those of another life. */
#ifndef MCDS_CORE_DESCRIPTOR_GENERATION_H
#define MCDS_CORE_DESCRIPTOR_GENERATION_H

#include <stdatomic.h>

#include "core/descriptor/look.h"

struct mcds__generation {
    mcds_store *store;
    struct mcds__key key;
    enum mcds__descriptor_kind kind;
    _Atomic uint64_t known;  /* 0 = not yet */
    _Atomic int64_t seen_ns; /* when this handle last saw the root, on the monotonic clock */
    /* A generation that this handle knew before another replaced it, and when its root was last
     * seen: the next scan finds out whether it was erased or lost. 0: none. */
    _Atomic uint64_t former;
    _Atomic int64_t former_ns;
};

void mcds__generation_init(struct mcds__generation *generation, mcds_store *store,
                           const struct mcds__key *key, enum mcds__descriptor_kind kind);

/* The root has been seen: this is the current generation. The one before it becomes `former`,
 * unless its root was seen so long ago that its tombstone may have expired. */
void mcds__generation_note(struct mcds__generation *generation, uint64_t number, int64_t now_ns,
                           uint64_t mark_ms);
/* The loss of generation `number` was reported, or it was erased. */
static inline void mcds__generation_forget_former(struct mcds__generation *generation,
                                                  uint64_t number)
{
    (void)atomic_compare_exchange_strong(&generation->former, &number, 0);
}

/* Read the root. */
struct mcds__root {
    struct mcds__generation *generation;
    uint64_t number;                                  /* out */
    mcds_cas_token token;                             /* out: of the root as read */
    uint64_t settings[MCDS__DESCRIPTOR_SETTINGS_MAX]; /* in: for making; out: as read */
    uint8_t count;                                    /* of the settings */
    bool is_again; /* in: for making; out: as read: added again, and not confirmed */
    uint8_t stage; /* private, as all that follow */
    bool ambiguous;
    uint64_t next;
    struct mcds__root_look look;
};
/* Prepare to read it, before each use. */
void mcds__root_begin(struct mcds__root *root, struct mcds__generation *generation);
/* DONE with MCDS_OK; MCDS_NOT_FOUND: there is none; MCDS_CORRUPT; MCDS_UNSUPPORTED: a newer
 * version of mcds has made it; failures of reading. */
enum mcds__step mcds__root_read_step(struct mcds__root *root,
                                     struct mcds__operation *operation);
/* Read the root; create it if it is missing, as generation `number`, or a new one for 0. After
 * MCDS_TIMEOUT or MCDS_UNAVAILABLE it may or may not have been created. */
enum mcds__step mcds__root_make_step(struct mcds__root *root,
                                     struct mcds__operation *operation);
/* Whether mcds__root_make_step has added the root, or may have: after its replies were read. */
bool mcds__root_may_be_made(const struct mcds__root *root);
/* After reading: replace generation `number` by a new one, or erase the root. DONE with
 * MCDS_OK: `number` is over; `root->number` is the new one, or 0. MCDS_AMBIGUOUS and others.
 * Or confirm a root that was added again. DONE with MCDS_OK: it is confirmed, or
 * `root->number` is another, 0 for none; or it is `is_again`, perhaps added once more after
 * a drop, so its tombstone must be read again. SET is for mcds__root_set_step. */
enum mcds__root_change {
    MCDS__ROOT_REPLACE,
    MCDS__ROOT_ERASE,
    MCDS__ROOT_SET,
    MCDS__ROOT_CONFIRM
};
enum mcds__step mcds__root_change_step(struct mcds__root *root,
                                       struct mcds__operation *operation,
                                       enum mcds__root_change change);
/* After reading: add one setting to the root of `number` if it has none. DONE with MCDS_OK: it
 * has one, or `root->number` is the current generation instead, 0 for none. A store without
 * compare-and-set adds none. */
enum mcds__step mcds__root_set_step(struct mcds__root *root, struct mcds__operation *operation,
                                    uint64_t setting);

#endif
