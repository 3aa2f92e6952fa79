/* The database of `mcds views`: a table in a durable store. */
#ifndef MCDS_CLI_NOUNS_VIEWS_H
#define MCDS_CLI_NOUNS_VIEWS_H

#include <stdint.h>

#include "table/command.h"

struct base;

/* Opens the table "views:NAME" of the store at `uri`. Returns the result of opening it. */
int base_open(const struct command *command, const char *uri, struct base **base_out);
void base_close(struct base *base);

/* As mcds_views_options has them; `context` is a struct base. */
int base_load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
int base_save(void *context, const char *page, uint64_t slot, int64_t views);

#endif
