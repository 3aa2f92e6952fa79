/* HOME: handles, pipelines and stores that are closed while something else still needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "field/field.h"
#include "mcds.h"
#include "support/place.h"

#define EXIT_SKIPPED 77
#define ADDS 64

static struct place *place;

static mcds_store *open_store(void)
{
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = 60000;
    assert_int_equal(MCDS_OK, mcds_open(place_uri(place), &options, &store));
    return store;
}

static void a_pipeline_is_closed_with_operations_in_flight(void **state)
{
    (void)state;
    for (unsigned round = 0; round < field_rounds(20); round++) {
        mcds_store *store = open_store();
        mcds_pipeline *pipeline;
        mcds_counter *counter;
        mcds_completion done;
        assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
        assert_int_equal(MCDS_OK, mcds_counter_open(store, "hits", NULL, &counter));
        for (unsigned i = 0; i < ADDS; i++)
            assert_int_equal(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, i));
        if (round % 2 == 1)
            assert_int_equal(MCDS_OK, mcds_pipeline_next(pipeline, &done));
        mcds_pipeline_close(pipeline);
        assert_int_equal(MCDS_OK, mcds_counter_add(counter, 1, NULL));
        mcds_counter_close(counter);
        mcds_close(store);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_is_closed_with_operations_in_flight),
    };
    const char *missing = NULL;
    place = argc == 2 ? place_start(argv[1], &missing) : NULL;
    if (place == NULL && missing != NULL) {
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    if (place == NULL) {
        (void)fprintf(stderr, "usage: %s HOME, one of:%s\n", argv[0], place_names());
        return 64;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    place_stop(place);
    return failed;
}
