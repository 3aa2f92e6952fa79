/* Survey: asks the store for the structures of a dump, many at once. */
#ifndef MCDS_CLI_LOAD_SURVEY_H
#define MCDS_CLI_LOAD_SURVEY_H

#include "load/dump_reader.h"

struct survey;

/* Called for each structure of the dump, in order. `result` is MCDS_OK: it exists; MCDS_NOT_FOUND:
 * it does not; or a failure of the store. `is_other`: a counter with another value than the dump
 * has. False ends the survey. */
typedef bool (*survey_cb)(void *context, uint64_t number, const struct command *structure,
                          int result, bool is_other);

/* Reads the dump from the beginning to its end, which checks it. Without a store, it asks nothing
 * and calls nothing. `only_counters` asks for these. Returns false if the dump is bad, with
 * reader->sentence, or a call returned false. */
bool survey_run(struct dump_reader *reader, mcds_store *store, bool only_counters,
                survey_cb visit, void *context);

#endif
