/* Replica: one round of writing the entry of this handle to all copies of its slot. */
#ifndef MCDS_CORE_REPLICA_WRITE_H
#define MCDS_CORE_REPLICA_WRITE_H

#include "core/replica/tombstone.h"

/* Copy the state of a slot from a read. Returns whether all copies are equal. */
bool mcds__replica_adopt_survey(struct mcds__replica *replica,
                                const struct mcds__replica_survey *survey,
                                struct mcds__operation *operation, uint32_t slot);

enum mcds__replica_prepared {
    MCDS__REPLICA_PREPARED,
    MCDS__REPLICA_MISSED,   /* the entry is missing: look whether the counter was dropped */
    MCDS__REPLICA_RESIGNED, /* the entry was settled and dropped: claim a slot again */
    MCDS__REPLICA_CROWDED   /* no room for the entry */
};

/* Put the entry into replica->state, as far as that is known. */
enum mcds__replica_prepared mcds__replica_prepare(struct mcds__replica_flush *flush);
enum mcds__step mcds__replica_ask_write(struct mcds__replica_flush *flush,
                                        struct mcds__operation *operation);

/* The result of a round. */
struct mcds__replica_round {
    uint32_t shown;   /* copies that hold the entry */
    uint32_t reached; /* copies that were read */
    uint32_t
        without_token; /* copies that were read without a CAS token: they cannot be replaced */
    uint32_t headless; /* copies without a head, where the flush wants one */
    bool conflict;     /* another client has changed a copy */
    uint32_t refused;
    const mcds_reply *refusal;
    const mcds_reply *trouble;
};

/* The entry was sent, and may arrive. */
void mcds__replica_note_sent(struct mcds__replica_flush *flush);
/* Read the replies into replica->state and replica->copy. False: damaged. */
bool mcds__replica_take_write(struct mcds__replica_flush *flush,
                              struct mcds__operation *operation,
                              struct mcds__replica_round *round_out);

#endif
