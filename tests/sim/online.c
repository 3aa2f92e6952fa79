/* Online in the simulated world: each window counts each of its visitors once, in any order of the
 * beats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define BEATS 24
#define FLIGHT 6 /* beats of one client at once: those of one visitor share its mark */
#define VISITORS 4
#define BUCKETS_MAX 4
#define SLOTS 12
/* So many slots are looked at; nobody beats in the last ones. */
#define LOOKS (SLOTS + BUCKETS_MAX + 2)
#define WIDTH_MS 60000
#define START_MS (INT64_C(1767225600000) - 60 * WIDTH_MS) /* before the world begins */

/* Whether each visitor was active in each slot, for certain and perhaps; and whether a beat failed
 * that another may have found begun. */
struct ledger {
    struct lengths lengths; /* of their names, and of that of the structure */
    bool active[LOOKS][VISITORS];
    bool doubtful[LOOKS][VISITORS];
    bool failed[LOOKS][VISITORS];
    uint32_t buckets;
    uint64_t counts;
    uint64_t repeats;
    uint64_t doubts;
};

struct beat {
    uint32_t slot;
    uint32_t visitor;
};

struct guest {
    struct ledger *ledger;
    mcds_online *online;
    uint64_t random;
    uint32_t left;
    struct beat beats[FLIGHT]; /* by tag */
};

static int64_t at_ms(uint32_t slot)
{
    return START_MS + (int64_t)slot * WIDTH_MS + WIDTH_MS / 4;
}

static void book(struct ledger *ledger, struct beat beat, int result)
{
    switch (result) {
    case MCDS_OK:
    case MCDS_EXISTS:
        ledger->active[beat.slot][beat.visitor] = true;
        ledger->counts += result == MCDS_OK;
        ledger->repeats += result == MCDS_EXISTS;
        break;
    case MCDS_AMBIGUOUS:
        ledger->doubtful[beat.slot][beat.visitor] = true;
        ledger->doubts++;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        ledger->failed[beat.slot][beat.visitor] = true;
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
}

static void start_beat(struct guest *guest, mcds_sim_client *client, uint64_t tag)
{
    if (guest->left == 0)
        return;
    guest->left--;
    struct beat *beat = &guest->beats[tag];
    beat->slot = (uint32_t)dice_roll(&guest->random, SLOTS);
    beat->visitor = (uint32_t)dice_roll(&guest->random, VISITORS);
    char name[LENGTHS_NAME_MAX + 1];
    (void)lengths_name(&guest->ledger->lengths, beat->visitor, name);
    assert_int_equal(mcds_online_beat_start(guest->online, name, at_ms(beat->slot),
                                            mcds_sim_client_pipeline(client), tag),
                     MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct guest *guest = context;
    if (done != NULL) {
        book(guest->ledger, guest->beats[done->tag], done->result);
        start_beat(guest, client, done->tag);
        return;
    }
    for (uint64_t tag = 0; tag < FLIGHT; tag++)
        start_beat(guest, client, tag);
}

/* How many visitors are active in the slots `first` to `last`: at least, and at most. */
struct range {
    uint32_t least;
    uint32_t most;
};

static struct range active_in(const struct ledger *ledger, uint32_t first, uint32_t last)
{
    struct range range = {0, 0};
    for (uint32_t visitor = 0; visitor < VISITORS; visitor++) {
        bool active = false;
        bool doubtful = false;
        bool failed = false;
        for (uint32_t slot = first; slot <= last; slot++) {
            active = active || ledger->active[slot][visitor];
            doubtful = doubtful || ledger->doubtful[slot][visitor];
            failed = failed || ledger->failed[slot][visitor];
        }
        range.least += active && !doubtful && !failed;
        range.most += active || doubtful;
    }
    return range;
}

static bool is_in(double number, double least, double most)
{
    return number >= least - 1e-6 && number <= most + 1e-6;
}

/* The windows are the union of their buckets, and the estimate leaves out a quarter of those that
 * were active in the oldest one only. */
static bool check(mcds_sim *sim, const struct ledger *ledger, mcds_online *online)
{
    for (uint32_t slot = 0; slot < LOOKS; slot++) {
        mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
        assert_int_equal(mcds_online_get(online, at_ms(slot), &value), MCDS_OK);
        uint32_t first = slot > ledger->buckets ? slot - ledger->buckets : 0;
        uint32_t next = slot >= ledger->buckets ? first + 1 : 0;
        struct range all = active_in(ledger, first, slot);
        struct range closed = {0, 0};
        if (slot > 0)
            closed = active_in(ledger, first, slot - 1);
        struct range later = active_in(ledger, next, slot);
        if (!is_in((double)value.closed, closed.least, closed.most) ||
            !is_in((double)(value.closed + value.current), all.least, all.most) ||
            !is_in(value.estimate, all.least * 0.75 + later.least * 0.25,
                   all.most * 0.75 + later.most * 0.25)) {
            mcds_sim_note(sim, NULL,
                          "slot %u: closed %llu of %u to %u, current %llu, in all %u to %u, "
                          "estimate %.2f",
                          slot, (unsigned long long)value.closed, closed.least, closed.most,
                          (unsigned long long)value.current, all.least, all.most,
                          value.estimate);
            return false;
        }
    }
    return true;
}

static void open_guest(struct guest *guest, mcds_store *store)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    const struct lengths *lengths = &guest->ledger->lengths;
    char name[LENGTHS_NAME_MAX + 1];
    options.width_ms = WIDTH_MS;
    options.buckets = guest->ledger->buckets;
    assert_int_equal(mcds_online_open(store, lengths_name(lengths, VISITORS, name), &options,
                                      &guest->online),
                     MCDS_OK);
}

static bool run(mcds_sim_options options, struct ledger *totals)
{
    static struct ledger ledger;
    struct guest guests[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    lengths_begin(&ledger.lengths, options.seed, VISITORS + 1, 1, LENGTHS_NAME_MAX);
    ledger.buckets = 1 + (uint32_t)(options.seed % BUCKETS_MAX);
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        guests[i] = (struct guest){.ledger = &ledger,
                                   .left = play_calls(BEATS),
                                   .random = options.seed * CLIENTS_MAX + i};
        assert_int_equal(mcds_sim_client_add(sim, program, &guests[i], &client), MCDS_OK);
        open_guest(&guests[i], mcds_sim_client_store(client));
    }
    bool fine = mcds_sim_run(sim, 100000) == MCDS_OK;
    mcds_sim_calm(sim);
    fine = fine && check(sim, &ledger, guests[0].online);
    if (!fine)
        (void)report_lengths(sim, options.seed, "a window counts somebody twice, or not at all",
                             &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_online_close(guests[i].online);
    play_close(sim);
    totals->counts += ledger.counts;
    totals->repeats += ledger.repeats;
    totals->doubts += ledger.doubts;
    return fine;
}

static void each_window_counts_each_visitor_once(void **state)
{
    (void)state;
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 1000) {
        mcds_sim_options options = network_faults(seed);
        options.pause_ppm = 0; /* event time does not advance, so the keys must not expire */
        options.late_ms_max = 2000;
        assert_true(run(options, &totals));
    }
    SEEN(totals.counts > 0 && totals.repeats > 0 && totals.doubts > 0);
    print_message("counted %llu, again %llu, ambiguous %llu\n",
                  (unsigned long long)totals.counts, (unsigned long long)totals.repeats,
                  (unsigned long long)totals.doubts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_window_counts_each_visitor_once),
};

PLAY_MAIN("online")
