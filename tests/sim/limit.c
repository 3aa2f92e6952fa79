/* Limits in the simulated world, with skewed clocks and late replies: never more than the bound
 * passes in any time, a take counts once, all rates pay or none, and a window holds its count. */
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
#define TAKES 24
#define TAKES_MAX ((size_t)CLIENTS_MAX * TAKES)
#define IDENTITIES 2
#define SKEW_MS 2400
#define SLOW UINT64_C(1000)
#define SLOW_MS (UINT64_C(366) * 24 * 3600 * 1000)
#define FAST UINT64_C(10)
#define FAST_MS 10000
#define BURST 5
#define WINDOW 6
#define WINDOW_MS 10000
#define S_NS INT64_C(1000000000)

enum form { BUCKET, GIVING, WINDOWS };

/* A take that passed, with the true times of its call and of its completion. */
struct passage {
    int64_t begun_ns, ended_ns;
    uint32_t identity;
};

struct ledger {
    enum form form;
    struct passage passages[TAKES_MAX];
    uint32_t count;
    int64_t least[IDENTITIES], most[IDENTITIES]; /* tokens that were used */
    uint64_t passed, refused, doubts, old, given;
};

struct guest {
    struct ledger *ledger;
    mcds_sim *sim;
    mcds_limit *limit;
    uint64_t random;
    uint32_t left;
    uint32_t identity;
    bool is_taking, gives;
    int64_t begun_ns;
    mcds_limit_value value;
};

static const char *name_of(uint32_t identity)
{
    static const char *const names[IDENTITIES] = {"10.0.0.7", "someone@example.org"};
    return names[identity];
}

static void book_use(struct guest *guest, int64_t least, int64_t most)
{
    guest->ledger->least[guest->identity] += least;
    guest->ledger->most[guest->identity] += most;
}

static void book(struct guest *guest, int result)
{
    struct ledger *ledger = guest->ledger;
    switch (result) {
    case MCDS_OK:
        ledger->given += guest->gives;
        book_use(guest, guest->gives ? -1 : 1, guest->gives ? 0 : 1);
        if (guest->gives)
            break;
        ledger->passed++;
        ledger->passages[ledger->count++] = (struct passage){
            guest->begun_ns, mcds_sim_now_ns(guest->sim), guest->identity};
        break;
    case MCDS_AMBIGUOUS:
        ledger->doubts++;
        book_use(guest, guest->gives ? -1 : 0, guest->gives ? 0 : 1);
        break;
    case MCDS_TOO_OLD:
        ledger->old++;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        ledger->refused += result == MCDS_BUSY;
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
}

static void begin_call(struct guest *guest, mcds_sim_client *client)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    guest->is_taking = true;
    guest->identity = (uint32_t)dice_roll(&guest->random, IDENTITIES);
    guest->gives = guest->ledger->form == GIVING && dice_roll(&guest->random, 4) == 0;
    guest->begun_ns = mcds_sim_now_ns(guest->sim);
    guest->value = (mcds_limit_value)MCDS_LIMIT_VALUE_INIT;
    mcds_bytes identity = mcds_text(name_of(guest->identity));
    int result = guest->gives ? mcds_limit_give_start(guest->limit, identity, 1, pipeline, 1)
                              : mcds_limit_take_start(guest->limit, identity, 1, 0,
                                                      &guest->value, pipeline, 1);
    assert_int_equal(result, MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct guest *guest = context;
    if (done != NULL && guest->is_taking) {
        book(guest, done->result);
        guest->is_taking = false;
        /* Often at once, so that the limit is reached. */
        int64_t pause_ns = dice_roll(&guest->random, 3) > 0
                               ? 0
                               : (int64_t)dice_roll(&guest->random, 4000) * 1000000;
        assert_int_equal(mcds_sim_client_sleep(client, pause_ns, 2), MCDS_OK);
        return;
    }
    if (guest->left-- > 0)
        begin_call(guest, client);
}

/* How many of an identity were called at or after `from` and completed by `until`. */
static uint32_t between(const struct ledger *ledger, uint32_t identity, int64_t from_ns,
                        int64_t until_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct passage *passage = &ledger->passages[i];
        count += passage->identity == identity && passage->begun_ns >= from_ns &&
                 passage->ended_ns <= until_ns;
    }
    return count;
}

/* G-LIMIT-1. A loss fills the bucket once more. */
static bool is_allowed(const struct ledger *ledger, uint32_t passed, int64_t time_ns,
                       uint64_t losses)
{
    int64_t skew_ns = 2 * SKEW_MS * INT64_C(1000000);
    if (ledger->form == WINDOWS)
        return time_ns + skew_ns > WINDOW_MS * INT64_C(1000000) ||
               passed <= WINDOW * (1 + losses);
    return passed <= BURST * (1 + losses) + (uint64_t)(time_ns + skew_ns) / S_NS;
}

static bool check_bound(mcds_sim *sim, const struct ledger *ledger, uint64_t losses)
{
    for (uint32_t i = 0; i < ledger->count; i++)
        for (uint32_t j = 0; j < ledger->count; j++) {
            const struct passage *first = &ledger->passages[i];
            const struct passage *last = &ledger->passages[j];
            int64_t time_ns = last->ended_ns - first->begun_ns;
            if (first->identity != last->identity || time_ns < 0)
                continue;
            uint32_t passed = between(ledger, first->identity, first->begun_ns, last->ended_ns);
            if (is_allowed(ledger, passed, time_ns, losses))
                continue;
            mcds_sim_note(sim, NULL, "%u of %s passed in %lld ms", passed,
                          name_of(first->identity), (long long)time_ns / 1000000);
            return false;
        }
    return true;
}

/* G-LIMIT-2, G-LIMIT-4: the rate that refills in a year has paid for what passed, once, and for
 * nothing that the fast rate refused. */
static bool check_use(mcds_sim *sim, const struct ledger *ledger, mcds_store *store)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *slow = NULL;
    bool fine = true;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){SLOW, SLOW_MS, 0};
    assert_int_equal(mcds_limit_open(store, "l", &options, &slow), MCDS_OK);
    for (uint32_t i = 0; i < IDENTITIES; i++) {
        mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
        int result = mcds_limit_get(slow, mcds_text(name_of(i)), &value);
        assert_true(result == MCDS_OK || result == MCDS_TOO_OLD);
        int64_t used = (int64_t)(SLOW - value.remaining);
        int64_t least = ledger->least[i] < 0 ? 0 : ledger->least[i];
        if (result == MCDS_TOO_OLD || (used >= least && used <= ledger->most[i]))
            continue;
        mcds_sim_note(sim, NULL, "%s used %lld of %lld to %lld", name_of(i), (long long)used,
                      (long long)least, (long long)ledger->most[i]);
        fine = false;
    }
    mcds_limit_close(slow);
    return fine;
}

static void open_guest(struct guest *guest, mcds_store *store)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    bool is_window = guest->ledger->form == WINDOWS;
    options.form = is_window ? MCDS_LIMIT_WINDOW : MCDS_LIMIT_BUCKET;
    options.rate_count = is_window ? 1 : 2;
    options.rates[0] = is_window ? (mcds_rate){WINDOW, WINDOW_MS, 0}
                                 : (mcds_rate){SLOW, SLOW_MS, 0};
    options.rates[1] = is_window ? (mcds_rate){0, 0, 0} : (mcds_rate){FAST, FAST_MS, BURST};
    assert_int_equal(mcds_limit_open(store, "l", &options, &guest->limit), MCDS_OK);
}

static bool run(mcds_sim_options options, enum form form, struct ledger *totals)
{
    static struct ledger ledger;
    struct guest guests[CLIENTS_MAX];
    mcds_sim_counts counts = MCDS_SIM_COUNTS_INIT;
    mcds_sim *sim;
    mcds_sim_client *client;
    ledger = (struct ledger){.form = form};
    options.skew_ms_max = SKEW_MS;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        guests[i] = (struct guest){.ledger = &ledger,
                                   .sim = sim,
                                   .left = play_calls(TAKES),
                                   .random = options.seed * CLIENTS_MAX + i};
        assert_int_equal(mcds_sim_client_add(sim, program, &guests[i], &client), MCDS_OK);
        open_guest(&guests[i], mcds_sim_client_store(client));
    }
    bool fine = mcds_sim_run(sim, 200000) == MCDS_OK;
    mcds_sim_calm(sim);
    mcds_sim_count(sim, &counts);
    uint64_t losses = counts.evicted + counts.flushed + counts.restarted;
    fine = fine && (form == GIVING || check_bound(sim, &ledger, losses));
    if (form != WINDOWS && losses == 0)
        fine = fine && check_use(sim, &ledger, mcds_sim_client_store(client));
    if (!fine)
        (void)report(sim, options.seed, "more than the bound, or a take counts twice");
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_limit_close(guests[i].limit);
    play_close(sim);
    totals->passed += ledger.passed;
    totals->refused += ledger.refused;
    totals->doubts += ledger.doubts;
    totals->given += ledger.given;
    return fine;
}

static void play_form(enum form form, mcds_sim_options (*faults)(uint64_t seed))
{
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 1000) {
        mcds_sim_options options = faults(seed);
        options.late_ms_max = 3000;
        options.pause_ms_max = 3000;
        assert_true(run(options, form, &totals));
    }
    SEEN(totals.passed > 0 && totals.refused > 0 && totals.doubts > 0);
    SEEN(form != GIVING || totals.given > 0);
    print_message("passed %llu, refused %llu, ambiguous %llu, given back %llu\n",
                  (unsigned long long)totals.passed, (unsigned long long)totals.refused,
                  (unsigned long long)totals.doubts, (unsigned long long)totals.given);
}

static void a_bucket_keeps_its_bound(void **state)
{
    (void)state;
    play_form(BUCKET, network_faults);
}

static void a_loss_costs_one_burst(void **state)
{
    (void)state;
    play_form(BUCKET, all_faults);
}

static void a_give_counts_once(void **state)
{
    (void)state;
    play_form(GIVING, network_faults);
}

/* A take of a window has eighteen requests. */
static mcds_sim_options window_faults(uint64_t seed)
{
    return fewer_faults(network_faults(seed));
}

static void a_window_holds_its_count(void **state)
{
    (void)state;
    play_form(WINDOWS, window_faults);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bucket_keeps_its_bound),
    cmocka_unit_test(a_loss_costs_one_burst),
    cmocka_unit_test(a_give_counts_once),
    cmocka_unit_test(a_window_holds_its_count),
};

PLAY_MAIN("limit")
