/* The parts of a failure: for each cause a call that has it, its fields and its sentence. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_pipeline *pipeline; /* NULL: the calls wait */
    mcds_outcome outcome;    /* of each request of the hook, if it is not 0 */
    const mcds_reason *detail;
    bool loses_reply; /* of the next request, before those */
};

static bool answer(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->outcome == MCDS_OUT_NONE)
        return false;
    request->reply.outcome = world->loses_reply ? MCDS_OUT_UNKNOWN : world->outcome;
    request->reply.detail = world->loses_reply ? MCDS__WHY(CONNECTION_CLOSED) : world->detail;
    world->loses_reply = false;
    request->reply.peer = "server-1:11211";
    return true;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = answer;
    world->backend.context = world;
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds_close(world->store);
}

/* The failure of one operation that was begun: its own, or that of its completion. */
static int taken(struct world *world, int result)
{
    mcds_completion done;
    if (world->pipeline == NULL || result != MCDS_OK)
        return result;
    assert_int_equal(mcds_pipeline_next(world->pipeline, &done), MCDS_OK);
    return done.result;
}

static int open_counter(struct world *world, uint32_t stripes, mcds_counter **counter_out)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = stripes;
    return mcds_counter_open(world->store, "x", &options, counter_out);
}

static int add(struct world *world, uint32_t stripes)
{
    mcds_counter *counter;
    int result = open_counter(world, stripes, &counter);
    if (result != MCDS_OK)
        return result;
    result = world->pipeline != NULL
                 ? mcds_counter_add_start(counter, 1, NULL, world->pipeline, 0)
                 : mcds_counter_add(counter, 1, NULL);
    result = taken(world, result);
    mcds_counter_close(counter);
    return result;
}

static int add_one(struct world *world)
{
    return add(world, 0);
}

/* The server ends before it replies to the release. */
static int release_meanwhile(struct world *world)
{
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_outcome outcome = world->outcome;
    int result = mcds_lock_open(world->store, "l", NULL, &lock);
    world->outcome = MCDS_OUT_NONE;
    if (result == MCDS_OK)
        result = mcds_lock_try_acquire(lock, &lease);
    world->outcome = outcome;
    world->loses_reply = true;
    if (result == MCDS_OK)
        result = world->pipeline != NULL
                     ? mcds_lock_release_start(lock, &lease, world->pipeline, 0)
                     : mcds_lock_release(lock, &lease);
    result = taken(world, result);
    mcds_lock_close(lock);
    return result;
}

static int add_to_other_stripes(struct world *world)
{
    assert_int_equal(add(world, 4), MCDS_OK);
    return add(world, 8);
}

static int add_to_a_plain_one_with_stripes(struct world *world)
{
    assert_int_equal(add(world, 0), MCDS_OK);
    return add(world, 8);
}

static int put_element(struct world *world, mcds_set_form form)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set;
    bool added;
    options.form = form;
    assert_int_equal(mcds_set_open(world->store, "s", &options, &set), MCDS_OK);
    int result = world->pipeline != NULL
                     ? mcds_set_add_start(set, mcds_text("e"), &added, world->pipeline, 0)
                     : mcds_set_add(set, mcds_text("e"), &added);
    result = taken(world, result);
    mcds_set_close(set);
    return result;
}

static int add_to_a_bag_as_a_set(struct world *world)
{
    assert_int_equal(put_element(world, MCDS_SET_BAG), MCDS_OK);
    return put_element(world, MCDS_SET_PLAIN);
}

static int put_event(struct world *world, uint64_t retention_ms)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log;
    options.retention_ms = retention_ms;
    assert_int_equal(mcds_log_open(world->store, "l", &options, &log), MCDS_OK);
    int result = world->pipeline != NULL
                     ? mcds_log_put_start(log, 0, mcds_text("e"), world->pipeline, 0)
                     : mcds_log_put(log, 0, mcds_text("e"));
    result = taken(world, result);
    mcds_log_close(log);
    return result;
}

static int put_with_another_retention(struct world *world)
{
    assert_int_equal(put_event(world, 86400000), MCDS_OK);
    return put_event(world, 1000000);
}

/* What the backend answers, and what a call comes to. */
static const struct row {
    int (*call)(struct world *world);
    mcds_outcome outcome;
    const mcds_reason *detail;
    mcds_error error;
    const char *sentence;
} rows[] = {
    {add_one,
     MCDS_OUT_NO_MEMORY,
     MCDS__WHY(SERVER_FULL),
     {.result = MCDS_FULL,
      .cause = MCDS_CAUSE_STORE_FULL,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "server-1:11211",
      .reason = "the server is out of memory; its command cache_memlimit gives it more while "
                "it runs"},
     "counter 'x': add: server-1:11211: the server is out of memory; its command "
     "cache_memlimit gives it more while it runs"},
    {add_one,
     MCDS_OUT_PROTOCOL,
     MCDS__WHY(REDIS_SERVER),
     {.result = MCDS_PROTOCOL,
      .cause = MCDS_CAUSE_NOT_MEMCACHED,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "server-1:11211",
      .reason = "this is a Redis server, not memcached"},
     "counter 'x': add: server-1:11211: this is a Redis server, not memcached"},
    {add_one,
     MCDS_OUT_UNSENT,
     MCDS__WHY(CONNECTION_REFUSED),
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_CONNECTION_REFUSED,
      .os_error = ECONNREFUSED,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "server-1:11211",
      .reason = "connection refused: no server listens there"},
     "counter 'x': add: server-1:11211: connection refused: no server listens there"},
    {release_meanwhile,
     MCDS_OUT_UNSENT,
     MCDS__WHY(CONNECTION_REFUSED),
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_CONNECTION_REFUSED,
      .os_error = ECONNREFUSED,
      .noun = "lock",
      .name = "l",
      .verb = "release",
      .peer = "server-1:11211",
      .reason = "the reply was lost, and a new connection fails: connection refused: no server "
                "listens there"},
     "lock 'l': release: server-1:11211: the reply was lost, and a new connection fails: "
     "connection refused: no server listens there"},
    {add_one,
     MCDS_OUT_FAILED,
     MCDS__WHY(DISK_ERROR),
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DISK_ERROR,
      .os_error = EIO,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "server-1:11211",
      .reason = "the disk reports an error"},
     "counter 'x': add: server-1:11211: the disk reports an error"},
    /* A backend that says nothing of it. */
    {add_one,
     MCDS_OUT_UNSUPPORTED,
     NULL,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_UNSUPPORTED,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "server-1:11211",
      .reason = "this store cannot do it"},
     "counter 'x': add: server-1:11211: this store cannot do it"},
    {add_to_other_stripes,
     MCDS_OUT_NONE,
     NULL,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .option = "stripes",
      .wanted = "8",
      .found = "4",
      .wanted_min = 8,
      .wanted_max = 8,
      .found_number = 4,
      .reason = "it was made with stripes 4, not 8; open it the same way"},
     "counter 'x': add: it was made with stripes 4, not 8; open it the same way"},
    {add_to_a_plain_one_with_stripes,
     MCDS_OUT_NONE,
     NULL,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .option = "stripes",
      .wanted = "8",
      .found = "0",
      .wanted_min = 8,
      .wanted_max = 8,
      .reason = "this counter was made without stripes; open it the same way"},
     "counter 'x': add: this counter was made without stripes; open it the same way"},
    {add_to_a_bag_as_a_set,
     MCDS_OUT_NONE,
     NULL,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "set",
      .name = "s",
      .verb = "add",
      .option = "form",
      .wanted = "0",
      .found = "1",
      .found_number = MCDS_SET_BAG,
      .reason = "it is a bag; open it with the form MCDS_SET_BAG"},
     "set 's': add: it is a bag; open it with the form MCDS_SET_BAG"},
    {put_with_another_retention,
     MCDS_OUT_NONE,
     NULL,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "log",
      .name = "l",
      .verb = "put",
      .option = "retention_ms",
      .wanted = "1000000",
      .found = "86400000",
      .wanted_min = 1000000,
      .wanted_max = 1000000,
      .found_number = 86400000,
      .reason = "it was made with retention_ms 86400000, not 1000000; open it with 0 to accept "
                "that"},
     "log 'l': put: it was made with retention_ms 86400000, not 1000000; open it with 0 to "
     "accept that"},
};

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void check(const struct row *row, int result)
{
    const mcds_error *error = mcds_last_error();
    assert_int_equal(result, row->error.result);
    assert_string_equal(mcds_errmsg(), row->sentence);
    assert_int_equal(error->size, sizeof *error);
    assert_int_equal(error->result, row->error.result);
    assert_string_equal(mcds_cause_name((int)error->cause),
                        mcds_cause_name((int)row->error.cause));
    assert_int_equal(error->os_error, row->error.os_error);
    assert_string_equal(error->noun, or_empty(row->error.noun));
    assert_string_equal(error->name, or_empty(row->error.name));
    assert_string_equal(error->verb, or_empty(row->error.verb));
    assert_string_equal(error->option, or_empty(row->error.option));
    assert_string_equal(error->wanted, or_empty(row->error.wanted));
    assert_string_equal(error->found, or_empty(row->error.found));
    assert_true(error->wanted_min == row->error.wanted_min);
    assert_true(error->wanted_max == row->error.wanted_max);
    assert_true(error->found_number == row->error.found_number);
    assert_string_equal(error->peer, or_empty(row->error.peer));
    assert_string_equal(error->reason, or_empty(row->error.reason));
}

static void run(const struct row *row, bool piped)
{
    struct world world;
    begin(&world);
    if (piped)
        assert_int_equal(mcds_pipeline_open(world.store, NULL, &world.pipeline), MCDS_OK);
    world.outcome = row->outcome;
    world.detail = row->detail;
    int result = row->call(&world);
    check(row, result);
    end(&world);
    /* It refers to nothing of the store. */
    check(row, result);
}

static void each_cause_has_its_fields_and_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i], false);
}

/* The operation and what it held are gone when its completion is taken. */
static void a_completion_has_the_fields_of_its_operation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i], true);
}

/* Each completion has its own, also when other operations have used the memory of the first. */
static void each_of_many_completions_has_its_own_fields(void **state)
{
    (void)state;
    struct world world;
    mcds_counter *counters[2];
    mcds_completion done;
    begin(&world);
    assert_int_equal(add(&world, 4), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &world.pipeline), MCDS_OK);
    assert_int_equal(open_counter(&world, 8, &counters[0]), MCDS_OK);
    assert_int_equal(open_counter(&world, 16, &counters[1]), MCDS_OK);
    for (uint64_t tag = 0; tag < 20; tag++)
        assert_int_equal(
            mcds_counter_add_start(counters[tag % 2], 1, NULL, world.pipeline, tag), MCDS_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mcds_pipeline_next(world.pipeline, &done), MCDS_OK);
        assert_int_equal(done.result, MCDS_INVALID);
        assert_true(mcds_last_error()->wanted_max == (done.tag % 2 != 0 ? 16 : 8));
        assert_true(mcds_last_error()->found_number == 4);
    }
    mcds_counter_close(counters[0]);
    mcds_counter_close(counters[1]);
    end(&world);
}

static void *look_from_another_thread(void *context)
{
    *(bool *)context = mcds_last_error()->result == MCDS_OK &&
                       mcds_last_error()->reason[0] == '\0' && mcds_errmsg()[0] == '\0';
    return NULL;
}

static void a_failure_is_of_its_thread(void **state)
{
    (void)state;
    pthread_t thread;
    bool is_empty = false;
    struct world world;
    begin(&world);
    assert_int_equal(add_to_other_stripes(&world), MCDS_INVALID);
    assert_int_equal(pthread_create(&thread, NULL, look_from_another_thread, &is_empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_empty);
    assert_int_equal(mcds_last_error()->found_number, 4);
    end(&world);
}

/* Normal answers leave it as it was. */
static void a_normal_answer_is_no_failure(void **state)
{
    (void)state;
    struct world world;
    mcds_counter *counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    begin(&world);
    assert_int_equal(add_to_other_stripes(&world), MCDS_INVALID);
    assert_int_equal(mcds_counter_open(world.store, "none", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_NOT_FOUND);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_OPTION_DIFFERS);
    mcds_counter_close(counter);
    end(&world);
}

static void a_backend_may_say_it_in_its_own_words(void **state)
{
    (void)state;
    assert_int_equal(mcds_fail(MCDS_FULL, "drawer %d is full", 3), MCDS_FULL);
    assert_string_equal(mcds_errmsg(), "drawer 3 is full");
    assert_string_equal(mcds_last_error()->reason, "drawer 3 is full");
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_STORE_FULL);
    assert_int_equal(mcds_fail(MCDS_IO, "%s, and the lamp is out", mcds_errmsg()), MCDS_IO);
    assert_string_equal(mcds_errmsg(), "drawer 3 is full, and the lamp is out");
}

static void causes_have_names(void **state)
{
    (void)state;
    assert_string_equal(mcds_cause_name(MCDS_CAUSE_TIMEOUT), "MCDS_CAUSE_TIMEOUT");
    assert_string_equal(mcds_cause_name(-1), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_its_fields_and_its_sentence),
        cmocka_unit_test(a_completion_has_the_fields_of_its_operation),
        cmocka_unit_test(each_of_many_completions_has_its_own_fields),
        cmocka_unit_test(a_failure_is_of_its_thread),
        cmocka_unit_test(a_normal_answer_is_no_failure),
        cmocka_unit_test(a_backend_may_say_it_in_its_own_words),
        cmocka_unit_test(causes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
