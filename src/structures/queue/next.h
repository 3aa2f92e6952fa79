/* Queue: the state of a call that claims a job, and the end of parts that are finished. */
#ifndef MCDS_STRUCTURES_QUEUE_NEXT_H
#define MCDS_STRUCTURES_QUEUE_NEXT_H

#include "structures/queue/queue.h"

/* What a read of a part has shown, for the claim. */
struct mcds__queue_sight {
    bool is_read;
    bool is_part;
    bool is_closed;
    bool has_jobs;
    bool is_due;  /* some job */
    bool is_mine; /* the job of the receipt is claimed by it, and its bytes were copied */
    bool lacks_memory;
    int64_t next_ms; /* the earliest time of a job; 0: none */
};

/* Raise the numbers over finished parts at the beginning of a stripe, and let their entries
 * expire. */
struct mcds__queue_finish {
    uint8_t stage;
    uint32_t stripe;
    uint64_t incarnation;
    uint64_t part;   /* the first part that is finished */
    uint64_t first;  /* the one that becomes the first */
    bool is_blocked; /* out: the store has lost the key of that one */
};
void mcds__queue_finish_begin(struct mcds__queue_finish *finish, uint32_t stripe);
/* DONE with MCDS_OK, also if another worker has done it; or a failure. */
enum mcds__step mcds__queue_finish_step(struct mcds__queue_finish *finish,
                                        struct mcds__queue_work *work,
                                        struct mcds__operation *operation);

struct mcds__queue_next {
    struct mcds__operation base;
    struct mcds__queue_work work;
    mcds_job *job;
    mcds_value *value_out;
    uint8_t stage;
    bool has_read; /* the numbers, in this round */
    uint32_t stripe;
    uint32_t passed;      /* stripes in this round that have no job that is due, */
    int64_t wake_ns;      /* and the earliest time at which one of them may; INT64_MAX: none */
    bool leaves_finished; /* the parts that are finished, because finish.c was blocked */
    int64_t wait_until_ns;
    uint64_t incarnation;
    uint64_t part;
    uint64_t from; /* parts of the stripe below were passed in this round */
    int64_t claimed_ns;
    int claim_code; /* the result of a claim that is used after a RECORD; 0: none */
    int64_t claim_number;
    struct mcds__jobs_receipt receipt;
    struct mcds__queue_sight sight;
    struct mcds__queue_finish finish;
    struct mcds__queue_loss loss;
    uint8_t bury_stage; /* of a job to bury */
    mcds_buffer bytes;  /* of the job */
};

/* DONE with a result of mcds_queue_next. */
enum mcds__step mcds__queue_next_step(struct mcds__queue_next *next);

/* Examine a part that a claim or a look has read. */
void mcds__queue_see_part(struct mcds__queue_next *next, mcds_bytes value, int64_t now_ms);
/* mcds__queue_see_part, as the function `see` of the update of a claim. */
void mcds__queue_see_claimed(struct mcds__map_update *update, mcds_bytes value);
/* Take the receipt from the number of a claim. */
void mcds__queue_set_receipt(struct mcds__queue_next *next, int64_t number);

/* Begin to make the claimed job a dead one. False: no memory. */
bool mcds__queue_bury_begin(struct mcds__queue_next *next);
/* DONE with MCDS_OK or a failure. */
enum mcds__step mcds__queue_bury_step(struct mcds__queue_next *next);

#endif
