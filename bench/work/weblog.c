/* The main job: weblog reads the lines of an access log, against one pass of awk that only
 * counts in its own memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "work/work.h"

#ifdef BENCH_WEBLOG

#define LINES 100000
#define LINES_TEXT "lines=100000"

static bool repeat(void *state, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i += LINES)
        if (!run_program(state, "/dev/null"))
            return false;
    return true;
}

static void compete(struct bench *bench, const char *work, char *store, char *workers,
                    char *log)
{
    char *ours[] = {(char[]){BENCH_WEBLOG},
                    (char[]){"--json"},
                    (char[]){"--store"},
                    store,
                    (char[]){"--workers"},
                    workers,
                    log,
                    NULL};
    char *theirs[] = {
        (char[]){"awk"},
        (char[]){"{views[$7]++; hosts[$1]++; if ($9 >= 400) errors++} "
                 "END {for (page in views) print page, views[page]; print length(hosts)}"},
        log, NULL};
    struct comparison comparison = {
        .work = work,
        .step = LINES,
        .count = 2,
        .list = {{.name = "mcds", .run = repeat, .state = ours},
                 {.name = "awk, alone in memory", .run = repeat, .state = theirs}}};
    comparison_run(bench, &comparison);
}

static void compete_everywhere(struct bench *bench, const struct servers *servers, char *log)
{
    char store[300];
    (void)snprintf(store, sizeof store, "memory:");
    compete(bench, "weblog lines, memory:", store, (char[]){"1"}, log);
    (void)snprintf(store, sizeof store, "lmdb:%s/weblog.mdb?sync=async", bench->place);
    compete(bench, "weblog lines, lmdb: async, 2 workers", store, (char[]){"2"}, log);
    forget_file(bench, "weblog.mdb");
    if (servers->memcached_unix.pid == 0) {
        comparison_skip(bench, "weblog lines, memcached", "memcached did not start");
        return;
    }
    server_uri(&servers->memcached_unix, store, sizeof store);
    compete(bench, "weblog lines, memcached, 2 workers", store, (char[]){"2"}, log);
}

void work_weblog(struct bench *bench, const struct servers *servers)
{
    char log[300];
    if (!comparison_is_wanted(bench, "weblog"))
        return;
    (void)snprintf(log, sizeof log, "%s/access.log", bench->place);
    char *sample[] = {(char[]){"awk"}, (char[]){"-v"},         (char[]){LINES_TEXT},
                      (char[]){"-f"},  (char[]){BENCH_SAMPLE}, NULL};
    if (run_program(sample, log))
        compete_everywhere(bench, servers, log);
    else
        bench->failed = true;
    (void)unlink(log);
}

#else

void work_weblog(struct bench *bench, const struct servers *servers)
{
    (void)servers;
    comparison_skip(bench, "weblog lines", "built without the examples");
}
#endif
