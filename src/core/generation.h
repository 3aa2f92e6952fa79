/* The root of a structure that is begun anew as a whole: which generation of it lives, and what
 * was settled when it was made.
 *
 * The root is a descriptor. A generation is its life, a number that no other has had: keys that
 * carry it are never confused with those of another life. */
#ifndef MCDS_CORE_GENERATION_H
#define MCDS_CORE_GENERATION_H

#include "core/descriptor.h"
#include "engine/operation.h"

struct mcds__generation {
    mcds_store *store;
    struct mcds__key key;
    enum mcds__descriptor_kind kind;
    _Atomic uint64_t known; /* 0 = not yet */
};

void mcds__generation_init(struct mcds__generation *generation, mcds_store *store,
                           const struct mcds__key *key, enum mcds__descriptor_kind kind);

/* Read the root. */
struct mcds__root {
    struct mcds__generation *generation;
    uint64_t number;                                  /* out */
    mcds_cas_token token;                             /* out: of the root as read */
    uint64_t settings[MCDS__DESCRIPTOR_SETTINGS_MAX]; /* in: for making; out: as read */
    uint8_t count;                                    /* of the settings */
    uint8_t stage;                                    /* private, as all that follow */
    bool ambiguous;
    uint64_t next;
    mcds_request requests[2];
    uint8_t frame[MCDS__DESCRIPTOR_ROOM];
};
/* To read it, before each use. */
void mcds__root_begin(struct mcds__root *root, struct mcds__generation *generation);
/* DONE with MCDS_OK; MCDS_NOT_FOUND: there is none; MCDS_CORRUPT; MCDS_UNSUPPORTED: a newer version
 * of mcds has made it; failures of reading. */
enum mcds__step mcds__root_read_step(struct mcds__root *root,
                                     struct mcds__operation *operation);
/* The same; makes it when it is missing, as generation `number`, or a new one for 0. Where it has
 * to be made, MCDS_TIMEOUT and MCDS_UNAVAILABLE do not tell whether it has been. */
enum mcds__step mcds__root_make_step(struct mcds__root *root,
                                     struct mcds__operation *operation);
/* After reading: put a new generation in the place of `number`, or erase the root. DONE with
 * MCDS_OK: `number` is no longer what lives; `root->number` is the new one, or 0. MCDS_AMBIGUOUS
 * and others. */
enum mcds__step mcds__root_replace_step(struct mcds__root *root,
                                        struct mcds__operation *operation);
/* After reading: give the root of `number` one setting, where it has none. DONE with MCDS_OK: it has
 * one, or `root->number` lives instead, 0 for none. A store without compare-and-set keeps none. */
enum mcds__step mcds__root_set_step(struct mcds__root *root, struct mcds__operation *operation,
                                    uint64_t setting);
enum mcds__step mcds__root_erase_step(struct mcds__root *root,
                                      struct mcds__operation *operation);

#endif
