/* The reports of a worker whose store loses parts of the queue again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "queue/losses.h"

#define NS_PER_S INT64_C(1000000000)

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

/* Finds `count` parts lost at this second. */
static void lose(struct losses *losses, const struct output *output, int second, int count)
{
    for (int i = 0; i < count; i++)
        losses_add(losses, NULL);
    (void)snprintf(losses->said, sizeof losses->said, "lost");
    losses_tell(losses, output, second * NS_PER_S);
}

static void losses_are_told_once_a_minute(void **state)
{
    struct losses losses = {.total = 0};
    const bool forms[] = {false, true};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct output output = {.json = forms[i]};
        losses = (struct losses){.total = 0};
        begin_capture();
        losses_tell(&losses, &output, 0);
        for (int second = 100; second < 160; second++)
            lose(&losses, &output, second, 2);
        lose(&losses, &output, 160, 1);
        lose(&losses, &output, 160, 1);
        lose(&losses, &output, 220, 0);
        lose(&losses, &output, 300, 0);
        lose(&losses, &output, 301, 3);
        losses_end(&losses, &output);
        losses_end(&losses, &output);
        expect_captured("mcds: lost (2 parts are lost)\n"
                        "mcds: lost (121 parts are lost so far)\n"
                        "mcds: lost (122 parts are lost so far)\n"
                        "mcds: lost (125 parts are lost so far)\n");
    }
}

static void the_end_tells_the_total(void **state)
{
    const struct output output = {.json = false};
    struct losses losses = {.total = 0};
    (void)state;
    begin_capture();
    losses_end(&losses, &output);
    lose(&losses, &output, 0, 1);
    losses_end(&losses, &output);
    lose(&losses, &output, 1, 4);
    losses_end(&losses, &output);
    losses_end(&losses, &output);
    expect_captured("mcds: lost\n"
                    "mcds: lost (5 parts are lost in all)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_told_once_a_minute),
        cmocka_unit_test(the_end_tells_the_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
