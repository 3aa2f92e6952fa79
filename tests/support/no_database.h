/* Views whose database is empty and forgets. */
#ifndef MCDS_TESTS_SUPPORT_NO_DATABASE_H
#define MCDS_TESTS_SUPPORT_NO_DATABASE_H

#include "mcds.h"

mcds_views_options views_without_database(void);

#endif
