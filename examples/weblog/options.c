/* The command line of weblog. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

static const char help_text[] =
    "usage: weblog [OPTIONS] FILE...     count one or more access logs\n"
    "       weblog [OPTIONS] -           count what comes through a pipe\n"
    "       weblog [OPTIONS] -f FILE     count a log and follow it as it grows\n"
    "\n"
    "Reads the Common and Combined formats of web servers and keeps in an mcds store the "
    "views\n"
    "of each page, the visitors, who is online, the requests of each client host, the "
    "referrers,\n"
    "the largest responses and a log of the errors; then prints them.\n"
    "\n"
    "  -s, --store URI      memory:, lmdb:PATH or memcached://HOST,HOST\n"
    "                       (else $MCDS_STORE, else an lmdb file of yours, as for mcds)\n"
    "  -w, --workers N      count with N processes, 1 to 64 (default 1)\n"
    "  -n, --namespace NS   prefix of all keys in the store (default mcds)\n"
    "      --name NAME      keep the figures under NAME: they go on from run to run and are\n"
    "                       shared by all machines that use NAME. Without it each run counts\n"
    "                       by itself, and the store forgets it\n"
    "      --database FILE  keep the views in this SQLite database; needs --name. Ends some\n"
    "                       seconds after the report, when the last views have been saved\n"
    "  -j, --json           print one JSON object: lines, malformed, views, pages, visitors,\n"
    "                       errors, error_log, hosts, referrers, largest. Bytes that are no\n"
    "                       UTF-8 stand as \\udcXX\n"
    "  -f, --follow FILE    also when it is renamed, made anew or truncated; ^C ends\n"
    "  -h, --help           this text\n"
    "\n"
    "With --name, views and pages are those that this run met, with their totals in the "
    "store.\n"
    "Exit: 0 counted; 64 usage; 66 no input; 69 no store; 80 some counts are uncertain "
    "because\n"
    "a reply was lost.\n";

void options_help(void)
{
    (void)fputs(help_text, stdout);
}

static bool refuse(const char *what, const char *why)
{
    (void)fprintf(stderr, "weblog: %s %s (weblog --help)\n", what, why);
    return false;
}

static bool set_workers(const char *text, struct options *options)
{
    char *end;
    unsigned long workers = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || workers < 1 ||
        workers > CREW_WORKERS_MAX)
        return refuse("--workers", "takes a number from 1 to 64");
    options->workers = (uint32_t)workers;
    return true;
}

static bool set_name(const char *text, struct options *options)
{
    size_t length = strlen(text);
    if (length < 1 || length > FIGURES_NAME_MAX)
        return refuse("--name", "takes 1 to 64 bytes");
    options->name = text;
    return true;
}

/* The standard input can be read once. */
static bool check_paths(const struct options *options)
{
    uint32_t standard = 0;
    for (uint32_t i = 0; i < options->path_count; i++)
        standard += strcmp(options->paths[i], "-") == 0;
    if (options->path_count == 0)
        return refuse("FILE", "is missing; - reads a pipe");
    if (standard > 1)
        return refuse("-", "may be given once");
    if (options->follow && (options->path_count != 1 || standard != 0))
        return refuse("-f", "follows one file");
    if (options->database != NULL && options->name == NULL)
        return refuse("--database", "needs --name: its views go on from run to run");
    return true;
}

bool options_parse(int argc, char **argv, struct options *options)
{
    enum { NAME = 256, DATABASE };
    static const struct option known[] = {{"store", required_argument, NULL, 's'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"namespace", required_argument, NULL, 'n'},
                                          {"name", required_argument, NULL, NAME},
                                          {"database", required_argument, NULL, DATABASE},
                                          {"json", no_argument, NULL, 'j'},
                                          {"follow", no_argument, NULL, 'f'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    *options = (struct options){.workers = 1};
    int option;
    bool fine = true;
    while (fine && (option = getopt_long(argc, argv, "s:w:n:jfh", known, NULL)) != -1) {
        switch (option) {
        case 's':
            options->store = optarg;
            break;
        case 'w':
            fine = set_workers(optarg, options);
            break;
        case 'n':
            options->ns = optarg;
            break;
        case NAME:
            fine = set_name(optarg, options);
            break;
        case DATABASE:
            options->database = optarg;
            break;
        case 'j':
            options->json = true;
            break;
        case 'f':
            options->follow = true;
            break;
        case 'h':
            options->help = true;
            return true;
        default:
            (void)fputs("weblog --help lists the options\n", stderr);
            return false;
        }
    }
    options->paths = (const char *const *)(argv + optind);
    options->path_count = (uint32_t)(argc - optind);
    return fine && check_paths(options);
}
