/* The cause of MCDS_BUSY: another holds it, or others kept changing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/members/members.h"
#include "structures/intervals.h"
#include "structures/views/views.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"

#define TIMEOUT_MS 1000
#define PAGES 4      /* intervals of views that operations of one handle use at once */
#define INTERVALS 40 /* of visitors */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    bool has_written;
};

/* All places of a handle for intervals, until the caller sleeps for the third time. */
static struct places {
    struct mcds__members *members;
    struct mcds__members_place *taken[INTERVALS];
    size_t count;
    uint32_t sleeps;
} places;

static void sleep_and_give_back(void *self, int64_t monotonic_ns)
{
    fake_env_sleep_until_ns(self, monotonic_ns);
    if (++places.sleeps == 3)
        for (size_t i = 0; i < places.count; i++)
            mcds__members_give(places.members, places.taken[i]);
}

static int set_up(void **state)
{
    static struct world world;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    world.fake.env.sleep_until_ns = sleep_and_give_back;
    places.sleeps = 3;
    options.env = &world.fake.env;
    options.timeout_ms = TIMEOUT_MS;
    *state = &world;
    return hooked_backend_open(&world.backend, &options, &world.store);
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mcds_close(world->store);
    return 0;
}

/* Another client changes each key between the read and the compare-and-set. */
static bool others_change_it(void *context, mcds_request *request)
{
    (void)context;
    bool deletes = request->command == MCDS_DELETE && request->cas.connection != 0;
    if (request->command != MCDS_CAS && !deletes)
        return false;
    request->reply.outcome = MCDS_OUT_EXISTS;
    return true;
}

/* From the first write on, each key is there for a write, and gone for the read after it. */
static bool keys_vanish(void *context, mcds_request *request)
{
    struct world *world = context;
    world->has_written = world->has_written || request->command == MCDS_ADD;
    if (!world->has_written)
        return false;
    request->reply.outcome = request->command == MCDS_ADD ? MCDS_OUT_NOT_STORED : MCDS_OUT_MISS;
    return true;
}

static void check(int result, mcds_cause cause, const char *sentence)
{
    const mcds_error *error = mcds_last_error();
    assert_int_equal(result, MCDS_BUSY);
    assert_int_equal(error->result, MCDS_BUSY);
    assert_string_equal(mcds_cause_name((int)error->cause), mcds_cause_name((int)cause));
    assert_string_equal(mcds_errmsg(), sentence);
}

/* But for the last pause, of at most 100 ms. */
static void assert_took_the_timeout(const struct world *world, int64_t begun_ns)
{
    int64_t gone_ms = (world->fake.monotonic_ns - begun_ns) / 1000000;
    assert_in_range(gone_ms, TIMEOUT_MS - 100, TIMEOUT_MS);
}

static void a_held_lock_is_held(void **state)
{
    struct world *world = *state;
    mcds_lock *lock;
    mcds_lease mine = MCDS_LEASE_INIT;
    mcds_lease other = MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_open(world->store, "l", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &mine), MCDS_OK);
    check(mcds_lock_try_acquire(lock, &other), MCDS_CAUSE_HELD,
          "lock 'l': acquire: another holds it");
    check(mcds_lock_drop(lock), MCDS_CAUSE_HELD,
          "lock 'l': drop: it is held; drop it after its holder has released it");
    mcds_lock_close(lock);
}

static void a_lock_whose_key_vanishes_is_not_held(void **state)
{
    struct world *world = *state;
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_open(world->store, "l", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    assert_int_equal(mcds_lock_release(lock, &lease), MCDS_OK);
    world->backend.hook = keys_vanish;
    world->backend.context = world;
    check(mcds_lock_try_acquire(lock, &lease), MCDS_CAUSE_CONTENDED,
          "lock 'l': acquire: the key vanishes again and again");
    world->has_written = false;
    check(mcds_lock_drop(lock), MCDS_CAUSE_CONTENDED,
          "lock 'l': drop: the key vanishes again and again");
    mcds_lock_close(lock);
}

static void what_others_change_is_contended(void **state)
{
    struct world *world = *state;
    mcds_counter *counter;
    mcds_array *array;
    mcds_bytes element = mcds_text("e");
    int64_t taken;
    assert_int_equal(mcds_counter_open(world->store, "c", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_array_open(world->store, "a", NULL, &array), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_array_set(array, &element, 1), MCDS_OK);
    world->backend.hook = others_change_it;
    check(mcds_counter_take(counter, &taken), MCDS_CAUSE_CONTENDED,
          "counter 'c': take: others kept changing it");
    check(mcds_array_change(array, &element, 1, NULL, 0), MCDS_CAUSE_CONTENDED,
          "array 'a': change: others change it all the time");
    mcds_counter_close(counter);
    mcds_array_close(array);
}

/* A call that reads again after the change of another client does so until the timeout. */
static void others_may_change_it_until_the_timeout(void **state)
{
    struct world *world = *state;
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_semaphore *semaphore;
    mcds_semaphore_options permits = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_permit permit = MCDS_PERMIT_INIT;
    permits.permits = 2;
    assert_int_equal(mcds_lock_open(world->store, "l", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_semaphore_open(world->store, "s", &permits, &semaphore), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    assert_int_equal(mcds_semaphore_try_acquire(semaphore, &permit), MCDS_OK);
    world->backend.hook = others_change_it;
    int64_t begun_ns = world->fake.monotonic_ns;
    check(mcds_lock_break(lock), MCDS_CAUSE_CONTENDED,
          "lock 'l': break: others kept changing it");
    assert_took_the_timeout(world, begun_ns);
    begun_ns = world->fake.monotonic_ns;
    check(mcds_semaphore_resize(semaphore, 3, NULL), MCDS_CAUSE_CONTENDED,
          "semaphore 's': resize: others kept changing it");
    assert_took_the_timeout(world, begun_ns);
    mcds_lock_close(lock);
    mcds_semaphore_close(semaphore);
}

static void take_places(struct mcds__members *members, size_t count)
{
    places.members = members;
    places.count = count;
    for (size_t i = 0; i < count; i++) {
        places.taken[i] = mcds__members_take(members, 1 + i);
        assert_non_null(places.taken[i]);
    }
}

/* A flush, a drop and a hit need a place for their interval: they wait for it, and then say so. */
static void views_wait_for_an_interval(void **state)
{
    struct world *world = *state;
    mcds_views_options options = views_without_database();
    mcds_views *views;
    assert_int_equal(mcds_views_open(world->store, "v", &options, &views), MCDS_OK);
    assert_int_equal(mcds_views_hit(views, "/", 1), MCDS_OK);
    take_places(views->pages, PAGES);
    int64_t begun_ns = world->fake.monotonic_ns;
    check(mcds_views_flush(views), MCDS_CAUSE_CONTENDED,
          "views 'v': flush: too many intervals are in use at once");
    assert_took_the_timeout(world, begun_ns);
    begun_ns = world->fake.monotonic_ns;
    check(mcds_views_hit(views, "/other", 1), MCDS_CAUSE_CONTENDED,
          "views 'v': hit: too many intervals are in use at once");
    assert_took_the_timeout(world, begun_ns);
    check(mcds_views_drop(views), MCDS_CAUSE_CONTENDED,
          "views 'v': drop: too many intervals are in use at once");
    places.sleeps = 0;
    assert_int_equal(mcds_views_flush(views), MCDS_OK);
    assert_int_equal(places.sleeps, 3);
    places.sleeps = 0;
    take_places(views->pages, PAGES);
    assert_int_equal(mcds_views_drop(views), MCDS_OK);
    assert_int_equal(places.sleeps, 3);
    mcds_views_close(views);
}

/* The value of the visitors of one interval, and their drop, as the hit before them. */
static void visitors_wait_for_an_interval(void **state)
{
    struct world *world = *state;
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *visitors;
    options.members = MCDS_MEMBERS_EXACT;
    assert_int_equal(mcds_visitors_open(world->store, "v", &options, &visitors), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, "ann", 0), MCDS_OK);
    struct mcds__members *members = ((struct mcds__intervals *)visitors)->members;
    take_places(members, INTERVALS);
    int64_t begun_ns = world->fake.monotonic_ns;
    check(mcds_visitors_hit(visitors, "bob", 0), MCDS_CAUSE_CONTENDED,
          "visitors 'v': hit: too many intervals are in use at once");
    assert_took_the_timeout(world, begun_ns);
    begun_ns = world->fake.monotonic_ns;
    check(mcds_visitors_get(visitors, 0, &value), MCDS_CAUSE_CONTENDED,
          "visitors 'v': get: too many intervals are in use at once");
    assert_took_the_timeout(world, begun_ns);
    begun_ns = world->fake.monotonic_ns;
    check(mcds_visitors_drop(visitors, 0), MCDS_CAUSE_CONTENDED,
          "visitors 'v': drop: too many intervals are in use at once");
    assert_took_the_timeout(world, begun_ns);
    places.sleeps = 0;
    assert_int_equal(mcds_visitors_get(visitors, 0, &value), MCDS_OK);
    assert_int_equal(value.current, 1);
    assert_int_equal(places.sleeps, 3);
    places.sleeps = 0;
    take_places(members, INTERVALS);
    assert_int_equal(mcds_visitors_drop(visitors, 0), MCDS_OK);
    assert_int_equal(places.sleeps, 3);
    mcds_visitors_close(visitors);
}

static void a_completion_has_its_cause(void **state)
{
    struct world *world = *state;
    mcds_counter *counter;
    mcds_pipeline *pipeline;
    mcds_completion done;
    int64_t taken;
    assert_int_equal(mcds_counter_open(world->store, "c", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &pipeline), MCDS_OK);
    world->backend.hook = others_change_it;
    assert_int_equal(mcds_counter_take_start(counter, &taken, pipeline, 1), MCDS_OK);
    assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
    check(done.result, MCDS_CAUSE_CONTENDED, "counter 'c': take: others kept changing it");
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_held_lock_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_whose_key_vanishes_is_not_held, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_others_change_is_contended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_may_change_it_until_the_timeout, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(views_wait_for_an_interval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(visitors_wait_for_an_interval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_completion_has_its_cause, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
