/* Core share: one round of writing our entry to all copies of our slot. */
#ifndef MCDS_CORE_SHARE_WRITE_H
#define MCDS_CORE_SHARE_WRITE_H

#include "core/share.h"

uint32_t mcds__share_now_s(const mcds_env *env);

/* Take over what a look has shown of a slot. Returns whether all copies hold it alike. */
bool mcds__share_adopt_look(struct mcds__share *share, const struct mcds__share_look *look,
                            const mcds_batch *batch, uint32_t slot);

enum mcds__share_prepared {
    MCDS__SHARE_PREPARED,
    MCDS__SHARE_RESIGNED, /* our entry was settled and forgotten: claim a slot anew */
    MCDS__SHARE_CROWDED   /* no room for our entry */
};

/* Bring our entry into share->state, as far as that is known. */
enum mcds__share_prepared mcds__share_prepare(struct mcds__share_flush *flush);
enum mcds__step mcds__share_ask_write(struct mcds__share_flush *flush,
                                      struct mcds__operation *operation);

/* What a round has shown. */
struct mcds__share_round {
    uint32_t shown;   /* copies that hold our entry */
    uint32_t reached; /* copies that were seen */
    bool conflict;    /* another has changed a copy */
    uint32_t refused;
    const mcds_reply *refusal;
    const mcds_reply *trouble;
};

/* The entry was sent, and may land. */
void mcds__share_note_sent(struct mcds__share_flush *flush);
/* Read the replies into share->state and share->copy. False: damaged. */
bool mcds__share_take_write(struct mcds__share_flush *flush, struct mcds__operation *operation,
                            struct mcds__share_round *round_out);

#endif
