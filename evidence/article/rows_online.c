/* The online counter: six keys of a minute. 6000.0 begins minute 100. */
#include <inttypes.h>
#include <stdio.h>

#include "article/rows.h"
#include "mcds.h"

/* Another program, and somebody new for each of its calls. */
struct others {
    struct world *world;
    struct memcache *mc;
    mcds_online *online;
    unsigned serial;
    bool failed;
};

static void somebody_comes_article(struct others *others)
{
    others->failed = others->failed || article_online_increment(others->mc) != DONE;
}

static void somebody_comes_ours(struct others *others)
{
    char name[24];
    (void)snprintf(name, sizeof name, "visitor%u", others->serial++);
    others->failed = others->failed || mcds_online_beat(others->online, name, 0) != MCDS_OK;
}

static void many_come_article(void *context)
{
    for (int i = 0; i < 500; i++)
        somebody_comes_article(context);
}

static void many_come_ours(void *context)
{
    for (int i = 0; i < 500; i++)
        somebody_comes_ours(context);
}

static bool shows(mcds_online *online, uint64_t closed)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    ANSWERS(MCDS_OK, mcds_online_get(online, 0, &value));
    if (value.closed != closed)
        printf("    shows %" PRIu64 "\n", value.closed);
    SHOW(value.closed == closed);
    return true;
}

static bool O1_set_over_the_others_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct others others = {.world = world, .mc = &other};
    world_at(world, 6000);
    actor_pauses(mc.actor, MCDS_SET, 1, many_come_article, &others);
    SHOW(article_online_increment(&mc) == DONE && !others.failed);
    SHOW(memcache_peek_number(world, "c_4") == 1); /* of 501 */
    return true;
}

static bool O1_set_over_the_others_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_online *online = open_online(actor, "x");
    struct others others = {.world = world, .online = open_online(world_actor(world), "x")};
    SHOW(online != NULL && others.online != NULL);
    world_at(world, 6000);
    actor_pauses(actor, MCDS_ADD, 2, many_come_ours, &others); /* before it makes the bucket */
    ANSWERS(MCDS_OK, mcds_online_beat(online, "ann", 0));
    SHOW(!others.failed && others.serial == 500);
    world_at(world, 6060);
    SHOW(shows(online, 501));
    return true;
}

static bool O2_ttl_from_the_first_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct others others = {.world = world, .mc = &mc};
    uint64_t value = 0;
    world_at(world, 6020);
    somebody_comes_article(&others);
    for (int i = 0; i < 60; i++) {
        world_at(world, 6360 + i);
        somebody_comes_article(&others);
    }
    world_at(world, 6421);
    SHOW(!others.failed && article_online_value(&mc, &value) == DONE);
    SHOW(value == 40); /* of 60 */
    return true;
}

static bool O2_ttl_from_the_first_ours(struct world *world)
{
    struct others others = {.world = world, .online = open_online(world_actor(world), "x")};
    SHOW(others.online != NULL);
    world_at(world, 6020);
    somebody_comes_ours(&others);
    for (int i = 0; i < 60; i++) {
        world_at(world, 6360 + i);
        somebody_comes_ours(&others);
    }
    world_at(world, 6421);
    SHOW(!others.failed);
    SHOW(shows(others.online, 60));
    return true;
}

static bool O3_dies_in_the_window_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct others others = {.world = world, .mc = &mc};
    uint64_t before = 0;
    uint64_t after = 1;
    world_phase(world, 0.5);
    world_at(world, 6000.2);
    for (int i = 0; i < 100; i++)
        somebody_comes_article(&others);
    world_at(world, 6359.4);
    SHOW(!others.failed && article_online_value(&mc, &before) == DONE);
    world_at(world, 6359.6);
    SHOW(article_online_value(&mc, &after) == DONE);
    SHOW(before == 100 && after == 0);
    return true;
}

static bool O3_dies_in_the_window_ours(struct world *world)
{
    struct others others = {.world = world, .online = open_online(world_actor(world), "x")};
    SHOW(others.online != NULL);
    world_phase(world, 0.5);
    world_at(world, 6000.2);
    for (int i = 0; i < 100; i++)
        somebody_comes_ours(&others);
    SHOW(!others.failed);
    world_at(world, 6359.4);
    SHOW(shows(others.online, 100));
    world_at(world, 6359.6);
    SHOW(shows(others.online, 100));
    return true;
}

static void wait_and_come_article(void *context)
{
    struct others *others = context;
    world_at(others->world, 6361);
    somebody_comes_article(others);
}

static void wait_and_come_ours(void *context)
{
    struct others *others = context;
    world_at(others->world, 6361);
    somebody_comes_ours(others);
}

static bool O4_torn_sum_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct others others = {.world = world, .mc = &other};
    uint64_t value = 0;
    for (int minute = 0; minute < 6; minute++) {
        world_at(world, 6000 + 60 * minute);
        for (int i = 0; i < 100; i++)
            somebody_comes_article(&others);
    }
    world_at(world, 6359.9);
    actor_pauses(mc.actor, MCDS_GET, 3, wait_and_come_article, &others);
    SHOW(article_online_value(&mc, &value) == DONE && !others.failed);
    SHOW(value != 500);
    return true;
}

static bool O4_torn_sum_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_online *online = open_online(actor, "x");
    struct others others = {.world = world, .online = open_online(world_actor(world), "x")};
    SHOW(online != NULL && others.online != NULL);
    for (int minute = 0; minute < 6; minute++) {
        world_at(world, 6000 + 60 * minute);
        for (int i = 0; i < 100; i++)
            somebody_comes_ours(&others);
    }
    world_at(world, 6359.9);
    actor_pauses(actor, MCDS_GET, 1, wait_and_come_ours, &others);
    SHOW(shows(online, 500)); /* of the window in which it began */
    SHOW(!others.failed);
    return true;
}

struct second_request {
    struct memcache *mc;
    mcds_online *online;
    int answer;
};

static void request_article(void *context)
{
    struct second_request *request = context;
    request->answer = (int)article_online_hit(request->mc, "session");
}

static void request_ours(void *context)
{
    struct second_request *request = context;
    request->answer = mcds_online_beat(request->online, "ann", 0);
}

static bool O5_parallel_requests_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct second_request request = {&other, NULL, (int)KEY_ERROR};
    world_at(world, 6000);
    actor_pauses(mc.actor, MCDS_INCR, 1, request_article, &request);
    SHOW(article_online_hit(&mc, "session") == DONE && request.answer == (int)DONE);
    SHOW(memcache_peek_number(world, "c_4") == 2);
    return true;
}

static bool O5_parallel_requests_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_online *online = open_online(actor, "x");
    struct second_request request = {NULL, open_online(world_actor(world), "x"), MCDS_BUSY};
    SHOW(online != NULL && request.online != NULL);
    world_at(world, 6000);
    actor_pauses(actor, MCDS_ADD, 1, request_ours, &request);
    ANSWERS(MCDS_EXISTS, mcds_online_beat(online, "ann", 0));
    ANSWERS(MCDS_OK, request.answer);
    world_at(world, 6060);
    SHOW(shows(online, 1));
    return true;
}

/* 0:59, 5:58 and 6:01 of somebody who stays. */
static const double stays[] = {6059, 6358, 6361};

static bool O6_missing_for_a_minute_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    uint64_t value = 1;
    for (size_t i = 0; i < 3; i++) {
        world_at(world, stays[i]);
        SHOW(article_online_hit(&mc, "session") == DONE);
    }
    world_at(world, 6390);
    SHOW(article_online_value(&mc, &value) == DONE);
    SHOW(value == 0);
    return true;
}

static bool O6_missing_for_a_minute_ours(struct world *world)
{
    mcds_online *online = open_online(world_actor(world), "x");
    SHOW(online != NULL);
    for (size_t i = 0; i < 3; i++) {
        world_at(world, stays[i]);
        SHOW(mcds_online_beat(online, "ann", 0) >= MCDS_OK);
        if (i == 1) {
            world_at(world, 6359);
            SHOW(shows(online, 1));
        }
    }
    world_at(world, 6390);
    SHOW(shows(online, 1));
    return true;
}

/* The variant with two keys: every five minutes somebody swaps them and sets one to 0. */
static bool O7_reset_by_a_client_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct text shown = {NULL, 0, 0};
    for (int i = 0; i < 100; i++)
        SHOW(article_increment(&other, "online_0", 1) == DONE);
    SHOW(memcache_get(&mc, "online_0", &shown) == DONE);
    uint64_t first = text_number(&shown);
    text_free(&shown);
    /* These chose the key before the swap. */
    for (int i = 0; i < 7; i++)
        SHOW(article_increment(&other, "online_0", 1) == DONE);
    SHOW(memcache_set(&mc, "online_0", "0", 0) == DONE);
    SHOW(first + memcache_peek_number(world, "online_0") == 100); /* of 107 */
    return true;
}

static void seven_come(void *context)
{
    for (int i = 0; i < 7; i++)
        somebody_comes_ours(context);
}

static bool O7_reset_by_a_client_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    struct others others = {.world = world, .online = open_online(world_actor(world), "x")};
    mcds_online *online = open_online(actor, "x");
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    SHOW(online != NULL && others.online != NULL);
    world_at(world, 6000);
    for (int i = 0; i < 100; i++)
        somebody_comes_ours(&others);
    /* Nothing is swapped or reset: a visitor of the time of a reading is in the next reading. */
    actor_pauses(actor, MCDS_GET, 1, seven_come, &others);
    ANSWERS(MCDS_OK, mcds_online_get(online, 0, &value));
    world_at(world, 6060);
    SHOW(shows(online, 107));
    SHOW(!others.failed);
    return true;
}

static const struct row rows[] = {
    ROW(O1_set_over_the_others,
        "a client that finds no key sets it to 1, over 500 that counted in "
        "between",
        "created by add and incremented: the client that loses the race still "
        "counts"),
    ROW(O2_ttl_from_the_first,
        "a key created 20 s into its minute expires 20 s into its next use: 20 of "
        "60 lost",
        "each minute has a key of its own: 60"),
    ROW(O3_dies_in_the_window,
        "a key expires a second before it leaves the window: 100, then 0",
        "keys live longer than the window by more than a store may expire them "
        "early: 100"),
    ROW(O4_torn_sum, "five reads across a minute's change mix two windows",
        "one batch of keys that are named by their minute: one window"),
    ROW(O5_parallel_requests, "two parallel requests of one visitor count two",
        "one of them claims the visitor; the other gets EXISTS"),
    ROW(O6_missing_for_a_minute,
        "a visitor counts again only five minutes after it was last counted: one "
        "that is active at 0:59, 5:58 and 6:01 is missing from 6:00 to 7:00",
        "each window counts the visitor exactly once: it is present at 5:59 and at "
        "6:30"),
    ROW(O7_reset_by_a_client, "two keys, swapped and reset: visitors in between are lost",
        "nothing is ever reset"),
};

const struct rows online_rows = ROWS("online", "The online counter", rows);
