/* The structures of a run, opened in one store. */
#ifndef WEBLOG_SHEET_H
#define WEBLOG_SHEET_H

#include "figures.h"
#include "mcds.h"

struct sheet {
    const struct figures *figures;
    mcds_store *store;
    mcds_counter *lines;
    mcds_counter *malformed;
    mcds_counter *errors;
    mcds_visitors *hosts;
    mcds_visitors *daily;
    mcds_online *online;
    mcds_table *requests;
    mcds_set *referrers;
    mcds_log *error_log;
    mcds_array *largest;
    mcds_views *views; /* NULL: views are in counters */
};

/* Returns an mcds_result; sheet_close() is needed even after a failure. */
int sheet_open(struct sheet *sheet, const struct figures *figures, mcds_store *store);
/* Does not close the store. */
void sheet_close(struct sheet *sheet);

/* Erase what does not expire by itself. Returns an mcds_result. */
int sheet_forget(struct sheet *sheet);

#endif
