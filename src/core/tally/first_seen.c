/* First seen: a mark for each visitor, so that one client counts it in one interval. */
#include "core/tally/first_seen.h"

static int first_seen_judge(struct mcds__mark *mark, const uint64_t *stored)
{
    bool is_own = stored[1] == mark->token && stored[0] == mark->numbers[0];
    return is_own ? MCDS_OK : MCDS_EXISTS;
}

enum mcds__step mcds__first_seen_step(struct mcds__mark *mark,
                                      struct mcds__operation *operation)
{
    static const struct mcds__mark_kind kind = {'V', 2, false, first_seen_judge};
    return mcds__mark_step(mark, &kind, operation);
}
