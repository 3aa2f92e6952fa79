/* Where each figure lives in the store. */
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Long enough for any import, and an operation that waits behind a thousand others has time. */
#define TIMEOUT_MS 10000
#define HASH_DIGITS 32
/* The last interval of a run can be saved this long after its end, and some seconds. */
#define FLUSH_MS 1000

void figures_name(const struct figures *figures, const char *what, char out[FIGURES_LONG_MAX])
{
    (void)snprintf(out, FIGURES_LONG_MAX, "%s:%s", figures->name, what);
}

int figures_open_store(const struct figures *figures, mcds_store **store_out)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.ns = figures->ns;
    options.timeout_ms = TIMEOUT_MS;
    return mcds_open(figures->uri, &options, store_out);
}

static int open_counter(const struct figures *figures, mcds_store *store, const char *name,
                        mcds_counter **counter_out)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.ttl_ms = figures->kept ? 0 : FIGURES_DAY_MS;
    return mcds_counter_open(store, name, &options, counter_out);
}

int figures_open_counter(const struct figures *figures, mcds_store *store, const char *what,
                         mcds_counter **counter_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, what, name);
    return open_counter(figures, store, name, counter_out);
}

/* Two FNV-1a sums that start apart. Enough for pages that nobody builds to collide; those who
 * do blur their own two pages. */
static void hash_text(struct text bytes, char digits[HASH_DIGITS + 1])
{
    uint64_t one = UINT64_C(0xcbf29ce484222325);
    uint64_t two = UINT64_C(0x84222325cbf29ce4);
    for (size_t i = 0; i < bytes.length; i++) {
        one = (one ^ (uint8_t)bytes.at[i]) * UINT64_C(0x100000001b3);
        two = (two ^ (uint8_t)bytes.at[i] ^ (one >> 57)) * UINT64_C(0x100000001b3);
    }
    (void)snprintf(digits, HASH_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, one, two);
}

void figures_fit(struct text bytes, char out[FIGURES_FIT_MAX])
{
    size_t kept = bytes.length;
    if (bytes.length >= FIGURES_FIT_MAX)
        kept = FIGURES_FIT_MAX - 1 - HASH_DIGITS - 1;
    memcpy(out, bytes.at, kept);
    out[kept] = '\0';
    if (kept < bytes.length) {
        out[kept] = '~';
        hash_text(bytes, out + kept + 1);
    }
}

int figures_open_page(const struct figures *figures, mcds_store *store, struct text page,
                      mcds_counter **counter_out)
{
    char fit[FIGURES_FIT_MAX];
    char name[FIGURES_NAME_MAX + FIGURES_FIT_MAX + 8];
    figures_fit(page, fit);
    (void)snprintf(name, sizeof name, "%s:page:%s", figures->name, fit);
    return open_counter(figures, store, name, counter_out);
}

static int open_visitors(const struct figures *figures, mcds_store *store, const char *what,
                         uint64_t period_ms, mcds_visitors **visitors_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, what, name);
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.period_ms = period_ms;
    return mcds_visitors_open(store, name, &options, visitors_out);
}

int figures_open_hosts(const struct figures *figures, mcds_store *store,
                       mcds_visitors **visitors_out)
{
    /* A run of its own puts all hosts into the day on which it began, and that day expires. */
    return open_visitors(figures, store, "hosts", figures->kept ? 0 : FIGURES_DAY_MS,
                         visitors_out);
}

int64_t figures_hosts_at_ms(const struct figures *figures)
{
    return figures->begun_ms;
}

int figures_open_daily(const struct figures *figures, mcds_store *store,
                       mcds_visitors **visitors_out)
{
    return open_visitors(figures, store, "daily", FIGURES_DAY_MS, visitors_out);
}

int figures_open_online(const struct figures *figures, mcds_store *store,
                        mcds_online **online_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "online", name);
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.buckets = FIGURES_ONLINE_BUCKETS;
    options.width_ms = FIGURES_ONLINE_WIDTH_MS;
    return mcds_online_open(store, name, &options, online_out);
}

int figures_open_requests(const struct figures *figures, mcds_store *store,
                          mcds_table **table_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "requests", name);
    return mcds_table_open(store, name, NULL, table_out);
}

int figures_open_referrers(const struct figures *figures, mcds_store *store, mcds_set **set_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "referrers", name);
    return mcds_set_open(store, name, NULL, set_out);
}

int figures_open_error_log(const struct figures *figures, mcds_store *store, mcds_log **log_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "error_log", name);
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    /* the lines of an old log are no older than their arrival */
    options.flags = MCDS_LOG_BY_ARRIVAL;
    return mcds_log_open(store, name, &options, log_out);
}

int figures_open_largest(const struct figures *figures, mcds_store *store,
                         mcds_array **array_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "largest", name);
    return mcds_array_open(store, name, NULL, array_out);
}

static int no_load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views_out = 0;
    return -1;
}

static int no_save(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context;
    (void)page;
    (void)slot;
    (void)views;
    return -1;
}

mcds_views_options figures_views_options(void)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    options.flush_ms = FLUSH_MS;
    return options;
}

int figures_open_views(const struct figures *figures, mcds_store *store, mcds_views **views_out)
{
    char name[FIGURES_LONG_MAX];
    figures_name(figures, "views", name);
    mcds_views_options options = figures_views_options();
    options.load = no_load;
    options.save = no_save;
    return mcds_views_open(store, name, &options, views_out);
}
