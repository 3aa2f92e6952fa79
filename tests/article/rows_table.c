/* MCTable: a key for each element and one with the list of all. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"

static bool add_all(struct article_table *table, const char *keys)
{
    for (; *keys != '\0'; keys++) {
        const char key[2] = {*keys, '\0'};
        if (article_table_add(table, key) != DONE)
            return false;
    }
    return true;
}

static bool has(struct article_table *table, const char *key)
{
    bool has = false;
    return article_table_has(table, key, &has) == DONE && has;
}

static bool lists(struct article_table *table, const char *expected)
{
    struct text keys = {NULL, 0, 0};
    bool is_none = false;
    bool same = article_table_fetch(table, &keys, &is_none) == DONE && !is_none &&
                text_is(&keys, expected);
    text_free(&keys);
    return same;
}

static void crash(void *context)
{
    ((struct actor *)context)->crashed = true;
}

static bool T1_crash_between_the_sets_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_table dead;
    struct article_table table;
    article_table_init(&dead, &mc[0], "t");
    article_table_init(&table, &mc[1], "t");
    actor_pauses(mc[0].actor, MCDS_SET, 2, crash, mc[0].actor);
    SHOW(article_table_add(&dead, "k") == NETWORK_ERROR);
    SHOW(has(&table, "k"));
    world_pass(world, 6);
    SHOW(add_all(&table, "l") && lists(&table, "l;"));
    return true;
}

static bool T2_list_evicted_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    article_table_init(&table, &mc, "t");
    SHOW(add_all(&table, "abc"));
    SHOW(world_evict(world, "tablet_keys") == 1);
    SHOW(add_all(&table, "d"));
    SHOW(lists(&table, "d;") && has(&table, "a") && has(&table, "b") && has(&table, "c"));
    return true;
}

static bool T3_element_evicted_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    article_table_init(&table, &mc, "t");
    SHOW(add_all(&table, "abc"));
    SHOW(world_evict(world, "tablet_v_b") == 1);
    SHOW(lists(&table, "a;b;c;") && !has(&table, "b"));
    return true;
}

/* What another client does while the first stands still for longer than its lock lives. */
struct rival {
    struct article_table table;
    enum answer (*act)(struct article_table *table, const char *key);
    const char *key;
    enum answer answer;
};

static void act_after_pause(void *context)
{
    struct rival *rival = context;
    world_pass(rival->table.lock.mc->actor->world, 6);
    rival->answer = rival->act(&rival->table, rival->key);
}

static bool T4_add_while_deleting_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_table table;
    struct rival rival = {.act = article_table_delete, .key = "k", .answer = KEY_ERROR};
    article_table_init(&table, &mc[0], "t");
    article_table_init(&rival.table, &mc[1], "t");
    SHOW(add_all(&table, "k"));
    actor_pauses(mc[0].actor, MCDS_SET, 2, act_after_pause, &rival);
    SHOW(add_all(&table, "k") && rival.answer == DONE);
    SHOW(lists(&table, "k;") && !has(&table, "k"));
    return true;
}

static bool T5_two_adds_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_table table;
    struct rival rival = {.act = article_table_add, .key = "b", .answer = KEY_ERROR};
    article_table_init(&table, &mc[0], "t");
    article_table_init(&rival.table, &mc[1], "t");
    actor_pauses(mc[0].actor, MCDS_SET, 1, act_after_pause, &rival);
    SHOW(add_all(&table, "a") && rival.answer == DONE);
    SHOW(lists(&table, "a;") && has(&table, "b"));
    return true;
}

static bool T6_keys_that_collide_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table longer;
    struct article_table shorter;
    article_table_init(&longer, &mc, "x_v_y");
    article_table_init(&shorter, &mc, "x");
    SHOW(add_all(&longer, "z"));
    SHOW(has(&shorter, "y_keys")); /* that is the list of the other */
    SHOW(has(&shorter, "y_v_z"));
    return true;
}

static bool T7_none_for_a_list_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    struct text keys = {NULL, 0, 0};
    bool never = false;
    bool lost = false;
    article_table_init(&table, &mc, "t");
    SHOW(article_table_fetch(&table, &keys, &never) == DONE);
    SHOW(add_all(&table, "abc") && world_evict(world, "tablet") == 4);
    SHOW(article_table_fetch(&table, &keys, &lost) == DONE);
    text_free(&keys);
    SHOW(never && lost); /* the same answer */
    return true;
}

static bool T8_list_too_large_article(struct world *world)
{
    static char names[1048576 - 512 - 4];
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    for (size_t i = 0; i + 1 < sizeof names; i++)
        names[i] = i % 8 == 7 ? ';' : (char)('a' + i / 8 % 26);
    article_table_init(&table, &mc, "t");
    SHOW(memcache_set(&mc, "tablet_keys", names, 0) == DONE);
    SHOW(article_table_add(&table, "cccccccc") == SERVER_ERROR);
    SHOW(memcache_is_missing(world, "tablet_keys") && has(&table, "cccccccc"));
    return true;
}

static bool T9_whole_list_each_time_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    struct text keys = {NULL, 0, 0};
    bool is_none = false;
    char key[16];
    article_table_init(&table, &mc, "t");
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        SHOW(article_table_add(&table, key) == DONE);
    }
    uint64_t before = mc.actor->batches;
    SHOW(article_table_add(&table, "another") == DONE);
    SHOW(mc.actor->batches - before == 5);
    SHOW(article_table_fetch(&table, &keys, &is_none) == DONE);
    size_t length = keys.length; /* read and written by each add */
    text_free(&keys);
    SHOW(length > 6000);
    return true;
}

static bool T10_key_of_users_article(struct world *world)
{
    static char long_key[300];
    struct memcache mc = memcache_of(world_actor(world));
    struct article_table table;
    memset(long_key, 'k', 180);
    article_table_init(&table, &mc, "t");
    SHOW(article_table_add(&table, "two words") == SERVER_ERROR);
    SHOW(article_table_add(&table, "a\r\nflush_all") == SERVER_ERROR); /* G7: on the wire */
    SHOW(article_table_add(&table, long_key) == DONE);
    return true;
}

/* Whether an add that failed at its nth request left the table whole. */
static bool is_whole_after(struct world *world, uint32_t nth, bool reply_only)
{
    char name[16];
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_table broken;
    struct article_table table;
    bool locked = false;
    (void)snprintf(name, sizeof name, "t%u%d", nth, reply_only);
    article_table_init(&broken, &mc[0], name);
    article_table_init(&table, &mc[1], name);
    if (reply_only)
        actor_loses_reply(mc[0].actor, 0, nth);
    else
        actor_loses(mc[0].actor, 0, nth);
    bool failed = article_table_add(&broken, "k") == NETWORK_ERROR;
    bool listed = lists(&table, "k;");
    bool is_there = has(&table, "k");
    bool is_free = article_try_lock(&table.lock, &locked) == DONE && locked;
    return failed && listed == is_there && is_free;
}

static bool T11_any_lost_reply_article(struct world *world)
{
    uint32_t broken = 0;
    for (uint32_t nth = 1; nth <= 5; nth++)
        broken += !is_whole_after(world, nth, nth == 1);
    SHOW(broken >= 3); /* 1 and 5: the lock; 4: has, and not listed */
    return true;
}

static bool T12_crash_while_deleting_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_table dead;
    struct article_table table;
    article_table_init(&dead, &mc[0], "t");
    article_table_init(&table, &mc[1], "t");
    SHOW(add_all(&table, "k"));
    actor_pauses(mc[0].actor, MCDS_SET, 1, crash, mc[0].actor);
    SHOW(article_table_delete(&dead, "k") == NETWORK_ERROR);
    SHOW(lists(&table, "k;") && !has(&table, "k"));
    return true;
}

static const struct row rows[] = {
    HALF_ROW(T1_crash_between_the_sets,
             "a crash between the two sets: has() says yes, and it is never listed"),
    HALF_ROW(T2_list_evicted,
             "the list is evicted: the next add begins a new one, all others are never listed "
             "again"),
    HALF_ROW(T3_element_evicted, "an element is evicted: listed, and has() says no"),
    HALF_ROW(T4_add_while_deleting,
             "an add that pauses over a delete: listed, and has() says no"),
    HALF_ROW(T5_two_adds, "two adds after the lock has expired: one is not listed"),
    HALF_ROW(T6_keys_that_collide, "keys of one table are elements of another"),
    HALF_ROW(T7_none_for_a_list, "None for a table that is empty, lost or was never made"),
    HALF_ROW(T8_list_too_large,
             "at 1 MB of names the list is refused and gone, the new element unlisted"),
    HALF_ROW(T9_whole_list_each_time,
             "each add reads and writes the whole list, in five round trips"),
    HALF_ROW(T10_key_of_users, "elements are keys: no blanks, no long names, no line ends"),
    HALF_ROW(T11_any_lost_reply, "a lost reply in any step leaves the lock or half an element"),
    HALF_ROW(T12_crash_while_deleting,
             "a crash between delete and set: listed, and has() says no"),
};

const struct rows table_rows = ROWS("table", "MCTable", rows);
