/* The reasons of failures, as clauses of a sentence. */
#include "base/reason.h"

const mcds_reason mcds__reasons[MCDS__REASON_COUNT] = {
#define PLAIN(name, why, words) {.cause = MCDS_CAUSE_##why, .text = (words)},
#define ERROR(name, why, error, words)                                                         \
    {.cause = MCDS_CAUSE_##why, .os_error = (error), .text = (words)},
#define OPTION(name, why, which, number, words)                                                \
    {.cause = MCDS_CAUSE_##why, .text = (words), .option = (which), .found = (number)},
    MCDS__REASON_MAP(PLAIN, ERROR, OPTION)
#undef PLAIN
#undef ERROR
#undef OPTION
};

const mcds_reason *mcds__reason_without_eviction(const mcds_reason *why)
{
    static const struct {
        const mcds_reason *evicting;
        const mcds_reason *other;
    } list[] = {
        {MCDS__WHY(PART_GONE), MCDS__WHY(PART_MISSING)},
        {MCDS__WHY(LEASE_LOST), MCDS__WHY(LEASE_MISSING)},
        {MCDS__WHY(VALUE_BLOCK_GONE), MCDS__WHY(VALUE_BLOCK_MISSING)},
        {MCDS__WHY(JOBS_GONE), MCDS__WHY(JOBS_MISSING)},
        {MCDS__WHY(JOB_LIST_GONE), MCDS__WHY(PART_MISSING)},
        {MCDS__WHY(JOBS_GONE_UNTIL_DROPPED), MCDS__WHY(JOBS_MISSING_UNTIL_DROPPED)},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i].evicting == why)
            return list[i].other;
    return why;
}
