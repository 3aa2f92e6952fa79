/* Eight threads on one handle of each structure, waiting calls and pipelines at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "structures/suite.h"

#define THREADS 8
#define ROUNDS 20
#define PIPED_ADDS 50
#define PERMITS 3

struct stage {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *striped;
    mcds_counter *strict;
    mcds_lock *lock;
    mcds_semaphore *semaphore;
    mcds_once *once;
    mcds_visitors *visitors;
    mcds_online *online;
    _Atomic int64_t taken;
    _Atomic int runs; /* of work that is done once for each round */
    _Atomic int inside;
    _Atomic int permitted;   /* threads that hold a permit */
    _Atomic int in[PERMITS]; /* and those in each slot */
    _Atomic uint64_t first;  /* visitors that were counted */
    _Atomic uint64_t beats;
    _Atomic int trouble; /* the first result that is not expected */
    _Atomic int trouble_line;
    _Atomic int next;
};

static void note(struct stage *stage, bool fine, int result, int line)
{
    int none = 0;
    if (!fine && atomic_compare_exchange_strong(&stage->trouble_line, &none, line))
        stage->trouble = result;
}
#define NOTE(stage, fine, result) note(stage, fine, result, __LINE__)

static void visit(struct stage *stage, int round)
{
    char who[24];
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    (void)snprintf(who, sizeof who, "visitor %d", round);
    int result = mcds_visitors_hit(stage->visitors, who, T0_MS);
    NOTE(stage, result == MCDS_OK || result == MCDS_EXISTS, result);
    stage->first += result == MCDS_OK;
    result = mcds_online_beat(stage->online, who, T0_MS);
    NOTE(stage, result == MCDS_OK || result == MCDS_EXISTS, result);
    stage->beats += result == MCDS_OK;
    result = mcds_visitors_get(stage->visitors, T0_MS, &visited);
    NOTE(stage, result == MCDS_OK && !visited.reborn, result);
    result = mcds_online_get(stage->online, T0_MS, &present);
    NOTE(stage, result == MCDS_OK && !present.reborn, result);
}

static void count(struct stage *stage)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t out = 0;
    int result = mcds_counter_add(stage->counter, 1, &out);
    NOTE(stage, result == MCDS_OK && out > 0, result);
    result = mcds_counter_add(stage->strict, -1, NULL);
    NOTE(stage, result == MCDS_OK, result);
    result = mcds_counter_add(stage->striped, 1, NULL);
    NOTE(stage, result == MCDS_OK, result);
    result = mcds_counter_get(stage->striped, &value);
    NOTE(stage, result == MCDS_OK && value.value >= 0 && !value.reborn, result);
    out = 0;
    result = mcds_counter_take(stage->striped, &out);
    NOTE(stage, result == MCDS_OK || result == MCDS_BUSY, result);
    stage->taken += out;
}

static void hold(struct stage *stage)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    int result = mcds_lock_try_acquire(stage->lock, &lease);
    NOTE(stage, result == MCDS_OK || result == MCDS_BUSY, result);
    if (result != MCDS_OK)
        return;
    NOTE(stage, atomic_fetch_add(&stage->inside, 1) == 0, MCDS_CORRUPT);
    result = mcds_lock_renew(stage->lock, &lease);
    NOTE(stage, result == MCDS_OK, result);
    result = mcds_lock_get_holder(stage->lock, &holder);
    NOTE(stage, result == MCDS_OK && strcmp(holder.label, "one") == 0, result);
    (void)atomic_fetch_sub(&stage->inside, 1);
    result = mcds_lock_release(stage->lock, &lease);
    NOTE(stage, result == MCDS_OK, result);
}

static bool see_holder(void *context, const mcds_semaphore_holder *holder)
{
    struct stage *stage = context;
    NOTE(stage, holder->slot < PERMITS && strcmp(holder->label, "one") == 0, MCDS_CORRUPT);
    return true;
}

static void hold_permit(struct stage *stage)
{
    mcds_permit permit = MCDS_PERMIT_INIT;
    int result = mcds_semaphore_try_acquire(stage->semaphore, &permit);
    NOTE(stage, result == MCDS_OK || result == MCDS_BUSY, result);
    if (result != MCDS_OK)
        return;
    NOTE(stage, permit.slot < PERMITS, MCDS_CORRUPT);
    NOTE(stage, atomic_fetch_add(&stage->permitted, 1) < PERMITS, MCDS_CORRUPT);
    NOTE(stage, atomic_fetch_add(&stage->in[permit.slot % PERMITS], 1) == 0, MCDS_CORRUPT);
    result = mcds_semaphore_renew(stage->semaphore, &permit);
    NOTE(stage, result == MCDS_OK, result);
    result = mcds_semaphore_holders(stage->semaphore, see_holder, stage);
    NOTE(stage, result == MCDS_OK, result);
    (void)atomic_fetch_sub(&stage->in[permit.slot % PERMITS], 1);
    (void)atomic_fetch_sub(&stage->permitted, 1);
    result = mcds_semaphore_release(stage->semaphore, &permit);
    NOTE(stage, result == MCDS_OK, result);
}

/* One thread runs the work of a round; all get its result. */
static void work_once(struct stage *stage, int round)
{
    char key[24];
    int32_t code = 0;
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    (void)snprintf(key, sizeof key, "work %d", round);
    int result = mcds_once_begin(stage->once, mcds_text(key), mcds_text(""), 60000, &run,
                                 &value, &code);
    NOTE(stage, result == MCDS_OK, result);
    if (run.mine) {
        stage->runs++;
        result = mcds_once_finish(stage->once, &run, round, mcds_text(key));
        NOTE(stage, result == MCDS_OK, result);
    } else {
        bool is_same = value.length == strlen(key) &&
                       memcmp(value.data, key, value.length) == 0;
        NOTE(stage, code == round && is_same, MCDS_CORRUPT);
    }
    mcds_value_free(&value);
}

static void pipe_adds(struct stage *stage)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    int result = mcds_pipeline_open(stage->store, NULL, &pipeline);
    NOTE(stage, result == MCDS_OK, result);
    for (uint64_t i = 0; result == MCDS_OK && i < PIPED_ADDS; i++)
        result = mcds_counter_add_start(stage->counter, 1, NULL, pipeline, i);
    NOTE(stage, result == MCDS_OK, result);
    while (result == MCDS_OK && mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        NOTE(stage, done.result == MCDS_OK, done.result);
    mcds_pipeline_close(pipeline);
}

static void *perform(void *argument)
{
    struct stage *stage = argument;
    int self = atomic_fetch_add(&stage->next, 1);
    for (int round = 0; round < ROUNDS; round++) {
        count(stage);
        visit(stage, round);
        hold(stage);
        hold_permit(stage);
        work_once(stage, round);
        if (round % THREADS == self)
            pipe_adds(stage);
    }
    return NULL;
}

static void open_stage(struct suite *suite, struct stage *stage)
{
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_counter_options counted = MCDS_COUNTER_OPTIONS_INIT;
    mcds_lock_options locked = MCDS_LOCK_OPTIONS_INIT;
    mcds_semaphore_options shared = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_once_options worked = MCDS_ONCE_OPTIONS_INIT;
    options.timeout_ms = 60000;
    locked.lease_ms = shared.lease_ms = worked.run_ms = 3600000;
    locked.label = shared.label = "one";
    shared.permits = PERMITS;
    memset(stage, 0, sizeof *stage);
    fixture_uri_of(suite->fixture, "live", uri, sizeof uri);
    CHECK_RESULT(MCDS_OK, mcds_open(uri, &options, &stage->store));
    mcds_store *store = stage->store;
    int result = mcds_lock_open(store, fresh_name(suite, "l"), &locked, &stage->lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK_RESULT(MCDS_OK, mcds_semaphore_open(store, fresh_name(suite, "s"), &shared,
                                              &stage->semaphore));
    CHECK_RESULT(MCDS_OK, mcds_once_open(store, fresh_name(suite, "o"), &worked, &stage->once));
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(store, fresh_name(suite, "n"), NULL, &stage->counter));
    counted.stripes = 4;
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(store, fresh_name(suite, "n"), &counted, &stage->striped));
    counted.stripes = 0;
    counted.flags = MCDS_COUNTER_STRICT | MCDS_COUNTER_SIGNED;
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(store, fresh_name(suite, "n"), &counted, &stage->strict));
    CHECK_RESULT(MCDS_OK,
                 mcds_visitors_open(store, fresh_name(suite, "v"), NULL, &stage->visitors));
    CHECK_RESULT(MCDS_OK,
                 mcds_online_open(store, fresh_name(suite, "o"), NULL, &stage->online));
}

static void close_stage(struct stage *stage)
{
    mcds_counter_close(stage->counter);
    mcds_counter_close(stage->striped);
    mcds_counter_close(stage->strict);
    mcds_lock_close(stage->lock);
    mcds_semaphore_close(stage->semaphore);
    mcds_once_close(stage->once);
    mcds_visitors_close(stage->visitors);
    mcds_online_close(stage->online);
    mcds_close(stage->store);
}

static void check_counter(mcds_counter *counter, int64_t expected)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_get(counter, &value));
    assert_int_equal(value.value, expected);
    assert_false(value.reborn);
}

static void threads_share_every_handle(struct suite *suite)
{
    struct stage stage;
    pthread_t threads[THREADS];
    mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value present = MCDS_ONLINE_VALUE_INIT;
    open_stage(suite, &stage);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, perform, &stage), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (stage.trouble_line != 0)
        print_error("unexpected %s in line %d\n", mcds_result_name(stage.trouble),
                    stage.trouble_line);
    assert_int_equal(stage.trouble_line, 0);
    check_counter(stage.counter, THREADS * ROUNDS + ROUNDS * PIPED_ADDS);
    check_counter(stage.strict, -THREADS * ROUNDS);
    check_counter(stage.striped, THREADS * ROUNDS - stage.taken);
    CHECK_RESULT(MCDS_OK, mcds_visitors_get(stage.visitors, T0_MS, &visited));
    assert_int_equal(visited.current, ROUNDS);
    assert_int_equal(stage.first, ROUNDS);
    CHECK_RESULT(MCDS_OK, mcds_online_get(stage.online, T0_MS, &present));
    assert_int_equal(present.current, ROUNDS);
    assert_int_equal(stage.beats, ROUNDS);
    assert_int_equal(stage.runs, ROUNDS);
    close_stage(&stage);
}

static const struct suite_case cases[] = {
    CASE_ONCE(threads_share_every_handle),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
