/* First seen: a mark for each visitor (core/tally/mark.h), so that of all clients that see it in
 * one interval only one counts it.
 *
 * The key contains the number of the interval; the mark holds it too, as numbers[0]. A repeated
 * add is followed by a get of the mark. Results beside those of a mark:
 *
 *   MCDS_EXISTS     written before, by any client
 *
 * Payload of the frame (type 'V', version 1): interval u64 | token u64 */
#ifndef MCDS_CORE_TALLY_FIRST_SEEN_H
#define MCDS_CORE_TALLY_FIRST_SEEN_H

#include "core/tally/mark.h"

enum mcds__step mcds__first_seen_step(struct mcds__mark *mark,
                                      struct mcds__operation *operation);

#endif
