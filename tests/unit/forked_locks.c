/* A child calls on and closes what its parent has opened, while another thread of the parent holds the
 * mutexes: nobody in the child will ever unlock them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcds.h"
#include "structures/counter/counter.h"
#include "structures/limit/limit.h"
#include "support/pass_over.h"

#define PATIENCE_S 20

struct world {
    mcds_store *store;
    mcds_pipeline *pipeline;
    mcds_limit *limit;
    mcds_counter *counter; /* EXACT */
    pthread_mutex_t *mutex;
};

static void begin(struct world *world)
{
    mcds_limit_options limit = MCDS_LIMIT_OPTIONS_INIT;
    mcds_counter_options exact = MCDS_COUNTER_OPTIONS_INIT;
    limit.rate_count = 1;
    limit.rates[0] = (mcds_rate){8, 8000, 0};
    limit.remember_ms = 300;
    exact.flags = MCDS_COUNTER_EXACT;
    assert_int_equal(mcds_open("memory:", NULL, &world->store), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &world->pipeline), MCDS_OK);
    assert_int_equal(mcds_limit_open(world->store, "l", &limit, &world->limit), MCDS_OK);
    assert_int_equal(mcds_counter_open(world->store, "c", &exact, &world->counter), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds_limit_close(world->limit);
    mcds_counter_close(world->counter);
    mcds_close(world->store);
}

/* The exit status of a child that does this while the mutex is held; -1: it did not end. */
static int status_in_child(struct world *world, int (*act)(struct world *world))
{
    int status = -1;
    assert_int_equal(pthread_mutex_lock(world->mutex), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(PATIENCE_S);
        _exit(act(world));
    }
    assert_int_equal(pthread_mutex_unlock(world->mutex), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int close_all(struct world *world)
{
    end(world);
    return 0;
}

/* The pipeline has tokens to give back. */
static void a_child_closes_a_limit(void **state)
{
    (void)state;
    struct world world;
    mcds_completion done;
    begin(&world);
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("a"), 1, 0, NULL), MCDS_OK);
    assert_int_equal(mcds_limit_give_start(world.limit, mcds_text("a"), 1, world.pipeline, 0),
                     MCDS_OK);
    world.mutex = &world.limit->remembered->mutex;
    assert_int_equal(status_in_child(&world, close_all), 0);
    assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    end(&world);
}

/* The pipeline has an addition. */
static void a_child_closes_an_exact_counter(void **state)
{
    (void)state;
    struct world world;
    mcds_completion done;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    begin(&world);
    assert_int_equal(mcds_counter_add_start(world.counter, 1, NULL, world.pipeline, 0),
                     MCDS_OK);
    world.mutex = &world.counter->replica->mutex;
    assert_int_equal(status_in_child(&world, close_all), 0);
    assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    assert_int_equal(mcds_counter_get(world.counter, &value), MCDS_OK);
    assert_int_equal(value.value, 1);
    end(&world);
}

/* A scan of a memory reads the clock while it has locked a part of it. */
static struct {
    bool is_armed;
    int failed;
    mcds_counter *counter;
} scanned;

static int64_t fork_in_scan(void *self)
{
    (void)self;
    const mcds_env *system = mcds_env_system();
    if (scanned.is_armed) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            (void)alarm(PATIENCE_S);
            mcds_counter_close(scanned.counter);
            _exit(0);
        }
        scanned.failed += waitpid(child, &status, 0) != child || status != 0;
    }
    return system->monotonic_ns(system->self);
}

/* The counter has its number at hand, in a part of the memory. */
static void a_child_closes_a_counter(void **state)
{
    (void)state;
    mcds_store *store;
    mcds_env env = *mcds_env_system();
    mcds_options options = MCDS_OPTIONS_INIT;
    env.monotonic_ns = fork_in_scan;
    options.env = &env;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "c", NULL, &scanned.counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(scanned.counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_add(scanned.counter, 1, NULL), MCDS_OK);
    scanned.is_armed = true;
    assert_int_equal(mcds_scan(store, pass_listed, NULL), MCDS_OK);
    scanned.is_armed = false;
    assert_int_equal(scanned.failed, 0);
    mcds_counter_close(scanned.counter);
    mcds_close(store);
}

static int is_refused(int result)
{
    return result == MCDS_INVALID && mcds_last_error()->cause == MCDS_CAUSE_FORKED ? 0 : 1;
}

static int give_tokens(struct world *world)
{
    return is_refused(mcds_limit_give(world->limit, mcds_text("a"), 1));
}

static int read_exact(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    return is_refused(mcds_counter_get(world->counter, &value));
}

/* A call is refused before it looks at the structure. */
static void a_child_that_calls_does_not_wait(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    assert_int_equal(mcds_limit_take(world.limit, mcds_text("a"), 1, 0, NULL), MCDS_OK);
    world.mutex = &world.limit->remembered->mutex;
    assert_int_equal(status_in_child(&world, give_tokens), 0);
    world.mutex = &world.counter->replica->mutex;
    assert_int_equal(status_in_child(&world, read_exact), 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_closes_a_limit),
        cmocka_unit_test(a_child_closes_an_exact_counter),
        cmocka_unit_test(a_child_closes_a_counter),
        cmocka_unit_test(a_child_that_calls_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
