/* Views on SQLite, by the functions of the example. */
#include "sqlite.h"

#include <unistd.h>

#include "databases/cases.h"

static char path[64];

static void forget(void)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[sizeof path + 8];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

void *database_open(bool fresh)
{
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "/tmp/mcds-views-XXXXXX");
        int file = mkstemp(path);
        assert_true(file >= 0);
        (void)close(file);
        (void)atexit(forget);
    }
    sqlite3 *database = views_sqlite_open(path);
    assert_non_null(database);
    if (fresh)
        assert_int_equal(sqlite3_exec(database, "DELETE FROM views", NULL, NULL, NULL),
                         SQLITE_OK);
    return database;
}

void database_close(void *database)
{
    views_sqlite_close(database);
}

int database_load(void *database, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    return views_sqlite_load(database, page, upto_slot, views_out);
}

int database_save(void *database, const char *page, uint64_t slot, int64_t views)
{
    return views_sqlite_save(database, page, slot, views);
}
