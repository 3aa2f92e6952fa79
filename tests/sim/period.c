/* Visitors and online in the simulated world, over time: an acknowledged call counts in the
 * interval for which it was made, for as long as that is read, whenever its key expires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define HITS 40
#define READS 60
#define WIDTH_MS 3000
#define BUCKETS 3
#define START_MS INT64_C(1767225600000)
#define SLOTS 512
/* Rests between two calls are no longer than this. */
#define REST_MS 900

enum { TAG_DONE = 1, TAG_RESTED };

/* What each interval has been asked to count, and what of it was acknowledged. */
struct ledger {
    mcds_sim *sim;
    bool is_online;
    uint64_t begun[SLOTS];
    uint64_t counted[SLOTS];
    const char *violation;
    uint64_t reads;
    uint64_t hits;
};

struct guest {
    struct ledger *ledger;
    mcds_visitors *visitors;
    mcds_online *online;
    uint32_t number;
    uint32_t left;
    uint64_t random;
    uint64_t slot; /* of the call that is under way */
    bool reads;
    uint64_t least; /* of the intervals that it will read, at its beginning */
    mcds_visitors_value visitors_value;
    mcds_online_value online_value;
};

static uint64_t next(struct guest *guest, uint64_t bound)
{
    return dice_roll(&guest->random, bound);
}

/* Clocks agree here, so the interval of a call is known. Counted from that of the beginning. */
static uint64_t slot_now(const struct ledger *ledger)
{
    uint64_t first = START_MS / WIDTH_MS - BUCKETS;
    return (uint64_t)(START_MS + mcds_sim_now_ns(ledger->sim) / NS_PER_MS) / WIDTH_MS - first;
}

/* The closed intervals that a call in `slot` reads. */
static uint64_t sum_closed(const struct ledger *ledger, const uint64_t *slots, uint64_t slot)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= (ledger->is_online ? BUCKETS : 1); i++)
        sum += slots[slot - i];
    return sum;
}

static int begin_read(struct guest *guest, mcds_pipeline *pipeline)
{
    guest->least = sum_closed(guest->ledger, guest->ledger->counted, guest->slot);
    if (guest->online != NULL)
        return mcds_online_get_start(guest->online, 0, &guest->online_value, pipeline,
                                     TAG_DONE);
    return mcds_visitors_get_start(guest->visitors, 0, &guest->visitors_value, pipeline,
                                   TAG_DONE);
}

/* Everybody comes once. */
static int begin_hit(struct guest *guest, mcds_pipeline *pipeline)
{
    char name[24];
    (void)snprintf(name, sizeof name, "%u of %u", guest->left, guest->number);
    guest->ledger->begun[guest->slot]++;
    if (guest->online != NULL)
        return mcds_online_beat_start(guest->online, name, 0, pipeline, TAG_DONE);
    return mcds_visitors_hit_start(guest->visitors, guest->left % 2 == 0 ? name : NULL, 0,
                                   pipeline, TAG_DONE);
}

static void judge_read(struct guest *guest)
{
    struct ledger *ledger = guest->ledger;
    bool is_online = guest->online != NULL;
    uint64_t closed = is_online ? guest->online_value.closed : guest->visitors_value.closed;
    bool reborn = is_online ? guest->online_value.reborn : guest->visitors_value.reborn;
    uint64_t most = sum_closed(ledger, ledger->begun, guest->slot);
    ledger->reads++;
    if (closed >= guest->least && closed <= most && !reborn)
        return;
    mcds_sim_note(ledger->sim, NULL, "slot %llu: read %llu, allowed %llu to %llu%s",
                  (unsigned long long)guest->slot, (unsigned long long)closed,
                  (unsigned long long)guest->least, (unsigned long long)most,
                  reborn ? ", reborn" : "");
    if (ledger->violation == NULL)
        ledger->violation = "an interval does not hold what was acknowledged";
}

static void book(struct guest *guest, int result)
{
    struct ledger *ledger = guest->ledger;
    switch (result) {
    case MCDS_OK:
        if (guest->reads) {
            judge_read(guest);
            break;
        }
        ledger->counted[guest->slot]++;
        ledger->hits++;
        break;
    case MCDS_AMBIGUOUS:
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
    struct guest *guest = context;
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (done != NULL && done->tag == TAG_DONE)
        book(guest, done->result);
    if (done == NULL || done->tag == TAG_DONE) {
        int64_t rest_ns = (int64_t)next(guest, REST_MS) * NS_PER_MS;
        assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_RESTED), MCDS_OK);
        return;
    }
    if (guest->left == 0)
        return;
    guest->left--;
    guest->slot = slot_now(guest->ledger);
    assert_true(guest->slot < SLOTS);
    assert_int_equal(guest->reads ? begin_read(guest, pipeline) : begin_hit(guest, pipeline),
                     MCDS_OK);
}

static void open_for(struct guest *guest, mcds_store *store)
{
    mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options window = MCDS_ONLINE_OPTIONS_INIT;
    visitors.period_ms = WIDTH_MS;
    window.width_ms = WIDTH_MS;
    window.buckets = BUCKETS;
    if (guest->ledger->is_online)
        assert_int_equal(mcds_online_open(store, "site", &window, &guest->online), MCDS_OK);
    else
        assert_int_equal(mcds_visitors_open(store, "site", &visitors, &guest->visitors),
                         MCDS_OK);
}

static bool run(mcds_sim_options options, bool is_online, struct ledger *totals)
{
    static struct ledger ledger;
    struct guest guests[CLIENTS_MAX];
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    ledger.is_online = is_online;
    assert_int_equal(play_open(&options, &ledger.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        guests[i] = (struct guest){.ledger = &ledger,
                                   .number = i,
                                   .left = play_calls(i == 0 ? READS : HITS),
                                   .reads = i == 0,
                                   .random = options.seed * CLIENTS + i};
        assert_int_equal(mcds_sim_client_add(ledger.sim, program, &guests[i], &client),
                         MCDS_OK);
        open_for(&guests[i], mcds_sim_client_store(client));
    }
    if (mcds_sim_run(ledger.sim, 100000) != MCDS_OK)
        ledger.violation = "it does not end";
    if (ledger.violation != NULL)
        (void)report(ledger.sim, options.seed, ledger.violation);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        mcds_visitors_close(guests[i].visitors);
        mcds_online_close(guests[i].online);
    }
    play_close(ledger.sim);
    totals->reads += ledger.reads;
    totals->hits += ledger.hits;
    return ledger.violation == NULL;
}

static void run_many(bool is_online)
{
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 600) {
        mcds_sim_options options = network_faults(seed);
        options.skew_ms_max = 0;
        assert_true(run(options, is_online, &totals));
    }
    SEEN(totals.reads > 0 && totals.hits > 0);
    print_message("%llu hits, %llu reads\n", (unsigned long long)totals.hits,
                  (unsigned long long)totals.reads);
}

static void a_period_holds_what_began_in_it(void **state)
{
    (void)state;
    run_many(false);
}

static void a_window_does_not_dip(void **state)
{
    (void)state;
    run_many(true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_period_holds_what_began_in_it),
    cmocka_unit_test(a_window_does_not_dip),
};

PLAY_MAIN("period")
