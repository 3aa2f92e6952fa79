/* The reasons of failures, as clauses of a sentence. */
#include "base/reason.h"

#include <stddef.h>

const mcds_reason mcds__reasons[MCDS__REASON_COUNT] = {
#define REASON(name, why, error, which, number, words)                                         \
    {.cause = MCDS_CAUSE_##why,                                                                \
     .os_error = (error),                                                                      \
     .text = (words),                                                                          \
     .option = (which),                                                                        \
     .found = (number)},
    MCDS__REASON_MAP(REASON)
#undef REASON
};
