/* The database of mcds_views in SQLite: one row for each page and interval. */
#ifndef EXAMPLES_VIEWS_SQLITE_H
#define EXAMPLES_VIEWS_SQLITE_H

#include <mcds.h>
#include <sqlite3.h>

/* Open or make the file. NULL: it does not work; `path` is then told on stderr. */
sqlite3 *views_sqlite_open(const char *path);
void views_sqlite_close(sqlite3 *database);

/* For mcds_views_options; `context` is the database. */
int views_sqlite_load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
int views_sqlite_save(void *context, const char *page, uint64_t slot, int64_t views);

#endif
