/* A shared lock whose value others keep changing: a reader that has lost a reply still acquires it. And
 * a drop that finds readers, but no fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define LOSSES 5

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_lock *lock;
    mcds_lease first;
    int joins;     /* that the store has seen */
    int overtaken; /* joins before this one fail, and the reply to this one is lost; 0: none */
    bool loses_fence;
    bool counts_seconds;
    int writes;
};

static bool interfere(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->counts_seconds &&
        (request->command == MCDS_CAS || request->command == MCDS_ADD) && request->ttl_ms > 0) {
        assert_int_equal(request->ttl_ms % 1000, 0);
        world->writes++;
    }
    if (world->loses_fence && request->command == MCDS_GET &&
        (request->options & MCDS_WANT_TTL) != 0 && world->joins++ == 1) {
        request->reply.outcome = MCDS_OUT_MISS;
        return true;
    }
    if (world->overtaken == 0 || request->command != MCDS_CAS)
        return false;
    world->joins++;
    if (world->joins < world->overtaken) {
        request->reply.outcome = MCDS_OUT_EXISTS;
        return true;
    }
    if (world->joins > world->overtaken)
        return false;
    mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    return true;
}

/* A lock that one reader holds. */
static void begin(struct world *world)
{
    static const mcds_lease none = MCDS_LEASE_INIT;
    mcds_options options = MCDS_OPTIONS_INIT;
    *world = (struct world){.first = none};
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_lock_open(world->store, "l", NULL, &world->lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(world->lock, &world->first), MCDS_OK);
    world->backend.hook = interfere;
    world->backend.context = world;
}

static void end(struct world *world)
{
    mcds_lock_close(world->lock);
    mcds_close(world->store);
}

static void a_reader_that_was_overtaken_finds_its_lost_join(void **state)
{
    (void)state;
    for (int overtaken = 1; overtaken <= LOSSES; overtaken++) {
        struct world world;
        mcds_lease second = MCDS_LEASE_INIT;
        begin(&world);
        world.overtaken = overtaken;
        assert_int_equal(mcds_lock_try_acquire_shared(world.lock, &second), MCDS_OK);
        assert_true(world.joins > overtaken);
        end(&world);
    }
}

static void a_lock_of_readers_without_a_fence_is_held(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    world.loses_fence = true;
    assert_int_equal(mcds_lock_drop(world.lock), MCDS_BUSY);
    assert_true(world.joins > 1);
    end(&world);
}

/* A store that keeps whole seconds would round up what is left of all leases, at each change. */
static void a_change_lengthens_no_other_lease(void **state)
{
    (void)state;
    struct world world;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    begin(&world);
    world.backend.ttl_early_ms = 1000;
    world.counts_seconds = true;
    options.lease_ms = 6001;
    assert_int_equal(mcds_lock_open(world.store, "l", &options, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(lock, &lease), MCDS_OK);
    fake_env_advance_ms(&world.fake, 123);
    assert_int_equal(mcds_lock_renew(lock, &lease), MCDS_OK);
    assert_true(world.writes > 1);
    mcds_lock_close(lock);
    end(&world);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_was_overtaken_finds_its_lost_join),
        cmocka_unit_test(a_lock_of_readers_without_a_fence_is_held),
        cmocka_unit_test(a_change_lengthens_no_other_lease),
    };
    return cmocka_run_group_tests_name("lock_overtaken", tests, NULL, NULL);
}
