/* SQLite as programs commonly use it: a write-ahead log, prepared statements, and connections
 * that wait for each other. */
#include "peers/peers.h"

#include <stddef.h>

#ifdef BENCH_SQLITE
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "thread_pool.h"

enum statement { ADD, GET, BEGIN, COMMIT, STATEMENT_COUNT };

/* Used by one thread at a time, as in most programs. */
struct connection {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

struct sqlite_connections {
    _Atomic int64_t left; /* operations */
    pthread_mutex_t mutex;
    pthread_cond_t none_left;
    struct connection list[THREAD_POOL_MAX];
};

/* As sqlite3_busy_timeout() does, but only while there are operations left: a round ends when
 * its work is done. */
static int wait_for_others(void *context, int tries)
{
    static const int pauses_ms[] = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100};
    static const int last = sizeof pauses_ms / sizeof pauses_ms[0] - 1;
    struct sqlite_connections *connections = context;
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += pauses_ms[tries < last ? tries : last] * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&connections->mutex);
    while (connections->left > 0 &&
           pthread_cond_timedwait(&connections->none_left, &connections->mutex, &until) == 0) {
    }
    (void)pthread_mutex_unlock(&connections->mutex);
    return connections->left > 0;
}

static char names[COUNTERS][COUNTER_NAME_MAX];

static bool prepare(struct connection *connection)
{
    static const char *const texts[STATEMENT_COUNT] = {
        ("INSERT INTO counters (name, value) VALUES (?, 1) "
         "ON CONFLICT (name) DO UPDATE SET value = value + 1"),
        "SELECT value FROM counters WHERE name = ?", "BEGIN IMMEDIATE", "COMMIT"};
    for (int i = 0; i < STATEMENT_COUNT; i++)
        if (sqlite3_prepare_v2(connection->database, texts[i], -1, &connection->statements[i],
                               NULL) != SQLITE_OK)
            return false;
    return true;
}

static bool connection_open(struct connection *connection, const char *path,
                            struct sqlite_connections *all)
{
    static const char settings[] =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE IF NOT EXISTS counters"
        " (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID";
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    return sqlite3_open_v2(path, &connection->database, flags, NULL) == SQLITE_OK &&
           sqlite3_exec(connection->database, settings, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_busy_handler(connection->database, wait_for_others, all) == SQLITE_OK &&
           prepare(connection);
}

static void connection_close(struct connection *connection)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        (void)sqlite3_finalize(connection->statements[i]);
    (void)sqlite3_close(connection->database);
}

/* Bind the counter's name. */
static bool name_counter(struct connection *connection, enum statement which, uint32_t counter)
{
    return sqlite3_bind_text(connection->statements[which], 1, names[counter], -1,
                             SQLITE_STATIC) == SQLITE_OK;
}

/* Run the statement to its end; returns the result of its first step. */
static int carry_out(struct connection *connection, enum statement which)
{
    sqlite3_stmt *statement = connection->statements[which];
    int result = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    return result;
}

/* So that all counters exist. */
static bool add_all(struct connection *connection)
{
    bool fine = carry_out(connection, BEGIN) == SQLITE_DONE;
    for (uint32_t i = 0; fine && i < COUNTERS; i++) {
        counter_name(i, names[i]);
        fine = name_counter(connection, ADD, i) && carry_out(connection, ADD) == SQLITE_DONE;
    }
    return fine && carry_out(connection, COMMIT) == SQLITE_DONE;
}

const char *sqlite_open(struct sqlite *sqlite, const char *path, uint32_t threads)
{
    struct sqlite_connections *connections = calloc(1, sizeof *connections);
    *sqlite = (struct sqlite){.threads = threads, .connections = connections};
    if (connections == NULL)
        return "SQLite: out of memory";
    (void)pthread_mutex_init(&connections->mutex, NULL);
    (void)pthread_cond_init(&connections->none_left, NULL);
    bool fine = true;
    for (uint32_t i = 0; fine && i < threads; i++)
        fine = connection_open(&connections->list[i], path, connections);
    if (fine && add_all(&connections->list[0]))
        return NULL;
    sqlite_close(sqlite);
    return "SQLite cannot make its file";
}

void sqlite_close(struct sqlite *sqlite)
{
    struct sqlite_connections *connections = sqlite->connections;
    if (connections == NULL)
        return;
    for (uint32_t i = 0; i < sqlite->threads; i++)
        connection_close(&connections->list[i]);
    (void)pthread_cond_destroy(&connections->none_left);
    (void)pthread_mutex_destroy(&connections->mutex);
    free(connections);
    *sqlite = (struct sqlite){0};
}

static void count_one(struct sqlite_connections *connections)
{
    if (atomic_fetch_sub(&connections->left, 1) != 1)
        return;
    (void)pthread_mutex_lock(&connections->mutex);
    (void)pthread_cond_broadcast(&connections->none_left);
    (void)pthread_mutex_unlock(&connections->mutex);
}

static bool add_some(void *state, uint32_t thread, uint64_t operations)
{
    struct sqlite_connections *connections = state;
    (void)operations;
    while (connections->left > 0) {
        struct connection *connection = &connections->list[thread];
        if (!name_counter(connection, ADD, 0))
            return false;
        int result = carry_out(connection, ADD);
        if (result == SQLITE_DONE)
            count_one(connections);
        else if (result != SQLITE_BUSY)
            return false;
    }
    return true;
}

bool sqlite_add(void *state, uint64_t operations)
{
    struct sqlite *sqlite = state;
    atomic_store(&sqlite->connections->left, (int64_t)operations);
    return thread_pool_run(sqlite->threads, operations, add_some, sqlite->connections);
}

bool sqlite_add_batches(void *state, uint64_t operations)
{
    struct connection *connection = ((struct sqlite *)state)->connections->list;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i += BATCH) {
        if (carry_out(connection, BEGIN) != SQLITE_DONE)
            return false;
        for (uint32_t j = 0; j < BATCH; j++)
            if (!name_counter(connection, ADD, throw_counter(&dice)) ||
                carry_out(connection, ADD) != SQLITE_DONE)
                return false;
        if (carry_out(connection, COMMIT) != SQLITE_DONE)
            return false;
    }
    return true;
}

bool sqlite_get(void *state, uint64_t operations)
{
    struct connection *connection = ((struct sqlite *)state)->connections->list;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i++) {
        sqlite3_stmt *statement = connection->statements[GET];
        bool fine = name_counter(connection, GET, throw_counter(&dice)) &&
                    sqlite3_step(statement) == SQLITE_ROW &&
                    sqlite3_column_int64(statement, 0) > 0;
        if (sqlite3_reset(statement) != SQLITE_OK || !fine)
            return false;
    }
    return true;
}

#else

const char *sqlite_open(struct sqlite *sqlite, const char *path, uint32_t threads)
{
    (void)sqlite, (void)path, (void)threads;
    return "built without sqlite3";
}

void sqlite_close(struct sqlite *sqlite)
{
    (void)sqlite;
}

bool sqlite_add(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool sqlite_add_batches(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool sqlite_get(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
