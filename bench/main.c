/* mcds-bench: the ratios of mcds to its alternatives, in one run. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "curves.h"
#include "limits.h"
#include "queues.h"
#include "sizes.h"
#include "work/work.h"

#define EXIT_USAGE 64
#define PLACE_MAX                                                                              \
    70 /* a socket's path has up to 107 bytes: this, some directories and a name */

static const char help_text[] =
    "usage: mcds-bench [--quick] [--alone] [--only TEXT] [--out FILE] [--place FOLDER]\n"
    "       mcds-bench --sizes [--huge] [--only VERB] [--place FOLDER]\n"
    "       mcds-bench --curves FOLDER [--only NAME] [--place FOLDER]\n"
    "       mcds-bench --limits [--quick] [--only TEXT] [--place FOLDER]\n"
    "       mcds-bench --queue [--quick] [--only TEXT] [--place FOLDER]\n"
    "\n"
    "Starts memcached and redis-server by itself, on loopback and unix sockets.\n"
    "  --quick         about a minute instead of two or three; wider spreads\n"
    "  --alone         mcds without the others, and no table: for a profiler\n"
    "  --only TEXT     only the work with TEXT in its name\n"
    "  --out FILE      also write the ratios as JSON\n"
    "  --sizes         cost against size instead: a few minutes, 1 GB of memory\n"
    "  --huge          with --sizes: up to ten million elements\n"
    "  --curves FOLDER write figures as TSV and draw them as SVG: depth, threads, lock,\n"
    "                  processes, latency and sizes, or the one with NAME in its name;\n"
    "                  a few minutes\n"
    "  --limits        rate limits instead: takes a second, round trips, and the most that\n"
    "                  passes in a window, by 1, 8 and 64 processes; a few minutes\n"
    "  --queue         queues instead: jobs a second at depths of 100 to a million, by 1, 8 "
    "and\n"
    "                  64 processes, in memory and durable; a few minutes\n"
    "  --place FOLDER  where files and sockets are made (default .): the file system under it\n"
    "                  decides the durable rows\n";

struct wishes {
    const char *out;
    const char *place;
    const char *curves;
    bool sizes;
    bool limits;
    bool queue;
    bool huge;
};

/* False: the usage is wrong. */
static bool parse(int argc, char **argv, struct bench *bench, struct wishes *wishes)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, 'q'},       {"alone", no_argument, NULL, 'a'},
        {"only", required_argument, NULL, 'o'},  {"out", required_argument, NULL, 'j'},
        {"place", required_argument, NULL, 'p'}, {"sizes", no_argument, NULL, 's'},
        {"huge", no_argument, NULL, 'H'},        {"curves", required_argument, NULL, 'c'},
        {"limits", no_argument, NULL, 'l'},      {"queue", no_argument, NULL, 'u'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        switch (option) {
        case 'q':
            bench->rounds = 7;
            bench->round_s = 0.05;
            break;
        case 'a':
            bench->alone = true;
            bench->round_s = 0.5; /* so that filling does not count */
            break;
        case 'o':
            bench->only = optarg;
            break;
        case 'j':
            wishes->out = optarg;
            break;
        case 'p':
            wishes->place = optarg;
            break;
        case 'c':
            wishes->curves = optarg;
            break;
        case 's':
            wishes->sizes = true;
            break;
        case 'l':
            wishes->limits = true;
            break;
        case 'u':
            wishes->queue = true;
            break;
        case 'H':
            wishes->huge = true;
            break;
        case 'h':
            (void)fputs(help_text, stdout);
            exit(EXIT_SUCCESS);
        default:
            return false;
        }
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = 15, .round_s = 0.1};
    struct wishes wishes = {.out = NULL, .place = "."};
    struct servers servers;
    if (!parse(argc, argv, &bench, &wishes)) {
        (void)fputs(help_text, stderr);
        return EXIT_USAGE;
    }
    char *place = realpath(wishes.place, NULL);
    if (place == NULL || strlen(place) > PLACE_MAX) {
        (void)fprintf(stderr, "bench: %s is no folder, or its path is too long for sockets\n",
                      wishes.place);
        return EXIT_USAGE;
    }
    (void)snprintf(bench.place, sizeof bench.place, "%s/bench-XXXXXX", place);
    free(place);
    if (mkdtemp(bench.place) == NULL) {
        perror("bench: mkdtemp");
        return EXIT_FAILURE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (wishes.sizes) {
        sizes_run(&bench, wishes.huge);
        (void)rmdir(bench.place);
        return bench.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (wishes.limits || wishes.queue) {
        (wishes.limits ? limits_run : queues_run)(&bench);
        (void)rmdir(bench.place);
        return bench.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    servers_start(&servers, bench.place);
    if (wishes.curves != NULL) {
        bool fine = curves_run(&bench, &servers, wishes.curves);
        servers_stop(&servers);
        (void)rmdir(bench.place);
        return fine ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    work_bytes(
        &bench,
        &servers); /* first, while nothing else has allocated and freed memory in this process */
    work_memcached(&bench, &servers);
    work_lock(&bench, &servers);
    work_one_processor(&bench);
    work_structures(&bench, &servers);
    work_memory(&bench);
    work_table(&bench);
    work_lmdb(&bench);
    work_lmdb_processes(&bench);
    work_weblog(&bench, &servers);
    work_command(&bench, &servers);
    servers_stop(&servers);
    (void)rmdir(bench.place);
    if (bench.alone)
        return bench.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    table_print(stdout, &bench);
    if (wishes.out != NULL && !table_write_json(wishes.out, &bench)) {
        perror(wishes.out);
        return EXIT_FAILURE;
    }
    return bench.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
