/* Measures queues. Each worker is a process with its own connection. One operation pushes a job in
 * one round trip, and ends the previous job and takes the next one in another. So the number of
 * jobs, the depth, does not change.
 *
 *   in memory   mcds on memcached, a consumer group of a stream of Redis, and beanstalkd
 *   durable     mcds on lmdb with sync=full, Redis with appendfsync always, and beanstalkd with
 *               -f0: each answers when the change is on the disk
 *   depths      mcds with a million jobs against mcds with fewer
 *
 * With 64 workers, the queue of mcds has 8 stripes, and is also compared with one that has 1. */
#include "queues.h"

#include <stdlib.h>
#include <string.h>

#include "peers/peers.h"
#include "process_pool.h"
#include "queue_servers.h"
#include "queue_worker.h"
#include "work/work.h"

#define FLAT 0.77   /* 1 / 1.3 */
#define DURABLE 0.5 /* of Redis with appendfsync always */
#define ROUNDS 9
#define LONGER 4 /* factor for a durable round, because a commit takes milliseconds */
#define MANY_WORKERS 64
#define STRIPES 8 /* for many workers */

/* A queue with `depth` jobs, and the workers on it. */
struct subject {
    char name[48];
    const char *skipped; /* as of a contestant */
    double goal;         /* as of a contestant */
    bool (*fill)(const struct subject *subject, uint32_t jobs);
    struct process_pool_job job;
    const struct queue_servers *servers;
    uint32_t depth;
    char queue[16];   /* of ours: its name */
    uint32_t stripes; /* of ours */
    struct process_pool pool;
};

/* A depth that is compared, and the workers on each queue. */
struct scene {
    uint32_t depth;
    uint32_t workers;
};

static void *open_ours(const void *where)
{
    const struct subject *subject = where;
    struct queue_worker *worker = malloc(sizeof *worker);
    if (worker == NULL ||
        queue_worker_open(worker, subject->servers->uri, subject->queue, subject->stripes))
        return worker;
    free(worker);
    return NULL;
}

static void close_ours(void *state)
{
    queue_worker_close(state);
    free(state);
}

static bool fill_ours(const struct subject *subject, uint32_t jobs)
{
    struct queue_worker worker;
    if (!queue_worker_open(&worker, subject->servers->fill_uri, subject->queue,
                           subject->stripes))
        return false;
    bool fine = queue_worker_fill(&worker, jobs);
    queue_worker_close(&worker);
    return fine;
}

static void *open_redis(const void *where)
{
    struct redis_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL ||
        redis_queue_open(queue, &((const struct subject *)where)->servers->redis) == NULL)
        return queue;
    free(queue);
    return NULL;
}

static void close_redis(void *state)
{
    redis_queue_close(state);
    free(state);
}

static bool fill_redis(const struct subject *subject, uint32_t jobs)
{
    struct redis_queue queue;
    const char *why = redis_queue_open(&queue, &subject->servers->redis);
    if (why != NULL)
        return false;
    bool fine = redis_queue_fill(&queue, jobs);
    redis_queue_close(&queue);
    return fine;
}

static void *open_beanstalkd(const void *where)
{
    struct beanstalkd *queue = calloc(1, sizeof *queue);
    if (queue == NULL ||
        beanstalkd_open(queue, &((const struct subject *)where)->servers->beanstalkd))
        return queue;
    free(queue);
    return NULL;
}

static void close_beanstalkd(void *state)
{
    beanstalkd_close(state);
    free(state);
}

static bool fill_beanstalkd(const struct subject *subject, uint32_t jobs)
{
    struct beanstalkd queue;
    if (!beanstalkd_open(&queue, &subject->servers->beanstalkd))
        return false;
    bool fine = beanstalkd_fill(&queue, jobs);
    beanstalkd_close(&queue);
    return fine;
}

static void set_ours(struct subject *subject, const struct queue_servers *servers,
                     uint32_t stripes, uint32_t depth)
{
    *subject = (struct subject){.fill = fill_ours,
                                .job = {open_ours, queue_worker_run, close_ours, subject},
                                .servers = servers,
                                .stripes = stripes};
    (void)snprintf(subject->name, sizeof subject->name, "mcds, %u stripe%s", (unsigned)stripes,
                   stripes == 1 ? "" : "s");
    (void)snprintf(subject->queue, sizeof subject->queue, "jobs%u-%u", (unsigned)depth,
                   (unsigned)stripes);
}

static void set_theirs(struct subject *redis, struct subject *beanstalkd,
                       const struct queue_servers *servers)
{
    bool is_durable = servers->is_durable;
    *redis = (struct subject){.skipped = servers->no_redis,
                              .goal = is_durable ? DURABLE : 0,
                              .fill = fill_redis,
                              .job = {open_redis, redis_queue_run, close_redis, redis},
                              .servers = servers};
    (void)snprintf(redis->name, sizeof redis->name, "Redis Streams%s",
                   is_durable ? ", fsync always" : "");
    *beanstalkd = (struct subject){
        .skipped = servers->no_beanstalkd,
        .fill = fill_beanstalkd,
        .job = {open_beanstalkd, beanstalkd_run, close_beanstalkd, beanstalkd},
        .servers = servers};
    (void)snprintf(beanstalkd->name, sizeof beanstalkd->name, "beanstalkd%s",
                   is_durable ? " -f0" : "");
}

/* Push jobs until the queue has `depth`. */
static bool top_up(struct subject *subject, uint32_t depth)
{
    if (subject->skipped != NULL || subject->depth >= depth)
        return true;
    bool fine = subject->fill(subject, depth - subject->depth);
    if (!fine)
        (void)fprintf(stderr, "bench: %s cannot be filled\n", subject->name);
    subject->depth = depth;
    return fine;
}

/* The first subject against the others. */
static bool compare(struct bench *bench, const char *work, struct subject *const *subjects,
                    uint32_t count, uint32_t workers)
{
    struct comparison comparison = {.work = work, .step = workers, .count = count};
    bool fine = true;
    for (uint32_t i = 0; i < count; i++) {
        struct subject *subject = subjects[i];
        fine = fine && (subject->skipped != NULL ||
                        process_pool_open(&subject->pool, workers, &subject->job));
        comparison.list[i] = (struct contestant){.name = subject->name,
                                                 .skipped = subject->skipped,
                                                 .goal = subject->goal,
                                                 .run = process_pool_run,
                                                 .state = &subject->pool};
    }
    if (fine)
        comparison_run(bench, &comparison);
    for (uint32_t i = 0; i < count; i++)
        process_pool_close(&subjects[i]->pool);
    return fine;
}

static const char *manner_of(const struct queue_servers *servers)
{
    return servers->is_durable ? "durable" : "in memory";
}

static bool compare_with_others(struct bench *bench, struct queue_servers *servers)
{
    static const struct scene scenes[] = {{100, 1},     {100, 8},     {100, 64},
                                          {10000, 1},   {10000, 8},   {10000, 64},
                                          {1000000, 1}, {1000000, 8}, {1000000, 64}};
    static struct subject one, striped, redis, beanstalkd;
    struct subject *const few[] = {&one, &redis, &beanstalkd};
    struct subject *const many[] = {&striped, &redis, &beanstalkd, &one};
    set_ours(&one, servers, 1, 0);
    set_ours(&striped, servers, STRIPES, 0);
    set_theirs(&redis, &beanstalkd, servers);
    bool fine = true;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0] && fine; i++) {
        char work[80];
        (void)snprintf(work, sizeof work, "queue, %s, %u jobs, %u workers", manner_of(servers),
                       (unsigned)scenes[i].depth, (unsigned)scenes[i].workers);
        if (!comparison_is_wanted(bench, work))
            continue;
        bool is_many = scenes[i].workers >= MANY_WORKERS;
        struct subject *const *subjects = is_many ? many : few;
        const uint32_t count = is_many ? 4 : 3;
        fine = queue_servers_hurry(servers, true);
        for (uint32_t k = 0; k < count; k++)
            fine = fine && top_up(subjects[k], scenes[i].depth);
        fine = fine && queue_servers_hurry(servers, false) &&
               compare(bench, work, subjects, count, scenes[i].workers);
    }
    return fine;
}

static bool compare_depths(struct bench *bench, const struct queue_servers *servers)
{
    static const uint32_t depths[] = {1000000, 100, 1000, 10000, 100000};
    static const uint32_t workers[] = {1, 8, 64};
    static struct subject few[sizeof depths / sizeof depths[0]];
    static struct subject many[sizeof depths / sizeof depths[0]];
    const uint32_t count = sizeof depths / sizeof depths[0];
    bool fine = true;
    for (uint32_t i = 0; i < count; i++) {
        set_ours(&few[i], servers, 1, depths[i]);
        set_ours(&many[i], servers, STRIPES, depths[i]);
        few[i].goal = many[i].goal = FLAT;
        (void)snprintf(few[i].name, sizeof few[i].name, "mcds with %u jobs",
                       (unsigned)depths[i]);
        (void)snprintf(many[i].name, sizeof many[i].name, "mcds with %u jobs",
                       (unsigned)depths[i]);
    }
    for (size_t i = 0; i < sizeof workers / sizeof workers[0] && fine; i++) {
        char work[80];
        (void)snprintf(work, sizeof work, "queue, %s, depth %u, %u workers", manner_of(servers),
                       (unsigned)depths[0], (unsigned)workers[i]);
        if (!comparison_is_wanted(bench, work))
            continue;
        struct subject *subjects[sizeof depths / sizeof depths[0]];
        for (uint32_t k = 0; k < count; k++) {
            subjects[k] = workers[i] >= MANY_WORKERS ? &many[k] : &few[k];
            fine = fine && top_up(subjects[k], depths[k]);
        }
        fine = fine && compare(bench, work, subjects, count, workers[i]);
    }
    return fine;
}

static bool run_manner(struct bench *bench, bool is_durable)
{
    struct queue_servers servers;
    double round_s = bench->round_s;
    bench->round_s = is_durable ? LONGER * round_s : round_s;
    bool fine = queue_servers_start(&servers, bench->place, is_durable) &&
                compare_with_others(bench, &servers) && compare_depths(bench, &servers);
    queue_servers_stop(&servers);
    bench->round_s = round_s;
    return fine;
}

void queues_run(struct bench *bench)
{
    bench->rounds = bench->rounds < ROUNDS ? bench->rounds : ROUNDS;
    bool fine = keep_to_one_processor() && run_manner(bench, false) && run_manner(bench, true);
    bench->failed = bench->failed || !fine;
    if (!bench->alone)
        table_print(stdout, bench);
}
