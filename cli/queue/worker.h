/* Worker: the state of `mcds queue work`, with the job that it has claimed. */
#ifndef MCDS_CLI_QUEUE_WORKER_H
#define MCDS_CLI_QUEUE_WORKER_H

#include "lock/tenure.h"
#include "queue/losses.h"

struct worker {
    mcds_queue *queue;
    struct session *session;
    const struct command *command;
    mcds_job job;
    mcds_value bytes;
    int64_t give_up_ns; /* if no job has come until then, the worker ends */
    bool is_over;       /* that time has passed, the queue is empty, or COMMAND cannot be run */
    int not_run;        /* the errno for that, or 0 */
    bool is_wait_told;  /* to a user at a terminal */
    /* What the release reports to the store; the end of COMMAND decides it. */
    bool is_done;     /* true: done; false: again */
    bool is_last;     /* the last try: again makes the job dead */
    bool is_gone;     /* the release has found that the store has lost the part of the job */
    bool is_in_doubt; /* a reply to the release was lost, and no later call has succeeded */
    uint64_t again_ms;
    bool is_claim_gone; /* the last renewal has found that */
    struct losses losses;
    char how[128]; /* job, end and try, for the sentence after the release */
    char said[320];
};

#endif
