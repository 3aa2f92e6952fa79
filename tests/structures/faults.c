/* Faults: runs a scenario. MCDS_FAULTS_STEP=N lets fail only every N-th request and allocation after the
 * first two: for sanitizers, which make a trial slow. */
#include "structures/faults.h"

#include <stdlib.h>

#include "core/map/sequence.h"
#include "support/first_key.h"

#define REQUESTS_MAX 400
#define ALLOCATIONS_MAX 400
/* Of a batch, its requests all. */
#define ALL_MAX 20
/* Nobody waits that long but for a server that is slow. */
#define TIMEOUT_MS 20000
/* Where all answer at once. */
#define TIMEOUT_FAKE_MS 500
/* Longer than a backend waits before it connects again. */
#define PAUSE_MS 1100

static struct {
    const struct scenario *scenario;
    enum fault fault;
    bool refuses; /* memory */
    uint64_t at;
    int result;
    char state[STATE_MAX]; /* as found last */
} running;

bool is_definite(int result)
{
    switch (result) {
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
    case MCDS_FULL:
    case MCDS_IO:
    case MCDS_TOO_BIG:
    case MCDS_PROTOCOL:
        return true;
    case MCDS_NO_MEMORY:
        return running.refuses;
    case MCDS_UNSUPPORTED:
        return running.fault == FAULT_NO_CAS;
    default:
        return false;
    }
}

void holds(const struct trial *trial, bool fact, const char *words, const char *file, int line)
{
    if (fact)
        return;
    print_error("%s, %s %llu %s%s: %s, and not: %s\n", running.scenario->name,
                running.refuses ? "allocation" : "request", (unsigned long long)running.at,
                running.refuses ? "refused" : fault_name(running.fault),
                trial->stays ? " and all later ones" : "", mcds_result_name(running.result),
                words);
    if (running.state[0] != '\0')
        print_error("there is: %s\n", running.state);
    print_error("the last sentence: %s\n", mcds_errmsg());
    _fail(file, line);
}

bool was_lost_once(const struct trial *trial)
{
    return !trial->stays && !running.refuses &&
           (running.fault == FAULT_UNSENT ||
            (running.fault >= FAULT_CUT_BEFORE && running.fault <= FAULT_CUT_BETWEEN));
}

int act_again(struct trial *trial)
{
    trial->out = -1;
    return running.scenario->act(trial);
}

static void read_state(struct trial *trial, void (*read)(struct trial *trial, char *state))
{
    running.state[0] = '\0';
    read(trial, running.state);
}

static bool is_as(const struct expected *expected)
{
    return strcmp(running.state, expected->state) == 0;
}

static bool answers_as(const struct trial *trial, int result, const struct expected *expected)
{
    return result == expected->result && trial->out == expected->out;
}

static void expect_calls(const struct trial *trial, expect_calls_of *expect,
                         struct expected expected[3])
{
    for (uint32_t calls = 0; calls < 3; calls++) {
        expected[calls] = (struct expected){MCDS_OK, -1, ""};
        expect(trial, calls, &expected[calls]);
    }
}

void judge_change(struct trial *trial, int result, expect_calls_of *expect,
                  void (*read)(struct trial *trial, char *state))
{
    struct expected expected[3];
    expect_calls(trial, expect, expected);
    bool done = result == expected[1].result;
    read_state(trial, read);
    HOLDS(trial, done || result == MCDS_AMBIGUOUS || is_definite(result));
    if (done) {
        HOLDS(trial, answers_as(trial, result, &expected[1]));
        HOLDS(trial, is_as(&expected[1]));
    } else if (is_definite(result)) {
        HOLDS(trial, trial->out == -1);
        HOLDS(trial, is_as(&expected[0]));
    }
    HOLDS(trial, is_as(&expected[0]) || is_as(&expected[1]));
    const struct expected *next = is_definite(result) || !is_as(&expected[1]) ? &expected[1]
                                                                              : &expected[2];
    int again = act_again(trial);
    HOLDS(trial, answers_as(trial, again, next));
    read_state(trial, read);
    HOLDS(trial, is_as(next));
}

void judge_state(struct trial *trial, uint32_t calls, expect_calls_of *expect,
                 void (*read)(struct trial *trial, char *state))
{
    struct expected expected = {MCDS_OK, -1, ""};
    expect(trial, calls, &expected);
    read_state(trial, read);
    HOLDS(trial, is_as(&expected));
}

void judge_read(struct trial *trial, int result, expect_calls_of *expect)
{
    struct expected expected[3];
    expect_calls(trial, expect, expected);
    HOLDS(trial, result == expected[1].result || is_definite(result));
    if (result == expected[1].result) {
        HOLDS(trial, answers_as(trial, result, &expected[1]));
        HOLDS(trial, strcmp(trial->seen, expected[1].state) == 0);
    } else {
        HOLDS(trial, trial->out == -1);
    }
    int again = act_again(trial);
    HOLDS(trial, answers_as(trial, again, &expected[1]));
    HOLDS(trial, strcmp(trial->seen, expected[1].state) == 0);
}

static mcds_reply look_at_first(struct trial *trial, const char *tag)
{
    struct raw_key raw = raw_key(trial->suite, tag, trial->name, -1);
    struct mcds__key first = first_key(trial->store, &raw.key);
    mcds_request request = {.command = MCDS_GET,
                            .options = MCDS_NO_VALUE,
                            .key = mcds__key_bytes(&first),
                            .route = mcds__key_bytes(&raw.key)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(trial->store, 0, &batch);
    HOLDS(trial, request.reply.outcome == MCDS_OUT_OK);
    return request.reply;
}

enum mcds__map_state first_state(struct trial *trial, const char *tag)
{
    return mcds__map_state_of(look_at_first(trial, tag).flags);
}

size_t first_size(struct trial *trial, const char *tag)
{
    return look_at_first(trial, tag).value_length;
}

bool first_has_open_number(struct trial *trial, const char *tag)
{
    return mcds__map_is_open_number(look_at_first(trial, tag).cas.unique);
}

bool first_is_ripe(struct trial *trial, const char *tag, size_t more)
{
    mcds_reply root = look_at_first(trial, tag);
    HOLDS(trial, mcds__map_state_of(root.flags) == MCDS__MAP_OPEN);
    const struct mcds__map map = {.store = trial->store};
    return mcds__map_must_rewrite(&map, 0, 0, root.flags, root.value_length + more, 0);
}

/* The store that trials use, one after the other where opening takes its time. */
static struct {
    struct counting_backend counting;
    mcds_store *store;
} fixture;

static void open_store(struct suite *suite)
{
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &suite->fake.env;
    options.timeout_ms = suite->own_clock ? TIMEOUT_MS : TIMEOUT_FAKE_MS;
    fixture_uri_of(suite->fixture, "faults", uri, sizeof uri);
    if (suite->can.durable) /* on the disk or not is not what is tried here */
        (void)snprintf(uri + strlen(uri), sizeof uri - strlen(uri), "?sync=async");
    CHECK_RESULT(MCDS_OK, counting_backend_open(&fixture.counting, uri, &suite->fake.env,
                                                &options, &fixture.store));
}

static void close_store(void)
{
    mcds_close(fixture.store);
    fixture.store = NULL;
}

static void open_trial(struct suite *suite, struct trial *trial)
{
    memset(trial, 0, sizeof *trial);
    if (fixture.store == NULL)
        open_store(suite);
    trial->suite = suite;
    trial->counting = &fixture.counting;
    trial->store = fixture.store;
    trial->lease = trial->other = (mcds_lease)MCDS_LEASE_INIT;
    trial->value = (mcds_value)MCDS_VALUE_INIT;
    trial->out = -1;
    counting_backend_arm(trial->counting, FAULT_NONE, 0, false);
    if (suite->mode != WAITING)
        CHECK_RESULT(MCDS_OK, mcds_pipeline_open(trial->store, NULL, &trial->pipeline));
    trial->name = fresh_name(suite, "fault");
}

static void close_trial(struct trial *trial)
{
    mcds_counter_close(trial->counter);
    mcds_lock_close(trial->lock);
    mcds_lock_close(trial->rival);
    mcds_semaphore_close(trial->semaphore);
    mcds_semaphore_close(trial->other_semaphore);
    mcds_visitors_close(trial->visitors);
    mcds_online_close(trial->online);
    mcds_set_close(trial->set);
    mcds_table_close(trial->table);
    mcds_array_close(trial->array);
    mcds_list_close(trial->list);
    mcds_log_close(trial->log);
    mcds_views_close(trial->views);
    mcds_cache_close(trial->cache);
    mcds_cache_close(trial->probe);
    mcds_value_free(&trial->value);
    mcds_pipeline_close(trial->pipeline);
    if (!trial->suite->own_clock)
        close_store();
}

static void begin(const struct scenario *scenario, enum fault fault, bool refuses, uint64_t at)
{
    running.scenario = scenario;
    running.fault = fault;
    running.refuses = refuses;
    running.at = at;
    running.result = MCDS_IDLE;
    running.state[0] = '\0';
}

/* Returns the number to try next. */
static uint64_t next_after(uint64_t at)
{
    const char *text = getenv("MCDS_FAULTS_STEP");
    unsigned long step = text != NULL ? strtoul(text, NULL, 10) : 1;
    assert_in_range(step, 1, 10);
    return at < 2 ? at + 1 : at + step;
}

/* Returns the number of the request to try next; 0: the call made fewer than `at`. */
static uint64_t try_fault(struct suite *suite, const struct scenario *scenario,
                          enum fault fault, uint64_t at, bool stays)
{
    struct trial trial;
    int64_t blocks = suite->fake.blocks;
    open_trial(suite, &trial);
    begin(scenario, fault, false, at);
    scenario->prepare(&trial);
    trial.stays = stays;
    counting_backend_arm(trial.counting, fault, at, stays);
    running.result = scenario->act(&trial);
    bool came = trial.counting->fault_came;
    uint64_t first = trial.counting->fault_first;
    uint64_t last = trial.counting->fault_last;
    counting_backend_arm(trial.counting, FAULT_NONE, 0, false);
    scenario->judge(&trial, running.result);
    close_trial(&trial);
    assert_true(suite->fake.blocks == blocks || suite->own_clock);
    /* Those between the second and the last of a batch fail alike; where a trial takes its time, or
     * they are many, they are left out. */
    bool is_long = suite->own_clock || suite->can.durable || last - first >= ALL_MAX;
    if (came && is_long && at > first && at + 1 < last)
        return last;
    return came ? next_after(at) : 0;
}

/* False: the call made fewer than `at` allocations. */
static bool try_refusal(struct suite *suite, const struct scenario *scenario, uint64_t at,
                        bool stays)
{
    struct trial trial;
    int64_t blocks = suite->fake.blocks;
    open_trial(suite, &trial);
    begin(scenario, FAULT_NONE, true, at);
    scenario->prepare(&trial);
    trial.stays = stays;
    fake_env_refuse(&suite->fake, (int64_t)at - 1, stays);
    running.result = scenario->act(&trial);
    bool came = fake_env_grant(&suite->fake);
    if (came && suite->own_clock)
        pass_ms(suite, PAUSE_MS);
    scenario->judge(&trial, running.result);
    close_trial(&trial);
    close_store();
    assert_int_equal(suite->fake.blocks, blocks);
    return came;
}

static void try_all_refusals(struct suite *suite, const struct scenario *scenario)
{
    /* Over a network each trial opens a connection, and where all is refused little is asked. */
    for (int stays = 0; stays <= !suite->own_clock; stays++) {
        uint64_t at = 1;
        while (at <= ALLOCATIONS_MAX && try_refusal(suite, scenario, at, stays == 1))
            at = next_after(at);
        assert_in_range(at, 1, ALLOCATIONS_MAX);
    }
}

void try_all_faults(struct suite *suite, const struct scenario *scenario)
{
    if (suite->mode != WAITING && (suite->own_clock || suite->can.durable))
        skip_because("the engine is the same as in memory, and this takes long here");
    /* Behind a proxy each request takes a trip of its own, and what stays away or has no memory
     * does so as elsewhere: these are left out there. */
    suite->skips_sleep = true;
    close_store(); /* of a trial that failed */
    int64_t blocks = suite->fake.blocks;
    assert_int_equal(try_fault(suite, scenario, FAULT_NONE, 0, false), 0);
    for (enum fault fault = FAULT_UNSENT; fault < FAULT_COUNT; fault++)
        for (int stays = 0; stays <= (int)suite->can.ordered_batch; stays++) {
            uint64_t at = 1;
            uint64_t last = 0;
            while (at > 0 && at <= REQUESTS_MAX) {
                last = at;
                at = try_fault(suite, scenario, fault, at, stays == 1);
            }
            assert_in_range(last, 2, REQUESTS_MAX);
            assert_int_equal(at, 0);
        }
    close_store();
    assert_int_equal(suite->fake.blocks, blocks);
    if (suite->can.ordered_batch)
        try_all_refusals(suite, scenario);
}
