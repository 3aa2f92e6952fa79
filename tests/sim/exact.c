/* Exact counters in the simulated world: every acknowledged change exists and none counts
 * twice, although replies are lost, requests arrive late and writers vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/environment.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define ADDS 24
#define HANDLES_MAX 16
#define NEVER_MS 3600000

enum { TAG_ADD = 1, TAG_FLUSH, TAG_SLEPT };

/* One handle, as one process has it. */
struct writer {
    mcds_counter *counter;
    int64_t added;
    int64_t flushed;  /* certainly in the store */
    int64_t doubtful; /* went into a flush of unknown fate, and may be given up since */
    bool dead;
};

struct setting {
    bool dies;         /* processes vanish, and others begin */
    int64_t away_s;    /* how long they rest at most */
    uint32_t flush_ms; /* NEVER_MS: they flush by themselves */
    bool is_signed;
    uint32_t copies;
};

struct process {
    const struct setting *setting;
    struct writer writers[HANDLES_MAX];
    int count; /* the last one is alive */
    uint32_t adds_left;
    int64_t delta;
    uint64_t random;
};

static uint64_t next(struct process *process, uint64_t bound)
{
    return dice_roll(&process->random, bound);
}

static struct writer *alive(struct process *process)
{
    return &process->writers[process->count - 1];
}

static void open_writer(struct process *process, mcds_store *store)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    struct writer *writer = &process->writers[process->count++];
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = process->setting->flush_ms;
    options.copies = process->setting->copies;
    *writer = (struct writer){NULL, 0, 0, 0, false};
    assert_int_equal(mcds_counter_open(store, "hits", &options, &writer->counter), MCDS_OK);
}

static void book(struct process *process, const mcds_completion *done)
{
    struct writer *writer = alive(process);
    bool flushes = done->tag == TAG_FLUSH ||
                   process->setting->flush_ms == MCDS_COUNTER_FLUSH_EACH;
    switch (done->result) {
    case MCDS_OK:
        if (flushes)
            writer->flushed = writer->added - writer->doubtful;
        break;
    case MCDS_AMBIGUOUS:
        /* After a long absence the store may not know any more what became of it. */
        if (process->setting->away_s >= 600)
            writer->doubtful = writer->added - writer->flushed;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        if (done->tag == TAG_ADD) /* not counted */
            writer->added -= process->delta;
        break;
    default:
        fail_msg("result %d: %s", done->result, mcds_errmsg());
    }
}

static void begin(struct process *process, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    const struct setting *setting = process->setting;
    if (process->adds_left == 0)
        return;
    if (setting->dies && next(process, 6) == 0 && process->count < HANDLES_MAX) {
        alive(process)->dead = true;
        open_writer(process, mcds_sim_client_store(client));
    }
    struct writer *writer = alive(process);
    uint64_t choice = next(process, 8);
    if (choice == 0 && setting->away_s > 0) {
        int64_t rest_ns = (int64_t)next(process, (uint64_t)setting->away_s * 1000) * NS_PER_MS;
        assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_SLEPT), MCDS_OK);
        process->adds_left--;
    } else if (choice < 5) {
        process->delta = setting->is_signed && next(process, 3) == 0 ? -7 : 5;
        process->adds_left--;
        writer->added += process->delta;
        assert_int_equal(
            mcds_counter_add_start(writer->counter, process->delta, NULL, pipeline, TAG_ADD),
            MCDS_OK);
    } else {
        assert_int_equal(mcds_counter_flush_start(writer->counter, pipeline, TAG_FLUSH),
                         MCDS_OK);
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct process *process = context;
    if (done == NULL)
        open_writer(process, mcds_sim_client_store(client));
    else if (done->tag != TAG_SLEPT)
        book(process, done);
    begin(process, client);
}

/* What the value may be. */
struct bounds {
    int64_t least;
    int64_t most;
};

/* Each live process flushes the rest. */
static bool flush_all(struct process *processes, struct bounds *bounds)
{
    for (uint32_t i = 0; i < CLIENTS; i++)
        for (int j = 0; j < processes[i].count; j++) {
            struct writer *writer = &processes[i].writers[j];
            if (!writer->dead) {
                int result = mcds_counter_flush(writer->counter);
                if (result == MCDS_AMBIGUOUS && processes[i].setting->away_s >= 600)
                    writer->doubtful = writer->added - writer->flushed;
                else if (result != MCDS_OK)
                    return false;
                writer->flushed = writer->added - writer->doubtful;
            }
            bounds->least += writer->flushed;
            bounds->most += writer->added;
        }
    return true;
}

static int64_t value_of(mcds_sim_client *client, const struct setting *setting, int *result)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    options.flags = MCDS_COUNTER_EXACT;
    options.copies = setting->copies;
    assert_int_equal(
        mcds_counter_open(mcds_sim_client_store(client), "hits", &options, &counter), MCDS_OK);
    *result = mcds_counter_get(counter, &value);
    mcds_counter_close(counter);
    return value.value;
}

/* One seed. `loses`: the server does, so that only what is too much is wrong. */
static bool run(mcds_sim_options options, bool loses, struct setting setting)
{
    struct process processes[CLIENTS_MAX] = {0};
    struct bounds bounds = {0, 0};
    mcds_sim *sim;
    mcds_sim_client *client = NULL;
    int result = MCDS_OK;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        processes[i].setting = &setting;
        processes[i].adds_left = play_calls(ADDS);
        processes[i].random = options.seed * CLIENTS + (uint64_t)i;
        assert_int_equal(mcds_sim_client_add(sim, program, &processes[i], &client), MCDS_OK);
    }
    bool ended = mcds_sim_run(sim, 1000000) == MCDS_OK;
    mcds_sim_calm(sim);
    bool flushed = ended && flush_all(processes, &bounds);
    int64_t value = value_of(client, &setting, &result);
    bool read = result == MCDS_OK || result == MCDS_NOT_FOUND;
    bool fine = flushed && read && value <= bounds.most && (loses || value >= bounds.least);
    if (!fine) {
        mcds_sim_note(sim, NULL, "%s, %s, get %s: value %lld, allowed %lld to %lld",
                      ended ? "ended" : "did not end", flushed ? "flushed" : mcds_errmsg(),
                      mcds_result_name(result), (long long)value, (long long)bounds.least,
                      (long long)bounds.most);
        (void)report(sim, options.seed, "the value is not what was added");
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        for (int j = 0; j < processes[i].count; j++)
            mcds_counter_close(processes[i].writers[j].counter);
    play_close(sim);
    return fine;
}

static void run_many(uint64_t seeds, bool loses, struct setting setting)
{
    PLAY (seed, seeds)
        assert_true(run(loses ? all_faults(seed) : network_faults(seed), loses, setting));
}

static void nothing_is_lost_or_counted_twice(void **state)
{
    (void)state;
    run_many(150, false, (struct setting){.flush_ms = NEVER_MS, .away_s = 20});
    run_many(150, false, (struct setting){.flush_ms = MCDS_COUNTER_FLUSH_EACH, .away_s = 20});
}

static void sums_go_down_too(void **state)
{
    (void)state;
    /* Everybody lives and flushes in the end: the value is all that was added. */
    run_many(150, false,
             (struct setting){.flush_ms = NEVER_MS, .away_s = 20, .is_signed = true});
}

static void writers_vanish_and_others_take_over(void **state)
{
    (void)state;
    run_many(150, false, (struct setting){.dies = true, .flush_ms = NEVER_MS, .away_s = 90});
    run_many(150, false,
             (struct setting){.dies = true, .flush_ms = MCDS_COUNTER_FLUSH_EACH, .away_s = 90});
}

static void whoever_comes_back_late_counts_once(void **state)
{
    (void)state;
    run_many(150, false, (struct setting){.dies = true, .flush_ms = NEVER_MS, .away_s = 2000});
}

static void a_server_that_forgets_adds_nothing(void **state)
{
    (void)state;
    run_many(150, true, (struct setting){.dies = true, .flush_ms = NEVER_MS, .away_s = 90});
    run_many(
        150, true,
        (struct setting){.dies = true, .flush_ms = MCDS_COUNTER_FLUSH_EACH, .away_s = 2000});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_is_lost_or_counted_twice),
    cmocka_unit_test(sums_go_down_too),
    cmocka_unit_test(writers_vanish_and_others_take_over),
    cmocka_unit_test(whoever_comes_back_late_counts_once),
    cmocka_unit_test(a_server_that_forgets_adds_nothing),
};

PLAY_MAIN("exact")
