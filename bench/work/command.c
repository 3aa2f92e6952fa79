/* The command as a process, as scripts use it: reading a counter against redis-cli, and running
 * a program under a lock against flock(1). */
#include <stdio.h>

#include "process.h"
#include "work/work.h"

#ifdef BENCH_COMMAND

static bool run_each(void *state, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++)
        if (!run_program(state, "/dev/null"))
            return false;
    return true;
}

static void compete(struct bench *bench, const char *work, char **ours, const char *against,
                    double goal, char **theirs)
{
    struct comparison comparison = {
        .work = work,
        .count = 2,
        .list = {{.name = "mcds", .run = run_each, .state = ours},
                 {.name = against,
                  .skipped = server_is_installed(theirs[0]) ? NULL : "not installed",
                  .goal = goal,
                  .run = run_each,
                  .state = theirs}}};
    if (comparison_is_wanted(bench, work))
        comparison_run(bench, &comparison);
}

static void compete_in_reading(struct bench *bench, const struct servers *servers, char *uri)
{
    char socket[sizeof servers->redis_unix.path];
    char *add[] = {(char[]){BENCH_COMMAND}, (char[]){"-s"},   uri, (char[]){"counter"},
                   (char[]){"add"},         (char[]){"page"}, NULL};
    char *get[] = {(char[]){BENCH_COMMAND}, (char[]){"-s"},   uri, (char[]){"counter"},
                   (char[]){"get"},         (char[]){"page"}, NULL};
    char *redis_add[] = {(char[]){"redis-cli"}, (char[]){"-s"},   socket,
                         (char[]){"INCR"},      (char[]){"page"}, NULL};
    char *redis_get[] = {(char[]){"redis-cli"}, (char[]){"-s"},   socket,
                         (char[]){"GET"},       (char[]){"page"}, NULL};
    (void)snprintf(socket, sizeof socket, "%s", servers->redis_unix.path);
    if (run_program(add, "/dev/null") &&
        (servers->redis_tcp.pid == 0 || run_program(redis_add, "/dev/null")))
        compete(bench, "mcds counter get, a process", get, "redis-cli GET", 2.0, redis_get);
    else
        bench->failed = true;
}

static void compete_in_locking(struct bench *bench, char *uri)
{
    char file[300];
    char *ours[] = {
        (char[]){BENCH_COMMAND}, (char[]){"-s"},   uri, (char[]){"lock"}, (char[]){"job"},
        (char[]){"--"},          (char[]){"true"}, NULL};
    char *theirs[] = {(char[]){"flock"}, file, (char[]){"true"}, NULL};
    (void)snprintf(file, sizeof file, "%s/flock", bench->place);
    compete(bench, "mcds lock -- true, a process", ours, "flock FILE true", 0, theirs);
    (void)remove(file);
}

void work_command(struct bench *bench, const struct servers *servers)
{
    char uri[160];
    if (servers->memcached_unix.pid == 0) {
        comparison_skip(bench, "the command as a process", "memcached did not start");
        return;
    }
    server_uri(&servers->memcached_unix, uri, sizeof uri);
    compete_in_reading(bench, servers, uri);
    compete_in_locking(bench, uri);
}

#else

void work_command(struct bench *bench, const struct servers *servers)
{
    (void)servers;
    comparison_skip(bench, "the command as a process", "built without the command");
}

#endif
