/* MCArray2: elements appended to one key, and the hint of a log of +e and -e. */
#include <string.h>

#include "article/rows.h"

#define KEY "arrayx"

static bool B1_never_created_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_array2_add(&mc, KEY, "1,") == DONE);
    SHOW(memcache_is_missing(world, KEY));
    return true;
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

/* "+1+3-3" is "+1". */
static void fold(const char *log, struct text *folded_out)
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
    SHOW(article_array2_compact(&mc, KEY, fold) == DONE && appending.answer == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1"));
    return true;
}

static bool B6_repeated_minus_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(memcache_set(&mc, KEY, "+3+3", 0) == DONE);
    actor_loses_reply(mc.actor, MCDS_APPEND, 1);
    SHOW(article_array2_add_mended(&mc, KEY, "-3") == NETWORK_ERROR);
    SHOW(article_array2_add_mended(&mc, KEY, "-3") == DONE);
    SHOW(article_array2_compact(&mc, KEY, fold) == DONE);
    SHOW(memcache_peek_is(world, KEY, "")); /* one of the two should have stayed */
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
    SHOW(article_array2_compact(&mc[1], KEY, fold) == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1+x"));
    return true;
}

static bool compact_by_cas(struct memcache *mc)
{
    struct text log = {NULL, 0, 0};
    struct text folded = {NULL, 0, 0};
    uint64_t cas = 0;
    bool done = memcache_gets(mc, KEY, &log, &cas) == DONE;
    if (done)
        fold(log.at, &folded);
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
    SHOW(compact_by_cas(&mc[1])); /* and nobody can tell any more whose +5 it is */
    SHOW(article_array2_add_mended(&mc[0], KEY, "+5") == DONE);
    SHOW(memcache_peek_is(world, KEY, "+1+5+5"));
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

static const struct row rows[] = {
    HALF_ROW(B1_never_created, "as printed, nothing is ever stored"),
    HALF_ROW(B2_eviction_in_between,
             "as printed, an eviction in between stores the element twice and nothing else"),
    HALF_ROW(B3_full, "at 1 MB append and add are both refused: a loop without end"),
    HALF_ROW(B4_lost_reply, "a retry after a lost reply stores the element twice"),
    HALF_ROW(B5_compaction_by_set,
             "an element that comes while the log is written anew is lost"),
    HALF_ROW(B6_repeated_minus, "a repeated -3 removes two"),
    HALF_ROW(B7_late_plus, "a late copy of +x brings back what was removed"),
    HALF_ROW(B8_compaction_without_ids,
             "after the log is written anew a retry is counted again"),
    HALF_ROW(B9_several_keys, "spread over several keys, the order is lost"),
    HALF_ROW(B10_no_frame, "elements run together: 1 and 3 make 13"),
};

const struct rows array2_rows = ROWS("array2", "MCArray2", rows);
