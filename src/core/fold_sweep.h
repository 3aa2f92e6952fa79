/* Core fold, a sweep: which keys it asks for, and what it knows of those above them. */
#ifndef MCDS_CORE_FOLD_SWEEP_H
#define MCDS_CORE_FOLD_SWEEP_H

#include "core/fold.h"

#define MCDS__SWEEP_KEYS_MAX MCDS_BATCH_MAX
/* A slice is a 64th of all hashes. It, or the way to the next entry, takes a timeout and 15 more. */
#define MCDS__SWEEP_SLICE_SHIFT 58
#define MCDS__SWEEP_TIMEOUTS 15

enum {
    MCDS__SWEEP_BEGIN,
    MCDS__SWEEP_READING,
    MCDS__SWEEP_PARENTS,
    MCDS__SWEEP_ORPHANS,
    MCDS__SWEEP_LOCATING,
    MCDS__SWEEP_ROOT,
    MCDS__SWEEP_ENDING, /* the life */
    MCDS__SWEEP_ERASING
};

struct mcds__fold_sweep_room {
    struct mcds__key keys[MCDS__SWEEP_KEYS_MAX];
    mcds_request requests[MCDS__SWEEP_KEYS_MAX];
    struct mcds__key erased_keys[MCDS__SWEEP_KEYS_MAX];
    mcds_request erased[MCDS__SWEEP_KEYS_MAX];
    struct mcds__key marks[MCDS__SWEEP_KEYS_MAX]; /* to be erased when all below them is */
    uint8_t depths[MCDS__SWEEP_KEYS_MAX];         /* of the marks */
};

/* The last hash of the key at this depth that holds `hash`. */
uint64_t mcds__sweep_end(uint64_t hash, uint32_t depth);

/* Ask for the keys of sweep->depth from the position on; `count` is how many. As long as the root
 * has not been seen, a look at it is the last request of the batch. */
enum mcds__step mcds__sweep_ask(struct mcds__fold_sweep *sweep,
                                struct mcds__operation *operation);
/* The key above `depth` at the position is SEALED. Ask for its children from the position on
 * and, as the request after them, for the key itself: its snapshot counts for the children that
 * are missing. Nothing is written, so a store that is full can be read. */
enum mcds__step mcds__sweep_ask_below(struct mcds__fold_sweep *sweep,
                                      struct mcds__operation *operation, uint32_t depth);
/* The same once more, where the child at the position, request `number` of the batch, is missing:
 * reads of different servers have no order, so the snapshot counts for a child that was missing at
 * the look before. Between the replies of one look, the split may have ended, and the child may
 * have been changed and lost. */
enum mcds__step mcds__sweep_ask_below_again(struct mcds__fold_sweep *sweep,
                                            struct mcds__operation *operation, uint32_t number);
/* Whether the child at the position was missing at the look before. */
bool mcds__sweep_has_missed(const struct mcds__fold_sweep *sweep);
/* A key is missing. Whether that is a loss, the key above it says: ask for those above all keys
 * of the batch. */
enum mcds__step mcds__sweep_ask_parents(struct mcds__fold_sweep *sweep,
                                        struct mcds__operation *operation);
/* The key at the position is lost. It may have been split before: ask for its children. */
enum mcds__step mcds__sweep_ask_orphans(struct mcds__fold_sweep *sweep,
                                        struct mcds__operation *operation);
/* Whether one of them is there. */
bool mcds__sweep_has_orphans(const struct mcds__fold_sweep *sweep);
/* Remember which keys above the position and after it have been split: bit N of `parents` is of
 * the Nth. A child of such a key that a later read misses is lost. */
void mcds__sweep_note_parents(struct mcds__fold_sweep *sweep, uint32_t parents);
bool mcds__sweep_has_split_parent(const struct mcds__fold_sweep *sweep);

/* Erasures of the next batch: the marks that are left come first, since all below them is gone; then
 * the key at the position with its marks. */
void mcds__sweep_begin_erasures(struct mcds__fold_sweep *sweep);
bool mcds__sweep_has_room_for_erasures(const struct mcds__fold_sweep *sweep);
void mcds__sweep_add_erasures(struct mcds__fold_sweep *sweep, uint32_t depth);
/* To erase: read the root as it is now, and then erase it. When that is done, `is_proved` is set
 * and the keys are next; or DONE with a failure. */
enum mcds__step mcds__sweep_ask_root(struct mcds__fold_sweep *sweep,
                                     struct mcds__operation *operation);
enum mcds__step mcds__sweep_end_life(struct mcds__fold_sweep *sweep,
                                     struct mcds__operation *operation);

#endif
