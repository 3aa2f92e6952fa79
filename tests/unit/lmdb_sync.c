/* When the lmdb: backend syncs what it has written. This program intercepts LMDB's system
 * calls. */
#include <unistd.h>

#include "support/lmdb_fixture.h"

#define WRITES 20
#define PIPELINE 1000

static _Atomic uint32_t syncs;

/* What the system's own does, and is counted. */
int fdatasync(int descriptor)
{
    syncs++;
    return fsync(descriptor);
}

static uint32_t syncs_of(const char *file, const char *options)
{
    mcds_store *store = open_store(file, options, NULL);
    mcds_counter *counter = NULL;
    assert_int_equal(mcds_counter_open(store, "n", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    uint32_t before = syncs;
    for (uint32_t i = 0; i < WRITES; i++) {
        uint32_t last = syncs;
        assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
        if (options[0] == '\0')
            assert_true(syncs > last);
    }
    uint32_t counted = syncs - before;
    mcds_counter_close(counter);
    mcds_close(store);
    return counted;
}

static void what_is_acknowledged_has_been_synced(void **state)
{
    const struct fixture *fixture = *state;
    assert_in_range(syncs_of(fixture->file, ""), WRITES, 2 * WRITES);
    assert_in_range(syncs_of(fixture->file, "?sync=async"), 0, WRITES / 2);
    assert_in_range(syncs_of(fixture->file, ""), WRITES, 2 * WRITES);
}

/* Both have the same file open in one process. */
static void who_does_not_wait_for_the_disk_leaves_others_waiting(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *hasty = open_store(fixture->file, "?sync=async", NULL);
    mcds_counter *counters[2] = {NULL, NULL};
    assert_int_equal(mcds_counter_open(hasty, "n", NULL, &counters[0]), MCDS_OK);
    assert_int_equal(mcds_counter_add(counters[0], 1, NULL), MCDS_OK);
    mcds_store *careful = open_store(fixture->file, "", NULL);
    assert_int_equal(mcds_counter_open(careful, "n", NULL, &counters[1]), MCDS_OK);
    for (uint32_t i = 0; i < WRITES; i++) {
        assert_int_equal(mcds_counter_add(counters[0], 1, NULL), MCDS_OK);
        uint32_t last = syncs;
        assert_int_equal(mcds_counter_add(counters[1], 1, NULL), MCDS_OK);
        assert_true(syncs > last);
    }
    mcds_counter_close(counters[0]);
    mcds_counter_close(counters[1]);
    mcds_close(hasty);
    mcds_close(careful);
}

static uint32_t commits_of(mcds_store *store)
{
    struct sought sought;
    unsigned batches, commits;
    assert_int_equal(sscanf(find_finding(store, "this process has written", &sought),
                            "this process has written %u batches in %u commits", &batches,
                            &commits),
                     2);
    return commits;
}

/* A commit that waits for no disk writes the changed pages too. */
static void a_pipeline_is_one_commit(const char *file, const char *options)
{
    mcds_store *store = open_store(file, options, NULL);
    mcds_counter *counter = NULL;
    mcds_pipeline *pipeline = NULL;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_completion done;
    depth.depth = PIPELINE;
    assert_int_equal(mcds_counter_open(store, "n", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(store, &depth, &pipeline), MCDS_OK);
    uint32_t before = commits_of(store);
    for (uint32_t i = 0; i < PIPELINE; i++)
        assert_int_equal(mcds_counter_add_start(counter, 1, NULL, pipeline, i), MCDS_OK);
    for (uint32_t i = 0; i < PIPELINE; i++) {
        assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_OK);
    }
    assert_int_equal(commits_of(store) - before, 1);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
}

static void what_is_in_flight_is_one_commit(void **state)
{
    const struct fixture *fixture = *state;
    a_pipeline_is_one_commit(fixture->file, "");
    a_pipeline_is_one_commit(fixture->file, "?sync=async");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_does_not_wait_for_the_disk_leaves_others_waiting,
                                        fixture_make, fixture_remove),
        cmocka_unit_test_setup_teardown(what_is_in_flight_is_one_commit, fixture_make,
                                        fixture_remove),
        cmocka_unit_test_setup_teardown(what_is_acknowledged_has_been_synced, fixture_make,
                                        fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
