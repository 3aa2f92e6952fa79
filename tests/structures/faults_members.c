/* Faults: the scenarios of visitors and online that keep their members. */
#include "base/hash/siphash.h"
#include "structures/faults.h"
#include "structures/intervals.h"

#define MINUTE 60000
/* The beginning of a period of a minute. */
#define A_MS (T0_MS / MINUTE * MINUTE)
#define BUCKETS 2
/* Names are so long that some of them split a key. */
#define NAME_LENGTH 120
#define DEEP 24

static uint32_t members;
/* The registers that a name has, in visitors and in online. */
static bool taken[2][MCDS__HLL_REGISTERS];
static char ann[NAME_LENGTH + 1], bob[NAME_LENGTH + 1], cat[NAME_LENGTH + 1];

/* False: another name has one of its registers. */
static bool take_registers(const struct trial *trial, const char *name)
{
    const void *both[2] = {trial->visitors, trial->online};
    uint32_t at[2];
    for (int i = 0; i < 2; i++) {
        const struct mcds__settings *settings =
            &((const struct mcds__intervals *)both[i])->settings;
        uint64_t key[2] = {settings->hash_key[0], settings->hash_key[1]};
        uint8_t rank;
        at[i] = mcds__hll_register(mcds__siphash(key, mcds_text(name)), &rank);
    }
    if (taken[0][at[0]] || taken[1][at[1]])
        return false;
    return taken[0][at[0]] = taken[1][at[1]] = true;
}

/* A long name whose registers no other has, so that the estimate counts it. */
static const char *name_of(const struct trial *trial, const char *word,
                           char name[NAME_LENGTH + 1])
{
    int number = 0;
    do {
        int length = snprintf(name, NAME_LENGTH + 1, "%s %d ", word, number++);
        memset(name + length, '.', (size_t)(NAME_LENGTH - length));
        name[NAME_LENGTH] = '\0';
    } while (!take_registers(trial, name));
    return name;
}

static mcds_visitors *open_visitors(struct trial *trial)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = MINUTE;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(trial->store, trial->name, &options, &visitors));
    return visitors;
}

static mcds_online *open_online(struct trial *trial)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.buckets = BUCKETS;
    options.width_ms = MINUTE;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_online_open(trial->store, trial->name, &options, &online));
    return online;
}

static void prepare_none(struct trial *trial)
{
    trial->visitors = open_visitors(trial);
    trial->online = open_online(trial);
    trial->is_new = true;
    memset(taken, 0, sizeof taken);
    (void)name_of(trial, "ann", ann);
    (void)name_of(trial, "bob", bob);
    (void)name_of(trial, "cat", cat);
}

static void come(struct trial *trial, const char *name, int64_t at_ms)
{
    CHECK_RESULT(MCDS_OK, mcds_visitors_hit(trial->visitors, name, at_ms));
    CHECK_RESULT(MCDS_OK, mcds_online_beat(trial->online, name, at_ms));
}

/* One in the last period, two in this one. */
static void prepare_few(struct trial *trial)
{
    prepare_none(trial);
    trial->is_new = false;
    come(trial, ann, A_MS - 1);
    come(trial, ann, A_MS);
    come(trial, bob, A_MS);
    trial->before = 2;
}

/* The handles that are tried know nothing yet. */
static void prepare_cold(struct trial *trial)
{
    prepare_few(trial);
    mcds_visitors_close(trial->visitors);
    mcds_online_close(trial->online);
    trial->visitors = open_visitors(trial);
    trial->online = open_online(trial);
}

static void prepare_deep(struct trial *trial)
{
    char name[NAME_LENGTH + 1];
    prepare_few(trial);
    for (; trial->before < DEEP; trial->before++)
        come(trial, name_of(trial, "#", name), A_MS);
}

static void tell(char *state, uint64_t closed, uint64_t current)
{
    (void)snprintf(state, STATE_MAX, "%llu, then %llu", (unsigned long long)closed,
                   (unsigned long long)current);
}

/* As another handle sees it. */
static void read_visitors(struct trial *trial, char *state)
{
    mcds_visitors *probe = open_visitors(trial);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    HOLDS(trial, mcds_visitors_get(probe, A_MS, &value) == MCDS_OK);
    mcds_visitors_close(probe);
    tell(state, value.closed, value.current);
}

/* A visitor in both is counted in one bucket of the window. */
static void read_online(struct trial *trial, char *state)
{
    mcds_online *probe = open_online(trial);
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    HOLDS(trial, mcds_online_get(probe, A_MS + MINUTE, &value) == MCDS_OK);
    mcds_online_close(probe);
    tell(state, 0, value.closed);
}

static int act_hit(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_hit, trial->visitors, cat,
                   A_MS);
}

static int act_beat(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_online_beat, trial->online, cat, A_MS);
}

/* The first call counts, and no other. */
static void expect_one_more(const struct trial *trial, uint32_t calls,
                            struct expected *expected)
{
    expected->result = calls < 2 ? MCDS_OK : MCDS_EXISTS;
    tell(expected->state, !trial->is_new, trial->before + (calls > 0));
}

static void expect_one_more_online(const struct trial *trial, uint32_t calls,
                                   struct expected *expected)
{
    expect_one_more(trial, calls, expected);
    tell(expected->state, 0, trial->before + (calls > 0));
}

static void judge_hit(struct trial *trial, int result)
{
    judge_change(trial, result, expect_one_more, read_visitors);
}

static void judge_beat(struct trial *trial, int result)
{
    judge_change(trial, result, expect_one_more_online, read_online);
}

static int act_hit_known(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_hit, trial->visitors, ann,
                   A_MS);
}

static void expect_no_more(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)calls;
    expected->result = MCDS_EXISTS;
    tell(expected->state, 1, trial->before);
}

static void judge_hit_known(struct trial *trial, int result)
{
    judge_change(trial, result, expect_no_more, read_visitors);
}

static int act_get(struct trial *trial)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value),
                                 .closed = 77,
                                 .current = 77,
                                 .estimate = 77,
                                 .error = 77,
                                 .provisional = true,
                                 .reborn = true};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_visitors_get, trial->visitors,
                         A_MS, &value);
    HOLDS(trial, result == MCDS_OK ? !value.reborn : value.current == 77);
    tell(trial->seen, value.closed, value.current);
    return result;
}

static void expect_get(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)calls;
    tell(expected->state, !trial->is_new, trial->before);
}

static void judge_get(struct trial *trial, int result)
{
    judge_read(trial, result, expect_get);
}

static int act_count(struct trial *trial)
{
    mcds_online_value value = {.size = sizeof(mcds_online_value),
                               .closed = 77,
                               .current = 77,
                               .estimate = 77,
                               .error = 77,
                               .reborn = true};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_online_get, trial->online,
                         A_MS + MINUTE, &value);
    HOLDS(trial, result == MCDS_OK ? !value.reborn : value.current == 77);
    tell(trial->seen, 0, value.closed);
    return result;
}

static void expect_count(const struct trial *trial, uint32_t calls, struct expected *expected)
{
    (void)calls;
    tell(expected->state, 0, trial->before);
}

static void judge_count(struct trial *trial, int result)
{
    judge_read(trial, result, expect_count);
}

/* After a failure it is called again; then nobody is there, and each visitor is counted. */
static void judge_erasure(struct trial *trial, int result, int (*act)(struct trial *trial),
                          expect_calls_of *expect,
                          void (*read)(struct trial *trial, char *state))
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        judge_state(trial, 0, expect, read);
    int again = act_again(trial);
    HOLDS(trial, again == MCDS_NOT_FOUND || (again == MCDS_OK && result != MCDS_OK));
    trial->is_new = true;
    trial->before = 0;
    judge_state(trial, 0, expect, read);
    HOLDS(trial, act(trial) == MCDS_OK);
    judge_state(trial, 1, expect, read);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_drop, trial->visitors, A_MS);
}

static void judge_drop(struct trial *trial, int result)
{
    judge_erasure(trial, result, act_hit, expect_one_more, read_visitors);
}

static int act_online_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_online_drop, trial->online, A_MS);
}

static void judge_online_drop(struct trial *trial, int result)
{
    judge_erasure(trial, result, act_beat, expect_one_more_online, read_online);
}

static const struct scenario scenarios[] = {
    {"members hit", prepare_few, act_hit, judge_hit},
    {"members hit, the first", prepare_none, act_hit, judge_hit},
    {"members hit, cold", prepare_cold, act_hit, judge_hit},
    {"members hit, deep", prepare_deep, act_hit, judge_hit},
    {"members hit, known", prepare_cold, act_hit_known, judge_hit_known},
    {"members get", prepare_cold, act_get, judge_get},
    {"members get, nobody", prepare_none, act_get, judge_get},
    {"members get, deep", prepare_deep, act_get, judge_get},
    {"members drop", prepare_few, act_drop, judge_drop},
    {"members drop, deep", prepare_deep, act_drop, judge_drop},
    {"members beat", prepare_few, act_beat, judge_beat},
    {"members beat, the first", prepare_none, act_beat, judge_beat},
    {"members count", prepare_cold, act_count, judge_count},
    {"members drop of online", prepare_few, act_online_drop, judge_online_drop},
};

static void try_form(struct suite *suite, uint32_t form)
{
    members = form;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static void exact_member_faults(struct suite *suite)
{
    try_form(suite, MCDS_MEMBERS_EXACT);
}

static void estimated_member_faults(struct suite *suite)
{
    try_form(suite, MCDS_MEMBERS_ESTIMATED);
}

static const struct suite_case cases[] = {
    CASE_TWICE(exact_member_faults),
    CASE_TWICE(estimated_member_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
