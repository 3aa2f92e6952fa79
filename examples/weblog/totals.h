/* The figures as they stand in the store. */
#ifndef WEBLOG_TOTALS_H
#define WEBLOG_TOTALS_H

#include <stdint.h>

#include "figures.h"
#include "names.h"

#define TOTALS_DAYS_MAX 31

struct totals {
    uint64_t lines;
    uint64_t malformed;
    uint64_t errors;
    uint64_t visitors; /* distinct client hosts */
};

struct day {
    int64_t at_ms; /* its beginning, UTC */
    uint64_t visitors;
};

/* What only a report for people shows. */
struct details {
    struct day days[TOTALS_DAYS_MAX]; /* the newest, in order */
    uint32_t day_count;
    uint64_t online_peak;
    int64_t online_peak_ms; /* 0: nobody was ever online */
};

/* All return an mcds_result. */
int totals_read(const struct figures *figures, mcds_store *store, struct totals *totals);
/* Who is online now. */
int totals_read_online(const struct figures *figures, mcds_store *store, uint64_t *online);
/* The views of every page. */
int totals_read_pages(const struct figures *figures, mcds_store *store, struct names *pages);
/* From the oldest to the newest time in the log. What the store keeps about who was online
 * expires some minutes after it was counted, so the peak of an import that takes longer is that
 * of its end. */
int totals_read_details(const struct figures *figures, mcds_store *store, int64_t first_ms,
                        int64_t last_ms, struct details *details);

#endif
