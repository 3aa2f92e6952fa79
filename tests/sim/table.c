/* Tables in the simulated world, in keys that split while requests are lost and come late: every
 * acknowledged change counts once, each call returns what it has changed, and what the server has
 * forgotten is LOST.
 *
 * Each change of a key adds or subtracts its own power of five, so a value shows which changes it
 * holds, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/map/map.h"
#include "sim/loss.h"
#include "sim/play.h"
#include "structures/keyed.h"
#include "support/first_key.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CHANGES 60
#define KEYS 12
#define KEY_LENGTH 1024 /* a few dozen changes make a key split */
#define IN_FLIGHT 3
#define CHANGES_OF_A_KEY (CLIENTS_MAX * (CHANGES / KEYS))
#define NEVER UINT64_MAX
/* Of one client, and the most by which its clock is wrong, while many handles change a key. */
#define HANDLES 20
#define PRESSURE_SKEW_MS 200000

/* When: calls are ordered by the ticks of their begins and ends. The roots that the server has lost
 * are counted: without such a loss between two calls, they are about one life of the table. */
struct moment {
    uint64_t tick;
    uint32_t roots_lost;
};

struct change {
    struct moment begin, end;
    int result;
    bool is_begun;
    bool asks;
    int64_t after;
};

/* What the server forgets: nothing; any key at any time; or keys that are not being split. */
enum losses { NONE, ANY, PARTS };

struct totals {
    uint64_t refused; /* because of a clock */
    uint64_t acknowledged;
    uint64_t doubtful;
    uint64_t lost;
    uint64_t told;
    uint64_t split; /* runs at whose end the root had moved */
};

struct world {
    mcds_sim *sim;
    struct lengths lengths; /* of the keys */
    struct change changes[KEYS][CHANGES_OF_A_KEY];
    struct moment now;
    bool has_root;
    uint32_t root_flags;
    enum losses losses;
    size_t writers_room; /* of a key; 0: as usual */
    struct map_loser loser;
    char wrong[160];
};

struct changer {
    struct world *world;
    mcds_table *table;
    mcds_table *handles[HANDLES]; /* where writers have less room: a call takes the next */
    uint32_t left;
    uint32_t number;
    bool knows; /* its last answer was of a life that was there after `known` losses */
    uint32_t known;
};

static mcds_bytes key_of(const struct world *world, uint32_t number)
{
    static uint8_t bytes[KEY_LENGTH];
    return lengths_fill(bytes, world->lengths.of[number], number);
}

static uint32_t target_of(const struct changer *changer, uint64_t tag)
{
    return (uint32_t)(tag * 7 + changer->number) % KEYS;
}

/* Which of the changes of its key it is. */
static uint32_t nth_of(const struct changer *changer, uint64_t tag)
{
    return changer->number * (CHANGES / KEYS) + (uint32_t)tag / KEYS;
}

static int sign_of(uint32_t nth)
{
    return nth % 3 == 0 ? -1 : 1;
}

static int64_t delta_of(uint32_t nth)
{
    int64_t delta = sign_of(nth);
    for (uint32_t i = 0; i < nth; i++)
        delta *= 5;
    return delta;
}

/* How often each change is in this value. False: it is not a sum of changes. */
static bool decode(int64_t value, bool *is_in_out)
{
    for (uint32_t nth = 0; nth < CHANGES_OF_A_KEY; nth++) {
        int64_t digit = ((value % 5) + 7) % 5 - 2;
        if (digit != 0 && digit != sign_of(nth))
            return false;
        is_in_out[nth] = digit != 0;
        value = (value - digit) / 5;
    }
    return value == 0;
}

static void complain(struct world *world, const char *what, uint32_t key, uint32_t nth)
{
    (void)snprintf(world->wrong, sizeof world->wrong, "%s: key %u, change %u", what, key, nth);
}

/* A value that was told between these moments: it holds what was acknowledged before, and nothing
 * that was refused, or begun later. */
static void judge_value(struct world *world, uint32_t key, int64_t value,
                        const struct moment *begin, const struct moment *end)
{
    bool is_in[CHANGES_OF_A_KEY];
    if (!decode(value, is_in)) {
        complain(world, "a change counts twice, or nobody made it", key, CHANGES_OF_A_KEY);
        return;
    }
    for (uint32_t nth = 0; nth < CHANGES_OF_A_KEY; nth++) {
        const struct change *change = &world->changes[key][nth];
        bool may_be_in = change->is_begun && change->begin.tick < end->tick &&
                         (change->end.tick == NEVER || change->result == MCDS_OK ||
                          change->result == MCDS_AMBIGUOUS);
        bool must_be_in = change->is_begun && change->result == MCDS_OK &&
                          change->end.tick < begin->tick &&
                          change->begin.roots_lost == end->roots_lost;
        if (is_in[nth] && !may_be_in)
            complain(world, "what was refused counts", key, nth);
        if (!is_in[nth] && must_be_in)
            complain(world, "what was acknowledged is missing, and nobody is told", key, nth);
    }
}

/* Of two changes in one life, the value after one of them holds the other. */
static void judge_order(struct world *world, uint32_t key, uint32_t nth, uint32_t other)
{
    const struct change *a = &world->changes[key][nth];
    const struct change *b = &world->changes[key][other];
    bool is_in_a[CHANGES_OF_A_KEY], is_in_b[CHANGES_OF_A_KEY];
    uint32_t first = a->begin.roots_lost < b->begin.roots_lost ? a->begin.roots_lost
                                                               : b->begin.roots_lost;
    if (!b->asks || b->result != MCDS_OK || a->end.roots_lost != first ||
        b->end.roots_lost != first || !decode(a->after, is_in_a) || !decode(b->after, is_in_b))
        return;
    if (is_in_a[other] == is_in_b[nth])
        complain(world, "two changes do not agree which was the first", key, nth);
}

/* What the changes were told. */
static void judge_told(struct world *world, uint32_t key)
{
    for (uint32_t nth = 0; nth < CHANGES_OF_A_KEY; nth++) {
        struct change *change = &world->changes[key][nth];
        bool is_in[CHANGES_OF_A_KEY];
        if (!change->asks || change->result != MCDS_OK)
            continue;
        judge_value(world, key, change->after, &change->begin, &change->end);
        if (decode(change->after, is_in) && !is_in[nth])
            complain(world, "a change is told a value without it", key, nth);
        for (uint32_t other = nth + 1; other < CHANGES_OF_A_KEY; other++)
            judge_order(world, key, nth, other);
    }
}

/* A handle that was in a table which the server then lost is told before it is in another. */
static void judge_life(struct changer *changer, const struct change *change)
{
    if (change->result == MCDS_LOST || change->result == MCDS_AMBIGUOUS)
        changer->knows = false;
    if (change->result != MCDS_OK)
        return;
    if (changer->world->losses == PARTS && changer->knows &&
        change->begin.roots_lost > changer->known)
        (void)snprintf(changer->world->wrong, sizeof changer->world->wrong,
                       "the loss of the whole table is not told");
    changer->knows = true;
    changer->known = change->end.roots_lost;
}

static void book(struct changer *changer, const mcds_completion *done)
{
    struct world *world = changer->world;
    uint32_t key = target_of(changer, done->tag), nth = nth_of(changer, done->tag);
    struct change *change = &world->changes[key][nth];
    change->result = done->result;
    change->end = world->now;
    change->end.tick = ++world->now.tick;
    judge_life(changer, change);
    switch (done->result) {
    case MCDS_OK:
    case MCDS_AMBIGUOUS:
    case MCDS_LOST:
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    case MCDS_IO: /* its clock is slow */
        if (world->writers_room > 0)
            break;
        /* fall through */
    default:
        fail_msg("result %d: %s", done->result, mcds_errmsg());
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct changer *changer = context;
    struct world *world = changer->world;
    uint32_t begin = done == NULL ? IN_FLIGHT : 1;
    if (done != NULL)
        book(changer, done);
    for (; begin > 0 && changer->left > 0; begin--) {
        uint64_t tag = --changer->left;
        uint32_t key = target_of(changer, tag), nth = nth_of(changer, tag);
        struct change *change = &world->changes[key][nth];
        change->is_begun = true;
        change->asks = tag % 2 == 0;
        change->end.tick = NEVER;
        change->begin = world->now;
        change->begin.tick = ++world->now.tick;
        mcds_table *table = world->writers_room > 0 ? changer->handles[tag % HANDLES]
                                                    : changer->table;
        assert_int_equal(mcds_table_incr_start(table, key_of(world, key), delta_of(nth),
                                               change->asks ? &change->after : NULL,
                                               mcds_sim_client_pipeline(client), tag),
                         MCDS_OK);
    }
}

#define ROOT "mcds:t2:accounts"
/* After each event: whether the server has lost the root. Where it may have lost anything, no two
 * moments are known to be of one life. */
static const char *watch_root(void *context)
{
    struct world *world = context;
    mcds_reply root = loss_ask(world->sim, MCDS_GET, mcds_text(ROOT));
    bool is_there = root.outcome == MCDS_OUT_OK;
    if (world->losses == ANY ||
        (world->has_root && (!is_there || root.flags != world->root_flags)))
        world->now.roots_lost++;
    world->has_root = is_there;
    world->root_flags = root.flags;
    return NULL;
}

/* What a handle reads in the end, nothing being under way. Returns whether it was told of a loss. */
static bool read_key(struct changer *reader, uint32_t key)
{
    struct world *world = reader->world;
    mcds_value value = MCDS_VALUE_INIT;
    char text[32] = "0";
    struct moment begin = world->now;
    begin.tick = ++world->now.tick;
    int result = mcds_table_get(reader->table, key_of(world, key), &value);
    if (result == MCDS_OK)
        (void)snprintf(text, sizeof text, "%.*s", (int)value.length, (char *)value.data);
    mcds_value_free(&value);
    struct moment end = world->now;
    end.tick = ++world->now.tick;
    if (result == MCDS_OK || result == MCDS_NOT_FOUND)
        judge_value(world, key, strtoll(text, NULL, 10), &begin, &end);
    else if (result != MCDS_LOST || world->losses == NONE)
        complain(world, "it cannot be read", key, CHANGES_OF_A_KEY);
    return result == MCDS_LOST;
}

struct tally {
    const struct world *world;
    uint32_t seen[KEYS];
    uint32_t count;
};

static bool tally_key(void *context, mcds_bytes key, mcds_bytes value)
{
    struct tally *tally = context;
    (void)value;
    uint32_t number = lengths_number_of(&tally->world->lengths, key);
    if (number < KEYS)
        tally->seen[number]++;
    tally->count++;
    return true;
}

/* A scan sees once every key that can be read, and is LOST where one cannot. Where keys are evicted
 * while requests are late, one loss is not reported (docs/guarantees.md, "One loss"). */
static void judge_scan(struct changer *reader)
{
    bool loses = reader->world->losses != NONE;
    bool may_be_silent = reader->world->losses == ANY;
    struct tally tally = {.world = reader->world};
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int result = mcds_table_scan(reader->table, &cursor, 0, tally_key, &tally);
    bool fine = result == MCDS_OK || result == MCDS_NOT_FOUND || (loses && result == MCDS_LOST);
    for (uint32_t i = 0; i < KEYS; i++) {
        int has = mcds_table_has(reader->table, key_of(reader->world, i));
        uint32_t most = has == MCDS_OK ? 1 : 0;
        fine = fine && tally.seen[i] <= most &&
               (result == MCDS_LOST || may_be_silent ||
                (tally.seen[i] == most && has != MCDS_LOST));
    }
    if (!fine)
        (void)snprintf(reader->world->wrong, sizeof reader->world->wrong,
                       "a scan misses a key, sees one twice, or does not tell of a loss");
}

/* Whether the root has moved: all is in its children. */
static bool has_split(mcds_sim_client *client)
{
    struct mcds__key key;
    mcds_store *store = mcds_sim_client_store(client);
    mcds__key_begin(&key, mcds__store_ns(store), "t2", "accounts");
    struct mcds__key first = first_key(store, &key);
    mcds_request request = {
        .command = MCDS_GET, .key = mcds__key_bytes(&first), .route = mcds__key_bytes(&key)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(store, 0, &batch);
    return request.reply.outcome == MCDS_OUT_OK &&
           mcds__map_state_of(request.reply.flags) != MCDS__MAP_OPEN;
}

static void count(const struct world *world, struct totals *totals)
{
    for (uint32_t i = 0; i < KEYS * CHANGES_OF_A_KEY; i++) {
        const struct change *change =
            &world->changes[i / CHANGES_OF_A_KEY][i % CHANGES_OF_A_KEY];
        totals->acknowledged += change->is_begun && change->result == MCDS_OK;
        totals->told += change->is_begun && change->asks && change->result == MCDS_OK;
        totals->doubtful += change->result == MCDS_AMBIGUOUS;
        totals->lost += change->result == MCDS_LOST;
        totals->refused += change->result == MCDS_IO;
    }
}

/* Each handle reads: none of them takes what is gone for empty. */
static void judge(struct world *world, struct changer *changers, struct totals *totals)
{
    mcds_sim_calm(world->sim);
    world->loser.is_over = true;
    for (uint32_t i = 0; i < KEYS; i++)
        judge_told(world, i);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t key = 0; key < KEYS; key++)
            totals->lost += read_key(&changers[i], key);
        judge_scan(&changers[i]);
    }
    count(world, totals);
    if (world->losses == NONE && totals->lost > 0)
        (void)snprintf(world->wrong, sizeof world->wrong, "LOST, and nothing was");
}

static void open_handles(struct changer *changer, mcds_store *store)
{
    for (uint32_t i = 0; i < HANDLES; i++) {
        mcds_table **handle = &changer->handles[i];
        assert_int_equal(mcds_table_open(store, "accounts", NULL, handle), MCDS_OK);
        ((struct mcds__keyed *)*handle)->map.writers_room = changer->world->writers_room;
    }
}

static void close_handles(struct changer *changer)
{
    mcds_table_close(changer->table);
    for (uint32_t i = 0; i < HANDLES; i++)
        mcds_table_close(changer->handles[i]);
}

/* `writers_room` as in struct world. */
static bool run(mcds_sim_options options, enum losses losses, size_t writers_room,
                struct totals *totals)
{
    static struct world world;
    static struct changer changers[CLIENTS_MAX];
    mcds_sim_client *client;
    memset(&world, 0, sizeof world);
    world.losses = losses;
    world.writers_room = writers_room;
    play_lengths(&world.lengths, options.seed, KEYS, 1, KEY_LENGTH, KEY_LENGTH);
    assert_int_equal(play_open(&options, &world.sim), MCDS_OK);
    world.loser = (struct map_loser){.sim = world.sim, .root = ROOT, .random = options.seed};
    for (uint32_t i = 0; i < CLIENTS; i++) {
        changers[i] = (struct changer){
            .world = &world, .left = play_calls(CHANGES), .number = i};
        assert_int_equal(mcds_sim_client_add(world.sim, program, &changers[i], &client),
                         MCDS_OK);
        if (losses == PARTS)
            map_loser_begin(&world.loser, client);
        assert_int_equal(mcds_table_open(mcds_sim_client_store(client), "accounts", NULL,
                                         &changers[i].table),
                         MCDS_OK);
        if (writers_room > 0)
            open_handles(&changers[i], mcds_sim_client_store(client));
    }
    const char *wrong = play_run(world.sim, 1000000, watch_root, &world);
    if (wrong == NULL)
        judge(&world, changers, totals);
    if (wrong == NULL && world.wrong[0] != '\0')
        wrong = world.wrong;
    if (wrong != NULL)
        (void)report_lengths(world.sim, options.seed, wrong, &world.lengths);
    totals->split += has_split(client);
    for (uint32_t i = 0; i < CLIENTS; i++)
        close_handles(&changers[i]);
    play_close(world.sim);
    return wrong == NULL;
}

static void every_change_counts_once(void **state)
{
    (void)state;
    struct totals totals = {0};
    PLAY (seed, 400)
        assert_true(run(network_faults(seed), NONE, 0, &totals));
    SEEN(totals.acknowledged > 0 && totals.doubtful > 0 && totals.told > 0 && totals.split > 0);
}

/* Keys have little room for many handles, whose clocks differ by minutes: some changes are refused. What
 * is acknowledged counts once nevertheless. */
static void many_handles_count_once(void **state)
{
    (void)state;
    struct totals totals = {0};
    PLAY (seed, 400) {
        mcds_sim_options options = network_faults(seed);
        options.skew_ms_max = seed % 4 == 0 ? options.skew_ms_max : PRESSURE_SKEW_MS;
        assert_true(run(options, NONE, (size_t)64 << seed % 8, &totals));
    }
    SEEN(totals.acknowledged > 0 && totals.doubtful > 0 && totals.refused > 0);
}

/* Keys go one by one, so that some go from under a mark that has moved. */
static mcds_sim_options forgetful(uint64_t seed)
{
    mcds_sim_options options = all_faults(seed);
    options.evict_ppm = 30000;
    options.flush_ppm = 0;
    options.restart_ppm = 0;
    return options;
}

/* A server that forgets: calls still end, nothing counts twice, and nothing that was refused. */
static void nothing_is_invented_after_a_loss(void **state)
{
    (void)state;
    struct totals totals = {0};
    PLAY (seed, 150)
        assert_true(run(forgetful(seed), ANY, 0, &totals));
    SEEN(totals.lost > 0 && totals.told > 0);
}

/* As long as its root is there, a part that is gone is LOST for each read of its entries. */
static void what_is_lost_is_told(void **state)
{
    (void)state;
    struct totals totals = {0};
    PLAY (seed, 250)
        assert_true(run(network_faults(seed), PARTS, 0, &totals));
    SEEN(totals.lost > 0 && totals.told > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_change_counts_once),
    cmocka_unit_test(many_handles_count_once),
    cmocka_unit_test(nothing_is_invented_after_a_loss),
    cmocka_unit_test(what_is_lost_is_told),
};

PLAY_MAIN("table")
