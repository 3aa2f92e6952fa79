/* Views: the mark, and what a hit does where it counts in an interval that the mark includes. */
#ifndef MCDS_STRUCTURES_VIEWS_MARK_H
#define MCDS_STRUCTURES_VIEWS_MARK_H

#include "structures/views/views.h"

/* One look at the mark. The caller sets `slot`, and all else is zero at the start. */
struct mcds__views_lowering {
    uint64_t slot; /* in which the hit has counted */
    uint8_t stage;
    uint8_t tries;
    mcds_request request;
    uint8_t pair[MCDS__VIEWS_PAIR];
};

/* Whether this handle looks at the mark now: at most once a second. Another caller of the handle does
 * not look then. */
bool mcds__views_takes_look(mcds_views *views, const struct mcds__operation *operation);
/* Sets the mark before the interval `slot` if it includes that interval. Ends with MCDS_OK also where
 * the mark cannot be read or set: the hit has counted. */
enum mcds__step mcds__views_lower_step(struct mcds__views_lowering *lowering, mcds_views *views,
                                       struct mcds__operation *operation);

#endif
