/* Runs the programs of this directory. */
#include "sim/play.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "sim/world.h"

/* Choices beyond these are left as they are in peace. */
#define CHOICES_MAX 48
/* The same where only few of them differ from peace (play_bound_choices). */
#define BOUNDED_MAX 1024
#define FAULTS_MAX 256
/* Of increments that meet their item while it is sent. */
#define RACE_PPM 200000
/* In this many schedules of any case, what is rare has happened. */
#define WHOLE_MIN 100
/* Of so many runs, one stores what is very long. */
#define LONG_EVERY 16

/* All choices of a run, as the digits of a number that is counted up. */
struct odometer {
    uint32_t choice[BOUNDED_MAX];
    uint32_t bound[BOUNDED_MAX];
    uint32_t deviation_max; /* 0: any number */
    uint32_t deviations;    /* of this run, so far */
    uint32_t length;
    uint32_t at;
    bool is_over;
};

static struct play {
    uint32_t scheduler;
    uint64_t first, wanted; /* 0: the usual */
    uint64_t most;          /* where the case has more */
    uint64_t count, done;   /* of this case */
    uint64_t clients, calls, fault_max;
    const char *off;
    bool has_faults;
    uint64_t faults[FAULTS_MAX];
    uint32_t fault_count;
    struct odometer odometer;
    uint64_t schedules;
    mcds_sim_counts counts;
    struct timespec began;
} play;

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || text[0] == '\0')
        return usual;
    uint64_t number = strtoull(text, &end, 10);
    if (*end == '\0')
        return number;
    (void)fprintf(stderr, "%s is no number: %s\n", name, text);
    exit(EXIT_FAILURE);
}

static void read_faults(const char *text)
{
    char *end;
    play.has_faults = text != NULL;
    while (text != NULL && *text != '\0' && play.fault_count < FAULTS_MAX) {
        play.faults[play.fault_count++] = strtoull(text, &end, 10);
        text = *end == ',' ? end + 1 : "";
    }
}

static uint32_t scheduler_of(const char *name)
{
    static const char *const names[] = {"random", "priorities", "exhaustive"};
    for (uint32_t i = 0; i < 3; i++)
        if (name == NULL || strcmp(name, names[i]) == 0)
            return i;
    (void)fprintf(stderr, "MCDS_SIM_SCHEDULER is random, priorities or exhaustive\n");
    exit(EXIT_FAILURE);
}

void play_set_up(void)
{
    const char *wanted = getenv("MCDS_SIM_CASE");
    play.scheduler = scheduler_of(getenv("MCDS_SIM_SCHEDULER"));
    play.first = number_of("MCDS_SIM_SEED", 1);
    play.wanted = number_of("MCDS_SIM_SEEDS", 0);
    play.most = number_of("MCDS_SIM_SEEDS_MAX", UINT64_MAX);
    play.clients = number_of("MCDS_SIM_CLIENTS", UINT32_MAX);
    play.calls = number_of("MCDS_SIM_CALLS", UINT32_MAX);
    play.fault_max = number_of("MCDS_SIM_FAULT_MAX", UINT64_MAX);
    play.off = getenv("MCDS_SIM_OFF");
    read_faults(getenv("MCDS_SIM_FAULTS"));
    if (wanted != NULL)
        cmocka_set_test_filter(wanted);
    (void)clock_gettime(CLOCK_MONOTONIC, &play.began);
}

mcds_sim_options network_faults(uint64_t seed)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    options.seed = seed;
    options.cut_before_ppm = 30000;
    options.cut_after_ppm = 30000;
    options.late_ppm = 30000;
    options.silent_ppm = 10000;
    options.late_ms_max = seed % 3 == 0 ? 60000 : 2000;
    options.pause_ppm = 5000;
    options.skew_ms_max = 5000;
    options.seconds = seed % 2 == 0;
    options.classic = seed / 2 % 2 == 0;
    options.unordered = seed / 4 % 4 == 0;
    return options;
}

mcds_sim_options all_faults(uint64_t seed)
{
    mcds_sim_options options = network_faults(seed);
    options.evict_ppm = 20000;
    options.flush_ppm = 5000;
    options.restart_ppm = 5000;
    options.skew_ms_max = 0;
    return options;
}

mcds_sim_options fewer_faults(mcds_sim_options options)
{
    options.cut_before_ppm /= 8;
    options.cut_after_ppm /= 8;
    options.late_ppm /= 8;
    options.silent_ppm /= 8;
    return options;
}

static uint64_t wanted_of(uint64_t usual)
{
    uint64_t count = usual < play.most ? usual : play.most;
    return play.wanted > 0 ? play.wanted : count;
}

uint64_t play_begin(uint64_t usual)
{
    play.count = wanted_of(usual);
    play.done = 0;
    uint32_t deviation_max = play.odometer.deviation_max;
    memset(&play.odometer, 0, sizeof play.odometer);
    play.odometer.deviation_max = deviation_max;
    return play.first;
}

bool play_goes_on(void)
{
    return play.done < play.count && !play.odometer.is_over;
}

static void count_up(struct odometer *odometer)
{
    while (odometer->length > 0 &&
           odometer->choice[odometer->length - 1] + 1 >= odometer->bound[odometer->length - 1])
        odometer->length--;
    odometer->is_over = odometer->length == 0;
    if (!odometer->is_over)
        odometer->choice[odometer->length - 1]++;
    odometer->at = 0;
}

uint64_t play_next(uint64_t seed)
{
    play.done++;
    if (play.scheduler != MCDS_SIM_CHOICES)
        return seed + 1;
    count_up(&play.odometer);
    return seed;
}

uint64_t play_count(void)
{
    return play.count;
}

bool play_is_whole(void)
{
    return play.scheduler == MCDS_SIM_RANDOM && wanted_of(WHOLE_MIN) >= WHOLE_MIN &&
           play.off == NULL && play.fault_max == UINT64_MAX && !play.has_faults &&
           play.clients == UINT32_MAX && play.calls == UINT32_MAX;
}

void skip_unless_whole(void)
{
    if (play_is_whole())
        return;
    print_message("skipped: too few schedules to judge by\n");
    skip();
}

uint32_t play_clients(uint32_t usual)
{
    return play.clients < usual ? (uint32_t)play.clients : usual;
}

uint32_t play_calls(uint32_t usual)
{
    return play.calls < usual ? (uint32_t)play.calls : usual;
}

static uint32_t choose(void *context, uint32_t count)
{
    struct odometer *odometer = context;
    uint32_t at = odometer->at++;
    uint32_t deviation_max = odometer->deviation_max;
    if (at >= (deviation_max > 0 ? BOUNDED_MAX : CHOICES_MAX))
        return 0;
    if (at == 0)
        odometer->deviations = 0;
    bool has_more = deviation_max == 0 || odometer->deviations < deviation_max;
    if (at == odometer->length) {
        odometer->choice[at] = 0;
        odometer->length++;
    }
    odometer->bound[at] = has_more ? count : 1;
    odometer->deviations += odometer->choice[at] > 0;
    return odometer->choice[at];
}

void play_bound_choices(uint32_t deviation_max)
{
    play.odometer.deviation_max = deviation_max;
}

static bool allow(void *context, uint64_t nth)
{
    (void)context;
    if (nth > play.fault_max)
        return false;
    for (uint32_t i = 0; i < play.fault_count; i++)
        if (play.faults[i] == nth)
            return true;
    return !play.has_faults;
}

static bool is_off(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = play.off; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

int play_open(const mcds_sim_options *options, mcds_sim **sim_out)
{
    mcds_sim_options set = *options;
    const struct {
        const char *name;
        uint32_t *rate;
    } rates[] = {
        {"cut_before", &set.cut_before_ppm},
        {"cut_after", &set.cut_after_ppm},
        {"late", &set.late_ppm},
        {"silent", &set.silent_ppm},
        {"evict", &set.evict_ppm},
        {"flush", &set.flush_ppm},
        {"restart", &set.restart_ppm},
        {"pause", &set.pause_ppm},
        {"skew", &set.skew_ms_max},
    };
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (is_off(rates[i].name))
            *rates[i].rate = 0;
    set.scheduler = play.scheduler;
    set.changes = 1 + (uint32_t)(set.seed % 4);
    set.choose = choose;
    set.allow = allow;
    set.context = &play.odometer;
    int result = mcds_sim_open(&set, sim_out);
    if (result == MCDS_OK && !is_off("race"))
        (*sim_out)->race_ppm = RACE_PPM;
    return result;
}

int play_open_servers(const mcds_sim_options *options, uint32_t servers, uint32_t hold_ppm,
                      mcds_sim **sim_out)
{
    int result = play_open(options, sim_out);
    if (result != MCDS_OK)
        return result;
    (*sim_out)->hold_ppm = is_off("hold") ? 0 : hold_ppm;
    if (mcds__sim_add_servers(*sim_out, servers))
        return MCDS_OK;
    mcds_sim_close(*sim_out);
    return MCDS_NO_MEMORY;
}

void play_add_locker(mcds_sim *sim, mcds_sim_program *program, void *context, uint32_t lease_ms,
                     mcds_lock **lock_out)
{
    mcds_sim_client *client = NULL;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = lease_ms;
    assert_int_equal(mcds_sim_client_add(sim, program, context, &client), MCDS_OK);
    if (lock_out != NULL)
        assert_int_equal(
            mcds_lock_open(mcds_sim_client_store(client), "job", &options, lock_out), MCDS_OK);
}

void play_close(mcds_sim *sim)
{
    mcds_sim_counts counts = MCDS_SIM_COUNTS_INIT;
    mcds_sim_count(sim, &counts);
    play.schedules++;
    play.counts.requests += counts.requests;
    play.counts.faults += counts.faults;
    play.counts.refused += counts.refused;
    play.counts.cut_before += counts.cut_before;
    play.counts.cut_after += counts.cut_after;
    play.counts.late += counts.late;
    play.counts.silent += counts.silent;
    play.counts.evicted += counts.evicted;
    play.counts.flushed += counts.flushed;
    play.counts.restarted += counts.restarted;
    play.counts.paused += counts.paused;
    mcds_sim_close(sim);
}

const char *play_run(mcds_sim *sim, uint64_t event_max, const char *(*check)(void *context),
                     void *context)
{
    for (uint64_t events = 0; events < event_max; events++) {
        int result = mcds_sim_run(sim, 1);
        const char *wrong = check(context);
        if (wrong != NULL || result == MCDS_OK)
            return wrong;
    }
    return "it does not end";
}

uint64_t play_peek_flags(mcds_sim *sim, const char *key, uint64_t none, uint32_t *flags_out)
{
    char text[32] = "";
    mcds_buffer values;
    mcds_request request = {.command = MCDS_GET, .key = mcds_text(key)};
    mcds__buffer_init(&values, mcds_env_system(), 4096);
    mcds__sim_execute(sim, 0, &request, &values);
    if (request.reply.outcome == MCDS_OUT_OK && request.reply.value_length < sizeof text)
        memcpy(text, values.data + request.reply.value_at, request.reply.value_length);
    mcds__buffer_free(&values);
    *flags_out = request.reply.flags;
    return text[0] != '\0' ? strtoull(text, NULL, 10) : none;
}

uint64_t play_peek(mcds_sim *sim, const char *key, uint64_t none)
{
    uint32_t flags;
    return play_peek_flags(sim, key, none, &flags);
}

bool report(const mcds_sim *sim, uint64_t seed, const char *what)
{
    static char timeline[32768];
    mcds_sim_counts counts = MCDS_SIM_COUNTS_INIT;
    mcds_sim_count(sim, &counts);
    (void)mcds_sim_timeline(sim, timeline, sizeof timeline);
    (void)fprintf(stderr,
                  "seed %" PRIu64 ": %s\n%sreplay with MCDS_SIM_SEED=%" PRIu64
                  " MCDS_SIM_SEEDS=1\nfaults: %" PRIu64 "\n",
                  seed, what, timeline, seed, counts.faults);
    return false;
}

bool report_lengths(const mcds_sim *sim, uint64_t seed, const char *what,
                    const struct lengths *lengths)
{
    (void)report(sim, seed, what);
    lengths_print(lengths);
    return false;
}

bool play_to_end(mcds_sim *sim, uint64_t seed, const char *const *wrong,
                 mcds_sim_counts *counts_out)
{
    bool has_ended = mcds_sim_run(sim, 200000) == MCDS_OK;
    mcds_sim_count(sim, counts_out);
    if (*wrong != NULL)
        return report(sim, seed, *wrong);
    return has_ended || report(sim, seed, "it does not end");
}

void play_lengths(struct lengths *lengths, uint64_t seed, uint32_t count, size_t least,
                  size_t most, size_t longest)
{
    lengths_begin(lengths, seed, count, least, seed % LONG_EVERY == 0 ? longest : most);
}

void play_tell(const char *structure, int failed)
{
    const char *path = getenv("MCDS_SIM_FIGURES");
    const mcds_sim_counts *counts = &play.counts;
    struct timespec now;
    FILE *file = path != NULL ? fopen(path, "ae") : NULL;
    if (file == NULL)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - play.began.tv_sec) +
                     (double)(now.tv_nsec - play.began.tv_nsec) / 1e9;
    (void)fprintf(file,
                  "{\"structure\": \"%s\", \"failed\": %d, \"schedules\": %" PRIu64
                  ", \"seconds\": %.3f, \"requests\": %" PRIu64 ", \"refused\": %" PRIu64
                  ", \"cut_before\": %" PRIu64 ", \"cut_after\": %" PRIu64
                  ", \"late\": %" PRIu64 ", \"silent\": %" PRIu64 ", \"evicted\": %" PRIu64
                  ", \"flushed\": %" PRIu64 ", \"restarted\": %" PRIu64 ", \"paused\": %" PRIu64
                  "}\n",
                  structure, failed, play.schedules, seconds, counts->requests, counts->refused,
                  counts->cut_before, counts->cut_after, counts->late, counts->silent,
                  counts->evicted, counts->flushed, counts->restarted, counts->paused);
    (void)fclose(file);
}
