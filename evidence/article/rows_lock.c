/* MCLock. A, B and C are three clients; a client holds the lock from its successful acquire
 * until its release. */
#include <string.h>

#include "article/rows.h"
#include "mcds.h"

#define LEASE_MS 5000
#define MINUTE_MS 60000

/* Three clients with the article's lock "x". */
struct party {
    struct memcache mc[3];
    struct article_lock a;
    struct article_lock b;
    struct article_lock c;
};

static bool meet(struct world *world, struct party *party, uint64_t timeout)
{
    struct article_lock *locks[] = {&party->a, &party->b, &party->c};
    for (size_t i = 0; i < 3; i++) {
        struct actor *actor = world_actor(world);
        if (actor == NULL)
            return false;
        party->mc[i] = memcache_of(actor);
        article_lock_init(locks[i], &party->mc[i], "x", timeout);
    }
    return true;
}

static bool gets(struct article_lock *lock)
{
    bool locked = false;
    return article_try_lock(lock, &locked) == DONE && locked;
}

/* Three clients with our lock "x". */
struct trio {
    struct actor *actor[3];
    mcds_lock *a;
    mcds_lock *b;
    mcds_lock *c;
    mcds_lease of_a;
    mcds_lease of_b;
    mcds_lease of_c;
};

static bool gather(struct world *world, struct trio *trio, uint32_t lease_ms)
{
    static const mcds_lease none = MCDS_LEASE_INIT;
    mcds_lock **locks[] = {&trio->a, &trio->b, &trio->c};
    for (size_t i = 0; i < 3; i++) {
        trio->actor[i] = world_actor(world);
        *locks[i] = trio->actor[i] != NULL ? open_lock(trio->actor[i], "x", lease_ms) : NULL;
        if (*locks[i] == NULL)
            return false;
    }
    trio->of_a = none;
    trio->of_b = none;
    trio->of_c = none;
    return true;
}

/* What a lock protects: it takes a write only with the newest fence it has seen. */
struct resource {
    uint64_t fence;
    int value;
};

static bool write_fenced(struct resource *resource, uint64_t fence, int value)
{
    if (fence < resource->fence)
        return false;
    resource->fence = fence;
    resource->value = value;
    return true;
}

static bool L2_unlock_after_expiry_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    world_pass(world, 6);
    SHOW(gets(&p.b));
    world_pass(world, 1);
    SHOW(article_unlock(&p.a) == DONE);
    SHOW(gets(&p.c) && p.b.locked);
    return true;
}

static bool L2_unlock_after_expiry_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    uint64_t fence = t.of_a.fence;
    world_pass(world, 8);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    SHOW(t.of_b.fence > fence);
    world_pass(world, 1);
    ANSWERS(MCDS_LOST, mcds_lock_release(t.a, &t.of_a));
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.c, &t.of_c));
    ANSWERS(MCDS_OK, mcds_lock_release(t.b, &t.of_b));
    return true;
}

static bool L3_lost_reply_of_add_article(struct world *world)
{
    struct party p;
    bool locked = false;
    SHOW(meet(world, &p, 5));
    actor_loses_reply(p.mc[0].actor, MCDS_ADD, 1);
    SHOW(article_try_lock(&p.a, &locked) == NETWORK_ERROR && !p.a.locked);
    SHOW(!gets(&p.a)); /* its own key refuses it */
    world_pass(world, 4);
    SHOW(!gets(&p.a));
    return true;
}

static bool L3_lost_reply_of_add_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    actor_loses_reply(t.actor[0], MCDS_ADD, 1);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b));
    ANSWERS(MCDS_OK, mcds_lock_release(t.a, &t.of_a));
    return true;
}

static bool L4_lost_reply_of_delete_article(struct world *world)
{
    struct party p;
    bool locked = false;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    actor_loses_reply(p.mc[0].actor, MCDS_DELETE, 1);
    SHOW(article_unlock(&p.a) == NETWORK_ERROR);
    SHOW(memcache_is_missing(world, "lock_x"));
    SHOW(article_try_lock(&p.a, &locked) == ASSERTION_ERROR);
    SHOW(gets(&p.b));
    actor_loses(p.mc[1].actor, MCDS_DELETE, 1); /* never arrives: the lock leaks */
    SHOW(article_unlock(&p.b) == NETWORK_ERROR);
    SHOW(!gets(&p.c));
    return true;
}

static bool L4_lost_reply_of_delete_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    actor_loses_reply(t.actor[0], MCDS_DELETE, 1);
    ANSWERS(MCDS_AMBIGUOUS, mcds_lock_release(t.a, &t.of_a));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    ANSWERS(MCDS_OK, mcds_lock_release(t.a, &t.of_a));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    actor_loses(t.actor[1], MCDS_DELETE, 1);
    ANSWERS(MCDS_OK, mcds_lock_release(t.b, &t.of_b));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.c, &t.of_c));
    return true;
}

static bool L5_restart_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 60));
    SHOW(gets(&p.a));
    world_restart(world);
    SHOW(gets(&p.b) && p.a.locked);
    SHOW(article_unlock(&p.a) == DONE); /* and A hears nothing of it */
    SHOW(gets(&p.c) && p.b.locked);
    return true;
}

/* The store forgot: the next holder's fence is larger, and the first one is told. */
static bool is_told_of_loss(struct world *world, void (*forget)(struct world *world))
{
    struct trio t;
    struct resource resource = {0, 0};
    SHOW(gather(world, &t, MINUTE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    uint64_t fence = t.of_a.fence;
    forget(world);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    SHOW(t.of_b.fence > fence);
    SHOW(write_fenced(&resource, t.of_b.fence, 2));
    SHOW(!write_fenced(&resource, fence, 1));
    ANSWERS(MCDS_LOST, mcds_lock_renew(t.a, &t.of_a));
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.c, &t.of_c));
    return true;
}

static bool L5_restart_ours(struct world *world)
{
    return is_told_of_loss(world, world_restart);
}

static bool L6_eviction_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 60));
    SHOW(gets(&p.a));
    SHOW(world_evict(world, "lock_x") == 1);
    SHOW(gets(&p.b) && p.a.locked);
    return true;
}

static void evict_lease(struct world *world)
{
    (void)world_evict(world, "mcds:lk1:x");
}

static bool L6_eviction_ours(struct world *world)
{
    return is_told_of_loss(world, evict_lease);
}

static bool L7_failover_article(struct world *world)
{
    static struct world second;
    struct party p;
    struct article_lock here;
    SHOW(meet(world, &p, 60));
    SHOW(gets(&p.a));
    SHOW(
        world_open(&second)); /* B cannot reach the first server, and its ring uses the other */
    struct actor *actor = world_actor(&second);
    struct memcache mc = memcache_of(actor);
    article_lock_init(&p.b, &mc, "x", 60);
    bool both = gets(&p.b) && p.a.locked;
    here = p.b; /* the ring heals before B unlocks */
    here.mc = &p.mc[1];
    bool unlocked = article_unlock(&here) == DONE;
    bool ghost = !memcache_is_missing(&second, "lock_x");
    world_close(&second);
    SHOW(both && unlocked && ghost);
    SHOW(gets(&p.c) && p.a.locked);
    return true;
}

static bool L7_failover_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, MINUTE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    t.actor[1]->unreachable = true;
    ANSWERS(MCDS_UNAVAILABLE, mcds_lock_try_acquire(t.b, &t.of_b));
    t.actor[1]->unreachable = false;
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b));
    ANSWERS(MCDS_OK, mcds_lock_release(t.a, &t.of_a));
    return true;
}

static bool L8_ttl_over_30_days_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 2592001));
    SHOW(gets(&p.a) && gets(&p.b) && gets(&p.c));
    return true;
}

static bool L8_ttl_over_30_days_ours(struct world *world)
{
    struct trio t;
    struct actor *actor = world_actor(world);
    SHOW(actor != NULL && open_lock(actor, "y", 2592001000) == NULL);
    SHOW(strstr(mcds_errmsg(), "lease") != NULL);
    SHOW(gather(world, &t, 86400000)); /* the longest that is taken */
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    world_pass(world, 86000);
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b));
    return true;
}

static bool L9_ttl_0_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 0));
    SHOW(gets(&p.a));
    p.mc[0].actor->crashed = true;
    world_pass(world, 1e8);
    SHOW(!gets(&p.b));
    return true;
}

static bool L9_ttl_0_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, 0)); /* the default, 15 s */
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    t.actor[0]->crashed = true;
    world_pass(world, 10);
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b));
    world_pass(world, 8);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    return true;
}

static bool L9b_store_without_ttl_article(struct world *world)
{
    struct party p;
    world->sim->timeless = true;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    p.mc[0].actor->crashed = true;
    world_pass(world, 1e8);
    SHOW(!gets(&p.b));
    return true;
}

static bool L9b_store_without_ttl_ours(struct world *world)
{
    mcds_lock *lock = NULL;
    world->sim->timeless = true;
    struct actor *actor = world_actor(world);
    SHOW(actor != NULL);
    ANSWERS(MCDS_UNSUPPORTED, mcds_lock_open(actor->store, "x", NULL, &lock));
    return true;
}

static bool L10_ttl_1_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 1));
    world_at(world, 1000.99);
    SHOW(gets(&p.a));
    world_at(world, 1001.0);
    SHOW(gets(&p.b) && p.a.locked); /* 10 ms later */
    return true;
}

static bool L10_ttl_1_ours(struct world *world)
{
    struct trio t;
    struct actor *actor = world_actor(world);
    SHOW(actor != NULL && open_lock(actor, "y", 1000) == NULL);
    SHOW(gather(world, &t, 3000)); /* the shortest that is taken */
    world_at(world, 1000.99);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    int64_t left_ms = mcds_lock_remaining_ms(t.a, &t.of_a);
    SHOW(left_ms > 900);
    world_pass(world, (double)left_ms / 1000);
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b)); /* A's end comes first */
    world_pass(world, 2.1);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    return true;
}

static bool L11_stalled_server_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 5));
    world_stall(world);
    world_pass(world, 7);
    SHOW(gets(&p.a));
    world_resume(world);
    world_pass(world, 0.01);
    SHOW(gets(&p.b) && p.a.locked);
    return true;
}

static bool L11_stalled_server_ours(struct world *world)
{
    struct trio t;
    struct resource resource = {0, 0};
    SHOW(gather(world, &t, LEASE_MS));
    world_stall(world);
    world_pass(world, 7);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    uint64_t fence = t.of_a.fence;
    world_resume(world);
    world_pass(world, 0.01);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    SHOW(write_fenced(&resource, t.of_b.fence, 2));
    SHOW(!write_fenced(&resource, fence, 1));
    ANSWERS(MCDS_LOST, mcds_lock_renew(t.a, &t.of_a));
    return true;
}

static bool L12_late_delete_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    world_pass(world, 1); /* well in time */
    actor_is_late(p.mc[0].actor, MCDS_DELETE, 1, 6);
    SHOW(article_unlock(&p.a) == NETWORK_ERROR);
    world_pass(world, 5);
    SHOW(gets(&p.b));
    world_pass(world, 2); /* A's delete arrives */
    SHOW(gets(&p.c) && p.b.locked);
    return true;
}

static bool L12_late_delete_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    world_pass(world, 1);
    actor_is_late(t.actor[0], MCDS_DELETE, 1, 6);
    ANSWERS(MCDS_OK, mcds_lock_release(t.a, &t.of_a));
    world_pass(world, 5);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    world_pass(world, 2);
    ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.c, &t.of_c));
    ANSWERS(MCDS_OK, mcds_lock_release(t.b, &t.of_b));
    return true;
}

static bool L13_array_under_the_same_lock_article(struct world *world)
{
    static const char *const none[] = {NULL};
    static const char *const one[] = {"1", NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_lock lock;
    struct article_array1 array;
    article_lock_init(&lock, &mc, "x", 5);
    article_array1_init(&array, &mc, "x");
    SHOW(gets(&lock));
    mc.operation_max = mc.operations + 5000; /* it waits for itself */
    SHOW(article_array1_change(&array, one, none) == STOPPED);
    world_pass(world, 6);
    mc.operation_max = mc.operations + 5000;
    SHOW(article_array1_change(&array, one, none) == DONE && lock.locked);
    return true;
}

static bool L13_array_under_the_same_lock_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_lock *lock = open_lock(actor, "x", LEASE_MS);
    mcds_array *array = open_array(actor, "x");
    mcds_bytes element = mcds_text("1");
    mcds_table *table = open_table(actor, "x");
    mcds_lease lease = MCDS_LEASE_INIT;
    SHOW(lock != NULL && array != NULL && table != NULL);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(lock, &lease));
    double before = world_now(world);
    ANSWERS(MCDS_OK, mcds_array_change(array, &element, 1, NULL, 0));
    ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text("k"), mcds_text("1"), 0));
    SHOW(world_now(world) - before < 0.1);
    ANSWERS(MCDS_OK, mcds_lock_release(lock, &lease));
    return true;
}

static bool L14_paused_holder_article(struct world *world)
{
    struct party p;
    int resource = 0;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    world_pass(world, 6); /* A is paused */
    SHOW(gets(&p.b));
    resource = 2;
    resource = p.a.locked ? 1 : resource; /* A resumes; no server would refuse it */
    SHOW(resource == 1 && p.b.locked);
    return true;
}

static bool L14_paused_holder_ours(struct world *world)
{
    struct trio t;
    struct resource resource = {0, 0};
    SHOW(gather(world, &t, LEASE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    world_pass(world, 8);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    SHOW(write_fenced(&resource, t.of_b.fence, 2));
    SHOW(!write_fenced(&resource, t.of_a.fence, 1));
    SHOW(resource.value == 2);
    return true;
}

static bool L15_holder_does_not_learn_article(struct world *world)
{
    struct party p;
    SHOW(meet(world, &p, 5));
    SHOW(gets(&p.a));
    world_pass(world, 6);
    SHOW(gets(&p.b) && p.a.locked);
    return true;
}

static bool L15_holder_does_not_learn_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    SHOW(mcds_lock_remaining_ms(t.a, &t.of_a) > 4500);
    for (int i = 0; i < 5; i++) { /* and it can continue */
        world_pass(world, 2);
        ANSWERS(MCDS_OK, mcds_lock_renew(t.a, &t.of_a));
        ANSWERS(MCDS_BUSY, mcds_lock_try_acquire(t.b, &t.of_b));
    }
    world_pass(world, 8);
    SHOW(mcds_lock_remaining_ms(t.a, &t.of_a) == 0);
    ANSWERS(MCDS_EXPIRED, mcds_lock_renew(t.a, &t.of_a));
    ANSWERS(MCDS_LOST, mcds_lock_release(t.a, &t.of_a));
    return true;
}

static bool L16_late_add_article(struct world *world)
{
    struct party p;
    bool locked = false;
    SHOW(meet(world, &p, 5));
    actor_is_late(p.mc[0].actor, MCDS_ADD, 1, 3);
    SHOW(article_try_lock(&p.a, &locked) == NETWORK_ERROR && !p.a.locked);
    world_pass(world, 3.1); /* it lands, and belongs to nobody */
    SHOW(!gets(&p.b));
    world_pass(world, 3.5);
    SHOW(!gets(&p.b));
    return true;
}

static bool L16_late_add_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    actor_is_late(t.actor[0], MCDS_ADD, 1, 3);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a)); /* asked again, same token */
    world_pass(world, 1);
    ANSWERS(MCDS_OK, mcds_lock_release(t.a, &t.of_a));
    world_pass(world, 2.1); /* it lands on the tombstone */
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.b, &t.of_b));
    ANSWERS(MCDS_OK, mcds_lock_release(t.b, &t.of_b));
    return true;
}

static bool L17_no_end_of_waiting_article(struct world *world)
{
    struct party p;
    bool locked = false;
    SHOW(meet(world, &p, 5));
    p.mc[0].actor->unreachable = true;
    p.mc[0].every_error_is_key_error = true; /* as many drivers have it */
    p.mc[0].operation_max = 5000;
    enum answer answer = DONE;
    while (answer == DONE && !locked)
        answer = article_try_lock(&p.a, &locked);
    SHOW(answer == STOPPED);
    return true;
}

static bool L17_no_end_of_waiting_ours(struct world *world)
{
    struct trio t;
    SHOW(gather(world, &t, LEASE_MS));
    t.actor[1]->unreachable = true;
    double before = world_now(world);
    ANSWERS(MCDS_UNAVAILABLE, mcds_lock_acquire(t.b, 60000, &t.of_b));
    SHOW(world_now(world) - before < 90);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(t.a, &t.of_a));
    uint64_t sent = t.actor[2]->requests;
    ANSWERS(MCDS_OK, mcds_lock_acquire(t.c, 60000, &t.of_c)); /* when A's lease is over */
    SHOW(t.actor[2]->requests - sent < 200);
    return true;
}

static const struct row rows[] = {
    NO_TEST(
        L1_constructor_misuse,
        "arrays and table call the constructor without its timeout: TypeError, nothing runs",
        "the compiler checks signatures; the ports pass a timeout of 5 s"),
    ROW(L2_unlock_after_expiry,
        "a late holder deletes the lock of the next one, and a third client "
        "acquires it",
        "release compares the token: LOST, and the next holder keeps the lock"),
    ROW(L3_lost_reply_of_add,
        "the add was applied and its reply lost: the owner does not know, and "
        "locks itself out",
        "it repeats the request with the same token, and holds the lock"),
    ROW(L4_lost_reply_of_delete,
        "a lost reply to unlock leaves `locked` set for ever; a lost request "
        "leaks the lock",
        "release returns AMBIGUOUS or OK; the lease is empty and the lock free"),
    ROW(L5_restart, "the server restarts: two holders, and neither learns it",
        "the second has a larger fence; the first gets LOST"),
    ROW(L6_eviction, "the key is evicted: two holders, and neither learns it",
        "the second has a larger fence; the first gets LOST"),
    ROW(L7_failover,
        "a client that cannot reach the server locks on the next one; its unlock "
        "deletes the lock of the first holder and leaves its own",
        "no failover: UNAVAILABLE, the holder keeps the lock"),
    ROW(L8_ttl_over_30_days,
        "memcached takes the ttl for a date in the past: every client holds the "
        "lock",
        "a lease of more than a day is INVALID; one of a day is kept"),
    ROW(L9_ttl_0, "without a ttl, a crashed holder blocks for ever",
        "every lease ends; the default is 15 s"),
    ROW(L9b_store_without_ttl, "on a store without ttl, a crashed holder blocks for ever",
        "such a store is refused at open: UNSUPPORTED"),
    ROW(L10_ttl_1, "a ttl of 1 s can end after 10 ms",
        "at least 3 s where the store counts seconds; the holder's deadline is "
        "earlier than the end of the key"),
    ROW(L11_stalled_server, "a stalled server counts from an old second: two holders",
        "no client can detect it; the fence keeps the first holder out, and it "
        "gets LOST"),
    ROW(L12_late_delete,
        "an unlock that is delayed in the network deletes the lock of the next "
        "holder",
        "the delete carries the token of its own tenure and does nothing"),
    ROW(L13_array_under_the_same_lock,
        "a program that holds the lock `x` and changes the array `x` waits for "
        "its own lock",
        "no structure uses the locks of the user, or any lock for a change"),
    ROW(L14_paused_holder, "a holder that was suspended overwrites the work of its successor",
        "the protected resource refuses the smaller fence"),
    ROW(L15_holder_does_not_learn,
        "the holder cannot learn that its time has ended, or extend it",
        "the lease has a deadline; renew extends it or returns EXPIRED or LOST"),
    ROW(L16_late_add,
        "an add arrives after its sender gave up: the lock is held and has no "
        "owner",
        "the retry owns it, and release leaves a tombstone that stops the late "
        "copy"),
    ROW(L17_no_end_of_waiting, "while the server is down, `while not try_lock()` never ends",
        "UNAVAILABLE in bounded time; a waiting client polls with back-off"),
};

const struct rows lock_rows = ROWS("lock", "MCLock", rows);
