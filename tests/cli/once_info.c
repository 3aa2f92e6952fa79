/* The time left of a result of once, as --info prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/output.h"
#include "table/nouns.h"

#define DAY_MS INT64_C(86400000)

/* What --info prints of a result that ends `left_ms` from now, by the clock of this machine. */
static char *info_of(uint32_t state, int64_t left_ms)
{
    char *text = NULL;
    size_t length = 0;
    const mcds_env *env = mcds_env_system();
    struct output output = {.file = open_memstream(&text, &length)};
    static struct command command;
    struct answer answer = {.once = MCDS_ONCE_VALUE_INIT};
    assert_non_null(output.file);
    command.options[OPTION_INFO].given = true;
    answer.once.state = state;
    answer.once.until_ms = env->wall_ns(env->self) / 1000000 + left_ms;
    output_begin(&output);
    once_print(&output, &command, &answer, MCDS_OK);
    output_end(&output);
    (void)fclose(output.file);
    return text;
}

/* The clock of the machine that has stored it is slow by two days. The store still hands it out, so
 * no time left is 0. */
static void a_result_of_a_slow_clock_has_no_known_end(void **state)
{
    (void)state;
    char *done = info_of(MCDS_ONCE_DONE, -2 * DAY_MS);
    char *running = info_of(MCDS_ONCE_RUNNING, -2 * DAY_MS);
    assert_string_equal(done, "done\t0\t-\n");
    assert_string_equal(running, "running\t-\t-\n");
    char *vanished = info_of(MCDS_ONCE_VANISHED, -2 * DAY_MS); /* it has ended */
    assert_string_equal(vanished, "vanished\t-\t0.000\n");
    free(vanished);
    free(done);
    free(running);
}

static void a_result_has_the_time_left(void **state)
{
    double left_s = 0;
    (void)state;
    char *done = info_of(MCDS_ONCE_DONE, DAY_MS);
    assert_int_equal(sscanf(done, "done\t0\t%lf\n", &left_s), 1);
    assert_true(left_s > 0 && left_s <= 86400);
    free(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_of_a_slow_clock_has_no_known_end),
        cmocka_unit_test(a_result_has_the_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
