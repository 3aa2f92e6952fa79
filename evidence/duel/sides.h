/* All sides, the article's before ours, structure by structure. Each list ends with a side without
 * a name. */
#ifndef MCDS_EVIDENCE_DUEL_SIDES_H
#define MCDS_EVIDENCE_DUEL_SIDES_H

#include "duel/match.h"

extern const struct side counter_sides[];
extern const struct side lock_sides[];
extern const struct side visitors_sides[];
extern const struct side online_sides[];
extern const struct side views_sides[];
extern const struct side array_sides[];
extern const struct side list_sides[];
extern const struct side table_sides[];
extern const struct side log_sides[];

#endif
