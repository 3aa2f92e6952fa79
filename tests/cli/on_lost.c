/* The command line of --on-lost, without a lease: its environment, its one run, its end. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/clock.h"
#include "lock/on_lost.h"

#define NAME "job"

static const struct noun noun = {.word = "lock"};
static struct session session;
static struct command command;
static struct watch watch;
static struct child child;

static void lose_with(struct on_lost *on_lost, const char *line)
{
    command = (struct command){.noun = &noun, .arguments = {NAME}};
    command.options[OPTION_ON_LOST] = (struct value){.given = line != NULL, .text = line};
    on_lost_init(on_lost, &session, &command);
    on_lost_note(on_lost, "unrenewed");
    on_lost_note(on_lost, "lost");
}

static void step(struct on_lost *on_lost)
{
    on_lost_step(on_lost, &child, &watch.inheritance);
}

/* Standard error of this process and of the command lines, from `begin_capture` on. */
static FILE *capture;
static int stderr_before;

static void begin_capture(void)
{
    capture = tmpfile();
    assert_non_null(capture);
    stderr_before = dup(STDERR_FILENO);
    assert_true(dup2(fileno(capture), STDERR_FILENO) >= 0);
}

static void expect_captured(const char *expected)
{
    char said[1024] = "";
    assert_true(dup2(stderr_before, STDERR_FILENO) >= 0);
    (void)close(stderr_before);
    rewind(capture);
    (void)fread(said, 1, sizeof said - 1, capture);
    (void)fclose(capture);
    assert_string_equal(said, expected);
}

static void it_runs_once_with_the_first_reason(void **state)
{
    (void)state;
    struct on_lost on_lost;
    (void)setenv("MCDS_REASON", "another", 1);
    (void)setenv("MCDS_LOCK_FENCE", "7", 1);
    begin_capture();
    lose_with(&on_lost, "echo $MCDS_NAME $MCDS_REASON $MCDS_LOCK_FENCE; cat");
    step(&on_lost);
    step(&on_lost);
    int ended_by = on_lost_end(&on_lost, &watch);
    step(&on_lost);
    expect_captured("job unrenewed 7\n");
    assert_int_equal(ended_by, 0);
    assert_string_equal(getenv("MCDS_REASON"), "another");
}

static void nothing_runs_without_the_option_or_a_loss(void **state)
{
    (void)state;
    struct on_lost on_lost;
    begin_capture();
    lose_with(&on_lost, NULL);
    step(&on_lost);
    int first = on_lost_end(&on_lost, &watch);
    lose_with(&on_lost, "echo lost");
    on_lost_init(&on_lost, &session, &command);
    step(&on_lost);
    int second = on_lost_end(&on_lost, &watch);
    expect_captured("");
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
}

static void its_failure_is_reported(void **state)
{
    (void)state;
    struct on_lost on_lost;
    begin_capture();
    lose_with(&on_lost, "exit 3");
    step(&on_lost);
    (void)on_lost_end(&on_lost, &watch);
    lose_with(&on_lost, "kill -USR1 $$");
    step(&on_lost);
    (void)on_lost_end(&on_lost, &watch);
    expect_captured("mcds: lock 'job': the command of --on-lost has exited with 3\n"
                    "mcds: lock 'job': the command of --on-lost was ended by signal 10\n");
}

/* A line is there when the command line and the process that it has started run. */
static void start_one_that_hangs(struct on_lost *on_lost, int ends[2])
{
    char line[128];
    char byte;
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(line, sizeof line, "trap '' TERM INT; sleep 1000 & echo >&%d; wait",
                   ends[1]);
    lose_with(on_lost, line);
    step(on_lost);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
}

/* The pipe ends when no process has it any more. */
static void expect_end_of_all(const int ends[2])
{
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
}

static void it_is_killed_with_its_group_when_its_time_is_over(void **state)
{
    (void)state;
    struct on_lost on_lost;
    int ends[2];
    start_one_that_hangs(&on_lost, ends);
    int64_t left_ns = on_lost.kill_at_ns - clock_ns();
    assert_true(left_ns <= INT64_C(10000000000));
    begin_capture();
    on_lost.kill_at_ns = clock_ns();
    int ended_by = on_lost_end(&on_lost, &watch);
    expect_captured("mcds: lock 'job': the command of --on-lost was killed after 10 s\n");
    assert_int_equal(ended_by, 0);
    expect_end_of_all(ends);
}

static void a_signal_that_ends_mcds_kills_it(void **state)
{
    (void)state;
    struct on_lost on_lost;
    int ends[2];
    start_one_that_hangs(&on_lost, ends);
    on_lost.kill_at_ns = INT64_MAX; /* however slow this machine is */
    begin_capture();
    (void)kill(getpid(), SIGTERM);
    int ended_by = on_lost_end(&on_lost, &watch);
    expect_captured("mcds: lock 'job': the command of --on-lost was ended by signal 9\n");
    assert_int_equal(ended_by, SIGTERM);
    expect_end_of_all(ends);
}

/* child_reap takes the status of each child of this process. */
static void a_status_that_another_has_taken_is_known(void **state)
{
    (void)state;
    struct on_lost on_lost;
    begin_capture();
    lose_with(&on_lost, "exit 4");
    step(&on_lost);
    while (!on_lost.process.is_ended)
        child_reap(&child);
    (void)on_lost_end(&on_lost, &watch);
    expect_captured("mcds: lock 'job': the command of --on-lost has exited with 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_once_with_the_first_reason),
        cmocka_unit_test(nothing_runs_without_the_option_or_a_loss),
        cmocka_unit_test(its_failure_is_reported),
        cmocka_unit_test(it_is_killed_with_its_group_when_its_time_is_over),
        cmocka_unit_test(a_signal_that_ends_mcds_kills_it),
        cmocka_unit_test(a_status_that_another_has_taken_is_known),
    };
    struct sigaction usual = {.sa_handler = SIG_DFL};
    if (!watch_open(&watch, &usual, &usual))
        return EXIT_FAILURE;
    child = (struct child){.tty = -1, .supervisor = {.pid = -1, .news = -1}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
