/* A lease that two processes share: an owner exports it, and a helper imports it, renews it and
 * sometimes releases it while the owner works on. At most one lease is live at any time, under every
 * fault of the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 4 /* owner, helper, owner, helper */
#define CLIENTS play_clients(CLIENTS_MAX)
#define ROUNDS 4
#define LEASE_MS 6000
#define NS_PER_MS INT64_C(1000000)

enum { TAG_ACQUIRE = 1, TAG_RENEW, TAG_RELEASE, TAG_WORK, TAG_PAUSE };

struct tenure {
    bool active; /* granted, and neither process has begun a release */
    uint64_t fence;
    int64_t end_ns;    /* true time of the deadline */
    uint64_t released; /* the fence of the last release that was begun */
};

struct world {
    mcds_sim *sim;
    uint64_t seed;
    struct tenure tenures[CLIENTS_MAX];
    char texts[CLIENTS_MAX / 2][MCDS_LEASE_TEXT];
    uint32_t exported[CLIENTS_MAX / 2]; /* how often; the helpers see a new text by it */
    const char *violation;
    uint64_t granted;
    uint64_t renewed; /* by helpers */
    uint64_t released;
    uint64_t lost;
};

struct user {
    struct world *world;
    struct tenure *tenure;
    uint32_t number;
    mcds_lock *lock;
    mcds_lease lease;
    uint32_t rounds;
    uint32_t renewals; /* of this round */
    uint32_t imported; /* the export that the helper has imported */
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static uint32_t pair_of(const struct user *user)
{
    return user->number / 2;
}

/* The deadline that the process has from the last call. It may use the lock until then, so no other
 * lease may be live. */
static void note_deadline(struct user *user, mcds_sim_client *client)
{
    struct world *world = user->world;
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (world->tenures[i].released == user->lease.fence)
            return;
    user->tenure->active = true;
    user->tenure->fence = user->lease.fence;
    user->tenure->end_ns = now_ns + user->lease.deadline_ns - mcds_sim_client_ns(client);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct tenure *other = &world->tenures[i];
        if (other->active && other->fence != user->lease.fence && now_ns < other->end_ns)
            violate(world, "two leases are live at once");
    }
}

/* A release ends the lease for both processes. */
static void begin_release(struct user *user, mcds_sim_client *client)
{
    struct world *world = user->world;
    user->tenure->released = user->lease.fence;
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (world->tenures[i].fence == user->lease.fence)
            world->tenures[i].active = false;
    assert_int_equal(mcds_lock_release_start(user->lock, &user->lease,
                                             mcds_sim_client_pipeline(client), TAG_RELEASE),
                     MCDS_OK);
}

static void begin_renew(struct user *user, mcds_sim_client *client)
{
    user->renewals++;
    int result = mcds_lock_renew_start(user->lock, &user->lease,
                                       mcds_sim_client_pipeline(client), TAG_RENEW);
    assert_int_equal(result, MCDS_OK);
}

static void pause_for(mcds_sim_client *client, int64_t ms, uint64_t tag)
{
    assert_int_equal(mcds_sim_client_sleep(client, ms * NS_PER_MS, tag), MCDS_OK);
}

/* Renewed, or not, or lost. Returns whether the process may still have the lease. */
static bool end_renew(struct user *user, mcds_sim_client *client, int result)
{
    struct world *world = user->world;
    if (result == MCDS_OK)
        note_deadline(user, client);
    if (result == MCDS_LOST && user->tenure->active &&
        mcds_sim_now_ns(world->sim) < user->tenure->end_ns)
        violate(world, "reported lost within its time, and nobody has released it");
    if (result != MCDS_LOST)
        return true;
    world->lost++;
    user->tenure->active = false;
    return false;
}

static void begin_round(struct user *user, mcds_sim_client *client)
{
    if (user->rounds-- == 0)
        return;
    user->renewals = 0;
    user->lease = (mcds_lease)MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_acquire_start(user->lock, 60000, &user->lease,
                                             mcds_sim_client_pipeline(client), TAG_ACQUIRE),
                     MCDS_OK);
}

static void end_acquire(struct user *user, mcds_sim_client *client, int result)
{
    struct world *world = user->world;
    if (result == MCDS_AMBIGUOUS) {
        begin_release(user, client);
        return;
    }
    if (result != MCDS_OK) {
        begin_round(user, client);
        return;
    }
    world->granted++;
    note_deadline(user, client);
    assert_int_equal(mcds_lock_export(user->lock, &user->lease, world->texts[pair_of(user)]),
                     MCDS_OK);
    world->exported[pair_of(user)]++;
    pause_for(client, 1100 + 300 * user->number, TAG_WORK);
}

/* Works, renews and works again. Then it releases the lock, or leaves the lease to its end as a process
 * that dies. */
static void play_owner(struct user *user, mcds_sim_client *client, const mcds_completion *done)
{
    if (done == NULL || done->tag == TAG_PAUSE || done->tag == TAG_RELEASE) {
        begin_round(user, client);
    } else if (done->tag == TAG_ACQUIRE) {
        end_acquire(user, client, done->result);
    } else if (done->tag == TAG_RENEW) {
        if (end_renew(user, client, done->result))
            pause_for(client, 1300, TAG_WORK);
        else
            begin_round(user, client);
    } else if (user->renewals < 1 + user->rounds % 3) {
        begin_renew(user, client);
    } else if (user->rounds % 2 == 0) {
        pause_for(client, LEASE_MS / 2, TAG_PAUSE);
    } else {
        begin_release(user, client);
    }
}

/* Imports what the owner has exported since. False: nothing. */
static bool import(struct user *user, mcds_sim_client *client)
{
    struct world *world = user->world;
    if (user->imported == world->exported[pair_of(user)])
        return false;
    mcds_lock_close(user->lock);
    user->lock = NULL;
    user->imported = world->exported[pair_of(user)];
    user->renewals = 0;
    assert_int_equal(mcds_lock_import(mcds_sim_client_store(client), "job",
                                      world->texts[pair_of(user)], &user->lock, &user->lease),
                     MCDS_OK);
    assert_int_equal(user->lease.deadline_ns, 0);
    return true;
}

/* Looks for a text again and again; renews its lease twice, and releases every other one. */
static void play_helper(struct user *user, mcds_sim_client *client, const mcds_completion *done)
{
    if (done != NULL && done->tag == TAG_RENEW) {
        bool is_mine = end_renew(user, client, done->result);
        user->world->renewed += done->result == MCDS_OK;
        pause_for(client, 900, is_mine ? TAG_WORK : TAG_PAUSE);
    } else if (done != NULL && done->tag == TAG_WORK && user->renewals < 2) {
        begin_renew(user, client);
    } else if (done != NULL && done->tag == TAG_WORK && user->imported % 2 == 0) {
        begin_release(user, client);
    } else if (done != NULL && done->tag == TAG_RELEASE) {
        user->world->released += done->result == MCDS_OK;
        pause_for(client, 100, TAG_PAUSE);
    } else if (import(user, client)) {
        begin_renew(user, client);
    } else if (user->rounds-- > 0) {
        pause_for(client, 700, TAG_PAUSE);
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct user *user = context;
    (user->number % 2 == 0 ? play_owner : play_helper)(user, client, done);
}

static const char *find_violation(void *context)
{
    return ((const struct world *)context)->violation;
}

static const char *run(mcds_sim_options options, struct world *totals)
{
    struct world world = {.seed = options.seed};
    struct user users[CLIENTS_MAX];
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        users[i] = (struct user){
            .world = &world,
            .tenure = &world.tenures[i],
            .number = i,
            .lease = MCDS_LEASE_INIT,
            .rounds = play_calls(ROUNDS) * (i % 2 == 0 ? 1 : 12),
        };
        play_add_locker(world.sim, program, &users[i], LEASE_MS,
                        i % 2 == 0 ? &users[i].lock : NULL);
    }
    const char *wrong = play_run(world.sim, 200000, find_violation, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_lock_close(users[i].lock);
    play_close(world.sim);
    totals->granted += world.granted;
    totals->renewed += world.renewed;
    totals->released += world.released;
    totals->lost += world.lost;
    return world.violation;
}

static void a_shared_lease_excludes_the_others(void **state)
{
    (void)state;
    struct world totals = {.sim = NULL};
    PLAY (seed, 1000)
        assert_null(run(network_faults(seed), &totals));
    SEEN(totals.granted > 0 && totals.renewed > 0 && totals.released > 0 && totals.lost > 0);
    print_message("granted %llu, by helpers renewed %llu and released %llu; lost %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.renewed,
                  (unsigned long long)totals.released, (unsigned long long)totals.lost);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_shared_lease_excludes_the_others),
};

PLAY_MAIN("lock_share")
