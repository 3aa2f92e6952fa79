/* A take on a token bucket: its bound for any clocks, its retry time, several rates, rates that
 * change; and the recipes that programs use instead, under the same arrivals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "core/map/bucket/take.h"
#include "support/dice.h"

#define START_MS INT64_C(1700000000000)
#define ARRIVALS_MAX 30000
#define COUNT 100
#define WINDOW_MS 60000
#define BURST 20

static struct mcds__take take_of(int64_t tokens, uint64_t count, uint64_t per_ms,
                                 uint64_t burst)
{
    uint64_t interval = (per_ms * NS_PER_MS + count - 1) / count;
    return (struct mcds__take){
        .tokens = tokens, .rate_count = 1, .rates = {{interval, burst * interval}}};
}

static enum mcds__map_code decide(const struct mcds__take *take, int64_t own_ms,
                                  struct mcds__take_entry *entry)
{
    int64_t number;
    return mcds__take_decide(take, own_ms, entry, &number);
}

/* What passed, by true time, and the most of it in any window. */
struct passed {
    int64_t at_ms[ARRIVALS_MAX];
    uint32_t count;
};

static uint32_t most_in_a_window(const struct passed *passed, int64_t window_ms)
{
    uint32_t most = 0;
    for (uint32_t first = 0, next = 0; next < passed->count; next++) {
        while (passed->at_ms[first] <= passed->at_ms[next] - window_ms)
            first++;
        if (next - first + 1 > most)
            most = next - first + 1;
    }
    return most;
}

/* Arrivals in milliseconds of true time, in order. */
enum arrivals { FLOOD, EDGES, LATE_BURST, RANDOM, ARRIVALS };

static int64_t arrival(enum arrivals kind, uint32_t i, uint64_t *dice)
{
    switch (kind) {
    case FLOOD:
        return (int64_t)i * 10;
    case EDGES: /* around the ends of four windows */
        return (int64_t)(i / 500 + 1) * WINDOW_MS - 500 + (int64_t)(i % 500) * 2;
    case LATE_BURST: /* at the end of a window, then as the weight of that decays */
        return i < 200 ? WINDOW_MS - 100 + i / 2 : WINDOW_MS + (int64_t)(i - 200) * 50;
    default:
        return (int64_t)i * 300 + (int64_t)dice_roll(dice, 300);
    }
}

static uint32_t arrivals_of(enum arrivals kind)
{
    return kind == FLOOD ? ARRIVALS_MAX : kind == LATE_BURST ? 1400 : 2000;
}

typedef bool recipe(int64_t at_ms, void *state);

static uint32_t most_of(recipe *passes, void *state, size_t size, enum arrivals kind)
{
    static struct passed passed;
    uint64_t dice = 7;
    memset(state, 0, size);
    passed.count = 0;
    for (uint32_t i = 0; i < arrivals_of(kind); i++) {
        int64_t at_ms = arrival(kind, i, &dice);
        if (passes(at_ms, state))
            passed.at_ms[passed.count++] = at_ms;
    }
    return most_in_a_window(&passed, WINDOW_MS);
}

struct windows {
    int64_t number;
    uint32_t current, previous;
};

static void move_to(struct windows *windows, int64_t number)
{
    if (number == windows->number)
        return;
    windows->previous = number == windows->number + 1 ? windows->current : 0;
    windows->current = 0;
    windows->number = number;
}

/* R3: a counter for each minute. */
static bool fixed_window(int64_t at_ms, void *state)
{
    struct windows *windows = state;
    move_to(windows, at_ms / WINDOW_MS);
    return windows->current < COUNT && windows->current++ < COUNT;
}

/* R8: previous * (1 - part) + current. */
static bool weighted_window(int64_t at_ms, void *state)
{
    struct windows *windows = state;
    move_to(windows, at_ms / WINDOW_MS);
    double part = (double)(at_ms % WINDOW_MS) / WINDOW_MS;
    if (windows->previous * (1 - part) + windows->current + 1 > COUNT)
        return false;
    windows->current++;
    return true;
}

struct bucket_state {
    struct mcds__take_entry entry;
    uint64_t dice;
    int64_t skew_ms;
};

static bool bucket(int64_t at_ms, void *state)
{
    struct bucket_state *own = state;
    int64_t skew = own->skew_ms == 0
                       ? 0
                       : (int64_t)dice_roll(&own->dice, 2 * (uint64_t)own->skew_ms + 1) -
                             own->skew_ms;
    struct mcds__take take = take_of(1, COUNT, WINDOW_MS, BURST);
    return decide(&take, START_MS + at_ms + skew, &own->entry) == MCDS__MAP_CHANGED;
}

static bool skewed_bucket(int64_t at_ms, void *state)
{
    struct bucket_state *own = state;
    own->skew_ms = 2500;
    return bucket(at_ms, state);
}

/* R11: a record of a slow clock pulls the time of the entry back. */
static bool pulled_bucket(int64_t at_ms, void *state)
{
    struct bucket_state *own = state;
    int64_t own_ms = START_MS + at_ms;
    own->skew_ms++;
    if (own->skew_ms % 2 == 0)
        own_ms -= 2500;
    if (own->entry.rate_count > 0 && own->entry.time_ns > own_ms * NS_PER_MS) {
        own->entry.rates[0].full_ns -= own->entry.time_ns - own_ms * NS_PER_MS;
        own->entry.time_ns = own_ms * NS_PER_MS;
    }
    struct mcds__take take = take_of(1, COUNT, WINDOW_MS, BURST);
    return decide(&take, own_ms, &own->entry) == MCDS__MAP_CHANGED;
}

/* R3, R8. */
static void windows_let_twice_as_many_pass(void **state)
{
    (void)state;
    struct windows windows;
    assert_true(most_of(fixed_window, &windows, sizeof windows, EDGES) == 2 * COUNT);
    assert_true(most_of(weighted_window, &windows, sizeof windows, LATE_BURST) >
                COUNT * 19 / 10);
}

static void a_bucket_keeps_its_bound(void **state)
{
    (void)state;
    struct bucket_state bucket_state;
    uint32_t skewed = BURST + COUNT * (WINDOW_MS + 5000) / WINDOW_MS;
    for (enum arrivals kind = FLOOD; kind < ARRIVALS; kind++) {
        assert_true(most_of(bucket, &bucket_state, sizeof bucket_state, kind) <= BURST + COUNT);
        assert_true(most_of(skewed_bucket, &bucket_state, sizeof bucket_state, kind) <= skewed);
    }
    assert_true(most_of(bucket, &bucket_state, sizeof bucket_state, FLOOD) >=
                BURST + COUNT - 2);
}

/* R11. */
static void time_that_may_fall_refills_twice(void **state)
{
    (void)state;
    struct bucket_state bucket_state;
    uint32_t bound = BURST + COUNT * (WINDOW_MS + 5000) / WINDOW_MS;
    assert_true(most_of(pulled_bucket, &bucket_state, sizeof bucket_state, FLOOD) > 2 * bound);
}

/* A bucket in some state, after takes by clocks that differ. */
static void fill_at_random(const struct mcds__take *like, uint64_t *dice, int64_t *now_ms,
                           struct mcds__take_entry *entry)
{
    *entry = (struct mcds__take_entry){0};
    for (uint64_t i = dice_roll(dice, 40); i > 0; i--) {
        struct mcds__take take = *like;
        take.tokens = 1 + (int64_t)dice_roll(dice, 3);
        if (dice_roll(dice, 6) == 0)
            take.tokens = -take.tokens;
        *now_ms += (int64_t)dice_roll(dice, 900);
        (void)decide(&take, *now_ms + (int64_t)dice_roll(dice, 2000), entry);
    }
}

static void random_rates(struct mcds__take *take, uint64_t *dice)
{
    take->rate_count = 1 + (uint32_t)dice_roll(dice, MCDS__TAKE_RATES_MAX);
    take->patience_ns = dice_roll(dice, 2) * dice_roll(dice, 5000) * NS_PER_MS;
    for (uint32_t i = 0; i < take->rate_count; i++) {
        take->rates[i].interval_ns = 1 + dice_roll(dice, 700000000);
        take->rates[i].burst_ns = take->rates[i].interval_ns * (4 + dice_roll(dice, 20));
    }
}

/* G-LIMIT-3: a refused take passes after its retry time and not 1 ms before, also where the rates
 * have changed since the last take. */
static void retry_times_are_exact(void **state)
{
    (void)state;
    uint64_t dice = 3;
    uint32_t refused = 0;
    for (int round = 0; round < 20000; round++) {
        struct mcds__take take = {0};
        struct mcds__take_entry entry;
        int64_t now_ms = START_MS;
        int64_t number = 0;
        random_rates(&take, &dice);
        fill_at_random(&take, &dice, &now_ms, &entry);
        if (dice_roll(&dice, 3) == 0)
            random_rates(&take, &dice);
        take.tokens = 1 + (int64_t)dice_roll(&dice, 4);
        struct mcds__take_entry before = entry;
        if (mcds__take_decide(&take, now_ms, &entry, &number) != MCDS__MAP_REFUSED)
            continue;
        assert_memory_equal(&entry, &before, sizeof entry); /* a refusal is free */
        assert_true(number > 0 && number < MCDS__TAKE_NEVER);
        int64_t retry_ms = (number + NS_PER_MS - 1) / NS_PER_MS;
        assert_int_equal(decide(&take, now_ms + retry_ms - 1, &entry), MCDS__MAP_REFUSED);
        assert_int_equal(decide(&take, now_ms + retry_ms, &entry), MCDS__MAP_CHANGED);
        refused++;
    }
    assert_true(refused > 2000);
}

/* A take with patience passes without it after its delay, where nobody else takes. */
static void delays_are_exact(void **state)
{
    (void)state;
    uint64_t dice = 5;
    uint32_t delayed = 0;
    for (int round = 0; round < 20000; round++) {
        struct mcds__take take = {0};
        struct mcds__take_entry entry;
        int64_t now_ms = START_MS;
        int64_t number = 0;
        random_rates(&take, &dice);
        fill_at_random(&take, &dice, &now_ms, &entry);
        take.tokens = 1;
        take.patience_ns = 20 * UINT64_C(1000000000);
        struct mcds__take_entry impatient = entry;
        if (mcds__take_decide(&take, now_ms, &entry, &number) != MCDS__MAP_CHANGED ||
            number >= 0)
            continue;
        take.patience_ns = 0;
        int64_t delay_ms = (-number + NS_PER_MS - 1) / NS_PER_MS;
        assert_int_equal(decide(&take, now_ms + delay_ms - 1, &impatient), MCDS__MAP_REFUSED);
        assert_int_equal(decide(&take, now_ms + delay_ms, &impatient), MCDS__MAP_CHANGED);
        delayed++;
    }
    assert_true(delayed > 1000);
}

/* G-LIMIT-4: the number of tokens left is that of the smallest rate, and a refusal by one rate
 * leaves the others unchanged. */
static void the_tokens_left_can_be_taken(void **state)
{
    (void)state;
    uint64_t dice = 11;
    for (int round = 0; round < 20000; round++) {
        struct mcds__take take = {0};
        struct mcds__take_entry entry;
        int64_t now_ms = START_MS;
        int64_t left = 0;
        random_rates(&take, &dice);
        take.patience_ns = 0;
        fill_at_random(&take, &dice, &now_ms, &entry);
        take.tokens = 1;
        if (mcds__take_decide(&take, now_ms, &entry, &left) != MCDS__MAP_CHANGED)
            continue;
        struct mcds__take_entry before = entry;
        take.tokens = left + 1;
        assert_int_equal(decide(&take, now_ms, &entry), MCDS__MAP_REFUSED);
        assert_memory_equal(&entry, &before, sizeof entry);
        take.tokens = left;
        if (left > 0)
            assert_int_equal(decide(&take, now_ms, &entry), MCDS__MAP_CHANGED);
    }
}

static void high_rates_are_exact(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 3, 7, 999, 300000, 1000000, 999999999};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct mcds__take_entry entry = {0};
        struct mcds__take take = take_of((int64_t)counts[i], counts[i], 1000, counts[i]);
        assert_int_equal(decide(&take, START_MS, &entry), MCDS__MAP_CHANGED);
        int64_t full_ns = mcds__take_full_ns(&entry) - START_MS * NS_PER_MS;
        assert_true(full_ns >= 1000 * NS_PER_MS); /* never faster than asked */
        assert_true(full_ns < 1000 * NS_PER_MS + (int64_t)counts[i]);
    }
}

/* The debt of a rate that has changed, in time of the new one, and the time until it is small
 * enough: from an hour to two and back, from a day to a second, of months. The products have more
 * than 64 bits. */
static void long_debts_change_their_rate_exactly(void **state)
{
    static const struct {
        int64_t old_ns, new_ns, debt_ns; /* debt_ns: (7 * old_ns - 1) * new_ns / old_ns, up */
    } cases[] = {{3599999999971, 7200000000089, 50400000000621},
                 {7200000000089, 3599999999971, 25199999999797},
                 {86399999999999, 1000000007, 7000000049},
                 {40000000000000003, 30000000000000001, 210000000000000007},
                 {30000000000000001, 40000000000000003, 280000000000000020}};
    const int64_t at_ns = START_MS * NS_PER_MS;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t old_ns = cases[i].old_ns;
        int64_t new_ns = cases[i].new_ns;
        int64_t debt_ns = 7 * old_ns - 1;
        int64_t wait_ns = 0;
        struct mcds__take_entry entry = {
            .time_ns = at_ns, .rate_count = 1, .rates = {{(uint64_t)old_ns, at_ns + debt_ns}}};
        struct mcds__take take = {.tokens = 1,
                                  .rate_count = 1,
                                  .rates = {{(uint64_t)new_ns, 3 * (uint64_t)new_ns - 1}}};
        assert_int_equal(mcds__take_decide(&take, START_MS, &entry, &wait_ns),
                         MCDS__MAP_REFUSED);
        assert_int_equal(wait_ns, debt_ns - (2 * old_ns - (old_ns + new_ns - 1) / new_ns));
        take.tokens = -1;
        assert_int_equal(decide(&take, START_MS, &entry), MCDS__MAP_CHANGED);
        assert_int_equal(mcds__take_full_ns(&entry) - at_ns, cases[i].debt_ns - new_ns);
    }
}

/* The decision of a stranger's record and entry stays within its bounds. */
static void what_is_out_of_range_changes_nothing(void **state)
{
    (void)state;
    struct mcds__take take = take_of(INT64_MAX, 1, 366 * INT64_C(86400000), 1);
    struct mcds__take_entry entry = {0};
    int64_t number = 0;
    assert_int_equal(mcds__take_decide(&take, START_MS, &entry, &number), MCDS__MAP_REFUSED);
    assert_true(number == MCDS__TAKE_NEVER);
    take.tokens = -INT64_MAX;
    assert_int_equal(decide(&take, START_MS, &entry), MCDS__MAP_ABSENT);
    take = take_of(1, 1, 1000, 1);
    entry = (struct mcds__take_entry){
        .rate_count = 1,
        .time_ns = MCDS__TAKE_TIME_MS_MAX * NS_PER_MS,
        .rates = {{MCDS__TAKE_NS_MAX,
                   MCDS__TAKE_TIME_MS_MAX * NS_PER_MS + 2 * (int64_t)MCDS__TAKE_NS_MAX}}};
    assert_int_equal(decide(&take, MCDS__TAKE_TIME_MS_MAX, &entry), MCDS__MAP_REFUSED);
    take.tokens = -1;
    assert_int_equal(decide(&take, MCDS__TAKE_TIME_MS_MAX, &entry), MCDS__MAP_CHANGED);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(windows_let_twice_as_many_pass),
    cmocka_unit_test(a_bucket_keeps_its_bound),
    cmocka_unit_test(time_that_may_fall_refills_twice),
    cmocka_unit_test(retry_times_are_exact),
    cmocka_unit_test(delays_are_exact),
    cmocka_unit_test(the_tokens_left_can_be_taken),
    cmocka_unit_test(high_rates_are_exact),
    cmocka_unit_test(long_debts_change_their_rate_exactly),
    cmocka_unit_test(what_is_out_of_range_changes_nothing),
};

int main(void)
{
    return cmocka_run_group_tests_name("take", tests, NULL, NULL);
}
