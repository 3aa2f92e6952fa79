/* Queues of several stripes: no job is lost or handed out twice, no stripe waits for ever, and the
 * queue keeps its number. */
#include "base/hash/text_sum.h"
#include "structures/queue/queue.h"
#include "structures/suite.h"

#define STRIPES 4
#define JOBS 600
/* After so many jobs or so much time, a handle leaves a stripe. */
#define USES 256
#define STAY_MS 1000
#define QUEUE_LENGTH 9 /* of the dot and the checksum of the queue in a receipt */
#define HOUR_MS (INT64_C(3600) * 1000)

static mcds_queue *open_queue(mcds_store *store, const char *name, uint32_t stripes)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.stripes = stripes;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    int result = mcds_queue_open(store, name, &options, &queue);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return queue;
}

static void push_number(struct suite *suite, mcds_queue *queue, uint32_t number,
                        uint64_t delay_ms)
{
    CHECK(MCDS_OK, suite, mcds_queue_push, queue, ((mcds_bytes){&number, sizeof number}),
          delay_ms);
}

/* The jobs that a test has seen. */
struct seen {
    bool has[JOBS];
    uint32_t count;
};

static void see(struct seen *seen, mcds_bytes job)
{
    uint32_t number;
    assert_int_equal(job.length, sizeof number);
    memcpy(&number, job.data, sizeof number);
    assert_true(number < JOBS);
    assert_false(seen->has[number]);
    seen->has[number] = true;
    seen->count++;
}

static bool see_entry(void *context, const mcds_queue_entry *entry)
{
    see(context, entry->job);
    return true;
}

/* A worker without a job. */
struct worker {
    mcds_queue *queue;
    mcds_pipeline *pipeline;
    mcds_job job;
    mcds_value value;
};

static struct worker hire(struct suite *suite, const char *name, bool is_other)
{
    return (struct worker){open_queue(is_other ? suite->other : suite->store, name, 0),
                           is_other ? suite->other_pipeline : suite->pipeline, MCDS_JOB_INIT,
                           MCDS_VALUE_INIT};
}

static void dismiss(struct worker *worker)
{
    mcds_queue_close(worker->queue);
    mcds_value_free(&worker->value);
}

static int take(struct suite *suite, struct worker *worker)
{
    return CALL_IN(suite, worker->pipeline, mcds_queue_next, worker->queue, 0, &worker->job,
                   &worker->value);
}

static mcds_bytes bytes_of(const struct worker *worker)
{
    return (mcds_bytes){worker->value.data, worker->value.length};
}

static void check_waiting(struct suite *suite, mcds_queue *queue, uint64_t waiting)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    CHECK(MCDS_OK, suite, mcds_queue_count, queue, &counts);
    assert_int_equal(counts.waiting, waiting);
    assert_int_equal(counts.claimed + counts.delayed + counts.dead, 0);
}

/* As many jobs to each stripe. */
static void push_to_each(struct suite *suite, mcds_queue *queue, uint64_t delay_ms)
{
    for (uint32_t i = 0; i < 4 * STRIPES; i++) {
        push_number(suite, queue, i, delay_ms);
        shift_wall_ms(suite, STAY_MS);
    }
}

static uint32_t stripe_of(const mcds_job *job)
{
    return mcds__jobs_stripe_of(job->part);
}

/* Several stripes, of single pushes and of one call. */
static void push_jobs(struct suite *suite, mcds_queue *queue)
{
    static uint32_t numbers[JOBS];
    static mcds_bytes jobs[JOBS];
    for (uint32_t i = 0; i < JOBS / 2; i++) {
        push_number(suite, queue, i, 0);
        shift_wall_ms(suite, i % 40 == 0 ? STAY_MS : 0);
    }
    for (uint32_t i = JOBS / 2; i < JOBS; i++) {
        numbers[i] = i;
        jobs[i] = (mcds_bytes){&numbers[i], sizeof numbers[i]};
    }
    CHECK(MCDS_OK, suite, mcds_queue_push_many, queue, jobs + JOBS / 2, JOBS / 2, 0, NULL);
}

static void each_job_is_handed_out_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker workers[2] = {hire(suite, name, false), hire(suite, name, true)};
    struct seen seen = {.count = 0}, scanned = {.count = 0};
    bool is_used[STRIPES] = {false};
    push_jobs(suite, queue);
    check_waiting(suite, queue, JOBS);
    CHECK(MCDS_OK, suite, mcds_queue_scan, queue, 0, see_entry, &scanned);
    assert_int_equal(scanned.count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct worker *worker = &workers[i % 2];
        CHECK_RESULT(MCDS_OK, take(suite, worker));
        see(&seen, bytes_of(worker));
        is_used[stripe_of(&worker->job)] = true;
    }
    for (uint32_t i = 0; i < STRIPES; i++)
        assert_true(is_used[i]);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_RESULT(MCDS_NOT_FOUND, take(suite, &workers[i]));
        assert_false(workers[i].job.is_held);
        dismiss(&workers[i]);
    }
    check_waiting(suite, queue, 0);
    mcds_queue_close(queue);
}

/* A worker in a stripe that always has a job leaves it after a second. */
static void no_stripe_waits_for_ever(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, false);
    push_to_each(suite, queue, 0);
    CHECK_RESULT(MCDS_OK, take(suite, &worker));
    uint32_t first = stripe_of(&worker.job);
    for (uint32_t i = 1; i < 3 * STRIPES; i++) {
        shift_wall_ms(suite, STAY_MS);
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        assert_int_equal(stripe_of(&worker.job), (first + i) % STRIPES);
    }
    shift_wall_ms(suite, -2 * STAY_MS); /* a clock that was set back */
    CHECK_RESULT(MCDS_OK, take(suite, &worker));
    assert_int_equal(stripe_of(&worker.job), (first + 3 * STRIPES) % STRIPES);
    CHECK(MCDS_OK, suite, mcds_queue_done, worker.queue, &worker.job);
    dismiss(&worker);
    mcds_queue_close(queue);
}

/* Also a fast one. */
static void a_worker_leaves_after_many_jobs(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, 2);
    struct worker worker = hire(suite, name, false);
    static uint32_t numbers[JOBS];
    static mcds_bytes jobs[JOBS];
    uint32_t taken[2] = {0};
    for (uint32_t i = 0; i < JOBS; i++)
        jobs[i] = (mcds_bytes){&numbers[i], sizeof numbers[i]};
    for (uint32_t i = 0; i < 4; i++) { /* more than that in each */
        shift_wall_ms(suite, STAY_MS);
        CHECK(MCDS_OK, suite, mcds_queue_push_many, queue, jobs, USES, 0, NULL);
    }
    for (uint32_t i = 0; i < USES + 1; i++) {
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        taken[stripe_of(&worker.job)]++;
    }
    assert_true(taken[0] > 0 && taken[1] > 0);
    dismiss(&worker);
    mcds_queue_close(queue);
}

/* Others have prevented so many rewrites of the handle. */
static void a_crowded_stripe_is_left(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    bool is_other;
    push_number(suite, queue, 0, 0);
    uint32_t first = mcds__queue_pick_stripe(queue, &queue->next, &is_other);
    assert_false(is_other);
    for (uint32_t i = 0; i < MCDS__QUEUE_OUTRUN_MAX; i++) {
        assert_int_equal(mcds__queue_pick_stripe(queue, &queue->next, &is_other), first);
        mcds__queue_note_use(queue, &queue->next, first, 1, true);
        mcds__queue_note_use(queue, &queue->next, (first + 1) % STRIPES, 1, true);
    }
    assert_int_equal(mcds__queue_pick_stripe(queue, &queue->next, &is_other),
                     (first + 1) % STRIPES);
    assert_true(is_other);
    mcds_queue_close(queue);
}

/* The jobs of one stripe keep the order of their pushes, also where others push. */
static void a_stripe_keeps_its_order(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, true);
    int64_t last[STRIPES] = {-1, -1, -1, -1};
    push_jobs(suite, queue);
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t number;
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        memcpy(&number, worker.value.data, sizeof number);
        assert_true(last[stripe_of(&worker.job)] < number);
        last[stripe_of(&worker.job)] = number;
    }
    dismiss(&worker);
    mcds_queue_close(queue);
}

static void a_job_is_found_in_any_stripe(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, false);
    struct seen seen = {.count = 0};
    CHECK_RESULT(MCDS_NOT_FOUND, take(suite, &worker));
    for (uint32_t i = 0; i < 3 * STRIPES; i++) {
        push_number(suite, queue, i, 0);
        shift_wall_ms(suite, i % 3 == 0 ? STAY_MS : 0);
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        see(&seen, bytes_of(&worker));
        if (i % 2 == 0)
            CHECK(MCDS_OK, suite, mcds_queue_done, worker.queue, &worker.job);
        CHECK_RESULT(MCDS_NOT_FOUND, take(suite, &worker));
    }
    check_waiting(suite, queue, 0);
    dismiss(&worker);
    mcds_queue_close(queue);
}

/* A waiting worker wakes for the earliest job, whichever stripe has it. */
static void a_worker_waits_for_all_stripes(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, false);
    uint32_t number;
    push_to_each(suite, queue, HOUR_MS);
    push_number(suite, queue, JOBS - 1, 200);
    CHECK_RESULT(MCDS_NOT_FOUND, take(suite, &worker));
    CHECK(MCDS_OK, suite, mcds_queue_next, worker.queue, 20000, &worker.job, &worker.value);
    memcpy(&number, worker.value.data, sizeof number);
    assert_int_equal(number, JOBS - 1);
    dismiss(&worker);
    mcds_queue_close(queue);
}

static void check_made_with(struct suite *suite, const char *name, uint32_t stripes)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    CHECK_RESULT(MCDS_OK, mcds_queue_made_with(suite->other, name, &options));
    assert_int_equal(options.stripes, stripes);
}

static void a_queue_keeps_its_stripes(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_queue_made_with(suite->store, name, &options));
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    push_number(suite, queue, 0, 0);
    check_made_with(suite, name, STRIPES);
    mcds_queue *other = open_queue(suite->other, name, STRIPES - 1);
    struct worker worker = {other, suite->other_pipeline, MCDS_JOB_INIT, MCDS_VALUE_INIT};
    struct seen seen = {.count = 0};
    CHECK_OTHER(MCDS_INVALID, suite, mcds_queue_push, other, mcds_text("a"), 0);
    CHECK_SENTENCE("stripes");
    CHECK_OTHER(MCDS_INVALID, suite, mcds_queue_next, other, 0, &worker.job, &worker.value);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_queue_scan, other, 0, see_entry, &seen);
    assert_false(worker.job.is_held);
    check_waiting(suite, queue, 1);
    CHECK(MCDS_OK, suite, mcds_queue_drop, queue);
    CHECK_OTHER(MCDS_OK, suite, mcds_queue_push, other, mcds_text("a"), 0);
    check_made_with(suite, name, STRIPES - 1);
    CHECK(MCDS_INVALID, suite, mcds_queue_push, queue, mcds_text("a"), 0);
    check_waiting(suite, queue, 1);
    dismiss(&worker);
    mcds_queue_close(queue);
}

/* A handle that remembers a queue of several stripes adds to the one that was made since, and finds
 * its jobs. */
static void an_old_handle_learns_the_stripes(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, false);
    struct seen seen = {.count = 0};
    for (uint32_t i = 0; i < STRIPES; i++)
        push_number(suite, queue, i, 0);
    for (uint32_t i = 0; i < STRIPES; i++)
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
    mcds_queue *any = open_queue(suite->store, name, 0);
    push_number(suite, any, 0, 0);
    CHECK(MCDS_OK, suite, mcds_queue_drop, queue);
    mcds_queue *one = open_queue(suite->store, name, 1);
    push_number(suite, one, 0, 0);
    for (uint32_t i = 1; i < STRIPES; i++)
        push_number(suite, any, i, 0);
    check_made_with(suite, name, 1);
    for (uint32_t i = 0; i < STRIPES; i++) {
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        see(&seen, bytes_of(&worker));
    }
    CHECK_RESULT(MCDS_NOT_FOUND, take(suite, &worker));
    assert_int_equal(seen.count, STRIPES);
    dismiss(&worker);
    mcds_queue_close(queue);
    mcds_queue_close(any);
    mcds_queue_close(one);
}

/* A receipt names a job of any stripe. */
static void claims_end_in_each_stripe(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, STRIPES);
    struct worker worker = hire(suite, name, true);
    char receipt[MCDS_QUEUE_JOB_TEXT];
    push_to_each(suite, queue, 0);
    for (uint32_t i = 0; i < STRIPES; i++) {
        mcds_job job;
        shift_wall_ms(suite, STAY_MS);
        CHECK_RESULT(MCDS_OK, take(suite, &worker));
        mcds_queue_job_save(&worker.job, receipt);
        CHECK_RESULT(MCDS_OK, mcds_queue_job_load(&job, receipt));
        assert_true(job.part == worker.job.part);
        CHECK(MCDS_OK, suite, mcds_queue_longer, queue, &job);
        if (i % 2 == 0)
            CHECK(MCDS_OK, suite, mcds_queue_done, queue, &job);
        else
            CHECK(MCDS_OK, suite, mcds_queue_again, queue, &job, 0);
        CHECK_OTHER(MCDS_LOST, suite, mcds_queue_again, worker.queue, &worker.job, 0);
        assert_false(worker.job.is_held);
    }
    dismiss(&worker);
    mcds_queue_close(queue);
}

/* Claims of both queues have the same part, number and tries. */
static void a_job_of_another_queue_is_refused(struct suite *suite)
{
    const char *names[] = {fresh_name(suite, "queue"), fresh_name(suite, "queue")};
    struct worker mine = hire(suite, names[0], false);
    struct worker stranger = hire(suite, names[1], false);
    mcds_job job = MCDS_JOB_INIT;
    char receipt[MCDS_QUEUE_JOB_TEXT];
    push_number(suite, mine.queue, 1, 0);
    push_number(suite, stranger.queue, 2, 0);
    CHECK_RESULT(MCDS_OK, take(suite, &mine));
    CHECK_RESULT(MCDS_OK, take(suite, &stranger));
    mcds_queue_job_save(&mine.job, receipt);
    CHECK_RESULT(MCDS_OK, mcds_queue_job_load(&job, receipt));
    CHECK(MCDS_INVALID, suite, mcds_queue_done, stranger.queue, &job);
    CHECK_SENTENCE("a job of this queue, but it is of another one");
    CHECK(MCDS_INVALID, suite, mcds_queue_again, stranger.queue, &mine.job, 0);
    CHECK(MCDS_INVALID, suite, mcds_queue_longer, stranger.queue, &mine.job);
    CHECK(MCDS_INVALID, suite, mcds_queue_next, stranger.queue, 0, &mine.job, &mine.value);
    assert_true(job.is_held && mine.job.is_held);
    CHECK(MCDS_OK, suite, mcds_queue_done, mine.queue, &mine.job);
    CHECK(MCDS_OK, suite, mcds_queue_done, stranger.queue, &stranger.job);
    dismiss(&stranger);
    dismiss(&mine);
}

/* A text of a receipt may name any stripe. */
static void a_receipt_of_no_stripe_is_lost(struct suite *suite)
{
    const char *name = fresh_name(suite, "queue");
    mcds_queue *queue = open_queue(suite->store, name, 2);
    mcds_job job = MCDS_JOB_INIT;
    struct worker worker = hire(suite, name, false);
    char receipt[MCDS_QUEUE_JOB_TEXT];
    char forged[MCDS_QUEUE_JOB_TEXT];
    push_number(suite, queue, 1, 0);
    CHECK_RESULT(MCDS_OK, take(suite, &worker));
    mcds_queue_job_save(&worker.job, receipt);
    const char *end = receipt + strlen(receipt) - MCDS__TEXT_SUM - QUEUE_LENGTH;
    (void)snprintf(forged, sizeof forged, "%.16s.%llu.0.1%.*s", receipt,
                   31ULL << MCDS__JOBS_STRIPE_BIT, QUEUE_LENGTH, end);
    mcds__text_seal(forged, strlen(forged));
    CHECK_RESULT(MCDS_OK, mcds_queue_job_load(&job, forged));
    CHECK(MCDS_LOST, suite, mcds_queue_again, queue, &job, 0);
    (void)snprintf(forged, sizeof forged, "%.16s.%llu.0.1%.*s", receipt,
                   32ULL << MCDS__JOBS_STRIPE_BIT, QUEUE_LENGTH, end);
    mcds__text_seal(forged, strlen(forged));
    CHECK_RESULT(MCDS_INVALID, mcds_queue_job_load(&job, forged));
    CHECK(MCDS_OK, suite, mcds_queue_done, worker.queue, &worker.job);
    dismiss(&worker);
    mcds_queue_close(queue);
}

static void a_number_out_of_range_is_refused(struct suite *suite)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    options.stripes = 33;
    CHECK_RESULT(MCDS_INVALID, mcds_queue_open(suite->store, "q", &options, &queue));
    CHECK_SENTENCE("stripes must be 0 to 32, not 33");
}

static const struct suite_case cases[] = {
    CASE_TWICE(each_job_is_handed_out_once),     CASE_ONCE(no_stripe_waits_for_ever),
    CASE_ONCE(a_worker_leaves_after_many_jobs),  CASE_ONCE(a_crowded_stripe_is_left),
    CASE_ONCE(a_stripe_keeps_its_order),         CASE(a_job_is_found_in_any_stripe),
    CASE_TWICE(a_worker_waits_for_all_stripes),  CASE(a_queue_keeps_its_stripes),
    CASE_ONCE(an_old_handle_learns_the_stripes), CASE(claims_end_in_each_stripe),
    CASE(a_job_of_another_queue_is_refused),     CASE_ONCE(a_receipt_of_no_stripe_is_lost),
    CASE_ONCE(a_number_out_of_range_is_refused),
};
const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
