/* Measures the bytes of a small entry: a million counters, in a process of their own or in an
 * otherwise empty server. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers/peers.h"
#include "work/work.h"

#define ENTRIES 1000000
#define DEPTH 1000

/* Resident memory; 0: unknown. */
static double resident_bytes(pid_t pid)
{
    char path[40];
    unsigned long all;
    unsigned long resident = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    (void)fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static bool take_all(mcds_pipeline *pipeline, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mcds_completion done;
        if (mcds_pipeline_next(pipeline, &done) != MCDS_OK || done.result != MCDS_OK)
            return false;
    }
    return true;
}

/* One handle after the other: what remains is what the store keeps. */
static bool fill_store(const char *uri)
{
    struct tool tool;
    mcds_counter *counters[DEPTH];
    if (!tool_open(&tool, uri, "first", DEPTH))
        return false;
    bool fine = true;
    for (uint32_t i = 0; fine && i < ENTRIES; i += DEPTH) {
        uint32_t opened = 0;
        for (; fine && opened < DEPTH; opened += fine) {
            char name[COUNTER_NAME_MAX];
            counter_name(i + opened, name);
            fine = mcds_counter_open(tool.store, name, NULL, &counters[opened]) == MCDS_OK &&
                   mcds_counter_add_start(counters[opened], 1, NULL, tool.pipeline, i) ==
                       MCDS_OK;
        }
        fine = fine && take_all(tool.pipeline, opened);
        while (opened > 0)
            mcds_counter_close(counters[--opened]);
    }
    /* The store stays open: its memory is measured. */
    return fine;
}

static bool fill_memory(void)
{
    return fill_store("memory:");
}

static bool fill_uthash(void)
{
    return uthash_fill(ENTRIES);
}

/* Bytes of one entry in a child process; 0: it failed. */
static double measure_here(bool (*fill)(void))
{
    int ends[2];
    double bytes = 0;
    if (pipe(ends) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        double before = resident_bytes(getpid());
        bytes = fill() ? (resident_bytes(getpid()) - before) / ENTRIES : 0;
        _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
    (void)close(ends[1]);
    if (child < 0 || read(ends[0], &bytes, sizeof bytes) != sizeof bytes)
        bytes = 0;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return bytes;
}

static double measure_memcached(struct bench *bench)
{
    static char *const roomy[] = {"-m", "1024", NULL};
    struct server server = {.options = roomy};
    char uri[160];
    (void)snprintf(server.path, sizeof server.path, "%.80s/b.sock", bench->place);
    double bytes = 0;
    if (server_start_memcached(&server)) {
        double before = resident_bytes(server.pid);
        server_uri(&server, uri, sizeof uri);
        if (fill_store(uri))
            bytes = (resident_bytes(server.pid) - before) / ENTRIES;
    }
    server_stop(&server);
    (void)unlink(server.path);
    return bytes;
}

static double measure_redis(const struct servers *servers)
{
    struct redis redis;
    if (servers->redis_tcp.pid == 0 || redis_open(&redis, &servers->redis_unix, DEPTH) != NULL)
        return 0;
    double before = resident_bytes(servers->redis_tcp.pid);
    bool fine = redis_fill(&redis, ENTRIES);
    double bytes = (resident_bytes(servers->redis_tcp.pid) - before) / ENTRIES;
    fine = redis_forget(&redis) && fine;
    redis_close(&redis);
    return fine ? bytes : 0;
}

void work_bytes(struct bench *bench, const struct servers *servers)
{
    static const char work[] = "counters in 1 GB of memory:";
    if (!comparison_is_wanted(bench, work))
        return;
    double ours = measure_here(fill_memory);
    comparison_tell_bytes(bench, work, "uthash", ours, measure_here(fill_uthash));
    comparison_tell_bytes(bench, work, "memcached", ours, measure_memcached(bench));
    comparison_tell_bytes(bench, work, "Redis", ours, measure_redis(servers));
}
