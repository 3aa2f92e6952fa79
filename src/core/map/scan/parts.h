/* Map: the parts of a scan: the keys that it reads and erases, and the state of the keys above them. */
#ifndef MCDS_CORE_MAP_SCAN_PARTS_H
#define MCDS_CORE_MAP_SCAN_PARTS_H

#include "core/map/scan/scan.h"

#define MCDS__MAP_SCAN_KEYS_MAX MCDS_BATCH_MAX
#define MCDS__MAP_SCAN_PLAN_MAX (MCDS__MAP_CHILDREN * MCDS__MAP_SCAN_KEYS_MAX)
/* A slice is a 64th of all hashes. A slice, or finding the next entry, may take 16 timeouts. */
#define MCDS__MAP_SCAN_SLICE_SHIFT 58
#define MCDS__MAP_SCAN_TIMEOUTS 15

enum {
    MCDS__MAP_SCAN_BEGIN,
    MCDS__MAP_SCAN_READING,
    MCDS__MAP_SCAN_PARENTS,
    MCDS__MAP_SCAN_ORPHANS,
    MCDS__MAP_SCAN_LOCATING,
    MCDS__MAP_SCAN_ROOT,
    MCDS__MAP_SCAN_ENDING, /* the life */
    MCDS__MAP_SCAN_ERASING
};

struct mcds__map_scan_scratch {
    struct mcds__key keys[MCDS__MAP_SCAN_KEYS_MAX];
    mcds_request requests[MCDS__MAP_SCAN_KEYS_MAX];
    uint8_t key_depths[MCDS__MAP_SCAN_KEYS_MAX]; /* of the keys that are read */
    /* The depths of the next keys, as far as earlier replies show them. That of the key at the
     * position is at index `planned`. */
    uint8_t plan[MCDS__MAP_SCAN_PLAN_MAX];
    uint32_t planned, plan_end;
    struct mcds__key erased_keys[MCDS__MAP_SCAN_KEYS_MAX];
    mcds_request erased[MCDS__MAP_SCAN_KEYS_MAX];
    /* MOVED keys, to be erased after all keys below them. */
    struct mcds__key marks[MCDS__MAP_SCAN_KEYS_MAX];
    uint8_t depths[MCDS__MAP_SCAN_KEYS_MAX]; /* of the marks */
};

/* The last hash of the key at this depth that holds `hash`. */
uint64_t mcds__map_scan_end(uint64_t hash, uint32_t depth);

/* Adjacent keys can have different depths. After a batch with a key that is not a leaf, plan the
 * depths of the next keys from the replies to request `number` and to those after it. */
void mcds__map_scan_plan(struct mcds__map_scan *scan, uint32_t number);
/* Plan the depths of the next keys from the replies of mcds__map_scan_ask_parents. */
void mcds__map_scan_plan_below(struct mcds__map_scan *scan);
/* A key of this depth was passed. */
void mcds__map_scan_follow_plan(struct mcds__map_scan *scan, uint32_t depth);
/* Set scan->depth to that of the next key. */
void mcds__map_scan_take_depth(struct mcds__map_scan *scan);
/* Ask for keys from the position on, the first of scan->depth. Until the root has been seen, a
 * read of it is the last request of the batch. */
enum mcds__step mcds__map_scan_ask(struct mcds__map_scan *scan,
                                   struct mcds__operation *operation);
/* The key above `depth` at the position is SEALED. Ask for its children from the position on
 * and, as the request after them, for the key itself: its snapshot counts for the children that
 * are missing. Nothing is written, so a store that is full can be read. */
enum mcds__step mcds__map_scan_ask_below(struct mcds__map_scan *scan,
                                         struct mcds__operation *operation, uint32_t depth);
/* mcds__map_scan_ask_below once more, where the child at the position, request `number` of the batch, is
 * missing: reads of different servers have no order, so the snapshot counts for a child that
 * was missing at the previous read. Between the replies of one read, the split may have ended,
 * and the child may have been changed and lost. */
enum mcds__step mcds__map_scan_ask_below_again(struct mcds__map_scan *scan,
                                               struct mcds__operation *operation,
                                               uint32_t number);
/* Whether the child at the position was missing at the previous read. */
bool mcds__map_scan_has_missed(const struct mcds__map_scan *scan);
/* A key is missing. The key above it shows whether that is a loss: read the keys above all
 * keys of the batch. */
enum mcds__step mcds__map_scan_ask_parents(struct mcds__map_scan *scan,
                                           struct mcds__operation *operation);
/* The key at the position is lost. It may have been split before, and the marks below it may be
 * lost too. Ask for all keys of the two levels below it. On a few paths below these, ask for the
 * keys of all depths. */
enum mcds__step mcds__map_scan_ask_orphans(struct mcds__map_scan *scan,
                                           struct mcds__operation *operation);
/* Whether one of those keys exists. */
bool mcds__map_scan_has_orphans(const struct mcds__map_scan *scan);
/* Remember which keys above the position and after it have been split: bit N of `parents` is of
 * the Nth. A child of such a key that a later read misses is lost. */
void mcds__map_scan_note_parents(struct mcds__map_scan *scan, uint32_t parents);
bool mcds__map_scan_has_split_parent(const struct mcds__map_scan *scan);

/* The erasures of the next batch: first the remaining marks, since all keys below them are
 * gone; then the key at the position with its marks. */
void mcds__map_scan_begin_erasures(struct mcds__map_scan *scan);
bool mcds__map_scan_has_room_for_erasures(const struct mcds__map_scan *scan);
void mcds__map_scan_add_erasures(struct mcds__map_scan *scan, uint32_t depth);
/* To erase: read the current root, then erase it. When that is done, `is_proved` is set and the
 * keys are next; or DONE with a failure. */
enum mcds__step mcds__map_scan_ask_root(struct mcds__map_scan *scan,
                                        struct mcds__operation *operation);
enum mcds__step mcds__map_scan_end_life(struct mcds__map_scan *scan,
                                        struct mcds__operation *operation);

#endif
