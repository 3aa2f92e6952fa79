/* Claims of jobs whose wait is ended while their request is under way, on several servers that are well:
 * the caller gets each job that was claimed, so that it can give the job back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"
#include "mcds/sim.h"
#include "sim/world.h"

#define CLAIMS 6
#define ROUNDS 8
#define JOBS (CLAIMS * ROUNDS)
#define SEEDS 60
#define EVENTS_MAX 100000
#define WAIT_MS 600000

enum { END = CLAIMS, PUSHED };

struct worker {
    mcds_queue *queue;
    mcds_job jobs[CLAIMS];
    mcds_value values[CLAIMS];
    uint64_t seed;
    uint32_t round;
    uint32_t in_flight;
    uint32_t got;
    uint32_t doubts; /* completions that do not show whether a job was claimed */
};

static void begin_claims(struct worker *worker, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    for (uint64_t i = 0; i < CLAIMS; i++) {
        worker->jobs[i] = (mcds_job)MCDS_JOB_INIT;
        assert_int_equal(mcds_queue_next_start(worker->queue, WAIT_MS, &worker->jobs[i],
                                               &worker->values[i], pipeline, i),
                         MCDS_OK);
    }
    worker->in_flight = CLAIMS;
    int64_t after_ns = (int64_t)((worker->seed * 37 + worker->round * 11) % 40) * 100000;
    assert_int_equal(mcds_sim_client_sleep(client, after_ns, END), MCDS_OK);
}

static void end_claims(mcds_sim_client *client)
{
    for (uint64_t i = 0; i < CLAIMS; i++)
        (void)!mcds_pipeline_end_wait(mcds_sim_client_pipeline(client), i);
}

static void work(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct worker *worker = context;
    if (done == NULL) {
        assert_int_equal(mcds_sim_client_sleep(client, 1000, PUSHED), MCDS_OK);
        return;
    }
    if (done->tag == END)
        end_claims(client);
    if (done->tag < CLAIMS) {
        worker->in_flight--;
        worker->got += done->result == MCDS_OK;
        worker->doubts += done->result == MCDS_AMBIGUOUS;
    }
    bool is_idle = done->tag != END && worker->in_flight == 0;
    if (is_idle && worker->round++ < ROUNDS)
        begin_claims(worker, client);
}

static void run(uint64_t seed, struct worker *worker)
{
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_queue_options queue = MCDS_QUEUE_OPTIONS_INIT;
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    *worker = (struct worker){.seed = seed};
    options.seed = seed;
    queue.flags = MCDS_QUEUE_MAY_LOSE;
    assert_int_equal(mcds_sim_open(&options, &sim), MCDS_OK);
    assert_true(mcds__sim_add_servers(sim, 3));
    assert_int_equal(mcds_sim_client_add(sim, work, worker, &client), MCDS_OK);
    assert_int_equal(
        mcds_queue_open(mcds_sim_client_store(client), "jobs", &queue, &worker->queue),
        MCDS_OK);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(mcds_queue_push(worker->queue, mcds_text("job"), 0), MCDS_OK);
    assert_int_equal(mcds_sim_run(sim, EVENTS_MAX), MCDS_OK);
    assert_int_equal(mcds_queue_count(worker->queue, &counts), MCDS_OK);
    assert_int_equal(counts.claimed, worker->got);
    assert_int_equal(counts.waiting + counts.claimed, JOBS);
    for (uint32_t i = 0; i < CLAIMS; i++)
        mcds_value_free(&worker->values[i]);
    mcds_queue_close(worker->queue);
    mcds_sim_close(sim);
}

static void each_claim_that_was_made_is_reported(void **state)
{
    struct worker worker;
    uint32_t got = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(seed, &worker);
        assert_int_equal(worker.doubts, 0);
        got += worker.got;
    }
    assert_true(got > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_claim_that_was_made_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
