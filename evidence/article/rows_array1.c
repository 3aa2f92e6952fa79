/* MCArray1: the whole array under one key, changed under a lock; and the hint to use gets and
 * cas. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"
#include "mcds.h"

#define KEY "arrayx"

static const char *const none[] = {NULL};
static const char *const one[] = {"1", NULL};
static const char *const two[] = {"2", NULL};

/* Another client's change, while the first is paused. */
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

static int add(mcds_array *array, const char *element)
{
    mcds_bytes bytes = mcds_text(element);
    return mcds_array_change(array, &bytes, 1, NULL, 0);
}

static int take_out(mcds_array *array, const char *element)
{
    mcds_bytes bytes = mcds_text(element);
    return mcds_array_change(array, NULL, 0, &bytes, 1);
}

static bool write_down(void *context, mcds_bytes element)
{
    char ended[24];
    (void)snprintf(ended, sizeof ended, "%.*s;", (int)element.length,
                   (const char *)element.data);
    text_add(context, ended);
    return true;
}

/* Whether these are the elements of ours, each ended by a semicolon. */
static bool reads(mcds_array *array, const char *expected)
{
    struct text text = {NULL, 0, 0};
    text_set(&text, "");
    int answer = mcds_array_scan(array, write_down, &text);
    bool is = text_is(&text, expected);
    if (answer == MCDS_OK && !is)
        printf("    reads %s\n", text.at);
    text_free(&text);
    ANSWERS(MCDS_OK, answer);
    SHOW(is);
    return true;
}

/* The change of another client while the first of ours is paused. */
struct our_rival {
    struct world *world;
    mcds_array *array;
    double pause_s;
    bool restarts;
    uint32_t count;
    int answer;
};

static void change_ours(void *context)
{
    struct our_rival *rival = context;
    if (rival->restarts)
        world_restart(rival->world);
    world_pass(rival->world, rival->pause_s);
    rival->answer = add(rival->array, "r");
    rival->count++;
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

static bool A2_pause_over_the_lock_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    struct our_rival rival = {.world = world,
                              .array = open_array(world_actor(world), "x"),
                              .pause_s = 6,
                              .answer = MCDS_BUSY};
    SHOW(array != NULL && rival.array != NULL);
    ANSWERS(MCDS_OK, add(array, "0"));
    actor_pauses(actor, MCDS_CAS, 1, change_ours, &rival);
    ANSWERS(MCDS_OK, add(array, "1"));
    ANSWERS(MCDS_OK, rival.answer);
    return reads(array, "0;r;1;");
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

static bool A3_eviction_ours(struct world *world)
{
    mcds_array *array = open_array(world_actor(world), "x");
    mcds_array *reader = open_array(world_actor(world), "x");
    struct text text = {NULL, 0, 0};
    SHOW(array != NULL && reader != NULL);
    for (const char *at = "0123456789"; *at != '\0'; at++)
        ANSWERS(MCDS_OK, add(array, (const char[]){*at, '\0'}));
    SHOW(reads(reader, "0;1;2;3;4;5;6;7;8;9;"));
    SHOW(world_evict(world, "mcds:a1:x") == 1);
    ANSWERS(MCDS_LOST, mcds_array_scan(reader, write_down, &text));
    ANSWERS(MCDS_LOST, add(array, "1"));
    ANSWERS(MCDS_OK, add(array, "1")); /* a caller that was told of the loss may begin again */
    return reads(array, "1;");
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

static bool count_bytes(void *context, mcds_bytes element)
{
    *(size_t *)context += element.length;
    return true;
}

static bool A4_too_large_ours(struct world *world)
{
    static char half[600000];
    static mcds_bytes many[120];
    mcds_array *array = open_array(world_actor(world), "x");
    size_t length = 0;
    SHOW(array != NULL);
    for (int i = 0; i < 3; i++) {
        mcds_bytes element = {half, sizeof half};
        ANSWERS(MCDS_OK, mcds_array_change(array, &element, 1, NULL, 0));
    }
    for (size_t i = 0; i < 120; i++)
        many[i] = (mcds_bytes){half, sizeof half};
    ANSWERS(MCDS_TOO_BIG, mcds_array_change(array, many, 120, NULL, 0)); /* 72 MB */
    ANSWERS(MCDS_OK, mcds_array_scan(array, count_bytes, &length));
    SHOW(length == 3 * sizeof half);
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

static void crash(void *context)
{
    ((struct actor *)context)->crashed = true;
}

static bool A5_dead_writer_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    struct actor *other = world_actor(world);
    mcds_array *dead = open_array(actor, "x");
    mcds_array *array = open_array(other, "x");
    SHOW(dead != NULL && array != NULL);
    ANSWERS(MCDS_OK, add(array, "0"));
    actor_pauses(actor, MCDS_CAS, 1, crash, actor);
    SHOW(add(dead, "1") != MCDS_OK);
    uint64_t before = other->requests;
    ANSWERS(MCDS_OK, add(array, "2"));
    SHOW(other->requests - before <= 4);
    return reads(array, "0;2;");
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

static bool A6_late_set_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    mcds_array *other = open_array(world_actor(world), "x");
    SHOW(array != NULL && other != NULL);
    ANSWERS(MCDS_OK, add(array, "0"));
    actor_is_late(actor, MCDS_CAS, 1, 7);
    ANSWERS(MCDS_OK, add(array, "1"));
    world_pass(world, 6);
    ANSWERS(MCDS_OK, add(other, "2"));
    world_pass(world, 2); /* the copy arrives */
    return reads(other, "0;1;2;");
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

static bool A7_lost_reply_of_cas_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    struct our_rival rival = {
        .world = world, .array = open_array(world_actor(world), "x"), .answer = MCDS_BUSY};
    SHOW(array != NULL && rival.array != NULL);
    actor_loses_reply(actor, MCDS_ADD, 1);
    ANSWERS(MCDS_OK, add(array, "1"));
    actor_loses_reply(actor, MCDS_CAS, 1);
    ANSWERS(MCDS_OK, add(array, "2"));
    actor_loses(actor, MCDS_CAS, 1);
    ANSWERS(MCDS_OK, add(array, "3"));
    actor_loses_reply(actor, MCDS_CAS, 1);
    actor_pauses(actor, MCDS_GET, 2, change_ours, &rival); /* before it looks again */
    ANSWERS(MCDS_OK, add(array, "4"));
    ANSWERS(MCDS_OK, rival.answer);
    return reads(array, "1;2;3;4;r;");
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

static bool A8_token_of_another_life_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    struct our_rival rival = {.world = world,
                              .array = open_array(world_actor(world), "x"),
                              .restarts = true,
                              .answer = MCDS_BUSY};
    SHOW(array != NULL && rival.array != NULL);
    ANSWERS(MCDS_OK, add(array, "old"));
    actor_pauses(actor, MCDS_CAS, 1, change_ours, &rival);
    int answer = add(array, "x");
    ANSWERS(MCDS_OK, rival.answer);
    SHOW(answer == MCDS_OK || answer == MCDS_LOST || answer == MCDS_AMBIGUOUS);
    return reads(rival.array, answer == MCDS_OK ? "r;x;" : "r;");
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

static void evict_ours(void *context)
{
    (void)world_evict(context, "mcds:a1:x");
}

static bool A9_hint_without_bounds_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    struct actor *third = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    mcds_array *late = open_array(third, "x");
    struct our_rival rival = {
        .world = world, .array = open_array(world_actor(world), "x"), .answer = MCDS_BUSY};
    SHOW(array != NULL && rival.array != NULL && late != NULL);
    ANSWERS(MCDS_OK, add(array, "0"));
    actor_pauses(actor, MCDS_CAS, 0, change_ours, &rival);
    double before = world_now(world);
    ANSWERS(MCDS_BUSY, add(array, "1")); /* not applied */
    SHOW(world_now(world) - before < 30 && actor->requests < 5000);
    actor_pauses(third, MCDS_CAS, 1, evict_ours, world);
    ANSWERS(MCDS_LOST, add(late, "1"));
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

static bool A10_success_that_raises_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    SHOW(array != NULL);
    ANSWERS(MCDS_OK, add(array, "1"));
    uint64_t before = actor->batches;
    ANSWERS(MCDS_OK, add(array, "2"));
    SHOW(actor->batches - before == 2);
    before = actor->batches;
    SHOW(reads(array, "1;2;"));
    SHOW(actor->batches - before == 1);
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

static bool A11_repeated_change_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_array *array = open_array(actor, "x");
    SHOW(array != NULL);
    actor_loses_reply(actor, MCDS_ADD, 1);
    ANSWERS(MCDS_OK, add(array, "1"));
    SHOW(reads(array, "1;"));
    ANSWERS(MCDS_OK, add(array, "1"));
    actor_loses_reply(actor, MCDS_CAS, 1);
    ANSWERS(MCDS_OK, take_out(array, "1"));
    return reads(array, "1;"); /* the first of two */
}

static const struct row rows[] = {
    NO_TEST(A1_does_not_run,
            "the lock gets no timeout, and filter() returns no list: TypeError",
            "the port passes 5 s and makes a list"),
    ROW(A2_pause_over_the_lock,
        "a pause between get and set is longer than the lock: another client's "
        "change is lost",
        "compare-and-set: the second client reads again; both changes count"),
    ROW(A3_eviction, "after an eviction the array contains only what the next change adds",
        "a client that has seen the array gets LOST before it starts again"),
    ROW(A4_too_large, "a set over 1 MB is refused, and the old array is deleted too",
        "a large value is stored in several keys; over 64 MB it is TOO_BIG and "
        "the old value stays"),
    ROW(A5_dead_writer,
        "a writer dies while it holds the lock: all others spin, 5000 requests a "
        "second",
        "there is no lock: the next change is applied at once"),
    ROW(A6_late_set, "a set arrives after its sender gave up, and overwrites the next change",
        "the late copy carries an old token and does nothing"),
    ROW(A7_lost_reply_of_cas, "by cas: a retry after a lost reply is applied twice",
        "the value holds the ids of its last changes: applied once"),
    ROW(A8_token_of_another_life,
        "by cas: the numbers start again with the server, and an old one matches "
        "a new value",
        "a token ends with its connection, so the new value is read first"),
    ROW(A9_hint_without_bounds,
        "by cas: the tries have no bound, and a vanished key is not considered",
        "BUSY after the timeout, not applied; LOST if the key vanished"),
    ROW(A10_success_that_raises,
        "four round trips; a failing unlock hides that the change was made",
        "two round trips; the result is that of the change"),
    ROW(A11_repeated_change,
        "a repeated change adds twice, and a removal removes all equal elements",
        "each counts once, and a removal removes the first equal element"),
};

const struct rows array1_rows = ROWS("array1", "MCArray1", rows);
