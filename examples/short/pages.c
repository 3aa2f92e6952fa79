/* pages STORE get FILE | put FILE TEXT: a cache in front of a slow source.
 *
 * The source is a file here; it may be a database, a renderer or an API. Of all programs that miss
 * a page, on all machines, one reads the source, and the others wait for its value. A value is
 * fresh for a minute. For ten minutes more it is stale: callers get it at once, and one of them
 * reads the source again. A program that changes the source forgets the page afterwards. */
#include <mcds.h>
#include <stdio.h>
#include <string.h>

#define FRESH_MS 60000
#define STALE_MS 600000
#define FILL_MS 60000 /* reading the source never takes longer */

/* Reads the source. It must be read here, not before: the claim on the page has begun. */
static int read_source(void *context, mcds_bytes page, mcds_fill *fill)
{
    char buffer[4096];
    size_t length = 0;
    int result = MCDS_OK;
    (void)page;
    FILE *file = fopen(context, "r");
    if (file == NULL) { /* every caller gets this sentence until the source is tried again */
        result = mcds_fill_add(fill, mcds_text("the source cannot be read"));
        return result == MCDS_OK ? MCDS_IO : result;
    }
    while (result == MCDS_OK && (length = fread(buffer, 1, sizeof buffer, file)) > 0)
        result = mcds_fill_add(fill, (mcds_bytes){buffer, length});
    (void)fclose(file);
    return result;
}

static int get(mcds_cache *pages, char *path)
{
    static const char *const states[] = {"", "fresh", "stale", "filled", "not stored"};
    mcds_value value = MCDS_VALUE_INIT;
    mcds_cache_state state = MCDS_CACHE_FRESH;
    int status = 69;
    switch (
        mcds_cache_fetch(pages, mcds_text(path), NULL, 0, read_source, path, &value, &state)) {
    case MCDS_OK: /* also if the store is away: state is "not stored", and the source was read */
        (void)printf("%s: %.*s\n", states[state], (int)value.length, (const char *)value.data);
        status = 0;
        break;
    case MCDS_IO: /* the source failed, and there is no stale value */
        (void)fprintf(stderr, "pages: %.*s\n", (int)value.length, (const char *)value.data);
        break;
    case MCDS_BUSY: /* another caller reads the source and takes too long: try again later */
    default: /* a fetch is never MCDS_AMBIGUOUS, and a page that the store lost is a miss */
        (void)fprintf(stderr, "pages: %s\n", mcds_errmsg());
        break;
    }
    mcds_value_free(&value);
    return status;
}

/* Changes the source, then forgets the page: no call that begins later gets the old one. If this
 * process dies in between, callers get the old page until its time is over; mcds_cache_hold
 * excludes that. */
static int put(mcds_cache *pages, const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        perror(path);
        return 73;
    }
    int result = MCDS_AMBIGUOUS;
    for (int i = 0; i < 10 && result != MCDS_OK; i++) /* repeating a forget is harmless */
        result = mcds_cache_forget(pages, mcds_text(path));
    if (result != MCDS_OK)
        (void)fprintf(stderr,
                      "pages: changed, but callers may get the old page for 11 minutes: %s\n",
                      mcds_errmsg());
    return result == MCDS_OK ? 0 : 75;
}

int main(int count, char **words)
{
    mcds_store *store = NULL;
    mcds_cache *pages = NULL;
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    options.ttl_ms = FRESH_MS;
    options.stale_ms = STALE_MS;
    options.fill_ms = FILL_MS;
    int status = 64;
    if (!(count == 4 && strcmp(words[2], "get") == 0) &&
        !(count == 5 && strcmp(words[2], "put") == 0))
        (void)fputs("usage: pages STORE get FILE | put FILE TEXT\n", stderr);
    else if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
             mcds_cache_open(store, "pages", &options, &pages) != MCDS_OK)
        (void)fprintf(stderr, "pages: %s\n", mcds_errmsg());
    else
        status = count == 4 ? get(pages, words[3]) : put(pages, words[3], words[4]);
    mcds_cache_close(pages);
    mcds_close(store);
    return status;
}
