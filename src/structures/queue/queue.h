/* Queue: the handle, and what its calls share.
 *
 * A queue is a map with three kinds of entries:
 *
 *   h                           the incarnation, and the numbers of the first and of the last part
 *                               of each stripe
 *   p INCARNATION PART          a part: its jobs and their claims (core/map/bucket/jobs.h)
 *   x INCARNATION PART NUMBER   a dead job: its tries u32, and its bytes. Empty: a done
 *                               record (dead.c)
 *
 * INCARNATION u64, PART and NUMBER 6 bytes. The incarnation is drawn when `h` is made. All entries
 * carry it, so a handle that remembers a dropped queue does not change one that was made since.
 * So does the number of stripes, which `h` has from its making on.
 *
 * A worker begins at the first part of a stripe, and takes the next one if a part is closed and has
 * no job that is due. If the stripe has none, it goes to the next stripe. A pusher uses the last
 * part of a stripe. Both stay in a stripe for some calls, and then change to the next one. The
 * parts of a stripe are numbered in sequence. The numbers may be too small, but never too large:
 *
 *   open    a pusher that finds part P closed reads the numbers. If P is the last one, it opens
 *           P + 1 with its push, and then raises the number of the last part.
 *   finish  a worker that finds the first part P closed and without jobs reads the numbers. If P
 *           is still the first one, it opens the next part, raises both numbers, and only then
 *           lets the entry of P, which is closed and empty, expire after a day.
 *
 * A call opens a part only after it has read the numbers itself. So a part below the first one is
 * never made again, however old the numbers in a handle are: models/queue.pml. */
#ifndef MCDS_STRUCTURES_QUEUE_QUEUE_H
#define MCDS_STRUCTURES_QUEUE_QUEUE_H

#include <pthread.h>

#include "core/map/bucket/jobs.h"
#include "structures/keyed.h"

/* The number of parts, of all stripes, for which a handle remembers when to read them again. */
#define MCDS__QUEUE_WINDOW 1024
/* A handle changes to the next stripe after so many claims or jobs, after so much time, or after
 * so many rewrites of a part that others have prevented. Without the last, a crowded stripe would
 * become more crowded, because its workers leave it more slowly. After a change the handle does not
 * know the present parts of its stripe. */
#define MCDS__QUEUE_USES_MAX 256
#define MCDS__QUEUE_STAY_MS 1000
#define MCDS__QUEUE_OUTRUN_MAX 4
/* A part without a job that is due is read again after this time at the latest: another worker
 * may have given a job back. */
#define MCDS__QUEUE_LOOK_MS 5000
/* The time for a part that is closed and has no jobs. */
#define MCDS__QUEUE_FINISHED INT64_MAX

#define MCDS__QUEUE_ELEMENT_MAX 24

/* The stripe that the claims of a handle begin at, or that its pushes use. */
struct mcds__queue_stay {
    uint32_t stripe;
    uint32_t uses; /* claims, or jobs that were pushed */
    uint32_t outrun;
    int64_t since_ms; /* wall time of the first use */
};

struct mcds_queue {
    struct mcds__keyed keyed;
    uint32_t visible_ms;
    uint32_t tries;
    uint32_t stripes;                  /* that the caller asks for; 0: those of the queue */
    uint32_t id;                       /* of the name and its namespace, for receipts */
    pthread_mutex_t mutex;             /* guards all that follows */
    struct mcds__jobs_numbers numbers; /* incarnation 0: not known */
    bool is_list_lost; /* the store has lost the entry of the numbers, as far as is known */
    struct mcds__queue_stay push;
    struct mcds__queue_stay next;
    /* Of a stripe: the last claim found no job, so the next one looks first. */
    bool is_idle[MCDS__JOBS_STRIPES_MAX];
    /* Each stripe has an equal share, with a part at its number modulo the share: the part is not
     * read before this time of the monotonic clock. The wall clock may be set back meanwhile. */
    int64_t look_ns[MCDS__QUEUE_WINDOW];
};

/* The time at which the holder of a claim must stop, if its call began at begun_ns. The time
 * of the record is in whole ms, rounded down. So the claim ends up to 1 ms earlier for others. */
static inline int64_t mcds__queue_deadline_ns(const mcds_queue *queue, int64_t begun_ns)
{
    return begun_ns + ((int64_t)queue->visible_ms - 1) * NS_PER_MS;
}

/* The numbers of a stripe, as the handle knows them. Incarnation 0: it knows of no such stripe. */
struct mcds__queue_range {
    uint64_t incarnation;
    uint64_t first;
    uint64_t last;
};
struct mcds__queue_range mcds__queue_range(mcds_queue *queue, uint32_t stripe);
uint64_t mcds__queue_incarnation(mcds_queue *queue);
/* The number of stripes; 0: not known. */
uint32_t mcds__queue_stripes(mcds_queue *queue);
/* The stripe of a use, which is one of queue->push or queue->next. *is_other_out, if it
 * is not NULL: whether the handle has just changed to this stripe. */
uint32_t mcds__queue_pick_stripe(mcds_queue *queue, struct mcds__queue_stay *stay,
                                 bool *is_other_out);
/* The stripe was used. */
void mcds__queue_note_use(mcds_queue *queue, struct mcds__queue_stay *stay, uint32_t stripe,
                          size_t uses, bool is_outrun);
/* Learn the numbers that the store has; NULL: there is no queue. */
void mcds__queue_learn(mcds_queue *queue, const struct mcds__jobs_numbers *numbers);
/* The entry of the numbers is lost. No new handle finds the parts, so a push must not use them
 * before a read has found the entry again, or no queue. */
void mcds__queue_lose_list(mcds_queue *queue);
bool mcds__queue_is_list_lost(mcds_queue *queue);
/* Raise the numbers of a stripe to at least these. No effect if the handle knows another
 * incarnation. */
void mcds__queue_raise(mcds_queue *queue, const struct mcds__queue_range *range);
/* Remember when to read a part again, on the monotonic clock. */
void mcds__queue_note(mcds_queue *queue, uint64_t incarnation, uint64_t part, int64_t look_ns);
/* Whether a stripe has no job. The next claim begins at a stripe that has one. */
void mcds__queue_set_idle(mcds_queue *queue, uint32_t stripe, bool is_idle);
bool mcds__queue_is_idle(mcds_queue *queue, uint32_t stripe);
/* The first part of the stripe, from `from` on, that may have a job at now_ns. False: none;
 * *wake_ns_out is the earliest time at which one may, or INT64_MAX. */
bool mcds__queue_choose(mcds_queue *queue, uint32_t stripe, uint64_t from, int64_t now_ns,
                        uint64_t *part_out, int64_t *wake_ns_out);
/* The lowest part of the stripe, from the first one on, that is not known to be finished. */
uint64_t mcds__queue_unfinished(mcds_queue *queue, uint32_t stripe);

/* The place of a job, which no other job ever has. */
struct mcds__queue_spot {
    uint64_t incarnation;
    uint64_t part;
    uint64_t number;
};

/* The elements; each returns the bytes in `out`. */
mcds_bytes mcds__queue_numbers_element(void);
mcds_bytes mcds__queue_part_element(uint64_t incarnation, uint64_t part, uint8_t *out);
mcds_bytes mcds__queue_dead_element(uint64_t incarnation, uint64_t part, uint64_t number,
                                    uint8_t *out);
/* The place of the job that has become the dead job of an element. False: the job was pushed as
 * a dead one, and was never in a part. */
bool mcds__queue_find_spot(mcds_bytes element, struct mcds__queue_spot *spot_out);
/* Whether an element is of a part, or of a dead job. */
bool mcds__queue_is_part(mcds_bytes element);
bool mcds__queue_is_dead(mcds_bytes element);

/* The current change or read of an entry, of an operation that makes several, one after another.
 * All zero at the start. */
struct mcds__queue_work {
    mcds_queue *queue;
    bool updates;
    bool reads;
    struct mcds__map_update update;
    struct mcds__map_get get;
};
/* Begin a change. It makes no queue unless `makes`. False: no memory. */
bool mcds__queue_begin_update(struct mcds__queue_work *work,
                              const struct mcds__map_command *command, bool makes);
bool mcds__queue_begin_order(struct mcds__queue_work *work, mcds_bytes element,
                             mcds_bytes order, bool makes);
/* Begin to remove the job of the receipt. */
bool mcds__queue_begin_done(struct mcds__queue_work *work, uint64_t incarnation, uint64_t part,
                            const struct mcds__jobs_receipt *receipt);
/* Step the change. DONE with MCDS_OK and the code (ABSENT for NOT_FOUND), or with a failure. */
enum mcds__step mcds__queue_step_update(struct mcds__queue_work *work,
                                        struct mcds__operation *operation);
bool mcds__queue_begin_get(struct mcds__queue_work *work, mcds_bytes element);
enum mcds__step mcds__queue_step_get(struct mcds__queue_work *work,
                                     struct mcds__operation *operation);
/* Step a read of the numbers, and learn them. DONE with MCDS_OK, MCDS_NOT_FOUND, or a failure:
 * MCDS_INVALID if the queue has another number of stripes than the caller asks for. */
enum mcds__step mcds__queue_step_numbers(struct mcds__queue_work *work,
                                         struct mcds__operation *operation);
void mcds__queue_end_work(struct mcds__queue_work *work);
/* Whether the change or the read that has ended was the first of the handle to find that the store
 * has lost the whole queue. No later one finds it, so the call must report it. */
bool mcds__queue_has_vanished(const struct mcds__queue_work *work,
                              const struct mcds__operation *operation);
/* If the key that was asked for is lost, say why the operation fails. JOBS_GONE: of a part or a
 * dead job; JOB_LIST_GONE: of the numbers. */
void mcds__queue_explain_loss(struct mcds__operation *operation, const mcds_reason *why);

/* The bytes of the tries, before those of the dead job. A shorter value is a done record. */
#define MCDS__QUEUE_DEAD_TRIES 4
/* Begin to copy a job to a dead job, or to put a done record in the place of one: the job is done,
 * and no copy of it is made while the record stays. False: no memory. */
bool mcds__queue_begin_bury(struct mcds__queue_work *work, const struct mcds__queue_spot *spot,
                            uint32_t tries, mcds_bytes job);
bool mcds__queue_begin_done_record(struct mcds__queue_work *work,
                                   const struct mcds__queue_spot *spot);
/* Begin to replace the dead job of the element by a done record, if its value is still `dead`.
 * False: no memory. */
bool mcds__queue_begin_erase(struct mcds__queue_work *work, mcds_bytes element,
                             mcds_bytes dead);
/* Begin to put the mark of a part that was never made, because its key was lost before, or to get
 * it. The mark is at the place of a job that no part has. If the key of that place is lost too,
 * `place` is one more, below MCDS__QUEUE_SKIP_PLACES. False: no memory. */
#define MCDS__QUEUE_SKIP_PLACES 8
bool mcds__queue_begin_skip(struct mcds__queue_work *work, uint64_t incarnation, uint64_t part,
                            uint32_t place);
bool mcds__queue_begin_get_skip(struct mcds__queue_work *work, uint64_t incarnation,
                                uint64_t part, uint32_t place);
/* The number of the last part of the stripe that the step of a read of the numbers has shown. That
 * of the handle may be larger. */
uint64_t mcds__queue_stored_last(const struct mcds__queue_work *work, uint32_t stripe);

/* Find out whether a part whose key is lost was ever made. */
struct mcds__queue_loss {
    uint8_t stage;
    uint32_t place;
    uint64_t incarnation;
    uint64_t part;
};
void mcds__queue_loss_begin(struct mcds__queue_loss *loss, uint64_t incarnation, uint64_t part);
/* DONE with MCDS_LOST: it was made, and its jobs are lost; MCDS_OK: never, a push has passed over
 * it; MCDS_NOT_FOUND: not yet, or the queue was dropped; or a failure. */
enum mcds__step mcds__queue_loss_step(struct mcds__queue_loss *loss,
                                      struct mcds__queue_work *work,
                                      struct mcds__operation *operation);

/* Whether a job is held, and its receipt is one that a call can have written. */
static inline bool mcds__queue_is_receipt(const mcds_job *job)
{
    return job != NULL && job->is_held && job->incarnation != 0 && job->tries > 0 &&
           job->tries <= MCDS__JOBS_TRIES_MAX && mcds__jobs_is_part(job->part) &&
           job->number < (uint64_t)MCDS__JOBS_NUMBER_MAX;
}

/* Whether a receipt is of a job of this queue. If not: MCDS_INVALID, with the sentence set. */
int mcds__queue_check_receipt(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                              const mcds_job *job);

/* Initialises the map of the queue with this name. End it with mcds__map_destroy. */
void mcds__queue_init_map(struct mcds__map *map, mcds_store *store, const char *name);
/* Checks the arguments that all calls on a job have. */
int mcds__queue_check(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                      uint64_t delay_ms);
/* Checks the clock too, for calls that store a time or compare one. */
int mcds__queue_check_timed(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                            uint64_t delay_ms);

#endif
