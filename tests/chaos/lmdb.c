/* A play of several processes on one LMDB file, some of which are stopped or killed. The
 * history is in shared memory, so that it outlives a killed process. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/chaos.h"
#include "support/dice.h"

#define FOLDER "/tmp/mcds-chaos-XXXXXX"
#define URI_CAPACITY 96
#define TIMEOUT "timeout=500"
#define STRIKE_US_MAX 20000
#define STOP_US_MAX 100000
#define PACE_US_MAX 2000
#define KILLED_MAX 3

enum { PROCESS_DONE, PROCESS_FAILED };

static struct {
    char folder[sizeof FOLDER];
    struct history_actor *actors; /* shared with the processes */
    pid_t processes[CHAOS_PLAYERS];
} at;

static const struct {
    const char *name;
    const char *options; /* of the URI */
    int signal;          /* 0: none */
} troubles[] = {
    {"none", "?sync=async&" TIMEOUT, 0},
    {"stopped", "?sync=async&" TIMEOUT, SIGSTOP},
    {"killed", "?sync=async&" TIMEOUT, SIGKILL},
    {"killed, full", "?sync=full&" TIMEOUT, SIGKILL},
};

#define TROUBLES (sizeof troubles / sizeof troubles[0])

static bool open_place(struct chaos *chaos)
{
    size_t size = CHAOS_PLAYERS * sizeof *at.actors;
    for (size_t i = 0; i < TROUBLES; i++)
        chaos->judge.tallies[i].kind = troubles[i].name;
    at.actors = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)snprintf(at.folder, sizeof at.folder, "%s", FOLDER);
    if (at.actors == MAP_FAILED || mkdtemp(at.folder) == NULL) {
        (void)puts("chaos: no room for a play");
        at.folder[0] = '\0';
        return false;
    }
    return true;
}

static void close_place(struct chaos *chaos)
{
    static const char *const names[] = {"store", "store-lock", "store-writer"};
    (void)chaos;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && at.folder[0] != '\0'; i++) {
        char path[URI_CAPACITY];
        (void)snprintf(path, sizeof path, "%s/%s", at.folder, names[i]);
        (void)unlink(path);
    }
    if (at.folder[0] != '\0')
        (void)rmdir(at.folder);
    if (at.actors != MAP_FAILED)
        (void)munmap(at.actors, CHAOS_PLAYERS * sizeof *at.actors);
}

/* In a process of its own. */
static bool play_calls(const struct chaos *chaos, struct history_actor *actor, const char *uri,
                       uint64_t dice)
{
    mcds_store *store;
    mcds_pipeline *pipeline;
    mcds_completion done;
    if (mcds_open(uri, NULL, &store) != MCDS_OK ||
        mcds_pipeline_open(store, NULL, &pipeline) != MCDS_OK ||
        history_open(actor, chaos->subject, store, pipeline, chaos->name, dice) != MCDS_OK)
        return chaos_complain(uri);
    actor->now_ns = chaos_now_ns;
    actor->lengths = chaos->lengths;
    actor->key_length = chaos->key_length;
    for (int i = 0; i < CHAOS_IN_FLIGHT; i++)
        (void)history_call(actor);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
        history_book(actor, &done);
        chaos_sleep_us(dice_roll(&dice, PACE_US_MAX));
        (void)history_call(actor);
    }
    history_close(actor);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    return true;
}

/* The processes die with this one. */
static bool start_processes(struct chaos *chaos, const char *uri)
{
    pid_t parent = getpid();
    (void)fflush(stdout);
    for (uint64_t i = 0; i < CHAOS_PLAYERS; i++) {
        uint64_t dice = chaos->dice + i;
        at.processes[i] = fork();
        if (at.processes[i] < 0) {
            (void)puts("chaos: no more processes");
            return false;
        }
        if (at.processes[i] > 0)
            continue;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            _exit(PROCESS_FAILED);
        bool fine = play_calls(chaos, &at.actors[i], uri, dice);
        (void)fflush(stdout);
        _exit(fine ? PROCESS_DONE : PROCESS_FAILED);
    }
    return true;
}

/* One after the other, while the others continue. */
static void strike(struct chaos *chaos, int signal)
{
    for (int i = 0; i < KILLED_MAX && signal != 0; i++) {
        chaos_sleep_us(chaos_roll(chaos, STRIKE_US_MAX));
        (void)kill(at.processes[i], signal);
        if (signal != SIGSTOP)
            continue;
        chaos_sleep_us(chaos_roll(chaos, STOP_US_MAX));
        (void)kill(at.processes[i], SIGCONT);
    }
}

static bool end_processes(bool may_be_killed)
{
    bool fine = true;
    for (int i = 0; i < CHAOS_PLAYERS && at.processes[i] > 0; i++) {
        int status = -1;
        (void)waitpid(at.processes[i], &status, 0);
        bool killed = may_be_killed && i < KILLED_MAX && WIFSIGNALED(status) &&
                      WTERMSIG(status) == SIGKILL;
        if (!killed && status != 0) {
            (void)printf("chaos: a process has ended with status %d\n", status);
            fine = false;
        }
        history_abandon(&at.actors[i]);
        at.processes[i] = 0;
    }
    return fine;
}

static bool play_round(struct chaos *chaos)
{
    static const struct history_losses none;
    char uri[URI_CAPACITY];
    size_t which = (size_t)chaos_roll(chaos, TROUBLES);
    (void)snprintf(uri, sizeof uri, "lmdb:%s/store%s", at.folder, troubles[which].options);
    memset(at.actors, 0, CHAOS_PLAYERS * sizeof *at.actors);
    bool fine = start_processes(chaos, uri);
    if (fine)
        strike(chaos, troubles[which].signal);
    fine = end_processes(troubles[which].signal == SIGKILL || !fine) && fine;
    (void)chaos_roll(chaos, 2);
    if (fine)
        judge_round(&chaos->judge, troubles[which].name, chaos->subject, at.actors,
                    CHAOS_PLAYERS, &none);
    return fine;
}

const struct chaos_place chaos_lmdb = {
    "lmdb", {NULL, NULL}, open_place, play_round, close_place};
