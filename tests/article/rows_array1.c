/* MCArray1: the whole array under one key, changed under a lock; and the hint to use gets and
 * cas. */
#include <string.h>

#include "article/rows.h"

#define KEY "arrayx"

static const char *const none[] = {NULL};
static const char *const one[] = {"1", NULL};
static const char *const two[] = {"2", NULL};

/* Another client's change, while the first stands still. */
struct rival {
    struct article_array1 array;
    double pause_s;
    const char *const *add;
    uint32_t count; /* changes by cas */
    enum answer answer;
};

static void change_after_pause(void *context)
{
    struct rival *rival = context;
    world_pass(rival->array.lock.mc->actor->world, rival->pause_s);
    rival->answer = article_array1_change(&rival->array, rival->add, none);
}

static bool A2_pause_over_the_lock_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_array1 array;
    struct rival rival = {.pause_s = 6, .add = two, .answer = KEY_ERROR};
    article_array1_init(&array, &mc[0], "x");
    article_array1_init(&rival.array, &mc[1], "x");
    actor_pauses(mc[0].actor, MCDS_SET, 1, change_after_pause, &rival);
    SHOW(article_array1_change(&array, one, none) == DONE && rival.answer == DONE);
    SHOW(memcache_peek_is(world, KEY, "1;"));
    return true;
}

static bool A3_eviction_article(struct world *world)
{
    static const char *const ten[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    article_array1_init(&array, &mc, "x");
    SHOW(article_array1_change(&array, ten, none) == DONE);
    SHOW(world_evict(world, KEY) == 1);
    SHOW(article_array1_change(&array, one, none) == DONE);
    SHOW(memcache_peek_is(world, KEY, "1;"));
    return true;
}

static bool A4_too_large_article(struct world *world)
{
    static char half[600000];
    const char *const large[] = {half, NULL};
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    memset(half, 'h', sizeof half - 1);
    article_array1_init(&array, &mc, "x");
    SHOW(article_array1_change(&array, large, none) == DONE);
    SHOW(article_array1_change(&array, large, none) == SERVER_ERROR);
    SHOW(memcache_is_missing(world, KEY));
    return true;
}

static bool A5_dead_writer_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_array1 dead;
    struct article_array1 array;
    bool locked = false;
    article_array1_init(&dead, &mc[0], "x");
    article_array1_init(&array, &mc[1], "x");
    SHOW(article_try_lock(&dead.lock, &locked) == DONE && locked);
    mc[0].actor->crashed = true;
    mc[1].operation_max = 5000;
    SHOW(article_array1_change(&array, one, none) == STOPPED); /* within less than a second */
    SHOW(world_now(world) < 1001);
    return true;
}

static bool A6_late_set_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_array1 array;
    struct article_array1 other;
    article_array1_init(&array, &mc[0], "x");
    article_array1_init(&other, &mc[1], "x");
    actor_is_late(mc[0].actor, MCDS_SET, 1, 7);
    SHOW(article_array1_change(&array, one, none) == NETWORK_ERROR);
    world_pass(world, 6);
    SHOW(article_array1_change(&other, two, none) == DONE);
    world_pass(world, 2);
    SHOW(memcache_peek_is(world, KEY, "1;"));
    return true;
}

static bool A7_lost_reply_of_cas_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(memcache_set(&mc, KEY, "1;", 0) == DONE);
    actor_loses_reply(mc.actor, MCDS_CAS, 1);
    SHOW(article_array1_change_by_cas(&mc, KEY, "2") == NETWORK_ERROR);
    SHOW(article_array1_change_by_cas(&mc, KEY, "2") == DONE); /* again */
    SHOW(memcache_peek_is(world, KEY, "1;2;2;"));
    return true;
}

struct restart {
    struct world *world;
    struct memcache *mc;
    enum answer answer;
};

static void restart_and_set(void *context)
{
    struct restart *restart = context;
    world_restart(restart->world);
    restart->answer = memcache_set(restart->mc, KEY, "new;acknowledged;", 0);
}

static bool A8_token_of_another_life_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct restart restart = {world, &mc[1], KEY_ERROR};
    struct text list = {NULL, 0, 0};
    uint64_t cas = 0;
    SHOW(memcache_set(&mc[0], KEY, "old;", 0) == DONE);
    SHOW(memcache_gets(&mc[0], KEY, &list, &cas) == DONE);
    restart_and_set(&restart);
    article_list_add(&list, "x");
    enum answer answer = memcache_cas(&mc[0], KEY, list.at, cas);
    text_free(&list);
    SHOW(answer == DONE && restart.answer == DONE);
    SHOW(memcache_peek_is(world, KEY, "old;x;"));
    return true;
}

static void change_by_cas(void *context)
{
    struct rival *rival = context;
    rival->answer = article_array1_change_by_cas(rival->array.lock.mc, KEY, "r");
    rival->count++;
}

static void evict_array(void *context)
{
    (void)world_evict(context, KEY);
}

static bool A9_hint_without_bounds_article(struct world *world)
{
    struct memcache mc[3] = {memcache_of(world_actor(world)), memcache_of(world_actor(world)),
                             memcache_of(world_actor(world))};
    struct rival rival = {.answer = DONE};
    article_array1_init(&rival.array, &mc[1], "x");
    SHOW(memcache_set(&mc[0], KEY, "", 0) == DONE);
    actor_pauses(mc[0].actor, MCDS_CAS, 0, change_by_cas, &rival);
    mc[0].operation_max = 200;
    SHOW(article_array1_change_by_cas(&mc[0], KEY, "1") == STOPPED && rival.count > 90);
    actor_pauses(mc[2].actor, MCDS_CAS, 1, evict_array, world);
    SHOW(article_array1_change_by_cas(&mc[2], KEY, "1") == KEY_ERROR); /* and what now? */
    return true;
}

static bool A10_success_that_raises_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    article_array1_init(&array, &mc, "x");
    actor_loses(mc.actor, MCDS_DELETE, 1);
    uint64_t before = mc.actor->batches;
    SHOW(article_array1_change(&array, one, none) == NETWORK_ERROR);
    SHOW(mc.actor->batches - before == 4);
    SHOW(memcache_peek_is(world, KEY, "1;"));
    return true;
}

static bool A11_repeated_change_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_array1 array;
    article_array1_init(&array, &mc, "x");
    actor_loses_reply(mc.actor, MCDS_SET, 1);
    SHOW(article_array1_change(&array, one, none) == NETWORK_ERROR);
    SHOW(article_array1_change(&array, one, none) == DONE);
    SHOW(memcache_peek_is(world, KEY, "1;1;"));
    SHOW(article_array1_change(&array, none, one) == DONE);
    SHOW(memcache_peek_is(world, KEY, "")); /* and one remove takes both */
    return true;
}

static const struct row rows[] = {
    NO_TEST(A1_does_not_run, "the lock gets no timeout, filter() is no list: TypeError",
            "the port passes 5 s and makes a list"),
    HALF_ROW(A2_pause_over_the_lock,
             "a pause between get and set that outlives the lock: the other's change is gone"),
    HALF_ROW(A3_eviction, "after an eviction the array is only what the next change adds"),
    HALF_ROW(A4_too_large, "a set over 1 MB is refused and the old array is gone too"),
    HALF_ROW(A5_dead_writer, "a writer dies inside: all others spin, 5000 requests a second"),
    HALF_ROW(A6_late_set, "a set whose sender gave up lands on the next one's change"),
    HALF_ROW(A7_lost_reply_of_cas, "by cas: a retry after a lost reply changes twice"),
    HALF_ROW(A8_token_of_another_life,
             "by cas: the numbers begin again with the server, and an old one matches a new "
             "value"),
    HALF_ROW(A9_hint_without_bounds,
             "by cas: nothing bounds the tries, and nothing is said about a key that vanished"),
    HALF_ROW(A10_success_that_raises,
             "four round trips; an unlock that fails hides that the change was made"),
    HALF_ROW(A11_repeated_change,
             "a repeated change adds twice, and a remove takes all that are equal"),
};

const struct rows array1_rows = ROWS("array1", "MCArray1", rows);
