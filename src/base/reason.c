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
