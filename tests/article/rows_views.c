/* The view counter that begins with the number in the database. */
#include "article/rows.h"

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

static const struct row rows[] = {
    HALF_ROW(W1_set_over_the_others,
             "who finds no key sets it to the database's number plus 1, over all who came in "
             "between"),
    HALF_ROW(W2_eviction_counts_down,
             "after an eviction the number falls back to what the database had an hour ago"),
    HALF_ROW(W3_stale_base,
             "with add: a number read before the database was written stands for ever"),
    HALF_ROW(W4_counted_twice,
             "the view that makes the key is in the log that the database counts, and counted "
             "again"),
    HALF_ROW(W5_everybody_loads, "everybody who finds no key asks the database"),
    HALF_ROW(W6_never_corrected, "what is corrected in the database never shows"),
};

const struct rows views_rows = ROWS("views", "The view counter", rows);
