/* Views with a database that is empty and stores nothing. */
#ifndef MCDS_TESTS_SUPPORT_NO_DATABASE_H
#define MCDS_TESTS_SUPPORT_NO_DATABASE_H

#include "mcds.h"

mcds_views_options views_without_database(void);

#endif
