/* Measures rate limits. Each process has its connection and takes one token at a time.
 *
 * Rates: of one identity, whose limit is reached, so that most takes are refused; and of 10 000
 * identities, of which all takes pass.
 *
 * The most that passes: a take, a pause of nine tenths of a window, then all processes at once for 1.2
 * windows. So the calls are on both sides of the end of a fixed window, whether windows begin with the
 * first take or with a second of the clock. A take counts in a window if its call began and ended
 * there. */
#include "limits.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "peers/peers.h"
#include "process_pool.h"
#include "support/counting_backend.h"
#include "work/work.h"

#define WINDOW_S 1
#define COUNT 100
#define BURST 10 /* of the bucket */
#define REMEMBER_MS 100
#define IDENTITIES 10000
#define CYCLES 3
#define PASSES_MAX 65536

enum kind { BUCKET, REMEMBERED, WINDOW, LUA, INCR_EXPIRE, FIXED, KIND_COUNT };

static const char *const names[KIND_COUNT] = {
    [BUCKET] = "mcds, bucket",
    [REMEMBERED] = "mcds, bucket, 100 ms remembered",
    [WINDOW] = "mcds, window",
    [LUA] = "Redis, sliding window in Lua",
    [INCR_EXPIRE] = "Redis INCR, EXPIRE",
    [FIXED] = "Envoy: INCRBY and EXPIRE",
};

/* What the processes of one contestant share. */
struct shared {
    _Atomic uint64_t takes;
    _Atomic uint64_t round_trips;
    double start_s;
    _Atomic uint64_t passed;
    struct {
        double began_s, ended_s;
    } passes[PASSES_MAX];
};

struct contest {
    enum kind kind;
    bool is_hot; /* one identity */
    const struct servers *servers;
    struct shared *shared;
    struct process_pool pool;
};

/* A limit as one process has it. */
struct limiter {
    const struct contest *contest;
    struct counting_backend counting;
    mcds_store *store;
    mcds_limit *limit;
    struct redis_limit redis;
    uint64_t next;
};

static bool open_mcds(struct limiter *limiter)
{
    const struct contest *contest = limiter->contest;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_limit_options limit = MCDS_LIMIT_OPTIONS_INIT;
    char uri[160];
    options.timeout_ms = 30000;
    server_uri(&contest->servers->memcached_unix, uri, sizeof uri);
    limit.form = contest->kind == WINDOW ? MCDS_LIMIT_WINDOW : MCDS_LIMIT_BUCKET;
    limit.remember_ms = contest->kind == REMEMBERED ? REMEMBER_MS : 0;
    limit.rate_count = 1;
    limit.rates[0] = (mcds_rate){.count = COUNT, .per_ms = WINDOW_S * 1000};
    if (contest->kind != WINDOW && contest->is_hot)
        limit.rates[0].burst = BURST;
    if (counting_backend_open(&limiter->counting, uri, mcds_env_system(), &options,
                              &limiter->store) == MCDS_OK &&
        mcds_limit_open(limiter->store, contest->is_hot ? "hot" : "spread", &limit,
                        &limiter->limit) == MCDS_OK)
        return true;
    (void)fprintf(stderr, "bench: %s\n", mcds_errmsg());
    return false;
}

static bool is_ours(const struct contest *contest)
{
    return contest->kind <= WINDOW;
}

static bool open_redis(struct limiter *limiter)
{
    static const enum redis_limit_recipe recipes[KIND_COUNT] = {
        [LUA] = REDIS_LUA_WINDOW,
        [INCR_EXPIRE] = REDIS_INCR_EXPIRE,
        [FIXED] = REDIS_FIXED_WINDOW,
    };
    const struct contest *contest = limiter->contest;
    const char *why = redis_limit_open(&limiter->redis, recipes[contest->kind],
                                       &contest->servers->redis_unix,
                                       (uint64_t)(uintptr_t)getpid());
    if (why != NULL)
        (void)fprintf(stderr, "bench: %s\n", why);
    return why == NULL;
}

static void close_limiter(void *state)
{
    struct limiter *limiter = state;
    mcds_limit_close(limiter->limit);
    mcds_close(limiter->store);
    redis_limit_close(&limiter->redis);
    free(limiter);
}

static void *open_limiter(const void *where)
{
    struct limiter *limiter = calloc(1, sizeof *limiter);
    if (limiter == NULL)
        return NULL;
    limiter->contest = where;
    limiter->next = (uint64_t)(uintptr_t)getpid() * 7919;
    if (is_ours(limiter->contest) ? open_mcds(limiter) : open_redis(limiter))
        return limiter;
    close_limiter(limiter);
    return NULL;
}

/* 1: it passed; 0: refused; -1: failed. */
static int take(struct limiter *limiter)
{
    char identity[16] = "one";
    if (!limiter->contest->is_hot)
        (void)snprintf(identity, sizeof identity, "%u",
                       (unsigned)(limiter->next++ * 7919 % IDENTITIES));
    if (!is_ours(limiter->contest))
        return redis_limit_take(&limiter->redis, identity, COUNT, WINDOW_S);
    int result = mcds_limit_take(limiter->limit, mcds_text(identity), 1, 0, NULL);
    if (result == MCDS_OK || result == MCDS_BUSY)
        return result == MCDS_OK;
    (void)fprintf(stderr, "bench: %s\n", mcds_errmsg());
    return -1;
}

/* Adds the takes since the last call, and the round trips. */
static void add_costs(struct limiter *limiter, uint64_t takes)
{
    struct shared *shared = limiter->contest->shared;
    atomic_fetch_add(&shared->takes, takes);
    atomic_fetch_add(&shared->round_trips, atomic_exchange(&limiter->counting.submits, 0) +
                                               limiter->redis.round_trips);
    limiter->redis.round_trips = 0;
}

/* job.run for the rates. */
static bool run_takes(void *state, uint64_t operations)
{
    struct limiter *limiter = state;
    for (uint64_t i = 0; i < operations; i++)
        if (take(limiter) < 0)
            return false;
    add_costs(limiter, operations);
    return true;
}

static bool take_timed(struct limiter *limiter)
{
    struct shared *shared = limiter->contest->shared;
    double began_s = comparison_now_s();
    int passed = take(limiter);
    if (passed == 1) {
        uint64_t place = atomic_fetch_add(&shared->passed, 1);
        if (place >= PASSES_MAX)
            return false;
        shared->passes[place].began_s = began_s;
        shared->passes[place].ended_s = comparison_now_s();
    }
    return passed >= 0;
}

static void sleep_until(double when_s)
{
    for (double left_s; (left_s = when_s - comparison_now_s()) > 0;)
        (void)nanosleep(
            &(struct timespec){.tv_sec = (time_t)left_s,
                               .tv_nsec = (long)((left_s - (double)(time_t)left_s) * 1e9)},
            NULL);
}

/* job.run for the most that passes; operations: 1. */
static bool run_edge(void *state, uint64_t operations)
{
    struct limiter *limiter = state;
    double start_s = limiter->contest->shared->start_s;
    (void)operations;
    sleep_until(start_s);
    if (!take_timed(limiter))
        return false;
    sleep_until(start_s + 0.9 * WINDOW_S);
    while (comparison_now_s() < start_s + 2.1 * WINDOW_S)
        if (!take_timed(limiter))
            return false;
    return true;
}

static bool contest_open(struct contest *contest, uint32_t processes,
                         bool (*run)(void *state, uint64_t operations))
{
    const struct process_pool_job job = {open_limiter, run, close_limiter, contest};
    contest->shared = mmap(NULL, sizeof *contest->shared, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (contest->shared == MAP_FAILED) {
        contest->shared = NULL;
        return false;
    }
    return process_pool_open(&contest->pool, processes, &job);
}

static void contest_close(struct contest *contest)
{
    process_pool_close(&contest->pool);
    if (contest->shared != NULL)
        (void)munmap(contest->shared, sizeof *contest->shared);
}

static void print_round_trips(const struct contest *contest, const char *work)
{
    uint64_t takes = contest->shared->takes;
    if (takes > 0)
        (void)printf("%-40s %-30s %6.2f round trips a take\n", work, names[contest->kind],
                     (double)contest->shared->round_trips / (double)takes);
}

/* The first of these kinds against the others. */
static void compare_kinds(struct bench *bench, const struct servers *servers, const char *work,
                          bool is_hot, uint32_t processes, const enum kind *kinds,
                          uint32_t count)
{
    static struct contest contests[KIND_COUNT];
    struct comparison comparison = {.work = work, .step = processes, .count = count};
    bool fine = true;
    if (!comparison_is_wanted(bench, work))
        return;
    for (uint32_t i = 0; i < count; i++) {
        contests[i] = (struct contest){.kind = kinds[i], .is_hot = is_hot, .servers = servers};
        fine = contest_open(&contests[i], processes, run_takes) && fine;
        comparison.list[i] = (struct contestant){.name = names[kinds[i]],
                                                 .goal = kinds[i] == LUA ? 1.0 : 0,
                                                 .run = process_pool_run,
                                                 .state = &contests[i].pool};
    }
    if (fine)
        comparison_run(bench, &comparison);
    bench->failed = bench->failed || !fine;
    for (uint32_t i = 0; i < count; i++) {
        if (fine)
            print_round_trips(&contests[i], work);
        contest_close(&contests[i]);
    }
}

static void compare_rates(struct bench *bench, const struct servers *servers, bool is_hot,
                          uint32_t processes)
{
    static const enum kind buckets[] = {BUCKET, LUA, INCR_EXPIRE, FIXED};
    static const enum kind remembered[] = {REMEMBERED, LUA};
    static const enum kind windows[] = {WINDOW, LUA};
    const char *what = is_hot ? "one identity, refused" : "10 000 identities";
    char work[80];
    (void)snprintf(work, sizeof work, "limit take, %s, %u", what, (unsigned)processes);
    compare_kinds(bench, servers, work, is_hot, processes, buckets, 4);
    if (is_hot) {
        (void)snprintf(work, sizeof work, "remembered take, %s, %u", what, (unsigned)processes);
        compare_kinds(bench, servers, work, is_hot, processes, remembered, 2);
    }
    (void)snprintf(work, sizeof work, "window take, %s, %u", what, (unsigned)processes);
    compare_kinds(bench, servers, work, is_hot, processes, windows, 2);
}

/* The most takes that began and ended within any window. */
static uint64_t most_in_window(const struct shared *shared)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < shared->passed; i++) {
        double from_s = shared->passes[i].began_s;
        uint64_t inside = 0;
        for (uint64_t j = 0; j < shared->passed; j++)
            inside += shared->passes[j].began_s >= from_s &&
                      shared->passes[j].ended_s <= from_s + WINDOW_S;
        most = inside > most ? inside : most;
    }
    return most;
}

/* The next time at which the clock of the day has .05 of a second, in seconds of the comparisons. */
static double next_start_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    double part_s = (double)now.tv_nsec / 1e9;
    return comparison_now_s() + (part_s < 0.04 ? 0.05 : 1.05) - part_s;
}

/* UINT64_MAX: failed. */
static uint64_t measure_edge(const struct servers *servers, enum kind kind, uint32_t processes)
{
    struct contest contest = {.kind = kind, .is_hot = true, .servers = servers};
    bool fine = contest_open(&contest, processes, run_edge);
    for (int cycle = 0; cycle < CYCLES && fine; cycle++) {
        contest.shared->start_s = next_start_s() + 2 * WINDOW_S; /* all windows are over */
        fine = process_pool_run(&contest.pool, processes);
    }
    uint64_t most = fine ? most_in_window(contest.shared) : UINT64_MAX;
    contest_close(&contest);
    return most;
}

static void print_edges(struct bench *bench, const struct servers *servers)
{
    static const uint32_t processes[] = {1, 8, 64};
    static const char *const bounds[KIND_COUNT] = {
        [BUCKET] = "110: a burst of 10, and the rate", [REMEMBERED] = "110", [WINDOW] = "100"};
    if (!comparison_is_wanted(bench, "most in a window"))
        return;
    (void)printf("\nmost takes that passed in 1 s at a limit of 100 a second\n");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        (void)printf("%-30s", names[kind]);
        for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++) {
            uint64_t most = measure_edge(servers, kind, processes[i]);
            bench->failed = bench->failed || most == UINT64_MAX;
            if (most == UINT64_MAX)
                (void)printf("  failed");
            else
                (void)printf(" %7llu", (unsigned long long)most);
            (void)fflush(stdout);
        }
        (void)printf("   by 1, 8 and 64 processes%s%s\n",
                     bounds[kind] != NULL ? "; bound " : "",
                     bounds[kind] != NULL ? bounds[kind] : "");
    }
}

void limits_run(struct bench *bench)
{
    struct servers servers;
    if (!keep_to_one_processor()) {
        bench->failed = true;
        return;
    }
    servers_start(&servers, bench->place);
    if (servers.memcached_unix.pid == 0 || servers_no_redis(&servers) != NULL) {
        (void)fputs("bench: limits: memcached and redis-server are needed\n", stderr);
        bench->failed = true;
    } else {
        static const uint32_t processes[] = {1, 8, 64};
        for (size_t i = 0; i < 2 * sizeof processes / sizeof processes[0]; i++)
            compare_rates(bench, &servers, i % 2 == 0, processes[i / 2]);
        (void)printf("\n");
        table_print(stdout, bench);
        print_edges(bench, &servers);
    }
    servers_stop(&servers);
}
