/* The system's side of clocks, randomness and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_is_that_of_the_boot),
        cmocka_unit_test(the_wall_clock_is_unix_time),
        cmocka_unit_test(random_numbers_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
