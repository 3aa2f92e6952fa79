/* Core fold: what the changes of one handle owe each other: numbers, places, turns. */
#ifndef MCDS_CORE_FOLD_TURN_H
#define MCDS_CORE_FOLD_TURN_H

#include "core/fold.h"

void mcds__fold_take_number(struct mcds__fold *fold, struct mcds__fold_change *change,
                            uint32_t *low_out);
void mcds__fold_give_number(struct mcds__fold_change *change);
int64_t mcds__fold_take_place(struct mcds__fold *fold, int64_t wall_ns);

/* Whether the change may append to its key at this depth now. */
bool mcds__fold_has_turn(struct mcds__fold_change *change, uint32_t depth);
/* Its append to the key is on its way, or has been answered. */
void mcds__fold_take_turn(struct mcds__fold_change *change);
void mcds__fold_give_turn(struct mcds__fold_change *change);

bool mcds__fold_is_founder(struct mcds__fold_change *change);
void mcds__fold_resign(struct mcds__fold_change *change);

/* What became of the record, from the value that was read after the append. */
int mcds__fold_read_code(struct mcds__fold_change *change, struct mcds__operation *operation);

/* The key is there now, and took no append. memcached answers NOT_STORED where it has no memory, and
 * where the key was missing and another has made it since: a look before the append and one after
 * it distinguish these. Fill the three requests; take their replies, and leave those of the append
 * and the look after it where they always are. True: the key was there all the time. */
void mcds__fold_fill_room_check(struct mcds__fold_change *change);
bool mcds__fold_take_room_check(struct mcds__fold_change *change);

#endif
