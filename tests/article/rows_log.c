/* MCEventLog: ten keys of ten seconds unless a row says otherwise; its capacity is said to be
 * 90 s. 1000.0 begins key 0. */
#include <string.h>

#include "article/rows.h"

static struct article_log log_of(struct memcache *mc)
{
    return (struct article_log){.mc = mc, .name = "x", .C = 10, .N = 10};
}

static bool put_at(struct article_log *log, double second, double when, const char *event)
{
    world_at(log->mc->actor->world, second);
    return article_log_put(log, when, event) == DONE;
}

/* All events that it shows now. */
static bool fetch_all(struct article_log *log, struct article_events *events)
{
    return article_log_fetch(log, ARTICLE_NONE, ARTICLE_NONE, events) == DONE;
}

static bool has(const struct article_events *events, const char *text)
{
    for (size_t i = 0; i < events->count; i++)
        if (strcmp(events->at[i].text, text) == 0)
            return true;
    return false;
}

static bool E1_retention_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1000.0, 1000.0, "a"));
    SHOW(put_at(&log, 1009.9, 1009.9, "b"));
    world_at(world, 1090.0);
    SHOW(fetch_all(&log, &events) && events.count == 0); /* b is 80.1 s old */
    return true;
}

static bool E2_put_after_its_chunk_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    world_phase(world, 0.5);
    SHOW(put_at(&log, 1010.6, 1009.9, "late"));
    SHOW(put_at(&log, 1100.1, 1100.1, "fresh"));
    world_at(world, 1100.6);
    SHOW(fetch_all(&log, &events) && events.count == 0); /* fresh is half a second old */
    return true;
}

static bool E3_fast_clock_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1009.0, 1009.0, "old"));
    SHOW(put_at(&log, 1098.9, 1100.1, "fast")); /* a clock 1.2 s ahead */
    world_at(world, 1101.0);
    SHOW(fetch_all(&log, &events) && events.count == 0);
    return true;
}

static bool E4_late_event_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1094.0, 1009.0, "late")); /* 85 s old, less than 90 */
    SHOW(put_at(&log, 1100.0, 1100.0, "n1"));
    SHOW(put_at(&log, 1109.0, 1109.0, "n2"));
    world_at(world, 1184.0);
    SHOW(fetch_all(&log, &events) && events.count == 0); /* n2 is 75 s old */
    return true;
}

static bool E5_window_in_one_chunk_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1005.0, 1005.0, "a"));
    world_at(world, 1009.0);
    mc.operations = 0;
    SHOW(article_log_fetch(&log, 1001, 1008, &events) == DONE);
    SHOW(mc.operations == 11 && events.count == 2);
    return true;
}

static bool E6_cursor_ahead_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1001.0, 1001.0, "a"));
    SHOW(put_at(&log, 1015.0, 1015.0, "b"));
    /* The last event seen came from a clock one second ahead. */
    SHOW(article_log_fetch(&log, 1016.0, ARTICLE_NONE, &events) == DONE);
    SHOW(events.count == 2); /* everything again */
    return true;
}

static bool E7_cursor_by_time_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1005.0, 1005.0, "a"));
    SHOW(fetch_all(&log, &events) && events.count == 1);
    double last_seen = events.at[0].when;
    SHOW(put_at(&log, 1005.0, 1004.0, "slow"));
    world_at(world, 1011.0);
    SHOW(article_log_fetch(&log, last_seen, ARTICLE_NONE, &events) == DONE);
    SHOW(has(&events, "a") && !has(&events, "slow"));
    return true;
}

static bool E8_full_chunk_article(struct world *world)
{
    static char filling[1048576 - 512 - 4]; /* no room for one more event */
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    memset(filling, 'y', sizeof filling - 1);
    SHOW(memcache_set(&mc, "messagelogx_0", filling, 0) == DONE);
    mc.operation_max = 1000;
    SHOW(article_log_put(&log, 1000.0, "a") == STOPPED);
    return true;
}

static bool E9_one_key_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = {.mc = &mc, .name = "x", .C = 10, .N = 1};
    SHOW(article_log_put(&log, 1000.0, "a") == DONE);
    world_pass(world, 1e7);
    SHOW(world_keys(world, "messagelogx_0") == 1); /* its ttl was 0 */
    return true;
}

static bool E10_lost_reply_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(article_log_put(&log, 1000.0, "a") == DONE);
    actor_loses_reply(mc.actor, MCDS_APPEND, 1);
    SHOW(article_log_put(&log, 1000.0, "b") == NETWORK_ERROR);
    SHOW(article_log_put(&log, 1000.0, "b") == DONE); /* again */
    world_at(world, 1012.0);
    SHOW(fetch_all(&log, &events) && events.count == 3);
    return true;
}

static bool E11_ttl_over_30_days_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = {.mc = &mc, .name = "x", .C = 86400, .N = 40};
    struct article_events events;
    SHOW(article_log_put(&log, 1000.0, "a") == DONE);
    SHOW(world_keys(world, "messagelog") == 0);
    SHOW(article_log_fetch(&log, ARTICLE_NONE, ARTICLE_NONE, &events) == DONE);
    SHOW(events.count == 0);
    return true;
}

static bool E12_window_cut_at_now_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1001.0, 1005.0, "fast")); /* a clock four seconds ahead */
    SHOW(article_log_fetch(&log, 1000, 1010, &events) == DONE);
    SHOW(events.count == 0);
    mc.operations = 0; /* all of it is older than the log, and every key is read */
    world_at(world, 2000.0);
    SHOW(article_log_fetch(&log, 1010, 1090, &events) == DONE);
    SHOW(mc.operations == 9 && events.count == 0);
    return true;
}

static bool E13_too_old_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1195.0, 1100.0, "old")); /* 95 s */
    SHOW(fetch_all(&log, &events) && events.count == 0);
    SHOW(article_log_fetch(&log, 1100, 1110, &events) == DONE && events.count == 1);
    SHOW(world_keys(world, "messagelogx_0") == 1); /* in the key of chunk 120 */
    SHOW(put_at(&log, 1195.0, 1295.0, "ahead"));
    SHOW(article_log_fetch(&log, 1200, 1300, &events) == DONE && !has(&events, "ahead"));
    return true;
}

static bool E14_one_key_after_the_other_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1001.0, 1001.0, "a"));
    world_at(world, 1085.0);
    uint64_t before = mc.actor->batches;
    SHOW(fetch_all(&log, &events));
    SHOW(mc.actor->batches - before >= 10);
    return true;
}

static bool E15_silent_hole_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_log log = log_of(&mc);
    struct article_events events;
    SHOW(put_at(&log, 1001.0, 1001.0, "a"));
    SHOW(put_at(&log, 1011.0, 1011.0, "b"));
    SHOW(put_at(&log, 1021.0, 1021.0, "c"));
    SHOW(world_evict(world, "messagelogx_1") == 1);
    SHOW(fetch_all(&log, &events));
    SHOW(events.count == 2 && !has(&events, "b"));
    return true;
}

static const struct row rows[] = {
    NO_TEST(E0_does_not_run, "the printed text uses names that are not there",
            "the port mends each of them and says so"),
    HALF_ROW(E1_retention, "an event is gone after 80 s; the capacity is said to be 90 s"),
    HALF_ROW(E2_put_after_its_chunk,
             "a put that is delayed over its chunk's end makes a key that takes events of the "
             "next round with it when it dies"),
    HALF_ROW(E3_fast_clock, "an event of a fast clock goes into a key that is about to die"),
    HALF_ROW(E4_late_event,
             "a late but legal event makes the key of the next round: its events die early"),
    HALF_ROW(E5_window_in_one_chunk,
             "a window inside one chunk reads the whole ring and returns every event twice"),
    HALF_ROW(E6_cursor_ahead, "a cursor from a fast clock's event returns the whole log again"),
    HALF_ROW(E7_cursor_by_time,
             "a cursor that is a time repeats the last event and misses those that come later "
             "with an earlier stamp"),
    HALF_ROW(E8_full_chunk, "at 1 MB append and add are both refused: a loop without end"),
    HALF_ROW(E9_one_key, "with one key the ttl is 0: it never expires"),
    HALF_ROW(E10_lost_reply, "a retry after a lost reply stores the event twice"),
    HALF_ROW(E11_ttl_over_30_days,
             "a log of more than 30 days stores nothing and says it does"),
    HALF_ROW(E12_window_cut_at_now,
             "events of faster clocks are hidden; a window that is over reads every key"),
    HALF_ROW(E13_too_old,
             "an event too old or too far ahead is accepted, put into another chunk's key and "
             "not shown"),
    HALF_ROW(E14_one_key_after_the_other, "reading is one round trip per key"),
    HALF_ROW(E15_silent_hole, "an evicted key is a hole that nobody is told of"),
};

const struct rows log_rows = ROWS("log", "MCEventLog", rows);
