/* Semaphores in the simulated world: never more holders than permits, fences of a slot that grow,
 * and resizes that no later acquisition misses, under every fault of network and server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 5
#define CLIENTS play_clients(CLIENTS_MAX)
#define ROUNDS 4
#define PERMITS 2
#define PERMITS_MOST 3
#define LEASE_MS 6000
#define RESIZES 6
#define NS_PER_MS INT64_C(1000000)

enum { TAG_ACQUIRE = 1, TAG_RENEW, TAG_RELEASE, TAG_WORK, TAG_PAUSE, TAG_RESIZE };

struct tenure {
    bool active;     /* granted, and release not begun */
    bool overlapped; /* a larger fence of its slot was granted within it */
    uint32_t slot;
    uint32_t
        bound; /* of its slot: the permits since it was asked for; PERMITS_MOST: in doubt */
    uint64_t fence;
    int64_t end_ns; /* true time of the deadline */
};

struct world {
    mcds_sim *sim;
    bool loses;   /* the server may forget */
    bool resizes; /* the first client does nothing but change the number of permits */
    bool quiet;   /* a violation is expected */
    uint64_t seed;
    uint32_t permits; /* since the last resize has ended; PERMITS_MOST: one is under way */
    uint64_t fence_most[MCDS_SEMAPHORE_PERMITS_MAX];
    uint64_t stored[PERMITS_MOST]; /* the fences, in the server */
    bool fell[PERMITS_MOST]; /* it has one from a creation that is older than one before */
    struct tenure tenures[CLIENTS_MAX];
    const char *violation;
    uint64_t granted;
    uint64_t busy;
    uint64_t lost;
    uint64_t ambiguous;
    uint64_t out_of_order;
    uint64_t overlaps;
    uint64_t resized;
    uint64_t above;
    uint32_t most; /* holders at once */
};

struct holder {
    struct world *world;
    struct tenure *tenure;
    mcds_semaphore *semaphore;
    mcds_permit permit;
    uint32_t rounds;
    uint32_t above;
    bool renewed;
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL && !world->quiet)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static bool is_live(const struct world *world, const struct tenure *tenure)
{
    return tenure->active && mcds_sim_now_ns(world->sim) < tenure->end_ns;
}

static void begin_acquire(struct holder *holder, mcds_sim_client *client)
{
    if (holder->rounds-- == 0)
        return;
    holder->tenure->bound = holder->world->permits;
    uint32_t wait_ms = holder->rounds % 2 == 0 ? 60000 : 500;
    assert_int_equal(mcds_semaphore_acquire_start(holder->semaphore, wait_ms, &holder->permit,
                                                  mcds_sim_client_pipeline(client),
                                                  TAG_ACQUIRE),
                     MCDS_OK);
}

/* Nobody else may be alive in this slot, and not too many in all. */
static void check_others(struct holder *holder)
{
    struct world *world = holder->world;
    struct tenure *mine = holder->tenure;
    uint32_t live = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct tenure *other = &world->tenures[i];
        live += is_live(world, other);
        if (other == mine || !is_live(world, other) || other->slot != mine->slot)
            continue;
        if (!world->loses)
            violate(world, "two holders of a slot at once");
        (other->fence < mine->fence ? other : mine)->overlapped = true;
        world->overlaps++;
    }
    if (live > world->most)
        world->most = live;
    if (!world->loses && live > (world->resizes ? PERMITS_MOST : PERMITS))
        violate(world, "more holders than permits");
}

static void check_grant(struct holder *holder, mcds_sim_client *client)
{
    struct world *world = holder->world;
    struct tenure *mine = holder->tenure;
    uint64_t *most = &world->fence_most[holder->permit.slot];
    mine->active = true;
    mine->overlapped = false;
    mine->slot = holder->permit.slot;
    mine->fence = holder->permit.lease.fence;
    mine->end_ns = mcds_sim_now_ns(world->sim) + holder->permit.lease.deadline_ns -
                   mcds_sim_client_ns(client);
    world->granted++;
    mcds_sim_note(world->sim, client, "holds slot %u with fence %llu", mine->slot,
                  (unsigned long long)mine->fence);
    check_others(holder);
    if (!world->loses && mine->slot >= mine->bound)
        violate(world, "a slot that a resize has ended before the acquisition began");
    if (mine->fence == *most && !world->fell[mine->slot])
        violate(world, "the same fence of a slot twice");
    if (mine->fence > *most) {
        *most = mine->fence;
        return;
    }
    world->out_of_order++;
    if (!world->loses)
        violate(world, "a fence of a slot that is smaller than one before");
}

static void begin_release(struct holder *holder, mcds_sim_client *client)
{
    holder->tenure->active = false;
    assert_int_equal(mcds_semaphore_release_start(holder->semaphore, &holder->permit,
                                                  mcds_sim_client_pipeline(client),
                                                  TAG_RELEASE),
                     MCDS_OK);
}

static void end_acquire(struct holder *holder, mcds_sim_client *client, int result)
{
    struct world *world = holder->world;
    if (result == MCDS_OK) {
        check_grant(holder, client);
        holder->renewed = false;
        int64_t work_ns = (int64_t)(mcds_sim_client_number(client) * 700) * NS_PER_MS;
        assert_int_equal(mcds_sim_client_sleep(client, work_ns, TAG_WORK), MCDS_OK);
        return;
    }
    world->busy += result == MCDS_BUSY;
    if (result == MCDS_AMBIGUOUS) {
        world->ambiguous++;
        holder->tenure->overlapped = false;
        begin_release(holder, client);
        return;
    }
    begin_acquire(holder, client);
}

static void end_release(struct holder *holder, mcds_sim_client *client, int result)
{
    struct world *world = holder->world;
    world->lost += result == MCDS_LOST;
    if (result == MCDS_LOST && !world->loses &&
        mcds_sim_now_ns(world->sim) < holder->tenure->end_ns)
        violate(world, "reported lost within its time, and nothing was lost");
    if (result == MCDS_OK && holder->tenure->overlapped && world->out_of_order == 0)
        violate(world, "overlapped, and the older holder was not told");
    if (result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE) {
        begin_release(holder, client);
        return;
    }
    holder->permit = (mcds_permit)MCDS_PERMIT_INIT;
    begin_acquire(holder, client);
}

static void end_renew(struct holder *holder, mcds_sim_client *client, int result)
{
    struct world *world = holder->world;
    if (result == MCDS_OK)
        holder->tenure->end_ns = mcds_sim_now_ns(world->sim) +
                                 holder->permit.lease.deadline_ns - mcds_sim_client_ns(client);
    if (result == MCDS_LOST) {
        world->lost++;
        holder->tenure->active = false;
        begin_acquire(holder, client);
        return;
    }
    begin_release(holder, client);
}

/* Work is done: now and then renew first. */
static void end_work(struct holder *holder, mcds_sim_client *client)
{
    if (holder->rounds % 2 == 0 && !holder->renewed) {
        holder->renewed = true;
        assert_int_equal(mcds_semaphore_renew_start(holder->semaphore, &holder->permit,
                                                    mcds_sim_client_pipeline(client),
                                                    TAG_RENEW),
                         MCDS_OK);
        return;
    }
    begin_release(holder, client);
}

static uint32_t wanted_permits(const struct holder *holder)
{
    return holder->rounds % 2 == 0 ? 1 : PERMITS_MOST;
}

/* A resize has ended: the holders that it leaves above must all have been counted. */
static void end_resize(struct holder *holder, int result)
{
    struct world *world = holder->world;
    uint32_t live = 0;
    if (result != MCDS_OK)
        return;
    world->permits = wanted_permits(holder);
    world->resized++;
    world->above += holder->above;
    for (uint32_t i = 0; i < CLIENTS; i++)
        live += is_live(world, &world->tenures[i]) && world->tenures[i].slot >= world->permits;
    if (!world->loses && live > holder->above)
        violate(world, "a holder above the new number was not counted");
}

static void resize_again(struct holder *holder, mcds_sim_client *client,
                         const mcds_completion *done)
{
    if (done != NULL && done->tag == TAG_PAUSE) {
        holder->world->permits = PERMITS_MOST;
        for (uint32_t i = 0; i < CLIENTS; i++)
            holder->world->tenures[i].bound = PERMITS_MOST;
        assert_int_equal(mcds_semaphore_resize_start(
                             holder->semaphore, wanted_permits(holder), &holder->above,
                             mcds_sim_client_pipeline(client), TAG_RESIZE),
                         MCDS_OK);
        return;
    }
    if (done != NULL) {
        end_resize(holder, done->result);
        if (holder->rounds-- == 0)
            return;
    }
    assert_int_equal(mcds_sim_client_sleep(client, 1500 * NS_PER_MS, TAG_PAUSE), MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct holder *holder = context;
    if (holder->world->resizes && mcds_sim_client_number(client) == 1) {
        resize_again(holder, client, done);
        return;
    }
    if (done == NULL) {
        begin_acquire(holder, client);
        return;
    }
    switch (done->tag) {
    case TAG_ACQUIRE:
        end_acquire(holder, client, done->result);
        break;
    case TAG_WORK:
        end_work(holder, client);
        break;
    case TAG_RENEW:
        end_renew(holder, client, done->result);
        break;
    default:
        end_release(holder, client, done->result);
    }
}

/* A server that forgets may have a smaller fence than before only by G-LOCK-2's exception. */
static const char *watch_fences(struct world *world)
{
    static const char *const keys[PERMITS_MOST] = {"mcds:sf1:job:0", "mcds:sf1:job:1",
                                                   "mcds:sf1:job:2"};
    for (uint32_t slot = 0; slot < PERMITS_MOST; slot++) {
        uint64_t fence = play_peek(world->sim, keys[slot],
                                   world->loses ? world->stored[slot] : 0);
        if (fence < world->stored[slot] && !world->loses)
            return "at this moment a fence is less than it was";
        world->fell[slot] = world->fell[slot] || fence < world->stored[slot];
        world->stored[slot] = fence;
    }
    return NULL;
}

/* At every moment, while the server forgets nothing. */
static const char *check_live(void *context)
{
    struct world *world = context;
    const char *wrong = watch_fences(world);
    uint32_t live = 0;
    if (wrong != NULL)
        return wrong;
    for (uint32_t i = 0; i < CLIENTS; i++)
        live += is_live(world, &world->tenures[i]);
    bool is_too_many = live > (world->resizes ? PERMITS_MOST : PERMITS);
    return is_too_many && !world->loses ? "at this moment there are more holders than permits"
                                        : NULL;
}

static void open_holder(struct holder *holder, mcds_store *store)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    options.lease_ms = LEASE_MS;
    options.permits = PERMITS;
    assert_int_equal(mcds_semaphore_open(store, "job", &options, &holder->semaphore), MCDS_OK);
}

/* One seed, in a world that begins like this one. Returns the violation, or NULL. */
static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    struct holder holders[CLIENTS_MAX];
    mcds_sim_client *client;
    world.seed = options.seed;
    world.permits = world.resizes ? PERMITS_MOST : PERMITS;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        bool is_resizer = world.resizes && i == 0;
        holders[i] = (struct holder){.world = &world,
                                     .tenure = &world.tenures[i],
                                     .permit = MCDS_PERMIT_INIT,
                                     .rounds = play_calls(is_resizer ? RESIZES : ROUNDS)};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &holders[i], &client),
                         MCDS_OK);
        open_holder(&holders[i], mcds_sim_client_store(client));
    }
    const char *wrong = play_run(world.sim, 200000, check_live, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_semaphore_close(holders[i].semaphore);
    play_close(world.sim);
    totals->granted += world.granted;
    totals->busy += world.busy;
    totals->lost += world.lost;
    totals->ambiguous += world.ambiguous;
    totals->out_of_order += world.out_of_order;
    totals->overlaps += world.overlaps;
    totals->resized += world.resized;
    totals->above += world.above;
    totals->most = world.most > totals->most ? world.most : totals->most;
    return world.violation;
}

static void no_more_holders_than_permits(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 1500)
        assert_null(run(network_faults(seed), (struct world){0}, &totals));
    SEEN(totals.granted > 0 && totals.busy > 0 && totals.most == PERMITS);
    print_message("granted %llu, busy %llu, lost %llu, ambiguous %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.busy,
                  (unsigned long long)totals.lost, (unsigned long long)totals.ambiguous);
}

static void whoever_is_overtaken_is_told(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 1500)
        assert_null(run(all_faults(seed), (struct world){.loses = true}, &totals));
    SEEN(totals.lost > 0 && totals.overlaps > 0);
    print_message("granted %llu, lost %llu, ambiguous %llu, overlaps %llu, out of order %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.lost,
                  (unsigned long long)totals.ambiguous, (unsigned long long)totals.overlaps,
                  (unsigned long long)totals.out_of_order);
    SEEN(totals.out_of_order < 1 + totals.granted / 300);
}

/* The look of a resize has sixty-one requests. */
static void no_acquisition_misses_a_resize(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 1500)
        assert_null(
            run(fewer_faults(network_faults(seed)), (struct world){.resizes = true}, &totals));
    SEEN(totals.granted > 0 && totals.resized > 0 && totals.above > 0);
    print_message("granted %llu, resized %llu, above %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.resized,
                  (unsigned long long)totals.above);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_more_holders_than_permits),
    cmocka_unit_test(whoever_is_overtaken_is_told),
    cmocka_unit_test(no_acquisition_misses_a_resize),
};

PLAY_MAIN("semaphore")
