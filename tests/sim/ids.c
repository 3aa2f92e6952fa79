/* Ids in the simulated world, with clocks that differ by the whole spread, late requests, pauses, and
 * a server that forgets: no id twice, none ahead of the clock of its handle, and each handle's rise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "mcds.h"
#include "sim/play.h"
#include "store/store.h"
#include "structures/ids/value.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CALLS 16
#define GRANTS_MAX ((size_t)CLIENTS_MAX * CALLS)
#define SPREAD_MS 40

struct grant {
    uint64_t first, count;
};

struct ledger {
    mcds_sim *sim;
    uint32_t bits;
    struct grant grants[GRANTS_MAX];
    uint32_t count;
    uint64_t refused, drops, waits;
    const char *wrong;
};

struct taker {
    struct ledger *ledger;
    mcds_ids *ids;
    uint64_t random;
    uint32_t left;
    bool is_calling, drops;
    uint64_t first, count, last;
    int64_t begun_ms;
};

static int64_t client_ms(mcds_sim_client *client)
{
    return mcds__wall_ms(mcds__store_env(mcds_sim_client_store(client)));
}

static void open_taker(struct taker *taker, mcds_store *store)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    options.bits = taker->ledger->bits;
    options.spread_ms = SPREAD_MS;
    taker->last = 0;
    assert_int_equal(mcds_ids_open(store, "i", &options, &taker->ids), MCDS_OK);
}

static void book_ids(struct taker *taker, mcds_sim_client *client)
{
    struct ledger *ledger = taker->ledger;
    uint64_t last = taker->first + taker->count - 1;
    int64_t now_ms = client_ms(client);
    if (mcds__ids_time_of(last, ledger->bits) + MCDS__IDS_EPOCH_MS > now_ms)
        ledger->wrong = "an id is used before its time";
    if (taker->first <= taker->last)
        ledger->wrong = "the ids of a handle fall";
    for (uint32_t i = 0; i < ledger->count; i++)
        if (taker->first < ledger->grants[i].first + ledger->grants[i].count &&
            ledger->grants[i].first <= last)
            ledger->wrong = "an id is returned twice";
    ledger->waits += now_ms > taker->begun_ms + SPREAD_MS;
    taker->last = last;
    ledger->grants[ledger->count++] = (struct grant){taker->first, taker->count};
}

/* TOO_OLD: a clock is slow by more than was said. */
static void book(struct taker *taker, mcds_sim_client *client, int result)
{
    switch (result) {
    case MCDS_OK:
        if (!taker->drops)
            book_ids(taker, client);
        break;
    case MCDS_NOT_FOUND:
    case MCDS_AMBIGUOUS:
        assert_true(taker->drops);
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        taker->ledger->refused++;
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
    taker->ledger->drops += taker->drops;
}

static void begin_call(struct taker *taker, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    static const uint64_t counts[] = {1, 1, 1, 700, 1024, 9000};
    if (dice_roll(&taker->random, 4) == 0) { /* as a process that ends and is started again */
        mcds_ids_close(taker->ids);
        open_taker(taker, mcds_sim_client_store(client));
    }
    taker->is_calling = true;
    taker->begun_ms = client_ms(client);
    taker->drops = dice_roll(&taker->random, 24) == 0;
    taker->count = counts[dice_roll(&taker->random, sizeof counts / sizeof counts[0])];
    int result = taker->drops ? mcds_ids_drop_start(taker->ids, pipeline, 1)
                              : mcds_ids_take_start(taker->ids, taker->count, &taker->first,
                                                    pipeline, 1);
    assert_int_equal(result, MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct taker *taker = context;
    if (done != NULL && taker->is_calling) {
        book(taker, client, done->result);
        taker->is_calling = false;
        /* Often at once, and sometimes so late that the range is old. */
        int64_t pause_ns = dice_roll(&taker->random, 3) > 0
                               ? 0
                               : (int64_t)dice_roll(&taker->random, 1500) * NS_PER_MS;
        assert_int_equal(mcds_sim_client_sleep(client, pause_ns, 2), MCDS_OK);
        return;
    }
    if (taker->left-- > 0)
        begin_call(taker, client);
}

static bool run(mcds_sim_options options, struct ledger *totals, mcds_sim_counts *counts)
{
    static struct ledger ledger;
    struct taker takers[CLIENTS_MAX];
    mcds_sim_client *client;
    ledger = (struct ledger){.bits = options.seed % 2 == 0 ? 53 : 63};
    assert_int_equal(play_open(&options, &ledger.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        takers[i] = (struct taker){.ledger = &ledger,
                                   .left = play_calls(CALLS),
                                   .random = options.seed * CLIENTS_MAX + i};
        assert_int_equal(mcds_sim_client_add(ledger.sim, program, &takers[i], &client),
                         MCDS_OK);
        open_taker(&takers[i], mcds_sim_client_store(client));
    }
    bool fine = play_to_end(ledger.sim, options.seed, &ledger.wrong, counts);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_ids_close(takers[i].ids);
    play_close(ledger.sim);
    totals->count += ledger.count;
    totals->refused += ledger.refused;
    totals->drops += ledger.drops;
    totals->waits += ledger.waits;
    return fine;
}

static void play_ids(mcds_sim_options (*faults)(uint64_t seed), bool loses)
{
    static struct ledger totals;
    uint64_t losses = 0;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 1000) {
        mcds_sim_options options = faults(seed);
        mcds_sim_counts counts = MCDS_SIM_COUNTS_INIT;
        options.skew_ms_max = SPREAD_MS / 2; /* of a clock from the true time */
        options.late_ms_max = 3000;
        options.pause_ms_max = 3000;
        assert_true(run(options, &totals, &counts));
        losses += counts.evicted + counts.flushed + counts.restarted;
    }
    SEEN(totals.count > 0 && totals.refused > 0 && totals.drops > 0 && totals.waits > 0);
    SEEN(!loses || losses > 0);
    print_message("%u takes, %llu refused, %llu drops, %llu losses\n", totals.count,
                  (unsigned long long)totals.refused, (unsigned long long)totals.drops,
                  (unsigned long long)losses);
}

static void ids_are_unique(void **state)
{
    (void)state;
    play_ids(network_faults, false);
}

static void ids_are_unique_over_losses(void **state)
{
    (void)state;
    play_ids(all_faults, true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(ids_are_unique),
    cmocka_unit_test(ids_are_unique_over_losses),
};

PLAY_MAIN("ids")
