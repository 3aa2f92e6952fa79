/* online STORE VISITOR: an HTML page that says who is online, for a CGI script.
 *
 * The number comes from the online counter "site": one round trip for any number of visitors. The
 * names come from the table "names", whose entries expire after the same five minutes. */
#include <inttypes.h>
#include <mcds.h>
#include <stdio.h>

#define MINUTES 5
#define MINUTE_MS 60000
#define NAMES_MAX 20 /* that the page shows */

static void print_escaped(mcds_bytes text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = ((const char *)text.data)[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            (void)printf("&#%d;", c);
        else
            (void)putchar(c);
    }
}

static bool print_name(void *context, mcds_bytes name, mcds_bytes value)
{
    (void)context;
    (void)value;
    (void)printf("<li>");
    print_escaped(name);
    (void)printf("</li>\n");
    return true;
}

/* A page is shown in any case. A visitor who is not noted appears with the next request. */
static void note(mcds_online *site, mcds_table *names, const char *visitor)
{
    int result = mcds_online_beat(site, visitor, 0);
    if (result == MCDS_OK || result == MCDS_EXISTS) /* EXISTS: counted before in this minute */
        result = mcds_table_put(names, mcds_text(visitor), mcds_text(""), MINUTES * MINUTE_MS);
    if (result == MCDS_AMBIGUOUS) /* noted or not; the next request says the same again */
        (void)fprintf(stderr, "online: %s may be missing: %s\n", visitor, mcds_errmsg());
    else if (result != MCDS_OK) /* BUSY, TIMEOUT, UNAVAILABLE: not noted. LOST: see render */
        (void)fprintf(stderr, "online: %s is not noted: %s\n", visitor, mcds_errmsg());
}

static void render(mcds_online *site, mcds_table *names)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    (void)printf("Content-Type: text/html; charset=utf-8\n\n<title>Who is online</title>\n");
    int result = mcds_online_get(site, 0, &value);
    if (result == MCDS_NOT_FOUND)
        (void)printf("<h1>Nobody is online</h1>\n");
    else if (result != MCDS_OK) /* BUSY, LOST, TIMEOUT, UNAVAILABLE: the page does without it */
        (void)printf("<h1>Online: unknown</h1>\n");
    else /* reborn: the store has lost beats, which come again within a minute or so */
        (void)printf("<h1>Online: %s%" PRIu64 "</h1>\n", value.reborn ? "at least " : "",
                     value.closed + value.current);
    (void)printf("<ul>\n");
    result = mcds_table_scan(names, &cursor, NAMES_MAX, print_name, NULL);
    (void)printf("</ul>\n");
    if (result == MCDS_LOST) /* the store has lost some names; those visitors come back */
        (void)printf("<p>Some names are missing.</p>\n");
    else if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        (void)printf("<p>The names are not available.</p>\n");
}

int main(int count, char **words)
{
    if (count != 3) {
        (void)fputs("usage: online STORE VISITOR\n", stderr);
        return 64;
    }
    mcds_store *store = NULL;
    mcds_online *site = NULL;
    mcds_table *names = NULL;
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.buckets = MINUTES;
    options.width_ms = MINUTE_MS;
    int status = 69;
    if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
        mcds_online_open(store, "site", &options, &site) != MCDS_OK ||
        mcds_table_open(store, "names", NULL, &names) != MCDS_OK) {
        (void)fprintf(stderr, "online: %s\n", mcds_errmsg());
    } else {
        note(site, names, words[2]);
        render(site, names);
        status = 0;
    }
    mcds_table_close(names);
    mcds_online_close(site);
    mcds_close(store);
    return status;
}
