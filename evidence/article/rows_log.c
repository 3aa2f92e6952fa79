/* MCEventLog: ten keys of ten seconds unless a row says otherwise; its capacity is said to be
 * 90 s. 1000.0 begins key 0. */
#include <stdio.h>
#include <string.h>

#include "article/rows.h"
#include "mcds.h"

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

#define RETENTION_MS 90000

static bool write_down(void *context, const mcds_log_event *event)
{
    char ended[24];
    (void)snprintf(ended, sizeof ended, "%.*s;", (int)event->event.length,
                   (const char *)event->event.data);
    text_add(context, ended);
    return true;
}

/* The events of ours in [first, last), each ended by a semicolon. */
static bool reads(mcds_log *log, double first, double last, const char *expected)
{
    struct text text = {NULL, 0, 0};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    range.first_ms = world_unix_ms(first);
    range.last_ms = world_unix_ms(last);
    text_set(&text, "");
    int answer = mcds_log_scan(log, &range, write_down, &text, &info);
    bool is = text_is(&text, expected);
    if (answer == MCDS_OK && !is)
        printf("    reads %s\n", text.at);
    text_free(&text);
    ANSWERS(MCDS_OK, answer);
    SHOW(is && info.gaps == 0 && info.corrupt == 0);
    return true;
}

/* The same of what is new to the cursor. */
static bool follows(mcds_log *log, mcds_log_cursor *cursor, const char *expected)
{
    struct text text = {NULL, 0, 0};
    text_set(&text, "");
    int answer = mcds_log_tail(log, cursor, write_down, &text, NULL);
    bool is = text_is(&text, expected);
    if (answer == MCDS_OK && !is)
        printf("    follows %s\n", text.at);
    text_free(&text);
    ANSWERS(MCDS_OK, answer);
    SHOW(is);
    return true;
}

static bool put_ours(struct world *world, mcds_log *log, double second, double when,
                     const char *event)
{
    world_at(world, second);
    ANSWERS(MCDS_OK, mcds_log_put(log, world_unix_ms(when), mcds_text(event)));
    return true;
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

static bool E1_retention_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    SHOW(log != NULL);
    SHOW(put_ours(world, log, 1000.0, 1000.0, "a"));
    SHOW(put_ours(world, log, 1009.9, 1009.9, "b"));
    world_at(world, 1089.9);
    SHOW(reads(log, 1000, 1010, "a;b;"));
    world_at(world, 1099.8);
    SHOW(reads(log, 1009.9, 1010, "b;")); /* 89.9 s old */
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

static bool E2_put_after_its_chunk_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    SHOW(log != NULL);
    world_phase(world, 0.5);
    SHOW(put_ours(world, log, 1010.6, 1009.9, "late"));
    SHOW(put_ours(world, log, 1100.1, 1100.1, "fresh"));
    world_at(world, 1100.6);
    SHOW(reads(log, 1100, 1101, "fresh;"));
    world_at(world, 1190);
    SHOW(reads(log, 1100, 1101, "fresh;"));
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

static bool E3_fast_clock_ours(struct world *world)
{
    struct actor *fast = world_actor(world);
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    mcds_log *there = open_log(fast, "x", RETENTION_MS);
    SHOW(log != NULL && there != NULL);
    actor_is_fast(fast, 1.2);
    SHOW(put_ours(world, log, 1009.0, 1009.0, "old"));
    world_at(world, 1098.9);
    ANSWERS(MCDS_OK, mcds_log_put(there, 0, mcds_text("fast")));
    world_at(world, 1101.0);
    SHOW(reads(log, 1100, 1101, "fast;"));
    world_at(world, 1189.0);
    SHOW(reads(log, 1100, 1101, "fast;"));
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

static bool E4_late_event_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    SHOW(log != NULL);
    SHOW(put_ours(world, log, 1094.0, 1009.0, "late"));
    SHOW(reads(log, 1009, 1010, "late;"));
    SHOW(put_ours(world, log, 1100.0, 1100.0, "n1"));
    SHOW(put_ours(world, log, 1109.0, 1109.0, "n2"));
    world_at(world, 1184.0);
    SHOW(reads(log, 1100, 1110, "n1;n2;"));
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

static bool E5_window_in_one_chunk_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_log *log = open_log(actor, "x", RETENTION_MS);
    SHOW(log != NULL);
    SHOW(put_ours(world, log, 1005.0, 1005.0, "a"));
    world_at(world, 1009.0);
    uint64_t before = actor->batches;
    SHOW(reads(log, 1001, 1008, "a;"));
    SHOW(actor->batches - before <= 2);
    SHOW(reads(log, 1001, 1005, "") && reads(log, 1005, 1006, "a;")); /* half open */
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

static bool E6_cursor_ahead_ours(struct world *world)
{
    struct actor *fast = world_actor(world);
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    mcds_log *there = open_log(fast, "x", RETENTION_MS);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    SHOW(log != NULL && there != NULL);
    cursor.from_ms = world_unix_ms(1000);
    actor_is_fast(fast, 1);
    SHOW(put_ours(world, log, 1001.0, 1001.0, "a"));
    world_at(world, 1015.0);
    ANSWERS(MCDS_OK, mcds_log_put(there, 0, mcds_text("b")));
    SHOW(follows(log, &cursor, "a;b;"));
    SHOW(follows(log, &cursor, ""));
    SHOW(put_ours(world, log, 1015.5, 1015.5, "c") && follows(log, &cursor, "c;"));
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

static bool E7_cursor_by_time_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    SHOW(log != NULL);
    cursor.from_ms = world_unix_ms(1000);
    SHOW(put_ours(world, log, 1005.0, 1005.0, "a") && follows(log, &cursor, "a;"));
    SHOW(put_ours(world, log, 1005.0, 1004.0, "slow") && follows(log, &cursor, "slow;"));
    SHOW(put_ours(world, log, 1025.0, 1005.0, "slower")); /* a chunk that is over */
    SHOW(follows(log, &cursor, "slower;") && follows(log, &cursor, ""));
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

static bool count_events(void *context, const mcds_log_event *event)
{
    (void)event;
    ++*(uint64_t *)context;
    return true;
}

static bool E8_full_chunk_ours(struct world *world)
{
    static char bytes[1000];
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    uint64_t count = 0;
    SHOW(log != NULL);
    for (int i = 0; i < 2000; i++) /* 2 MB */
        ANSWERS(MCDS_OK, mcds_log_put(log, world_unix_ms(1000), (mcds_bytes){bytes, 1000}));
    ANSWERS(MCDS_OK, mcds_log_scan(log, &range, count_events, &count, NULL));
    SHOW(count == 2000);
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

static bool E9_one_key_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_log *log = open_log(actor, "x", RETENTION_MS);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    uint64_t count = 0;
    SHOW(open_log(actor, "y", 500) == NULL); /* shorter than the shortest */
    SHOW(log != NULL && put_ours(world, log, 1000.0, 1000.0, "a"));
    SHOW(world_keys(world, "mcds:ep1:x:") == 1);
    world_pass(world, 1000);
    SHOW(world_keys(world, "mcds:ep1:x:") == 0);
    ANSWERS(MCDS_OK, mcds_log_scan(log, &range, count_events, &count, NULL));
    SHOW(count == 0);
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

static bool E10_lost_reply_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_log *log = open_log(actor, "x", RETENTION_MS);
    SHOW(log != NULL && put_ours(world, log, 1000.0, 1000.0, "a"));
    actor_loses_reply(actor, MCDS_APPEND, 1);
    ANSWERS(MCDS_OK, mcds_log_put(log, world_unix_ms(1000), mcds_text("b")));
    actor_is_late(actor, MCDS_APPEND, 1, 10);
    ANSWERS(MCDS_OK, mcds_log_put(log, world_unix_ms(1000), mcds_text("c")));
    world_at(world, 1012.0);
    SHOW(reads(log, 1000, 1010, "a;b;c;"));
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

static bool E11_ttl_over_30_days_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", UINT64_C(39) * 86400 * 1000);
    SHOW(log != NULL);
    SHOW(put_ours(world, log, 1000.0, 1000.0, "a"));
    world_pass(world, 38 * 86400.0);
    SHOW(reads(log, 1000, 1010, "a;"));
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

static bool E12_window_cut_at_now_ours(struct world *world)
{
    struct actor *fast = world_actor(world);
    struct actor *actor = world_actor(world);
    mcds_log *log = open_log(actor, "x", RETENTION_MS);
    mcds_log *there = open_log(fast, "x", RETENTION_MS);
    SHOW(log != NULL && there != NULL);
    actor_is_fast(fast, 4);
    world_at(world, 1001.0);
    ANSWERS(MCDS_OK, mcds_log_put(there, 0, mcds_text("fast")));
    SHOW(reads(log, 1000, 1010, "fast;"));
    world_at(world, 2000.0);
    uint64_t before = actor->batches;
    SHOW(reads(log, 1010, 1090, ""));
    SHOW(actor->batches - before <= 1);
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

static bool E13_too_old_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    SHOW(log != NULL);
    world_at(world, 1195.0);
    ANSWERS(MCDS_TOO_OLD, mcds_log_put(log, world_unix_ms(1100), mcds_text("old")));
    ANSWERS(MCDS_TOO_FUTURE, mcds_log_put(log, world_unix_ms(1295), mcds_text("ahead")));
    SHOW(world_keys(world, "mcds:ep1:x:") == 0);
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

static bool E14_one_key_after_the_other_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_log *log = open_log(actor, "x%d", RETENTION_MS);
    SHOW(log != NULL);
    SHOW(put_ours(world, log, 1001.0, 1001.0, "a"));
    world_at(world, 1085.0);
    uint64_t before = actor->batches;
    SHOW(reads(log, 1000, 1090, "a;"));
    SHOW(actor->batches - before <= 2);
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

/* Whether this handle sees these events, and is told that some are missing. */
static bool sees_hole(mcds_log *log, const char *expected)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    struct text text = {NULL, 0, 0};
    text_set(&text, "");
    int answer = mcds_log_scan(log, &range, write_down, &text, &info);
    bool shown = text_is(&text, expected);
    text_free(&text);
    ANSWERS(MCDS_OK, answer);
    SHOW(shown && info.gaps > 0);
    return true;
}

static bool E15_silent_hole_ours(struct world *world)
{
    mcds_log *log = open_log(world_actor(world), "x", RETENTION_MS);
    mcds_log *other = open_log(world_actor(world), "x", RETENTION_MS);
    SHOW(log != NULL && other != NULL);
    SHOW(put_ours(world, log, 1011.0, 1011.0, "b"));
    SHOW(world_evict(world, "mcds:ep1:x:10000:") == 1);
    SHOW(put_ours(world, log, 1011.0, 1001.0, "a"));
    SHOW(put_ours(world, log, 1021.0, 1021.0, "c"));
    SHOW(sees_hole(log, "a;c;")); /* it has known the key */
    SHOW(put_ours(world, log, 1021.0, 1011.0,
                  "d")); /* and reports it to all others when it writes */
    return sees_hole(other, "a;d;c;");
}

static const struct row rows[] = {
    NO_TEST(E0_does_not_run, "the printed code uses names that do not exist",
            "the port corrects each of them and says so"),
    ROW(E1_retention, "an event is gone after 80 s; the stated capacity is 90 s",
        "readable for the whole retention, to the millisecond"),
    ROW(E2_put_after_its_chunk,
        "a put that is delayed beyond the end of its chunk creates a key that "
        "takes events of the next round; they vanish when it expires",
        "the keys of a chunk carry its absolute number: no later chunk uses them"),
    ROW(E3_fast_clock, "an event of a fast clock goes into a key that is about to expire",
        "it is filed by its own time, in a chunk of its own"),
    ROW(E4_late_event,
        "a late but legal event creates the key of the next round, whose events "
        "expire early",
        "it is filed in its own chunk; the next round has other keys"),
    ROW(E5_window_in_one_chunk,
        "a window inside one chunk reads the whole ring and returns every event twice",
        "half open ranges; one chunk is one read"),
    ROW(E6_cursor_ahead, "a cursor from an event of a fast clock returns the whole log again",
        "a cursor is a position in the keys, not a time: nothing is returned "
        "again"),
    ROW(E7_cursor_by_time,
        "a cursor that is a time repeats the last event, and misses events that "
        "arrive later with an earlier time",
        "a cursor returns what was put since, whatever its time: once each"),
    ROW(E8_full_chunk, "at 1 MB append and add are both refused: an endless loop",
        "a chunk has as many keys as it needs"),
    ROW(E9_one_key, "with one key, the ttl is 0 and the key never expires",
        "the retention is at least a second; then the keys are gone"),
    ROW(E10_lost_reply, "a retry after a lost reply stores the event twice",
        "it is repeated with the same id and counts once"),
    ROW(E11_ttl_over_30_days, "a log of more than 30 days stores nothing and reports success",
        "39 days are kept"),
    ROW(E12_window_cut_at_now,
        "events of faster clocks are hidden; a window that has ended reads every "
        "key",
        "events up to the allowed difference of clocks show at once; a window "
        "that has ended costs one read"),
    ROW(E13_too_old,
        "an event too old or too far ahead is accepted, stored in the key of "
        "another chunk and not shown",
        "TOO_OLD and TOO_FUTURE: not put"),
    ROW(E14_one_key_after_the_other, "reading is one round trip per key",
        "all chunks in one batch; any byte in a name"),
    ROW(E15_silent_hole, "an evicted key leaves a hole that is not reported",
        "`gaps` reports it to a handle that knew the key, and to all others when "
        "that handle writes to the key again"),
};

const struct rows log_rows = ROWS("log", "MCEventLog", rows);
