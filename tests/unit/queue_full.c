/* A full lmdb: file refuses pushes, and workers empty it: claims, done, again and dead jobs use the room
 * that is kept for deletions. */
#include "support/lmdb_fixture.h"

#define JOB_LENGTH 300
#define TRIES 2

static mcds_queue *open_queue(mcds_store *store)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.tries = TRIES;
    assert_int_equal(mcds_queue_open(store, "q", &options, &queue), MCDS_OK);
    return queue;
}

/* Returns how many were pushed. */
static uint32_t push_until_full(mcds_queue *queue, size_t length)
{
    static uint8_t bytes[JOB_LENGTH];
    uint32_t pushed = 0;
    int result = MCDS_OK;
    for (; result == MCDS_OK; pushed++)
        result = mcds_queue_push(queue, (mcds_bytes){bytes, length}, 0);
    assert_int_equal(result, MCDS_FULL);
    return pushed - 1;
}

static uint32_t work_until_empty(mcds_queue *queue)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    uint32_t taken = 0;
    int result = MCDS_OK;
    for (; (result = mcds_queue_next(queue, 0, &job, &value)) == MCDS_OK; taken++)
        if (taken % 16 == 0)
            assert_int_equal(mcds_queue_longer(queue, &job), MCDS_OK);
    assert_int_equal(result, MCDS_NOT_FOUND);
    mcds_value_free(&value);
    return taken;
}

static void workers_empty_a_full_file(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    mcds_queue *queue = open_queue(store);
    uint32_t large = push_until_full(queue, JOB_LENGTH);
    uint32_t small = push_until_full(queue, 1);
    assert_true(large > 100);
    assert_int_equal(work_until_empty(queue), large + small);
    uint32_t later = push_until_full(queue, JOB_LENGTH);
    assert_true(later > large / 2);
    mcds_queue_close(queue);
    mcds_close(store);
}

/* A job that fails too often becomes dead there, and can be discarded. */
static void jobs_fail_in_a_full_file(void **state)
{
    const struct fixture *fixture = *state;
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    mcds_queue *queue = open_queue(store);
    (void)push_until_full(queue, JOB_LENGTH);
    (void)push_until_full(queue, 1);
    for (uint32_t i = 0; i < TRIES; i++) {
        assert_int_equal(mcds_queue_next(queue, 0, &job, &value), MCDS_OK);
        assert_int_equal(mcds_queue_again(queue, &job, 0), MCDS_OK);
    }
    assert_int_equal(mcds_queue_count(queue, &counts), MCDS_OK);
    assert_int_equal(counts.dead, 1);
    mcds_value_free(&value);
    mcds_queue_close(queue);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers_empty_a_full_file, fixture_make,
                                        fixture_remove),
        cmocka_unit_test_setup_teardown(jobs_fail_in_a_full_file, fixture_make, fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
