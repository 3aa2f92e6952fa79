/* Losses: reports the parts of a queue that the store has lost, at most once a minute. */
#ifndef MCDS_CLI_QUEUE_LOSSES_H
#define MCDS_CLI_QUEUE_LOSSES_H

#include "io/failure.h"
#include "io/output.h"

struct losses {
    uint64_t total; /* parts found lost */
    uint64_t told;  /* of these, those in the last report */
    int64_t told_ns;
    char said[FAILURE_CAPACITY]; /* the sentence about the first of them */
};

/* Counts a part of this thread's last failure. */
void losses_add(struct losses *losses, const struct command *command);
/* Reports the first losses, and a minute after each report the total if it has grown. */
void losses_tell(struct losses *losses, const struct output *output, int64_t now_ns);
/* Reports the total at the end, unless the last report has it. */
void losses_end(struct losses *losses, const struct output *output);

#endif
