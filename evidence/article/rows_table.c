/* MCTable: a key for each element and one with the list of all. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"
#include "mcds.h"

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

/* Keys as a scan of ours finds them, in the order of the alphabet. */
struct found {
    char keys[64];
    uint32_t count;
};

static bool note(void *context, mcds_bytes key, mcds_bytes value)
{
    struct found *found = context;
    size_t at = strlen(found->keys);
    (void)value;
    found->count++;
    if (key.length != 1 || at + 2 > sizeof found->keys)
        return true;
    for (; at > 0 && found->keys[at - 1] > *(const char *)key.data; at--)
        found->keys[at] = found->keys[at - 1];
    found->keys[at] = *(const char *)key.data;
    return true;
}

static int scan(mcds_table *table, struct found *found)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    memset(found, 0, sizeof *found);
    return mcds_table_scan(table, &cursor, 0, note, found);
}

static bool put_all(mcds_table *table, const char *keys)
{
    for (; *keys != '\0'; keys++)
        ANSWERS(MCDS_OK, mcds_table_put(table, (mcds_bytes){keys, 1}, mcds_text("1"), 0));
    return true;
}

/* Whether it lists what it has, and nothing else. */
static bool is_whole(mcds_table *table, const char *keys)
{
    struct found found;
    int listed = scan(table, &found);
    SHOW(listed == MCDS_OK || listed == MCDS_NOT_FOUND);
    for (; *keys != '\0'; keys++) {
        int answer = mcds_table_has(table, (mcds_bytes){keys, 1});
        SHOW(answer == MCDS_OK || answer == MCDS_NOT_FOUND);
        SHOW((answer == MCDS_OK) == (strchr(found.keys, *keys) != NULL));
    }
    return true;
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

/* A client that crashes before its nth batch, for each n, while `act` runs. */
static bool is_whole_after_crash(struct world *world, bool removes)
{
    for (uint32_t nth = 1; nth <= 3; nth++) {
        char name[8] = {'t', (char)('0' + nth), '\0'};
        struct actor *actor = world_actor(world);
        mcds_table *dead = open_table(actor, name);
        mcds_table *table = open_table(world_actor(world), name);
        SHOW(dead != NULL && table != NULL);
        SHOW(put_all(table, removes ? "kl" : "l"));
        actor_pauses(actor, nth == 1 ? MCDS_APPEND : 0, nth, crash, actor);
        if (removes)
            SHOW(mcds_table_remove(dead, mcds_text("k"), NULL) <= MCDS_OK);
        else
            SHOW(mcds_table_put(dead, mcds_text("k"), mcds_text("1"), 0) <= MCDS_OK);
        SHOW(is_whole(table, "kl"));
        SHOW(put_all(table, "m") && is_whole(table, "klm")); /* at once: nothing is locked */
    }
    return true;
}

static bool T1_crash_between_the_sets_ours(struct world *world)
{
    return is_whole_after_crash(world, false);
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

#define MANY 2000

/* After the loss of a key: what is listed is there, and of all else it is told that it is lost. */
struct census {
    mcds_table *table;
    uint32_t listed;
    bool failed;
};

static bool count_one(void *context, mcds_bytes key, mcds_bytes value)
{
    struct census *census = context;
    (void)key;
    (void)value;
    census->listed++;
    return true;
}

static bool T2_list_evicted_ours(struct world *world)
{
    mcds_table *table = open_table(world_actor(world), "t");
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    struct census census = {table, 0, false};
    uint32_t there = 0;
    uint32_t lost = 0;
    char key[16];
    SHOW(table != NULL);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text(key), mcds_text("1"), 0));
    }
    SHOW(world_evict_one(world, "mcds:t2:t:"));
    ANSWERS(MCDS_LOST, mcds_table_scan(table, &cursor, 0, count_one, &census));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        int answer = mcds_table_has(table, mcds_text(key));
        there += answer == MCDS_OK;
        lost += answer == MCDS_LOST;
    }
    SHOW(there + lost == MANY && lost > 0 && there == census.listed);
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

static bool T3_element_evicted_ours(struct world *world)
{
    mcds_table *table = open_table(world_actor(world), "t");
    struct found found;
    SHOW(table != NULL && put_all(table, "abc") && is_whole(table, "abc"));
    SHOW(world_evict(world, "mcds:t2:t:") == 1);
    ANSWERS(MCDS_LOST, scan(table, &found)); /* gone from both at once */
    SHOW(found.count == 0);
    for (const char *key = "abc"; *key != '\0'; key++)
        ANSWERS(MCDS_LOST, mcds_table_has(table, (mcds_bytes){key, 1}));
    return true;
}

/* The change of another client while the first is paused for longer than its lock lives. */
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

/* The same of ours. */
struct our_rival {
    struct world *world;
    mcds_table *table;
    bool puts;
    int answer;
};

static void act_of_ours(void *context)
{
    struct our_rival *rival = context;
    world_pass(rival->world, 6);
    rival->answer = rival->puts
                        ? mcds_table_put(rival->table, mcds_text("b"), mcds_text("1"), 0)
                        : mcds_table_remove(rival->table, mcds_text("k"), NULL);
}

static bool T4_add_while_deleting_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_table *table = open_table(actor, "t");
    struct our_rival rival = {world, open_table(world_actor(world), "t"), false, MCDS_BUSY};
    SHOW(table != NULL && rival.table != NULL && put_all(table, "k"));
    actor_pauses(actor, MCDS_APPEND, 1, act_of_ours, &rival);
    SHOW(put_all(table, "k") && is_whole(rival.table, "k"));
    ANSWERS(MCDS_OK, rival.answer);
    ANSWERS(MCDS_OK, mcds_table_has(rival.table, mcds_text("k"))); /* the put came last */
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

static bool T5_two_adds_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_table *table = open_table(actor, "t");
    struct our_rival rival = {world, open_table(world_actor(world), "t"), true, MCDS_BUSY};
    struct found found;
    SHOW(table != NULL && rival.table != NULL);
    actor_pauses(actor, 0, 1, act_of_ours, &rival);
    SHOW(put_all(table, "a"));
    ANSWERS(MCDS_OK, rival.answer);
    ANSWERS(MCDS_OK, scan(table, &found));
    SHOW(strcmp(found.keys, "ab") == 0);
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

static bool T6_keys_that_collide_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_table *longer = open_table(actor, "x_v_y");
    mcds_table *shorter = open_table(actor, "x");
    mcds_table *third = open_table(actor, "x:1");
    struct found found;
    SHOW(longer != NULL && shorter != NULL && third != NULL);
    SHOW(put_all(longer, "z"));
    ANSWERS(MCDS_NOT_FOUND, mcds_table_has(shorter, mcds_text("y_keys")));
    ANSWERS(MCDS_NOT_FOUND, mcds_table_has(shorter, mcds_text("y_v_z")));
    ANSWERS(MCDS_NOT_FOUND, scan(shorter, &found));
    ANSWERS(MCDS_NOT_FOUND, scan(third, &found));
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

static bool T7_none_for_a_list_ours(struct world *world)
{
    mcds_table *table = open_table(world_actor(world), "t");
    struct found found;
    bool changed = false;
    SHOW(table != NULL);
    ANSWERS(MCDS_NOT_FOUND, scan(table, &found));
    SHOW(put_all(table, "a"));
    ANSWERS(MCDS_OK, mcds_table_remove(table, mcds_text("a"), &changed));
    ANSWERS(MCDS_OK, scan(table, &found)); /* empty */
    SHOW(changed && found.count == 0);
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

static bool T8_list_too_large_ours(struct world *world)
{
    mcds_table *table = open_table(world_actor(world), "t");
    struct found found;
    char key[64];
    SHOW(table != NULL);
    for (int i = 0; i < 20000; i++) { /* 1.2 MB of names */
        (void)snprintf(key, sizeof key, "%060d", i);
        ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text(key), mcds_text("1"), 0));
    }
    ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text("cccccccc"), mcds_text("1"), 0));
    ANSWERS(MCDS_OK, mcds_table_has(table, mcds_text("cccccccc")));
    ANSWERS(MCDS_OK, scan(table, &found));
    SHOW(found.count == 20001);
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

static bool T9_whole_list_each_time_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_table *table = open_table(actor, "t");
    char key[16];
    uint64_t before = 0;
    SHOW(table != NULL);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        if (i == 1000)
            before = actor->batches;
        ANSWERS(MCDS_OK, mcds_table_put(table, mcds_text(key), mcds_text("1"), 0));
    }
    SHOW(actor->batches - before < 1500); /* one each, and now and then some more */
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

static bool T10_key_of_users_ours(struct world *world)
{
    static char long_key[1024];
    mcds_table *table = open_table(world_actor(world), "t");
    mcds_value value = MCDS_VALUE_INIT;
    memset(long_key, 'k', sizeof long_key);
    const mcds_bytes keys[] = {mcds_text("two words"),
                               mcds_text("a\r\nflush_all"),
                               {long_key, sizeof long_key},
                               {"nul\0in it", 9}};
    SHOW(table != NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ANSWERS(MCDS_OK, mcds_table_put(table, keys[i], keys[i], 0));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        ANSWERS(MCDS_OK, mcds_table_get(table, keys[i], &value));
        SHOW(value.length == keys[i].length &&
             memcmp(value.data, keys[i].data, value.length) == 0);
    }
    mcds_value_free(&value);
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

/* Once where it is acknowledged, and at most once where it is AMBIGUOUS, which only the change
 * that makes the table may be. */
static bool is_once(mcds_table *table, int answer, int64_t number, bool makes)
{
    mcds_value value = MCDS_VALUE_INIT;
    SHOW(answer == MCDS_OK || (makes && answer == MCDS_AMBIGUOUS));
    SHOW(answer != MCDS_OK || number == 1);
    int got = mcds_table_get(table, mcds_text("k"), &value);
    bool is_one = got == MCDS_OK && value.length == 1 && *(const char *)value.data == '1';
    mcds_value_free(&value);
    SHOW(is_one || (answer == MCDS_AMBIGUOUS && got == MCDS_NOT_FOUND));
    return true;
}

static bool puts_once(struct world *world, uint32_t nth, bool reply_only, bool makes)
{
    char name[16];
    int64_t number = 0;
    struct actor *actor = world_actor(world);
    SHOW(actor != NULL);
    (void)snprintf(name, sizeof name, "t%u%d%d", nth, reply_only, makes);
    mcds_table *table = open_table(actor, name);
    mcds_table *other = open_table(&world->actors[0], name);
    SHOW(table != NULL && other != NULL && (makes || put_all(other, "m")));
    if (reply_only)
        actor_loses_reply(actor, 0, nth);
    else
        actor_loses(actor, 0, nth);
    int answer = mcds_table_incr(table, mcds_text("k"), 1, &number);
    SHOW(is_once(other, answer, number, makes));
    SHOW(put_all(other, "l") && is_whole(other, "kl"));
    return true;
}

static bool T11_any_lost_reply_ours(struct world *world)
{
    SHOW(world_actor(world) != NULL);
    for (uint32_t nth = 1; nth <= 5; nth++)
        for (int makes = 0; makes <= 1; makes++)
            SHOW(puts_once(world, nth, true, makes) && puts_once(world, nth, false, makes));
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

static bool T12_crash_while_deleting_ours(struct world *world)
{
    return is_whole_after_crash(world, true);
}

static const struct row rows[] = {
    ROW(T1_crash_between_the_sets,
        "a crash between the two sets: has() returns true, and the element is "
        "never listed",
        "membership and value are one record in one key"),
    ROW(T2_list_evicted,
        "the list is evicted: the next add starts a new one, and all others are "
        "never listed again",
        "a key that vanished is LOST: an element that is not listed is not "
        "reported as absent"),
    ROW(T3_element_evicted, "an element is evicted: it is listed, and has() returns false",
        "one key holds both, so both are LOST"),
    ROW(T4_add_while_deleting,
        "an add pauses during a delete: the element is listed, and has() returns "
        "false",
        "each is one record: the last one counts, completely"),
    ROW(T5_two_adds, "two adds after the lock has expired: one is not listed",
        "there is no lock and no earlier read: both are listed"),
    ROW(T6_keys_that_collide, "keys of one table are elements of another",
        "names and keys are encoded, and the structure is part of the key"),
    ROW(T7_none_for_a_list, "None for a table that is empty, lost or never created",
        "NOT_FOUND for no table, an empty scan for an empty table, LOST for a "
        "lost one"),
    ROW(T8_list_too_large,
        "at 1 MB of names the list is refused and deleted, and the new element is "
        "not listed",
        "keys split as they grow: 20 000 names of 60 bytes, and no limit"),
    ROW(T9_whole_list_each_time, "each add reads and writes the whole list: five round trips",
        "one round trip at any size"),
    ROW(T10_key_of_users, "elements are keys: no blanks, no long names, no line ends",
        "any bytes, up to 1024 of them"),
    ROW(T11_any_lost_reply, "a lost reply in any step leaves the lock held or half an element",
        "each record has an id and is repeated until its outcome is known: "
        "exactly once; the change that creates the table may be AMBIGUOUS, then "
        "once or not at all"),
    ROW(T12_crash_while_deleting,
        "a crash between delete and set: the element is listed, and has() returns "
        "false",
        "it is one record: removed or not, never half"),
};

const struct rows table_rows = ROWS("table", "MCTable", rows);
