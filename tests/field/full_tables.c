/* map | memcached: tables and sets on a store that is full. Every call ends in its time; what was
 * acknowledged is there, and what was refused is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "mcds.h"
#include "support/server.h"

#define EXIT_SKIPPED 77
#define ROWS 6000
#define REFUSED_MAX 300
#define VALUE 1000
#define TIMEOUT_MS 20000
#define HANG_S 600

static struct server server;
static char folder[32];
static unsigned char results[ROWS]; /* 0: refused or in doubt and gone, 1: there, 2: in doubt */
static unsigned seen[ROWS];

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static mcds_bytes name_of(unsigned number)
{
    static char text[VALUE];
    memset(text, 'n', sizeof text);
    (void)snprintf(text, sizeof text, "row %u", number);
    return (mcds_bytes){text, 200};
}

static bool see(void *context, mcds_bytes name, mcds_bytes value)
{
    unsigned number = ROWS;
    (void)context;
    (void)value;
    check(name.length == 200 && sscanf(name.at, "row %u", &number) == 1 && number < ROWS,
          "a strange row");
    seen[number]++;
    return true;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)count;
    return see(context, element, element);
}

static int write_row(mcds_table *table, mcds_set *set, unsigned number)
{
    static const char value[VALUE];
    return table != NULL ? mcds_table_put(table, name_of(number), (mcds_bytes){value, VALUE}, 0)
                         : mcds_set_add(set, name_of(number), NULL);
}

static void judge(mcds_table *table, mcds_set *set, unsigned rows)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    memset(seen, 0, sizeof seen);
    int result = table != NULL ? mcds_table_scan(table, &cursor, 0, see, NULL)
                               : mcds_set_fetch(set, see_element, NULL);
    check(result == MCDS_OK, "scan");
    for (unsigned i = 0; i < rows; i++) {
        int has = table != NULL ? mcds_table_has(table, name_of(i))
                                : mcds_set_has(set, name_of(i));
        check(has == MCDS_OK || has == MCDS_NOT_FOUND, "has");
        check(seen[i] == (has == MCDS_OK), "a scan and a look differ");
        check(results[i] == 2 || seen[i] == results[i], "not what was acknowledged");
    }
}

static void play(mcds_store *store, bool is_table)
{
    mcds_table *table = NULL;
    mcds_set *set = NULL;
    unsigned refused = 0;
    unsigned doubtful = 0;
    unsigned rows = 0;
    if (is_table)
        check(mcds_table_open(store, "t", NULL, &table) == MCDS_OK, "open");
    else
        check(mcds_set_open(store, "s", NULL, &set) == MCDS_OK, "open");
    for (; rows < ROWS && refused + doubtful < REFUSED_MAX; rows++) {
        int result = write_row(table, set, rows);
        if (result != MCDS_OK && result != MCDS_FULL && result != MCDS_AMBIGUOUS)
            (void)fprintf(stderr, "row %u after %u refused: %s\n", rows, refused,
                          mcds_strerror(result));
        check(result == MCDS_OK || result == MCDS_FULL || result == MCDS_AMBIGUOUS, "write");
        refused += result == MCDS_FULL;
        doubtful += result == MCDS_AMBIGUOUS;
        results[rows] = result == MCDS_OK ? 1 : result == MCDS_FULL ? 0 : 2;
    }
    (void)printf("%s: %u rows, %u refused, %u in doubt\n", is_table ? "table" : "set", rows,
                 refused, doubtful);
    judge(table, set, rows);
    int result = is_table ? mcds_table_drop(table) : mcds_set_drop(set);
    check(result == MCDS_OK || result == MCDS_FULL || result == MCDS_AMBIGUOUS, "drop");
    mcds_table_close(table);
    mcds_set_close(set);
}

int main(int count, char **words)
{
    static char size[] = "2";
    static char megabytes[] = "-m";
    static char keeps[] = "-M";
    static char *arguments[] = {megabytes, size, keeps, NULL};
    char uri[160];
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    bool is_map = count == 2 && strcmp(words[1], "map") == 0;
    (void)alarm(HANG_S);
    for (int is_table = 0; is_table <= 1; is_table++) {
        memset(&server, 0, sizeof server);
        server.options = arguments;
        (void)snprintf(folder, sizeof folder, "/tmp/mcds-full-XXXXXX");
        check(mkdtemp(folder) != NULL, "folder");
        if (!is_map && !server_start_memcached(&server)) {
            (void)printf("skipped: memcached is not installed\n");
            return EXIT_SKIPPED;
        }
        if (is_map)
            (void)snprintf(uri, sizeof uri, "lmdb:%s/store?sync=async&map_max=4000000", folder);
        else
            server_uri(&server, uri, sizeof uri);
        options.timeout_ms = TIMEOUT_MS;
        check(mcds_open(uri, &options, &store) == MCDS_OK, "open");
        play(store, is_table == 1);
        mcds_close(store);
        server_stop(&server);
        static const char *const files[] = {"store", "store-lock", "store-writer"};
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            char path[160];
            (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
            (void)unlink(path);
        }
        (void)rmdir(folder);
    }
    return 0;
}
