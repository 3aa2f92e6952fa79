/* Queue: visit and count the jobs. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/queue/queue.h"

/* The entry of a job for the visitor, at now_ms. */
static mcds_queue_entry describe_job(const struct mcds__job *job, int64_t now_ms)
{
    bool is_due = mcds__jobs_is_due(job, now_ms);
    mcds_queue_entry entry = {.job = job->bytes, .tries = job->tries};
    entry.state = is_due            ? MCDS_JOB_WAITING
                  : job->is_claimed ? MCDS_JOB_CLAIMED
                                    : MCDS_JOB_DELAYED;
    assert(is_due || job->time_ms > now_ms);
    entry.ms = is_due ? 0 : (uint64_t)(job->time_ms - now_ms);
    return entry;
}

/* Visit the jobs stripe by stripe, in their order: part by part, until a part after the last one is
 * missing. If the numbers are lost, visit the parts in the order of the map. */
struct queue_scan {
    struct mcds__operation base;
    struct mcds__queue_work work;
    bool reads_parts;
    bool reads_loss; /* the key of the part is lost */
    bool is_lost;    /* some part */
    bool reads_map;  /* the numbers are lost */
    struct mcds__map_scan map_scan;
    struct mcds__queue_loss loss;
    struct mcds__jobs_numbers numbers; /* as they were read */
    uint32_t stripe;
    uint64_t part;
    uint64_t left;
    mcds_queue_scan_cb visit;
    void *context;
};

static enum mcds__step scan_step_on(struct queue_scan *scan);

static enum mcds__step scan_ask_part(struct queue_scan *scan)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    assert(scan->numbers.incarnation != 0);
    scan->reads_parts = true;
    scan->base.tries = 1;
    if (!mcds__queue_begin_get(&scan->work, mcds__queue_part_element(scan->numbers.incarnation,
                                                                     scan->part, element)))
        return mcds__operation_finish(&scan->base, MCDS_NO_MEMORY);
    return scan_step_on(scan);
}

static enum mcds__step scan_end(struct queue_scan *scan)
{
    return scan->is_lost ? mcds__operation_explain(&scan->base, MCDS_LOST, MCDS__WHY(JOBS_GONE))
                         : mcds__operation_finish(&scan->base, MCDS_OK);
}

/* False: the visitor has ended the scan. */
static bool visit_part(struct queue_scan *scan, mcds_bytes value)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    int64_t now_ms = mcds__wall_ms(scan->base.env);
    if (!mcds__jobs_open(value, &part))
        return true;
    while (mcds__jobs_next(&part, &job)) {
        mcds_queue_entry entry = describe_job(&job, now_ms);
        assert(scan->left > 0);
        scan->left--;
        if (!scan->visit(scan->context, &entry) || scan->left == 0)
            return false;
    }
    return true;
}

static bool visit_kept(void *context, const struct mcds__map_entry *entry)
{
    return !mcds__queue_is_part(entry->element) || visit_part(context, entry->value);
}

static enum mcds__step scan_take_map(struct queue_scan *scan)
{
    struct mcds__operation *operation = &scan->base;
    enum mcds__step step = mcds__map_scan_step(&scan->map_scan, operation);
    bool is_over = operation->result == MCDS_OK || operation->result == MCDS_LOST;
    return step == MCDS__DONE && is_over
               ? mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(JOB_LIST_GONE))
               : step;
}

static enum mcds__step scan_begin_map(struct queue_scan *scan)
{
    scan->reads_map = true;
    scan->base.tries = 1;
    mcds__map_scan_begin(&scan->map_scan, &scan->work.queue->keyed.map);
    scan->map_scan.visit = visit_kept;
    scan->map_scan.context = scan;
    return scan_take_map(scan);
}

static enum mcds__step scan_take_numbers(struct queue_scan *scan)
{
    enum mcds__step step = mcds__queue_step_numbers(&scan->work, &scan->base);
    if (step == MCDS__DONE && scan->base.result == MCDS_LOST &&
        scan->base.detail == MCDS__WHY(JOB_LIST_GONE))
        return scan_begin_map(scan);
    if (step != MCDS__DONE || scan->base.result != MCDS_OK)
        return step;
    bool is_read = mcds__jobs_read_numbers(scan->work.get.value, &scan->numbers);
    assert(is_read);
    (void)is_read;
    scan->part = scan->numbers.list[0].first;
    return scan_ask_part(scan);
}

/* No later part of the stripe was made. */
static enum mcds__step scan_end_stripe(struct queue_scan *scan)
{
    if (++scan->stripe == scan->numbers.stripes)
        return scan_end(scan);
    mcds__operation_renew(&scan->base);
    scan->reads_loss = false;
    scan->part = scan->numbers.list[scan->stripe].first;
    return scan_ask_part(scan);
}

static enum mcds__step scan_ask_next(struct queue_scan *scan)
{
    mcds__operation_renew(&scan->base);
    scan->part++;
    return scan_ask_part(scan);
}

static enum mcds__step scan_take_loss(struct queue_scan *scan)
{
    struct mcds__operation *operation = &scan->base;
    enum mcds__step step = mcds__queue_loss_step(&scan->loss, &scan->work, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND)
        return scan_end_stripe(scan);
    if (operation->result != MCDS_OK && operation->result != MCDS_LOST)
        return step;
    scan->reads_loss = false;
    scan->is_lost = scan->is_lost || operation->result == MCDS_LOST;
    return scan_ask_next(scan);
}

/* A later part was not made. The bound also ends a scan whose keys are all lost. */
static enum mcds__step scan_ask_loss(struct queue_scan *scan)
{
    if (scan->part > scan->numbers.list[scan->stripe].last)
        return scan_end_stripe(scan);
    scan->reads_loss = true;
    mcds__queue_loss_begin(&scan->loss, scan->numbers.incarnation, scan->part);
    return scan_take_loss(scan);
}

static enum mcds__step scan_take_part(struct queue_scan *scan)
{
    struct mcds__operation *operation = &scan->base;
    enum mcds__step step = mcds__queue_step_get(&scan->work, operation);
    if (step != MCDS__DONE)
        return step;
    if (mcds__queue_has_vanished(&scan->work, operation))
        return step;
    if (operation->result == MCDS_LOST)
        return scan_ask_loss(scan);
    if (operation->result == MCDS_NOT_FOUND &&
        scan->part >= scan->numbers.list[scan->stripe].last)
        return scan_end_stripe(scan);
    if (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND)
        return step;
    if (operation->result == MCDS_OK) {
        mcds__operation_note_visit(operation);
        if (!visit_part(scan, scan->work.get.value))
            return scan_end(scan);
    }
    return scan_ask_next(scan);
}

static enum mcds__step scan_step_on(struct queue_scan *scan)
{
    if (scan->reads_map)
        return scan_take_map(scan);
    if (!scan->reads_parts)
        return scan_take_numbers(scan);
    return scan->reads_loss ? scan_take_loss(scan) : scan_take_part(scan);
}

static enum mcds__step queue_step_scan(struct mcds__operation *operation)
{
    return scan_step_on((struct queue_scan *)operation);
}

static void queue_release_scan(struct mcds__operation *operation)
{
    struct queue_scan *scan = (struct queue_scan *)operation;
    mcds__queue_end_work(&scan->work);
    if (scan->reads_map)
        mcds__map_scan_free(&scan->map_scan);
}

static const struct mcds__operation_kind scan_kind = {
    "queue", "scan", sizeof(struct queue_scan), queue_step_scan, queue_release_scan};

int mcds_queue_scan_start(mcds_queue *queue, uint64_t limit, mcds_queue_scan_cb visit,
                          void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (queue == NULL || visit == NULL)
        return mcds__fail_missing("queue", "scan", "a queue and a visitor");
    result = mcds__check_wall(&scan_kind, &queue->keyed.handle);
    if (result != MCDS_OK)
        return result;
    struct queue_scan own;
    struct queue_scan *scan = mcds__call_begin_zero(&own.base, &scan_kind, &queue->keyed.handle,
                                                    start, &result);
    if (scan == NULL)
        return result;
    scan->work.queue = queue;
    scan->left = limit > 0 ? limit : UINT64_MAX;
    scan->visit = visit;
    scan->context = context;
    if (!mcds__queue_begin_get(&scan->work, mcds__queue_numbers_element())) {
        mcds__call_forget(start, scan);
        return mcds__fail_memory("queue", queue->keyed.handle.name, "scan");
    }
    return mcds__call_launch(&scan->base, start);
}

int mcds_queue_scan(mcds_queue *queue, uint64_t limit, mcds_queue_scan_cb visit, void *context)
{
    return mcds_queue_scan_start(queue, limit, visit, context, MCDS__WAIT, 0);
}

/* All entries, in the order of the map: to count them, or to visit the dead ones. */
struct queue_sweep {
    struct mcds__operation base;
    mcds_queue_counts *counts_out;
    mcds_queue_counts counts;
    uint64_t left;
    mcds_queue_scan_cb visit;
    void *context;
    struct mcds__map_scan scan;
};

static void count_part(struct queue_sweep *sweep, mcds_bytes value)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    int64_t now_ms = mcds__wall_ms(sweep->base.env);
    uint64_t *counts[] = {&sweep->counts.waiting, &sweep->counts.delayed,
                          &sweep->counts.claimed};
    if (!mcds__jobs_open(value, &part))
        return;
    while (mcds__jobs_next(&part, &job))
        (*counts[describe_job(&job, now_ms).state])++;
}

/* And not a done record. */
static bool is_dead_job(const struct mcds__map_entry *entry)
{
    return mcds__queue_is_dead(entry->element) && entry->value.length >= MCDS__QUEUE_DEAD_TRIES;
}

static bool count_entry(void *context, const struct mcds__map_entry *entry)
{
    struct queue_sweep *sweep = context;
    if (mcds__queue_is_part(entry->element))
        count_part(sweep, entry->value);
    sweep->counts.dead += is_dead_job(entry);
    return true;
}

static bool visit_dead(void *context, const struct mcds__map_entry *entry)
{
    struct queue_sweep *sweep = context;
    const uint8_t *bytes = entry->value.data;
    if (!is_dead_job(entry))
        return true;
    const mcds_queue_entry dead = {
        .job = {bytes + MCDS__QUEUE_DEAD_TRIES, entry->value.length - MCDS__QUEUE_DEAD_TRIES},
        .id = entry->element,
        .state = MCDS_JOB_DEAD,
        .tries = mcds__get_u32(bytes),
    };
    assert(sweep->left > 0);
    sweep->left--;
    return sweep->visit(sweep->context, &dead) && sweep->left > 0;
}

static enum mcds__step step_sweep(struct mcds__operation *operation)
{
    struct queue_sweep *sweep = (struct queue_sweep *)operation;
    bool counts = sweep->counts_out != NULL;
    enum mcds__step step = mcds__map_scan_step(&sweep->scan, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_LOST && operation->detail == MCDS__WHY(PART_GONE))
        operation->detail = MCDS__WHY(JOBS_GONE_UNTIL_DROPPED);
    if (counts && (operation->result >= 0 || operation->result == MCDS_LOST))
        mcds__sized_write(MCDS__SIZED_mcds_queue_counts, sweep->counts_out, &sweep->counts);
    return step;
}

static void release_sweep(struct mcds__operation *operation)
{
    mcds__map_scan_free(&((struct queue_sweep *)operation)->scan);
}

static const struct mcds__operation_kind count_kind = {
    "queue", "count", sizeof(struct queue_sweep), step_sweep, release_sweep};
static const struct mcds__operation_kind dead_kind = {
    "queue", "dead", sizeof(struct queue_sweep), step_sweep, release_sweep};

/* NULL: as mcds__call_begin. */
static struct queue_sweep *sweep_begin(mcds_queue *queue, struct queue_sweep *own,
                                       const struct mcds__operation_kind *kind,
                                       const struct mcds__start *start, int *result)
{
    *result = mcds__check_wall(kind, &queue->keyed.handle);
    if (*result != MCDS_OK)
        return NULL;
    struct queue_sweep *sweep = mcds__call_begin_zero(&own->base, kind, &queue->keyed.handle,
                                                      start, result);
    if (sweep == NULL)
        return NULL;
    mcds__map_scan_begin(&sweep->scan, &queue->keyed.map);
    sweep->scan.visit = kind == &count_kind ? count_entry : visit_dead;
    sweep->scan.context = sweep;
    return sweep;
}

int mcds_queue_count_start(mcds_queue *queue, mcds_queue_counts *counts_out,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    struct queue_sweep own;
    if (queue == NULL || counts_out == NULL)
        return mcds__fail_missing("queue", "count", "a queue and a place for the counts");
    int result = mcds__sized_check(MCDS__SIZED_mcds_queue_counts, counts_out);
    if (result != MCDS_OK)
        return result;
    struct queue_sweep *sweep = sweep_begin(queue, &own, &count_kind, start, &result);
    if (sweep == NULL)
        return result;
    sweep->counts_out = counts_out;
    return mcds__call_launch(&sweep->base, start);
}

int mcds_queue_count(mcds_queue *queue, mcds_queue_counts *counts_out)
{
    return mcds_queue_count_start(queue, counts_out, MCDS__WAIT, 0);
}

int mcds_queue_dead_start(mcds_queue *queue, uint64_t limit, mcds_queue_scan_cb visit,
                          void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    struct queue_sweep own;
    int result = MCDS_OK;
    if (queue == NULL || visit == NULL)
        return mcds__fail_missing("queue", "dead", "a queue and a visitor");
    struct queue_sweep *sweep = sweep_begin(queue, &own, &dead_kind, start, &result);
    if (sweep == NULL)
        return result;
    sweep->left = limit > 0 ? limit : UINT64_MAX;
    sweep->visit = visit;
    sweep->context = context;
    return mcds__call_launch(&sweep->base, start);
}

int mcds_queue_dead(mcds_queue *queue, uint64_t limit, mcds_queue_scan_cb visit, void *context)
{
    return mcds_queue_dead_start(queue, limit, visit, context, MCDS__WAIT, 0);
}
