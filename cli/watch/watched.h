/* Watched: one structure, which is read at each interval. The differences from the last read are
 * printed. */
#ifndef MCDS_CLI_WATCH_WATCHED_H
#define MCDS_CLI_WATCH_WATCHED_H

#include "run/session.h"
#include "watch/snapshot.h"

/* How the reads of a noun are compared. */
enum compared {
    COMPARED_NOT,     /* no read of the whole: it is not watched */
    COMPARED_VALUE,   /* a verb "get" without further arguments */
    COMPARED_HOLDER,  /* of a lock */
    COMPARED_JOBS,    /* the numbers of the jobs of a queue, by its verb "count" */
    COMPARED_SET,     /* a verb "scan", of elements without an order, or of keys and values */
    COMPARED_LIST,    /* the same, of values that are only appended */
    COMPARED_LOG,     /* new events, by a cursor */
    COMPARED_BY_COUNT /* by a verb "count": a structure too large for a snapshot */
};

struct watched {
    struct session *session;
    struct command command;
    void *handle;
    enum compared compared;
    struct answer answer;
    struct output items; /* into `next` */
    struct snapshot last;
    struct snapshot next;
    mcds_log_cursor cursor;
    bool has_read;        /* `last` is of a read; without it nothing is compared */
    bool exists;          /* according to it */
    bool is_opened_again; /* since the last read that succeeded */
    bool has_lost;        /* jobs of a queue; a sentence has said so */
    bool is_given_up;
};

/* The way to compare reads of a noun. */
enum compared compared_of(const struct noun *noun);
/* Whether the last read has found the structure. Of visitors and online without a visitor: false. */
bool watched_is_there(const struct watched *watched);

/* `store_is_new`: the store was empty before, so everything is a change. */
void watched_begin(struct watched *watched, struct session *session,
                   const struct command *command, const struct noun *noun, const char *name,
                   bool store_is_new);
void watched_close(struct watched *watched);
/* The next read uses a new handle. */
void watched_reopen(struct watched *watched);

/* Starts a read with this tag. Returns MCDS_OK, or the result of a failure. */
int watched_start(struct watched *watched, mcds_pipeline *pipeline, uint64_t tag);
/* After a read that has failed. */
void watched_abandon(struct watched *watched);
/* Whether the read has an answer: the count of a queue that has lost jobs counts the rest. */
bool watched_is_read(const struct watched *watched, int result);
/* Prints the changes after a read that has an answer. Returns their number. */
uint64_t watched_end(struct watched *watched, int result);

#endif
