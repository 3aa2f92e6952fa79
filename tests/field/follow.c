/* Followers of logs of every retention, for ten times that long, in virtual time: each event is
 * seen once, and a gap is reported only to a reader that was away for a retention or longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "field/field.h"
#include "mcds.h"
#include "support/dice.h"
#include "support/fake_env.h"

#define SECOND_MS 1000
#define RETENTIONS 10
#define STEPS_MIN 60
#define STEPS_MAX 3000
/* Of a put and a tail, in a log of longer retention. */
#define STEP_OF_RETENTION 300
/* Of a log of longer retention the chunk is the default one. */
#define DRAWN_CHUNK_MS 210000

struct event {
    bool is_put;
    uint32_t seen;
};

struct play {
    struct fake_env fake;
    mcds_store *store;
    mcds_log *log;
    mcds_log_cursor cursor;
    mcds_log_info info;
    uint64_t random;
    uint64_t seed;
    uint32_t steps;
    int64_t seen_at_ms; /* of the virtual clock */
    int64_t away_max_ms;
    int64_t step_ms;
    uint32_t foreign;
    struct event events[STEPS_MAX];
    mcds_log_options options;
};

static int64_t now_ms(const struct play *play)
{
    return play->fake.wall_ns / 1000000;
}

static bool see(void *context, const mcds_log_event *event)
{
    struct play *play = context;
    uint32_t number = STEPS_MAX;
    if (event->event.length == sizeof number)
        memcpy(&number, event->event.data, sizeof number);
    if (number < play->steps)
        play->events[number].seen++;
    else
        play->foreign++;
    return true;
}

static void put(struct play *play, uint32_t number, int64_t late_ms)
{
    mcds_bytes event = {&number, sizeof number};
    int result = mcds_log_put(play->log, late_ms > 0 ? now_ms(play) - late_ms : 0, event);
    play->events[number].is_put = result == MCDS_OK;
    if (result != MCDS_OK && result != MCDS_TOO_OLD)
        fail_msg("seed %llu: %s", (unsigned long long)play->seed, mcds_errmsg());
}

static void tail(struct play *play)
{
    int64_t away_ms = now_ms(play) - play->seen_at_ms;
    if (play->seen_at_ms > 0 && away_ms > play->away_max_ms)
        play->away_max_ms = away_ms;
    int result = mcds_log_tail(play->log, &play->cursor, see, play, &play->info);
    if (result != MCDS_OK)
        fail_msg("seed %llu: %s", (unsigned long long)play->seed, mcds_errmsg());
    play->seen_at_ms = now_ms(play);
}

static int64_t step_of(const mcds_log_options *options)
{
    int64_t step_ms = (int64_t)(options->retention_ms / STEP_OF_RETENTION);
    return step_ms > SECOND_MS ? step_ms : SECOND_MS;
}

static void open_play(struct play *play, uint64_t seed, const mcds_log_options *options)
{
    mcds_options store_options = MCDS_OPTIONS_INIT;
    memset(play, 0, sizeof *play);
    play->seed = seed;
    play->random = seed;
    play->options = *options;
    fake_env_init(&play->fake, seed);
    store_options.env = &play->fake.env;
    assert_int_equal(mcds_open("memory:", &store_options, &play->store), MCDS_OK);
    if (mcds_log_open(play->store, "events", options, &play->log) != MCDS_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, mcds_errmsg());
    play->step_ms = step_of(options);
    uint64_t steps = RETENTIONS * options->retention_ms / (uint64_t)play->step_ms;
    play->steps = steps < STEPS_MIN ? STEPS_MIN : (uint32_t)steps;
    assert_in_range(play->steps, STEPS_MIN, STEPS_MAX);
    play->cursor.from_ms = now_ms(play) - options->late_ms; /* late events, too */
}

static void close_play(struct play *play)
{
    mcds_log_close(play->log);
    mcds_close(play->store);
    assert_int_equal(play->fake.blocks, 0);
}

static void judge(const struct play *play)
{
    uint32_t twice = 0;
    uint32_t missed = 0;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < play->steps; i++) {
        const struct event *event = &play->events[i];
        twice += event->seen > 1;
        missed += event->is_put && event->seen == 0;
        refused += !event->is_put && event->seen > 0;
    }
    bool may_gap = play->away_max_ms >= (int64_t)play->options.retention_ms;
    bool is_wrong = twice + refused + play->foreign > 0 || play->info.corrupt > 0 ||
                    (play->info.gaps > 0 && !may_gap) || (missed > 0 && play->info.gaps == 0);
    if (is_wrong)
        fail_msg("seed %llu, retention %llu, late %u, chunk %llu, away %lld: of %u events %u "
                 "twice, %u missed, %u refused and seen, %llu gaps",
                 (unsigned long long)play->seed, (unsigned long long)play->options.retention_ms,
                 (unsigned)play->options.late_ms, (unsigned long long)play->options.chunk_ms,
                 (long long)play->away_max_ms, (unsigned)play->steps, (unsigned)twice,
                 (unsigned)missed, (unsigned)refused, (unsigned long long)play->info.gaps);
}

/* One put and one tail in each step, which is a second in most logs. Of the tails, those of a reader that is away are left out. */
static void follow(struct play *play, uint32_t away_percent, int64_t away_max_ms)
{
    uint32_t late_ms = play->options.late_ms;
    int64_t back_at_ms = 0;
    for (uint32_t i = 0; i < play->steps; i++) {
        bool is_late = late_ms > 0 && dice_roll(&play->random, 8) == 0;
        put(play, i, is_late ? (int64_t)dice_roll(&play->random, late_ms) : 0);
        if (now_ms(play) >= back_at_ms)
            tail(play);
        if (now_ms(play) >= back_at_ms && dice_roll(&play->random, 100) < away_percent)
            back_at_ms = now_ms(play) +
                         (int64_t)dice_roll(&play->random, (uint64_t)away_max_ms);
        fake_env_advance_ms(&play->fake, play->step_ms);
    }
    tail(play);
    judge(play);
}

static mcds_log_options options_of(uint64_t retention_ms, uint32_t late_ms, uint64_t chunk_ms)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    options.retention_ms = retention_ms;
    options.late_ms = late_ms;
    options.chunk_ms = chunk_ms;
    return options;
}

static void a_reader_of_every_second_sees_each_once(void **state)
{
    (void)state;
    static struct play play;
    static const struct {
        uint64_t retention_ms;
        uint32_t late_ms;
        uint64_t chunk_ms;
    } rows[] = {
        {1000, 0, 0},           {2000, 0, 0},
        {5000, 1, 7001},        {10000, 0, 0},
        {30000, 1000, 5000},    {45000, 333, 12345},
        {60000, 0, 0},          {90000, 0, 10000},
        {120000, 0, 0},         {120000, 120000, 20011},
        {200000, 7777, 0},      {300000, 0, 50000},
        {3600000, 0, 0},        {86400000, 60000, 0},
        {86400000, 0, 7200000}, {2592000000, 3600000, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        mcds_log_options options = options_of(rows[i].retention_ms, rows[i].late_ms,
                                              rows[i].chunk_ms);
        open_play(&play, i + 1, &options);
        follow(&play, 0, 1);
        assert_int_equal(play.info.gaps, 0);
        close_play(&play);
    }
}

/* Random settings: late and chunk may be the default, or any number that is allowed. */
static mcds_log_options draw_options(uint64_t *random)
{
    static const uint64_t most_ms[] = {20000, 20000, 200000, 200000, 86400000, 2592000000};
    uint64_t retention_ms = 1000 + dice_roll(random, most_ms[dice_roll(random, 6)]);
    uint64_t late_max_ms = retention_ms < 90000 ? retention_ms : 90000;
    uint32_t late_ms = 1 + (uint32_t)dice_roll(random, late_max_ms);
    bool is_default = dice_roll(random, 3) == 0;
    uint64_t least_ms = (late_ms + 45000) / 13 + 1;
    uint64_t chunk_ms = least_ms + dice_roll(random, 30000);
    return options_of(retention_ms, is_default ? 0 : late_ms,
                      retention_ms > DRAWN_CHUNK_MS || dice_roll(random, 3) == 0 ? 0
                      : chunk_ms < 10000                                         ? 10000
                                                                                 : chunk_ms);
}

static void a_reader_that_pauses_sees_each_once(void **state)
{
    (void)state;
    static struct play play;
    unsigned plays = field_rounds(400);
    uint64_t with_gaps = 0;
    for (uint64_t seed = 1; seed <= plays; seed++) {
        uint64_t random = seed;
        mcds_log_options options = draw_options(&random);
        open_play(&play, seed, &options);
        bool is_short = dice_roll(&random, 2) == 0;
        follow(&play, (uint32_t)dice_roll(&random, 30),
               (int64_t)(is_short ? options.retention_ms : 2 * options.retention_ms + 200000));
        with_gaps += play.info.gaps > 0;
        close_play(&play);
    }
    assert_true(plays < 400 || with_gaps > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_of_every_second_sees_each_once),
        cmocka_unit_test(a_reader_that_pauses_sees_each_once),
    };
    return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
