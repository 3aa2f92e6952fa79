/* Views that are kept in an SQLite database: opened, saved and read by the process that feeds the
 * others. */
#ifndef WEBLOG_KEEP_H
#define WEBLOG_KEEP_H

#include <stdbool.h>

#include "figures.h"
#include "mcds.h"
#include "names.h"

struct keep {
    void *database; /* NULL: views are not kept */
    mcds_store *store;
    mcds_views *views;
    double saved_s; /* monotonic: when it was last saved */
    const char *failure;
};

/* Where figures->database says. Nothing to do without it. False: see keep->failure. */
bool keep_open(struct keep *keep, const struct figures *figures, mcds_store *store);
void keep_close(struct keep *keep);

/* Save what can be saved, when the last time is some seconds ago. Returns an mcds_result. */
int keep_save_sometimes(struct keep *keep);
/* Wait until the last interval has ended, some seconds, and save it. Returns an mcds_result. */
int keep_save_all(struct keep *keep);

/* The views of every page, in all. Returns an mcds_result. */
int keep_read_pages(struct keep *keep, struct names *pages);

#endif
