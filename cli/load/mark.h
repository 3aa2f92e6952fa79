/* Mark: how far a load has come, kept in the store itself, in a table. A store that has lost loaded data has usually lost the mark too, and a load can continue on another machine. */
#ifndef MCDS_CLI_LOAD_MARK_H
#define MCDS_CLI_LOAD_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "dump/format.h"
#include "dump/sum.h"
#include "mcds.h"

/* Structures are numbered in the order of the dump, from 0. */
struct mark {
    mcds_store *store;
    mcds_table *table;
    char name[sizeof MARK_NAME + SUM_TEXT];
    bool is_there;
    uint64_t finished; /* those below it are loaded */
    uint64_t begun;    /* those from it on are untouched; the others may be half loaded */
    bool replaces;
};

/* Reads the mark of the dump with this sum. Returns the result; mark->is_there says whether there
 * is one. */
int mark_open(struct mark *mark, mcds_store *store, const char *sum);
void mark_close(struct mark *mark);
/* Writes it. Returns the result; MCDS_EXISTS: there was none, and another load has written one. */
int mark_put(struct mark *mark, uint64_t finished, uint64_t begun);
/* The load has ended. Returns the result. */
int mark_drop(struct mark *mark);

#endif
