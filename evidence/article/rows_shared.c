/* What all of the article's structures share. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"
#include "mcds.h"
#include "store/store.h"

static const char *const none[] = {NULL};
static const char *const one[] = {"1", NULL};

static bool G1_error_taken_for_a_miss_article(struct world *world)
{
    static const char *const three[] = {"a", "b", "c", NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    article_array1_init(&array, &mc, "x");
    SHOW(article_array1_change(&array, three, none) == DONE);
    mc.every_error_is_key_error = true; /* as a driver does that knows only one exception */
    actor_loses(mc.actor, MCDS_GET, 1);
    SHOW(article_array1_change(&array, one, none) == DONE);
    SHOW(memcache_peek_is(world, "arrayx", "1;"));
    return true;
}

static bool G1_error_taken_for_a_miss_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    SHOW(counter != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1000, NULL));
    actor_loses(actor, MCDS_GET, 1);
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value)); /* read again */
    actor->unreachable = true;
    ANSWERS(MCDS_UNAVAILABLE, mcds_counter_get(counter, &value));
    ANSWERS(MCDS_UNAVAILABLE, mcds_counter_add(counter, 1, NULL));
    actor->unreachable = false;
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 1000);
    return true;
}

static bool G2_lost_reply_is_not_modelled_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_increment(&mc, "counterx", 1) == DONE);
    actor_loses_reply(mc.actor, MCDS_INCR, 1);
    enum answer counted = article_increment(&mc, "counterx", 1);
    mc.actor->unreachable = true;
    enum answer not_counted = article_increment(&mc, "counterx", 1);
    SHOW(counted == not_counted);
    SHOW(memcache_peek_number(world, "counterx") == 2);
    return true;
}

static bool G2_lost_reply_is_not_modelled_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    SHOW(counter != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    actor_loses_reply(actor, MCDS_INCR, 1);
    ANSWERS(MCDS_AMBIGUOUS, mcds_counter_add(counter, 1, NULL));
    actor->unreachable = true;
    ANSWERS(MCDS_UNAVAILABLE, mcds_counter_add(counter, 1, NULL));
    SHOW(memcache_peek_number(world, "mcds:c1:x") == 2);
    return true;
}

static bool G3_late_request_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = 10};
    uint64_t value = 0;
    world_at(world, 2000);
    SHOW(article_visitors_increment(&visitors) == DONE);
    actor_is_late(mc.actor, MCDS_INCR, 1, 25);
    SHOW(article_visitors_increment(&visitors) == NETWORK_ERROR);
    world_at(world, 2020);
    SHOW(article_visitors_increment(&visitors) == DONE);
    world_at(world, 2031);
    SHOW(article_visitors_value(&visitors, &value) == DONE);
    SHOW(value == 2); /* one came in this period, and one two periods before */
    return true;
}

static bool G3_late_request_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_visitors *visitors = open_visitors(actor, "x", 10000);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(visitors != NULL);
    world_at(world, 2000);
    ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    actor_is_late(actor, MCDS_INCR, 1, 25);
    ANSWERS(MCDS_AMBIGUOUS, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2020);
    ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2031);
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 1);
    return true;
}

static bool G4_loop_without_bound_article(struct world *world)
{
    static char filling[1048576 - 512];
    struct memcache mc = memcache_of(world_actor(world));
    memset(filling, 'y', sizeof filling - 1);
    SHOW(memcache_set(&mc, "arrayx", filling, 0) == DONE);
    mc.operation_max = 5000;
    SHOW(article_array2_add_mended(&mc, "arrayx", "1;") == STOPPED);
    return true;
}

static bool G4_loop_without_bound_ours(struct world *world)
{
    static char value[1000];
    struct actor *actor = world_actor(world);
    mcds_list *list = open_list(actor, "x");
    mcds_counter *foreign = open_counter(actor, "x", 0, 0);
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(list != NULL && foreign != NULL);
    for (int i = 0; i < 1200; i++) {
        uint64_t before = actor->requests;
        ANSWERS(MCDS_OK, mcds_list_push(list, (mcds_bytes){value, sizeof value}));
        SHOW(actor->requests - before < 100);
    }
    SHOW(memcache_set(&mc, "mcds:c1:x", "abc", 0) == DONE);
    uint64_t before = actor->requests;
    ANSWERS(MCDS_CORRUPT, mcds_counter_add(foreign, 1, NULL));
    SHOW(actor->requests - before < 10);
    return true;
}

static bool G5_spinning_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_lock held;
    struct article_lock waits;
    bool locked = false;
    article_lock_init(&held, &mc[0], "x", 5);
    article_lock_init(&waits, &mc[1], "x", 5);
    SHOW(article_try_lock(&held, &locked) == DONE && locked);
    locked = false;
    double before = world_now(world);
    for (int i = 0; i < 5000 && !locked; i++)
        SHOW(article_try_lock(&waits, &locked) == DONE);
    SHOW(!locked && world_now(world) - before < 0.1); /* as fast as the line carries */
    return true;
}

static bool G5_spinning_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_lock *held = open_lock(world_actor(world), "x", 5000);
    mcds_lock *waits = open_lock(actor, "x", 5000);
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lease other = MCDS_LEASE_INIT;
    SHOW(held != NULL && waits != NULL);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(held, &lease));
    ANSWERS(MCDS_OK, mcds_lock_acquire(waits, 20000, &other)); /* when the lease is over */
    SHOW(actor->requests < 200);
    return true;
}

static bool G6_names_that_collide_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    article_array1_init(&array, &mc, "x");
    SHOW(article_array1_change(&array, one, none) == DONE);
    SHOW(article_array2_add_mended(&mc, "arrayx", "7") == DONE); /* MCArray2("x") */
    SHOW(memcache_peek_is(world, "arrayx", "1;7"));
    return true;
}

static bool G6_names_that_collide_ours(struct world *world)
{
    static const char *const names[] = {"x", "x:0", "x%3A0", "X", "~x", " ", "x\n"};
    struct actor *actor = world_actor(world);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            mcds_lock *lock = open_lock(actor, names[i], 0);
            mcds_counter *counter = open_counter(actor, names[i], 0, 0);
            mcds_visitors *visitors = open_visitors(actor, names[i], 10000);
            mcds_lease lease = MCDS_LEASE_INIT;
            mcds_visitors_value visited = MCDS_VISITORS_VALUE_INIT;
            int64_t value = 0;
            SHOW(lock != NULL && counter != NULL && visitors != NULL);
            ANSWERS(round == 0 ? MCDS_OK : MCDS_BUSY, mcds_lock_try_acquire(lock, &lease));
            ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, &value));
            ANSWERS(round == 0 ? MCDS_OK : MCDS_EXISTS, mcds_visitors_hit(visitors, "ann", 0));
            ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &visited));
            SHOW(value == round + 1 && visited.current == 1);
        }
    return true;
}

static bool G9_silent_loss_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    uint64_t value = 0;
    world_at(world, 6000);
    for (int i = 0; i < 100; i++)
        SHOW(article_online_increment(&mc) == DONE);
    SHOW(world_evict(world, "c_4") == 1);
    SHOW(article_online_increment(&mc) == DONE);
    world_at(world, 6060);
    SHOW(article_online_value(&mc, &value) == DONE && value == 1);
    return true;
}

static bool G9_silent_loss_ours(struct world *world)
{
    mcds_online *online = open_online(world_actor(world), "x");
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    char name[16];
    SHOW(online != NULL);
    world_at(world, 6000);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "visitor%d", i);
        ANSWERS(MCDS_OK, mcds_online_beat(online, name, 0));
    }
    world_at(world, 6002);
    SHOW(world_evict(world, "mcds:ow1:x:") == 6); /* the windows of its minute */
    ANSWERS(MCDS_OK, mcds_online_beat(online, "one more", 0));
    world_at(world, 6060);
    ANSWERS(MCDS_OK, mcds_online_get(online, 0, &value));
    SHOW(value.reborn);
    return true;
}

static bool G10_resurrection_article(struct world *world)
{
    static struct world second;
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct article_lock lock;
    bool locked = false;
    article_lock_init(&lock, &mc, "x", 60);
    SHOW(article_try_lock(&lock, &locked) == DONE && locked);
    SHOW(world_open(&second)); /* the ring takes the server out before the unlock */
    struct memcache there = memcache_of(world_actor(&second));
    lock.mc = &there;
    enum answer answer = article_unlock(&lock);
    world_close(&second);
    SHOW(answer == DONE && !lock.locked);
    article_lock_init(&lock, &other, "x", 60); /* and it is back, with the lock */
    SHOW(article_try_lock(&lock, &locked) == DONE && !locked);
    return true;
}

static bool G10_resurrection_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_lock *lock = open_lock(actor, "x", 60000);
    mcds_lock *other = open_lock(world_actor(world), "x", 60000);
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lease next = MCDS_LEASE_INIT;
    SHOW(lock != NULL && other != NULL);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(lock, &lease));
    actor->unreachable = true;
    ANSWERS(MCDS_UNAVAILABLE, mcds_lock_release(lock, &lease)); /* still held */
    actor->unreachable = false;
    ANSWERS(MCDS_OK, mcds_lock_release(lock, &lease));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(other, &next));
    return true;
}

static bool G11_no_sizes_article(struct world *world)
{
    static char half[600000];
    const char *const large[] = {half, NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    memset(half, 'h', sizeof half - 1);
    article_array1_init(&array, &mc, "x");
    SHOW(article_array1_change(&array, large, none) == DONE);
    SHOW(article_array1_change(&array, large, none) == SERVER_ERROR);
    SHOW(memcache_is_missing(world, "arrayx"));
    return true;
}

static bool G11_no_sizes_ours(struct world *world)
{
    static char large[1200000];
    mcds_table *table = open_table(world_actor(world), "x");
    mcds_value value = MCDS_VALUE_INIT;
    SHOW(table != NULL);
    ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text("k"), mcds_text("old"), 0));
    ANSWERS(MCDS_TOO_BIG,
            mcds_table_put(table, mcds_text("k"), (mcds_bytes){large, sizeof large}, 0));
    ANSWERS(MCDS_OK, mcds_table_get(table, mcds_text("k"), &value));
    bool stands = value.length == 3 && memcmp(value.data, "old", 3) == 0;
    mcds_value_free(&value);
    SHOW(stands);
    return true;
}

static bool G12_clocks_differ_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache fast = memcache_of(world_actor(world));
    uint64_t value = 1;
    actor_is_fast(fast.actor, 61);
    world_at(world, 6010);
    SHOW(article_online_increment(&fast) == DONE); /* makes the next minute's key */
    world_at(world, 6100);
    for (int i = 0; i < 50; i++)
        SHOW(article_online_increment(&mc) == DONE);
    world_at(world, 6400); /* the window still holds that minute */
    SHOW(article_online_value(&mc, &value) == DONE && value == 0);
    return true;
}

static bool G12_clocks_differ_ours(struct world *world)
{
    struct actor *fast = world_actor(world);
    mcds_online *online = open_online(world_actor(world), "x");
    mcds_online *there = open_online(fast, "x");
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    char name[16];
    SHOW(online != NULL && there != NULL);
    actor_is_fast(fast, 61);
    world_at(world, 6010);
    ANSWERS(MCDS_OK, mcds_online_beat(there, "bob", 0));
    world_at(world, 6100);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "visitor%d", i);
        ANSWERS(MCDS_OK, mcds_online_beat(online, name, 0));
    }
    world_at(world, 6400);
    ANSWERS(MCDS_OK, mcds_online_get(online, 0, &value));
    SHOW(value.closed == 51);
    return true;
}

static bool G13_delete_that_raises_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_lock lock;
    bool locked = false;
    article_lock_init(&lock, &mc, "x", 5);
    mc.delete_raises = true; /* the interface does not say */
    SHOW(article_try_lock(&lock, &locked) == DONE && locked);
    world_pass(world, 6);
    SHOW(article_unlock(&lock) == KEY_ERROR && lock.locked);
    SHOW(article_try_lock(&lock, &locked) == ASSERTION_ERROR); /* for ever */
    return true;
}

static bool G13_delete_that_raises_ours(struct world *world)
{
    mcds_lock *lock = open_lock(world_actor(world), "x", 5000);
    mcds_lease lease = MCDS_LEASE_INIT;
    SHOW(lock != NULL);
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(lock, &lease));
    world_pass(world, 8); /* the server keeps a lease for 2 s more */
    ANSWERS(MCDS_LOST, mcds_lock_release(lock, &lease));
    ANSWERS(MCDS_OK, mcds_lock_try_acquire(lock, &lease));
    return true;
}

static bool G14_no_frames_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_array2_add_mended(&mc, "arrayx", "1") == DONE);
    SHOW(article_array2_add_mended(&mc, "arrayx", "3") == DONE);
    SHOW(memcache_peek_is(world, "arrayx", "13"));
    return true;
}

static bool count_values(void *context, mcds_bytes value)
{
    *(size_t *)context += value.length == 1;
    return true;
}

static bool G14_no_frames_ours(struct world *world)
{
    mcds_list *list = open_list(world_actor(world), "x");
    mcds_table *table = open_table(world_actor(world), "x");
    struct memcache mc = memcache_of(world_actor(world));
    size_t count = 0;
    SHOW(list != NULL && table != NULL);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("1")));
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("3")));
    ANSWERS(MCDS_OK, mcds_list_scan(list, 0, 0, count_values, &count));
    SHOW(count == 2);
    ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text("k"), mcds_text("1"), 0));
    SHOW(memcache_set(&mc, "mcds:t2:x", "of another writer", 0) == DONE);
    ANSWERS(MCDS_CORRUPT, mcds_table_has(table, mcds_text("k")));
    return true;
}

#define CROWD 8

/* Eight clients come to a new period in the same moment: each misses before the first has made
 * the key. */
struct crowd {
    struct memcache mc[CROWD];
    mcds_visitors *ours[CROWD];
    uint32_t next;
    bool failed;
};

static void next_article(void *context)
{
    struct crowd *crowd = context;
    if (crowd->next == CROWD)
        return;
    struct article_visitors visitors = {.mc = &crowd->mc[crowd->next++], .name = "x", .T = 10};
    if (article_visitors_increment(&visitors) != DONE)
        crowd->failed = true;
}

static bool G15_all_at_once_article(struct world *world)
{
    struct crowd crowd = {.next = 0};
    uint64_t most = 0;
    for (size_t i = 0; i < CROWD; i++) {
        crowd.mc[i] = memcache_of(world_actor(world));
        actor_pauses(crowd.mc[i].actor, MCDS_ADD, 1, next_article, &crowd);
    }
    world_at(world, 2000);
    next_article(&crowd);
    for (size_t i = 0; i < CROWD; i++)
        if (crowd.mc[i].actor->batches > most)
            most = crowd.mc[i].actor->batches;
    SHOW(!crowd.failed && most == 3); /* incr, add, incr: seven of the eight */
    return true;
}

static void next_ours(void *context)
{
    struct crowd *crowd = context;
    if (crowd->next == CROWD)
        return;
    if (mcds_visitors_hit(crowd->ours[crowd->next++], NULL, 0) != MCDS_OK)
        crowd->failed = true;
}

static bool G15_all_at_once_ours(struct world *world)
{
    struct crowd crowd = {.next = 0};
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    uint64_t before[CROWD];
    world_at(world, 2000);
    for (size_t i = 0; i < CROWD; i++) {
        struct actor *actor = world_actor(world);
        crowd.ours[i] = open_visitors(actor, "x", 10000);
        SHOW(crowd.ours[i] != NULL);
        ANSWERS(MCDS_OK, mcds_visitors_hit(crowd.ours[i], NULL, 0));
        before[i] = actor->batches;
        actor_pauses(actor, MCDS_ADD, 1, next_ours, &crowd);
    }
    world_at(world, 2010);
    next_ours(&crowd);
    SHOW(!crowd.failed && crowd.next == CROWD);
    for (size_t i = 0; i < CROWD; i++)
        SHOW(world->actors[i].batches - before[i] <= 2);
    ANSWERS(MCDS_OK, mcds_visitors_get(crowd.ours[0], 0, &value));
    SHOW(value.current == CROWD);
    return true;
}

/* The timeline of G11 on a dictionary in this process: all is well. */
static bool G17_tests_on_a_dictionary_article(struct world *world)
{
    static char half[600000];
    const char *const large[] = {half, NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    memset(half, 'h', sizeof half - 1);
    article_array1_init(&array, &mc, "x");
    SHOW(mcds_open("memory:", NULL, &mc.store) == MCDS_OK);
    enum answer first = article_array1_change(&array, large, none);
    mcds_close(mc.store);
    SHOW(first == DONE);
    return G11_no_sizes_article(world); /* and on memcached it is not */
}

static bool G17_tests_on_a_dictionary_ours(struct world *world)
{
    mcds_store *strict = NULL;
    mcds_capabilities memory;
    mcds_capabilities server;
    ANSWERS(MCDS_OK, mcds_open("memory:?strict=1", NULL, &strict));
    memory = mcds__store_can(strict);
    server = mcds__store_can(world_actor(world)->store);
    mcds_close(strict);
    SHOW(memory.value_max <= server.value_max && memory.evicts);
    SHOW(memory.ttl_unit_ms >= server.ttl_unit_ms);
    SHOW(memory.ttl_early_ms >= server.ttl_early_ms);
    return true;
}

static const struct row rows[] = {
    ROW(G1_error_taken_for_a_miss,
        "a driver takes an error for a missing key, and the array starts again "
        "with one element",
        "only the server can report a miss; a failure is retried or UNAVAILABLE"),
    ROW(G2_lost_reply_is_not_modelled,
        "\"counted\" and \"certainly not counted\" raise the same exception",
        "AMBIGUOUS and UNAVAILABLE distinguish them"),
    ROW(G3_late_request, "a request that arrives 25 s late counts in the wrong period",
        "its key names its period, so it counts there"),
    ROW(G4_loop_without_bound,
        "`while True` without bound, pause or deadline: a full key is tried for ever",
        "every call has a deadline and a bound; a full key is followed by another"),
    ROW(G5_spinning, "one waiter sends 5000 requests within a tenth of a second",
        "it polls with growing pauses: less than 150 requests in five seconds"),
    ROW(G6_names_that_collide, "the two arrays named `x` are one key",
        "a key names its structure, and different names have different encodings"),
    ROW(G9_silent_loss, "a missing key is read as zero; the loss of 100 is not reported",
        "`reborn`: each number carries the second of its creation"),
    ROW(G10_resurrection,
        "an unlock while the server is out of the ring: the lock returns with the "
        "server",
        "no failover: UNAVAILABLE, still held, and released when the server is back"),
    ROW(G11_no_sizes, "a value over 1 MB destroys the old value",
        "TOO_BIG before it is sent; the old value stays"),
    ROW(G12_clocks_differ,
        "the clients' clocks choose the key, the server's clock ends it: 50 "
        "vanish within the window",
        "keys are named by absolute time and live longer than every window"),
    ROW(G13_delete_that_raises,
        "it is not specified whether delete raises; if it does, the lock cannot "
        "be used again",
        "LOST, and the lease is empty"),
    ROW(G14_no_frames, "values have no separator: 1 and 3 become 13",
        "records have a length and a checksum; foreign bytes are CORRUPT, not "
        "empty"),
    ROW(G15_all_at_once, "at each new period every client misses: three round trips",
        "two at most, for every client"),
    NO_TEST(G16_code, "`assert` as a check, no initialisation, two versions of Python mixed",
            "a matter of code, not of the algorithm"),
    ROW(G17_tests_on_a_dictionary,
        "the article recommends tests with a dictionary in the process; they pass "
        "where memcached fails",
        "`memory:?strict=1` emulates the worst behaviour that memcached permits"),
};

const struct rows shared_rows = ROWS("shared", "All structures", rows);
