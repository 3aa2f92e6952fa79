/* Locks: four players contend for each. The holder reads a number, waits for some milliseconds
 * and writes the number plus 1. One of the four once holds the lock for longer than its lease.
 * The lock of mcds passes its fence with each write, and the number refuses a fence smaller
 * than one that it has seen. */
#include <inttypes.h>
#include <stdio.h>

#include "base/environment.h"
#include "duel/sides.h"

#define CALLS 40
#define FIGHTERS 4 /* for each lock */
#define LOCKS (PLAYERS / FIGHTERS)
#define LEASE_S 3
#define PATIENCE_MS 100
#define SITTING_CALL 1 /* the first one from here on that gets the lock */
#define SITTING_MS (LEASE_S * 1000 + 300)
#define HOLD_MS 4
#define UNLOCK_TRIES 12

/* One tenure, with the tickets that the resource gave at its beginning and end. */
struct tenure {
    uint64_t asked;
    uint64_t acquired;
    uint64_t fence;   /* 0: none */
    int64_t until_ns; /* when its right ends */
    uint64_t number;  /* as it was read */
};

/* What a lock protects. */
struct resource {
    uint64_t tickets;
    uint64_t number;
    uint64_t writes; /* that were let through */
    uint64_t fence;
    uint64_t newest; /* when the newest of those that were let in asked */
    uint64_t overlaps;
    uint64_t violations;
    const struct tenure *inside[FIGHTERS];
    bool sat; /* of the player that does */
};

static struct resource *resource_of(const struct player *player)
{
    struct resource *resources = player->match->stage;
    return &resources[player->number / FIGHTERS];
}

static uint64_t draw_ticket(struct player *player)
{
    (void)pthread_mutex_lock(&player->match->mutex);
    uint64_t ticket = ++resource_of(player)->tickets;
    (void)pthread_mutex_unlock(&player->match->mutex);
    return ticket;
}

/* Whether the resource accepts the fence. */
static bool touch(struct resource *resource, const struct tenure *tenure)
{
    if (tenure->fence < resource->fence)
        return false;
    resource->fence = tenure->fence;
    resource->violations += resource->newest > tenure->acquired;
    if (resource->newest < tenure->asked)
        resource->newest = tenure->asked;
    return true;
}

/* Whether somebody else is inside and has a right to be. */
static bool is_held(const struct player *player, const struct resource *resource,
                    int64_t now_ns)
{
    for (uint32_t i = 0; i < FIGHTERS; i++)
        if (i != player->number % FIGHTERS && resource->inside[i] != NULL &&
            resource->inside[i]->until_ns > now_ns)
            return true;
    return false;
}

static bool enter(struct player *player, struct tenure *tenure)
{
    struct resource *resource = resource_of(player);
    (void)pthread_mutex_lock(&player->match->mutex);
    int64_t now_ns = match_now_ns();
    if (tenure->until_ns > now_ns && is_held(player, resource, now_ns)) {
        resource->overlaps++;
        match_tell(player->match, "fence %" PRIu64 " came while another had a right to be",
                   tenure->fence);
    }
    resource->inside[player->number % FIGHTERS] = tenure;
    bool let = touch(resource, tenure);
    tenure->number = resource->number;
    (void)pthread_mutex_unlock(&player->match->mutex);
    return let;
}

static bool leave(struct player *player, const struct tenure *tenure)
{
    struct resource *resource = resource_of(player);
    (void)pthread_mutex_lock(&player->match->mutex);
    bool let = touch(resource, tenure);
    if (let) {
        resource->number = tenure->number + 1;
        resource->writes++;
    }
    resource->inside[player->number % FIGHTERS] = NULL;
    (void)pthread_mutex_unlock(&player->match->mutex);
    return let;
}

/* Whether the work was let through from its beginning to its end. */
static bool work(struct player *player, uint32_t number, struct tenure *tenure)
{
    struct resource *resource = resource_of(player);
    bool sits = number >= SITTING_CALL && player->number % FIGHTERS == 0 && !resource->sat;
    bool entered = enter(player, tenure);
    if (sits)
        resource->sat = true;
    match_sleep_ms(sits ? SITTING_MS : HOLD_MS);
    if (entered)
        return leave(player, tenure);
    (void)pthread_mutex_lock(&player->match->mutex);
    resource->inside[player->number % FIGHTERS] = NULL;
    (void)pthread_mutex_unlock(&player->match->mutex);
    return false;
}

static const char *lock_name(const struct player *player)
{
    static const char *const names[LOCKS + 1] = {"a", "b", "none"};
    return names[player->number / FIGHTERS];
}

/* An exception does not end its caller's patience. */
static enum told wait_for_article(struct article_lock *lock)
{
    int64_t until_ns = match_now_ns() + PATIENCE_MS * NS_PER_MS;
    enum told told = TOLD_NOT;
    bool locked = false;
    do {
        if (article_try_lock(lock, &locked) != DONE)
            told = TOLD_UNKNOWN;
        if (locked)
            return TOLD_DONE;
        match_sleep_ms(1);
    } while (match_now_ns() < until_ns);
    return told;
}

static enum told call_article(struct player *player, uint32_t number)
{
    struct article_lock lock;
    struct tenure tenure = {.asked = draw_ticket(player), .until_ns = INT64_MAX};
    article_lock_init(&lock, &player->mc, lock_name(player), LEASE_S);
    enum told told = wait_for_article(&lock);
    if (told != TOLD_DONE)
        return told;
    tenure.acquired = draw_ticket(player);
    (void)work(player, number, &tenure);
    enum answer answer = NETWORK_ERROR;
    for (int i = 0; i < UNLOCK_TRIES && answer != DONE; i++)
        answer = article_unlock(&lock);
    return TOLD_DONE;
}

static bool open_ours(struct player *player)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    options.lease_ms = LEASE_S * 1000;
    bool fine = mcds_lock_open(player->store, lock_name(player), &options, &lock) == MCDS_OK;
    player->state = lock;
    return fine;
}

static void close_ours(struct player *player)
{
    mcds_lock_close(player->state);
}

/* LOST is an answer: somebody sat on it. */
static void release(struct player *player, mcds_lease *lease)
{
    for (int i = 0; i < UNLOCK_TRIES; i++) {
        int result = mcds_lock_release(player->state, lease);
        if (result == MCDS_LOST || result == MCDS_AMBIGUOUS ||
            told_by_result(player, "release", result) == TOLD_DONE)
            return;
    }
}

static enum told call_ours(struct player *player, uint32_t number)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    struct tenure tenure = {.asked = draw_ticket(player)};
    int result = mcds_lock_acquire(player->state, PATIENCE_MS, &lease);
    if (result == MCDS_AMBIGUOUS)
        release(player, &lease);
    if (result != MCDS_OK)
        return told_by_result(player, "acquire", result);
    tenure.acquired = draw_ticket(player);
    tenure.fence = lease.fence;
    tenure.until_ns = lease.deadline_ns;
    bool let = work(player, number, &tenure);
    release(player, &lease);
    return let ? TOLD_DONE : TOLD_NOT;
}

static void judge(struct player *referee, struct score *score)
{
    const struct resource *resources = referee->match->stage;
    for (uint32_t i = 0; i < LOCKS; i++) {
        score_number(score, resources[i].number, resources[i].writes, 0);
        score->found[OVERLAPS] += resources[i].overlaps;
        score->found[VIOLATIONS] += resources[i].violations;
    }
}

#define JUDGED (COLUMN(LOST) | COLUMN(OVERLAPS) | COLUMN(VIOLATIONS))

const struct side lock_sides[] = {
    {.structure = "lock",
     .whose = "the article's",
     .is_slow = true,
     .judged = JUDGED,
     .must = COLUMN(OVERLAPS),
     .must_in_time = COLUMN(LOST) | COLUMN(VIOLATIONS),
     .calls = CALLS,
     .tries = 2,
     .stage_size = LOCKS * sizeof(struct resource),
     .call = call_article,
     .judge = judge},
    {.structure = "lock",
     .whose = "ours",
     .is_slow = true,
     .is_ours = true,
     .judged = JUDGED,
     .calls = CALLS,
     .tries = 2,
     .stage_size = LOCKS * sizeof(struct resource),
     .open = open_ours,
     .call = call_ours,
     .close = close_ours,
     .judge = judge},
    {.structure = NULL},
};
