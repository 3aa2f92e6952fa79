/* Read back: finds the parts of a dump that a store lost by eviction during the load. */
#ifndef MCDS_CLI_LOAD_READ_BACK_H
#define MCDS_CLI_LOAD_READ_BACK_H

#include "load/dump_reader.h"
#include "terminal/progress.h"

/* Reads each structure of the dump from the store, and compares the numbers of elements. Returns
 * MCDS_OK; MCDS_LOST: the store has only *there_out elements of reader->structure, or not all of its
 * events; another failure of the store; or MCDS_CORRUPT, with reader->sentence: the dump is bad. Ends
 * early at a signal. */
int read_back(struct dump_reader *reader, mcds_store *store, struct progress *progress,
              uint64_t *there_out);

#endif
