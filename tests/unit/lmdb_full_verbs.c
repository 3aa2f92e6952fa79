/* The verbs of cache, limit, semaphore, once, ids and queue in an lmdb: file that is full. Each ends
 * at once. A change that is acknowledged is stored, and a refused one is not. The refusal names map_max.
 * Verbs that end a claim, a permit or a job need no room. With room again, each verb works. */
#include "support/fake_env.h"
#include "support/lmdb_fixture.h"

#include "mcds.h"

#define OPTIONS "?sync=async&map_max=1048576"
#define OLD 8      /* of each kind are made before */
#define CALLS 1000 /* of each kind in the full file, at most */
#define REFUSED 20 /* so many are refused */
#define ALL (OLD + CALLS)
#define LENGTH 300   /* of a value */
#define FETCHED 1000 /* the first key of the fetches */

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_table *filler;
    mcds_cache *cache;
    mcds_limit *limit;
    mcds_once *once;
    mcds_semaphore *semaphores[ALL];
    mcds_permit permits[ALL];
    mcds_ids *ids[ALL];
    mcds_queue *queues[ALL];
};

static mcds_bytes name_of(uint32_t number)
{
    static char name[16];
    (void)snprintf(name, sizeof name, "key-%u", (unsigned)number);
    return mcds_text(name);
}

static mcds_bytes content(void)
{
    static const char bytes[LENGTH];
    return (mcds_bytes){bytes, sizeof bytes};
}

static int put_into_cache(struct world *world, uint32_t number)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    const mcds_bytes made = content();
    int result = mcds_cache_look(world->cache, name_of(number), NULL, 0, 0, &value, &claim);
    if (result != MCDS_NOT_FOUND)
        return result;
    assert_true(claim.mine);
    result = mcds_cache_put(world->cache, &claim, &made);
    if (result != MCDS_OK)
        assert_int_equal(mcds_cache_release(world->cache, &claim), MCDS_OK);
    return result;
}

static int add_content(void *context, mcds_bytes key, mcds_fill *fill)
{
    (void)context;
    (void)key;
    return mcds_fill_add(fill, content());
}

/* A value that cannot be stored is returned all the same. */
static int fetch_cached(struct world *world, uint32_t number)
{
    mcds_cache_state state = MCDS_CACHE_MISSING;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_cache_fetch(world->cache, name_of(FETCHED + number), NULL, 0, add_content,
                                  NULL, &value, &state);
    assert_int_equal(result, MCDS_OK);
    assert_int_equal(value.length, LENGTH);
    mcds_value_free(&value);
    return state == MCDS_CACHE_UNSTORED ? MCDS_FULL : MCDS_OK;
}

static bool is_in_cache(struct world *world, uint32_t number)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_cache_look(world->cache, name_of(number), NULL, 0, 0, &value, &claim);
    if (claim.mine)
        assert_int_equal(mcds_cache_release(world->cache, &claim), MCDS_OK);
    mcds_value_free(&value);
    return result == MCDS_OK;
}

static bool is_fetched(struct world *world, uint32_t number)
{
    return is_in_cache(world, FETCHED + number);
}

static int take(struct world *world, uint32_t number)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    return mcds_limit_take(world->limit, name_of(number), 1, 0, &value);
}

static bool is_taken(struct world *world, uint32_t number)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    assert_int_equal(mcds_limit_get(world->limit, name_of(number), &value), MCDS_OK);
    return value.full_ms > 0;
}

static int acquire(struct world *world, uint32_t number)
{
    world->permits[number] = (mcds_permit)MCDS_PERMIT_INIT;
    return mcds_semaphore_try_acquire(world->semaphores[number], &world->permits[number]);
}

static bool count_holder(void *context, const mcds_semaphore_holder *holder)
{
    (void)holder;
    ++*(uint32_t *)context;
    return true;
}

static bool is_held(struct world *world, uint32_t number)
{
    uint32_t holders = 0;
    int result = mcds_semaphore_holders(world->semaphores[number], count_holder, &holders);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    return holders == 1;
}

static int run_once(struct world *world, uint32_t number)
{
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_once_begin(world->once, name_of(number), name_of(0), 0, &run, &value,
                                 NULL);
    if (result != MCDS_OK)
        return result;
    assert_true(run.mine);
    result = mcds_once_finish(world->once, &run, 0, content());
    if (result != MCDS_OK)
        assert_int_equal(mcds_once_abandon(world->once, &run), MCDS_OK);
    return result;
}

static bool is_done(struct world *world, uint32_t number)
{
    mcds_once_value found = MCDS_ONCE_VALUE_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_once_get(world->once, name_of(number), &found, &value);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_value_free(&value);
    return result == MCDS_OK && found.state == MCDS_ONCE_DONE;
}

static int next_id(struct world *world, uint32_t number)
{
    uint64_t id;
    return mcds_ids_next(world->ids[number], &id);
}

static bool has_ids(struct world *world, uint32_t number)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    return mcds_ids_made_with(world->store, name_of(number).data, &options) == MCDS_OK;
}

static int push(struct world *world, uint32_t number)
{
    return mcds_queue_push(world->queues[number], content(), 0);
}

static bool has_job(struct world *world, uint32_t number)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    int result = mcds_queue_count(world->queues[number], &counts);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    return result == MCDS_OK && counts.waiting == 1;
}

struct kind {
    const char *name;
    int (*change)(struct world *world, uint32_t number);
    bool (*is_there)(struct world *world, uint32_t number);
    bool is_silent; /* the refusal is no failure */
};

static const struct kind kinds[] = {
    {"cache put", put_into_cache, is_in_cache, false},
    {"cache fetch", fetch_cached, is_fetched, true},
    {"limit take", take, is_taken, false},
    {"semaphore acquire", acquire, is_held, false},
    {"once", run_once, is_done, false},
    {"ids next", next_id, has_ids, false},
    {"queue push", push, has_job, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void open_each(struct world *world)
{
    mcds_semaphore_options permits = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_limit_options limit = MCDS_LIMIT_OPTIONS_INIT;
    permits.permits = 1;
    limit.rate_count = 1;
    limit.rates[0] = (mcds_rate){.count = 10, .per_ms = 3600000};
    assert_int_equal(mcds_table_open(world->store, "filler", NULL, &world->filler), MCDS_OK);
    assert_int_equal(mcds_cache_open(world->store, "c", NULL, &world->cache), MCDS_OK);
    assert_int_equal(mcds_limit_open(world->store, "l", &limit, &world->limit), MCDS_OK);
    assert_int_equal(mcds_once_open(world->store, "o", NULL, &world->once), MCDS_OK);
    for (uint32_t i = 0; i < ALL; i++) {
        const char *name = name_of(i).data;
        assert_int_equal(
            mcds_semaphore_open(world->store, name, &permits, &world->semaphores[i]), MCDS_OK);
        assert_int_equal(mcds_ids_open(world->store, name, NULL, &world->ids[i]), MCDS_OK);
        assert_int_equal(mcds_queue_open(world->store, name, NULL, &world->queues[i]), MCDS_OK);
    }
}

static void close_each(struct world *world)
{
    for (uint32_t i = 0; i < ALL; i++) {
        mcds_semaphore_close(world->semaphores[i]);
        mcds_ids_close(world->ids[i]);
        mcds_queue_close(world->queues[i]);
    }
    mcds_table_close(world->filler);
    mcds_cache_close(world->cache);
    mcds_limit_close(world->limit);
    mcds_once_close(world->once);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void fill(struct world *world)
{
    uint32_t rows = 0;
    for (size_t length = LENGTH * 1000; length > 0; length /= 2) {
        int result = MCDS_OK;
        for (; result == MCDS_OK; rows++) {
            mcds_bytes value = {content().data, length < LENGTH ? length : LENGTH};
            result = mcds_table_put(world->filler, name_of(rows), value, 0);
        }
        assert_int_equal(result, MCDS_FULL);
    }
}

/* Returns whether it was refused. */
static bool check_change(struct world *world, const struct kind *kind, uint32_t number)
{
    int64_t begin_ns = world->fake.monotonic_ns;
    int result = kind->change(world, number);
    if (result != MCDS_OK && result != MCDS_FULL)
        fail_msg("%s %u: %s: %s", kind->name, (unsigned)number, mcds_result_name(result),
                 mcds_errmsg());
    if (result == MCDS_FULL && !kind->is_silent && strstr(mcds_errmsg(), "map_max") == NULL)
        fail_msg("%s names no way out: %s", kind->name, mcds_errmsg());
    /* The first ids of a name are returned only after their spread. */
    assert_true(result == MCDS_OK || world->fake.monotonic_ns == begin_ns);
    if (kind->is_there(world, number) != (result == MCDS_OK))
        fail_msg("%s %u: %s, and it is not so", kind->name, (unsigned)number,
                 mcds_result_name(result));
    return result == MCDS_FULL;
}

/* The objects that the test makes before the file is full. */
static void end_old(struct world *world, uint32_t number)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_bytes name = name_of(number);
    assert_int_equal(mcds_cache_forget(world->cache, name), MCDS_OK);
    assert_int_equal(mcds_once_forget(world->once, name), MCDS_OK);
    assert_int_equal(mcds_limit_give(world->limit, name, 1), MCDS_OK);
    mcds_permit *permit = &world->permits[number];
    assert_int_equal(mcds_semaphore_renew(world->semaphores[number], permit), MCDS_OK);
    assert_int_equal(mcds_semaphore_release(world->semaphores[number], permit), MCDS_OK);
    assert_int_equal(mcds_semaphore_drop(world->semaphores[number]), MCDS_OK);
    assert_int_equal(mcds_ids_drop(world->ids[number]), MCDS_OK);
    assert_int_equal(mcds_queue_next(world->queues[number], 0, &job, &value), MCDS_OK);
    assert_int_equal(mcds_queue_done(world->queues[number], &job), MCDS_OK);
    assert_int_equal(mcds_queue_drop(world->queues[number]), MCDS_OK);
    mcds_value_free(&value);
    for (size_t i = 0; i < KINDS; i++)
        assert_int_equal(kinds[i].is_there(world, number), kinds[i].is_silent);
}

static void begin(struct world *world, const struct fixture *fixture)
{
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    world->store = open_store(fixture->file, OPTIONS, &world->fake.env);
    open_each(world);
    for (size_t i = 0; i < KINDS; i++)
        for (uint32_t number = 0; number < OLD; number++)
            assert_false(check_change(world, &kinds[i], number));
    fill(world);
}

static void what_is_refused_is_not_there(void **state)
{
    static struct world world;
    begin(&world, *state);
    for (size_t i = 0; i < KINDS; i++) {
        uint32_t refused = 0;
        for (uint32_t number = OLD; number < ALL && refused < REFUSED; number++)
            refused += check_change(&world, &kinds[i], number);
        assert_int_equal(refused, REFUSED);
    }
    assert_int_equal(mcds_table_drop(world.filler), MCDS_OK);
    for (size_t i = 0; i < KINDS; i++)
        for (uint32_t number = OLD; number < OLD + REFUSED; number++)
            if (!kinds[i].is_there(&world, number))
                assert_false(check_change(&world, &kinds[i], number));
    close_each(&world);
}

static void what_ends_something_needs_no_room(void **state)
{
    static struct world world;
    begin(&world, *state);
    for (uint32_t number = 0; number < OLD; number++)
        end_old(&world, number);
    assert_int_equal(mcds_cache_drop(world.cache), MCDS_OK);
    close_each(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_refused_is_not_there, fixture_make,
                                        fixture_remove),
        cmocka_unit_test_setup_teardown(what_ends_something_needs_no_room, fixture_make,
                                        fixture_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
