/* A lock that some share and others have alone, in the simulated world: never a shared and an
 * exclusive holder at once, and never two exclusive ones, under every fault of the network, and where
 * holders die. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 17
#define CLIENTS_USUAL 4
#define ROUNDS 5
#define STEPS_MAX 1000000
#define HURRY 8       /* times as many rounds */
#define LEASE_MS 6001 /* not of whole seconds */
#define WAIT_MS 60000
#define NS_PER_MS INT64_C(1000000)
/* In less than that a writer has the lock that readers share without a gap: a lease, and its spare
 * time on a server that counts seconds. */
#define PATIENCE_NS (12 * 1000 * NS_PER_MS)

/* Not long after a writer has begun to wait, no further reader begins to share the lock. */
#define JOINED_NS (2000 * NS_PER_MS)

enum { TAG_ACQUIRE = 1, TAG_RENEW, TAG_RELEASE, TAG_WORK, TAG_DEAD };

struct tenure {
    bool active; /* granted, and release not begun */
    bool shared;
    bool overlapped; /* a fence that is larger, and excludes this one, was granted within it */
    uint64_t fence;
    int64_t end_ns; /* true time of the deadline */
};

struct world {
    mcds_sim *sim;
    uint32_t clients;
    bool loses; /* the server may forget */
    bool
        crowds; /* all but the first client share it again and again; the first wants it alone */
    bool hurries; /* the same, and each shares it for a round trip */
    uint64_t seed;
    int64_t waits_ns; /* since then the first client waits to have it alone; 0: it does not */
    struct tenure tenures[CLIENTS_MAX];
    uint64_t fence_most;           /* of all */
    uint64_t fence_most_exclusive; /* of writers */
    const char *violation;
    uint64_t granted;
    uint64_t shared;   /* of these */
    uint64_t together; /* granted while another shares it */
    uint64_t renewed;
    uint64_t overlaps;
    uint64_t out_of_order; /* fences that are not larger, after a loss of the fence */
    uint64_t lost;
    uint64_t ambiguous;
    uint64_t longest_ns; /* that a writer has waited */
    uint64_t joined_ns;  /* when it had waited for so long, a reader still began to share it */
};

struct user {
    struct world *world;
    struct tenure *tenure;
    mcds_lock *lock;
    mcds_lease lease;
    uint32_t rounds;
    uint32_t renewals; /* of this round */
    int64_t asked_ns;
    bool shared; /* what it asks for */
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static bool wants_to_share(const struct user *user, mcds_sim_client *client)
{
    if (user->world->crowds)
        return mcds_sim_client_number(client) > 1;
    return (user->world->seed + user->rounds + mcds_sim_client_number(client)) % 3 != 0;
}

static void begin_round(struct user *user, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (user->rounds-- == 0)
        return;
    user->renewals = 0;
    user->lease = (mcds_lease)MCDS_LEASE_INIT;
    user->shared = wants_to_share(user, client);
    user->asked_ns = mcds_sim_now_ns(user->world->sim);
    if (!user->shared)
        user->world->waits_ns = user->asked_ns;
    int result = user->shared ? mcds_lock_acquire_shared_start(
                                    user->lock, WAIT_MS, &user->lease, pipeline, TAG_ACQUIRE)
                              : mcds_lock_acquire_start(user->lock, WAIT_MS, &user->lease,
                                                        pipeline, TAG_ACQUIRE);
    assert_int_equal(result, MCDS_OK);
}

/* Nobody else may be live, but those that share it too. */
static void check_others(struct user *user, int64_t now_ns)
{
    struct world *world = user->world;
    struct tenure *mine = user->tenure;
    for (uint32_t i = 0; i < world->clients; i++) {
        struct tenure *other = &world->tenures[i];
        if (other == mine || !other->active || now_ns >= other->end_ns)
            continue;
        if (mine->shared && other->shared) {
            world->together++;
            continue;
        }
        if (!world->loses)
            violate(world, mine->shared || other->shared
                               ? "a shared and an exclusive holder at once"
                               : "two exclusive holders at once");
        (other->fence < mine->fence ? other : mine)->overlapped = true;
        world->overlaps++;
    }
}

/* A writer's fence is larger than all before it, a reader's than those of all writers before it. */
static void check_fence(struct user *user)
{
    struct world *world = user->world;
    const struct tenure *mine = user->tenure;
    uint64_t before = mine->shared ? world->fence_most_exclusive : world->fence_most;
    if (mine->fence <= before && !world->loses)
        violate(world, "a fence that is not larger than one before");
    world->out_of_order += mine->fence <= before;
    if (mine->fence > world->fence_most)
        world->fence_most = mine->fence;
    if (!mine->shared && mine->fence > world->fence_most_exclusive)
        world->fence_most_exclusive = mine->fence;
}

static void note_most(uint64_t *most, int64_t ns)
{
    if (ns > 0 && (uint64_t)ns > *most)
        *most = (uint64_t)ns;
}

static void note_grant(struct user *user, mcds_sim_client *client)
{
    struct world *world = user->world;
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    struct tenure *mine = user->tenure;
    *mine = (struct tenure){
        .active = true,
        .shared = user->shared,
        .fence = user->lease.fence,
        .end_ns = now_ns + user->lease.deadline_ns - mcds_sim_client_ns(client),
    };
    world->granted++;
    world->shared += mine->shared;
    mcds_sim_note(world->sim, client, "%s with fence %llu", mine->shared ? "shares" : "holds",
                  (unsigned long long)mine->fence);
    check_others(user, now_ns);
    check_fence(user);
    if (mine->shared && world->waits_ns > 0)
        note_most(&world->joined_ns, now_ns - world->waits_ns);
    if (!mine->shared)
        note_most(&world->longest_ns, now_ns - user->asked_ns);
    if (!mine->shared)
        world->waits_ns = 0;
}

static void begin_release(struct user *user, mcds_sim_client *client)
{
    user->tenure->active = false;
    assert_int_equal(mcds_lock_release_start(user->lock, &user->lease,
                                             mcds_sim_client_pipeline(client), TAG_RELEASE),
                     MCDS_OK);
}

static void end_acquire(struct user *user, mcds_sim_client *client, int result)
{
    struct world *world = user->world;
    if (result == MCDS_AMBIGUOUS) {
        world->ambiguous++;
        user->tenure->overlapped = false; /* as the tenure before it may have been */
        begin_release(user, client);
        return;
    }
    if (result != MCDS_OK) {
        begin_round(user, client);
        return;
    }
    note_grant(user, client);
    uint32_t work_ms = world->hurries ? 1 : mcds_sim_client_number(client) * 700;
    int64_t work_ns = work_ms * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, work_ns, TAG_WORK), MCDS_OK);
}

/* Renews now and then, and releases the lock; or dies, and comes again when its lease is over. */
static void end_work(struct user *user, mcds_sim_client *client)
{
    if (user->renewals < user->rounds % 3) {
        user->renewals++;
        assert_int_equal(mcds_lock_renew_start(user->lock, &user->lease,
                                               mcds_sim_client_pipeline(client), TAG_RENEW),
                         MCDS_OK);
    } else if (user->rounds % 4 == 3 && !user->world->crowds) {
        assert_int_equal(mcds_sim_client_sleep(client, 2 * LEASE_MS * NS_PER_MS, TAG_DEAD),
                         MCDS_OK);
    } else {
        begin_release(user, client);
    }
}

static void end_renew(struct user *user, mcds_sim_client *client, int result)
{
    struct world *world = user->world;
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    if (result == MCDS_LOST) {
        world->lost++;
        if (!world->loses && now_ns < user->tenure->end_ns)
            violate(world, "reported lost within its time, and nothing was lost");
        user->tenure->active = false;
        begin_round(user, client);
        return;
    }
    if (result == MCDS_OK) {
        world->renewed++;
        user->tenure->end_ns = now_ns + user->lease.deadline_ns - mcds_sim_client_ns(client);
        check_others(user, now_ns);
    }
    end_work(user, client);
}

static void end_release(struct user *user, mcds_sim_client *client, int result)
{
    struct world *world = user->world;
    world->lost += result == MCDS_LOST;
    if (result == MCDS_LOST && !world->loses &&
        mcds_sim_now_ns(world->sim) < user->tenure->end_ns)
        violate(world, "a release reports a loss, and nothing was lost");
    if (result == MCDS_OK && user->tenure->overlapped && world->out_of_order == 0)
        violate(world, "overlapped, and the older holder was not told");
    if (result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE)
        begin_release(user, client);
    else
        begin_round(user, client);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct user *user = context;
    switch (done == NULL ? 0 : done->tag) {
    case TAG_ACQUIRE:
        end_acquire(user, client, done->result);
        break;
    case TAG_WORK:
        end_work(user, client);
        break;
    case TAG_RENEW:
        end_renew(user, client, done->result);
        break;
    case TAG_RELEASE:
        end_release(user, client, done->result);
        break;
    default:
        user->tenure->active = false;
        begin_round(user, client);
    }
}

static const char *find_violation(void *context)
{
    return ((const struct world *)context)->violation;
}

static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    struct user users[CLIENTS_MAX];
    world.seed = options.seed;
    world.clients = play_clients(world.hurries ? CLIENTS_MAX : CLIENTS_USUAL);
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < world.clients; i++) {
        users[i] = (struct user){
            .world = &world,
            .tenure = &world.tenures[i],
            .lease = MCDS_LEASE_INIT,
            .rounds = play_calls(ROUNDS) * (world.hurries && i > 0  ? HURRY
                                            : world.crowds && i > 0 ? 8
                                                                    : 1),
        };
        play_add_locker(world.sim, program, &users[i], LEASE_MS, &users[i].lock);
    }
    const char *wrong = play_run(world.sim, STEPS_MAX, find_violation, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    for (uint32_t i = 0; i < world.clients; i++)
        mcds_lock_close(users[i].lock);
    play_close(world.sim);
    totals->granted += world.granted;
    totals->shared += world.shared;
    totals->together += world.together;
    totals->renewed += world.renewed;
    totals->overlaps += world.overlaps;
    totals->out_of_order += world.out_of_order;
    totals->lost += world.lost;
    totals->ambiguous += world.ambiguous;
    note_most(&totals->longest_ns, (int64_t)world.longest_ns);
    note_most(&totals->joined_ns, (int64_t)world.joined_ns);
    return world.violation;
}

/* A classic server reports no ttl, and shared locks need it. */
static mcds_sim_options modern(mcds_sim_options options)
{
    options.classic = false;
    return options;
}

static void tell(const struct world *totals)
{
    print_message("granted %llu, shared %llu, together %llu, renewed %llu, lost %llu, "
                  "ambiguous %llu, overlaps %llu, longest wait %llu ms, last join %llu ms\n",
                  (unsigned long long)totals->granted, (unsigned long long)totals->shared,
                  (unsigned long long)totals->together, (unsigned long long)totals->renewed,
                  (unsigned long long)totals->lost, (unsigned long long)totals->ambiguous,
                  (unsigned long long)totals->overlaps,
                  (unsigned long long)totals->longest_ns / NS_PER_MS,
                  (unsigned long long)totals->joined_ns / NS_PER_MS);
}

static void writers_exclude_readers_while_the_server_forgets_nothing(void **state)
{
    (void)state;
    struct world totals = {.sim = NULL};
    PLAY (seed, 2000)
        assert_null(run(modern(network_faults(seed)), (struct world){.sim = NULL}, &totals));
    tell(&totals);
    SEEN(totals.shared > 0 && totals.granted > totals.shared && totals.together > 0);
    SEEN(totals.renewed > 0 && totals.ambiguous > 0);
}

static void readers_and_writers_that_are_overtaken_are_told(void **state)
{
    (void)state;
    struct world totals = {.sim = NULL};
    PLAY (seed, 1000)
        assert_null(run(modern(all_faults(seed)), (struct world){.loses = true}, &totals));
    tell(&totals);
    SEEN(totals.lost > 0 && totals.overlaps > 0);
    SEEN(totals.out_of_order < 1 + totals.granted / 100);
}

static mcds_sim_options without_faults(uint64_t seed)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    options.seed = seed;
    options.seconds = seed % 2 == 0;
    return options;
}

static void readers_do_not_starve_a_writer(void **state)
{
    (void)state;
    struct world totals = {.sim = NULL};
    PLAY (seed, 200) {
        assert_null(run(without_faults(seed), (struct world){.crowds = true}, &totals));
    }
    tell(&totals);
    SEEN(totals.together > 0);
    assert_true(totals.longest_ns < PATIENCE_NS);
}

/* Each reader changes the value twice for each time that it shares the lock, so a write of a writer that
 * waits is mostly refused. */
static void readers_in_a_hurry_do_not_keep_a_writer_out(void **state)
{
    (void)state;
    struct world totals = {.sim = NULL};
    PLAY (seed, 2) {
        struct world world = {.crowds = true, .hurries = true};
        assert_null(run(without_faults(seed), world, &totals));
    }
    tell(&totals);
    SEEN(totals.together > 0);
    assert_true(totals.joined_ns < JOINED_NS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(writers_exclude_readers_while_the_server_forgets_nothing),
    cmocka_unit_test(readers_and_writers_that_are_overtaken_are_told),
    cmocka_unit_test(readers_do_not_starve_a_writer),
    cmocka_unit_test(readers_in_a_hurry_do_not_keep_a_writer_out),
};

PLAY_MAIN("lock_readers")
