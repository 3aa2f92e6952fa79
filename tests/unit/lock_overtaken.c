/* A shared lock whose value others keep changing: a reader that has lost a reply still acquires it. And
 * a drop that finds readers, but no fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

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
    assert_true(world.joins > 1); /* the fence was lost */
    world.loses_fence = false;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    assert_int_equal(mcds_lock_get_holder(world.lock, &holder), MCDS_OK);
    assert_int_equal(holder.shared, 1);
    assert_int_equal(mcds_lock_renew(world.lock, &world.first), MCDS_OK);
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

/* A write that is under way: it arrives when the test says so. */
struct parcel {
    struct world *world;
    mcds_command command; /* of the write that is held back */
    bool is_held;
    mcds_request request;
    uint8_t key[250];
    uint8_t value[1024];
};

static bool hold_back(void *context, mcds_request *request)
{
    struct parcel *parcel = context;
    if (request->command != parcel->command || request->ttl_ms == 0)
        return false;
    request->reply.outcome = MCDS_OUT_UNKNOWN;
    if (parcel->is_held)
        return true;
    assert_true(request->key.length <= sizeof parcel->key);
    assert_true(request->value.length <= sizeof parcel->value);
    parcel->is_held = true;
    parcel->request = *request;
    memcpy(parcel->key, request->key.data, request->key.length);
    memcpy(parcel->value, request->value.data, request->value.length);
    parcel->request.key.data = parcel->request.route.data = parcel->key;
    parcel->request.route.length = request->key.length;
    parcel->request.value.data = parcel->value;
    return true;
}

static void watch_for(struct parcel *parcel, struct world *world, mcds_command command)
{
    *parcel = (struct parcel){.world = world, .command = command};
    world->backend.hook = hold_back;
    world->backend.context = parcel;
}

static mcds_outcome arrive(struct parcel *parcel)
{
    mcds_batch one = {.requests = &parcel->request, .count = 1, .deadline_ns = INT64_MAX};
    assert_true(parcel->is_held);
    memset(&parcel->request.reply, 0, sizeof parcel->request.reply);
    mcds__backend_memory.submit(parcel->world->backend.inner, &one);
    return parcel->request.reply.outcome;
}

/*   second: acquire    its cas is under way
 *   second: release    reads the value without itself
 *   the cas arrives    if nobody has changed the value, it is a holder of whom no caller knows */
static void a_join_does_not_arrive_after_its_release(void **state)
{
    struct world world;
    struct parcel parcel;
    mcds_lease second = MCDS_LEASE_INIT;
    mcds_lease writer = MCDS_LEASE_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    (void)state;
    begin(&world);
    watch_for(&parcel, &world, MCDS_CAS);
    assert_int_equal(mcds_lock_try_acquire_shared(world.lock, &second), MCDS_AMBIGUOUS);
    world.backend.hook = NULL;
    assert_int_equal(mcds_lock_release(world.lock, &second), MCDS_AMBIGUOUS);
    assert_int_equal(arrive(&parcel), MCDS_OUT_EXISTS);
    assert_int_equal(mcds_lock_get_holder(world.lock, &holder), MCDS_OK);
    assert_int_equal(holder.shared, 1);
    assert_int_equal(mcds_lock_release(world.lock, &world.first), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(world.lock, &writer), MCDS_OK);
    assert_int_equal(mcds_lock_release(world.lock, &writer), MCDS_OK);
    end(&world);
}

/* The same with a tombstone in place of the other readers, for a reader and for a writer. */
static void a_take_does_not_arrive_after_its_release(void **state)
{
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        struct world world;
        struct parcel parcel;
        mcds_lease second = MCDS_LEASE_INIT;
        begin(&world);
        assert_int_equal(mcds_lock_release(world.lock, &world.first), MCDS_OK);
        watch_for(&parcel, &world, MCDS_ADD);
        assert_int_equal(mcds_lock_try_acquire(world.lock, &second), MCDS_AMBIGUOUS);
        world.backend.hook = NULL;
        assert_int_equal(mcds_lock_release(world.lock, &second), MCDS_AMBIGUOUS);
        watch_for(&parcel, &world, MCDS_CAS);
        assert_int_equal(shares ? mcds_lock_try_acquire_shared(world.lock, &second)
                                : mcds_lock_try_acquire(world.lock, &second),
                         MCDS_AMBIGUOUS);
        world.backend.hook = NULL;
        assert_int_equal(mcds_lock_release(world.lock, &second), MCDS_AMBIGUOUS);
        assert_int_equal(arrive(&parcel), MCDS_OUT_EXISTS);
        assert_int_equal(mcds_lock_try_acquire(world.lock, &second), MCDS_OK);
        end(&world);
    }
}

/*   0 s    writer: waits, gives up; its intent is under way
 *   10 s   the intent arrives: from here on it counts, and nobody joins
 *   13 s   it has ended */
static void a_late_intent_ends_like_any_other(void **state)
{
    struct world world;
    struct parcel parcel;
    mcds_lease writer = MCDS_LEASE_INIT;
    mcds_lease second = MCDS_LEASE_INIT;
    (void)state;
    begin(&world);
    watch_for(&parcel, &world, MCDS_CAS);
    assert_int_equal(mcds_lock_acquire(world.lock, 50, &writer), MCDS_BUSY);
    world.backend.hook = NULL;
    fake_env_advance_ms(&world.fake, 10000);
    assert_int_equal(arrive(&parcel), MCDS_OUT_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(world.lock, &second), MCDS_BUSY);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_HELD);
    fake_env_advance_ms(&world.fake, 3000);
    assert_int_equal(mcds_lock_try_acquire_shared(world.lock, &second), MCDS_OK);
    end(&world);
}

/* What another caller with the same handle does when the fence of this one was drawn. */
struct rival {
    struct world *world;
    mcds_lease lease;
    bool is_writer;
    bool has_drawn;
    int increments;
};

static bool draw_after(void *context, mcds_request *request)
{
    struct rival *rival = context;
    struct world *world = rival->world;
    mcds_batch *batch = world->backend.batch;
    if (request->command != MCDS_INCR)
        return false;
    rival->increments++;
    mcds__backend_memory.submit(world->backend.inner, batch);
    if (rival->has_drawn || request->reply.outcome != MCDS_OUT_OK || rival->increments < 2)
        return true; /* the first is of a batch whose add was refused */
    rival->has_drawn = true;
    if (rival->is_writer)
        fake_env_advance_ms(&world->fake, 120000);
    assert_int_equal(rival->is_writer
                         ? mcds_lock_try_acquire(world->lock, &rival->lease)
                         : mcds_lock_try_acquire_shared(world->lock, &rival->lease),
                     MCDS_OK);
    return true;
}

/*   first                     second, of the same handle
 *   joins, draws 11
 *                             joins, draws 12: the newest that the handle has seen
 *   its reply: 11 is smaller
 *
 * The fence was not set back. All that a raise costs is a round trip: the fences stay different, and a
 * writer gets a larger one. If `second` is a writer, the time of `first` was over before it: its lease
 * is not granted, so its smaller fence is none. */
static void a_fence_is_raised_without_harm(void **state)
{
    (void)state;
    for (int is_writer = 0; is_writer < 2; is_writer++) {
        struct world world;
        struct rival rival = {
            .world = &world, .lease = MCDS_LEASE_INIT, .is_writer = is_writer != 0};
        mcds_lease first = MCDS_LEASE_INIT;
        mcds_lease writer = MCDS_LEASE_INIT;
        begin(&world);
        world.backend.hook = draw_after;
        world.backend.context = &rival;
        int result = mcds_lock_try_acquire_shared(world.lock, &first);
        world.backend.hook = NULL;
        assert_true(rival.has_drawn);
        if (is_writer) {
            assert_int_not_equal(result, MCDS_OK);
            assert_int_equal(mcds_lock_release(world.lock, &rival.lease), MCDS_OK);
            end(&world);
            continue;
        }
        assert_int_equal(result, MCDS_OK);
        assert_true(first.fence > rival.lease.fence && rival.lease.fence > world.first.fence);
        uint64_t most = first.fence;
        assert_int_equal(mcds_lock_release(world.lock, &world.first), MCDS_OK);
        assert_int_equal(mcds_lock_release(world.lock, &first), MCDS_OK);
        assert_int_equal(mcds_lock_release(world.lock, &rival.lease), MCDS_OK);
        assert_int_equal(mcds_lock_try_acquire(world.lock, &writer), MCDS_OK);
        assert_true(writer.fence > most);
        end(&world);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_was_overtaken_finds_its_lost_join),
        cmocka_unit_test(a_lock_of_readers_without_a_fence_is_held),
        cmocka_unit_test(a_change_lengthens_no_other_lease),
        cmocka_unit_test(a_join_does_not_arrive_after_its_release),
        cmocka_unit_test(a_take_does_not_arrive_after_its_release),
        cmocka_unit_test(a_late_intent_ends_like_any_other),
        cmocka_unit_test(a_fence_is_raised_without_harm),
    };
    return cmocka_run_group_tests_name("lock_overtaken", tests, NULL, NULL);
}
