/* The timeline of a simulated world in buffers of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds/sim.h"

#define NOTES 300
#define WHOLE 65536

static mcds_sim *make_world(int notes)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    mcds_sim *sim = NULL;
    assert_int_equal(mcds_sim_open(&options, &sim), MCDS_OK);
    for (int i = 0; i < notes; i++)
        mcds_sim_note(sim, NULL, "note %d%.*s", i, i % 40,
                      "........................................");
    return sim;
}

/* What fits is the end of the timeline, from the beginning of a line. */
static void the_newest_lines_are_kept(void **state)
{
    (void)state;
    static char whole[WHOLE], part[WHOLE];
    mcds_sim *sim = make_world(NOTES);
    size_t length = mcds_sim_timeline(sim, whole, sizeof whole);
    assert_int_equal(length, strlen(whole));
    assert_non_null(strstr(whole, "note 44."));
    assert_null(strstr(whole, "note 43."));
    part[0] = 'x';
    assert_int_equal(mcds_sim_timeline(sim, part, 0), 0);
    assert_int_equal(mcds_sim_timeline(sim, NULL, sizeof part), 0);
    assert_int_equal(part[0], 'x');
    for (size_t capacity = 1; capacity <= length + 2; capacity++) {
        memset(part, 'x', capacity + 1);
        size_t got = mcds_sim_timeline(sim, part, capacity);
        assert_true(got < capacity && part[got] == '\0' && part[capacity] == 'x');
        assert_string_equal(part, whole + length - got);
        assert_true(got == length || got == 0 || whole[length - got - 1] == '\n');
        const char *before = got < length ? whole + length - got - 1 : NULL;
        size_t more = 0;
        while (before != NULL && before > whole && before[-1] != '\n')
            before--;
        if (before != NULL)
            more = (size_t)(whole + length - got - before);
        assert_true(got == length || got + more + 1 > capacity);
    }
    mcds_sim_close(sim);
}

static void a_world_without_lines_has_an_empty_timeline(void **state)
{
    (void)state;
    char out[8] = "text";
    mcds_sim *sim = make_world(0);
    assert_int_equal(mcds_sim_timeline(sim, out, sizeof out), 0);
    assert_string_equal(out, "");
    assert_int_equal(mcds_sim_timeline(NULL, out, sizeof out), 0);
    assert_int_equal(mcds_sim_timeline(sim, NULL, 0), 0);
    mcds_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_lines_are_kept),
        cmocka_unit_test(a_world_without_lines_has_an_empty_timeline),
    };
    return cmocka_run_group_tests_name("sim_timeline", tests, NULL, NULL);
}
