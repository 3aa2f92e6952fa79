/* Views with a database that is empty and stores nothing. */
#ifndef MCDS_TESTS_SUPPORT_NO_DATABASE_H
#define MCDS_TESTS_SUPPORT_NO_DATABASE_H

#include "mcds.h"

int load_nothing(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
int save_nothing(void *context, const char *page, uint64_t slot, int64_t views);
mcds_views_options views_without_database(void);

#endif
