/* The reasons of failures, as clauses of a sentence: each clause once, with its cause. */
#ifndef MCDS_BASE_REASON_H
#define MCDS_BASE_REASON_H

#include <assert.h>
#include <errno.h>

#include "base/reasons/options.h"
#include "base/reasons/stores.h"
#include "base/reasons/structures.h"
#include "mcds/backend.h"

/* Name; cause; E: its errno; O: the option that is wrong, and its value; the clause, which
 * follows the names of structure, verb and server in the sentence. */
#define MCDS__REASON_MAP(X, E, O)                                                              \
    MCDS__REASONS_OF_STORES(X, E)                                                              \
    MCDS__REASONS_OF_STRUCTURES(X)                                                             \
    MCDS__REASONS_OF_OPTIONS(X, O)

enum mcds__reason_id {
#define MCDS__REASON_ID(name, ...) MCDS__REASON_##name,
    MCDS__REASON_MAP(MCDS__REASON_ID, MCDS__REASON_ID, MCDS__REASON_ID)
#undef MCDS__REASON_ID
        MCDS__REASON_COUNT
};

extern const mcds_reason mcds__reasons[MCDS__REASON_COUNT];

/* The reason for a loss in a store that evicts nothing, in place of `why`, which blames restarts and
 * eviction; other reasons are returned unchanged. */
const mcds_reason *mcds__reason_without_eviction(const mcds_reason *why);

/* The reason of this name. */
#define MCDS__WHY(name) (&mcds__reasons[MCDS__REASON_##name])

/* The reason that a list has for a code of the system or of a library, or the last of the list. */
struct mcds__code_reason {
    int code;
    const mcds_reason *why;
};
static inline const mcds_reason *mcds__reason_of(int code, const struct mcds__code_reason *list,
                                                 size_t count)
{
    assert(count > 0);
    while (count-- > 1 && list->code != code)
        list++;
    return list->why;
}

#endif
