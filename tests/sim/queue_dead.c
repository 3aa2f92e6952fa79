/* Dead jobs of a queue in the simulated world. Workers die, give jobs back, and are done late, at any
 * try and at the last one, and others list the dead jobs, discard them, and push them again. Each
 * acknowledged push is in the end done or dead. No job is handed out more often than its tries, and a
 * job whose done was acknowledged is never handed out or listed as dead again. A dead job is listed
 * until it is discarded or done. In every third world, one worker accepts one more try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define PUSHES 2
/* The rest are copies of dead jobs, which are pushed again. */
#define JOBS 20
#define ROUNDS_MAX 400
/* Of a server that forgets: its jobs are never all done or dead. */
#define ROUNDS_LOST_MAX 30
#define LOSSES_LESS 10
#define VISIBLE_MS 2000
#define NS_PER_MS INT64_C(1000000)
/* Two or three such jobs fill a part. */
#define LENGTH_MAX 3000
#define LENGTH_LEAST 20
#define ID_MAX 32

enum {
    TAG_PUSH = 1,
    TAG_NEXT,
    TAG_DONE,
    TAG_AGAIN,
    TAG_LONGER,
    TAG_WORK,
    TAG_LATE,
    TAG_PAUSE,
    TAG_DEAD,
    TAG_RETRY,
    TAG_DISCARD
};

struct job {
    bool is_pushed;     /* acknowledged */
    bool is_done;       /* acknowledged, */
    int64_t done_ns;    /* at this true time */
    bool is_excused;    /* its worker gave up a done in doubt, so it may be done */
    bool is_dead;       /* an again has made it dead, or a call has listed it, */
    int64_t dead_ns;    /* at this true time */
    bool is_buried;     /* by an acknowledged again, */
    int64_t buried_ns;  /* at this true time */
    bool is_ended;      /* a done or a discard of it has begun: it need not be listed as dead */
    bool is_discarded;  /* acknowledged, */
    int64_t discard_ns; /* at this true time */
    bool is_copy;       /* of a dead job */
    uint32_t tries;     /* bits: those of its claims */
};

struct world {
    mcds_sim *sim;
    bool loses; /* the server may forget */
    bool skews; /* clocks differ, so claims may overlap */
    uint64_t seed;
    uint32_t tries; /* of most workers */
    uint32_t stripes;
    size_t length; /* of each job */
    struct job jobs[JOBS];
    uint32_t copies; /* of dead jobs, pushed or tried */
    struct worker *workers;
    uint32_t worker_count;
    uint32_t pushers; /* that have not ended */
    const char *violation;
    uint64_t pushed;
    uint64_t done;
    uint64_t late; /* dones of a job that others had, or that was dead */
    uint64_t died; /* by again */
    uint64_t listed;
    uint64_t discarded;
    uint64_t copied;  /* claims of a copy */
    uint64_t excused; /* dones in doubt that were given up */
    uint64_t lost;
};

struct worker {
    struct world *world;
    mcds_queue *queue;
    mcds_job job;
    mcds_value value;
    uint32_t number;
    uint32_t tries;
    uint64_t dice;
    uint32_t at;      /* the job that it holds */
    bool is_holding;  /* its call has begun with a job */
    bool is_in_doubt; /* a done of the job was AMBIGUOUS */
    bool is_alive;    /* its claim */
    int64_t end_ns;   /* true time */
    int64_t begun_ns; /* its last call, in true time */
    uint32_t pushing; /* jobs pushed, or tried */
    uint32_t rounds;
    uint32_t seen; /* bits: the dead jobs that its call has listed */
    uint32_t choices;
    uint32_t chosen; /* one of them, at random, */
    uint32_t copy;   /* its copy, */
    size_t id_length;
    uint8_t id[ID_MAX]; /* and its id */
    uint8_t bytes[LENGTH_MAX];
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static uint32_t roll(struct worker *worker, uint32_t sides)
{
    return (uint32_t)dice_roll(&worker->dice, sides);
}

static struct job *job_of(struct worker *worker)
{
    assert_true(worker->at < JOBS);
    return &worker->world->jobs[worker->at];
}

static uint32_t number_of(const struct world *world, mcds_bytes bytes)
{
    assert_int_equal(bytes.length, world->length);
    uint32_t number = *(const uint8_t *)bytes.data;
    assert_true(number < JOBS);
    return number;
}

static void pause_worker(mcds_sim_client *client, int64_t ms, uint64_t tag)
{
    assert_int_equal(mcds_sim_client_sleep(client, ms * NS_PER_MS, tag), MCDS_OK);
}

/* The store may act on the claim from now on. */
static void begin_call(struct worker *worker, bool ends_job)
{
    worker->is_alive = false;
    worker->begun_ns = mcds_sim_now_ns(worker->world->sim);
    if (ends_job)
        job_of(worker)->is_ended = true;
}

/* The worker forgets its job. */
static void give_up(struct worker *worker)
{
    if (worker->job.is_held && worker->is_in_doubt) {
        job_of(worker)->is_excused = true;
        worker->world->excused++;
    }
    worker->job = (mcds_job)MCDS_JOB_INIT;
    worker->is_alive = worker->is_in_doubt = false;
}

static void begin_push(struct worker *worker, mcds_sim_client *client, uint32_t number,
                       uint64_t tag)
{
    memset(worker->bytes, 0, sizeof worker->bytes);
    worker->bytes[0] = (uint8_t)number;
    assert_int_equal(mcds_queue_push_start(
                         worker->queue, (mcds_bytes){worker->bytes, worker->world->length},
                         number % 4 == 3 ? 1000 : 0, mcds_sim_client_pipeline(client), tag),
                     MCDS_OK);
}

static bool is_settled(const struct world *world)
{
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *job = &world->jobs[i];
        if (job->is_pushed && !job->is_done && !job->is_excused && !job->is_dead)
            return false;
    }
    return world->pushers == 0;
}

static void begin_next(struct worker *worker, mcds_sim_client *client)
{
    uint32_t most = worker->world->loses ? ROUNDS_LOST_MAX : ROUNDS_MAX;
    if (worker->rounds++ == most || is_settled(worker->world))
        return;
    worker->is_holding = worker->job.is_held;
    begin_call(worker, worker->is_holding);
    assert_int_equal(mcds_queue_next_start(worker->queue, roll(worker, 2) * 1500, &worker->job,
                                           &worker->value, mcds_sim_client_pipeline(client),
                                           TAG_NEXT),
                     MCDS_OK);
}

static void begin_done(struct worker *worker, mcds_sim_client *client)
{
    begin_call(worker, true);
    assert_int_equal(mcds_queue_done_start(worker->queue, &worker->job,
                                           mcds_sim_client_pipeline(client), TAG_DONE),
                     MCDS_OK);
}

static void begin_again(struct worker *worker, mcds_sim_client *client)
{
    begin_call(worker, false);
    assert_int_equal(mcds_queue_again_start(worker->queue, &worker->job, roll(worker, 2) * 1000,
                                            mcds_sim_client_pipeline(client), TAG_AGAIN),
                     MCDS_OK);
}

static void begin_discard(struct worker *worker, mcds_sim_client *client)
{
    worker->begun_ns = mcds_sim_now_ns(worker->world->sim);
    worker->world->jobs[worker->chosen].is_ended = true;
    assert_int_equal(mcds_queue_discard_start(worker->queue,
                                              (mcds_bytes){worker->id, worker->id_length},
                                              mcds_sim_client_pipeline(client), TAG_DISCARD),
                     MCDS_OK);
}

static void note_done(struct worker *worker)
{
    struct job *job = job_of(worker);
    if (!job->is_done)
        job->done_ns = mcds_sim_now_ns(worker->world->sim);
    job->is_done = true;
    worker->is_in_doubt = false;
    worker->world->done++;
}

static void note_dead(struct world *world, struct job *job)
{
    if (!job->is_dead)
        job->dead_ns = mcds_sim_now_ns(world->sim);
    job->is_dead = true;
}

static void check_handed(struct worker *worker, mcds_sim_client *client)
{
    struct world *world = worker->world;
    worker->at = number_of(world, (mcds_bytes){worker->value.data, worker->value.length});
    struct job *job = job_of(worker);
    uint32_t tries = worker->job.tries;
    mcds_sim_note(world->sim, client, "has job %u, try %u", worker->at, tries);
    assert_true(tries > 0);
    if (tries > worker->tries)
        violate(world, "a job was handed out more often than its tries");
    else if (!world->loses && (job->tries & 1u << tries) != 0)
        violate(world, "two claims of a job have one number");
    if (!world->loses && job->is_done && job->done_ns < worker->begun_ns)
        violate(world, "a job that is done was handed out again");
    if (!world->loses && job->is_buried && job->buried_ns < worker->begun_ns)
        violate(world, "a dead job was handed out");
    if (!world->loses && job->is_discarded && job->discard_ns < worker->begun_ns)
        violate(world, "a job that was discarded was handed out");
    if (tries <= worker->tries)
        job->tries |= 1u << tries;
    world->copied += job->is_copy;
    worker->is_alive = true;
    worker->end_ns = mcds_sim_now_ns(world->sim) + worker->job.deadline_ns -
                     mcds_sim_client_ns(client);
}

/* Called for each dead job. */
static bool visit_dead(void *context, const mcds_queue_entry *entry)
{
    struct worker *worker = context;
    struct world *world = worker->world;
    uint32_t number = number_of(world, entry->job);
    struct job *job = &world->jobs[number];
    assert_true(entry->state == MCDS_JOB_DEAD && entry->ms == 0);
    assert_true(entry->id.length > 0 && entry->id.length <= ID_MAX);
    /* A call that makes a job dead claims it too, and may be interrupted: the tries have no bound. */
    if (entry->tries < world->tries)
        violate(world, "a dead job has fewer tries");
    if (!world->loses && (worker->seen & 1u << number) != 0)
        violate(world, "a dead job was listed twice");
    if (!world->loses && job->is_done && job->done_ns < worker->begun_ns)
        violate(world, "a job that is done was listed as dead");
    if (!world->loses && job->is_discarded && job->discard_ns < worker->begun_ns)
        violate(world, "a job that was discarded was listed as dead");
    worker->seen |= 1u << number;
    note_dead(world, job);
    world->listed++;
    if (roll(worker, ++worker->choices) == 0) {
        worker->chosen = number;
        worker->id_length = entry->id.length;
        memcpy(worker->id, entry->id.data, entry->id.length);
    }
    return true;
}

/* A call has listed the dead jobs. */
static void check_listed(const struct worker *worker)
{
    struct world *world = worker->world;
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *job = &world->jobs[i];
        if (job->is_dead && job->dead_ns < worker->begun_ns && !job->is_ended &&
            (worker->seen & 1u << i) == 0)
            violate(world, "a dead job was not listed");
    }
}

static void begin_list(struct worker *worker)
{
    worker->begun_ns = mcds_sim_now_ns(worker->world->sim);
    worker->seen = worker->choices = 0;
}

static void list_dead(struct worker *worker, mcds_sim_client *client)
{
    begin_list(worker);
    assert_int_equal(mcds_queue_dead_start(worker->queue, 0, visit_dead, worker,
                                           mcds_sim_client_pipeline(client), TAG_DEAD),
                     MCDS_OK);
}

/* One dead job of those that were listed is discarded, in every second case after it was pushed again. */
static void end_list(struct worker *worker, mcds_sim_client *client, int result)
{
    struct world *world = worker->world;
    if (result == MCDS_OK && !world->loses)
        check_listed(worker);
    uint32_t what = worker->choices > 0 ? roll(worker, 4) : 3;
    if (what == 0 && CLIENTS_MAX * PUSHES + world->copies < JOBS) {
        worker->copy = CLIENTS_MAX * PUSHES + world->copies++;
        world->jobs[worker->copy].is_copy = true;
        begin_push(worker, client, worker->copy, TAG_RETRY);
    } else if (what == 1) {
        begin_discard(worker, client);
    } else {
        begin_next(worker, client);
    }
}

static void end_retry(struct worker *worker, mcds_sim_client *client, int result)
{
    worker->world->jobs[worker->copy].is_pushed = result == MCDS_OK;
    worker->world->pushed += result == MCDS_OK;
    if (result == MCDS_OK)
        begin_discard(worker, client);
    else
        begin_next(worker, client);
}

static void end_discard(struct worker *worker, mcds_sim_client *client, int result)
{
    struct world *world = worker->world;
    struct job *job = &world->jobs[worker->chosen];
    if (result == MCDS_OK && !world->loses && job->is_done && job->done_ns < worker->begun_ns)
        violate(world, "a job that is done was discarded");
    if (result == MCDS_OK) {
        job->discard_ns = mcds_sim_now_ns(world->sim);
        job->is_discarded = true;
        world->discarded++;
    }
    if (result == MCDS_AMBIGUOUS && roll(worker, 2) == 0)
        begin_discard(worker, client);
    else
        begin_next(worker, client);
}

static void end_push(struct worker *worker, mcds_sim_client *client, int result)
{
    struct world *world = worker->world;
    world->jobs[worker->number * PUSHES + worker->pushing++].is_pushed = result == MCDS_OK;
    world->pushed += result == MCDS_OK;
    world->pushers -= worker->pushing == play_calls(PUSHES);
    begin_next(worker, client);
}

static void go_on(struct worker *worker, mcds_sim_client *client)
{
    if (worker->pushing < play_calls(PUSHES))
        begin_push(worker, client, worker->number * PUSHES + worker->pushing, TAG_PUSH);
    else if (roll(worker, 2) == 0)
        list_dead(worker, client);
    else
        begin_next(worker, client);
}

static void end_next(struct worker *worker, mcds_sim_client *client, int result)
{
    struct world *world = worker->world;
    world->lost += result == MCDS_LOST;
    if (worker->is_holding && (result == MCDS_OK || !worker->job.is_held)) {
        world->late += worker->job.was_lost;
        note_done(worker);
    }
    if (result == MCDS_OK) {
        check_handed(worker, client);
        pause_worker(client, 100 + roll(worker, 400), TAG_WORK);
        return;
    }
    if (result == MCDS_NOT_FOUND && worker->job.is_held)
        violate(world, "a job is held after no job was found");
    if (result == MCDS_AMBIGUOUS && worker->job.is_held)
        worker->is_in_doubt = true;
    if (worker->job.is_held && roll(worker, 4) == 0)
        give_up(worker);
    pause_worker(client, 300, TAG_PAUSE);
}

static void finish_work(struct worker *worker, mcds_sim_client *client)
{
    if (roll(worker, 2) == 0)
        begin_done(worker, client);
    else
        begin_next(worker, client);
}

/* What a worker does with its job: most fail. */
static void end_work(struct worker *worker, mcds_sim_client *client)
{
    switch (roll(worker, 8)) {
    case 0: /* it dies, and begins again without its job */
        give_up(worker);
        begin_next(worker, client);
        break;
    case 1:
    case 2:
    case 3:
        begin_again(worker, client);
        break;
    case 4:
    case 5: /* its claim ends first */
        pause_worker(client, VISIBLE_MS / 2 + roll(worker, 3 * VISIBLE_MS), TAG_LATE);
        break;
    case 6:
        assert_int_equal(mcds_queue_longer_start(worker->queue, &worker->job,
                                                 mcds_sim_client_pipeline(client), TAG_LONGER),
                         MCDS_OK);
        break;
    default:
        finish_work(worker, client);
    }
}

static void end_late(struct worker *worker, mcds_sim_client *client)
{
    if (roll(worker, 4) == 0)
        begin_again(worker, client);
    else
        finish_work(worker, client);
}

/* A call that would end the claim has failed: try another one, or die. */
static void settle_again(struct worker *worker, mcds_sim_client *client)
{
    switch (roll(worker, 4)) {
    case 0:
        give_up(worker);
        begin_next(worker, client);
        break;
    case 1:
        begin_again(worker, client);
        break;
    default:
        finish_work(worker, client);
    }
}

static void end_settle(struct worker *worker, mcds_sim_client *client,
                       const mcds_completion *done)
{
    struct world *world = worker->world;
    bool is_over = (done->result == MCDS_OK || done->result == MCDS_LOST) &&
                   !worker->job.is_held;
    world->lost += done->result == MCDS_LOST;
    if (!is_over) {
        assert_true(worker->job.is_held);
        worker->is_in_doubt |= done->tag == TAG_DONE && done->result == MCDS_AMBIGUOUS;
        settle_again(worker, client);
        return;
    }
    if (done->tag == TAG_DONE) {
        world->late += done->result == MCDS_LOST;
        note_done(worker);
    } else if (worker->is_in_doubt) {
        job_of(worker)->is_excused = true;
        world->excused++;
    } else if (done->result == MCDS_OK && worker->job.tries >= worker->tries) {
        world->died++;
        note_dead(world, job_of(worker));
        job_of(worker)->is_buried = true;
        job_of(worker)->buried_ns = mcds_sim_now_ns(world->sim);
    }
    worker->is_in_doubt = false;
    begin_next(worker, client);
}

static void end_longer(struct worker *worker, mcds_sim_client *client, int result)
{
    if (result == MCDS_OK)
        worker->end_ns = mcds_sim_now_ns(worker->world->sim) + worker->job.deadline_ns -
                         mcds_sim_client_ns(client);
    if (worker->job.is_held) {
        end_late(worker, client);
        return;
    }
    worker->is_alive = false;
    begin_next(worker, client);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct worker *worker = context;
    switch (done == NULL ? TAG_PAUSE : done->tag) {
    case TAG_PUSH:
        end_push(worker, client, done->result);
        break;
    case TAG_NEXT:
        end_next(worker, client, done->result);
        break;
    case TAG_WORK:
        end_work(worker, client);
        break;
    case TAG_LATE:
        end_late(worker, client);
        break;
    case TAG_LONGER:
        end_longer(worker, client, done->result);
        break;
    case TAG_PAUSE:
        go_on(worker, client);
        break;
    case TAG_DEAD:
        end_list(worker, client, done->result);
        break;
    case TAG_RETRY:
        end_retry(worker, client, done->result);
        break;
    case TAG_DISCARD:
        end_discard(worker, client, done->result);
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

/* Called for each job that is not dead, at the end. */
static bool visit_kept(void *context, const mcds_queue_entry *entry)
{
    struct worker *worker = context;
    uint32_t number = number_of(worker->world, entry->job);
    const struct job *job = &worker->world->jobs[number];
    if (job->is_done || job->is_buried || job->is_discarded)
        violate(worker->world, "at the end a job that has ended is in the queue");
    worker->seen |= 1u << number;
    return true;
}

/* Nothing is under way any more. */
static void check_end(struct worker *worker)
{
    struct world *world = worker->world;
    if (!is_settled(world))
        violate(world, "a job whose push was acknowledged was never done or dead");
    mcds_sim_calm(world->sim);
    begin_list(worker);
    int result = mcds_queue_dead(worker->queue, 0, visit_dead, worker);
    assert_true(result == MCDS_OK || (result == MCDS_NOT_FOUND && world->pushed == 0));
    check_listed(worker);
    result = mcds_queue_scan(worker->queue, 0, visit_kept, worker);
    assert_true(result == MCDS_OK || (result == MCDS_NOT_FOUND && world->pushed == 0));
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *job = &world->jobs[i];
        if (job->is_pushed && !job->is_done && !job->is_excused && !job->is_ended &&
            (worker->seen & 1u << i) == 0)
            violate(world, "at the end a job is neither done nor dead");
    }
}

static void open_worker(struct worker *worker, mcds_store *store)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    options.visible_ms = VISIBLE_MS;
    options.tries = worker->tries;
    options.stripes = worker->world->stripes;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    assert_int_equal(mcds_queue_open(store, "jobs", &options, &worker->queue), MCDS_OK);
}

static void add_up(struct world *totals, const struct world *world)
{
    totals->pushed += world->pushed;
    totals->done += world->done;
    totals->late += world->late;
    totals->died += world->died;
    totals->listed += world->listed;
    totals->discarded += world->discarded;
    totals->copied += world->copied;
    totals->excused += world->excused;
    totals->lost += world->lost;
}

static void add_worker(struct world *world, struct worker *worker, uint32_t number)
{
    mcds_sim_client *client;
    *worker = (struct worker){.world = world,
                              .number = number,
                              .tries = world->tries + (number == 0 && world->seed % 3 == 0),
                              .dice = world->seed * CLIENTS_MAX + number,
                              .job = MCDS_JOB_INIT,
                              .value = MCDS_VALUE_INIT};
    assert_int_equal(mcds_sim_client_add(world->sim, program, worker, &client), MCDS_OK);
    open_worker(worker, mcds_sim_client_store(client));
}

/* One seed, in a world that begins like this one. Returns the violation, or NULL. */
static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    static struct worker workers[CLIENTS_MAX];
    world.seed = options.seed;
    uint64_t dice = options.seed;
    world.tries = 2 + (uint32_t)dice_roll(&dice, 2);
    world.stripes = 1 + (uint32_t)dice_roll(&dice, 2);
    world.length = dice_roll(&dice, 3) == 0 ? LENGTH_MAX : LENGTH_LEAST;
    /* With many parts, or one request for each key, a call that lists the dead jobs would not end. */
    if (world.length == LENGTH_MAX || options.unordered)
        options = fewer_faults(options);
    world.workers = workers;
    world.worker_count = world.pushers = CLIENTS;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++)
        add_worker(&world, &workers[i], i);
    const char *wrong = play_run(world.sim, 400000, check_live, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    if (world.violation == NULL && !world.loses)
        check_end(&workers[0]);
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
    print_message("pushed %llu, done %llu, late %llu, dead %llu, listed %llu, discarded %llu, "
                  "copied %llu, excused %llu, lost %llu\n",
                  (unsigned long long)totals->pushed, (unsigned long long)totals->done,
                  (unsigned long long)totals->late, (unsigned long long)totals->died,
                  (unsigned long long)totals->listed, (unsigned long long)totals->discarded,
                  (unsigned long long)totals->copied, (unsigned long long)totals->excused,
                  (unsigned long long)totals->lost);
}

static bool is_rich(const struct world *totals)
{
    return totals->pushed > 0 && totals->done > 0 && totals->late > 0 && totals->died > 0 &&
           totals->discarded > 0 && totals->copied > 0;
}

/* A job must live long enough to die. */
static mcds_sim_options few_losses(uint64_t seed)
{
    mcds_sim_options options = all_faults(seed);
    options.evict_ppm /= LOSSES_LESS;
    options.flush_ppm /= LOSSES_LESS;
    options.restart_ppm /= LOSSES_LESS;
    return options;
}

static void each_job_is_done_or_dead(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 150) {
        mcds_sim_options options = network_faults(seed);
        options.skew_ms_max = 0;
        assert_null(run(options, (struct world){0}, &totals));
    }
    tell(&totals);
    SEEN(is_rich(&totals));
}

static void clocks_that_differ_revive_no_job(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 150)
        assert_null(run(network_faults(seed), (struct world){.skews = true}, &totals));
    tell(&totals);
    SEEN(is_rich(&totals));
}

static void a_server_that_forgets_raises_no_tries(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 150)
        assert_null(run(few_losses(seed), (struct world){.loses = true}, &totals));
    tell(&totals);
    SEEN(totals.pushed > 0 && totals.lost > 0 && totals.listed > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_job_is_done_or_dead),
    cmocka_unit_test(clocks_that_differ_revive_no_job),
    cmocka_unit_test(a_server_that_forgets_raises_no_tries),
};

PLAY_MAIN("queue_dead")
