/* Measures the table of cost against size. All calls go through a backend that counts requests;
 * on memcached and lmdb the system calls are as usual. */
#include "sizes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collection.h"
#include "support/counting_backend.h"
#include "work/work.h"

#define DEPTH 128
#define RUNS 5
/* A small structure is created for each run, many times, so that it stays small. */
#define SMALL 1000
#define SMALL_CALLS 500
#define LARGE_CALLS 2000
/* A set in memcached uses about 100 bytes for each element, including its share of the keys. */
#define MEMCACHED_MB "2048"

struct place_of_size {
    const char *name;
    char uri[300];
    uint64_t size_max;
    /* The time of this process, which other programs of the machine change little, unless a server
     * does a part of the work. */
    clockid_t clock;
};

/* One cell of the table: sums over the calls of one run. */
struct measured {
    uint64_t calls;
    double seconds;
    uint64_t round_trips;
    uint64_t requests;
};

struct row_of_size {
    uint64_t size;
    double us, us_min, us_max;
    double round_trips;
    double requests;
    double fill_us;
};

static double seconds_now(const struct place_of_size *place)
{
    struct timespec now;
    (void)clock_gettime(place->clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool open_counted(struct collection *collection, struct counting_backend *counting,
                         enum verb verb, const struct place_of_size *place, const char *name)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    options.timeout_ms = 30000;
    if (counting_backend_open(counting, place->uri, mcds_env_system(), &options, &store) !=
        MCDS_OK) {
        (void)fprintf(stderr, "bench: %s: %s\n", place->uri, mcds_errmsg());
        return false;
    }
    return collection_open_on(collection, verb, store, name, DEPTH);
}

static bool measure(struct collection *collection, struct counting_backend *counting,
                    const struct place_of_size *place, uint64_t calls, struct measured *sum)
{
    counting_backend_arm(counting, FAULT_NONE, 0, false);
    double seconds = seconds_now(place);
    bool fine = collection_run_waiting(collection, calls);
    sum->seconds += seconds_now(place) - seconds;
    sum->calls += calls;
    sum->round_trips += counting->submits;
    sum->requests += counting->requests;
    return fine;
}

/* A run over new structures, each for as many calls as it has elements. */
static bool run_small(enum verb verb, const struct place_of_size *place, uint64_t size,
                      uint32_t run, struct measured *sum)
{
    for (uint32_t i = 0; sum->calls < SMALL_CALLS; i++) {
        struct collection collection;
        struct counting_backend counting;
        char name[48];
        (void)snprintf(name, sizeof name, "%s %u %u %u", verb_name(verb), (unsigned)size,
                       (unsigned)run, (unsigned)i);
        if (!open_counted(&collection, &counting, verb, place, name))
            return false;
        uint64_t calls = size < SMALL_CALLS ? size : SMALL_CALLS;
        bool fine = collection_fill(&collection, size) &&
                    measure(&collection, &counting, place, calls, sum);
        collection_close(&collection);
        if (!fine)
            return false;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void summarize(const struct measured *runs, struct row_of_size *row)
{
    double us[RUNS];
    double calls = 0;
    for (uint32_t i = 0; i < RUNS; i++) {
        us[i] = runs[i].seconds * 1e6 / (double)runs[i].calls;
        calls += (double)runs[i].calls;
        row->round_trips += (double)runs[i].round_trips;
        row->requests += (double)runs[i].requests;
    }
    qsort(us, RUNS, sizeof us[0], compare);
    row->us = us[RUNS / 2];
    row->us_min = us[0];
    row->us_max = us[RUNS - 1];
    row->round_trips /= calls;
    row->requests /= calls;
}

static bool measure_small(enum verb verb, const struct place_of_size *place, uint64_t size,
                          struct row_of_size *row)
{
    struct measured runs[RUNS] = {0};
    for (uint32_t i = 0; i < RUNS; i++)
        if (!run_small(verb, place, size, i, &runs[i]))
            return false;
    summarize(runs, row);
    return true;
}

static bool measure_large(struct collection *collection, struct counting_backend *counting,
                          const struct place_of_size *place, uint64_t size,
                          struct row_of_size *row)
{
    struct measured runs[RUNS] = {0};
    uint64_t missing = size - collection->size;
    double seconds = seconds_now(place);
    if (!collection_fill(collection, size))
        return false;
    row->fill_us = (seconds_now(place) - seconds) * 1e6 / (double)missing;
    for (uint32_t i = 0; i < RUNS; i++)
        if (!measure(collection, counting, place, LARGE_CALLS, &runs[i]))
            return false;
    summarize(runs, row);
    return true;
}

static void print_row(enum verb verb, const struct place_of_size *place,
                      const struct row_of_size *row, double us_of_thousand)
{
    (void)printf("%-10s %-10s %9llu %9.2f %8.2f - %-8.2f", verb_name(verb), place->name,
                 (unsigned long long)row->size, row->us, row->us_min, row->us_max);
    if (us_of_thousand > 0)
        (void)printf(" %6.2f", row->us / us_of_thousand);
    else
        (void)printf(" %6s", "");
    (void)printf(" %8.3f %8.3f", row->round_trips, row->requests);
    if (row->fill_us > 0)
        (void)printf(" %8.2f", row->fill_us);
    (void)printf("\n");
    (void)fflush(stdout);
}

static bool measure_verb(enum verb verb, const struct place_of_size *place)
{
    static const uint64_t sizes[] = {10, 1000, 100000, 1000000, 10000000};
    struct collection collection;
    struct counting_backend counting;
    double us_of_thousand = 0;
    bool fine = open_counted(&collection, &counting, verb, place, verb_name(verb));
    for (size_t i = 0; fine && i < sizeof sizes / sizeof sizes[0]; i++) {
        struct row_of_size row = {.size = sizes[i]};
        if (sizes[i] > place->size_max)
            break;
        fine = sizes[i] <= SMALL ? measure_small(verb, place, sizes[i], &row)
                                 : measure_large(&collection, &counting, place, sizes[i], &row);
        if (fine && sizes[i] == SMALL)
            us_of_thousand = row.us;
        if (fine)
            print_row(verb, place, &row, us_of_thousand);
    }
    collection_close(&collection);
    return fine;
}

static void measure_place(struct bench *bench, const struct place_of_size *place)
{
    for (enum verb verb = 0; verb < VERB_COUNT; verb++)
        if (comparison_is_wanted(bench, verb_name(verb)) && !measure_verb(verb, place))
            bench->failed = true;
}

void sizes_run(struct bench *bench, bool huge)
{
    static char *const options[] = {"-m", MEMCACHED_MB, NULL};
    uint64_t size_max = huge ? 10000000 : 1000000;
    struct place_of_size memory = {"memory", "memory:sizes", size_max,
                                   CLOCK_PROCESS_CPUTIME_ID};
    struct place_of_size lmdb = {"lmdb", "", size_max, CLOCK_PROCESS_CPUTIME_ID};
    struct place_of_size memcached = {"memcached", "", 1000000, CLOCK_MONOTONIC};
    struct server server = {.options = options};
    (void)printf("One waiting call, median of %d runs with the smallest and largest, in us: of "
                 "processor "
                 "time, with memcached of\nthe clock; its ratio to that at 1 000 elements; "
                 "round trips and "
                 "requests for each call; us for each element\nwhen filled with %d in "
                 "flight\n\n%-10s %-10s %9s %9s %19s "
                 "%6s %8s %8s %8s\n",
                 RUNS, DEPTH, "verb", "store", "elements", "us", "smallest - largest", "ratio",
                 "trips", "requests", "fill us");
    measure_place(bench, &memory);
    (void)snprintf(lmdb.uri, sizeof lmdb.uri, "lmdb:%s/sizes?sync=async", bench->place);
    measure_place(bench, &lmdb);
    forget_file(bench, "sizes");
    (void)snprintf(server.path, sizeof server.path, "%.80s/s.sock", bench->place);
    if (server_start_memcached(&server)) {
        server_uri(&server, memcached.uri, sizeof memcached.uri);
        measure_place(bench, &memcached);
    } else {
        (void)printf("memcached  skipped: it did not start\n");
    }
    server_stop(&server);
    (void)remove(server.path);
}

bool sizes_write(FILE *file)
{
    static const uint64_t sizes[] = {10, 100, 1000, 10000, 100000, 1000000};
    const struct place_of_size memory = {"memory", "memory:curve", UINT64_MAX,
                                         CLOCK_PROCESS_CPUTIME_ID};
    double us[sizeof sizes / sizeof sizes[0]][VERB_COUNT];
    (void)fprintf(file, "elements");
    for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
        struct collection collection;
        struct counting_backend counting;
        bool fine = open_counted(&collection, &counting, verb, &memory, verb_name(verb));
        for (size_t i = 0; fine && i < sizeof sizes / sizeof sizes[0]; i++) {
            struct row_of_size row = {.size = sizes[i]};
            fine = sizes[i] <= SMALL
                       ? measure_small(verb, &memory, sizes[i], &row)
                       : measure_large(&collection, &counting, &memory, sizes[i], &row);
            us[i][verb] = row.us;
        }
        collection_close(&collection);
        if (!fine)
            return false;
        (void)fprintf(file, "\t%s", verb_name(verb));
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        (void)fprintf(file, "\n%llu", (unsigned long long)sizes[i]);
        for (enum verb verb = 0; verb < VERB_COUNT; verb++)
            (void)fprintf(file, "\t%.3f", us[i][verb]);
    }
    (void)fputc('\n', file);
    return true;
}
