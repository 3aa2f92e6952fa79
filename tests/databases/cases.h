/* Views, whatever the database. Each program is one database: it defines these. */
#ifndef MCDS_TESTS_DATABASES_CASES_H
#define MCDS_TESTS_DATABASES_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcds.h"

/* A connection to the database, emptied when `fresh`. Two may be open at once. */
void *database_open(bool fresh);
void database_close(void *database);
int database_load(void *database, const char *page, uint64_t upto_slot, int64_t *views_out);
int database_save(void *database, const char *page, uint64_t slot, int64_t views);

#endif
