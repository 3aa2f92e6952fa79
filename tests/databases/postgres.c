/* Views on PostgreSQL. The environment says where the server is, as libpq reads it. */
#include <libpq-fe.h>
#include <string.h>

#include "databases/cases.h"

static bool command(PGconn *connection, const char *text)
{
    PGresult *result = PQexec(connection, text);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!done)
        print_error("%s", PQresultErrorMessage(result));
    PQclear(result);
    return done;
}

void *database_open(bool fresh)
{
    PGconn *connection = PQconnectdb("dbname=postgres");
    if (PQstatus(connection) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(connection));
    assert_true(command(connection, "SET client_min_messages = warning"));
    assert_true(command(connection, "CREATE TABLE IF NOT EXISTS views ("
                                    "page text, slot bigint, views bigint NOT NULL, "
                                    "PRIMARY KEY (page, slot))"));
    if (fresh)
        assert_true(command(connection, "DELETE FROM views"));
    return connection;
}

void database_close(void *database)
{
    PQfinish(database);
}

int database_load(void *database, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    char slot[24];
    (void)snprintf(slot, sizeof slot, "%lld", (long long)upto_slot);
    const char *values[] = {page, slot};
    PGresult *result = PQexecParams(database,
                                    "SELECT COALESCE(SUM(views), 0) FROM views"
                                    " WHERE page = $1 AND slot <= $2",
                                    2, NULL, values, NULL, NULL, 0);
    bool done = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    if (done)
        *views_out = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return done ? 0 : -1;
}

int database_save(void *database, const char *page, uint64_t slot, int64_t views)
{
    char slot_text[24];
    char views_text[24];
    (void)snprintf(slot_text, sizeof slot_text, "%lld", (long long)slot);
    (void)snprintf(views_text, sizeof views_text, "%lld", (long long)views);
    const char *values[] = {page, slot_text, views_text};
    PGresult *result = PQexecParams(database,
                                    "INSERT INTO views AS v (page, slot, views)"
                                    " VALUES ($1, $2, $3) ON CONFLICT (page, slot)"
                                    " DO UPDATE SET views = GREATEST(v.views, excluded.views)",
                                    3, NULL, values, NULL, NULL, 0);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return done ? 0 : -1;
}
