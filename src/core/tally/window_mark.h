/* Window mark: the beats of one visitor, so that of all clients that report it only one counts it
 * in each window (core/tally/beats.h).
 *
 * The key holds the beats and a random token of the client that wrote the mark. Only one add
 * succeeds, and only one cas replaces a mark. The token distinguishes an own mark whose reply was
 * lost from that of another client. The key may expire when no window counts the visitor any more.
 *
 *   ADD       add mark | get mark    written, or the mark decides
 *   REPLACE   cas mark | get mark    a window has not counted the visitor */
#ifndef MCDS_CORE_TALLY_WINDOW_MARK_H
#define MCDS_CORE_TALLY_WINDOW_MARK_H

#include "core/tally/beats.h"
#include "engine/operation.h"

#define MCDS__WINDOW_MARK_LENGTH (8 + 24)

/* What a mark holds. */
struct mcds__window_beats {
    struct mcds__beats beats;
    uint64_t token;
};

/* One mark. The caller fills the first part and steps until DONE:
 *
 *   MCDS_OK         written by this call, so the caller counts the visitor
 *   MCDS_EXISTS     every window of the bucket has counted the visitor
 *   MCDS_TOO_OLD    the bucket is late
 *   MCDS_AMBIGUOUS  the reply to a write was lost
 *   others          not written */
struct mcds__window_mark {
    struct mcds__key key;
    uint64_t bucket;
    uint32_t span;
    uint64_t ttl_ms;
    struct mcds__window_beats before; /* out: before this beat, and with it */
    struct mcds__window_beats after;
    uint8_t stage; /* private, 0 at the start */
    bool doubt;
    mcds_cas_token cas; /* of the mark, if the store has returned it */
    mcds_request requests[2];
    uint8_t value[MCDS__WINDOW_MARK_LENGTH];
};

/* Set the first part but the key, and what is private. */
void mcds__window_mark_init(struct mcds__window_mark *mark, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms);

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *mark,
                                       struct mcds__operation *operation);

/* Whether the mark can be undone: only if it is unchanged. */
bool mcds__window_mark_can_undo(const struct mcds__window_mark *mark);
/* Returns the request that restores the mark that was there before. */
mcds_request mcds__window_mark_undo(struct mcds__window_mark *mark);

#endif
