/* The cost of a queue: one round trip for each call of a handle that knows it, also in the middle of
 * thousands of jobs, and with slow jobs in earlier parts. */
#include "structures/cost.h"

#define MANY 1000
#define CALLS 200

static void push_many(mcds_queue *queue)
{
    static mcds_bytes jobs[MANY];
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = mcds_text("job");
    CHECK_RESULT(MCDS_OK, mcds_queue_push_many(queue, jobs, MANY, 0, NULL));
}

static bool visit_job(void *context, const mcds_queue_entry *entry)
{
    (void)context;
    return entry->job.length > 0;
}

/* Of a queue with one job: a scan also looks for a part after the last one. */
static void tiny_trips(struct suite *suite, struct counted *c,
                       const mcds_queue_options *options)
{
    const char *name = fresh_name(suite, "q");
    mcds_queue *queue = NULL;
    mcds_queue *other = NULL;
    CHECK_RESULT(MCDS_OK, mcds_queue_open(c->store, name, options, &queue));
    CHECK_RESULT(MCDS_OK, mcds_queue_open(c->store, name, options, &other));
    CHECK_RESULT(MCDS_OK, mcds_queue_push(queue, mcds_text("a"), 0));
    TRIPS(4, MCDS_OK, suite, c, mcds_queue_scan, other, 0, visit_job, NULL);
    TRIPS(3, MCDS_OK, suite, c, mcds_queue_scan, queue, 0, visit_job, NULL);
    TRIPS(4, MCDS_OK, suite, c, mcds_queue_drop, queue);
    CHECK_RESULT(MCDS_OK, mcds_queue_push(queue, mcds_text("a"), 0));
    TRIPS(4, MCDS_OK, suite, c, mcds_queue_drop, other);
    mcds_queue_close(queue);
    mcds_queue_close(other);
}

struct dead_id {
    size_t length;
    uint8_t bytes[32];
};

static bool see_id(void *context, const mcds_queue_entry *entry)
{
    struct dead_id *id = context;
    assert_true(entry->id.length > 0 && entry->id.length <= sizeof id->bytes);
    memcpy(id->bytes, entry->id.data, id->length = entry->id.length);
    return true;
}

/* Discard the only dead job, in so many round trips, and once more. */
static void discard_trips(struct suite *suite, struct counted *c, mcds_queue *queue,
                          uint32_t trips)
{
    struct dead_id id = {.length = 0};
    CHECK_RESULT(MCDS_OK, mcds_queue_dead(queue, 0, see_id, &id));
    const mcds_bytes bytes = {id.bytes, id.length};
    TRIPS(trips, MCDS_OK, suite, c, mcds_queue_discard, queue, bytes);
    TRIPS(1, MCDS_NOT_FOUND, suite, c, mcds_queue_discard, queue, bytes);
}

static void dead_trips(struct suite *suite, struct counted *c, mcds_queue_options options)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_queue *queue = NULL;
    options.tries = 1;
    CHECK_RESULT(MCDS_OK, mcds_queue_open(c->store, fresh_name(suite, "q"), &options, &queue));
    CHECK_RESULT(MCDS_OK, mcds_queue_push(queue, mcds_text("a"), 0));
    CHECK_RESULT(MCDS_OK, mcds_queue_next(queue, 0, &job, &value));
    TRIPS(4, MCDS_OK, suite, c, mcds_queue_again, queue, &job, 0);
    discard_trips(suite, c, queue, 3);
    TRIPS(1, MCDS_OK, suite, c, mcds_queue_push_dead, queue, mcds_text("b"), 1);
    discard_trips(suite, c, queue, 2);
    mcds_value_free(&value);
    mcds_queue_close(queue);
}

void queue_trips(struct suite *suite)
{
    struct counted c;
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_job job = MCDS_JOB_INIT;
    mcds_job slow = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_queue *queue = NULL;
    mcds_queue *other = NULL;
    const char *name = fresh_name(suite, "q");
    open_counted(suite, &c);
    options.flags = MCDS_QUEUE_MAY_LOSE;
    CHECK_RESULT(MCDS_OK, mcds_queue_open(c.store, name, &options, &queue));
    CHECK_RESULT(MCDS_OK, mcds_queue_open(c.store, name, &options, &other));
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_queue_count, queue, &counts);
    TRIPS(5, MCDS_OK, suite, &c, mcds_queue_push, queue, mcds_text("a"), 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_push, queue, mcds_text("b"), 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_next, queue, 0, &job, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_longer, queue, &job);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_next, queue, 0, &job, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_again, queue, &job, 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_next, queue, 0, &job, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_queue_done, queue, &job);
    tiny_trips(suite, &c, &options);
    dead_trips(suite, &c, options);
    push_many(other);
    CHECK_RESULT(MCDS_OK, mcds_queue_next(queue, 0, &slow, &value));
    for (int i = 0; i < MANY / 2; i++)
        CHECK_RESULT(MCDS_OK, mcds_queue_next(queue, 0, &job, &value));
    /* Of these, some rewrite a key that has grown, which takes two round trips more. */
    counting_backend_arm(&c.counting, FAULT_NONE, 0, false);
    for (int i = 0; i < CALLS; i++)
        CHECK_RESULT(MCDS_OK, mcds_queue_next(queue, 0, &job, &value));
    assert_in_range(c.counting.batches, CALLS, CALLS + CALLS / 4);
    mcds_value_free(&value);
    mcds_queue_close(queue);
    mcds_queue_close(other);
    close_counted(&c);
}
