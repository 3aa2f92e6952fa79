/* Tables in the simulated world, in keys that split while requests are lost and come late: every
 * acknowledged change is there, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/fold.h"
#include "sim/play.h"
#include "support/first_key.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CHANGES 60
#define KEYS 12
#define KEY_LENGTH 70 /* so that a few dozen changes make a key split */
#define IN_FLIGHT 3

struct account {
    int64_t acknowledged;
    int64_t doubtful_up;
    int64_t doubtful_down;
};

struct totals {
    uint64_t acknowledged;
    uint64_t doubtful;
    uint64_t lost;
    uint64_t split; /* runs at whose end the root had moved */
};

struct world {
    struct account accounts[KEYS];
    uint64_t lost;
};

struct changer {
    struct world *world;
    mcds_table *table;
    uint32_t left;
    uint32_t number;
    int64_t after[CHANGES];
};

static mcds_bytes key_of(uint32_t number)
{
    static char keys[KEYS][KEY_LENGTH + 1];
    (void)snprintf(keys[number], sizeof keys[number], "key-%02u-%0*u", number, KEY_LENGTH - 7,
                   7u);
    return (mcds_bytes){keys[number], KEY_LENGTH};
}

static uint32_t target_of(const struct changer *changer, uint64_t tag)
{
    return (uint32_t)(tag * 7 + changer->number) % KEYS;
}

static int64_t delta_of(uint64_t tag)
{
    return tag % 3 == 0 ? -4 : 9;
}

static void book(struct changer *changer, const mcds_completion *done)
{
    struct account *account = &changer->world->accounts[target_of(changer, done->tag)];
    int64_t delta = delta_of(done->tag);
    switch (done->result) {
    case MCDS_OK:
        account->acknowledged += delta;
        break;
    case MCDS_AMBIGUOUS:
        account->doubtful_up += delta > 0 ? delta : 0;
        account->doubtful_down += delta < 0 ? delta : 0;
        break;
    case MCDS_LOST:
        changer->world->lost++;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        fail_msg("result %d: %s", done->result, mcds_errmsg());
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct changer *changer = context;
    uint32_t begin = done == NULL ? IN_FLIGHT : 1;
    if (done != NULL)
        book(changer, done);
    for (; begin > 0 && changer->left > 0; begin--) {
        uint64_t tag = --changer->left;
        int64_t *after = tag % 2 == 0 ? &changer->after[tag] : NULL;
        assert_int_equal(mcds_table_incr_start(changer->table, key_of(target_of(changer, tag)),
                                               delta_of(tag), after,
                                               mcds_sim_client_pipeline(client), tag),
                         MCDS_OK);
    }
}

static bool check_account(mcds_sim *sim, struct changer *reader, uint32_t number, uint64_t seed)
{
    const struct account *account = &reader->world->accounts[number];
    mcds_value value = MCDS_VALUE_INIT;
    char text[32] = "0";
    int result = mcds_table_get(reader->table, key_of(number), &value);
    if (result == MCDS_OK)
        (void)snprintf(text, sizeof text, "%.*s", (int)value.length, (char *)value.at);
    mcds_value_free(&value);
    long long have = strtoll(text, NULL, 10);
    if ((result == MCDS_OK || result == MCDS_NOT_FOUND) &&
        have >= account->acknowledged + account->doubtful_down &&
        have <= account->acknowledged + account->doubtful_up)
        return true;
    mcds_sim_note(sim, NULL,
                  "key %u: result %d, value %lld, acknowledged %lld, doubtful %lld %lld",
                  number, result, have, (long long)account->acknowledged,
                  (long long)account->doubtful_down, (long long)account->doubtful_up);
    return report(sim, seed, "a change is missing, or there twice");
}

struct tally {
    uint32_t seen[KEYS];
    uint32_t count;
};

static bool tally_key(void *context, mcds_bytes key, mcds_bytes value)
{
    struct tally *tally = context;
    (void)value;
    for (uint32_t i = 0; i < KEYS; i++)
        if (key.length == KEY_LENGTH && memcmp(key.at, key_of(i).at, KEY_LENGTH) == 0)
            tally->seen[i]++;
    tally->count++;
    return true;
}

/* A scan sees every key once. */
static bool check_scan(mcds_sim *sim, struct changer *reader, uint64_t seed)
{
    struct tally tally = {{0}, 0};
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int result = mcds_table_scan(reader->table, &cursor, 0, tally_key, &tally);
    bool fine = result == MCDS_OK || result == MCDS_NOT_FOUND;
    for (uint32_t i = 0; i < KEYS; i++) {
        bool is_there = mcds_table_has(reader->table, key_of(i)) == MCDS_OK;
        fine = fine && tally.seen[i] == (is_there ? 1u : 0u);
    }
    return fine || report(sim, seed, "a scan misses a key, or sees one twice");
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
           mcds__fold_state_of(request.reply.flags) != MCDS__FOLD_OPEN;
}

static void count(const struct world *world, struct totals *totals)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        totals->acknowledged += world->accounts[i].acknowledged != 0;
        totals->doubtful += world->accounts[i].doubtful_up != 0;
    }
    totals->lost += world->lost;
}

static bool run(mcds_sim_options options, bool loses, struct totals *totals)
{
    struct world world = {{{0, 0, 0}}, 0};
    static struct changer changers[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        changers[i] = (struct changer){
            .world = &world, .left = play_calls(CHANGES), .number = i};
        assert_int_equal(mcds_sim_client_add(sim, program, &changers[i], &client), MCDS_OK);
        assert_int_equal(mcds_table_open(mcds_sim_client_store(client), "accounts", NULL,
                                         &changers[i].table),
                         MCDS_OK);
    }
    bool fine = mcds_sim_run(sim, 1000000) == MCDS_OK;
    if (!fine)
        (void)report(sim, options.seed, "it does not end");
    mcds_sim_calm(sim);
    for (uint32_t i = 0; !loses && fine && i < KEYS; i++)
        fine = check_account(sim, &changers[i % CLIENTS], i, options.seed);
    if (!loses && fine)
        fine = check_scan(sim, &changers[0], options.seed);
    if (!loses && fine && world.lost > 0)
        fine = report(sim, options.seed, "LOST, and nothing was");
    count(&world, totals);
    totals->split += has_split(client);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_table_close(changers[i].table);
    play_close(sim);
    return fine;
}

static void every_change_counts_once(void **state)
{
    (void)state;
    struct totals totals = {0, 0, 0, 0};
    PLAY (seed, 400)
        assert_true(run(network_faults(seed), false, &totals));
    SEEN(totals.acknowledged > 0 && totals.doubtful > 0 && totals.split > 0);
    assert_int_equal(totals.lost, 0);
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

/* A server that forgets: calls still end, and what is gone is said to be. */
static void what_is_lost_is_told(void **state)
{
    (void)state;
    struct totals totals = {0, 0, 0, 0};
    PLAY (seed, 300)
        assert_true(run(forgetful(seed), true, &totals));
    SEEN(totals.lost > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_change_counts_once),
    cmocka_unit_test(what_is_lost_is_told),
};

PLAY_MAIN("table")
