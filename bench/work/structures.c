/* Structures with many elements on memcached, against the native types of Redis. */
#include <stdio.h>
#include <string.h>

#include "collection.h"
#include "peers/peers.h"
#include "work/work.h"

#define DEPTH 128
#define MEMBERS 1000000
#define EVENTS 100000

/* The goals are for client and servers on one processor. */
static const struct rivalry {
    enum verb verb;
    const char *command; /* of Redis */
    double goal;
    uint64_t size; /* elements that are there before */
    bool is_wide;  /* also with two connections */
} rivalries[] = {
    {SET_ADD, "SADD", 0.52, 0, true},
    {TABLE_PUT, "HSET", 0.52, 0, true},
    {TABLE_HAS, "SISMEMBER", 0.68, MEMBERS, true},
    {LIST_PUSH, "RPUSH", 2.1, 0, false},
    {LOG_PUT, "XADD", 3.0, 0, false},
};

struct rivals {
    struct collection ours;
    struct redis_structure theirs;
};

static bool fill(struct rivals *rivals, bool has_redis, uint64_t size)
{
    return collection_fill(&rivals->ours, size) &&
           (!has_redis || redis_structure_fill(&rivals->theirs, size));
}

/* Returns NULL, or why they cannot take part. */
static const char *open_theirs(const struct bench *bench, struct rivals *rivals,
                               const struct servers *servers, enum verb verb, const char *key)
{
    if (bench->alone)
        return "alone";
    const char *no_redis = servers_no_redis(servers);
    if (no_redis != NULL)
        return no_redis;
    return redis_structure_open(&rivals->theirs, verb, &servers->redis_unix, key, DEPTH);
}

/* Fill both sides, compete, and close them. */
static void run(struct bench *bench, struct rivals *rivals, const struct comparison *comparison,
                uint64_t size)
{
    bool has_redis = comparison->list[1].skipped == NULL;
    if (fill(rivals, has_redis, size))
        comparison_run(bench, comparison);
    else
        bench->failed = true;
    if (has_redis)
        redis_structure_close(&rivals->theirs);
    collection_close(&rivals->ours);
}

/* Redis executes commands in one thread, however many connections there are. */
static void compete(struct bench *bench, const struct servers *servers,
                    const struct rivalry *rivalry, unsigned connections)
{
    const enum verb verb = rivalry->verb;
    static struct rivals rivals;
    char work[80];
    char against[48];
    char uri[160];
    bool is_judged = servers->where[0] != '\0';
    (void)snprintf(work, sizeof work, "%s, %d in flight%s%s", verb_name(verb), DEPTH,
                   connections > 1 ? ", 2 conn." : "", servers->where);
    (void)snprintf(against, sizeof against, "Redis %s, same depth", rivalry->command);
    if (!comparison_is_wanted(bench, work))
        return;
    server_uri(connections > 1 ? &servers->memcached_wide : &servers->memcached_unix, uri,
               sizeof uri);
    size_t used = strlen(uri);
    (void)snprintf(uri + used, sizeof uri - used, "?connections=%u", connections);
    if (!collection_open(&rivals.ours, verb, uri, verb_name(verb), DEPTH)) {
        bench->failed = true;
        return;
    }
    const char *no_redis = open_theirs(bench, &rivals, servers, verb, verb_name(verb));
    struct comparison comparison = {
        .work = work,
        .step = DEPTH,
        .count = 2,
        .list = {{.name = "mcds", .run = collection_run, .state = &rivals.ours},
                 {.name = against,
                  .skipped = no_redis,
                  .goal = is_judged ? rivalry->goal : 0,
                  .run = redis_structure_run,
                  .state = &rivals.theirs}}};
    run(bench, &rivals, &comparison, rivalry->size);
}

static bool count_event(void *context, const mcds_log_event *event)
{
    uint64_t *seen = context;
    *seen += event->event.length == EVENT_LENGTH;
    return true;
}

/* Read the whole log, as often as needed for this many events. */
static bool fetch_events(void *state, uint64_t operations)
{
    const struct rivals *rivals = state;
    for (uint64_t seen = 0; seen < operations;) {
        uint64_t before = seen;
        if (mcds_log_scan(rivals->ours.log, NULL, count_event, &seen, NULL) != MCDS_OK ||
            seen == before)
            return false;
    }
    return true;
}

static void compete_in_fetching(struct bench *bench, const struct servers *servers)
{
    static struct rivals rivals;
    static const char work[] = "log scan of 100 000 events";
    char uri[160];
    if (!comparison_is_wanted(bench, work))
        return;
    server_uri(&servers->memcached_unix, uri, sizeof uri);
    if (!collection_open(&rivals.ours, LOG_PUT, uri, "fetched", DEPTH)) {
        bench->failed = true;
        return;
    }
    const char *no_redis = open_theirs(bench, &rivals, servers, LOG_PUT, "fetched");
    struct comparison comparison = {
        .work = work,
        .step = EVENTS,
        .count = 2,
        .list = {{.name = "mcds", .run = fetch_events, .state = &rivals},
                 {.name = "Redis XRANGE",
                  .skipped = no_redis,
                  .goal = 2.0,
                  .run = redis_structure_range,
                  .state = &rivals.theirs}}};
    run(bench, &rivals, &comparison, EVENTS);
}

void work_structures_nearby(struct bench *bench, const struct servers *servers)
{
    for (size_t i = 0; i < sizeof rivalries / sizeof rivalries[0]; i++)
        compete(bench, servers, &rivalries[i], 1);
}

void work_structures(struct bench *bench, const struct servers *servers)
{
    if (servers->memcached_unix.pid == 0) {
        comparison_skip(bench, "structures on memcached", "memcached did not start");
        return;
    }
    work_structures_nearby(bench, servers);
    for (size_t i = 0; i < sizeof rivalries / sizeof rivalries[0]; i++)
        if (rivalries[i].is_wide)
            compete(bench, servers, &rivalries[i], 2);
    compete_in_fetching(bench, servers);
}
