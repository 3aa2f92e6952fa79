/* Visitors in the simulated world: each visitor counts once per period. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define VISITS 16
#define VISITORS 5
#define SLOTS 16
#define WIDTH_MS 60000
#define START_MS (INT64_C(1767225600000) - 60 * WIDTH_MS) /* before the world begins */

/* How often each visitor was counted in each slot, for certain and perhaps. */
struct ledger {
    struct lengths lengths; /* of their names, and of that of the structure */
    uint32_t counted[SLOTS][VISITORS];
    uint32_t doubtful[SLOTS][VISITORS];
    uint64_t counts;
    uint64_t repeats;
    uint64_t doubts;
};

struct visiting {
    struct ledger *ledger;
    mcds_visitors *visitors;
    uint32_t visits_left;
    uint32_t slot;
    uint32_t visitor;
};

static int64_t at_ms(uint32_t slot)
{
    return START_MS + (int64_t)slot * WIDTH_MS + 1;
}

static void book(struct visiting *visiting, int result)
{
    struct ledger *ledger = visiting->ledger;
    switch (result) {
    case MCDS_OK:
        ledger->counted[visiting->slot][visiting->visitor]++;
        ledger->counts++;
        break;
    case MCDS_AMBIGUOUS:
        ledger->doubtful[visiting->slot][visiting->visitor]++;
        ledger->doubts++;
        break;
    case MCDS_EXISTS:
        ledger->repeats++;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct visiting *visiting = context;
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (done != NULL)
        book(visiting, done->result);
    if (visiting->visits_left-- == 0)
        return;
    uint32_t step = (uint32_t)(VISITS - visiting->visits_left);
    visiting->slot = step / 6;
    visiting->visitor = (step * 3 + mcds_sim_client_number(client)) % VISITORS;
    char name[LENGTHS_NAME_MAX + 1];
    (void)lengths_name(&visiting->ledger->lengths, visiting->visitor, name);
    int result = mcds_visitors_hit_start(visiting->visitors, name, at_ms(visiting->slot),
                                         pipeline, 1);
    assert_int_equal(result, MCDS_OK);
}

static void open_for(struct visiting *visiting, mcds_store *store)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    const struct lengths *lengths = &visiting->ledger->lengths;
    char name[LENGTHS_NAME_MAX + 1];
    options.period_ms = WIDTH_MS;
    assert_int_equal(mcds_visitors_open(store, lengths_name(lengths, VISITORS, name), &options,
                                        &visiting->visitors),
                     MCDS_OK);
}

/* What the store says of each slot. */
static void read_slots(struct visiting *visiting, uint64_t *slots)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
        assert_int_equal(mcds_visitors_get(visiting->visitors, at_ms(slot), &value), MCDS_OK);
        slots[slot] = value.current;
    }
}

/* Nobody counts twice within a slot, and the slots hold what was acknowledged. */
static bool check(const struct ledger *ledger, const uint64_t *slots)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint64_t least = 0;
        uint64_t most = 0;
        for (uint32_t visitor = 0; visitor < VISITORS; visitor++) {
            if (ledger->counted[slot][visitor] > 1)
                return false;
            least += ledger->counted[slot][visitor];
            most += ledger->counted[slot][visitor] + ledger->doubtful[slot][visitor];
        }
        if (slots[slot] < least || slots[slot] > most)
            return false;
    }
    return true;
}

static bool run(mcds_sim_options options, struct ledger *totals)
{
    static struct ledger ledger;
    struct visiting visitings[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    lengths_begin(&ledger.lengths, options.seed, VISITORS + 1, 1, LENGTHS_NAME_MAX);
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        visitings[i] = (struct visiting){.ledger = &ledger, .visits_left = play_calls(VISITS)};
        assert_int_equal(mcds_sim_client_add(sim, program, &visitings[i], &client), MCDS_OK);
        open_for(&visitings[i], mcds_sim_client_store(client));
    }
    bool fine = mcds_sim_run(sim, 100000) == MCDS_OK;
    mcds_sim_calm(sim);
    uint64_t slots[SLOTS];
    read_slots(&visitings[0], slots);
    fine = fine && check(&ledger, slots);
    if (!fine)
        (void)report_lengths(sim, options.seed, "somebody was counted twice, or not at all",
                             &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_visitors_close(visitings[i].visitors);
    play_close(sim);
    totals->counts += ledger.counts;
    totals->repeats += ledger.repeats;
    totals->doubts += ledger.doubts;
    return fine;
}

static void a_visitor_counts_once_a_period(void **state)
{
    (void)state;
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 2000) {
        mcds_sim_options options = network_faults(seed);
        options.pause_ppm = 0; /* event time does not advance, so the keys must not expire */
        options.late_ms_max = 2000;
        assert_true(run(options, &totals));
    }
    SEEN(totals.counts > 0 && totals.repeats > 0);
    print_message("counted %llu, again %llu, ambiguous %llu\n",
                  (unsigned long long)totals.counts, (unsigned long long)totals.repeats,
                  (unsigned long long)totals.doubts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_visitor_counts_once_a_period),
};

PLAY_MAIN("visit")
