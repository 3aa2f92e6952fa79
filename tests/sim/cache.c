/* Caches in the simulated world: no call that begins after an acknowledged forget, expire,
 * forget_tag or clear gets a value that was read from the source before it; one caller fills a key at
 * a time; and a writer that dies after its commit leaves no old value after the end of its hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define READERS_MAX 4
#define READERS play_clients(READERS_MAX)
#define ROUNDS 12
#define CHANGES 6
#define NS_PER_MS INT64_C(1000000)
#define FILL_MS 6000
#define HOLD_MS 20000
/* A claim certainly lives for so long after its owner has got it. */
#define ALONE_NS (2500 * NS_PER_MS)
/* A hold has ended by then. */
#define HOLD_OVER_NS ((HOLD_MS + 3500) * NS_PER_MS)
#define LARGE 600000

enum {
    TAG_FETCH = 1,
    TAG_LOOK,
    TAG_WORK,
    TAG_RENEW,
    TAG_PUT,
    TAG_REST,
    TAG_COMMIT,
    TAG_FORGET,
    TAG_HOLD
};
enum way { FORGET, EXPIRE, FORGET_TAG, CLEAR, WAYS };

struct world {
    mcds_sim *sim;
    bool is_quiet; /* nobody writes */
    bool holds;    /* the writer holds first, and dies at times */
    bool is_large; /* values are in pieces */
    bool fails;    /* the source, at times */
    uint64_t seed;
    uint64_t source;      /* the version that the source has */
    uint64_t shown_least; /* no older version is shown */
    uint64_t fresh_least; /* and none is shown as fresh */
    int64_t claimed_ns;   /* when the newest claim was got, if its owner fills; 0: none */
    int64_t
        end_ns; /* when the newest acknowledged forget or expire began: it ends all claims */
    const char *violation;
    uint64_t shown, stale, filled, unstored, busy, failed, deaths, claims, ambiguous;
    uint64_t early, ended, renewed, over;
};

struct reader {
    struct world *world;
    mcds_cache *cache;
    mcds_cache_claim claim;
    mcds_value value;
    mcds_cache_state state;
    uint32_t rounds;
    uint64_t shown_least; /* of this call */
    uint64_t fresh_least;
    uint64_t version;   /* that it has read */
    int64_t claimed_ns; /* when it got its claim */
    int64_t end_ns;     /* of the world, before its renewal */
    uint32_t renewals;
};

struct writer {
    struct world *world;
    mcds_cache *cache;
    uint32_t changes;
    enum way way;
    int64_t hold_ns;   /* when the hold was asked for */
    int64_t forget_ns; /* when the newest forget was asked for */
    bool is_held;
    uint64_t version; /* that it has committed */
};

static const mcds_bytes key = {"page", 4};
static const mcds_bytes tag = {"user", 4};

static void violate(struct world *world, const char *what)
{
    if (world->violation == NULL)
        (void)report(world->sim, world->seed, what);
    world->violation = what;
}

static mcds_bytes encode_version(const struct world *world, uint64_t version)
{
    static uint64_t numbers[LARGE / 8];
    size_t count = world->is_large ? LARGE / 8 : 1;
    for (size_t i = 0; i < count; i++)
        numbers[i] = version;
    return (mcds_bytes){numbers, 8 * count};
}

/* 0: not one whole value. */
static uint64_t decode_version(const struct world *world, const mcds_value *value)
{
    uint64_t first = 0;
    if (value->length != (world->is_large ? LARGE : 8))
        return 0;
    memcpy(&first, value->data, 8);
    return memcmp(value->data, value->data + value->length - 8, 8) == 0 ? first : 0;
}

/* A key has one owner at a time, while nothing ends its claim. */
static void note_claim(struct world *world, mcds_sim_client *client)
{
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    world->claims++;
    if (world->is_quiet && world->claimed_ns != 0 && now_ns < world->claimed_ns + ALONE_NS)
        violate(world, "two fills at once");
    world->claimed_ns = now_ns;
    mcds_sim_note(world->sim, client, "reads version %llu", (unsigned long long)world->source);
}

static int fill(void *context, mcds_bytes item, mcds_fill *out)
{
    struct reader *reader = context;
    struct world *world = reader->world;
    (void)item;
    reader->version = world->source;
    if (world->fails && world->claims % 3 == 2) {
        world->claims++;
        return 7;
    }
    world->claims++;
    return mcds_fill_add(out, encode_version(world, reader->version));
}

static void begin_round(struct reader *reader, mcds_sim_client *client)
{
    struct world *world = reader->world;
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (reader->rounds-- == 0)
        return;
    reader->shown_least = world->shown_least;
    reader->fresh_least = world->fresh_least;
    if (world->is_quiet || reader->rounds % 2 == 0)
        assert_int_equal(mcds_cache_look_start(reader->cache, key, &tag, 1, 20000,
                                               &reader->value, &reader->claim, pipeline,
                                               TAG_LOOK),
                         MCDS_OK);
    else
        assert_int_equal(mcds_cache_fetch_start(reader->cache, key, &tag, 1, fill, reader,
                                                &reader->value, &reader->state, pipeline,
                                                TAG_FETCH),
                         MCDS_OK);
}

static void rest(struct reader *reader, mcds_sim_client *client)
{
    int64_t rest_ns = (int64_t)(500 + 300 * mcds_sim_client_number(client) +
                                200 * (reader->rounds % 5)) *
                      NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_REST), MCDS_OK);
}

static void check_shown(struct reader *reader, mcds_sim_client *client, mcds_cache_state state)
{
    struct world *world = reader->world;
    uint64_t version = decode_version(world, &reader->value);
    mcds_sim_note(world->sim, client, "gets version %llu, state %d",
                  (unsigned long long)version, (int)state);
    world->shown += state == MCDS_CACHE_FRESH;
    world->stale += state == MCDS_CACHE_STALE;
    world->filled += state == MCDS_CACHE_FILLED;
    world->unstored += state == MCDS_CACHE_UNSTORED;
    if (version == 0)
        violate(world, "a value that is not whole");
    else if (version < reader->shown_least)
        violate(world, "a value from before an acknowledged forget");
    else if (version < reader->fresh_least && state != MCDS_CACHE_STALE)
        violate(world, "a fresh value from before an acknowledged expire");
}

/* With the first renewals, the time of a value ends during the work. */
static void work(struct reader *reader, mcds_sim_client *client)
{
    int64_t work_ns = (int64_t)(200 + reader->rounds * 53 % 700) * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, work_ns, TAG_WORK), MCDS_OK);
}

static void end_look(struct reader *reader, mcds_sim_client *client, int result)
{
    struct world *world = reader->world;
    if (result == MCDS_OK)
        check_shown(reader, client, reader->claim.state);
    if (!reader->claim.mine) {
        world->busy += result == MCDS_BUSY;
        world->failed += result == MCDS_IO;
        rest(reader, client);
        return;
    }
    note_claim(world, client);
    world->early += result == MCDS_OK && reader->claim.state == MCDS_CACHE_FRESH;
    world->ended += result == MCDS_NOT_FOUND && reader->claim.refreshes;
    reader->version = world->source;
    reader->claimed_ns = mcds_sim_now_ns(world->sim);
    reader->renewals = reader->rounds % 4;
    work(reader, client);
}

static void begin_renew(struct reader *reader, mcds_sim_client *client)
{
    reader->renewals--;
    reader->end_ns = reader->world->end_ns;
    assert_int_equal(mcds_cache_renew_start(reader->cache, &reader->claim,
                                            mcds_sim_client_pipeline(client), TAG_RENEW),
                     MCDS_OK);
}

/* A claim that was over when the renewal began is not renewed. */
static void end_renew(struct reader *reader, mcds_sim_client *client, int result)
{
    struct world *world = reader->world;
    world->renewed += result == MCDS_OK;
    world->over += result == MCDS_EXPIRED;
    if (result == MCDS_OK && reader->end_ns > reader->claimed_ns)
        violate(world, "a claim was renewed after its key was forgotten");
    if (result == MCDS_EXPIRED && world->is_quiet)
        violate(world, "a claim ended although it was renewed in time");
    if (result == MCDS_OK && world->is_quiet)
        world->claimed_ns = mcds_sim_now_ns(world->sim);
    if (reader->claim.mine) {
        work(reader, client);
        return;
    }
    reader->claim = (mcds_cache_claim)MCDS_CACHE_CLAIM_INIT;
    rest(reader, client);
}

static void end_work(struct reader *reader, mcds_sim_client *client)
{
    struct world *world = reader->world;
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    mcds_bytes value = encode_version(world, reader->version);
    int result = world->fails && reader->rounds % 3 == 0
                     ? mcds_cache_fail_start(reader->cache, &reader->claim, tag, pipeline,
                                             TAG_PUT)
                     : mcds_cache_put_start(reader->cache, &reader->claim, &value, pipeline,
                                            TAG_PUT);
    world->claimed_ns = 0; /* it may end from now on */
    assert_int_equal(result, MCDS_OK);
}

static void read_program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct reader *reader = context;
    if (done == NULL || done->tag == TAG_REST) {
        begin_round(reader, client);
    } else if (done->tag == TAG_LOOK) {
        end_look(reader, client, done->result);
    } else if (done->tag == TAG_WORK && reader->renewals > 0) {
        begin_renew(reader, client);
    } else if (done->tag == TAG_RENEW) {
        end_renew(reader, client, done->result);
    } else if (done->tag == TAG_WORK) {
        end_work(reader, client);
    } else if (done->tag == TAG_PUT) {
        reader->world->ambiguous += done->result == MCDS_AMBIGUOUS;
        reader->claim = (mcds_cache_claim)MCDS_CACHE_CLAIM_INIT;
        rest(reader, client);
    } else {
        if (done->result == MCDS_OK)
            check_shown(reader, client, reader->state);
        reader->world->busy += done->result == MCDS_BUSY;
        reader->world->failed += done->result == MCDS_IO;
        rest(reader, client);
    }
}

static void commit(struct writer *writer, mcds_sim_client *client)
{
    writer->version = ++writer->world->source;
    mcds_sim_note(writer->world->sim, client, "commits version %llu",
                  (unsigned long long)writer->version);
}

static void acknowledge(struct world *world, uint64_t version, bool shows)
{
    if (version > world->fresh_least)
        world->fresh_least = version;
    if (version > world->shown_least && !shows)
        world->shown_least = version;
}

static void begin_forget(struct writer *writer, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    int result = MCDS_OK;
    writer->forget_ns = mcds_sim_now_ns(writer->world->sim);
    switch (writer->way) {
    case FORGET:
        result = mcds_cache_forget_start(writer->cache, key, pipeline, TAG_FORGET);
        break;
    case EXPIRE:
        result = mcds_cache_expire_start(writer->cache, key, pipeline, TAG_FORGET);
        break;
    case FORGET_TAG:
        result = mcds_cache_forget_tag_start(writer->cache, tag, pipeline, TAG_FORGET);
        break;
    default:
        result = mcds_cache_clear_start(writer->cache, pipeline, TAG_FORGET);
    }
    assert_int_equal(result, MCDS_OK);
}

static void begin_hold(struct writer *writer, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    bool by_tag = writer->way == FORGET_TAG;
    writer->hold_ns = mcds_sim_now_ns(writer->world->sim);
    assert_int_equal(
        by_tag ? mcds_cache_hold_tag_start(writer->cache, tag, HOLD_MS, pipeline, TAG_HOLD)
               : mcds_cache_hold_start(writer->cache, key, HOLD_MS, pipeline, TAG_HOLD),
        MCDS_OK);
}

static void next_change(struct writer *writer, mcds_sim_client *client)
{
    struct world *world = writer->world;
    if (writer->changes-- == 0)
        return;
    writer->way = (enum way)((writer->changes + world->seed) % WAYS);
    if (world->holds && writer->way == CLEAR)
        writer->way = FORGET_TAG;
    if (world->holds) {
        begin_hold(writer, client);
        return;
    }
    commit(writer, client);
    begin_forget(writer, client);
}

static void rest_until(struct writer *writer, mcds_sim_client *client, int64_t until_ns,
                       uint64_t then)
{
    int64_t now_ns = mcds_sim_now_ns(writer->world->sim);
    assert_int_equal(
        mcds_sim_client_sleep(client, until_ns > now_ns ? until_ns - now_ns : 0, then),
        MCDS_OK);
}

/* Commit within the hold; every other time, "die": forget nothing. */
static void end_hold(struct writer *writer, mcds_sim_client *client, int result)
{
    struct world *world = writer->world;
    int64_t now_ns = mcds_sim_now_ns(world->sim);
    if (result != MCDS_OK || now_ns > writer->hold_ns + HOLD_MS / 2 * NS_PER_MS) {
        rest_until(writer, client, now_ns + 200 * NS_PER_MS, TAG_REST);
        return;
    }
    commit(writer, client);
    if (writer->changes % 2 == 0) {
        begin_forget(writer, client);
        return;
    }
    world->deaths++;
    mcds_sim_note(world->sim, client, "dies before it forgets");
    rest_until(writer, client, now_ns + HOLD_OVER_NS, TAG_COMMIT);
}

static void write_program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct writer *writer = context;
    struct world *world = writer->world;
    int64_t soon_ns = mcds_sim_now_ns(world->sim) +
                      (int64_t)(writer->changes * 977 % 2500) * NS_PER_MS;
    if (done == NULL || done->tag == TAG_REST) {
        next_change(writer, client);
    } else if (done->tag == TAG_HOLD) {
        end_hold(writer, client, done->result);
    } else if (done->tag == TAG_COMMIT) { /* the hold of a writer that has died is over */
        acknowledge(world, writer->version, false);
        next_change(writer, client);
    } else if (done->result != MCDS_OK) {
        begin_forget(writer, client);
    } else {
        acknowledge(world, writer->version, writer->way == EXPIRE);
        if (writer->way == FORGET || writer->way == EXPIRE)
            world->end_ns = writer->forget_ns;
        rest_until(writer, client, soon_ns, TAG_REST);
    }
}

/* The run ends where something is wrong. */
static const char *find_violation(void *context)
{
    return ((struct world *)context)->violation;
}

static mcds_cache *open_cache(const struct world *world, mcds_sim_client *client)
{
    mcds_cache_options options = MCDS_CACHE_OPTIONS_INIT;
    mcds_cache *cache = NULL;
    options.ttl_ms = world->seed % 3 == 0 ? 1500 : 30000;
    options.stale_ms = world->seed % 2 == 0 ? 100000 : 0;
    if (world->is_quiet && world->seed % 3 == 1) { /* some values have a stale time */
        options.ttl_ms = 2500;
        options.stale_ms = mcds_sim_client_number(client) % 2 * UINT64_C(2000);
    }
    options.fill_ms = FILL_MS;
    options.failed_ms = 500;
    assert_int_equal(mcds_cache_open(mcds_sim_client_store(client), "pages", &options, &cache),
                     MCDS_OK);
    return cache;
}

/* All is over: what another caller gets now. */
static void check_end(struct world *world, struct reader *reader)
{
    mcds_sim_calm(world->sim);
    reader->shown_least = world->shown_least;
    reader->fresh_least = world->fresh_least;
    int result = mcds_cache_look(reader->cache, key, &tag, 1, 0, &reader->value,
                                 &reader->claim);
    if (result == MCDS_OK)
        check_shown(reader, NULL, reader->claim.state);
}

static const char *run(mcds_sim_options options, struct world world, struct world *totals)
{
    struct reader readers[READERS_MAX];
    struct writer writer = {.world = &world,
                            .changes = world.is_quiet ? 0 : play_calls(CHANGES)};
    mcds_sim_client *client;
    world.seed = options.seed;
    world.source = 1;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.world = &world, .rounds = play_calls(ROUNDS)};
        assert_int_equal(mcds_sim_client_add(world.sim, read_program, &readers[i], &client),
                         MCDS_OK);
        readers[i].cache = open_cache(&world, client);
    }
    assert_int_equal(mcds_sim_client_add(world.sim, write_program, &writer, &client), MCDS_OK);
    writer.cache = open_cache(&world, client);
    const char *wrong = play_run(world.sim, 400000, find_violation, &world);
    if (wrong != NULL)
        violate(&world, wrong);
    else
        check_end(&world, &readers[0]);
    for (uint32_t i = 0; i < READERS; i++) {
        mcds_cache_close(readers[i].cache);
        mcds_value_free(&readers[i].value);
    }
    mcds_cache_close(writer.cache);
    play_close(world.sim);
    totals->shown += world.shown;
    totals->stale += world.stale;
    totals->filled += world.filled;
    totals->unstored += world.unstored;
    totals->busy += world.busy;
    totals->failed += world.failed;
    totals->deaths += world.deaths;
    totals->claims += world.claims;
    totals->ambiguous += world.ambiguous;
    totals->early += world.early;
    totals->ended += world.ended;
    totals->renewed += world.renewed;
    totals->over += world.over;
    return world.violation;
}

static void tell(const struct world *totals)
{
    print_message("fresh %llu, stale %llu, filled %llu, unstored %llu, busy %llu, failed %llu, "
                  "ambiguous %llu, fills %llu, deaths %llu, early %llu, ended %llu, "
                  "renewed %llu, over %llu\n",
                  (unsigned long long)totals->shown, (unsigned long long)totals->stale,
                  (unsigned long long)totals->filled, (unsigned long long)totals->unstored,
                  (unsigned long long)totals->busy, (unsigned long long)totals->failed,
                  (unsigned long long)totals->ambiguous, (unsigned long long)totals->claims,
                  (unsigned long long)totals->deaths, (unsigned long long)totals->early,
                  (unsigned long long)totals->ended, (unsigned long long)totals->renewed,
                  (unsigned long long)totals->over);
}

static void nothing_forgotten_is_shown(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 2000)
        assert_null(run(network_faults(seed), (struct world){.fails = seed % 5 == 0}, &totals));
    tell(&totals);
    SEEN(totals.shown > 0 && totals.stale > 0 && totals.filled > 0 && totals.unstored > 0 &&
         totals.over > 0);
}

static void nothing_forgotten_is_shown_while_keys_are_lost(void **state)
{
    (void)state;
    struct world totals = {0};
    PLAY (seed, 2000)
        assert_null(run(all_faults(seed), (struct world){.fails = seed % 5 == 0}, &totals));
    tell(&totals);
    SEEN(totals.shown > 0 && totals.stale > 0 && totals.filled > 0);
}

static void one_caller_fills_at_a_time(void **state)
{
    (void)state;
    struct world totals = {0};
    struct world quiet = {.is_quiet = true};
    PLAY (seed, 1000) {
        mcds_sim_options options = network_faults(seed);
        options.pause_ppm = 0; /* a client that was stopped finds its claim over */
        quiet.fails = seed % 4 == 0;
        assert_null(run(options, quiet, &totals));
    }
    tell(&totals);
    SEEN(totals.shown > 0 && totals.claims > 0 && totals.early > 0 && totals.ended > 0 &&
         totals.renewed > 0);
}

static void a_writer_that_dies_leaves_nothing_old(void **state)
{
    (void)state;
    struct world totals = {0};
    struct world holds = {.holds = true};
    PLAY (seed, 1000) {
        mcds_sim_options options = network_faults(seed);
        options.pause_ppm = 0;
        assert_null(run(options, holds, &totals));
    }
    tell(&totals);
    SEEN(totals.deaths > 0 && totals.shown > 0);
}

static void large_values_are_whole(void **state)
{
    (void)state;
    struct world totals = {0};
    struct world large = {.is_large = true};
    PLAY (seed, 60)
        assert_null(
            run(seed % 2 == 0 ? all_faults(seed) : network_faults(seed), large, &totals));
    tell(&totals);
    SEEN(totals.shown > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_forgotten_is_shown),
    cmocka_unit_test(nothing_forgotten_is_shown_while_keys_are_lost),
    cmocka_unit_test(one_caller_fills_at_a_time),
    cmocka_unit_test(a_writer_that_dies_leaves_nothing_old),
    cmocka_unit_test(large_values_are_whole),
};

PLAY_MAIN("cache")
