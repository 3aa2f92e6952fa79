/* Eight processes add to one counter: counter STORE (lmdb or memcached)
 *
 * First none is killed, and the sum must be exact. Then four are killed midway: every
 * acknowledged add must count, and none that was not requested. Each process adds partly by
 * waiting calls and partly through a pipeline. STRESS_ADDS: adds of each process. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "stress/stage.h"

#define PROCESSES 8
#define KILLED 4
#define DEPTH 64
#define PIPELINED_RUN 990
#define WAITING_RUN 10
#define TIMEOUT_MS 60000
#define KILL_WAIT_S 120

/* In memory that all share. */
struct tally {
    _Atomic uint64_t started;      /* counted before the library is asked */
    _Atomic uint64_t acknowledged; /* counted after it has said so */
    _Atomic uint64_t uncertain;
};

static bool note(struct tally *tally, int result)
{
    if (result == MCDS_OK)
        tally->acknowledged++;
    else if (result == MCDS_AMBIGUOUS)
        tally->uncertain++;
    else
        return COMPLAIN("add: %s", mcds_errmsg());
    return true;
}

static bool add_waiting(mcds_counter *counter, struct tally *tally, uint64_t adds)
{
    for (uint64_t i = 0; i < adds; i++) {
        tally->started++;
        if (!note(tally, mcds_counter_add(counter, 1, NULL)))
            return false;
    }
    return true;
}

static bool finish_one(mcds_pipeline *pipeline, struct tally *tally)
{
    mcds_completion done;
    if (mcds_pipeline_next(pipeline, &done) != MCDS_OK)
        return COMPLAIN("pipeline: %s", mcds_errmsg());
    return note(tally, done.result);
}

static bool add_pipelined(mcds_counter *counter, mcds_pipeline *pipeline, struct tally *tally,
                          uint64_t adds)
{
    uint64_t in_flight = 0;
    for (uint64_t i = 0; i < adds; i++) {
        if (in_flight == DEPTH) {
            if (!finish_one(pipeline, tally))
                return false;
            in_flight--;
        }
        tally->started++;
        if (mcds_counter_add_start(counter, 1, NULL, pipeline, i) != MCDS_OK)
            return COMPLAIN("add: %s", mcds_errmsg());
        in_flight++;
    }
    for (; in_flight > 0; in_flight--)
        if (!finish_one(pipeline, tally))
            return false;
    return true;
}

static bool add_all(mcds_counter *counter, mcds_pipeline *pipeline, struct tally *tally,
                    uint64_t adds)
{
    while (adds > 0) {
        uint64_t part = adds < PIPELINED_RUN ? adds : PIPELINED_RUN;
        if (!add_pipelined(counter, pipeline, tally, part))
            return false;
        adds -= part;
        part = adds < WAITING_RUN ? adds : WAITING_RUN;
        if (!add_waiting(counter, tally, part))
            return false;
        adds -= part;
    }
    return true;
}

static bool open_counter(const char *uri, const char *name, mcds_store **store,
                         mcds_counter **counter)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = TIMEOUT_MS;
    if (mcds_open(uri, &options, store) != MCDS_OK ||
        mcds_counter_open(*store, name, NULL, counter) != MCDS_OK)
        return COMPLAIN("open: %s", mcds_errmsg());
    return true;
}

static int live(const char *uri, const char *name, struct tally *tally, uint64_t adds)
{
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    mcds_pipeline *pipeline = NULL;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    bool fine = open_counter(uri, name, &store, &counter) &&
                mcds_pipeline_open(store, &options, &pipeline) == MCDS_OK &&
                add_all(counter, pipeline, tally, adds);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

static uint64_t sum_of(const struct tally *tallies)
{
    uint64_t sum = 0;
    for (int i = 0; i < PROCESSES; i++)
        sum += tallies[i].acknowledged;
    return sum;
}

/* Kill the first four, which would never end, each when it has done half of what the others do. */
static bool kill_midway(const pid_t *pids, const struct tally *tallies, uint64_t adds)
{
    int64_t limit_ns = stage_now_ns() + (int64_t)KILL_WAIT_S * 1000000000;
    bool fine = true;
    for (int i = 0; i < KILLED; i++) {
        while (tallies[i].acknowledged < adds / 2 && stage_now_ns() < limit_ns)
            stage_sleep_ns(200000);
        if (tallies[i].acknowledged < adds / 2)
            fine = COMPLAIN("process %d is not half-way after %d s", i, KILL_WAIT_S);
        (void)kill(pids[i], SIGKILL);
    }
    return fine;
}

static bool wait_for_all(const pid_t *pids, int killed)
{
    bool fine = true;
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        (void)waitpid(pids[i], &status, 0);
        bool as_wanted = i < killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                    : WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
        if (!as_wanted)
            fine = COMPLAIN("process %d: status %d", i, status);
    }
    return fine;
}

static bool read_back(const char *uri, const char *name, uint64_t *value_out)
{
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    bool fine = open_counter(uri, name, &store, &counter);
    if (fine && mcds_counter_get(counter, &value) != MCDS_OK)
        fine = COMPLAIN("get: %s", mcds_errmsg());
    mcds_counter_close(counter);
    mcds_close(store);
    *value_out = (uint64_t)value.value;
    return fine;
}

/* What was acknowledged is there, and what was not may be, if it was asked for. */
static bool judge(const struct tally *tallies, uint64_t value, int killed)
{
    uint64_t started = 0, uncertain = 0;
    uint64_t acknowledged = sum_of(tallies);
    for (int i = 0; i < PROCESSES; i++) {
        started += tallies[i].started;
        uncertain += tallies[i].uncertain;
    }
    (void)printf("  %llu acknowledged <= %llu in the store <= %llu asked for, %llu uncertain\n",
                 (unsigned long long)acknowledged, (unsigned long long)value,
                 (unsigned long long)started, (unsigned long long)uncertain);
    if (value < acknowledged || value > started)
        return COMPLAIN("adds were lost or came twice");
    if (uncertain > 0)
        return COMPLAIN("replies were lost though the server lived");
    if (killed == 0 && (value != started || acknowledged != started))
        return COMPLAIN("the sum is not exact");
    return true;
}

static bool run(const struct stage *stage, const char *name, int killed, uint64_t adds)
{
    struct tally *tallies = stage_share(PROCESSES * sizeof *tallies);
    pid_t pids[PROCESSES];
    int64_t begun_ns = stage_now_ns();
    (void)fflush(stdout);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(live(stage->uri, name, &tallies[i], i < killed ? UINT64_MAX : adds));
        if (pids[i] < 0)
            abort();
    }
    bool fine = killed == 0 || kill_midway(pids, tallies, adds);
    fine = wait_for_all(pids, killed) && fine;
    uint64_t value = 0;
    (void)printf("%d processes, %llu adds each, %d killed: %.1f s\n", PROCESSES,
                 (unsigned long long)adds, killed, (double)(stage_now_ns() - begun_ns) / 1e9);
    return read_back(stage->uri, name, &value) && judge(tallies, value, killed) && fine;
}

int main(int argc, char **argv)
{
    struct stage stage;
    if (argc != 2)
        return EXIT_FAILURE;
    int result = stage_open(&stage, argv[1]);
    if (result != 0)
        return result;
    /* each sync of a file takes its time */
    uint64_t adds = stage_number("STRESS_ADDS", stage.memcached.pid > 0 ? 100000 : 20000);
    bool fine = run(&stage, "sum", 0, adds);
    fine = run(&stage, "killed", KILLED, adds) && fine;
    stage_close(&stage);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
