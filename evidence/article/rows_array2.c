/* MCArray2: elements appended to one key, and the hint of a log of +e and -e. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"
#include "mcds.h"

#define KEY "arrayx"

static bool B1_never_created_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_array2_add(&mc, KEY, "1,") == DONE);
    SHOW(memcache_is_missing(world, KEY));
    return true;
}

/* Values of a list of ours, each with a comma after it. */
static bool write_down(void *context, mcds_bytes value)
{
    struct text *text = context;
    char one[24];
    (void)snprintf(one, sizeof one, "%.*s,", (int)value.length, (const char *)value.data);
    text_add(text, one);
    return true;
}

static bool reads(mcds_list *list, const char *expected)
{
    struct text text = {NULL, 0, 0};
    text_set(&text, "");
    int answer = mcds_list_scan(list, 0, 0, write_down, &text);
    bool is = text_is(&text, expected);
    if (answer == MCDS_OK && !is)
        printf("    reads %s\n", text.at);
    text_free(&text);
    ANSWERS(MCDS_OK, answer);
    SHOW(is);
    return true;
}

static bool B1_never_created_ours(struct world *world)
{
    mcds_list *list = open_list(world_actor(world), "x");
    SHOW(list != NULL);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("1")));
    return reads(list, "1,");
}

static void evict_array(void *context)
{
    (void)world_evict(context, KEY);
}

static bool B2_eviction_in_between_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(memcache_set(&mc, KEY, "0,", 0) == DONE);
    actor_pauses(mc.actor, MCDS_ADD, 1, evict_array, world);
    SHOW(article_array2_add(&mc, KEY, "1,") == DONE);
    SHOW(memcache_peek_is(world, KEY, "1,1,"));
    return true;
}

static bool count_values(void *context, mcds_bytes value)
{
    (void)value;
    ++*(uint64_t *)context;
    return true;
}

/* After it has reported a loss, a handle accepts pushes again. */
static int push_anew(mcds_list *list)
{
    int answer = mcds_list_push(list, mcds_text("2"));
    return answer == MCDS_LOST ? mcds_list_push(list, mcds_text("2")) : answer;
}

static void evict_list(void *context)
{
    (void)world_evict(context, "mcds:");
}

/* Evicted before any request of a push: told, or a list with this element alone; never twice. */
static bool B2_eviction_in_between_ours(struct world *world)
{
    for (uint32_t nth = 1; nth <= 3; nth++) {
        char name[8] = {'x', (char)('0' + nth), '\0'};
        struct actor *actor = world_actor(world);
        mcds_list *list = open_list(actor, name);
        uint64_t count = 0;
        SHOW(list != NULL);
        ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("0")));
        actor_is_met(actor, 0, nth, evict_list, world);
        int answer = mcds_list_push(list, mcds_text("1"));
        SHOW(answer == MCDS_OK || answer == MCDS_LOST || answer == MCDS_AMBIGUOUS);
        int fetched = mcds_list_scan(list, 0, 0, count_values, &count);
        SHOW(fetched == MCDS_OK || fetched == MCDS_NOT_FOUND || fetched == MCDS_LOST);
        SHOW(count <= (answer == MCDS_OK ? 2 : 1));
        SHOW(count > 0 || answer != MCDS_OK || nth > 1);
        ANSWERS(MCDS_OK, push_anew(list));
    }
    return true;
}

static bool B3_full_article(struct world *world)
{
    static char filling[1048576 - 512];
    struct memcache mc = memcache_of(world_actor(world));
    memset(filling, 'y', sizeof filling - 1);
    SHOW(memcache_set(&mc, KEY, filling, 0) == DONE);
    mc.operation_max = 1000;
    SHOW(article_array2_add_mended(&mc, KEY, "1,") == STOPPED);
    return true;
}

static bool B3_full_ours(struct world *world)
{
    static char value[1000];
    struct actor *actor = world_actor(world);
    mcds_list *list = open_list(actor, "x");
    uint64_t count = 0;
    memset(value, 'v', sizeof value);
    SHOW(list != NULL);
    for (int i = 0; i < 3000; i++) /* 3 MB */
        ANSWERS(MCDS_OK, mcds_list_push(list, (mcds_bytes){value, sizeof value}));
    SHOW(actor->batches < 4500);
    ANSWERS(MCDS_OK, mcds_list_scan(list, 0, 0, count_values, &count));
    SHOW(count == 3000);
    return true;
}

static bool B4_lost_reply_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(memcache_set(&mc, KEY, "0,", 0) == DONE);
    actor_loses_reply(mc.actor, MCDS_APPEND, 1);
    SHOW(article_array2_add_mended(&mc, KEY, "1,") == NETWORK_ERROR);
    SHOW(article_array2_add_mended(&mc, KEY, "1,") == DONE);
    SHOW(memcache_peek_is(world, KEY, "0,1,1,"));
    return true;
}

static bool B4_lost_reply_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_list *list = open_list(actor, "x");
    SHOW(list != NULL);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("0")));
    actor_loses_reply(actor, MCDS_APPEND, 1);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("1")));
    actor_loses(actor, MCDS_APPEND, 1);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("2")));
    actor_is_late(actor, MCDS_APPEND, 1, 30);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("3")));
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("4")));
    world_pass(world, 31);
    return reads(list, "0,1,2,3,4,");
}

/* "+1+3-3" is "+1". */
static void map(const char *log, struct text *folded_out)
{
    int count[256] = {0};
    text_set(folded_out, "");
    for (const char *at = log; at[0] != '\0' && at[1] != '\0'; at += 2)
        count[(unsigned char)at[1]] += at[0] == '+' ? 1 : -1;
    for (int i = 0; i < 256; i++)
        for (int j = 0; j < count[i]; j++)
            text_add(folded_out, (const char[]){'+', (char)i, '\0'});
}

struct appending {
    struct memcache *mc;
    const char *record;
    enum answer answer;
};

static void append(void *context)
{
    struct appending *appending = context;
    appending->answer = article_array2_add_mended(appending->mc, KEY, appending->record);
}

static bool B5_compaction_by_set_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct appending appending = {&other, "+7", KEY_ERROR};
    SHOW(memcache_set(&mc, KEY, "+1+3-3", 0) == DONE);
    actor_pauses(mc.actor, MCDS_SET, 1, append, &appending);
    SHOW(article_array2_compact(&mc, KEY, map) == DONE && appending.answer == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1"));
    return true;
}

/* Elements of a set of ours, each one letter, in the order in which they are visited. */
struct letters {
    char at[16];
    size_t count;
};

static bool note(void *context, mcds_bytes element, uint64_t count)
{
    struct letters *letters = context;
    for (uint64_t i = 0; i < count && letters->count + 1 < sizeof letters->at; i++)
        letters->at[letters->count++] = *(const char *)element.data;
    return true;
}

static bool holds(mcds_set *set, const char *expected)
{
    struct letters letters = {"", 0};
    ANSWERS(MCDS_OK, mcds_set_scan(set, note, &letters));
    SHOW(strcmp(letters.at, expected) == 0);
    return true;
}

static bool count_elements(void *context, mcds_bytes element, uint64_t count)
{
    (void)element;
    *(uint64_t *)context += count;
    return true;
}

/* Another client adds whenever the first is about to rewrite a key. */
struct adding {
    mcds_set *set;
    uint32_t added;
    int answer;
};

static void add_one(void *context)
{
    struct adding *adding = context;
    char element[24];
    (void)snprintf(element, sizeof element, "other%u", adding->added++);
    int answer = mcds_set_add(adding->set, mcds_text(element), NULL);
    if (answer != MCDS_OK)
        adding->answer = answer;
}

static bool B5_compaction_by_set_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_set *set = open_set(actor, "x", MCDS_SET_LIST);
    struct adding adding = {open_set(world_actor(world), "x", MCDS_SET_LIST), 0, MCDS_OK};
    uint64_t count = 0;
    char element[24];
    SHOW(set != NULL && adding.set != NULL);
    actor_pauses(actor, MCDS_CAS, 0, add_one, &adding);
    for (int i = 0; i < 500; i++) {
        (void)snprintf(element, sizeof element, "element%d", i);
        ANSWERS(MCDS_OK, mcds_set_add(set, mcds_text(element), NULL));
    }
    ANSWERS(MCDS_OK, adding.answer);
    ANSWERS(MCDS_OK, mcds_set_scan(set, count_elements, &count));
    SHOW(adding.added > 1 && count == 500 + adding.added);
    return true;
}

static bool B6_repeated_minus_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(memcache_set(&mc, KEY, "+3+3", 0) == DONE);
    actor_loses_reply(mc.actor, MCDS_APPEND, 1);
    SHOW(article_array2_add_mended(&mc, KEY, "-3") == NETWORK_ERROR);
    SHOW(article_array2_add_mended(&mc, KEY, "-3") == DONE);
    SHOW(article_array2_compact(&mc, KEY, map) == DONE);
    SHOW(memcache_peek_is(world, KEY, "")); /* one of the two should have stayed */
    return true;
}

static bool B6_repeated_minus_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_set *bag = open_set(actor, "x", MCDS_SET_BAG);
    mcds_set *list = open_set(actor, "y", MCDS_SET_LIST);
    SHOW(bag != NULL && list != NULL);
    for (int i = 0; i < 2; i++)
        ANSWERS(MCDS_OK, mcds_set_add(bag, mcds_text("3"), NULL));
    actor_loses_reply(actor, MCDS_APPEND, 1);
    ANSWERS(MCDS_OK, mcds_set_remove(bag, mcds_text("3"), NULL));
    SHOW(holds(bag, "3"));
    for (const char *at = "134"; *at != '\0'; at++)
        ANSWERS(MCDS_OK, mcds_set_add(list, (mcds_bytes){at, 1}, NULL));
    ANSWERS(MCDS_OK, mcds_set_remove(list, mcds_text("3"), NULL));
    ANSWERS(MCDS_OK, mcds_set_add(list, mcds_text("5"), NULL));
    SHOW(holds(list, "145")); /* +1 +3 +4 -3 +5 */
    return true;
}

static bool B7_late_plus_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    SHOW(memcache_set(&mc[0], KEY, "+1", 0) == DONE);
    actor_is_late(mc[0].actor, MCDS_APPEND, 1, 3);
    SHOW(article_array2_add_mended(&mc[0], KEY, "+x") == NETWORK_ERROR);
    SHOW(article_array2_add_mended(&mc[0], KEY, "+x") == DONE); /* again */
    SHOW(article_array2_add_mended(&mc[1], KEY, "-x") == DONE); /* seen and removed */
    world_pass(world, 4);
    SHOW(article_array2_compact(&mc[1], KEY, map) == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1+x"));
    return true;
}

static bool B7_late_plus_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_set *set = open_set(actor, "x", MCDS_SET_PLAIN);
    mcds_set *other = open_set(world_actor(world), "x", MCDS_SET_PLAIN);
    bool changed = false;
    SHOW(set != NULL && other != NULL);
    ANSWERS(MCDS_OK, mcds_set_add(set, mcds_text("1"), NULL));
    actor_is_late(actor, MCDS_APPEND, 1, 3);
    ANSWERS(MCDS_OK, mcds_set_add(set, mcds_text("x"), NULL)); /* again, with the same id */
    ANSWERS(MCDS_OK, mcds_set_remove(other, mcds_text("x"), &changed));
    world_pass(world, 4);
    SHOW(changed && holds(other, "1"));
    actor_is_late(actor, MCDS_APPEND, 1, 60);
    ANSWERS(MCDS_OK, mcds_set_add(set, mcds_text("x"), NULL));
    for (int i = 0; i < 200;
         i++) { /* the key is rewritten, and nothing is under way any more */
        ANSWERS(MCDS_OK, mcds_set_add(set, mcds_text("z"), NULL));
        ANSWERS(MCDS_OK, mcds_set_remove(set, mcds_text("z"), NULL));
    }
    ANSWERS(MCDS_OK, mcds_set_remove(other, mcds_text("x"), NULL));
    world_pass(world, 61);
    SHOW(holds(other, "1"));
    return true;
}

static bool compact_by_cas(struct memcache *mc)
{
    struct text log = {NULL, 0, 0};
    struct text folded = {NULL, 0, 0};
    uint64_t cas = 0;
    bool done = memcache_gets(mc, KEY, &log, &cas) == DONE;
    if (done)
        map(log.at, &folded);
    done = done && memcache_cas(mc, KEY, folded.at, cas) == DONE;
    text_free(&log);
    text_free(&folded);
    return done;
}

static bool B8_compaction_without_ids_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    SHOW(memcache_set(&mc[0], KEY, "+1", 0) == DONE);
    actor_loses_reply(mc[0].actor, MCDS_APPEND, 1);
    SHOW(article_array2_add_mended(&mc[0], KEY, "+5") == NETWORK_ERROR);
    SHOW(compact_by_cas(&mc[1])); /* and the owner of the +5 is unknown now */
    SHOW(article_array2_add_mended(&mc[0], KEY, "+5") == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1+5+5"));
    return true;
}

/* Enough from others that the key is rewritten before the retry. */
static void add_many(void *context)
{
    for (int i = 0; i < 200; i++)
        add_one(context);
}

static bool B8_compaction_without_ids_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_set *bag = open_set(actor, "x", MCDS_SET_BAG);
    struct adding adding = {open_set(world_actor(world), "x", MCDS_SET_BAG), 0, MCDS_OK};
    uint64_t count = 0;
    SHOW(bag != NULL && adding.set != NULL);
    ANSWERS(MCDS_OK, mcds_set_add(bag, mcds_text("1"), NULL));
    actor_loses_reply(actor, MCDS_APPEND, 1);
    actor_pauses(actor, MCDS_APPEND, 2, add_many, &adding);
    ANSWERS(MCDS_OK, mcds_set_add(bag, mcds_text("5"), NULL));
    ANSWERS(MCDS_OK, adding.answer);
    ANSWERS(MCDS_OK, mcds_set_scan(bag, count_elements, &count));
    SHOW(adding.added == 200 && count == 202);
    return true;
}

static bool B9_several_keys_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct text all = {NULL, 0, 0};
    struct text part = {NULL, 0, 0};
    SHOW(article_array2_add_mended(&mc, "arrayx_0", "1,") == DONE);
    SHOW(article_array2_add_mended(&mc, "arrayx_1", "2,") == DONE);
    SHOW(article_array2_add_mended(&mc, "arrayx_0", "3,") == DONE);
    SHOW(memcache_get(&mc, "arrayx_0", &part) == DONE);
    text_set(&all, part.at);
    SHOW(memcache_get(&mc, "arrayx_1", &part) == DONE);
    text_add(&all, part.at);
    bool mixed = text_is(&all, "1,3,2,");
    text_free(&all);
    text_free(&part);
    SHOW(mixed);
    return true;
}

struct order {
    uint32_t next;
    bool wrong;
};

static bool is_next(void *context, mcds_bytes value)
{
    struct order *order = context;
    char expected[24];
    int length = snprintf(expected, sizeof expected, "value%u", order->next++);
    order->wrong = order->wrong || value.length != (size_t)length ||
                   memcmp(value.data, expected, value.length) != 0;
    return true;
}

static bool B9_several_keys_ours(struct world *world)
{
    mcds_list *lists[2] = {open_list(world_actor(world), "x"),
                           open_list(world_actor(world), "x")};
    struct order order = {0, false};
    char value[24];
    SHOW(lists[0] != NULL && lists[1] != NULL);
    for (unsigned i = 0; i < 3000; i++) { /* by turns, over several keys */
        (void)snprintf(value, sizeof value, "value%u", i);
        ANSWERS(MCDS_OK, mcds_list_push(lists[i % 2], mcds_text(value)));
    }
    ANSWERS(MCDS_OK, mcds_list_scan(lists[0], 0, 0, is_next, &order));
    SHOW(order.next == 3000 && !order.wrong);
    return true;
}

static bool B10_no_frame_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_array2_add_mended(&mc, KEY, "1") == DONE);
    SHOW(article_array2_add_mended(&mc, KEY, "3") == DONE);
    SHOW(memcache_peek_is(world, KEY, "13"));
    SHOW(article_array2_add_mended(&mc, "arrayy", "a,b,") == DONE); /* one element, or two? */
    SHOW(memcache_peek_is(world, "arrayy", "a,b,"));
    return true;
}

static bool B10_no_frame_ours(struct world *world)
{
    mcds_list *list = open_list(world_actor(world), "x");
    mcds_list *other = open_list(world_actor(world), "y");
    uint64_t count = 0;
    SHOW(list != NULL && other != NULL);
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("1")));
    ANSWERS(MCDS_OK, mcds_list_push(list, mcds_text("3")));
    SHOW(reads(list, "1,3,"));
    ANSWERS(MCDS_OK, mcds_list_push(other, mcds_text("a,b")));
    ANSWERS(MCDS_OK, mcds_list_push(other, mcds_text("")));
    ANSWERS(MCDS_OK, mcds_list_scan(other, 0, 0, count_values, &count));
    SHOW(count == 2);
    return true;
}

static const struct row rows[] = {
    ROW(B1_never_created, "as printed, nothing is ever stored",
        "the first push creates the list"),
    ROW(B2_eviction_in_between,
        "as printed, an eviction in between stores the element twice and nothing else",
        "LOST, or the list starts again; never twice"),
    ROW(B3_full, "at 1 MB append and add are both refused: an endless loop",
        "a list has as many keys as it needs: 3 MB and more"),
    ROW(B4_lost_reply, "a retry after a lost reply stores the element twice",
        "it is repeated with the same id: once, and in its position"),
    ROW(B5_compaction_by_set, "an element that arrives during compaction is lost",
        "compaction is a cas: an element that arrives during it is contained, or "
        "makes the cas fail"),
    ROW(B6_repeated_minus, "a repeated -3 removes two",
        "exactly once by id; +1 +3 +4 -3 +5 is 1 4 5, and a bag counts"),
    ROW(B7_late_plus, "a late copy of +x brings back what was removed",
        "an id counts once, wherever its copies land"),
    ROW(B8_compaction_without_ids, "after compaction a retry counts again",
        "the compacted key keeps the ids that may still arrive"),
    ROW(B9_several_keys, "over several keys, the order is lost",
        "the next key is used when the one before it is full, so the order is "
        "kept"),
    ROW(B10_no_frame, "elements have no separator: 1 and 3 become 13",
        "each value is a record with a length and a checksum"),
};

const struct rows array2_rows = ROWS("array2", "MCArray2", rows);
