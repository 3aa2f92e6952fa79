/* Queues in the simulated world: each acknowledged push is handed out until a worker is done, never to
 * two workers while claims live, and never after it is done, under every fault of network and server,
 * with workers that die and clients that stop. On a network without faults, a job without a delay is
 * handed out as soon as a worker asks, however far the clocks differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 5
#define CLIENTS play_clients(CLIENTS_MAX)
#define PUSHES 8
#define JOBS (CLIENTS_MAX * PUSHES)
#define ROUNDS_MAX 400
/* Of a server that forgets: its jobs are never all done. */
#define ROUNDS_LOST_MAX 40
#define VISIBLE_MS 20000
#define NS_PER_MS INT64_C(1000000)
/* Most by which the clocks of workers that wait for no clock differ from the true time. */
#define SKEW_MS 60000
/* Two or three such jobs fill a part. */
#define JOB_LENGTH 3000
/* Of every second world; the others have one. */
#define STRIPES 3

enum { TAG_PUSH = 1, TAG_NEXT, TAG_DONE, TAG_AGAIN, TAG_LONGER, TAG_WORK, TAG_PAUSE };

struct job {
    bool is_pushed;  /* acknowledged */
    bool is_free;    /* pushed without a delay, and not handed out yet, */
    int64_t free_ns; /* since this true time */
    bool is_done;    /* acknowledged, */
    int64_t done_ns; /* at this true time */
    uint32_t handed;
};

struct world {
    mcds_sim *sim;
    bool loses; /* the server may forget */
    bool skews; /* clocks differ, so claims may overlap */
    bool finds; /* no request is lost or late, so each claim finds a job that is due */
    uint64_t seed;
    uint32_t stripes;
    struct job jobs[JOBS];
    struct worker *workers;
    uint32_t worker_count;
    const char *violation;
    uint64_t pushed;
    uint64_t done;
    uint64_t again;
    uint64_t lost;
    uint64_t ambiguous;
    uint64_t repeated; /* jobs that were handed out more than once */
    uint64_t passed;   /* claims that found no job, where no job was free */
    uint32_t pushers;  /* that have not ended */
    uint32_t asking;   /* calls of next under way */
};

struct worker {
    struct world *world;
    mcds_queue *queue;
    mcds_job job;
    mcds_value value;
    uint32_t number;
    uint32_t at;      /* the job that it holds */
    int64_t begun_ns; /* its last call of next, in true time */
    bool is_holding;  /* its call has begun with a job */
    bool is_alive;    /* its claim */
    int64_t end_ns;   /* true time */
    uint32_t pushing; /* jobs pushed, or tried */
    uint32_t rounds;
    uint32_t dice;
    uint8_t bytes[JOB_LENGTH];
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static void begin_next(struct worker *worker, mcds_sim_client *client);

static void begin_push(struct worker *worker, mcds_sim_client *client)
{
    memset(worker->bytes, 0, sizeof worker->bytes);
    worker->bytes[0] = (uint8_t)(worker->number * PUSHES + worker->pushing);
    assert_int_equal(mcds_queue_push_start(worker->queue,
                                           (mcds_bytes){worker->bytes, sizeof worker->bytes},
                                           worker->pushing % 4 == 3 ? 2000 : 0,
                                           mcds_sim_client_pipeline(client), TAG_PUSH),
                     MCDS_OK);
}

static void end_push(struct worker *worker, mcds_sim_client *client, int result)
{
    struct world *world = worker->world;
    bool is_delayed = worker->pushing % 4 == 3;
    struct job *job = &world->jobs[worker->number * PUSHES + worker->pushing++];
    job->is_pushed = result == MCDS_OK;
    job->is_free = job->is_pushed && !is_delayed && job->handed == 0;
    job->free_ns = mcds_sim_now_ns(world->sim);
    world->pushed += result == MCDS_OK;
    world->ambiguous += result == MCDS_AMBIGUOUS;
    bool has_pushed_all = worker->pushing == play_calls(PUSHES);
    world->pushers -= has_pushed_all;
    /* Pushers work in between, so that parts are opened and finished at the same time. */
    if (has_pushed_all || worker->pushing % 3 == 0)
        begin_next(worker, client);
    else
        begin_push(worker, client);
}

/* The claim ends by what the worker does: the store may act on it from now on. */
static void let_go(struct worker *worker)
{
    worker->is_alive = false;
}

static bool is_ready(const struct world *world)
{
    if (world->pushers > 0)
        return false;
    for (uint32_t i = 0; i < JOBS; i++)
        if (world->jobs[i].is_pushed && !world->jobs[i].is_done)
            return false;
    return true;
}

static void begin_next(struct worker *worker, mcds_sim_client *client)
{
    uint32_t most = worker->world->loses ? ROUNDS_LOST_MAX : ROUNDS_MAX;
    if (worker->rounds++ == most || is_ready(worker->world))
        return;
    let_go(worker);
    worker->world->asking++;
    worker->is_holding = worker->job.is_held;
    worker->begun_ns = mcds_sim_now_ns(worker->world->sim);
    assert_int_equal(mcds_queue_next_start(worker->queue, worker->rounds % 2 == 0 ? 0 : 3000,
                                           &worker->job, &worker->value,
                                           mcds_sim_client_pipeline(client), TAG_NEXT),
                     MCDS_OK);
}

static void note_done(struct worker *worker)
{
    struct job *job = &worker->world->jobs[worker->at];
    if (!job->is_done)
        job->done_ns = mcds_sim_now_ns(worker->world->sim);
    job->is_done = true;
    worker->world->done++;
}

static void check_handed(struct worker *worker, mcds_sim_client *client)
{
    struct world *world = worker->world;
    assert_int_equal(worker->value.length, JOB_LENGTH);
    worker->at = worker->value.data[0];
    assert_true(worker->at < JOBS);
    struct job *job = &world->jobs[worker->at];
    world->repeated += job->handed++ == 1;
    job->is_free = false;
    mcds_sim_note(world->sim, client, "has job %u, try %u", worker->at, worker->job.tries);
    /* A worker whose claim has ended may be done while another claim is under way. */
    if (job->is_done && !world->loses && job->done_ns < worker->begun_ns)
        violate(world, "a job that is done was handed out again");
    worker->is_alive = true;
    worker->end_ns = mcds_sim_now_ns(world->sim) + worker->job.deadline_ns -
                     mcds_sim_client_ns(client);
}

/* A claim has found no job. Another claim that is under way may have the free job. */
static void check_passed(const struct worker *worker)
{
    struct world *world = worker->world;
    if (!world->finds || world->asking > 0)
        return;
    for (uint32_t i = 0; i < JOBS; i++)
        if (world->jobs[i].is_free && world->jobs[i].free_ns < worker->begun_ns)
            violate(world, "a worker did not find a job that was pushed without a delay");
    world->passed++;
}

static void go_on(struct worker *worker, mcds_sim_client *client)
{
    if (worker->pushing < play_calls(PUSHES) && worker->rounds % 3 != 0)
        begin_push(worker, client);
    else
        begin_next(worker, client);
}

static void end_next(struct worker *worker, mcds_sim_client *client, int result, bool was_held)
{
    struct world *world = worker->world;
    world->lost += result == MCDS_LOST;
    world->ambiguous += result == MCDS_AMBIGUOUS;
    world->asking--;
    /* A call that fails later has said done all the same. */
    if (was_held && (result == MCDS_OK || !worker->job.is_held))
        note_done(worker);
    if (result == MCDS_OK) {
        check_handed(worker, client);
        int64_t work_ns = (int64_t)(1 + worker->rounds % 5) * 300 * NS_PER_MS;
        assert_int_equal(mcds_sim_client_sleep(client, work_ns, TAG_WORK), MCDS_OK);
        return;
    }
    if (result == MCDS_NOT_FOUND && worker->job.is_held)
        violate(world, "a job is held after no job was found");
    if (result == MCDS_NOT_FOUND)
        check_passed(worker);
    assert_int_equal(mcds_sim_client_sleep(client, 500 * NS_PER_MS, TAG_PAUSE), MCDS_OK);
}

/* What a worker does with its job: most are done with the next call. */
static void end_work(struct worker *worker, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    switch (worker->dice++ % 7) {
    case 1: /* it dies, and begins again without its job */
        worker->job = (mcds_job)MCDS_JOB_INIT;
        let_go(worker);
        begin_next(worker, client);
        break;
    case 2:
        let_go(worker);
        assert_int_equal(mcds_queue_again_start(worker->queue, &worker->job,
                                                worker->dice % 2 * 1000, pipeline, TAG_AGAIN),
                         MCDS_OK);
        break;
    case 4:
        let_go(worker);
        assert_int_equal(mcds_queue_done_start(worker->queue, &worker->job, pipeline, TAG_DONE),
                         MCDS_OK);
        break;
    case 5:
        assert_int_equal(
            mcds_queue_longer_start(worker->queue, &worker->job, pipeline, TAG_LONGER),
            MCDS_OK);
        break;
    default:
        begin_next(worker, client);
    }
}

static void end_settle(struct worker *worker, mcds_sim_client *client,
                       const mcds_completion *done)
{
    struct world *world = worker->world;
    world->lost += done->result == MCDS_LOST;
    world->again += done->tag == TAG_AGAIN && done->result == MCDS_OK;
    if (done->tag == TAG_DONE && (done->result == MCDS_OK || done->result == MCDS_LOST))
        note_done(worker);
    if (done->tag == TAG_LONGER && done->result == MCDS_OK)
        worker->end_ns = mcds_sim_now_ns(world->sim) + worker->job.deadline_ns -
                         mcds_sim_client_ns(client);
    if (done->tag == TAG_LONGER && done->result == MCDS_LOST)
        let_go(worker);
    if (done->result == MCDS_OK || done->result == MCDS_LOST) {
        assert_int_equal(worker->job.is_held,
                         done->tag == TAG_LONGER && done->result == MCDS_OK);
    } else if (done->tag == TAG_AGAIN) {
        worker->job = (mcds_job)MCDS_JOB_INIT; /* it may be given back */
    }
    begin_next(worker, client);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct worker *worker = context;
    if (done == NULL) {
        begin_push(worker, client);
        return;
    }
    switch (done->tag) {
    case TAG_PUSH:
        end_push(worker, client, done->result);
        break;
    case TAG_NEXT:
        end_next(worker, client, done->result, worker->is_holding);
        break;
    case TAG_WORK:
        end_work(worker, client);
        break;
    case TAG_PAUSE:
        go_on(worker, client);
        break;
    default:
        end_settle(worker, client, done);
    }
}

static bool is_live(const struct worker *worker)
{
    return worker->is_alive && mcds_sim_now_ns(worker->world->sim) < worker->end_ns;
}

/* At every moment, while the server forgets nothing and clocks agree. */
static const char *check_live(void *context)
{
    const struct world *world = context;
    for (uint32_t i = 1; i < world->worker_count && !world->loses && !world->skews; i++)
        for (uint32_t j = 0; j < i; j++)
            if (world->workers[i].at == world->workers[j].at && is_live(&world->workers[i]) &&
                is_live(&world->workers[j]))
                return "at this moment two workers have a job";
    return NULL;
}

static void open_worker(struct worker *worker, mcds_store *store)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    options.visible_ms = VISIBLE_MS;
    options.stripes = worker->world->stripes;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    assert_int_equal(mcds_queue_open(store, "jobs", &options, &worker->queue), MCDS_OK);
}

static void add_up(struct world *totals, const struct world *world)
{
    totals->pushed += world->pushed;
    totals->done += world->done;
    totals->again += world->again;
    totals->lost += world->lost;
    totals->ambiguous += world->ambiguous;
    totals->repeated += world->repeated;
    totals->passed += world->passed;
}

/* One seed, in a world that begins like this one. Returns the violation, or NULL. */
static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    static struct worker workers[CLIENTS_MAX];
    mcds_sim_client *client;
    world.seed = options.seed;
    world.stripes = options.seed % 2 == 0 ? 1 : STRIPES;
    world.workers = workers;
    world.worker_count = world.pushers = CLIENTS;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        workers[i] = (struct worker){.world = &world,
                                     .number = i,
                                     .dice = i,
                                     .job = MCDS_JOB_INIT,
                                     .value = MCDS_VALUE_INIT};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &workers[i], &client),
                         MCDS_OK);
        open_worker(&workers[i], mcds_sim_client_store(client));
    }
    const char *wrong = play_run(world.sim, 400000, check_live, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    if (world.violation == NULL && !world.loses && !is_ready(&world))
        violate(&world, "a job whose push was acknowledged was never done");
    for (uint32_t i = 0; i < CLIENTS; i++) {
        mcds_queue_close(workers[i].queue);
        mcds_value_free(&workers[i].value);
    }
    play_close(world.sim);
    add_up(totals, &world);
    return world.violation;
}

static void tell(const struct world *totals)
{
    print_message(
        "pushed %llu, done %llu, again %llu, repeated %llu, lost %llu, ambiguous %llu\n",
        (unsigned long long)totals->pushed, (unsigned long long)totals->done,
        (unsigned long long)totals->again, (unsigned long long)totals->repeated,
        (unsigned long long)totals->lost, (unsigned long long)totals->ambiguous);
}

static mcds_sim_options same_clocks(mcds_sim_options options)
{
    options.skew_ms_max = 0;
    return options;
}

static void each_job_is_handed_out_until_it_is_done(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 200)
        assert_null(run(same_clocks(network_faults(seed)), (struct world){0}, &totals));
    tell(&totals);
    SEEN(totals.pushed > 0 && totals.repeated > 0 && totals.again > 0);
}

static void clocks_that_differ_lose_no_job(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 200)
        assert_null(run(network_faults(seed), (struct world){.skews = true}, &totals));
    tell(&totals);
    SEEN(totals.pushed > 0 && totals.repeated > 0);
}

static void no_worker_waits_for_the_clock_of_a_push(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 100) {
        mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
        options.seed = seed;
        options.skew_ms_max = SKEW_MS;
        assert_null(run(options, (struct world){.skews = true, .finds = true}, &totals));
    }
    tell(&totals);
    SEEN(totals.pushed > 0 && totals.passed > 0);
}

static void a_server_that_forgets_ends_no_call_wrongly(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 200)
        assert_null(run(all_faults(seed), (struct world){.loses = true}, &totals));
    tell(&totals);
    SEEN(totals.pushed > 0 && totals.lost > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_job_is_handed_out_until_it_is_done),
    cmocka_unit_test(clocks_that_differ_lose_no_job),
    cmocka_unit_test(no_worker_waits_for_the_clock_of_a_push),
    cmocka_unit_test(a_server_that_forgets_ends_no_call_wrongly),
};

PLAY_MAIN("queue")
