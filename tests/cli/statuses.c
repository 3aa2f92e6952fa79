/* The exit codes of results that are neither OK nor a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/exit.h"
#include "io/report.h"
#include "table/nouns.h"

static const int refusals[] = {MCDS_TOO_OLD, MCDS_TOO_FUTURE};

/* No call succeeds until the clock is set, so it is no plain no, which -q hides. */
static void a_wrong_clock_is_a_failure(void **state)
{
    const struct verb verb = {.word = "beat", .start = online_beat};
    const struct command command = {.verb = &verb};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(status_of_command(&command, refusals[i]), STATUS_IO);
}

/* As for a line of standard input whose time is refused. */
static void a_time_that_is_refused_is_bad_data(void **state)
{
    const struct verb verb = {.word = "put", .start = log_put};
    static const enum option_id options[] = {OPTION_AT, OPTION_TIMED};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            struct command command = {.verb = &verb};
            command.options[options[j]].given = true;
            assert_int_equal(status_of_command(&command, refusals[i]), STATUS_DATA);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_clock_is_a_failure),
        cmocka_unit_test(a_time_that_is_refused_is_bad_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
