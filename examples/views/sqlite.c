/* The database of mcds_views in SQLite: one row for each page and interval.
 *
 * Numbers are absolute, and the larger of the stored and the new number stays. So an interval may
 * be saved twice, and by two programs at once. */
#include "sqlite.h"

#include <stdio.h>

#define BUSY_MS 5000

static const char schema[] = "CREATE TABLE IF NOT EXISTS views ("
                             " page TEXT NOT NULL, slot INTEGER NOT NULL,"
                             " views INTEGER NOT NULL, PRIMARY KEY (page, slot)"
                             ") WITHOUT ROWID";
static const char load_text[] = "SELECT COALESCE(SUM(views), 0) FROM views"
                                " WHERE page = ?1 AND slot <= ?2";
static const char save_text[] = "INSERT INTO views (page, slot, views) VALUES (?1, ?2, ?3)"
                                " ON CONFLICT (page, slot)"
                                " DO UPDATE SET views = MAX(views, excluded.views)";

sqlite3 *views_sqlite_open(const char *path)
{
    sqlite3 *database = NULL;
    if (sqlite3_open(path, &database) == SQLITE_OK &&
        sqlite3_busy_timeout(database, BUSY_MS) == SQLITE_OK &&
        sqlite3_exec(database, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(database, schema, NULL, NULL, NULL) == SQLITE_OK)
        return database;
    (void)fprintf(stderr, "views: %s: %s\n", path, sqlite3_errmsg(database));
    (void)sqlite3_close(database);
    return NULL;
}

void views_sqlite_close(sqlite3 *database)
{
    (void)sqlite3_close(database);
}

int views_sqlite_load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    sqlite3_stmt *statement = NULL;
    int done = -1;
    if (sqlite3_prepare_v2(context, load_text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, page, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)upto_slot) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        *views_out = sqlite3_column_int64(statement, 0);
        done = 0;
    }
    (void)sqlite3_finalize(statement);
    return done;
}

int views_sqlite_save(void *context, const char *page, uint64_t slot, int64_t views)
{
    sqlite3_stmt *statement = NULL;
    int done = -1;
    if (sqlite3_prepare_v2(context, save_text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, page, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)slot) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 3, views) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_DONE)
        done = 0;
    (void)sqlite3_finalize(statement);
    return done;
}
