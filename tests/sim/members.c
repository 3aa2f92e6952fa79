/* Visitors with stored members, in the simulated world: every acknowledged visitor is stored
 * once, and a call may be repeated any number of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/siphash.h"
#include "mcds.h"
#include "sim/play.h"
#include "structures/intervals.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define HITS 20
#define VISITORS 12
#define TRIES_MAX 6
#define PERIOD_MS 86400000
#define AT_MS INT64_C(1767225600001)

struct ledger {
    struct lengths lengths; /* of their names, and of that of the structure */
    bool in[VISITORS];      /* acknowledged */
    bool sent[VISITORS];    /* perhaps */
    uint64_t repeated;
};

struct visiting {
    struct ledger *ledger;
    mcds_visitors *visitors;
    uint32_t hits_left;
    int tries;
    uint32_t visitor;
};

static void hit(struct visiting *visiting, mcds_sim_client *client)
{
    char who[LENGTHS_NAME_MAX + 1];
    (void)lengths_name(&visiting->ledger->lengths, visiting->visitor, who);
    visiting->ledger->sent[visiting->visitor] = true;
    assert_int_equal(mcds_visitors_hit_start(visiting->visitors, who, AT_MS,
                                             mcds_sim_client_pipeline(client), 1),
                     MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct visiting *visiting = context;
    if (done != NULL && (done->result == MCDS_OK || done->result == MCDS_EXISTS)) {
        visiting->ledger->in[visiting->visitor] = true;
    } else if (done != NULL) {
        if (done->result != MCDS_AMBIGUOUS && done->result != MCDS_TIMEOUT &&
            done->result != MCDS_UNAVAILABLE && done->result != MCDS_BUSY)
            fail_msg("result %d: %s", done->result, mcds_errmsg());
        if (visiting->tries++ < TRIES_MAX) {
            visiting->ledger->repeated++;
            hit(visiting, client);
            return;
        }
    }
    if (visiting->hits_left-- == 0)
        return;
    visiting->tries = 0;
    visiting->visitor = (visiting->hits_left * 5 + mcds_sim_client_number(client)) % VISITORS;
    hit(visiting, client);
}

/* How many are counted: names in one register of the estimate are one. */
static uint64_t count_of(const struct ledger *ledger, const struct visiting *visiting,
                         bool is_estimated, bool is_most)
{
    static bool taken[MCDS__HLL_REGISTERS];
    const struct mcds__settings *settings =
        &((const struct mcds__intervals *)visiting->visitors)->settings;
    uint64_t key[2] = {settings->hash_key[0], settings->hash_key[1]};
    uint64_t count = 0;
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < VISITORS; i++) {
        char who[LENGTHS_NAME_MAX + 1];
        uint8_t rank;
        uint64_t hash = mcds__siphash(key, mcds_text(lengths_name(&ledger->lengths, i, who)));
        uint32_t at = is_estimated ? mcds__hll_register(hash, &rank) : i;
        bool counts = (ledger->in[i] || (is_most && ledger->sent[i])) && !taken[at];
        taken[at] = taken[at] || counts;
        count += counts;
    }
    return count;
}

static bool run(uint64_t seed, uint32_t members, uint64_t *repeated)
{
    mcds_sim_options options = network_faults(seed);
    mcds_visitors_options kept = MCDS_VISITORS_OPTIONS_INIT;
    struct ledger ledger = {0};
    char name[LENGTHS_NAME_MAX + 1];
    struct visiting visiting[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    kept.period_ms = PERIOD_MS;
    lengths_begin(&ledger.lengths, seed, VISITORS + 1, 1, LENGTHS_NAME_MAX);
    kept.members = members;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        visiting[i] = (struct visiting){.ledger = &ledger, .hits_left = play_calls(HITS)};
        assert_int_equal(mcds_sim_client_add(sim, program, &visiting[i], &client), MCDS_OK);
        assert_int_equal(mcds_visitors_open(mcds_sim_client_store(client),
                                            lengths_name(&ledger.lengths, VISITORS, name),
                                            &kept, &visiting[i].visitors),
                         MCDS_OK);
    }
    bool fine = mcds_sim_run(sim, 1000000) == MCDS_OK;
    mcds_sim_calm(sim);
    fine = fine && mcds_visitors_get(visiting[0].visitors, AT_MS, &value) == MCDS_OK;
    bool is_estimated = members == MCDS_MEMBERS_ESTIMATED;
    uint64_t least = count_of(&ledger, &visiting[0], is_estimated, false);
    uint64_t most = count_of(&ledger, &visiting[0], is_estimated, true);
    fine = fine && value.current >= least && value.current <= most && !value.reborn;
    if (!fine) {
        mcds_sim_note(sim, NULL, "%llu, allowed %llu to %llu",
                      (unsigned long long)value.current, (unsigned long long)least,
                      (unsigned long long)most);
        (void)report_lengths(sim, seed, "the members are not those who came", &ledger.lengths);
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_visitors_close(visiting[i].visitors);
    play_close(sim);
    *repeated += ledger.repeated;
    return fine;
}

static void run_many(uint32_t members)
{
    uint64_t repeated = 0;
    PLAY (seed, 200)
        assert_true(run(seed, members, &repeated));
    SEEN(repeated > 0);
}

static void every_member_counts_once(void **state)
{
    (void)state;
    run_many(MCDS_MEMBERS_EXACT);
}

/* So few of them the estimate does not miss. */
static void the_estimate_does_not_hang_on_replies(void **state)
{
    (void)state;
    run_many(MCDS_MEMBERS_ESTIMATED);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_member_counts_once),
    cmocka_unit_test(the_estimate_does_not_hang_on_replies),
};

PLAY_MAIN("members")
