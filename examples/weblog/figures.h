/* The figures that a log is boiled down to, and where each lives in the store.
 *
 *   NAME:page:TARGET  counter   views of one page
 *   NAME:views        views     the same, where they are kept in a database
 *   NAME:lines        counter   lines read
 *   NAME:malformed    counter   lines that are no access
 *   NAME:errors       counter   responses of 400 and more
 *   NAME:error_log    log       the lines of these, in the order of their arrival
 *   NAME:hosts        visitors  distinct client hosts, over everything
 *   NAME:daily        visitors  distinct client hosts of each day (UTC)
 *   NAME:online       online    client hosts active within five minutes
 *   NAME:requests     table     how many requests came from each client host
 *   NAME:referrers    set       pages elsewhere that link here, of the Combined format
 *   NAME:largest      array     the ten largest responses
 *
 * Figures that are kept go on from run to run. Those of a run of its own are erased at its end, or
 * live for a day or two, so that trying things out leaves nothing behind in a store. */
#ifndef WEBLOG_FIGURES_H
#define WEBLOG_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "mcds.h"
#include "parse.h"

#define FIGURES_NAME_MAX 64
#define FIGURES_DAY_MS UINT64_C(86400000)
#define FIGURES_ONLINE_BUCKETS 5
#define FIGURES_ONLINE_WIDTH_MS 60000

struct figures {
    const char *uri;
    const char *ns;       /* or NULL */
    const char *database; /* where views are kept, or NULL */
    char name[FIGURES_NAME_MAX + 1];
    bool kept;
    int64_t begun_ms; /* Unix time; the same in all processes of a run */
};

/* As mcds_open(). */
int figures_open_store(const struct figures *figures, mcds_store **store_out);

/* As mcds_counter_open() and its sisters. */
int figures_open_counter(const struct figures *figures, mcds_store *store, const char *what,
                         mcds_counter **counter_out);
int figures_open_page(const struct figures *figures, mcds_store *store, struct text page,
                      mcds_counter **counter_out);
int figures_open_hosts(const struct figures *figures, mcds_store *store,
                       mcds_visitors **visitors_out);
int figures_open_daily(const struct figures *figures, mcds_store *store,
                       mcds_visitors **visitors_out);
int figures_open_online(const struct figures *figures, mcds_store *store,
                        mcds_online **online_out);
int figures_open_requests(const struct figures *figures, mcds_store *store,
                          mcds_table **table_out);
int figures_open_referrers(const struct figures *figures, mcds_store *store,
                           mcds_set **set_out);
int figures_open_error_log(const struct figures *figures, mcds_store *store,
                           mcds_log **log_out);
int figures_open_largest(const struct figures *figures, mcds_store *store,
                         mcds_array **array_out);
/* For hits alone: what reads and saves is opened by keep_open(). */
int figures_open_views(const struct figures *figures, mcds_store *store,
                       mcds_views **views_out);
/* The options of NAME:views, without what is the database's. */
mcds_views_options figures_views_options(void);
/* The name of a figure. */
#define FIGURES_LONG_MAX (FIGURES_NAME_MAX + 32)
void figures_name(const struct figures *figures, const char *what, char out[FIGURES_LONG_MAX]);

/* The time at which NAME:hosts is hit and read. */
int64_t figures_hosts_at_ms(const struct figures *figures);

/* Room for the result of figures_fit(). */
#define FIGURES_FIT_MAX 901

/* Make bytes short enough to be part of a name in a store: as they are when they have less than
 * FIGURES_FIT_MAX bytes, else their beginning, `~` and 128 bits of hash. */
void figures_fit(struct text bytes, char out[FIGURES_FIT_MAX]);

#endif
