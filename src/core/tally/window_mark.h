/* Window mark: the beats of one visitor in a mark (core/tally/mark.h), so that of all clients that
 * report it only one counts it in each window (core/tally/beats.h).
 *
 * The key may expire when no window counts the visitor any more.
 *
 * In a pipeline the beats of one visitor wait in a line (engine/line.h). The first of the line reads
 * and writes the mark for a group: itself, and those that waited when it began. One write adds the
 * buckets of all, in the order of the line, and each beat gets the set before and after its own
 * bucket, as if it had been written alone. If the reply to a write is lost, all of the group are in
 * doubt. If the first fails, the next of the group becomes the first. Only the last beat that a write
 * has added can be undone.
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
    uint64_t token_before; /* private, as all that follow: of the mark that was there before */
    struct mcds__operation *operation; /* of which this is a part */
    struct mcds__beats written;        /* by the last cas, for the group */
    uint32_t followers;                /* of its group, in the line after it */
    int verdict;                       /* for the beats that were read or written last */
    bool is_decided;                   /* by the first of its group */
};

/* Set everything but the key. */
void mcds__window_mark_init(struct mcds__window_mark *window, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms);

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *window,
                                       struct mcds__operation *operation);

/* Returns the request that restores the mark that was there before. */
mcds_request mcds__window_mark_undo(struct mcds__window_mark *window);

#endif
