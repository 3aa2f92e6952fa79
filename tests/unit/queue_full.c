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

struct dead_id {
    size_t length;
    uint8_t bytes[32];
};

static bool see_id(void *context, const mcds_queue_entry *entry)
{
    struct dead_id *id = context;
    assert_true(entry->id.length <= sizeof id->bytes);
    memcpy(id->bytes, entry->id.data, id->length = entry->id.length);
    return true;
}

/* A job that fails too often becomes dead there, and can be discarded. */
static void fail_in_a_full_file(const struct fixture *fixture, size_t length)
{
    static uint8_t bytes[MCDS_QUEUE_JOB_MAX];
    struct dead_id id = {.length = 0};
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    mcds_queue *queue = open_queue(store);
    assert_int_equal(mcds_queue_push(queue, (mcds_bytes){bytes, length}, 0), MCDS_OK);
    (void)push_until_full(queue, JOB_LENGTH);
    (void)push_until_full(queue, 1);
    for (uint32_t i = 0; i < TRIES; i++) {
        assert_int_equal(mcds_queue_next(queue, 0, &job, &value), MCDS_OK);
        assert_int_equal(mcds_queue_again(queue, &job, 0), MCDS_OK);
    }
    assert_int_equal(mcds_queue_count(queue, &counts), MCDS_OK);
    assert_int_equal(counts.dead, 1);
    assert_int_equal(mcds_queue_dead(queue, 0, see_id, &id), MCDS_OK);
    assert_int_equal(mcds_queue_discard(queue, (mcds_bytes){id.bytes, id.length}), MCDS_OK);
    mcds_value_free(&value);
    mcds_queue_close(queue);
    mcds_close(store);
}

static void jobs_fail_in_a_full_file(void **state)
{
    fail_in_a_full_file(*state, 1);
}

static void large_jobs_fail_in_a_full_file(void **state)
{
    fail_in_a_full_file(*state, MCDS_QUEUE_JOB_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers_empty_a_full_file, fixture_make,
                                        fixture_remove),
        cmocka_unit_test_setup_teardown(jobs_fail_in_a_full_file, fixture_make, fixture_remove),
        cmocka_unit_test_setup_teardown(large_jobs_fail_in_a_full_file, fixture_make,
                                        fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
