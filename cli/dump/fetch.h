/* Fetch: reads a structure of the store into a dump. */
#ifndef MCDS_CLI_DUMP_FETCH_H
#define MCDS_CLI_DUMP_FETCH_H

#include "dump/structure.h"
#include "dump/writer.h"
#include "terminal/progress.h"

/* Why the contents of such structures are not in a dump; NULL: they are. */
const char *why_omitted(const struct noun *noun);

/* Writes the structure of this name. Returns MCDS_OK; MCDS_NOT_FOUND: there is none;
 * MCDS_LOST: it was written without a part that is lost; or another failure. After that,
 * writer->has_begun says whether a part of it was written. */
int fetch(mcds_store *store, const struct noun *noun, const char *name, struct writer *writer,
          struct progress *progress);

/* Reads the options that a log was made with. Returns the result. */
int fetch_log_options(mcds_store *store, struct command *structure);

#endif
