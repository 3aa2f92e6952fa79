/* Operations of a pipeline whose replies come before that of the read of the root, as over two
 * connections: they share one read, instead of reading the root each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/backends.h"
#include "store/uri.h"
#include "support/fake_env.h"

#define OPERATIONS 4000
#define DEPTH 100
#define ROOT_NAME "shared"

/* Answers batches at once; those that read the root can be collected after all others. */
struct world {
    struct fake_env fake;
    struct fake_env inner_env;
    mcds_backend backend;
    void *inner;
    mcds_batch *soon;
    mcds_batch *late;
    uint32_t rounds;
    uint32_t looks; /* reads of the root */
    bool is_gone;   /* the root, for those reads */
    mcds_store *store;
    mcds_table *table;
    mcds_set *set;
    mcds_list *list;
    mcds_log *log;
};

static bool is_root(const mcds_request *request)
{
    size_t length = strlen(ROOT_NAME);
    const mcds_bytes key = request->key;
    return request->command == MCDS_GET && key.length > length &&
           memcmp((const char *)key.data + key.length - length, ROOT_NAME, length) == 0;
}

static int proof_session_open(void *backend, void **session_out)
{
    *session_out = backend;
    return MCDS_OK;
}

static void proof_session_close(void *session)
{
    (void)session;
}

static void proof_submit(void *session, mcds_batch *first)
{
    struct world *world = session;
    world->rounds++;
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        uint32_t looks = 0;
        next = batch->next;
        batch->next = NULL;
        for (uint32_t i = 0; i < batch->count; i++)
            looks += is_root(&batch->requests[i]);
        mcds__backend_memory.submit(world->inner, batch);
        for (uint32_t i = 0; i < batch->count && world->is_gone; i++)
            if (is_root(&batch->requests[i]))
                batch->requests[i].reply.outcome = MCDS_OUT_MISS;
        world->looks += looks;
        mcds_batch **list = looks > 0 ? &world->late : &world->soon;
        batch->next = *list;
        *list = batch;
    }
}

static mcds_batch *proof_collect(void *session, int64_t until_ns)
{
    struct world *world = session;
    mcds_batch **list = world->soon != NULL ? &world->soon : &world->late;
    mcds_batch *batches = *list;
    (void)until_ns;
    *list = NULL;
    return batches;
}

static void proof_capabilities(void *state, mcds_capabilities *out)
{
    const struct world *world = state;
    mcds__backend_memory.capabilities(world->inner, out);
}

static void proof_close(void *state)
{
    const struct world *world = state;
    mcds__backend_memory.close(world->inner);
}

static int set_up(void **state)
{
    static struct mcds_uri uri;
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    if (world == NULL || mcds__uri_parse("memory:", &uri) != MCDS_OK)
        return -1;
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 5);
    fake_env_init(&world->inner_env, 6);
    options.env = &world->fake.env;
    world->backend = (mcds_backend){
        .size = sizeof world->backend,
        .version = MCDS_BACKEND_VERSION,
        .scheme = "late",
        .close = proof_close,
        .capabilities = proof_capabilities,
        .session_open = proof_session_open,
        .session_close = proof_session_close,
        .submit = proof_submit,
        .collect = proof_collect,
    };
    if (mcds__backend_memory.open(&uri, &world->inner_env.env, &world->inner) != MCDS_OK ||
        mcds_open_backend(&world->backend, world, &options, &world->store) != MCDS_OK)
        return -1;
    bool is_open = mcds_table_open(world->store, ROOT_NAME, NULL, &world->table) == MCDS_OK &&
                   mcds_set_open(world->store, ROOT_NAME, NULL, &world->set) == MCDS_OK &&
                   mcds_list_open(world->store, ROOT_NAME, NULL, &world->list) == MCDS_OK &&
                   mcds_log_open(world->store, ROOT_NAME, NULL, &world->log) == MCDS_OK;
    return is_open ? 0 : -1;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mcds_table_close(world->table);
    mcds_set_close(world->set);
    mcds_list_close(world->list);
    mcds_log_close(world->log);
    mcds_close(world->store);
    free(world);
    return 0;
}

static mcds_bytes name_of(uint32_t i)
{
    static char name[16];
    (void)snprintf(name, sizeof name, "%u", (unsigned)i);
    return mcds_text(name);
}

static int start_put(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_put_start(world->table, name_of(i), mcds_text("v"), 0, pipeline, i);
}

static int start_has(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_has_start(world->table, name_of(i), pipeline, i);
}

static int start_add(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_set_add_start(world->set, name_of(i), NULL, pipeline, i);
}

static int start_push(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_list_push_start(world->list, name_of(i), pipeline, i);
}

static int start_log(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_log_put_start(world->log, 0, name_of(i), pipeline, i);
}

typedef int (*starter)(struct world *world, mcds_pipeline *pipeline, uint32_t i);

/* Returns how many of the operations ended with this result. */
static uint32_t run(struct world *world, starter start, uint32_t count, int result)
{
    mcds_pipeline *pipeline;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_completion done;
    uint32_t ended = 0;
    options.depth = DEPTH;
    assert_int_equal(mcds_pipeline_open(world->store, &options, &pipeline), MCDS_OK);
    world->looks = world->rounds = 0;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(start(world, pipeline, i), MCDS_OK);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        ended += done.result == result;
    mcds_pipeline_close(pipeline);
    return ended;
}

static void check_looks(struct world *world, starter start)
{
    assert_int_equal(run(world, start, OPERATIONS, MCDS_OK), OPERATIONS);
    if (world->looks > world->rounds)
        print_message("%u reads of the root in %u rounds\n", (unsigned)world->looks,
                      (unsigned)world->rounds);
    assert_in_range(world->looks, 1, world->rounds);
}

static void a_round_reads_the_root_once(void **state)
{
    struct world *world = *state;
    check_looks(world, start_put);
    check_looks(world, start_has);
    check_looks(world, start_add);
    check_looks(world, start_push);
    check_looks(world, start_log);
}

/* What waits for the read that another operation makes gets no proof from it. */
static void none_is_proved_without_a_root(void **state)
{
    struct world *world = *state;
    assert_int_equal(run(world, start_put, 1, MCDS_OK), 1);
    world->is_gone = true;
    assert_int_equal(run(world, start_has, DEPTH, MCDS_OK), 0);
    assert_int_equal(run(world, start_put, DEPTH, MCDS_OK), 0);
}

/* Start `next` on a queue with one job, and let all others poll for a second. */
static void wait_for_jobs(struct world *world, mcds_queue *queue, mcds_pipeline *pipeline)
{
    static mcds_job jobs[DEPTH];
    static mcds_value values[DEPTH];
    mcds_completion done;
    uint32_t claimed = 0;
    assert_int_equal(mcds_queue_push(queue, mcds_text("job"), 0), MCDS_OK);
    for (uint32_t i = 0; i < DEPTH; i++) {
        jobs[i] = (mcds_job)MCDS_JOB_INIT;
        values[i] = (mcds_value)MCDS_VALUE_INIT;
        assert_int_equal(
            mcds_queue_next_start(queue, 3600000, &jobs[i], &values[i], pipeline, i), MCDS_OK);
    }
    for (uint32_t ms = 0; ms < 1000; ms++) {
        while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK) {
            assert_int_equal(done.result, MCDS_OK);
            mcds_value_free(&values[done.tag]);
            claimed++;
        }
        world->fake.monotonic_ns += NS_PER_MS;
    }
    assert_int_equal(claimed, 1);
}

/* A call that reads with the line of the proof, and then sleeps, keeps no other in that line. */
static void a_read_leaves_the_line_where_it_ends(void **state)
{
    struct world *world = *state;
    mcds_pipeline *pipeline;
    mcds_queue *queue;
    mcds_completion done;
    uint32_t waiting = 0;
    uint32_t ended = 0;
    assert_int_equal(mcds_queue_open(world->store, ROOT_NAME, NULL, &queue), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
    wait_for_jobs(world, queue, pipeline);
    for (uint64_t i = 0; i < DEPTH; i++)
        waiting += mcds_pipeline_end_wait(pipeline, i) == MCDS_OK;
    assert_int_equal(waiting, DEPTH - 1);
    for (uint32_t ms = 0; ms < 1000; ms++) {
        while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
            ended += done.result == MCDS_TIMEOUT || done.result == MCDS_NOT_FOUND;
        world->fake.monotonic_ns += NS_PER_MS;
    }
    assert_int_equal(ended, DEPTH - 1);
    mcds_pipeline_close(pipeline);
    mcds_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_round_reads_the_root_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(none_is_proved_without_a_root, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_leaves_the_line_where_it_ends, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
