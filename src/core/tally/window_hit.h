/* Window hit: write the mark of a visitor, then add to each window that has not counted it.
 *
 *   MARK    core/tally/window_mark.h
 *   COUNT   increment of the number of each such window; where it is missing, add it
 *   UNDO    of the mark, where nothing was counted
 *
 * A mark is never written after a number, so a lost reply or a crash can leave a visitor
 * uncounted, but cannot count it twice. */
#ifndef MCDS_CORE_TALLY_WINDOW_HIT_H
#define MCDS_CORE_TALLY_WINDOW_HIT_H

#include "core/tally/tally.h"
#include "core/tally/window_mark.h"

/* Numbers that one batch changes. */
#define MCDS__WINDOW_HIT_KEYS 8

struct mcds__window_hit_count {
    struct mcds__key key;
    uint64_t bucket;
    uint64_t delta;
    uint8_t state; /* private */
    char text[24];
};

/* One hit. The caller initialises it, fills in `mark.mark.key` and `counts`, and steps until DONE:
 *
 *   MCDS_OK         counted in each window of the bucket
 *   MCDS_EXISTS     each of them had counted the visitor before
 *   MCDS_TOO_OLD    not counted: the bucket is late
 *   MCDS_AMBIGUOUS  counted once or not at all in each window of the bucket
 *   others          not counted */
struct mcds__window_hit {
    struct mcds__window_mark mark;
    struct mcds__key counts; /* prefix of the keys of the numbers */
    /* Of the numbers that this handle has seen, by bucket modulo `memory_count`. */
    struct mcds__tally_memory *memories;
    uint32_t memory_count;
    uint8_t stage; /* private, as all that follow; 0 at the start */
    bool counted;  /* in a window, or perhaps */
    bool doubt;
    uint32_t repeats; /* batches that a missing or a made number has cost */
    uint32_t offset;  /* from the bucket: the next window to look at */
    uint32_t count;   /* of `windows` */
    uint32_t incarnation;
    int result;
    struct mcds__window_hit_count windows[MCDS__WINDOW_HIT_KEYS];
    mcds_request requests[MCDS__WINDOW_HIT_KEYS];
};

/* Set everything but the keys and the memories; marks and numbers live for ttl_ms. */
void mcds__window_hit_init(struct mcds__window_hit *hit, uint64_t bucket, uint32_t span,
                           uint64_t ttl_ms);

enum mcds__step mcds__window_hit_step(struct mcds__window_hit *hit,
                                      struct mcds__operation *operation);

#endif
