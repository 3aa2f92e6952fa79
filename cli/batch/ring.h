/* Ring: commands in flight on one pipeline, whose results are printed in the order of the commands.
 *
 *   command --> slot --start--> pipeline --completion--> slot --in order--> output */
#ifndef MCDS_CLI_BATCH_RING_H
#define MCDS_CLI_BATCH_RING_H

#include "io/report.h"
#include "run/session.h"
#include "run/tally.h"

struct ring;
struct subject;

enum state { STATE_UNDER_WAY, STATE_DONE, STATE_REFUSED };

/* One command and its outcome. */
struct slot {
    unsigned long line; /* of standard input; 0 = none */
    struct command command;
    char *text; /* the line, into which the command points */
    size_t capacity;
    bool may_be_gone; /* MCDS_NOT_FOUND is a success */
    /* The members below belong to the ring. */
    enum state state;
    struct subject *subject;
    struct answer answer;
    struct output items; /* of a verb that is_many, into memory */
    char *gathered;
    size_t gathered_length;
    uint16_t *busy; /* of OVERLAP_APART */
    int result;     /* DONE: of the library; REFUSED: the exit code */
    const char *refusal;
    char sentence[SENTENCE_MAX];
};

/* Opens the store and a ring. Returns 0 or, with the sentence printed, the exit code. */
int ring_open(struct session *session, struct ring **ring_out);
void ring_close(struct ring *ring);

/* The slot of the next command. The caller either starts or refuses it. */
struct slot *ring_next(struct ring *ring);
/* Starts slot->command, once the operations in flight that it must follow have ended. */
void ring_start(struct ring *ring, struct slot *slot);
void slot_refuse(struct slot *slot, int status, const char *sentence);

/* Waits for all operations in flight, and prints. False: standard output is broken. */
bool ring_settle(struct ring *ring);

/* The same at the end of one command line. Returns the exit code. After a signal it counts on standard error the operations that were carried out: see tally_complain_operations. */
int ring_end(struct ring *ring, const char *what, const char *untried);

/* Counts a failure that is not that of a command. */
void ring_note_status(struct ring *ring, int status);
/* The exit code: 80 if any command may have been applied, otherwise the first of 64 or more,
 * otherwise 1 if any command answered no. */
int ring_status(const struct ring *ring);
const struct tally *ring_tally(const struct ring *ring);

#endif
