/* STORE: handles, pipelines and stores are closed in every order, with operations in flight. Run it
 * under the address sanitizer: what is freed too early, twice or never is then seen. */
#include "field/closing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "field/field.h"
#include "support/fixture.h"

#define ORDERS 6
#define BITES 3 /* of completions: none, one, all */
#define CROWD 300

static struct fixture *fixture;
static _Atomic int64_t blocks; /* of memory in use */

static void *count_blocks(void *self, void *memory, size_t length)
{
    const mcds_env *env = mcds_env_system();
    (void)self;
    blocks -= memory != NULL && length == 0;
    void *granted = env->reallocate(env->self, memory, length);
    blocks += memory == NULL && granted != NULL;
    return granted;
}

static mcds_store *open_store(void)
{
    static mcds_env env;
    mcds_store *store = NULL;
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    fixture_uri_of(fixture, "closing", uri, sizeof uri);
    env = *mcds_env_system();
    env.reallocate = count_blocks;
    options.env = &env;
    options.timeout_ms = 60000;
    CHECK_OK(mcds_open(uri, &options, &store));
    return store;
}

struct table_of_handles {
    const struct player *player;
    mcds_store *store;
    mcds_pipeline *pipeline;
    void *handle;
};

static void open_all(struct table_of_handles *at, const struct player *player)
{
    at->player = player;
    at->store = open_store();
    CHECK_OK(mcds_pipeline_open(at->store, NULL, &at->pipeline));
    at->handle = player->open(at->store);
    player->start(at->handle, at->pipeline);
}

static void close_one(struct table_of_handles *at, char which)
{
    switch (which) {
    case 'H':
        at->player->close(at->handle);
        break;
    case 'S':
        mcds_close(at->store);
        break;
    default:
        mcds_pipeline_close(at->pipeline);
        at->pipeline = NULL;
        break;
    }
}

static void drain(struct table_of_handles *at, unsigned most)
{
    mcds_completion done;
    for (unsigned i = 0; i < most; i++) {
        int result = mcds_pipeline_next(at->pipeline, &done);
        if (result == MCDS_IDLE)
            return;
        CHECK_OK(result);
        if (!closing_is_answer(done.result))
            fail_msg("%s: %s", at->player->name, mcds_errmsg());
    }
}

static void play_order(const struct player *player, const char *order, unsigned bite)
{
    struct table_of_handles at;
    open_all(&at, player);
    for (size_t i = 0; i < 3; i++) {
        if (at.pipeline != NULL && bite > 0)
            drain(&at, bite == 1 ? 1 : UINT32_MAX);
        close_one(&at, order[i]);
    }
    if (blocks != 0)
        fail_msg("%s, %s: %lld blocks were not freed", player->name, order, (long long)blocks);
}

static void everything_closes_in_every_order(void **state)
{
    static const char *const orders[ORDERS] = {"HPS", "HSP", "PHS", "PSH", "SHP", "SPH"};
    (void)state;
    for (unsigned round = 0; round < field_rounds(1); round++)
        for (unsigned i = 0; i < closing_player_count * ORDERS * BITES; i++)
            play_order(&closing_players[i / (ORDERS * BITES)], orders[i / BITES % ORDERS],
                       i % BITES);
}

/* All that was started before a close is done after it. */
static void operations_end_after_their_handles(void **state)
{
    struct table_of_handles at;
    (void)state;
    for (unsigned i = 0; i < closing_player_count; i++) {
        open_all(&at, &closing_players[i]);
        close_one(&at, 'H');
        close_one(&at, 'S');
        drain(&at, UINT32_MAX);
        assert_true(mcds_pipeline_is_idle(at.pipeline));
        close_one(&at, 'P');
        assert_int_equal(blocks, 0);
    }
}

static void a_handle_works_without_its_store(void **state)
{
    struct table_of_handles at;
    mcds_counter *counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    (void)state;
    open_all(&at, &closing_players[0]);
    CHECK_OK(mcds_counter_open(at.store, "outlives", NULL, &counter));
    close_one(&at, 'P');
    close_one(&at, 'S');
    close_one(&at, 'H');
    CHECK_OK(mcds_counter_add(counter, 2, NULL));
    CHECK_OK(mcds_counter_get(counter, &value));
    assert_true(value.value >= 2);
    mcds_counter_close(counter);
    assert_int_equal(blocks, 0);
}

static void a_failure_names_a_handle_that_is_closed(void **state)
{
    mcds_store *store = open_store();
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    mcds_completion done;
    (void)state;
    CHECK_OK(mcds_pipeline_open(store, NULL, &pipeline));
    for (options.stripes = 2; options.stripes <= 3; options.stripes++) {
        CHECK_OK(mcds_counter_open(store, "named long ago", &options, &counter));
        CHECK_OK(mcds_counter_add_start(counter, 1, NULL, pipeline, 0));
        mcds_counter_close(counter);
        CHECK_OK(mcds_pipeline_next(pipeline, &done));
    }
    assert_int_equal(done.result, MCDS_INVALID);
    assert_non_null(strstr(mcds_errmsg(), "named long ago"));
    mcds_close(store);
    mcds_pipeline_close(pipeline);
    assert_int_equal(blocks, 0);
}

/* What an EXACT counter holds when it is closed goes to the store, now or with the flush
 * in flight. */
static void an_exact_counter_closed_in_flight_keeps_its_sum(void **state)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    (void)state;
    options.flags = MCDS_COUNTER_EXACT;
    for (int at_once = 0; at_once <= 1; at_once++) {
        options.flush_ms = at_once ? MCDS_COUNTER_FLUSH_EACH : 3600000;
        mcds_store *store = open_store();
        mcds_store *other = open_store();
        const char *name = at_once ? "sum at once" : "sum";
        mcds_counter *counter;
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        mcds_pipeline *pipeline;
        mcds_completion done;
        CHECK_OK(mcds_counter_open(store, name, &options, &counter));
        CHECK_OK(mcds_pipeline_open(store, NULL, &pipeline));
        for (int i = 0; i < 10; i++)
            CHECK_OK(mcds_counter_add_start(counter, 1, NULL, pipeline, 0));
        mcds_counter_close(counter);
        while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
            CHECK_OK(done.result);
        mcds_pipeline_close(pipeline);
        mcds_close(store);
        CHECK_OK(mcds_counter_open(other, name, &options, &counter));
        CHECK_OK(mcds_counter_get(counter, &value));
        assert_int_equal(value.value, 10);
        mcds_counter_close(counter);
        mcds_close(other);
        assert_int_equal(blocks, 0);
    }
}

static mcds_set *open_set;

static bool close_the_set(void *context, mcds_bytes element, uint64_t count)
{
    (void)context;
    (void)element;
    (void)count;
    mcds_set_close(open_set);
    open_set = NULL;
    return false;
}

static void a_visitor_closes_what_it_visits(void **state)
{
    mcds_store *store = open_store();
    mcds_pipeline *pipeline;
    mcds_completion done;
    (void)state;
    CHECK_OK(mcds_set_open(store, "visited", NULL, &open_set));
    CHECK_OK(mcds_set_add(open_set, mcds_text("a"), NULL));
    CHECK_OK(mcds_pipeline_open(store, NULL, &pipeline));
    CHECK_OK(mcds_set_scan_start(open_set, close_the_set, NULL, pipeline, 0));
    CHECK_OK(mcds_pipeline_next(pipeline, &done));
    CHECK_OK(done.result);
    assert_null(open_set);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    assert_int_equal(blocks, 0);
}

static void *close_all_but_the_pipeline(void *argument)
{
    struct table_of_handles *at = argument;
    close_one(at, 'H');
    close_one(at, 'S');
    return NULL;
}

static void another_thread_closes_while_operations_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < closing_player_count * field_rounds(3); i++) {
        struct table_of_handles at;
        pthread_t thread;
        open_all(&at, &closing_players[i % closing_player_count]);
        assert_int_equal(0, pthread_create(&thread, NULL, close_all_but_the_pipeline, &at));
        drain(&at, UINT32_MAX);
        assert_int_equal(0, pthread_join(thread, NULL));
        close_one(&at, 'P');
        assert_int_equal(blocks, 0);
    }
}

/* As many handles as operations. */
static void a_crowd_of_handles_closes_at_once(void **state)
{
    mcds_store *store = open_store();
    mcds_pipeline *pipeline;
    mcds_completion done;
    unsigned ended = 0;
    (void)state;
    CHECK_OK(mcds_pipeline_open(store, NULL, &pipeline));
    for (unsigned i = 0; i < CROWD; i++) {
        char name[16];
        mcds_counter *counter;
        (void)snprintf(name, sizeof name, "crowd%u", i);
        CHECK_OK(mcds_counter_open(store, name, NULL, &counter));
        CHECK_OK(mcds_counter_add_start(counter, 1, NULL, pipeline, i));
        mcds_counter_close(counter);
    }
    for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK; ended++)
        CHECK_OK(done.result);
    assert_int_equal(ended, CROWD);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    assert_int_equal(blocks, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_closes_in_every_order),
        cmocka_unit_test(operations_end_after_their_handles),
        cmocka_unit_test(a_handle_works_without_its_store),
        cmocka_unit_test(a_failure_names_a_handle_that_is_closed),
        cmocka_unit_test(an_exact_counter_closed_in_flight_keeps_its_sum),
        cmocka_unit_test(a_visitor_closes_what_it_visits),
        cmocka_unit_test(another_thread_closes_while_operations_end),
        cmocka_unit_test(a_crowd_of_handles_closes_at_once),
    };
    fixture = fixture_or_exit(argc, argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
