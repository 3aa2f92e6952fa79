/* Views in the simulated world: no view is counted twice, in the value or in the database, and
 * none that was acknowledged is missing, at any times of flushes and after any loss on the way. A drop
 * erases what was counted before it and is not in the database, and nothing that is counted later. A
 * page that the database refuses keeps no other page from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "sim/play.h"
#include "sim/world.h"
#include "support/dice.h"

#define CLIENTS_MAX 5
#define CLIENTS play_clients(CLIENTS_MAX)
#define CALLS 40
#define PAGES 3
#define FLUSH_MS 600000
#define START_MS INT64_C(1767225600000)
/* Half of all calls are about the edge of an interval, where the races are. */
#define EDGE_MS 4000
#define REST_MS 1500
#define ROWS 4096
#define DROPS 3
#define REFUSED 1
#define DROP_REST_MS (FLUSH_MS / 2)

enum { TAG_HIT = 1, TAG_GET, TAG_FLUSH, TAG_RESTED, TAG_DROP };

static const char *const pages[PAGES] = {"/", "/a", "/b"};

struct row {
    uint32_t page;
    uint64_t slot;
    int64_t views;
};

struct world {
    mcds_sim *sim;
    bool loses;
    uint32_t refuses; /* the database refuses one save in so many; 0: none */
    bool refuses_one; /* it refuses those of the page REFUSED */
    uint64_t random;  /* for that */
    uint64_t refusals;
    uint64_t seed;
    struct row rows[ROWS]; /* the database */
    uint32_t row_count;
    uint32_t loads;
    int64_t begun[PAGES];
    int64_t acknowledged[PAGES];
    int64_t counted[PAGES]; /* acknowledged, and begun after the last drop had ended */
    /* When the last drop began: acknowledged, and in the database; and the interval of its end. */
    int64_t gone[PAGES];
    int64_t saved[PAGES];
    uint64_t drop_slot;
    uint32_t turns;   /* begins and ends of drops */
    bool is_doubtful; /* a drop has failed: its deletions may come late */
    uint64_t drops;
    const char *violation;
    uint64_t hits;
    uint64_t gets;
    uint64_t flushes;
};

struct reader {
    struct world *world;
    mcds_views *views;
    uint32_t left;
    bool flushes;
    uint64_t random;
    uint32_t page;
    uint32_t turn; /* when its call began */
    int64_t least; /* that a get may answer */
    int64_t value;
};

static uint32_t page_of(const char *page)
{
    uint32_t i = 0;
    while (i < PAGES && strcmp(pages[i], page) != 0)
        i++;
    assert_true(i < PAGES);
    return i;
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    struct world *world = context;
    uint32_t number = page_of(page);
    world->loads++;
    *views_out = 0;
    for (uint32_t i = 0; i < world->row_count; i++)
        if (world->rows[i].page == number && world->rows[i].slot <= upto_slot)
            *views_out += world->rows[i].views;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct world *world = context;
    uint32_t number = page_of(page);
    if ((world->refuses_one && number == REFUSED) ||
        (world->refuses > 0 && dice_roll(&world->random, world->refuses) == 0)) {
        world->refusals++;
        return -1;
    }
    for (uint32_t i = 0; i < world->row_count; i++) {
        struct row *row = &world->rows[i];
        if (row->page != number || row->slot != slot)
            continue;
        row->views = views > row->views ? views : row->views;
        return 0;
    }
    assert_true(world->row_count < ROWS);
    world->rows[world->row_count++] = (struct row){number, slot, views};
    return 0;
}

static uint64_t next(struct reader *reader, uint64_t bound)
{
    return dice_roll(&reader->random, bound);
}

/* What is there now: what the last drop has left, and what was counted since. */
static int64_t least_of(const struct world *world, uint32_t page)
{
    bool is_certain = !world->is_doubtful && world->turns % 2 == 0;
    return world->loses ? 0 : world->saved[page] + (is_certain ? world->counted[page] : 0);
}

static int64_t most_of(struct world *world, uint32_t page)
{
    int64_t saved = 0;
    if (world->gone[page] > 0)
        (void)load(world, pages[page], world->drop_slot - 1, &saved);
    return saved + world->begun[page] - world->gone[page];
}

static void judge(struct world *world, uint32_t page, const char *what, int64_t value,
                  int64_t least, int64_t most)
{
    if (value >= least && value <= most)
        return;
    mcds_sim_note(world->sim, NULL, "%s %s: %lld, allowed %lld to %lld", what, pages[page],
                  (long long)value, (long long)least, (long long)most);
    if (world->violation == NULL)
        world->violation = "a view is missing, or counted twice";
}

static void book(struct reader *reader, const mcds_completion *done)
{
    struct world *world = reader->world;
    /* No drop has begun or ended during the call. */
    bool is_same = world->turns == reader->turn && reader->turn % 2 == 0;
    switch (done->result) {
    case MCDS_OK:
        if (done->tag == TAG_GET)
            judge(world, reader->page, "get", reader->value,
                  is_same ? reader->least : world->saved[reader->page],
                  is_same ? most_of(world, reader->page) : world->begun[reader->page]);
        world->counted[reader->page] += done->tag == TAG_HIT && is_same;
        world->acknowledged[reader->page] += done->tag == TAG_HIT;
        world->hits += done->tag == TAG_HIT;
        world->gets += done->tag == TAG_GET;
        world->flushes += done->tag == TAG_FLUSH;
        break;
    case MCDS_LOST:
        assert_true(world->loses);
        break;
    case MCDS_IO:
        assert_true(done->tag == TAG_FLUSH && world->refusals > 0);
        break;
    case MCDS_AMBIGUOUS:
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        if (world->violation == NULL)
            (void)report(world->sim, world->seed, mcds_errmsg());
        world->violation = "a result that cannot be";
    }
}

static int64_t rest_ms(struct reader *reader)
{
    int64_t now_ms = START_MS + mcds_sim_now_ns(reader->world->sim) / NS_PER_MS;
    int64_t left_ms = FLUSH_MS - now_ms % FLUSH_MS;
    int64_t around_ms = (int64_t)next(reader, 2 * EDGE_MS);
    if (reader->flushes) /* from the edge on, until what ended has settled */
        return left_ms + 2 * around_ms;
    if (next(reader, 2) == 0)
        return (int64_t)next(reader, REST_MS);
    return left_ms > EDGE_MS ? left_ms - EDGE_MS + around_ms : around_ms;
}

static int begin(struct reader *reader, mcds_pipeline *pipeline)
{
    struct world *world = reader->world;
    reader->page = (uint32_t)next(reader, PAGES);
    reader->turn = world->turns;
    if (reader->flushes)
        return mcds_views_flush_start(reader->views, pipeline, TAG_FLUSH);
    if (next(reader, 3) == 0) {
        reader->least = least_of(world, reader->page);
        return mcds_views_get_start(reader->views, pages[reader->page], &reader->value,
                                    pipeline, TAG_GET);
    }
    world->begun[reader->page]++;
    return mcds_views_hit_start(reader->views, pages[reader->page], 1, pipeline, TAG_HIT);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct reader *reader = context;
    if (done == NULL || done->tag != TAG_RESTED) {
        if (done != NULL)
            book(reader, done);
        assert_int_equal(mcds_sim_client_sleep(client, rest_ms(reader) * NS_PER_MS, TAG_RESTED),
                         MCDS_OK);
        return;
    }
    if (reader->left == 0)
        return;
    reader->left--;
    assert_int_equal(begin(reader, mcds_sim_client_pipeline(client)), MCDS_OK);
}

struct dropper {
    struct world *world;
    mcds_views *views;
    uint32_t left;
    uint64_t random;
};

static void begin_drop(struct world *world)
{
    world->turns++;
    for (uint32_t page = 0; page < PAGES; page++) {
        (void)load(world, pages[page], UINT64_MAX, &world->saved[page]);
        world->gone[page] = world->acknowledged[page];
        world->counted[page] = 0;
    }
}

/* A flush may save an interval until the drop has erased it. */
static void end_drop(struct world *world, int result)
{
    int64_t now_ms = START_MS + mcds_sim_now_ns(world->sim) / NS_PER_MS;
    world->turns++;
    world->drop_slot = (uint64_t)now_ms / FLUSH_MS;
    world->drops += result == MCDS_OK;
    if (result == MCDS_OK || result == MCDS_NOT_FOUND)
        return;
    world->is_doubtful = true;
    memset(world->gone, 0, sizeof world->gone);
}

static void drop_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct dropper *dropper = context;
    if (done != NULL && done->tag == TAG_DROP)
        end_drop(dropper->world, done->result);
    if (done == NULL || done->tag == TAG_DROP) {
        int64_t rest_ms = (int64_t)dice_roll(&dropper->random, 2 * DROP_REST_MS);
        if (dropper->left-- > 0)
            assert_int_equal(mcds_sim_client_sleep(client, rest_ms * NS_PER_MS, TAG_RESTED),
                             MCDS_OK);
        return;
    }
    begin_drop(dropper->world);
    assert_int_equal(
        mcds_views_drop_start(dropper->views, mcds_sim_client_pipeline(client), TAG_DROP),
        MCDS_OK);
}

static void judge_database(struct world *world, uint32_t page)
{
    int64_t saved = 0;
    (void)load(world, pages[page], UINT64_MAX, &saved);
    judge(world, page, "in the database", saved, least_of(world, page), most_of(world, page));
}

/* While the database refuses one page, it has all views of the others. */
static void judge_others(struct world *world, struct reader *reader, mcds_sim_client *client)
{
    const mcds_env *env = &client->env;
    uint64_t refusals = world->refusals;
    world->refuses = 0;
    world->refuses_one = true;
    mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + 2 * FLUSH_MS * NS_PER_MS);
    int result = mcds_views_flush(reader->views);
    assert_true(result == (world->refusals > refusals ? MCDS_IO : MCDS_OK));
    for (uint32_t page = 0; page < PAGES; page++)
        if (page != REFUSED)
            judge_database(world, page);
    world->refuses_one = false;
}

/* When everybody is done: the value, then all that has not been saved, then the database. */
static void judge_end(struct world *world, struct reader *reader, mcds_sim_client *client)
{
    const mcds_env *env = &client->env;
    if (world->refuses > 0)
        judge_others(world, reader, client);
    for (int round = 0; round < 2; round++) {
        /* Longer than a claim on the database that nobody has given back. */
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + 2 * FLUSH_MS * NS_PER_MS);
        for (uint32_t page = 0; page < PAGES; page++) {
            int64_t value = 0;
            if (mcds_views_get(reader->views, pages[page], &value) != MCDS_OK) {
                world->violation = mcds_errmsg();
                return;
            }
            judge(world, page, "in the end", value, least_of(world, page),
                  most_of(world, page));
        }
        int result = mcds_views_flush(reader->views);
        assert_true(result == MCDS_OK || (world->loses && result == MCDS_LOST));
    }
    for (uint32_t page = 0; page < PAGES; page++)
        judge_database(world, page);
}

static bool run(mcds_sim_options options, bool loses, bool drops, uint32_t refuses,
                struct world *totals)
{
    static struct world world;
    struct dropper dropper = {.world = &world, .left = DROPS, .random = options.seed};
    struct reader readers[CLIENTS_MAX];
    mcds_sim_client *client = NULL;
    mcds_views_options views_options = MCDS_VIEWS_OPTIONS_INIT;
    memset(&world, 0, sizeof world);
    world.loses = loses;
    world.refuses = refuses;
    world.refuses_one = refuses > 0 && options.seed % 3 == 0;
    world.random = options.seed;
    world.seed = options.seed;
    views_options.flush_ms = FLUSH_MS;
    views_options.load = load;
    views_options.save = save;
    views_options.context = &world;
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        readers[i] = (struct reader){.world = &world,
                                     .left = play_calls(i < 2 ? CALLS / 2 : CALLS),
                                     .flushes = i < 2,
                                     .random = options.seed * CLIENTS + i};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &readers[i], &client),
                         MCDS_OK);
        assert_int_equal(mcds_views_open(mcds_sim_client_store(client), "site", &views_options,
                                         &readers[i].views),
                         MCDS_OK);
    }
    if (drops) {
        mcds_sim_client *droppers = NULL;
        assert_int_equal(mcds_sim_client_add(world.sim, drop_on, &dropper, &droppers), MCDS_OK);
        assert_int_equal(mcds_views_open(mcds_sim_client_store(droppers), "site",
                                         &views_options, &dropper.views),
                         MCDS_OK);
    }
    if (mcds_sim_run(world.sim, 200000) != MCDS_OK)
        world.violation = "it does not end";
    mcds_sim_calm(world.sim);
    judge_end(&world, &readers[CLIENTS - 1], client);
    if (world.violation != NULL)
        (void)report(world.sim, options.seed, world.violation);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_views_close(readers[i].views);
    mcds_views_close(dropper.views);
    play_close(world.sim);
    totals->hits += world.hits;
    totals->gets += world.gets;
    totals->flushes += world.flushes;
    totals->drops += world.drops;
    totals->refusals += world.refusals;
    totals->loads += world.loads;
    return world.violation == NULL;
}

static void run_many(bool loses, bool drops, uint32_t refuses, uint64_t usual)
{
    static struct world totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, usual) {
        mcds_sim_options options = loses ? all_faults(seed) : network_faults(seed);
        options.skew_ms_max = loses ? 0 : 2000;
        if (drops) /* a drop asks for more keys */
            options = fewer_faults(fewer_faults(options));
        assert_true(run(seed % 2 == 0 ? fewer_faults(options) : options, loses, drops, refuses,
                        &totals));
    }
    SEEN(totals.hits > 0 && totals.gets > 0 && totals.flushes > 0 &&
         (totals.drops > 0) == drops && (totals.refusals > 0) == (refuses > 0));
    print_message("%llu hits, %llu gets, %llu flushes, %llu drops, %llu refusals, %u loads\n",
                  (unsigned long long)totals.hits, (unsigned long long)totals.gets,
                  (unsigned long long)totals.flushes, (unsigned long long)totals.drops,
                  (unsigned long long)totals.refusals, totals.loads);
}

static void every_view_counts_once(void **state)
{
    (void)state;
    run_many(false, false, 0, 300);
}

static void what_is_lost_is_not_counted_twice(void **state)
{
    (void)state;
    run_many(true, false, 0, 150);
}

static void a_drop_erases_what_was_counted_before(void **state)
{
    (void)state;
    run_many(false, true, 0, 150);
}

static void refused_pages_hide_no_others(void **state)
{
    (void)state;
    run_many(false, false, 10, 200);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_view_counts_once),
    cmocka_unit_test(what_is_lost_is_not_counted_twice),
    cmocka_unit_test(a_drop_erases_what_was_counted_before),
    cmocka_unit_test(refused_pages_hide_no_others),
};

PLAY_MAIN("views")
