/* Window mark: the beats of one visitor in a mark (core/tally/mark.h), so that of all clients that
 * report it only one counts it in each window (core/tally/beats.h).
 *
 * The key may expire when no window counts the visitor any more.
 *
 * Payload of the frame (type 'O', version 1): newest bucket u64 | bits u64 | token u64 */
#ifndef MCDS_CORE_TALLY_WINDOW_MARK_H
#define MCDS_CORE_TALLY_WINDOW_MARK_H

#include "core/tally/beats.h"
#include "core/tally/mark.h"

/* The caller initialises it, fills in `mark.key`, and steps until DONE. Results beside those of a
 * mark, where MCDS_OK means that the caller counts the visitor:
 *
 *   MCDS_EXISTS     every window of the bucket has counted the visitor
 *   MCDS_TOO_OLD    the bucket is late */
struct mcds__window_mark {
    struct mcds__mark mark;
    uint64_t bucket;
    uint32_t span;
    struct mcds__beats before; /* out: before this beat, and with it */
    struct mcds__beats after;
    uint64_t token_before; /* private: of the mark that was there before */
};

/* Set everything but the key. */
void mcds__window_mark_init(struct mcds__window_mark *window, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms);

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *window,
                                       struct mcds__operation *operation);

/* Returns the request that restores the mark that was there before. */
mcds_request mcds__window_mark_undo(struct mcds__window_mark *window);

#endif
