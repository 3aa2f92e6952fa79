/* views DATABASE hit PAGE [N] | get PAGE | flush
 *
 * Counts the views of pages in the store that $MCDS_STORE names, and keeps them in an SQLite
 * database. Any number of these, on any number of machines, may run at once; one of them should
 * flush about every minute. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite.h"

#define EXIT_USAGE 64
#define EXIT_UNAVAILABLE 69
#define HITS_MAX 1000000

static int complain(void)
{
    (void)fprintf(stderr, "views: %s\n", mcds_errmsg());
    return EXIT_UNAVAILABLE;
}

static int usage(void)
{
    (void)fputs("usage: views DATABASE hit PAGE [N] | get PAGE | flush\n", stderr);
    return EXIT_USAGE;
}

static int hit(mcds_views *views, const char *page, const char *times)
{
    char *end = NULL;
    errno = 0;
    unsigned long n = times != NULL ? strtoul(times, &end, 10) : 1;
    if (times != NULL && (end == times || *end != '\0' || errno != 0 || n > HITS_MAX))
        return usage();
    return mcds_views_hit(views, page, (uint32_t)n) == MCDS_OK ? 0 : complain();
}

static int get(mcds_views *views, const char *page)
{
    int64_t value;
    if (mcds_views_get(views, page, &value) != MCDS_OK)
        return complain();
    (void)printf("%lld\n", (long long)value);
    return 0;
}

static int run(mcds_views *views, int argc, char **argv)
{
    if (argc >= 4 && argc <= 5 && strcmp(argv[2], "hit") == 0)
        return hit(views, argv[3], argc == 5 ? argv[4] : NULL);
    if (argc == 4 && strcmp(argv[2], "get") == 0)
        return get(views, argv[3]);
    if (argc == 3 && strcmp(argv[2], "flush") == 0)
        return mcds_views_flush(views) == MCDS_OK ? 0 : complain();
    return usage();
}

int main(int argc, char **argv)
{
    const char *uri = getenv("MCDS_STORE");
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_store *store = NULL;
    mcds_views *views = NULL;
    if (argc < 3)
        return usage();
    sqlite3 *database = views_sqlite_open(argv[1]);
    if (database == NULL)
        return EXIT_UNAVAILABLE;
    options.load = views_sqlite_load;
    options.save = views_sqlite_save;
    options.context = database;
    int code = EXIT_UNAVAILABLE;
    if (mcds_open(uri != NULL ? uri : "lmdb:views.mcds", NULL, &store) != MCDS_OK ||
        mcds_views_open(store, "pages", &options, &views) != MCDS_OK)
        (void)complain();
    else
        code = run(views, argc, argv);
    mcds_views_close(views);
    mcds_close(store);
    views_sqlite_close(database);
    return code;
}
