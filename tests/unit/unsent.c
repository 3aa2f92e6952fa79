/* A call that could not be sent or answered in time names the last obstacle on its way, and is
 * UNAVAILABLE, never BUSY; where there was none but the deadline, it is TIMEOUT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/reason.h"
#include "core/map/map.h"
#include "mcds.h"
#include "structures/keyed.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define TIMEOUT_MS 1000
#define STEP_MS 30
#define OBSTACLES 3        /* requests that meet an obstacle before only time runs out */
#define ELEMENTS 4000      /* more than one key can contain */
#define FIRST_ELEMENTS 200 /* so many that the first key has been split */
#define ELEMENT_CAPACITY 64
#define PEER "server-1:11211"
#define OTHER "server-2:11211"
#define DEPTH 64 /* of a pipeline */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t unsent;    /* requests so far */
    uint32_t obstacles; /* how many of them are refused a connection */
    bool is_split;      /* only requests that make the children of a key are not sent */
    bool is_unread;     /* only reads of the root are not sent */
    bool is_silent;     /* what meets an obstacle is sent, and not answered */
    bool
        ends_late; /* what meets none is sent to another server, which is silent until the end */
};

/* Only that of the name "x": the other keys end with a number. */
static bool is_root(mcds_bytes key)
{
    return ((const char *)key.data)[key.length - 1] == 'x';
}

static bool keep_back(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->is_split && request->command != MCDS_ADD)
        return false;
    if (world->is_unread && (request->command != MCDS_GET || !is_root(request->key)))
        return false;
    bool is_obstacle = world->unsent++ < world->obstacles;
    bool is_late = world->ends_late && !is_obstacle;
    fake_env_advance_ms(&world->fake, is_late ? TIMEOUT_MS : world->is_split ? 1 : STEP_MS);
    bool is_sent = is_late || (world->is_silent && is_obstacle);
    request->reply.outcome = is_sent ? MCDS_OUT_UNKNOWN : MCDS_OUT_UNSENT;
    request->reply.detail = is_sent       ? MCDS__WHY(NO_ANSWER)
                            : is_obstacle ? MCDS__WHY(CONNECTION_REFUSED)
                                          : MCDS__WHY(PAST_DEADLINE);
    request->reply.peer = is_obstacle ? PEER : is_late ? OTHER : NULL;
    return true;
}

static void open_world(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.context = world;
}

static int add_to_counter(mcds_store *store)
{
    mcds_counter *counter;
    assert_int_equal(mcds_counter_open(store, "x", NULL, &counter), MCDS_OK);
    int result = mcds_counter_add(counter, 1, NULL);
    mcds_counter_close(counter);
    return result;
}

static int add_to_set(mcds_store *store)
{
    mcds_set *set;
    assert_int_equal(mcds_set_open(store, "x", NULL, &set), MCDS_OK);
    int result = mcds_set_add(set, mcds_text("e"), NULL);
    mcds_set_close(set);
    return result;
}

static int look_into_table(mcds_store *store)
{
    mcds_table *table;
    assert_int_equal(mcds_table_open(store, "x", NULL, &table), MCDS_OK);
    int result = mcds_table_has(table, mcds_text("k"));
    mcds_table_close(table);
    return result;
}

static int set_array(mcds_store *store)
{
    mcds_bytes element = mcds_text("e");
    mcds_array *array;
    assert_int_equal(mcds_array_open(store, "x", NULL, &array), MCDS_OK);
    int result = mcds_array_set(array, &element, 1);
    mcds_array_close(array);
    return result;
}

static int push_to_list(mcds_store *store)
{
    mcds_list *list;
    assert_int_equal(mcds_list_open(store, "x", NULL, &list), MCDS_OK);
    int result = mcds_list_push(list, mcds_text("e"));
    mcds_list_close(list);
    return result;
}

static int put_to_log(mcds_store *store)
{
    mcds_log *log;
    assert_int_equal(mcds_log_open(store, "x", NULL, &log), MCDS_OK);
    int result = mcds_log_put(log, 0, mcds_text("e"));
    mcds_log_close(log);
    return result;
}

static int acquire_lock(mcds_store *store)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    assert_int_equal(mcds_lock_open(store, "x", NULL, &lock), MCDS_OK);
    int result = mcds_lock_try_acquire(lock, &lease);
    mcds_lock_close(lock);
    return result;
}

static int (*const calls[])(mcds_store *store) = {add_to_counter, add_to_set,   look_into_table,
                                                  set_array,      push_to_list, put_to_log,
                                                  acquire_lock};

static void check(int found, int result, mcds_cause cause, const char *peer)
{
    const mcds_error *error = mcds_last_error();
    assert_int_equal(found, result);
    assert_string_equal(mcds_cause_name((int)error->cause), mcds_cause_name((int)cause));
    assert_string_equal(error->peer, peer);
}

static void check_calls(uint32_t obstacles, int result, mcds_cause cause, const char *peer)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct world world;
        open_world(&world);
        world.backend.hook = keep_back;
        world.obstacles = obstacles;
        check(calls[i](world.store), result, cause, peer);
        mcds_close(world.store);
    }
}

static void an_obstacle_is_named_until_the_deadline(void **state)
{
    (void)state;
    check_calls(UINT32_MAX, MCDS_UNAVAILABLE, MCDS_CAUSE_CONNECTION_REFUSED, PEER);
}

static void a_deadline_does_not_replace_an_obstacle(void **state)
{
    (void)state;
    check_calls(OBSTACLES, MCDS_UNAVAILABLE, MCDS_CAUSE_CONNECTION_REFUSED, PEER);
}

static void a_deadline_alone_is_a_timeout(void **state)
{
    (void)state;
    check_calls(0, MCDS_TIMEOUT, MCDS_CAUSE_TIMEOUT, "");
}

/* Add until a key has been sealed for a split whose children cannot be made. Returns the result
 * of the addition that needs one of them. Its record came after the seal, so it is void. */
static int add_until_split(struct world *world, mcds_set *set, char element[ELEMENT_CAPACITY])
{
    int result = MCDS_OK;
    world->backend.hook = keep_back;
    world->is_split = true;
    for (int i = 0; i < ELEMENTS && result == MCDS_OK; i++) {
        (void)snprintf(element, ELEMENT_CAPACITY, "%050d", i);
        result = mcds_set_add(set, mcds_text(element), NULL);
    }
    world->backend.hook = NULL;
    return result;
}

static void check_split(uint32_t obstacles, bool is_silent, int result, mcds_cause cause,
                        const char *peer)
{
    char element[ELEMENT_CAPACITY];
    struct world world;
    mcds_set *set;
    open_world(&world);
    assert_int_equal(mcds_set_open(world.store, "x", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_add(set, mcds_text("first"), NULL), MCDS_OK);
    world.obstacles = obstacles;
    world.is_silent = is_silent;
    check(add_until_split(&world, set, element), result, cause, peer);
    assert_int_equal(mcds_set_add(set, mcds_text("later"), NULL), MCDS_OK);
    assert_int_equal(mcds_set_has(set, mcds_text(element)), MCDS_NOT_FOUND);
    mcds_set_close(set);
    mcds_close(world.store);
}

static void what_waits_for_a_split_names_it_too(void **state)
{
    (void)state;
    check_split(UINT32_MAX, false, MCDS_UNAVAILABLE, MCDS_CAUSE_CONNECTION_REFUSED, PEER);
    check_split(UINT32_MAX, true, MCDS_UNAVAILABLE, MCDS_CAUSE_SERVER_SILENT, PEER);
    check_split(0, false, MCDS_TIMEOUT, MCDS_CAUSE_TIMEOUT, "");
}

/* One of them splits the key, and the others wait for it. */
static void what_waits_in_a_pipeline_for_a_split_names_it_too(void **state)
{
    (void)state;
    char elements[DEPTH][ELEMENT_CAPACITY];
    struct world world;
    mcds_set *set;
    mcds_pipeline *pipeline;
    mcds_completion done;
    int failures = 0;
    open_world(&world);
    assert_int_equal(mcds_set_open(world.store, "x", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_add(set, mcds_text("first"), NULL), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    world.backend.hook = keep_back;
    world.is_split = true;
    world.obstacles = UINT32_MAX;
    for (int i = 0; i < ELEMENTS && failures < DEPTH; i += DEPTH) {
        for (int k = 0; k < DEPTH; k++) {
            (void)snprintf(elements[k], ELEMENT_CAPACITY, "%050d", i + k);
            assert_int_equal(mcds_set_add_start(set, mcds_text(elements[k]), NULL, pipeline, 0),
                             MCDS_OK);
        }
        for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK;) {
            bool is_unapplied = done.result == MCDS_UNAVAILABLE;
            if (done.result == MCDS_OK)
                continue;
            failures++;
            check(done.result, is_unapplied ? MCDS_UNAVAILABLE : MCDS_AMBIGUOUS,
                  MCDS_CAUSE_CONNECTION_REFUSED, PEER);
        }
    }
    assert_true(failures >= DEPTH);
    mcds_pipeline_close(pipeline);
    mcds_set_close(set);
    mcds_close(world.store);
}

/* The peer of all replies, and whether a key is made meanwhile. */
struct answers {
    struct world *world;
    const char *peer;
    bool makes;
};

static bool answer_as(void *context, mcds_request *request)
{
    struct answers *answers = context;
    mcds_batch batch = *answers->world->backend.batch;
    answers->makes = answers->makes || request->command == MCDS_ADD;
    mcds__backend_memory.submit(answers->world->backend.inner, &batch);
    request->reply.peer = answers->peer;
    return true;
}

/* An element that is in none of the keys below the one of the other. */
static void find_apart(struct mcds__map *map, const char *other, char *element)
{
    struct mcds__map_life life = mcds__map_life(map);
    uint64_t others = mcds__map_hash(life.hash_key, mcds_text(other)) >> 62;
    int i = 0;
    do
        (void)snprintf(element, ELEMENT_CAPACITY, "apart-%d", i++);
    while (mcds__map_hash(life.hash_key, mcds_text(element)) >> 62 == others);
}

/* The handle has an obstacle after this add, which was answered by `peer`. */
static bool has_obstacle_after(struct world *world, mcds_set *set, const char *element,
                               const char *peer)
{
    struct answers answers = {.world = world, .peer = peer};
    struct mcds__map *map = &((struct mcds__keyed *)set)->map;
    world->backend.hook = answer_as;
    world->backend.context = &answers;
    assert_int_equal(mcds_set_add(set, mcds_text(element), NULL), MCDS_OK);
    world->backend.context = world;
    assert_false(answers.makes);
    return atomic_load(&map->obstacle) != NULL;
}

/* A handle keeps the obstacle of a split until the server answers. */
static void an_obstacle_is_forgotten_with_an_answer(void **state)
{
    (void)state;
    char element[ELEMENT_CAPACITY];
    char apart[ELEMENT_CAPACITY];
    struct world world;
    mcds_set *set;
    open_world(&world);
    assert_int_equal(mcds_set_open(world.store, "x", NULL, &set), MCDS_OK);
    for (int i = 0; i < FIRST_ELEMENTS; i++) {
        (void)snprintf(element, ELEMENT_CAPACITY, "%d", i);
        assert_int_equal(mcds_set_add(set, mcds_text(element), NULL), MCDS_OK);
    }
    world.obstacles = UINT32_MAX;
    assert_int_equal(add_until_split(&world, set, element), MCDS_UNAVAILABLE);
    find_apart(&((struct mcds__keyed *)set)->map, element, apart);
    assert_true(has_obstacle_after(&world, set, apart, OTHER));
    assert_false(has_obstacle_after(&world, set, apart, PEER));
    mcds_set_close(set);
    mcds_close(world.store);
}

/* A silent server is TIMEOUT where the deadline has passed. */
static void check_unread(int found, mcds_cause cause)
{
    bool is_late = cause == MCDS_CAUSE_SERVER_SILENT && found == MCDS_TIMEOUT;
    check(found, is_late ? MCDS_TIMEOUT : MCDS_UNAVAILABLE, cause, PEER);
}

static void check_root_waiting(struct world *world, mcds_cause cause)
{
    mcds_table *table;
    mcds_set *set;
    mcds_value value = MCDS_VALUE_INIT;
    assert_int_equal(mcds_table_open(world->store, "x", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "x", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_table_put(table, mcds_text("k"), mcds_text("v"), 0), MCDS_OK);
    assert_int_equal(mcds_set_add(set, mcds_text("k"), NULL), MCDS_OK);
    world->backend.hook = keep_back;
    check_unread(mcds_table_has(table, mcds_text("k")), cause);
    check_unread(mcds_table_get(table, mcds_text("k"), &value), cause);
    check_unread(mcds_set_has(set, mcds_text("k")), cause);
    world->backend.hook = NULL;
    assert_int_equal(mcds_table_get(table, mcds_text("k"), &value), MCDS_OK);
    mcds_value_free(&value);
    mcds_table_close(table);
    mcds_set_close(set);
}

/* One of them reads the root, and the others wait for it. */
static void check_root_in_pipeline(struct world *world, mcds_cause cause)
{
    mcds_set *set;
    mcds_pipeline *pipeline;
    mcds_completion done;
    int count = 0;
    assert_int_equal(mcds_set_open(world->store, "x", NULL, &set), MCDS_OK);
    assert_int_equal(mcds_set_has(set, mcds_text("k")), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
    world->backend.hook = keep_back;
    for (int i = 0; i < DEPTH; i++)
        assert_int_equal(mcds_set_has_start(set, mcds_text("k"), pipeline, 0), MCDS_OK);
    for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK; count++)
        check_unread(done.result, cause);
    assert_int_equal(count, DEPTH);
    world->backend.hook = NULL;
    mcds_pipeline_close(pipeline);
    mcds_set_close(set);
}

/* The key is read, and the root is not. */
static void a_root_that_is_not_read_names_its_server(void **state)
{
    (void)state;
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        struct world world;
        mcds_cause cause = is_silent ? MCDS_CAUSE_SERVER_SILENT : MCDS_CAUSE_CONNECTION_REFUSED;
        open_world(&world);
        world.is_unread = true;
        world.is_silent = is_silent;
        world.obstacles = UINT32_MAX;
        check_root_waiting(&world, cause);
        check_root_in_pipeline(&world, cause);
        mcds_close(world.store);
    }
}

/* The time was lost at the first server, so the second has none. */
static void a_server_without_time_is_not_blamed(void **state)
{
    (void)state;
    int (*const of_one_request[])(mcds_store *) = {add_to_counter, look_into_table};
    for (int i = 0; i < 2; i++) {
        struct world world;
        open_world(&world);
        world.backend.hook = keep_back;
        world.ends_late = true;
        world.obstacles = OBSTACLES;
        check(of_one_request[i](world.store), i == 0 ? MCDS_AMBIGUOUS : MCDS_UNAVAILABLE,
              MCDS_CAUSE_CONNECTION_REFUSED, PEER);
        mcds_close(world.store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_obstacle_is_named_until_the_deadline),
        cmocka_unit_test(a_deadline_does_not_replace_an_obstacle),
        cmocka_unit_test(a_deadline_alone_is_a_timeout),
        cmocka_unit_test(what_waits_for_a_split_names_it_too),
        cmocka_unit_test(what_waits_in_a_pipeline_for_a_split_names_it_too),
        cmocka_unit_test(an_obstacle_is_forgotten_with_an_answer),
        cmocka_unit_test(a_root_that_is_not_read_names_its_server),
        cmocka_unit_test(a_server_without_time_is_not_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
