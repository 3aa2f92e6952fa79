/* Worker: what `mcds queue work` knows between the claims and the ends of its jobs. */
#ifndef MCDS_CLI_QUEUE_WORKER_H
#define MCDS_CLI_QUEUE_WORKER_H

#include "lock/tenure.h"

struct worker {
    mcds_queue *queue;
    struct session *session;
    const struct command *command;
    mcds_job job;
    mcds_value bytes;
    int64_t give_up_ns; /* no job has come until then: the worker ends */
    bool is_over;       /* so it has, or the queue is empty */
    bool has_lost;      /* the store, a part of the queue */
    uint32_t losses_in_a_row;
    bool is_done; /* the end of the job, which the release reports to the store */
    uint64_t again_ms;
    char said[160];
};

#endif
