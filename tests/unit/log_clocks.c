/* Writers of a log whose clocks are slow or fast, in virtual time: each event is fetched, and
 * followed once, as soon as it was put. And clocks that are set back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/dice.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define MINUTE_MS INT64_C(60000)
#define EVENTS 200
/* With the default settings. */
#define APART_MS (70 * MINUTE_MS)

struct machine {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_log *log;
};

struct reader {
    uint32_t seen[EVENTS];
    mcds_log_cursor cursor;
    mcds_log_info info;
};

struct world {
    struct machine reading;
    struct machine right; /* a writer whose clock is the readers' */
    struct machine wrong;
    struct reader early; /* a follower from the beginning of time on */
    struct reader late;  /* one that begins when events are there */
    uint32_t events;
};

/* `first` has the store; NULL: this one. */
static void open_machine(struct machine *machine, const struct machine *first, uint64_t seed,
                         int64_t apart_ms)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&machine->fake, seed);
    machine->fake.wall_ns += apart_ms * 1000000;
    options.env = &machine->fake.env;
    OK(first == NULL ? hooked_backend_open(&machine->backend, &options, &machine->store)
                     : hooked_backend_open_beside(&machine->backend, &first->backend, &options,
                                                  &machine->store));
    OK(mcds_log_open(machine->store, "log", NULL, &machine->log));
}

static void close_machine(struct machine *machine)
{
    mcds_log_close(machine->log);
    mcds_close(machine->store);
    assert_int_equal(machine->fake.blocks, 0);
}

static bool see(void *context, const mcds_log_event *event)
{
    uint32_t *seen = context;
    uint32_t number;
    assert_int_equal(event->event.length, sizeof number);
    memcpy(&number, event->event.data, sizeof number);
    assert_in_range(number, 0, EVENTS - 1);
    seen[number]++;
    return true;
}

static void put(struct world *world, struct machine *writer)
{
    uint32_t number = world->events++;
    assert_in_range(number, 0, EVENTS - 1);
    OK(mcds_log_put(writer->log, 0, (mcds_bytes){&number, sizeof number}));
}

static void pass_ms(struct world *world, int64_t ms)
{
    fake_env_advance_ms(&world->reading.fake, ms);
    fake_env_advance_ms(&world->right.fake, ms);
    fake_env_advance_ms(&world->wrong.fake, ms);
}

static void follow(struct world *world, struct reader *reader, uint32_t from, int64_t apart_ms)
{
    OK(mcds_log_tail(world->reading.log, &reader->cursor, see, reader->seen, &reader->info));
    assert_int_equal(reader->info.gaps, 0);
    for (uint32_t i = 0; i < world->events; i++)
        if (reader->seen[i] != (i >= from))
            fail_msg("apart %lld ms, event %u: followed %u times", (long long)apart_ms, i,
                     reader->seen[i]);
}

static void fetch(struct world *world, bool newest_first, int64_t apart_ms)
{
    uint32_t seen[EVENTS] = {0};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    range.newest_first = newest_first;
    OK(mcds_log_scan(world->reading.log, &range, see, seen, &info));
    assert_int_equal(info.gaps, 0);
    for (uint32_t i = 0; i < world->events; i++)
        if (seen[i] != 1)
            fail_msg("apart %lld ms, event %u: fetched %u times", (long long)apart_ms, i,
                     seen[i]);
}

static void play(int64_t apart_ms, uint64_t seed)
{
    static struct world world;
    uint64_t dice = seed;
    uint32_t from = 4;
    memset(&world, 0, sizeof world);
    world.early.cursor.from_ms = 1;
    open_machine(&world.reading, NULL, 3 * seed + 1, 0);
    open_machine(&world.right, &world.reading, 3 * seed + 2, 0);
    open_machine(&world.wrong, &world.reading, 3 * seed + 3, apart_ms);
    put(&world, &world.right);
    put(&world, &world.wrong);
    follow(&world, &world.early, 0, apart_ms);
    put(&world, &world.right);
    put(&world, &world.wrong);
    OK(mcds_log_tail(world.reading.log, &world.late.cursor, see, world.late.seen, NULL));
    for (int i = 0; i < 40; i++) {
        put(&world, dice_roll(&dice, 2) == 0 ? &world.right : &world.wrong);
        if (dice_roll(&dice, 2) == 0)
            follow(&world, &world.early, 0, apart_ms);
        if (dice_roll(&dice, 2) == 0)
            follow(&world, &world.late, from, apart_ms);
        fetch(&world, i % 2 == 1, apart_ms);
        pass_ms(&world, (int64_t)dice_roll(&dice, (uint32_t)(4 * MINUTE_MS)));
    }
    follow(&world, &world.early, 0, apart_ms);
    follow(&world, &world.late, from, apart_ms);
    OK(mcds_log_drop(world.reading.log));
    close_machine(&world.right);
    close_machine(&world.wrong);
    close_machine(&world.reading);
}

static void a_writer_behind_is_read(void **state)
{
    (void)state;
    play(-60 * MINUTE_MS, 1);
    for (uint64_t seed = 2; seed < 40; seed++) {
        uint64_t dice = seed;
        play(-(int64_t)dice_roll(&dice, (uint32_t)APART_MS), seed);
    }
}

static void a_writer_ahead_is_read(void **state)
{
    (void)state;
    play(60 * MINUTE_MS, 1);
    for (uint64_t seed = 2; seed < 40; seed++) {
        uint64_t dice = seed;
        play((int64_t)dice_roll(&dice, (uint32_t)APART_MS), seed);
    }
}

/* A clock that is set back: the clock that was right or one that was ahead, of the follower or of a
 * writer. */
struct setting {
    const mcds_log_options *options;
    bool was_ahead;
    bool is_reader;
    int64_t step_ms;
    bool is_allowed; /* by R */
};

static void open_logs(struct world *world, const mcds_log_options *options)
{
    struct machine *machines[] = {&world->reading, &world->right, &world->wrong};
    for (size_t i = 0; i < 3; i++) {
        mcds_log_close(machines[i]->log);
        OK(mcds_log_open(machines[i]->store, "log", options, &machines[i]->log));
    }
}

static void put_and_follow(struct world *world, uint64_t *dice, bool by_wrong[EVENTS],
                           uint32_t count, uint64_t rest_ms)
{
    for (uint32_t i = 0; i < count; i++) {
        by_wrong[world->events] = dice_roll(dice, 2) == 0;
        put(world, by_wrong[world->events] ? &world->wrong : &world->right);
        OK(mcds_log_tail(world->reading.log, &world->early.cursor, see, world->early.seen,
                         &world->early.info));
        pass_ms(world, (int64_t)dice_roll(dice, rest_ms));
    }
}

/* A follower sees each event once, or counts a gap; without a gap where R allows for the step. Only
 * events of a writer whose clock differs by more are passed in silence, and a scan has them. */
static void judge_step(const struct world *world, const struct setting *setting,
                       const uint32_t fetched[EVENTS], const bool by_wrong[EVENTS])
{
    uint64_t gaps = world->early.info.gaps;
    for (uint32_t i = 0; i < world->events; i++) {
        uint32_t seen = world->early.seen[i];
        bool may_miss = gaps > 0 ||
                        (!setting->is_allowed && !setting->is_reader && by_wrong[i]);
        if (fetched[i] != 1 || (seen > 1 && gaps == 0) || (seen == 0 && !may_miss))
            fail_msg("%lld ms, reader %d, ahead %d: event %u, followed %u times, fetched %u",
                     (long long)setting->step_ms, setting->is_reader, setting->was_ahead, i,
                     seen, fetched[i]);
    }
    if (setting->is_allowed || !setting->is_reader)
        assert_int_equal(gaps, 0);
}

static void set_back(const struct setting *setting, uint64_t seed)
{
    static struct world world;
    static bool by_wrong[EVENTS];
    uint64_t dice = seed;
    uint32_t fetched[EVENTS] = {0};
    int64_t ahead_ms = setting->was_ahead ? setting->step_ms : 0;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    memset(&world, 0, sizeof world);
    open_machine(&world.reading, NULL, 3 * seed + 1, setting->is_reader ? ahead_ms : 0);
    open_machine(&world.right, &world.reading, 3 * seed + 2, 0);
    open_machine(&world.wrong, &world.reading, 3 * seed + 3, setting->is_reader ? 0 : ahead_ms);
    open_logs(&world, setting->options);
    world.early.cursor.from_ms = 1;
    put_and_follow(&world, &dice, by_wrong, 30, 20000);
    struct machine *machine = setting->is_reader ? &world.reading : &world.wrong;
    machine->fake.wall_ns -= setting->step_ms * 1000000;
    put_and_follow(&world, &dice, by_wrong, 60, 20000);
    for (int64_t left_ms = setting->step_ms + MINUTE_MS; left_ms > 0; left_ms -= 10000) {
        pass_ms(&world, 10000);
        OK(mcds_log_tail(world.reading.log, &world.early.cursor, see, world.early.seen,
                         &world.early.info));
    }
    OK(mcds_log_scan(world.right.log, NULL, see, fetched, &info));
    assert_int_equal(info.gaps, 0);
    judge_step(&world, setting, fetched, by_wrong);
    close_machine(&world.right);
    close_machine(&world.wrong);
    close_machine(&world.reading);
}

/* Chunks of 15 s: R is 3 chunks, 45 s. */
static const mcds_log_options short_chunks = {
    .size = sizeof short_chunks, .retention_ms = 3 * 3600000, .chunk_ms = 15000};

static void try_steps(bool is_reader)
{
    const int64_t steps_ms[] = {MINUTE_MS / 2, MINUTE_MS, 60 * MINUTE_MS};
    for (uint64_t seed = 1; seed < 7; seed++)
        for (uint32_t i = 0; i < 12; i++) {
            struct setting setting = {
                .options = i % 2 == 0 ? NULL : &short_chunks,
                .was_ahead = i / 2 % 2 == 1,
                .is_reader = is_reader,
                .step_ms = steps_ms[i / 4],
                .is_allowed = i % 2 == 0 || steps_ms[i / 4] < 45000,
            };
            set_back(&setting, seed);
        }
}

static void a_follower_is_set_back(void **state)
{
    (void)state;
    try_steps(true);
}

static void a_writer_is_set_back(void **state)
{
    (void)state;
    try_steps(false);
}

/* A board without a battery begins before 1970. */
static void a_clock_before_1970_puts_nothing(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine, NULL, 1, 0);
    machine.fake.wall_ns = -INT64_C(3600) * 1000000000;
    assert_int_equal(mcds_log_put(machine.log, 0, (mcds_bytes){"event", 5}), MCDS_TOO_OLD);
    assert_string_equal(mcds_errmsg(),
                        "log 'log': put: this machine's clock is before 1970: set it");
    machine.fake.wall_ns = INT64_C(1700000000) * 1000000000;
    OK(mcds_log_put(machine.log, 0, (mcds_bytes){"event", 5}));
    close_machine(&machine);
}

static bool set_back_after_append(void *context, mcds_request *request)
{
    struct machine *machine = context;
    if (request->command == MCDS_APPEND || request->command == MCDS_ADD)
        machine->fake.wall_ns -= INT64_C(3000) * 1000000;
    return false;
}

struct order {
    uint32_t next;
    int64_t filed_ms;
};

static bool see_in_order(void *context, const mcds_log_event *event)
{
    struct order *order = context;
    assert_int_equal(((const uint8_t *)event->event.data)[0], order->next++);
    assert_true(event->filed_ms >= order->filed_ms);
    order->filed_ms = event->filed_ms;
    return true;
}

/* Without that, later round trips would file their events in earlier chunks. */
static void a_clock_set_back_keeps_the_order_of_a_call(void **state)
{
    struct machine machine;
    struct order order = {0, 0};
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    static uint8_t rooms[40][1000];
    mcds_bytes events[40];
    size_t put = 0;
    (void)state;
    options.retention_ms = 3600000;
    options.chunk_ms = 12400;
    options.late_ms = options.ahead_ms = (uint32_t)MINUTE_MS;
    for (uint8_t i = 0; i < 40; i++) {
        rooms[i][0] = i;
        events[i] = (mcds_bytes){rooms[i], sizeof rooms[i]};
    }
    open_machine(&machine, NULL, 1, 0);
    mcds_log_close(machine.log);
    OK(mcds_log_open(machine.store, "log", &options, &machine.log));
    machine.backend.hook = set_back_after_append;
    machine.backend.context = &machine;
    OK(mcds_log_put_many(machine.log, 0, events, 40, &put));
    assert_int_equal(put, 40);
    machine.backend.hook = NULL;
    fake_env_advance_ms(&machine.fake, 600000);
    OK(mcds_log_scan(machine.log, NULL, see_in_order, &order, NULL));
    close_machine(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_set_back_keeps_the_order_of_a_call),
        cmocka_unit_test(a_clock_before_1970_puts_nothing),
        cmocka_unit_test(a_writer_behind_is_read),
        cmocka_unit_test(a_writer_ahead_is_read),
        cmocka_unit_test(a_follower_is_set_back),
        cmocka_unit_test(a_writer_is_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
