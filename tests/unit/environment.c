/* The system's side of clocks, randomness and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __linux__
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "base/environment.h"

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* It advances while the machine sleeps, and nobody can set it. */
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

/* Each child draws one number after its parent has drawn, and sends it through a pipe. */
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

#ifdef __linux__

/* From here on getrandom fails with EPERM, as it does in a sandbox that does not know it. False:
 * the system has no such filters. */
static bool refuse_getrandom(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool refuse_files(void)
{
    struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_NOFILE, &none) == 0;
}

enum sandboxed { FINE, SAME_TWICE, NOT_OPENED, NO_SENTENCE, OPENED, NO_FILTER = 77 };

static int opens_and_draws(void)
{
    mcds_store *store = NULL;
    if (mcds_open("memory:", NULL, &store) != MCDS_OK)
        return NOT_OPENED;
    mcds_close(store);
    const mcds_env *env = mcds_env_system();
    return mcds__random_u64(env) != mcds__random_u64(env) ? FINE : SAME_TWICE;
}

static int without_getrandom(void)
{
    return refuse_getrandom() ? opens_and_draws() : NO_FILTER;
}

static int without_any(void)
{
    mcds_store *store = NULL;
    if (!refuse_getrandom() || !refuse_files())
        return NO_FILTER;
    if (mcds_open("memory:", NULL, &store) != MCDS_IO)
        return OPENED;
    bool is_said = strstr(mcds_errmsg(), "getrandom") != NULL &&
                   strstr(mcds_errmsg(), "/dev/urandom") != NULL;
    return is_said ? FINE : NO_SENTENCE;
}

/* What is taken away from a store that is open already. */
static int without_any_later(void)
{
    const mcds_env *env = mcds_env_system();
    uint64_t drawn[100];
    if (opens_and_draws() != FINE)
        return NOT_OPENED;
    if (!refuse_getrandom() || !refuse_files())
        return NO_FILTER;
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        drawn[i] = mcds__random_u64(env);
        for (size_t other = 0; other < i; other++)
            if (drawn[other] == drawn[i])
                return SAME_TWICE;
    }
    return FINE;
}

static int in_a_child(int (*play)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        _exit(play());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_sandbox_that_refuses_getrandom(void **state)
{
    (void)state;
    static int (*const plays[])(void) = {without_getrandom, without_any, without_any_later};
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        int seen = in_a_child(plays[i]);
        if (seen == NO_FILTER) {
            puts("skipped: this system has no seccomp filters");
            skip();
        }
        assert_int_equal(seen, FINE);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_is_that_of_the_boot),
        cmocka_unit_test(the_wall_clock_is_unix_time),
        cmocka_unit_test(random_numbers_differ),
        cmocka_unit_test(a_child_draws_what_nobody_else_draws),
#ifdef __linux__
        cmocka_unit_test(a_sandbox_that_refuses_getrandom),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
