/* Mark: a small value under one key, by which of all clients that want to do something only one
 * does it: the one that wrote the mark.
 *
 * The mark holds one or two numbers and a random token of the client that wrote it. Only one add
 * succeeds, and only one cas replaces a mark. The token distinguishes an own mark whose reply was
 * lost from that of another client.
 *
 *   add mark | get mark    written, or the stored mark decides
 *   cas mark | get mark    to replace the stored mark */
#ifndef MCDS_CORE_TALLY_MARK_H
#define MCDS_CORE_TALLY_MARK_H

#include "engine/operation.h"

/* Numbers of a mark with its token. */
#define MCDS__MARK_NUMBERS 3
#define MCDS__MARK_LENGTH (8 + 8 * MCDS__MARK_NUMBERS)

/* One mark. The caller fills the first part and steps until DONE:
 *
 *   MCDS_OK         written by this call
 *   MCDS_AMBIGUOUS  the reply to a write was lost
 *   others          not written; or what the judge has returned */
struct mcds__mark {
    struct mcds__key key;
    uint64_t ttl_ms;
    uint64_t numbers[MCDS__MARK_NUMBERS - 1]; /* to write; the token follows */
    uint64_t token;                           /* private from here; 0 at the start */
    uint8_t stage;                            /* MCDS__MARK_BEGIN at the start */
    bool doubt;                               /* the reply to a write was lost */
    mcds_cas_token cas;                       /* of the mark, if the store has returned it */
    mcds_request requests[2];
    uint8_t value[MCDS__MARK_LENGTH];
};
enum { MCDS__MARK_BEGIN, MCDS__MARK_ASKED };

/* Returned by a judge that has set new numbers: replace the stored mark. */
#define MCDS__MARK_REPLACE 1

struct mcds__mark_kind {
    char type;     /* of the frame, version 1 */
    uint8_t count; /* of the numbers, with the token */
    bool replaces; /* the stored mark is always read */
    /* Judges the stored mark where the write was refused or its reply lost. MCDS_OK: it is that
     * of this call. Others are the result. */
    int (*judge)(struct mcds__mark *mark, const uint64_t *stored);
};

/* Set everything but the key and the numbers. */
void mcds__mark_init(struct mcds__mark *mark, uint64_t ttl_ms);

enum mcds__step mcds__mark_step(struct mcds__mark *mark, const struct mcds__mark_kind *kind,
                                struct mcds__operation *operation);

/* Whether the mark can be undone: only if it is unchanged. */
static inline bool mcds__mark_can_undo(const struct mcds__mark *mark)
{
    return mark->cas.connection != 0;
}
/* The request that erases it. */
mcds_request mcds__mark_undo(const struct mcds__mark *mark);

#endif
