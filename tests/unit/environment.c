/* The system's side of clocks, randomness and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/environment.h"

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* It goes on while the machine sleeps, and nobody can set it. */
static void the_monotonic_clock_is_that_of_the_boot(void **state)
{
    (void)state;
    int64_t before_ns = read_clock(CLOCK_BOOTTIME);
    int64_t now_ns = mcds__monotonic_ns(mcds_env_system());
    assert_in_range(now_ns, before_ns, read_clock(CLOCK_BOOTTIME));
}

static void the_wall_clock_is_unix_time(void **state)
{
    (void)state;
    int64_t before_ns = read_clock(CLOCK_REALTIME);
    int64_t now_ns = mcds__wall_ns(mcds_env_system());
    assert_in_range(now_ns, before_ns, read_clock(CLOCK_REALTIME));
}

static void random_numbers_differ(void **state)
{
    (void)state;
    const mcds_env *env = mcds_env_system();
    uint8_t drawn[2][300];
    memset(drawn, 0, sizeof drawn);
    env->random(env->self, drawn[0], sizeof drawn[0]);
    env->random(env->self, drawn[1], sizeof drawn[1]);
    for (size_t i = 0; i + 16 <= sizeof drawn[0]; i += 16)
        assert_memory_not_equal(drawn[0] + i, drawn[1] + i, 16);
}

/* Each child draws one number after its parent has drawn, and tells it by a pipe. */
static uint64_t drawn_by_child(const mcds_env *env)
{
    int ends[2];
    uint64_t number = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        number = mcds__random_u64(env);
        _exit(write(ends[1], &number, sizeof number) == sizeof number ? 0 : 1);
    }
    int status;
    assert_int_equal(read(ends[0], &number, sizeof number), sizeof number);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return number;
}

static void a_child_draws_what_nobody_else_draws(void **state)
{
    (void)state;
    const mcds_env *env = mcds_env_system();
    uint64_t before = mcds__random_u64(env);
    uint64_t first = drawn_by_child(env);
    uint64_t second = drawn_by_child(env);
    uint64_t own = mcds__random_u64(env);
    assert_int_not_equal(first, before);
    assert_int_not_equal(first, second);
    assert_int_not_equal(first, own);
    assert_int_not_equal(second, own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_is_that_of_the_boot),
        cmocka_unit_test(the_wall_clock_is_unix_time),
        cmocka_unit_test(random_numbers_differ),
        cmocka_unit_test(a_child_draws_what_nobody_else_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
