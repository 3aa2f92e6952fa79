/* The database of `mcds views`: a table in a durable store. */
#ifndef MCDS_CLI_NOUNS_VIEWS_H
#define MCDS_CLI_NOUNS_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/failure.h"

struct base;

/* The URI of the database: that of --database, otherwise that of the store. */
const char *views_database(const struct command *command);

/* Opens the table "views:NAME" of the store at `uri`. Returns the result of opening it. */
int base_open(const struct command *command, const char *uri, struct base **base_out);
void base_close(struct base *base);

/* Visits each page of which views are saved, with their number. A visit that returns false ends it.
 * Returns MCDS_OK; MCDS_NOT_FOUND: nothing is saved; MCDS_CORRUPT: an entry is no page; or a failure
 * of mcds_table_scan. */
int base_scan(struct base *base, bool (*visit)(void *context, mcds_bytes page, int64_t views),
              void *context);

/* As mcds_views_options has them; `context` is a struct base. Intervals after `latest_slot` count
 * too: views with shorter intervals, which were dropped, have saved them. */
int base_load(void *context, const char *page, uint64_t upto_slot, uint64_t latest_slot,
              int64_t *views_out);
int base_save(void *context, const char *page, uint64_t slot, int64_t views);
/* Writes why base_save has returned `result`, which is not 0. */
void base_explain(const struct base *base, int result, char out[FAILURE_CAPACITY]);

#endif
