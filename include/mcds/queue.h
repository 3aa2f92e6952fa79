/* mcds/queue.h: jobs that workers take in turn. mcds.h has the rules of all calls. */
#ifndef MCDS_QUEUE_H
#define MCDS_QUEUE_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A queue of jobs. A job is 0 bytes to 64 KB of any bytes, for instance the name of a file.
 *
 * A worker claims the first job that is due, for visible_ms. While the claim lasts, no other
 * worker gets the job. When the work is done, the worker calls done, and the job is erased. If
 * the worker dies, the claim ends, and another worker gets the job. So each job is handed out at
 * least once, and again until a worker calls done. After `tries` claims without a done, the job
 * becomes a dead job: it is kept apart, and is not handed out any more.
 *
 * Jobs are handed out in the order in which they were pushed. Exceptions are jobs that were
 * pushed with a delay, jobs that are handed out again, and queues with several stripes.
 *
 * A queue consists of parts. A push and a claim each append one record to a part, and the order
 * of the records decides which worker gets which job. So a claim never fails because of other
 * workers. A call whose reply was lost repeats its record with the same id. A part is full at 256
 * jobs or 8 KB, so the cost of a claim does not depend on the length of the queue.
 *
 * How a claim and its end are decided. The record of a claim has the time at which the worker's
 * call began. The claim gets the first job that was due at that time and whose earlier claim, if
 * any, had ended by then. A job that was pushed or given back without a delay is due for each claim
 * that the store receives after it. A request that arrives late cannot claim a job whose delay or
 * earlier claim ended after the call began. If such a request claims a job after its caller has
 * left, the claim ends visible_ms after the call began. A done removes the job, whichever worker
 * has claimed it. An again or a longer identifies its claim by the tries of the job, and changes
 * nothing if another claim has followed.
 *
 * Clocks. A job without a delay is due at once for each worker, whatever the clocks of the machines
 * show. A delay counts by the clock of the machine that pushes the job or gives it back: the job is
 * due when the worker's clock shows the time of that clock plus the delay. So if that clock is S
 * ahead of a worker's clock, the job is due S later for that worker, and if it is S slow, S
 * earlier. A claim is timed in the same way by the clock of the worker's machine. If the clock of
 * worker B is S ahead of that of worker A, a claim of A ends S too early for B: both may then
 * work on the job. If another worker has claimed the job, the next call of the earlier worker for
 * it returns MCDS_LOST. A claim of B ends S too late for A: if B dies, A gets the job S later.
 * The numbers of mcds_queue_count and the times of mcds_queue_scan are by the clock of the
 * caller's machine. While many other handles change the same part, a call of a machine whose clock
 * is more than ten minutes before their clocks returns MCDS_IO, or MCDS_AMBIGUOUS, with a sentence
 * about clocks. While thousands of handles change it, 30 seconds before their clocks are enough.
 *
 * A store that evicts or restarts loses jobs, and no algorithm can prevent that. A handle on a
 * store that evicts, such as every memcached, needs the flag MCDS_QUEUE_MAY_LOSE. A claim that
 * finds a part lost returns MCDS_LOST, and later claims of the handle do not read that part. One
 * entry lists the parts. If it is lost, each claim and push that reads it returns MCDS_LOST until
 * the queue is dropped, and mcds_queue_made_with does too. mcds_queue_scan and mcds_queue_dead
 * visit the jobs that are kept: drop the queue, and push them again. The keys of parts are made in
 * advance. If the store has lost the key of a part that no push has used yet, the next push uses
 * the part after it, and no claim or scan reports a loss. If the store has lost the whole queue,
 * for instance because a memcached was restarted, the first call of a handle that has used the
 * queue returns MCDS_LOST and changes nothing. A call that may have changed the lost queue returns
 * MCDS_AMBIGUOUS, and the next call returns MCDS_LOST. Then there is no queue: claims and reads
 * return MCDS_NOT_FOUND, and the next push makes the queue again. If that first call has a job of
 * a queue that was made since, the job stays held: call again. A new handle reports no loss. If
 * another program has written into the key of a part, reads return MCDS_CORRUPT. A claim that
 * reaches the part returns MCDS_CORRUPT, or MCDS_AMBIGUOUS if its request was sent. The claim does
 * not pass over the part, because the key may be restored from a backup. If the key is deleted,
 * the part is lost.
 *
 *     mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
 *     mcds_job job = MCDS_JOB_INIT;
 *     mcds_value bytes = MCDS_VALUE_INIT;
 *     options.visible_ms = 60000;
 *     mcds_queue_open(store, "thumbs", &options, &queue);
 *     while (mcds_queue_next(queue, 10000, &job, &bytes) == MCDS_OK)
 *         make_thumb(bytes.data, bytes.length);        the next call also ends this job
 *
 * How to write a worker. A worker must be prepared for a job that it, or another worker, has done
 * before: at least once means sometimes twice. Choose visible_ms longer than a job usually takes.
 * If a job takes longer, call mcds_queue_longer in time, for instance every third of visible_ms,
 * and stop the work when it returns MCDS_LOST. If a job fails but may succeed later, give it back
 * with mcds_queue_again and a delay. If a job can never succeed, call done for it, or move it to
 * another queue: push it there, and then call done here. If the worker dies in between, the job
 * is in both queues; it is never in neither.
 *
 *     int result = work_on(&bytes);
 *     if (result == LATER)
 *         mcds_queue_again(queue, &job, 30000);         the next mcds_queue_next ends no job
 *     else if (result == NEVER &&
 *              mcds_queue_push(failed, (mcds_bytes){bytes.data, bytes.length}, 0) == MCDS_OK)
 *         mcds_queue_done(queue, &job);
 *
 * Priorities. Use a queue for each priority, and call mcds_queue_next with wait_ms 0 on the most
 * urgent queue first. A worker may hold jobs of several queues at once, each in its own mcds_job.
 *
 *     for (size_t i = 0; i < 3; i++)
 *         if (mcds_queue_next(by_urgency[i], 0, &job, &bytes) == MCDS_OK)
 *             break;
 *
 * Dead jobs. With `tries`, a job that crashes its workers cannot block the queue: after this many
 * claims it is dead. A worker that gives a job back at its last try makes it dead at once; if the
 * worker dies instead, the next claim makes the job dead. All workers of a queue should use the
 * same number; each handle applies its own. A dead job is kept until it is discarded, or the
 * queue is dropped, or a worker whose claim had ended reports late that the job is done. To retry
 * dead jobs, push each job that mcds_queue_dead visits, and then discard it. The pushed job is a
 * new job: a late report about the dead job does not affect it. A late report or a discard leaves
 * an entry of about 60 bytes in the store for two hours.
 *
 * If an lmdb: file is full, pushes return MCDS_FULL, and workers can empty the queue. A memcached
 * server that does not evict (-M) stores each new value before it frees the old one. If it is
 * full, the calls of workers, also done, return MCDS_FULL too. Memcached's command
 * "cache_memlimit MB" raises the limit while the server runs. Then workers can empty the queue.
 *
 * Many workers. Workers that claim jobs at the same time append to the same part, and each
 * claim reads what the others have appended. With more than about ten workers whose jobs take
 * less than a millisecond, this reading takes most of the time. A queue with several stripes
 * has a part in use for each of them. A handle stays in one stripe for a second, or for 256
 * jobs, or until others have prevented four of its rewrites of a part. Then it changes to the
 * next stripe. A worker passes over stripes in which no job is due. The jobs of a stripe are
 * handed out in the order of their pushes, and jobs of different stripes in any order. A
 * change of the stripe costs one or two round trips. A claim that finds no job costs a round
 * trip for each stripe, and one more. About one stripe for each eight workers is enough. The
 * client that makes a queue chooses the number, and the queue keeps it until it is dropped.
 *
 * Jobs that are delayed or take long stay in their part, and later parts are used meanwhile. A
 * handle remembers up to 1 024 parts in which no job is due, which is about 200 000 small jobs
 * that are all delayed or claimed. Beyond that, a claim costs more than one round trip.
 *
 * Sources: the visibility timeout of Amazon SQS; claims decided by the order of a log. */
typedef struct mcds_queue mcds_queue;

#define MCDS_QUEUE_JOB_MAX 65536

/* What a caller accepts. */
typedef enum mcds_queue_flags {
    MCDS_QUEUE_MAY_LOSE = 1 /* the store may evict jobs, and the caller accepts that */
} mcds_queue_flags;

/* The options of a handle. Only `stripes` is stored. Each handle of a queue may have other values
 * of the rest. A handle that only pushes uses none of them but `stripes` and the flag. */
typedef struct mcds_queue_options {
    size_t size;         /* sizeof(mcds_queue_options) */
    uint32_t visible_ms; /* how long a claim of this handle lasts; 0 = 60 000; 100 to 7 days */
    uint32_t tries;   /* after this many claims a job is dead: this handle then keeps it apart
                            instead of claiming it again; 0 = no limit; at most 10 000 */
    uint32_t flags;   /* mcds_queue_flags */
    uint32_t stripes; /* 1 to 32, if this handle makes the queue. The push, next and scan of a
                          handle with another number than that of the queue return MCDS_INVALID and
                          change nothing. 0 = the number of the queue, or 1 if this handle
                          makes it */
} mcds_queue_options;
#define MCDS_QUEUE_OPTIONS_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_queue_options), 0, 0, 0, 0                                                 \
    }

/* A claim of a job. The caller owns it and initializes it with MCDS_JOB_INIT. It is empty, or
 * holds one job. Only one thread may use it at a time. A claim that was passed to X_start must
 * live until the tag is returned. */
typedef struct mcds_job {
    int64_t
        deadline_ns; /* the claim ends then, on the monotonic clock of the store's mcds_env */
    uint32_t tries;  /* claims of this job so far, this one included */
    bool is_held;
    bool was_lost; /* set by mcds_queue_next: another worker may have had the previous job */
    /* private */
    uint64_t incarnation;
    uint64_t part;
    uint64_t number;
    uint32_t queue;
    uint32_t reserved;
} mcds_job;
#define MCDS_JOB_INIT                                                                          \
    {                                                                                          \
        0, 0, false, false, 0, 0, 0, 0, 0                                                      \
    }

#define MCDS_QUEUE_JOB_TEXT 80
/* Writes the receipt of a claim: text without blanks, with which another process can end or
 * extend the claim. Each claim of a job has a different receipt. A process that claims jobs for
 * others passes the receipt on with the job, for instance to a program in another language:
 *
 *     char receipt[MCDS_QUEUE_JOB_TEXT];
 *     mcds_queue_job_save(&job, receipt);
 *     send(worker, receipt, &bytes);
 *
 * and the process that learns that the work is done calls done:
 *
 *     mcds_job job = MCDS_JOB_INIT;
 *     if (mcds_queue_job_load(&job, receipt) == MCDS_OK)
 *         result = mcds_queue_done(queue, &job);
 *
 * Arguments:   job       the claim; for NULL or an empty one the text is ""
 *              text_out  terminated by NUL
 * Cost:        none
 * Threads:     as mcds_queue_next */
MCDS_API void mcds_queue_job_save(const mcds_job *job, char text_out[MCDS_QUEUE_JOB_TEXT]);
/* Reads a receipt that mcds_queue_job_save has written. The claim may have ended. A handle of
 * another queue refuses the job: next, done, again and longer return MCDS_INVALID.
 * Arguments:   job   held afterwards. Its deadline is not known: deadline_ns is 0 until
 *                    mcds_queue_longer returns MCDS_OK
 *              text  terminated by NUL
 * Returns:     MCDS_OK; MCDS_INVALID: the text is not a receipt, was cut, or has a changed byte,
 *              and *job is untouched
 * Cost:        none
 * Threads:     as mcds_queue_next */
MCDS_API MCDS_CHECKED int mcds_queue_job_load(mcds_job *job, const char *text);

/* Opens a queue.
 * Arguments:   queue_out  the handle
 *              options    NULL is allowed: all 0. A claim lasts for the visible_ms of the handle
 *                         that makes it
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              evicts, and the flag MAY_LOSE is missing; or it has no compare-and-set;
 *              MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_queue_open(mcds_store *store, const char *name,
                                          const mcds_queue_options *options,
                                          mcds_queue **queue_out);
/* Reads the option that a queue was made with: `stripes`. The others are not stored.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such queue; MCDS_LOST: the store has lost the number;
 *              MCDS_UNSUPPORTED: the store has no compare-and-set
 * Cost:        1 to 3 */
MCDS_API MCDS_CHECKED int mcds_queue_made_with(mcds_store *store, const char *name,
                                               mcds_queue_options *options);

/* Closes the handle. Its claims last until they end. Then a job that is still held is handed out
 * again, unless done was called for it with another handle.
 * Arguments:   queue  NULL is allowed
 * Cost:        none
 * Lifetime:    a job that is held may be used with another handle of the same queue
 * Threads:     any */
MCDS_API void mcds_queue_close(mcds_queue *queue);

/* Adds a job at the end. Makes the queue if it does not exist. If a push begins after another
 * push has returned MCDS_OK, its job comes after the other one, if both are in one stripe.
 * Arguments:   job       0 bytes to 64 KB
 *              delay_ms  the job is due after this time, by the clock of this machine; at most 7
 *                        days. 0: at once, whatever the clocks of the workers show
 * Returns:     MCDS_OK
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_LOST       the store has lost the entry that lists the parts; not pushed. Later
 *                              calls return MCDS_LOST too, until the queue is dropped. If the
 *                              store has lost the whole queue, only the first call of a handle
 *                              returns it, and the next push makes the queue again
 *              MCDS_BUSY       until the timeout, other callers filled each part that the call
 *                              found; not pushed
 *              MCDS_TOO_BIG    more than 64 KB
 * Cost:        1. A handle's first push takes 1 more, or 4 more if it makes the queue. The push
 *              that begins a new part takes 3 more
 * Lost reply:  The call repeats the push with the same id until the timeout. MCDS_AMBIGUOUS:
 *              pushed once, not at all, or not yet. A second call may add the job twice
 * Lifetime:    X_start copies the bytes of the job
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_queue_push(mcds_queue *queue, mcds_bytes job, uint64_t delay_ms);
MCDS_API MCDS_CHECKED int mcds_queue_push_start(mcds_queue *queue, mcds_bytes job,
                                                uint64_t delay_ms, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Adds jobs at the end in the order of the array, many in one round trip. Jobs of other callers
 * may come between them. The jobs of one call may come to several stripes.
 * Arguments:   jobs        each of 0 bytes to 64 KB; NULL is allowed when count is 0
 *              count       0 or more
 *              delay_ms    as for mcds_queue_push
 *              pushed_out  set after any result: the number of jobs from the start of the array
 *                          that have been pushed. NULL is allowed
 * Returns:     as mcds_queue_push. After a failure other than MCDS_AMBIGUOUS, only the first
 *              *pushed_out jobs have been pushed
 * Cost:        1 per 64 jobs or 8 KB, otherwise as mcds_queue_push. The timeout applies to each
 *              round trip
 * Lost reply:  MCDS_AMBIGUOUS: some jobs after the first *pushed_out may have been pushed, or may
 *              be pushed later
 * Lifetime:    X_start makes no copy: `jobs`, their bytes and *pushed_out must live until the
 *              pipeline has returned the tag
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_queue_push_many(mcds_queue *queue, const mcds_bytes *jobs,
                                               size_t count, uint64_t delay_ms,
                                               size_t *pushed_out);
MCDS_API MCDS_CHECKED int mcds_queue_push_many_start(mcds_queue *queue, const mcds_bytes *jobs,
                                                     size_t count, uint64_t delay_ms,
                                                     size_t *pushed_out,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Adds a dead job, for instance a copy of a dead job of another queue. Makes the queue if it does
 * not exist. mcds_queue_dead visits the job like those that were claimed too often.
 * Arguments:   job    0 bytes to 64 KB
 *              tries  how often the job was claimed; at most 65 535; 0 = 1
 * Returns:     as mcds_queue_push
 * Cost:        1. A handle's first push takes 1 more, or 4 more if it makes the queue
 * Lost reply:  as mcds_queue_push
 * Lifetime:    X_start copies the bytes of the job
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_queue_push_dead(mcds_queue *queue, mcds_bytes job,
                                               uint32_t tries);
MCDS_API MCDS_CHECKED int mcds_queue_push_dead_start(mcds_queue *queue, mcds_bytes job,
                                                     uint32_t tries, mcds_pipeline *pipeline,
                                                     uint64_t tag);

/* Calls done for the previous job, which is the one that the caller holds, if any. Then claims
 * the first job that is due, of the first stripe that has one, beginning at the stripe of the
 * handle. If no job is due, the call polls at intervals of up to 100 ms, until a job is due or
 * wait_ms have passed.
 * Arguments:   wait_ms    0 to 86 400 000
 *              job        in and out; empty or held
 *              value_out  the job
 * Returns:     MCDS_OK         the caller has the job until job->deadline_ns
 *              MCDS_NOT_FOUND  no job was due within wait_ms; also if there is no such queue
 *              MCDS_LOST       the store has lost a part of the queue. Its jobs are gone, and the
 *                              next call does not read that part. Or the store has lost the entry
 *                              that lists the parts: later calls return MCDS_LOST too, until the
 *                              queue is dropped. Or the store has lost the whole queue: see above
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_NO_MEMORY  a job may have been claimed although the caller did not get it. It
 *                              is handed out again when the claim ends
 *              After MCDS_OK and MCDS_NOT_FOUND the previous job is done. job->was_lost says
 *              whether another worker has claimed or done it since, or the store has lost it.
 *              After a failure job->is_held says whether the previous job is still held, or is
 *              done.
 * Cost:        1, and more in these cases:
 *              1       the handle's first call, or a call after one that found no job
 *              1       was_lost is set
 *              1 or 2  the job is of another stripe than the last one
 *              2       a part is rewritten: about one call in twenty
 *              2 to 7  the first part of the queue has no more jobs
 *              4       for each job that is found dead
 *              A poll that finds no job costs 1 for each stripe, and 1 more if there are several
 *              or if the last part is new
 * Lost reply:  MCDS_AMBIGUOUS: the previous job is done, or not, or not yet. Another job may have
 *              been claimed; it is handed out again when that claim ends. Call again with the
 *              same `job`
 * Lifetime:    `job` and `value_out` must live until X_start's pipeline has returned the tag. The
 *              caller frees value_out with mcds_value_free, and may use it for each call
 * Threads:     any; only one thread may use a job at a time */
MCDS_API MCDS_CHECKED int mcds_queue_next(mcds_queue *queue, uint32_t wait_ms, mcds_job *job,
                                          mcds_value *value_out);
MCDS_API MCDS_CHECKED int mcds_queue_next_start(mcds_queue *queue, uint32_t wait_ms,
                                                mcds_job *job, mcds_value *value_out,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Reports that the job is done, and erases it, even if the claim has ended. A worker that calls
 * mcds_queue_next again need not call this function: mcds_queue_next does it in the same request.
 * Arguments:   job  in and out; held
 * Returns:     MCDS_OK         done, and no other worker has had the job since it was claimed
 *              MCDS_LOST       the job is done, but the claim had ended, and another worker has
 *                              claimed or done the job since. Or the job is done, but a call had
 *                              begun to make it a dead job. The dead job is then erased too, or
 *                              was discarded before. Or the store has lost the job. If `job` is
 *                              still held, none of these is the reason: the store has lost an
 *                              earlier queue. Call again
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the job is empty, or of another queue
 *              `job` is empty after MCDS_OK and after any other MCDS_LOST. After any other
 *              result, it is held.
 * Cost:        1. A call that returns MCDS_LOST takes 1 more, in which it erases the job if that
 *              is a dead job
 * Lost reply:  MCDS_AMBIGUOUS: done, or not, or not yet. Call again; MCDS_LOST can then mean that
 *              the first call was applied
 * Threads:     as mcds_queue_next */
MCDS_API MCDS_CHECKED int mcds_queue_done(mcds_queue *queue, mcds_job *job);
MCDS_API MCDS_CHECKED int mcds_queue_done_start(mcds_queue *queue, mcds_job *job,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Gives the job back. It is handed out again after delay_ms, at its old place in the order, and
 * keeps its tries. If they have reached the `tries` of the handle, the job becomes a dead job
 * instead, and delay_ms is not used. A handle that has read the part of the job before may find
 * the job up to 5 s later.
 * Arguments:   job       in and out; held
 *              delay_ms  as for mcds_queue_push
 * Returns:     as mcds_queue_done; MCDS_LOST: nothing was changed
 * Cost:        1. 3 more if the job becomes dead
 * Lost reply:  as mcds_queue_done: given back or dead, or not, or not yet
 * Threads:     as mcds_queue_next */
MCDS_API MCDS_CHECKED int mcds_queue_again(mcds_queue *queue, mcds_job *job, uint64_t delay_ms);
MCDS_API MCDS_CHECKED int mcds_queue_again_start(mcds_queue *queue, mcds_job *job,
                                                 uint64_t delay_ms, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* Extends the claim to visible_ms from now, unless the claim already lasts longer. A claim may be
 * extended any number of times; the tries do not change. A claim that has ended can be extended,
 * too, if no other worker has claimed the job since.
 * Arguments:   job  in and out; held
 * Returns:     MCDS_OK         job->deadline_ns is the new deadline, or the old one if it is later
 *              MCDS_LOST       as for mcds_queue_again; `job` is empty or held as for
 *                              mcds_queue_again
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the job is empty, or of another queue
 *              After any other failure the old deadline applies. The deadline of a job that
 *              mcds_queue_job_load has read is not known before: then MCDS_OK gives visible_ms
 *              from now, although the claim may last longer
 * Cost:        1
 * Lost reply:  MCDS_AMBIGUOUS: extended or not. The caller must assume the old deadline, and may
 *              call again before it
 * Threads:     as mcds_queue_next */
MCDS_API MCDS_CHECKED int mcds_queue_longer(mcds_queue *queue, mcds_job *job);
MCDS_API MCDS_CHECKED int mcds_queue_longer_start(mcds_queue *queue, mcds_job *job,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* How many jobs a queue has. By the clock of the caller's machine, a job whose claim has ended,
 * or whose delay is over, counts as waiting. */
typedef struct mcds_queue_counts {
    size_t size;      /* sizeof(mcds_queue_counts) */
    uint64_t waiting; /* due */
    uint64_t delayed; /* due later */
    uint64_t claimed;
    uint64_t dead;
} mcds_queue_counts;
#define MCDS_QUEUE_COUNTS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_queue_counts), 0, 0, 0, 0                                                  \
    }

/* Counts the jobs by reading all of them: a queue of a million jobs of 100 bytes takes a few
 * hundred round trips. The counts are not a snapshot: a job that is pushed or done meanwhile may
 * be counted or not.
 * Arguments:   counts_out  the numbers of jobs
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such queue: all counts are 0
 *              MCDS_LOST       some jobs are lost, and the rest was counted. Until the queue is
 *                              dropped, each further call returns MCDS_LOST too: the store does
 *                              not show whether a dead job was lost. If the store has lost the
 *                              whole queue, all counts are 0, and further calls return
 *                              MCDS_NOT_FOUND
 *              After another failure nothing was written to *counts_out.
 * Cost:        1 per 64 keys; a key has about 8 KB
 * Lifetime:    *counts_out must live until X_start's pipeline has returned the tag
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_queue_count(mcds_queue *queue, mcds_queue_counts *counts_out);
MCDS_API MCDS_CHECKED int mcds_queue_count_start(mcds_queue *queue,
                                                 mcds_queue_counts *counts_out,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* The state of a job. */
typedef enum mcds_job_state {
    MCDS_JOB_WAITING, /* a worker may claim it */
    MCDS_JOB_DELAYED, /* a worker may claim it later */
    MCDS_JOB_CLAIMED, /* a worker has it, or had it and died before the claim ended */
    MCDS_JOB_DEAD     /* claimed too often */
} mcds_job_state;

/* A job as a scan has read it. By the time of the visit it may be done or claimed. */
typedef struct mcds_queue_entry {
    mcds_bytes job;
    mcds_bytes id; /* DEAD: for mcds_queue_discard; else empty */
    mcds_job_state state;
    uint32_t tries; /* claims so far */
    uint64_t ms;    /* DELAYED: until it is due; CLAIMED: until the claim ends; else 0 */
} mcds_queue_entry;

/* Called for each job. `entry` is valid during the call only. Returns false to end the scan. */
typedef bool (*mcds_queue_scan_cb)(void *context, const mcds_queue_entry *entry);

/* Visits jobs in the order of their pushes, and claims none. Waiting, delayed and claimed jobs
 * are visited; dead ones are not. The scan is not a snapshot: a job that is pushed or done
 * meanwhile may be visited or not.
 * Arguments:   limit  largest number of jobs that are visited; 0 = all
 *              visit  as above
 * Returns:     MCDS_OK         also if visit has ended the scan
 *              MCDS_NOT_FOUND  no such queue
 *              MCDS_LOST       a part is gone, and the rest was visited; or the entry that lists
 *                              the parts is gone, and the jobs that are kept were visited part by
 *                              part, the parts in no order; or the whole queue is gone
 *              After another failure some jobs may have been visited.
 * Cost:        2, and 1 for each part of about 256 jobs or 8 KB. A handle's first call takes 1
 *              more. Without the entry that lists the parts: as mcds_queue_count. The timeout
 *              starts again after each round trip
 * Threads:     any; `visit` is called by the thread that calls, or that owns the pipeline */
MCDS_API MCDS_CHECKED int mcds_queue_scan(mcds_queue *queue, uint64_t limit,
                                          mcds_queue_scan_cb visit, void *context);
MCDS_API MCDS_CHECKED int mcds_queue_scan_start(mcds_queue *queue, uint64_t limit,
                                                mcds_queue_scan_cb visit, void *context,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Visits dead jobs, in no order. A dead job is kept under its old number, so it is kept once,
 * even if two workers find it dead at the same time. If an again or a next that makes a job dead is
 * AMBIGUOUS, or its caller dies, mcds_queue_scan may visit this job, too. It may do so until the
 * job is done or discarded, or until a later call makes the job dead.
 * Arguments:   limit  largest number of jobs that are visited; 0 = all
 *              visit  as of mcds_queue_scan
 * Returns:     as mcds_queue_scan; MCDS_LOST until the queue is dropped, as for mcds_queue_count
 * Cost:        1 per 64 keys of the queue
 * Threads:     as mcds_queue_scan */
MCDS_API MCDS_CHECKED int mcds_queue_dead(mcds_queue *queue, uint64_t limit,
                                          mcds_queue_scan_cb visit, void *context);
MCDS_API MCDS_CHECKED int mcds_queue_dead_start(mcds_queue *queue, uint64_t limit,
                                                mcds_queue_scan_cb visit, void *context,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Erases a dead job. To retry the job, push it first. After MCDS_OK, the job is not handed out and
 * does not become dead again. This holds even if a call that made the job dead was AMBIGUOUS, or
 * if the caller of that call died.
 * Arguments:   id  of the entry that mcds_queue_dead has visited
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such dead job: a discard or a late report has erased it
 *              MCDS_LOST       the store has lost the key of the dead job, or the whole queue
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the id is not one of a dead job
 * Cost:        3; 2 if mcds_queue_push_dead has added the job; 1 if there is no such dead job
 * Lost reply:  MCDS_AMBIGUOUS: erased, or not, or not yet. Call again; MCDS_NOT_FOUND can then
 *              mean that the first call was applied
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_queue_discard(mcds_queue *queue, mcds_bytes id);
MCDS_API MCDS_CHECKED int mcds_queue_discard_start(mcds_queue *queue, mcds_bytes id,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Erases the queue with all its jobs, including claimed and dead ones. A later call of a worker
 * for a job that it holds returns MCDS_LOST. The next push makes a new queue.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such queue; MCDS_AMBIGUOUS: see below
 * Cost:        2, and 2 per 64 keys
 * Lost reply:  MCDS_AMBIGUOUS: all jobs are erased, a part of them, none, or not yet; call again
 * Threads:     any */
MCDS_API int mcds_queue_drop(mcds_queue *queue);
MCDS_API MCDS_CHECKED int mcds_queue_drop_start(mcds_queue *queue, mcds_pipeline *pipeline,
                                                uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
