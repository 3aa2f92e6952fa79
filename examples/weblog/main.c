/* weblog: an access log through mcds.
 *
 *   options -> reader -> crew of processes -> store -> totals -> report
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "finds.h"
#include "home.h"
#include "keep.h"
#include "options.h"
#include "reader.h"
#include "report.h"
#include "totals.h"

#define EXIT_NO_INPUT 66
#define EXIT_NO_STORE 69
#define EXIT_UNCERTAIN 80

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

struct run {
    struct options options;
    struct figures figures;
    char default_store[HOME_URI_MAX];
    struct reader reader;
    struct crew crew;
    mcds_store *store;
    struct keep keep;
    uint64_t own_lines;
    double begun_s;
    double shown_s; /* when the live line was printed */
    struct totals shown;
    uint64_t shown_online;
};

static int complain(const char *what, int code)
{
    (void)fprintf(stderr, "weblog: %s\n", what);
    return code;
}

/* False: there is no store to use. */
static bool choose_figures(struct run *run)
{
    const mcds_env *env = mcds_env_system();
    struct figures *figures = &run->figures;
    const struct options *options = &run->options;
    uint32_t random;
    if (options->store == NULL && !home_default(run->default_store))
        return false;
    env->random(env->self, &random, sizeof random);
    figures->uri = options->store != NULL ? options->store : run->default_store;
    figures->ns = options->ns;
    figures->database = options->database;
    figures->kept = options->name != NULL;
    figures->begun_ms = env->wall_ns(env->self) / 1000000;
    if (figures->kept)
        (void)snprintf(figures->name, sizeof figures->name, "%s", options->name);
    else
        (void)snprintf(figures->name, sizeof figures->name, "weblog-%08" PRIx32, random);
    return true;
}

static void listen_for_stop(void)
{
    /* no SA_RESTART: a wait ends when the user says so */
    struct sigaction action = {.sa_handler = stop};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Once a second, when something has changed. */
static void show_live(struct run *run)
{
    struct totals totals;
    uint64_t online = 0;
    if (clock_now_s() - run->shown_s < 1.0)
        return;
    run->shown_s = clock_now_s();
    if (totals_read(&run->figures, run->store, &totals) != MCDS_OK ||
        totals_read_online(&run->figures, run->store, &online) != MCDS_OK)
        return;
    if (memcmp(&totals, &run->shown, sizeof totals) == 0 && online == run->shown_online)
        return;
    run->shown = totals;
    run->shown_online = online;
    bool terminal = isatty(STDERR_FILENO) == 1;
    (void)fprintf(stderr,
                  "%s%" PRIu64 " lines  %" PRIu64 " visitors  %" PRIu64 " online  %" PRIu64
                  " errors  %" PRIu64 " malformed%s",
                  terminal ? "\r\033[K" : "", totals.lines, totals.visitors, online,
                  totals.errors, totals.malformed, terminal ? "" : "\n");
}

/* Feed the crew until the input ends. Returns an exit code. */
static int feed(struct run *run)
{
    while (!stopped) {
        char *capacity = crew_room(&run->crew);
        if (capacity == NULL)
            return complain(run->crew.failure, EXIT_NO_STORE);
        struct block block;
        enum reader_answer answer = reader_next(&run->reader, capacity, &block);
        if (answer == READER_FAILED)
            return complain(run->reader.failure, EXIT_NO_INPUT);
        if (answer == READER_END)
            return EXIT_SUCCESS;
        if (answer == READER_BLOCK) {
            run->own_lines += block.lines;
            if (!crew_give(&run->crew, capacity, &block))
                return complain(run->crew.failure, EXIT_NO_STORE);
        }
        if (answer == READER_IDLE) {
            if (!crew_flush(&run->crew))
                return complain(run->crew.failure, EXIT_NO_STORE);
            struct timespec pause = {0, READER_POLL_MS * 1000000L};
            (void)nanosleep(&pause, NULL);
        }
        if (keep_save_sometimes(&run->keep) < 0)
            return complain(mcds_errmsg(), EXIT_NO_STORE);
        if (run->options.follow)
            show_live(run);
    }
    return EXIT_SUCCESS;
}

/* What stands in the store, in all. Returns an mcds_result. */
static int read_all(struct run *run, struct sheet *sheet, struct totals *totals,
                    struct details *details, struct finds *finds)
{
    struct names *pages = &run->crew.tally.pages;
    const struct summary *summary = &run->crew.tally.summary;
    int result = totals_read(&run->figures, run->store, totals);
    if (result == MCDS_OK && run->keep.views != NULL)
        result = keep_read_pages(&run->keep, pages);
    else if (result == MCDS_OK)
        result = totals_read_pages(&run->figures, run->store, pages);
    if (result == MCDS_OK)
        result = finds_read(finds, sheet);
    if (result == MCDS_OK && !run->options.json)
        result = totals_read_details(&run->figures, run->store, summary->first_ms,
                                     summary->last_ms, details);
    return result;
}

static int print_report(struct run *run, struct sheet *sheet, double seconds)
{
    static struct finds finds;
    struct totals totals;
    struct details details = {0};
    struct names *pages = &run->crew.tally.pages;
    const struct summary *summary = &run->crew.tally.summary;
    int result = read_all(run, sheet, &totals, &details, &finds);
    /* the handles of a crew without workers are of no more use, and sorting moves the pages */
    crew_close_pages(&run->crew);
    if (result == MCDS_OK) {
        names_sort(pages);
        struct report report = {.figures = &run->figures,
                                .paths = run->options.paths,
                                .workers = run->options.workers,
                                .seconds = seconds,
                                .own_lines = run->own_lines,
                                .totals = &totals,
                                .details = &details,
                                .finds = &finds,
                                .summary = summary,
                                .pages = pages};
        (run->options.json ? report_json : report_people)(stdout, &report);
    }
    finds_free(&finds);
    if (result != MCDS_OK)
        return complain(mcds_errmsg(), EXIT_NO_STORE);
    if (fflush(stdout) != 0)
        return complain("the output cannot be written", EXIT_FAILURE);
    if (summary->uncertain > 0)
        return complain("some counts are uncertain: a reply was lost", EXIT_UNCERTAIN);
    return EXIT_SUCCESS;
}

/* Report, and leave the store as it should be found. */
static int conclude(struct run *run, double seconds)
{
    struct sheet sheet;
    int code = EXIT_NO_STORE;
    int result = sheet_open(&sheet, &run->figures, run->store);
    if (result == MCDS_OK)
        code = print_report(run, &sheet, seconds);
    if (run->keep.views != NULL && !run->options.json)
        (void)fprintf(stderr, "saving the latest views in %s\n", run->figures.database);
    if (result == MCDS_OK)
        result = keep_save_all(&run->keep);
    if (result == MCDS_OK && !run->figures.kept)
        result = sheet_forget(&sheet);
    if (result < 0 && code == EXIT_SUCCESS)
        code = EXIT_NO_STORE;
    if (result < 0)
        (void)complain(mcds_errmsg(), code);
    sheet_close(&sheet);
    return code;
}

static int open_store(struct run *run)
{
    if (figures_open_store(&run->figures, &run->store) != MCDS_OK)
        return complain(mcds_errmsg(), EXIT_NO_STORE);
    if (!keep_open(&run->keep, &run->figures, run->store))
        return complain(run->keep.failure, EXIT_NO_STORE);
    if (run->options.workers == 1 && !crew_work_in(&run->crew, &run->figures, run->store))
        return complain(run->crew.failure, EXIT_NO_STORE);
    return EXIT_SUCCESS;
}

static int count(struct run *run)
{
    int code = open_store(run);
    run->begun_s = run->shown_s = clock_now_s();
    if (code == EXIT_SUCCESS)
        code = feed(run);
    bool gathered = crew_gather(&run->crew);
    if (code == EXIT_SUCCESS && !gathered)
        code = complain(run->crew.failure, EXIT_NO_STORE);
    double seconds = clock_now_s() - run->begun_s;
    if (run->options.follow && isatty(STDERR_FILENO) == 1)
        (void)fputc('\n', stderr);
    return code == EXIT_SUCCESS ? conclude(run, seconds) : code;
}

int main(int argc, char **argv)
{
    static struct run run;
    if (!options_parse(argc, argv, &run.options))
        return EXIT_USAGE;
    if (run.options.help) {
        options_help();
        return EXIT_SUCCESS;
    }
    if (!choose_figures(&run))
        return complain(
            "no store: give one with -s or $MCDS_STORE, for $HOME is not set either",
            EXIT_USAGE);
    if (run.options.workers > 1 && strncmp(run.figures.uri, "memory:", 7) == 0)
        return complain("memory: is one process's own; more workers need lmdb: or memcached:",
                        EXIT_USAGE);
    if (!reader_open(&run.reader, run.options.paths, run.options.path_count,
                     run.options.follow))
        return complain(run.reader.failure, EXIT_NO_INPUT);
    if (run.options.follow)
        listen_for_stop();
    int code = crew_hire(&run.crew, &run.figures, run.options.workers)
                   ? count(&run)
                   : complain(run.crew.failure, EXIT_FAILURE);
    crew_dismiss(&run.crew);
    keep_close(&run.keep);
    mcds_close(run.store);
    reader_close(&run.reader);
    return code;
}
