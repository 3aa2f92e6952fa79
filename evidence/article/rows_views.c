/* The view counter that begins with the number in the database. */
#include <stdio.h>

#include "article/rows.h"
#include "mcds.h"

#define KEY "v"

/* A database with one number. */
struct database {
    uint64_t views;
    uint32_t reads;
    void (*meanwhile)(void *context); /* runs once, after the number has been read */
    void *context;
};

static uint64_t read_database(void *context)
{
    struct database *database = context;
    uint64_t views = database->views;
    void (*meanwhile)(void *context) = database->meanwhile;
    database->reads++;
    database->meanwhile = NULL;
    if (meanwhile != NULL)
        meanwhile(database->context);
    return views;
}

/* A database that keeps the views of one page by interval, and a number from earlier days. */
#define INTERVALS 64
struct ledger {
    struct world *world;
    int64_t earlier;
    struct {
        uint64_t slot;
        int64_t views;
    } at[INTERVALS];
    size_t count;
    uint32_t loads;
    void (*meanwhile)(void *context); /* runs once, after the numbers have been read */
    void *context;
};

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    struct ledger *ledger = context;
    void (*meanwhile)(void *context) = ledger->meanwhile;
    int64_t sum = ledger->earlier;
    (void)page;
    for (size_t i = 0; i < ledger->count; i++)
        sum += ledger->at[i].slot <= upto_slot ? ledger->at[i].views : 0;
    ledger->loads++;
    ledger->meanwhile = NULL;
    if (meanwhile != NULL)
        meanwhile(ledger->context);
    *views_out = sum;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct ledger *ledger = context;
    size_t i = 0;
    (void)page;
    while (i < ledger->count && ledger->at[i].slot != slot)
        i++;
    if (i == INTERVALS)
        return 1;
    if (i == ledger->count)
        ledger->count++;
    ledger->at[i].slot = slot;
    if (views > ledger->at[i].views)
        ledger->at[i].views = views;
    return 0;
}

/* Views that are flushed every second. */
static mcds_views *views_on(struct actor *actor, struct ledger *ledger)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    options.flush_ms = 1000;
    options.load = load;
    options.save = save;
    options.context = ledger;
    return open_views(actor, "x", &options);
}

static bool shows(mcds_views *views, int64_t expected)
{
    int64_t value = -1;
    ANSWERS(MCDS_OK, mcds_views_get(views, "page", &value));
    if (value != expected)
        printf("    shows %lld and not %lld\n", (long long)value, (long long)expected);
    SHOW(value == expected);
    return true;
}

struct visits {
    struct world *world;
    mcds_views *views;
    uint32_t count;
    int answer;
};

static void visit(void *context)
{
    struct visits *visits = context;
    for (uint32_t i = 0; i < visits->count && visits->answer == MCDS_OK; i++)
        visits->answer = mcds_views_hit(visits->views, "page", 1);
}

struct viewers {
    struct world *world;
    struct memcache *mc;
    struct database *database;
    uint32_t count;
    bool failed;
};

static void view_many(void *context)
{
    struct viewers *viewers = context;
    uint64_t value;
    for (uint32_t i = 0; i < viewers->count; i++)
        if (article_view(viewers->mc, KEY, read_database, viewers->database, &value) != DONE)
            viewers->failed = true;
}

static bool W1_set_over_the_others_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct database database = {.views = 1000};
    struct viewers viewers = {world, &other, &database, 99, false};
    uint64_t value;
    actor_pauses(mc.actor, MCDS_SET, 1, view_many, &viewers);
    SHOW(article_view(&mc, KEY, read_database, &database, &value) == DONE && !viewers.failed);
    SHOW(memcache_peek_number(world, KEY) == 1001); /* and 100 have come */
    return true;
}

static bool W1_set_over_the_others_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    struct actor *actor = world_actor(world);
    mcds_views *views = views_on(actor, &ledger);
    struct visits visits = {world, views_on(world_actor(world), &ledger), 99, MCDS_OK};
    SHOW(views != NULL && visits.views != NULL);
    actor_pauses(actor, MCDS_ADD, 1, visit, &visits); /* before it makes the key */
    ANSWERS(MCDS_OK, mcds_views_hit(views, "page", 1));
    ANSWERS(MCDS_OK, visits.answer);
    return shows(views, 1100);
}

static bool W2_eviction_counts_down_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct database database = {.views = 1000}; /* written once an hour */
    struct viewers viewers = {world, &mc, &database, 500, false};
    uint64_t value = 0;
    view_many(&viewers);
    SHOW(memcache_peek_number(world, KEY) == 1500);
    SHOW(world_evict(world, KEY) == 1 && !viewers.failed);
    SHOW(article_view(&mc, KEY, read_database, &database, &value) == DONE);
    SHOW(value == 1001);
    return true;
}

static bool W2_eviction_counts_down_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    mcds_views *views = views_on(world_actor(world), &ledger);
    struct visits visits = {world, views, 500, MCDS_OK};
    SHOW(views != NULL);
    visit(&visits);
    ANSWERS(MCDS_OK, visits.answer);
    world_pass(world, 7);
    ANSWERS(MCDS_OK, mcds_views_flush(views));
    SHOW(shows(views, 1500));
    SHOW(world_evict(world, "mcds:v") > 0);
    return shows(views, 1500);
}

static void aggregate(void *context)
{
    struct viewers *viewers = context;
    view_many(viewers);
    viewers->database->views += viewers->count;
    (void)world_evict(viewers->world, KEY);
}

static bool W3_stale_base_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct database database = {.views = 1000};
    struct viewers viewers = {world, &other, &database, 100, false};
    uint64_t value = 0;
    database.meanwhile = aggregate;
    database.context = &viewers;
    SHOW(article_view_by_add(&mc, KEY, read_database, &database, &value) == DONE);
    SHOW(!viewers.failed && database.views == 1100);
    SHOW(memcache_peek_number(world, KEY) == 1001); /* without an end to it */
    world_pass(world, 1e7);
    SHOW(memcache_peek_number(world, KEY) == 1001);
    return true;
}

static void views_saved_meanwhile(void *context)
{
    struct visits *visits = context;
    visit(visits);
    world_pass(visits->world, 7);
    if (visits->answer == MCDS_OK)
        visits->answer = mcds_views_flush(visits->views);
}

static bool W3_stale_base_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    mcds_views *views = views_on(world_actor(world), &ledger);
    struct visits visits = {world, views_on(world_actor(world), &ledger), 100, MCDS_OK};
    SHOW(views != NULL && visits.views != NULL);
    ledger.meanwhile = views_saved_meanwhile;
    ledger.context = &visits;
    int64_t value = 0;
    ANSWERS(MCDS_OK, mcds_views_get(views, "page", &value));
    ANSWERS(MCDS_OK, visits.answer);
    SHOW(value >= 1000 && value <= 1100 && ledger.count == 1);
    SHOW(shows(views, 1100));
    world_pass(world, 1200);
    return shows(views, 1100);
}

static bool W4_counted_twice_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct database database = {.views = 1000};
    uint64_t value = 0;
    database.views++; /* the server has logged this view, and the aggregator has read the log */
    SHOW(article_view(&mc, KEY, read_database, &database, &value) == DONE);
    SHOW(value == 1002); /* 1001 views */
    return true;
}

static bool W4_counted_twice_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    mcds_views *views = views_on(world_actor(world), &ledger);
    mcds_views *other = views_on(world_actor(world), &ledger);
    SHOW(views != NULL && other != NULL);
    ANSWERS(MCDS_OK, mcds_views_hit(views, "page", 1));
    SHOW(shows(other, 1001));
    for (int i = 0; i < 5; i++) { /* saved by both, and again */
        world_pass(world, 7);
        ANSWERS(MCDS_OK, mcds_views_flush(views));
        ANSWERS(MCDS_OK, mcds_views_flush(other));
        SHOW(shows(views, 1001) && shows(other, 1001));
    }
    SHOW(world_evict(world, "mcds:vb1") == 1); /* and loaded again */
    return shows(views, 1001);
}

#define CROWD 8

struct crowd {
    struct memcache mc[CROWD];
    struct database database;
    uint32_t next;
    bool failed;
};

/* Each of them misses before the one before it has set the key. */
static void next_misses(void *context)
{
    struct crowd *crowd = context;
    uint64_t value;
    if (crowd->next == CROWD)
        return;
    struct memcache *mc = &crowd->mc[crowd->next++];
    crowd->database.meanwhile = next_misses;
    if (article_view(mc, KEY, read_database, &crowd->database, &value) != DONE)
        crowd->failed = true;
}

static bool W5_everybody_loads_article(struct world *world)
{
    struct crowd crowd = {.database = {.views = 1000}};
    crowd.database.context = &crowd;
    for (size_t i = 0; i < CROWD; i++)
        crowd.mc[i] = memcache_of(world_actor(world));
    next_misses(&crowd);
    SHOW(!crowd.failed && crowd.database.reads == CROWD);
    return true;
}

static bool W5_everybody_loads_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    mcds_pipeline *pipelines[CROWD];
    int64_t values[CROWD] = {0};
    uint32_t done = 0;
    for (size_t i = 0; i < CROWD; i++) {
        struct actor *actor = world_actor(world);
        mcds_views *views = views_on(actor, &ledger);
        pipelines[i] = open_pipeline(actor);
        SHOW(views != NULL && pipelines[i] != NULL);
        ANSWERS(MCDS_OK, mcds_views_get_start(views, "page", &values[i], pipelines[i], i));
    }
    for (int turn = 0; turn < 100000 && done < CROWD; turn++) {
        mcds_completion completion;
        if (mcds_pipeline_poll(pipelines[turn % CROWD], &completion) == MCDS_OK) {
            ANSWERS(MCDS_OK, completion.result);
            done++;
        }
        world_pass(world, 1e-5);
    }
    SHOW(done == CROWD && ledger.loads <= 3); /* all of one caller */
    for (size_t i = 0; i < CROWD; i++)
        SHOW(values[i] == 1000);
    return true;
}

static bool W6_never_corrected_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct database database = {.views = 1000};
    uint64_t value = 0;
    SHOW(article_view(&mc, KEY, read_database, &database, &value) == DONE);
    database.views = 500; /* robots were taken out */
    world_pass(world, 30 * 86400);
    SHOW(article_view(&mc, KEY, read_database, &database, &value) == DONE);
    SHOW(value == 1002);
    return true;
}

static bool W6_never_corrected_ours(struct world *world)
{
    struct ledger ledger = {.world = world, .earlier = 1000};
    mcds_views *views = views_on(world_actor(world), &ledger);
    SHOW(views != NULL);
    ANSWERS(MCDS_OK, mcds_views_hit(views, "page", 1));
    SHOW(shows(views, 1001));
    world_pass(world, 7);
    ANSWERS(MCDS_OK, mcds_views_flush(views));
    ledger.earlier = 500;
    world_pass(world, 700);
    return shows(views, 501);
}

static const struct row rows[] = {
    ROW(W1_set_over_the_others,
        "a client that finds no key sets it to the database's number plus 1, over "
        "all views in between",
        "each interval is counted separately, in a key created by add: 1100"),
    ROW(W2_eviction_counts_down,
        "after an eviction the number is what the database had an hour ago",
        "what has been saved is loaded again: 1500"),
    ROW(W3_stale_base, "with add: a number read before the database was updated stays for ever",
        "the base names the interval up to which it counts; newer intervals are "
        "added"),
    ROW(W4_counted_twice,
        "the view that creates the key is also in the log that the database "
        "counts: counted twice",
        "the absolute number of an interval is saved: saving it again, or by two "
        "programs, changes nothing"),
    ROW(W5_everybody_loads, "every client that finds no key asks the database",
        "one client asks under a lease; the others wait for its result"),
    ROW(W6_never_corrected, "a correction in the database never shows",
        "the base is read again every ten minutes"),
};

const struct rows views_rows = ROWS("views", "The view counter", rows);
