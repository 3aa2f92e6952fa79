/* The verbs of the structures that keep elements. Each list is ended by a verb without a word. */
#ifndef MCDS_CLI_TABLE_COLLECTIONS_H
#define MCDS_CLI_TABLE_COLLECTIONS_H

#include "table/command.h"

/* The options with which a set and a log are made. */
#define FORM OPTION_BAG, OPTION_LIST
#define LOG OPTION_BY_ARRIVAL, OPTION_RETENTION, OPTION_CHUNK, OPTION_LATE, OPTION_AHEAD

extern const struct verb set_verbs[];
extern const struct verb table_verbs[];
extern const struct verb list_verbs[];
extern const struct verb log_verbs[];
extern const struct verb array_verbs[];

#endif
