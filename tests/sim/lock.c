/* Locks in the simulated world: at most one holder at any time, under every fault of network
 * and server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define ROUNDS 4
#define LEASE_MS 6000
#define BREAK_MS 3000
/* So many tenures last longer than a request is late. */
#define ROUNDS_OF_LATE 30
#define NS_PER_MS INT64_C(1000000)

enum { TAG_ACQUIRE = 1, TAG_RENEW, TAG_RELEASE, TAG_WORK, TAG_BREAK, TAG_DROP, TAG_WATCH };

#define WATCH_MS 20000

struct tenure {
    bool active;     /* granted, and release not begun */
    bool is_later;   /* asked for after the break has ended */
    bool overlapped; /* a larger fence was granted within it */
    uint64_t fence;
    int64_t end_ns; /* true time of the deadline */
};

struct world {
    mcds_sim *sim;
    bool loses;       /* the server may forget */
    bool breaks;      /* release with break instead: the article's unlock */
    bool breaks_once; /* the first client does nothing but break the lock, once */
    bool has_broken;  /* that call has ended */
    bool watches;     /* the first client does nothing but watch the lock */
    bool drops;       /* now and then a lock is dropped after its release */
    bool quiet;       /* a violation is expected */
    bool prompt;      /* a waiting client must see soon that it is free */
    int64_t free_ns;  /* since when it is free, as far as is known; 0: it is not */
    bool hasty;       /* nobody works: a holder releases at once */
    uint64_t seed;
    uint64_t stored; /* the fence, in the server */
    bool fell;       /* the server has it from a creation that is older than one before */
    uint64_t fence_most;
    /* Granted with a smaller fence than one before: two grants whose answers changed places on
     * the way, or G-LOCK-2's exception, a late creation of a fence that was lost twice. */
    uint64_t out_of_order;
    uint64_t overlaps;
    struct tenure tenures[CLIENTS_MAX];
    const char *violation;
    uint64_t granted;
    uint64_t later; /* granted after the break */
    uint64_t lost;
    uint64_t ambiguous;
    uint64_t dropped;
    uint64_t changes; /* that the watch has reported */
};

struct holder {
    struct world *world;
    struct tenure *tenure;
    mcds_lock *lock;
    mcds_lease lease;
    uint32_t rounds;
    bool renewed;
    mcds_lock_holder seen; /* of the watch */
    uint64_t seen_tenure;  /* before its call */
    uint64_t seen_fence;
};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL && !world->quiet)
        (void)report(world->sim, world->seed, what);
    if (world->violation == NULL)
        world->violation = what;
}

static void begin_acquire(struct holder *holder, mcds_sim_client *client)
{
    if (holder->rounds-- == 0)
        return;
    holder->tenure->is_later = holder->world->has_broken;
    assert_int_equal(mcds_lock_acquire_start(holder->lock, 60000, &holder->lease,
                                             mcds_sim_client_pipeline(client), TAG_ACQUIRE),
                     MCDS_OK);
}

/* More than the longest pause between two looks. */
#define SOON_NS (200 * NS_PER_MS)

/* The lease was granted: nobody else's may be alive, and no fence may have been as large. */
static void check_grant(struct holder *holder, mcds_sim_client *client)
{
    struct world *world = holder->world;
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    struct tenure *mine = holder->tenure;
    if (world->prompt && world->free_ns > 0 && now_ns - world->free_ns > SOON_NS)
        violate(world, "it was free for long, and everybody waited");
    world->free_ns = 0;
    mine->active = true;
    mine->overlapped = false;
    mine->fence = holder->lease.fence;
    mine->end_ns = now_ns + holder->lease.deadline_ns - mcds_sim_client_ns(client);
    world->granted++;
    world->later += mine->is_later;
    mcds_sim_note(world->sim, client, "holds with fence %llu", (unsigned long long)mine->fence);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct tenure *other = &world->tenures[i];
        if (other == mine || !other->active || now_ns >= other->end_ns)
            continue;
        if (!world->loses && (!world->breaks_once || other->is_later))
            violate(world, "two holders at once");
        (other->fence < mine->fence ? other : mine)->overlapped = true;
        world->overlaps++;
    }
    if (mine->fence == world->fence_most && !world->fell)
        violate(world, "the same fence twice");
    if (mine->fence > world->fence_most) {
        world->fence_most = mine->fence;
        return;
    }
    world->out_of_order++;
    if (!world->loses && !world->breaks_once)
        violate(world, "a fence that is smaller than one before");
}

static void begin_release(struct holder *holder, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    holder->tenure->active = false;
    int result = holder->world->breaks
                     ? mcds_lock_break_start(holder->lock, pipeline, TAG_BREAK)
                     : mcds_lock_release_start(holder->lock, &holder->lease, pipeline,
                                               TAG_RELEASE);
    assert_int_equal(result, MCDS_OK);
}

static void end_acquire(struct holder *holder, mcds_sim_client *client, int result)
{
    if (result == MCDS_OK) {
        check_grant(holder, client);
        holder->renewed = false;
        int64_t work_ns = (int64_t)(mcds_sim_client_number(client) * 700) * NS_PER_MS;
        if (holder->world->hasty)
            work_ns = 0;
        assert_int_equal(mcds_sim_client_sleep(client, work_ns, TAG_WORK), MCDS_OK);
        return;
    }
    if (result == MCDS_AMBIGUOUS) {
        holder->world->ambiguous++;
        holder->tenure->overlapped = false; /* as the tenure before it may have been */
        begin_release(holder, client);
        return;
    }
    begin_acquire(holder, client);
}

static void end_release(struct holder *holder, mcds_sim_client *client, int result)
{
    struct world *world = holder->world;
    world->free_ns = mcds_sim_now_ns(world->sim);
    if (result == MCDS_LOST)
        world->lost++;
    if (result == MCDS_LOST && !world->loses &&
        (!world->breaks_once || holder->tenure->is_later) &&
        mcds_sim_now_ns(world->sim) < holder->tenure->end_ns)
        violate(world, "reported lost within its time, and nothing was lost");
    if (result == MCDS_OK && holder->tenure->overlapped && world->out_of_order == 0 &&
        !world->breaks_once)
        violate(world, "overlapped, and the older holder was not told");
    if (result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE) {
        begin_release(holder, client);
        return;
    }
    holder->lease = (mcds_lease)MCDS_LEASE_INIT;
    if (world->drops && holder->rounds % 2 == 0)
        assert_int_equal(
            mcds_lock_drop_start(holder->lock, mcds_sim_client_pipeline(client), TAG_DROP),
            MCDS_OK);
    else
        begin_acquire(holder, client);
}

static void end_drop(struct holder *holder, mcds_sim_client *client, int result)
{
    holder->world->dropped += result == MCDS_OK;
    begin_acquire(holder, client);
}

static void end_renew(struct holder *holder, mcds_sim_client *client, int result)
{
    struct world *world = holder->world;
    if (result == MCDS_OK)
        holder->tenure->end_ns = mcds_sim_now_ns(world->sim) + holder->lease.deadline_ns -
                                 mcds_sim_client_ns(client);
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
        assert_int_equal(mcds_lock_renew_start(holder->lock, &holder->lease,
                                               mcds_sim_client_pipeline(client), TAG_RENEW),
                         MCDS_OK);
        return;
    }
    begin_release(holder, client);
}

/* A watch reports nothing but changes, and no fence that fell. A late add may show an acquisition again
 * that has ended. */
static void check_watch(struct holder *holder, int result)
{
    uint64_t tenure = holder->seen_tenure;
    struct world *world = holder->world;
    const mcds_lock_holder *seen = &holder->seen;
    if (result == MCDS_LOST || seen->fence < holder->seen_fence)
        violate(world, "the watch saw a fence that fell, and nothing was lost");
    if (result == MCDS_NOT_FOUND && (tenure == 0 || seen->tenure != 0))
        violate(world, "the watch says free, and it was so before");
    if (result == MCDS_BUSY && seen->tenure != tenure)
        violate(world, "the watch says the same holder, and it is another");
    if (result != MCDS_OK)
        return;
    if (seen->tenure == 0 || seen->tenure == tenure)
        violate(world, "the watch reports a change, and there was none");
    world->changes++;
}

/* Watches until nothing changes for as long as no wait of the others lasts. */
static void watch_others(struct holder *holder, mcds_sim_client *client,
                         const mcds_completion *done)
{
    if (done != NULL)
        check_watch(holder, done->result);
    else
        holder->seen = (mcds_lock_holder)MCDS_LOCK_HOLDER_INIT;
    holder->seen_tenure = holder->seen.tenure;
    holder->seen_fence = holder->seen.fence;
    if (done != NULL && done->result == MCDS_BUSY)
        return;
    assert_int_equal(mcds_lock_watch_start(holder->lock, WATCH_MS, &holder->seen,
                                           mcds_sim_client_pipeline(client), TAG_WATCH),
                     MCDS_OK);
}

/* Breaks the lock while others use it. */
static void break_once(struct holder *holder, mcds_sim_client *client,
                       const mcds_completion *done)
{
    if (done == NULL)
        assert_int_equal(mcds_sim_client_sleep(client, BREAK_MS * NS_PER_MS, TAG_WORK),
                         MCDS_OK);
    else if (done->tag == TAG_WORK)
        assert_int_equal(
            mcds_lock_break_start(holder->lock, mcds_sim_client_pipeline(client), TAG_BREAK),
            MCDS_OK);
    else
        holder->world->has_broken = true;
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct holder *holder = context;
    if (holder->world->breaks_once && mcds_sim_client_number(client) == 1) {
        break_once(holder, client, done);
        return;
    }
    if (holder->world->watches && mcds_sim_client_number(client) == 1) {
        watch_others(holder, client, done);
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
    case TAG_BREAK:
        end_release(holder, client, MCDS_OK);
        break;
    case TAG_DROP:
        end_drop(holder, client, done->result);
        break;
    default:
        end_release(holder, client, done->result);
    }
}

/* At every moment the fence is what it was, or more, while the server forgets nothing. Where it
 * forgets, the fence may only fall by G-LOCK-2's exception. */
static const char *check_fence(void *context)
{
    struct world *world = context;
    uint64_t fence = play_peek(world->sim, "mcds:lf1:job", world->loses ? world->stored : 0);
    bool fell = fence < world->stored && !world->loses && !world->breaks && !world->drops;
    world->fell = world->fell || (world->loses && fence < world->stored);
    world->stored = fence;
    return fell ? "at this moment the fence is less than it was" : NULL;
}

/* One seed, in a world that begins like this one. Returns the violation, or NULL. */
static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    struct holder holders[CLIENTS_MAX];
    world.seed = options.seed;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        holders[i] = (struct holder){
            .world = &world,
            .tenure = &world.tenures[i],
            .lease = MCDS_LEASE_INIT,
            .rounds = play_calls(world.breaks_once ? ROUNDS_OF_LATE : ROUNDS),
        };
        play_add_locker(world.sim, program, &holders[i], LEASE_MS, &holders[i].lock);
    }
    const char *wrong = play_run(world.sim, 200000, check_fence, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_lock_close(holders[i].lock);
    play_close(world.sim);
    totals->granted += world.granted;
    totals->later += world.later;
    totals->lost += world.lost;
    totals->ambiguous += world.ambiguous;
    totals->dropped += world.dropped;
    totals->changes += world.changes;
    totals->out_of_order += world.out_of_order;
    totals->overlaps += world.overlaps;
    return world.violation;
}

static void one_holder_at_a_time_while_the_server_forgets_nothing(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 2000)
        assert_null(run(network_faults(seed), (struct world){0}, &totals));
    SEEN(totals.granted > 0);
    print_message("granted %llu, lost %llu, ambiguous %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.lost,
                  (unsigned long long)totals.ambiguous);
}

static void whoever_is_overtaken_is_told(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 2000)
        assert_null(run(all_faults(seed), (struct world){.loses = true}, &totals));
    SEEN(totals.lost > 0 && totals.overlaps > 0);
    print_message("granted %llu, lost %llu, ambiguous %llu, overlaps %llu, out of order %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.lost,
                  (unsigned long long)totals.ambiguous, (unsigned long long)totals.overlaps,
                  (unsigned long long)totals.out_of_order);
    SEEN(totals.out_of_order < 1 + totals.granted / 300);
}

/* Within a batch of one client, others may have whole tenures. */
static mcds_sim_options slow(mcds_sim_options options)
{
    options.delay_us_max = 100000;
    options.unordered = options.seed % 4 != 0;
    options = fewer_faults(options);
    return options;
}

static void tenures_within_a_batch_do_not_mix(void **state)
{
    (void)state;
    struct world totals = {0};
    struct world forgets = {.loses = true, .hasty = true};
    PLAY (seed, 1000) {
        assert_null(run(slow(network_faults(seed)), (struct world){.hasty = true}, &totals));
        assert_null(run(slow(all_faults(seed)), forgets, &totals));
    }
    SEEN(totals.granted > 0);
    print_message("granted %llu, lost %llu, ambiguous %llu, overlaps %llu, out of order %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.lost,
                  (unsigned long long)totals.ambiguous, (unsigned long long)totals.overlaps,
                  (unsigned long long)totals.out_of_order);
}

static void fences_grow_over_drops(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 2000)
        assert_null(run(network_faults(seed), (struct world){.drops = true}, &totals));
    SEEN(totals.granted > 0 && totals.dropped > 0);
    print_message("granted %llu, lost %llu, ambiguous %llu, dropped %llu\n",
                  (unsigned long long)totals.granted, (unsigned long long)totals.lost,
                  (unsigned long long)totals.ambiguous, (unsigned long long)totals.dropped);
}

static void a_free_lock_is_taken_soon(void **state)
{
    (void)state;
    struct world totals = {0};
    struct world prompt = {.prompt = true};
    PLAY (seed, 200) {
        mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
        options.seed = seed;
        options.seconds = seed % 2 == 0;
        options.classic = seed / 2 % 2 == 0;
        assert_null(run(options, prompt, &totals));
    }
    SEEN(totals.granted == play_count() * CLIENTS * ROUNDS);
}

/* Its request may arrive a minute late. */
static void a_late_break_ends_no_later_lease(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 400) {
        mcds_sim_options options = network_faults(seed);
        options.late_ppm *= 8;
        assert_null(run(options, (struct world){.breaks_once = true}, &totals));
    }
    SEEN(totals.later > 0);
    print_message("granted %llu, after the break %llu\n", (unsigned long long)totals.granted,
                  (unsigned long long)totals.later);
}

static void a_watch_reports_nothing_but_changes(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 1000)
        assert_null(run(network_faults(seed), (struct world){.watches = true}, &totals));
    SEEN(totals.changes > 0);
    print_message("granted %llu, changes seen %llu\n", (unsigned long long)totals.granted,
                  (unsigned long long)totals.changes);
}

/* The article's unlock deletes whatever is there. The same checks must catch it. */
static void an_unlock_that_does_not_compare_is_caught(void **state)
{
    (void)state;
    struct world totals = {0};
    uint64_t seed = 1;
    skip_unless_whole();
    struct world world = {.breaks = true, .quiet = true};
    while (seed < 2000 && run(network_faults(seed), world, &totals) == NULL)
        seed++;
    assert_true(seed < 2000);
    print_message("caught at seed %llu\n", (unsigned long long)seed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_holder_at_a_time_while_the_server_forgets_nothing),
    cmocka_unit_test(whoever_is_overtaken_is_told),
    cmocka_unit_test(tenures_within_a_batch_do_not_mix),
    cmocka_unit_test(fences_grow_over_drops),
    cmocka_unit_test(a_free_lock_is_taken_soon),
    cmocka_unit_test(a_watch_reports_nothing_but_changes),
    cmocka_unit_test(a_late_break_ends_no_later_lease),
    cmocka_unit_test(an_unlock_that_does_not_compare_is_caught),
};

PLAY_MAIN("lock")
