/* Measures curves and draws them. */
#include "curves.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peers/peers.h"
#include "process.h"
#include "sizes.h"
#include "work/work.h"

#define CALLS 20000
#define ROUNDS 5
#define ROUND_S 0.2 /* long enough for threads that sleep meanwhile */

/* A curve over the powers of two. */
struct curve {
    const char *name; /* of the file */
    const char *x;
    const char *ours; /* the name of the first contestant */
    uint32_t most;
    void (*measure)(struct bench *bench, const struct servers *servers, uint32_t x);
};

/* "?" where nothing was measured, so that each column keeps its name. */
static void write_figure(FILE *file, double rate)
{
    if (rate > 0)
        (void)fprintf(file, "\t%.0f", rate);
    else
        (void)fputs("\t?", file);
}

/* A line for each x: our figure, and that of each contestant measured against it. */
static void write_rows(FILE *file, uint32_t x, const struct bench *bench)
{
    if (bench->row_count == 0)
        return;
    (void)fprintf(file, "%u", (unsigned)x);
    write_figure(file, bench->rows[0].rate[0]);
    for (uint32_t i = 0; i < bench->row_count; i++)
        write_figure(file, bench->rows[i].rate[1]);
    (void)fputc('\n', file);
}

/* The names, without the part that holds for one x only. */
static void write_head(FILE *file, const struct curve *curve, const struct bench *bench)
{
    (void)fprintf(file, "%s\t%s", curve->x, curve->ours);
    for (uint32_t i = 0; i < bench->row_count; i++)
        (void)fprintf(file, "\t%.*s", (int)strcspn(bench->rows[i].against, ","),
                      bench->rows[i].against);
    (void)fputc('\n', file);
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%.250s/%s.tsv", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        perror(path);
    return file;
}

static bool write_curve(struct bench *bench, const struct servers *servers, const char *folder,
                        const struct curve *curve)
{
    FILE *file = open_file(folder, curve->name);
    if (file == NULL)
        return false;
    for (uint32_t x = 1; x <= curve->most; x *= 2) {
        bench->row_count = 0;
        curve->measure(bench, servers, x);
        if (x == 1)
            write_head(file, curve, bench);
        write_rows(file, x, bench);
    }
    bench->row_count = 0;
    return fclose(file) == 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

struct caller {
    const char *name;
    bool (*run)(void *state, uint64_t operations);
    void *state;
    int64_t took_ns[CALLS];
};

/* The callers alternate call by call, so that a disturbance affects all of them. */
static bool time_calls(struct caller *callers, uint32_t count)
{
    for (uint32_t i = 0; i < CALLS; i++)
        for (uint32_t who = 0; who < count; who++) {
            int64_t begun_ns = now_ns();
            if (!callers[who].run(callers[who].state, 1))
                return false;
            callers[who].took_ns[i] = now_ns() - begun_ns;
        }
    for (uint32_t who = 0; who < count; who++)
        qsort(callers[who].took_ns, CALLS, sizeof callers[who].took_ns[0], compare);
    return true;
}

static bool write_latency(const struct servers *servers, const char *folder)
{
    static const double percents[] = {1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99};
    static struct caller callers[3];
    struct tool tool;
    struct old_client old_client = {0};
    struct redis redis = {0};
    char uri[160];
    uint32_t count = 0;
    server_uri(&servers->memcached_tcp, uri, sizeof uri);
    FILE *file = open_file(folder, "latency");
    if (file == NULL || !tool_open(&tool, uri, "bench", 1))
        return false;
    callers[count++] = (struct caller){.name = "mcds", .run = tool_add, .state = &tool};
    if (old_client_open(&old_client, &servers->memcached_tcp) == NULL)
        callers[count++] = (struct caller){
            .name = "libmemcached", .run = old_client_add, .state = &old_client};
    if (servers->redis_tcp.pid != 0 && redis_open(&redis, &servers->redis_tcp, 1) == NULL)
        callers[count++] = (struct caller){
            .name = "Redis INCR", .run = redis_add, .state = &redis};
    bool fine = time_calls(callers, count);
    (void)fputs("percent", file);
    for (uint32_t who = 0; who < count; who++)
        (void)fprintf(file, "\t%s", callers[who].name);
    for (size_t i = 0; fine && i < sizeof percents / sizeof percents[0]; i++) {
        (void)fprintf(file, "\n%g", percents[i]);
        for (uint32_t who = 0; who < count; who++)
            (void)fprintf(file, "\t%.2f",
                          (double)callers[who].took_ns[(size_t)(percents[i] / 100 * CALLS)] /
                              1000);
    }
    (void)fputc('\n', file);
    tool_close(&tool);
    old_client_close(&old_client);
    redis_close(&redis);
    return fclose(file) == 0 && fine;
}

static bool write_sizes(const char *folder)
{
    FILE *file = open_file(folder, "sizes");
    bool fine = file != NULL && sizes_write(file);
    return file != NULL && fclose(file) == 0 && fine;
}

static bool draw(const char *folder)
{
    char setting[300];
    (void)snprintf(setting, sizeof setting, "folder='%.250s'", folder);
    char *gnuplot[] = {(char[]){"gnuplot"}, (char[]){"-e"}, setting, (char[]){BENCH_PLOTS},
                       NULL};
    if (!server_is_installed("gnuplot")) {
        (void)fprintf(stderr,
                      "bench: gnuplot is not installed: only the figures are written\n");
        return true;
    }
    return run_program(gnuplot, "/dev/null");
}

static bool write_files(struct bench *bench, const struct servers *servers, const char *folder,
                        const char *only)
{
    static const struct curve curves[] = {
        {"depth", "in flight", "mcds", 1024, work_memcached_depth},
        {"threads", "threads", "mcds", 64, work_memory_threads},
        {"lock", "threads", "mcds", 64, work_lock_threads},
        {"processes", "processes", "mcds on memcached", 64, work_processes},
    };
    bool fine = true;
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++)
        if (only == NULL || strstr(curves[i].name, only) != NULL)
            fine = write_curve(bench, servers, folder, &curves[i]) && fine;
    if (only == NULL || strstr("latency", only) != NULL)
        fine = write_latency(servers, folder) && fine;
    if (only == NULL || strstr("sizes", only) != NULL)
        fine = write_sizes(folder) && fine;
    return fine;
}

bool curves_run(struct bench *bench, const struct servers *servers, const char *folder)
{
    const char *only = bench->only;
    if (servers->memcached_tcp.pid == 0 || servers->memcached_unix.pid == 0) {
        (void)fprintf(stderr, "bench: memcached did not start\n");
        return false;
    }
    bench->only = NULL; /* it selects curves, not comparisons */
    bench->rounds = ROUNDS;
    bench->round_s = ROUND_S;
    return write_files(bench, servers, folder, only) && draw(folder) && !bench->failed;
}
