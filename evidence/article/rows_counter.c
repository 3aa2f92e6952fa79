/* MCCounter. */
#include <stdio.h>

#include <string.h>

#include "article/rows.h"
#include "mcds.h"
#include "support/server.h"

#define KEY "counterx"

static bool C1_lost_reply_of_incr_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_increment(&mc, KEY, 1) == DONE);
    actor_loses_reply(mc.actor, MCDS_INCR, 1);
    SHOW(article_increment(&mc, KEY, 1) == NETWORK_ERROR);
    SHOW(article_increment(&mc, KEY, 1) == DONE); /* the second one, again */
    SHOW(memcache_peek_number(world, KEY) == 3);
    actor_loses(mc.actor, MCDS_INCR, 1); /* not counted, and the same exception */
    SHOW(article_increment(&mc, KEY, 1) == NETWORK_ERROR);
    SHOW(memcache_peek_number(world, KEY) == 3);
    return true;
}

/* Each of these replies is lost once, and then each of these requests. */
static bool counts_exactly(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "z", MCDS_COUNTER_EXACT, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    SHOW(counter != NULL);
    for (uint32_t nth = 1; nth <= 3; nth++) {
        actor_loses_reply(actor, 0, nth);
        actor_loses(actor, MCDS_CAS, nth);
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
        ANSWERS(MCDS_OK, mcds_counter_flush(counter));
    }
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 3);
    return true;
}

static bool C1_lost_reply_of_incr_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    SHOW(counter != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    actor_loses_reply(actor, MCDS_INCR, 1);
    ANSWERS(MCDS_AMBIGUOUS, mcds_counter_add(counter, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 2); /* once, and the caller knows that it is not known */
    actor_loses(actor, MCDS_INCR, 1);
    ANSWERS(MCDS_AMBIGUOUS, mcds_counter_add(counter, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 2);
    actor->unreachable = true;
    ANSWERS(MCDS_UNAVAILABLE, mcds_counter_add(counter, 1, NULL));
    return counts_exactly(world);
}

struct flapping {
    struct world *world;
    const char *key;
};

static void vanish(void *context)
{
    const struct flapping *flapping = context;
    (void)world_evict(flapping->world, flapping->key);
}

static void appear(void *context)
{
    const struct flapping *flapping = context;
    mcds_request request = {
        .command = MCDS_SET, .key = {flapping->key, strlen(flapping->key)}, .value = {"1", 1}};
    mcds__sim_serve(flapping->world->sim, 0, &request, NULL);
}

/* Somebody else makes the key before each add, and it is evicted before each increment. */
static void let_it_flap(struct actor *actor, struct flapping *flapping)
{
    actor_is_met(actor, MCDS_INCR, 0, vanish, flapping);
    actor_is_met(actor, MCDS_ADD, 0, appear, flapping);
}

static bool C2_loop_without_end_article(struct world *world)
{
    struct flapping flapping = {world, KEY};
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    let_it_flap(mc.actor, &flapping);
    mc.operation_max = 1000;
    SHOW(article_increment(&mc, KEY, 1) == STOPPED);
    SHOW(memcache_set(&other, "countery", "abc", 0) == DONE);
    other.every_error_is_key_error = true;
    other.operation_max = 1000;
    SHOW(article_increment(&other, "countery", 1) == STOPPED);
    return true;
}

static bool C2_loop_without_end_ours(struct world *world)
{
    struct flapping flapping = {world, "mcds:c1:x"};
    struct actor *actor = world_actor(world);
    struct memcache other = memcache_of(world_actor(world));
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter *foreign = open_counter(other.actor, "y", 0, 0);
    SHOW(counter != NULL && foreign != NULL);
    let_it_flap(actor, &flapping);
    ANSWERS(MCDS_BUSY, mcds_counter_add(counter, 1, NULL));
    SHOW(actor->requests <= 32);
    SHOW(memcache_set(&other, "mcds:c1:y", "abc", 0) == DONE);
    uint64_t sent = other.actor->requests;
    ANSWERS(MCDS_CORRUPT, mcds_counter_add(foreign, 1, NULL));
    SHOW(other.actor->requests - sent <= 2);
    return true;
}

static bool C3_eviction_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    for (int i = 0; i < 1000; i++)
        SHOW(article_increment(&mc, KEY, 1) == DONE);
    SHOW(memcache_peek_number(world, KEY) == 1000);
    SHOW(world_evict(world, KEY) == 1);
    SHOW(article_increment(&mc, KEY, 1) == DONE);
    SHOW(memcache_peek_number(world, KEY) == 1);
    return true;
}

static bool C3_eviction_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter *strict = open_counter(actor, "x", MCDS_COUNTER_STRICT, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    SHOW(counter != NULL && strict != NULL);
    for (int i = 0; i < 999; i++)
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_add(strict, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 1000 && !value.reborn);
    world_pass(world, 10);
    SHOW(world_evict(world, "mcds:c1:x") == 1);
    ANSWERS(MCDS_LOST, mcds_counter_get(counter, &value));
    ANSWERS(MCDS_LOST, mcds_counter_add(strict, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 1 && value.reborn);
    ANSWERS(MCDS_LOST, mcds_counter_get(strict, &value));
    return true;
}

static bool C4_wrap_and_floor_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    uint64_t value;
    SHOW(memcache_set(&mc, KEY, "18446744073709551615", 0) == DONE);
    SHOW(article_increment(&mc, KEY, 1) == DONE);
    SHOW(memcache_peek_number(world, KEY) == 0);
    SHOW(memcache_decr(&mc, KEY, 1, &value) == DONE);
    SHOW(article_increment(&mc, KEY, 1) == DONE);
    SHOW(memcache_peek_number(world, KEY) == 1); /* 0 - 1 + 1 */
    return true;
}

static bool C4_wrap_and_floor_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter *both_ways = open_counter(actor, "y", MCDS_COUNTER_SIGNED, 0);
    int64_t value = 0;
    SHOW(counter != NULL && both_ways != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, MCDS_COUNTER_MAX - 1, NULL));
    ANSWERS(MCDS_OVERFLOW, mcds_counter_add(counter, 1, NULL));
    ANSWERS(MCDS_OK, mcds_counter_add(both_ways, 0, &value));
    ANSWERS(MCDS_OK, mcds_counter_add(both_ways, -1, &value));
    SHOW(value == -1);
    ANSWERS(MCDS_OK, mcds_counter_add(both_ways, 1, &value));
    SHOW(value == 0);
    return true;
}

static bool C5_same_key_as_visitors_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = 5};
    uint64_t value = 0;
    SHOW(article_increment(&mc,
                           "counter"
                           "x_0",
                           1000) == DONE);
    SHOW(article_visitors_value(&visitors, &value) == DONE);
    SHOW(value == 1000);
    return true;
}

static bool C5_same_key_as_visitors_ours(struct world *world)
{
    static const char *const names[] = {"x_0", "x:0", "x%3A0", "x:5000:200"};
    struct actor *actor = world_actor(world);
    mcds_visitors *visitors = open_visitors(actor, "x", 5000);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(visitors != NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        mcds_counter *counter = open_counter(actor, names[i], 0, 0);
        int64_t sum = 0;
        SHOW(counter != NULL);
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1000, &sum));
        SHOW(sum == 1000);
    }
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 0 && value.current == 0);
    return true;
}

static bool C6_failover_and_back_article(struct world *world)
{
    static struct world second;
    struct memcache mc = memcache_of(world_actor(world));
    SHOW(article_increment(&mc, KEY, 1000) == DONE);
    SHOW(world_open(&second)); /* the first server is down, the ring uses the other */
    struct memcache there = memcache_of(world_actor(&second));
    enum answer answer = DONE;
    for (int i = 0; i < 50 && answer == DONE; i++)
        answer = article_increment(&there, KEY, 1);
    uint64_t meanwhile = memcache_peek_number(&second, KEY);
    world_close(&second); /* and it is back */
    SHOW(answer == DONE && meanwhile == 50);
    SHOW(memcache_peek_number(world, KEY) == 1000);
    return true;
}

static bool C6_failover_and_back_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int kept = 0; /* by the caller: none of them was counted */
    SHOW(counter != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 1000, NULL));
    actor->unreachable = true;
    for (int i = 0; i < 50; i++) {
        ANSWERS(MCDS_UNAVAILABLE, mcds_counter_add(counter, 1, NULL));
        kept++;
    }
    actor->unreachable = false;
    ANSWERS(MCDS_OK, mcds_counter_add(counter, kept, NULL));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 1050 && !value.reborn);
    return true;
}

/* "One can duplicate the counters on several servers", and no more is said: increment each. */
static bool C7_duplicated_counters_article(struct world *world)
{
    static struct world second;
    struct memcache here = memcache_of(world_actor(world));
    SHOW(world_open(&second));
    struct memcache there = memcache_of(world_actor(&second));
    bool done = true;
    for (int i = 0; i < 100; i++)
        done = done && article_increment(&here, KEY, 1) == DONE &&
               article_increment(&there, KEY, 1) == DONE;
    actor_loses(there.actor, MCDS_INCR, 1);
    done = done && article_increment(&here, KEY, 1) == DONE &&
           article_increment(&there, KEY, 1) == NETWORK_ERROR;
    bool differ = memcache_peek_number(world, KEY) == 101 &&
                  memcache_peek_number(&second, KEY) == 100;
    world_restart(world); /* a copy that comes back empty answers low for ever */
    done = done && article_increment(&here, KEY, 1) == DONE &&
           article_increment(&there, KEY, 1) == DONE;
    bool low = memcache_peek_number(world, KEY) == 1;
    world_close(&second);
    SHOW(done && differ && low);
    return true;
}

#define COPIES 3

/* One after the other comes back empty, and one at a time is down. */
static bool stands_on_three(struct server *servers, mcds_counter *counter)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t added = 100;
    ANSWERS(MCDS_OK, mcds_counter_add(counter, added, NULL));
    for (size_t i = 0; i < COPIES; i++) {
        SHOW(server_restart(&servers[i]));
        ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
        SHOW(value.value == added);
        server_kill(&servers[i]);
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
        added++;
        ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
        SHOW(value.value == added);
        SHOW(server_restart(&servers[i]));
        ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
        SHOW(value.value == added);
    }
    return true;
}

static bool C7_duplicated_counters_ours(struct world *world)
{
    struct server servers[COPIES] = {{0}, {0}, {0}};
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    char uri[160];
    bool started = true;
    (void)world;
    if (!server_is_installed("memcached"))
        return row_is_skipped("memcached is not installed");
    for (size_t i = 0; i < COPIES; i++)
        started = server_start_memcached(&servers[i]) && started;
    (void)snprintf(uri, sizeof uri, "memcached://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
                   servers[0].port, servers[1].port, servers[2].port);
    options.copies = COPIES;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    bool stands = started && mcds_open(uri, NULL, &store) == MCDS_OK &&
                  mcds_counter_open(store, "x", &options, &counter) == MCDS_OK &&
                  stands_on_three(servers, counter);
    mcds_counter_close(counter);
    mcds_close(store);
    for (size_t i = 0; i < COPIES; i++)
        server_stop(&servers[i]);
    SHOW(stands);
    return true;
}

static bool C8_text_or_number_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct text text = {NULL, 0, 0};
    uint64_t value;
    SHOW(article_increment(&mc, KEY, 100) == DONE);
    SHOW(memcache_decr(&mc, KEY, 1, &value) == DONE);
    SHOW(article_value(&mc, KEY, &text) == DONE);
    bool padded = text_is(&text, "99 ");
    text_free(&text);
    SHOW(padded);
    return true;
}

static bool C8_text_or_number_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    struct memcache mc = memcache_of(actor);
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    uint64_t number;
    SHOW(counter != NULL);
    ANSWERS(MCDS_OK, mcds_counter_add(counter, 100, NULL));
    SHOW(memcache_decr(&mc, "mcds:c1:x", 1, &number) == DONE);
    SHOW(memcache_peek_is(world, "mcds:c1:x", "99 "));
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(value.value == 99);
    return true;
}

struct addition {
    struct memcache *mc;
    mcds_counter *counter;
    int answer;
};

static void add_article(void *context)
{
    struct addition *addition = context;
    addition->answer = (int)article_increment(addition->mc, KEY, 1);
}

static void add_ours(void *context)
{
    struct addition *addition = context;
    addition->answer = mcds_counter_add(addition->counter, 1, NULL);
}

static bool C9_one_key_and_no_reset_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct memcache other = memcache_of(world_actor(world));
    struct addition addition = {&other, NULL, (int)KEY_ERROR};
    struct text text = {NULL, 0, 0};
    for (int i = 0; i < 100; i++)
        SHOW(article_increment(&mc, KEY, 1) == DONE);
    SHOW(world_keys(world, "counter") == 1);
    actor_pauses(mc.actor, MCDS_SET, 1, add_article, &addition);
    SHOW(article_value(&mc, KEY, &text) == DONE);
    uint64_t read = text_number(&text);
    text_free(&text);
    SHOW(memcache_set(&mc, KEY, "0", 0) == DONE && addition.answer == (int)DONE);
    SHOW(read + memcache_peek_number(world, KEY) == 100); /* of 101 */
    return true;
}

static bool C9_one_key_and_no_reset_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_counter *wide[8];
    mcds_counter *counter = open_counter(actor, "x", 0, 0);
    struct addition addition = {NULL, open_counter(world_actor(world), "x", 0, 0), MCDS_BUSY};
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t taken = 0;
    SHOW(counter != NULL && addition.counter != NULL);
    for (size_t i = 0; i < 8; i++) { /* as eight programs do */
        wide[i] = open_counter(actor, "wide", 0, 8);
        SHOW(wide[i] != NULL);
    }
    for (size_t i = 0; i < 100; i++) {
        ANSWERS(MCDS_OK, mcds_counter_add(wide[i % 8], 1, NULL));
        ANSWERS(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    }
    SHOW(world_keys(world, "mcds:c1:wide") > 1);
    ANSWERS(MCDS_OK, mcds_counter_get(wide[0], &value));
    SHOW(value.value == 100);
    actor_pauses(actor, MCDS_CAS, 1, add_ours, &addition);
    ANSWERS(MCDS_OK, mcds_counter_take(counter, &taken));
    ANSWERS(MCDS_OK, addition.answer);
    ANSWERS(MCDS_OK, mcds_counter_get(counter, &value));
    SHOW(taken + value.value == 101);
    return true;
}

static const struct row rows[] = {
    ROW(C1_lost_reply_of_incr,
        "the reply is lost: with a retry it counts twice, without one the result "
        "is unknown",
        "it is never repeated: AMBIGUOUS if the result is unknown, UNAVAILABLE if "
        "it was not counted; an EXACT counter repeats and counts once"),
    ROW(C2_loop_without_end,
        "the key vanishes and returns between the two commands, or is not a "
        "number: an endless loop",
        "BUSY after a bounded number of tries; CORRUPT"),
    ROW(C3_eviction, "after an eviction it continues from 1 as if nothing had happened",
        "LOST or `reborn`; a STRICT handle does not start again"),
    ROW(C4_wrap_and_floor, "wraps at 2^64; stops at 0 on the way down: 0, -1, +1 is 1",
        "OVERFLOW before the limit; SIGNED counters may be negative"),
    ROW(C5_same_key_as_visitors, "counter `x_0` is key 0 of the visitor counter `x`",
        "the key names the structure, and names are encoded: no two share a key"),
    ROW(C6_failover_and_back,
        "50 increments made while the server was away vanish when it returns",
        "no failover: 50 times UNAVAILABLE; none counted, none lost"),
    ROW(C7_duplicated_counters,
        "incremented on several servers: these differ after one lost request, and "
        "a restarted one returns too little",
        "`copies=3`: any server may be down or return empty, and the value is "
        "right"),
    ROW(C8_text_or_number, "the value is a text, with blanks after a decr, or the number 0",
        "always a number; blanks are ignored"),
    ROW(C9_one_key_and_no_reset, "one hot key; setting it to 0 loses what was added in between",
        "stripes spread the load; take subtracts what it read"),
};

const struct rows counter_rows = ROWS("counter", "MCCounter", rows);
