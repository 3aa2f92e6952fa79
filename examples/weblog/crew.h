/* Who counts: this process, or a number of worker processes that it feeds.
 *
 *                  blocks                     operations
 *   reader, parent ------> worker 1 .. worker N ------> store
 *                  <------
 *                  summary and page names, at the end
 *
 * Workers are forked before any store is open, and each opens its own. */
#ifndef WEBLOG_CREW_H
#define WEBLOG_CREW_H

#include <stdbool.h>
#include <sys/types.h>

#include "figures.h"
#include "tally.h"

#define CREW_WORKERS_MAX 64

struct worker {
    pid_t pid;
    int jobs;     /* to the worker, not blocking */
    int findings; /* from the worker */
    char *outbox; /* a message on its way: head, then the bytes of a block */
    size_t filled;
    size_t sent;
};

struct crew {
    struct worker workers[CREW_WORKERS_MAX];
    uint32_t worker_count; /* 0: this process counts by itself */
    struct tally tally;    /* of this process; else where the workers' findings are gathered */
    bool tally_open;
    char *capacity; /* for the block of a crew without workers */
    char failure[500];
};

/* Make the workers; 1 makes none. Call it while no store is open. False: see failure. */
bool crew_hire(struct crew *crew, const struct figures *figures, uint32_t workers);
/* For a crew without workers: count in this store. */
bool crew_work_in(struct crew *crew, const struct figures *figures, mcds_store *store);

/* READER_ROOM bytes for the next block, when somebody is free to take it. NULL: see failure. */
char *crew_room(struct crew *crew);
/* Hand over the block that was read into the room that crew_room() gave last. */
bool crew_give(struct crew *crew, const char *capacity, const struct block *block);
/* Wait until all that was handed over has reached the workers. */
bool crew_flush(struct crew *crew);

/* The end of the input: wait for the workers and gather what they found in crew->tally. */
bool crew_gather(struct crew *crew);
/* Close what a crew without workers holds open in the store for the pages it has met. */
void crew_close_pages(struct crew *crew);
/* Ends workers that are still there. */
void crew_dismiss(struct crew *crew);

#endif
