/* Filler: puts the elements of a dump into the structures of a store, many at once. */
#ifndef MCDS_CLI_LOAD_FILLER_H
#define MCDS_CLI_LOAD_FILLER_H

#include "load/dump_reader.h"
#include "load/moved_clock.h"

struct filler;

/* Why a load cannot continue. */
struct failure {
    int result; /* MCDS_OK: nothing has failed */
    char sentence[SENTENCE_MAX];
};

/* NULL: out of memory. The clock is that of the store. */
struct filler *filler_new(mcds_store *store, struct moved_clock *clock);
void filler_free(struct filler *filler);

/* Each returns false after a failure. */
/* Begins the structure of the reader with this number. `drops`: a structure with its name is dropped. */
bool filler_begin(struct filler *filler, const struct dump_reader *reader, uint64_t number,
                  bool drops);
bool filler_add(struct filler *filler, const struct element *element);
/* The last structure begun has no more elements. */
bool filler_end(struct filler *filler);
/* Waits for everything in flight. */
bool filler_settle(struct filler *filler);

/* The lowest number of a structure that is not finished, or `next`, which is the next to begin. */
uint64_t filler_unfinished(const struct filler *filler, uint64_t next);
const struct failure *filler_failure(const struct filler *filler);
/* Events that were not put because the log no longer keeps them. */
uint64_t filler_expired(const struct filler *filler);

#endif
