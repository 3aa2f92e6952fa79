/* Lists in the simulated world, on a server that loses single keys: every handle, old or new, scans
 * what was acknowledged, or reports a loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "mcds.h"
#include "sim/loss.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define PUSHES 20
#define ALL (CLIENTS_MAX * PUSHES)
/* Of each client: one from the beginning, and one that is opened midway. */
#define HANDLES 2
/* Of a value; every second one has this length, and six of these fill a key. */
#define FILLS 2600
#define LENGTH 9000
#define REST_MS 2500
#define TAG_RESTED ALL

static const struct loss_places places = {"mcds:l1:jobs", "mcds:lp1:jobs:", 0};

enum fate { NOT_BEGUN, UNDER_WAY, PUSHED, DOUBTFUL, REFUSED };

struct push {
    enum fate fate;
    int64_t began_ns;
    uint32_t handle;
    uint32_t seen; /* by the scan that is judged */
};

struct ledger {
    struct push pushes[ALL];
    struct lengths lengths;
    struct loser loser;
    bool is_foreign;
    char wrong[200]; /* a result that cannot be */
    uint64_t pushed;
    uint64_t losses; /* scans that have reported one */
    /* The last push of each handle that has reported a loss, by when it began. */
    int64_t told_ns[CLIENTS_MAX * HANDLES];
};

struct pusher {
    struct ledger *ledger;
    mcds_list *lists[HANDLES];
    uint32_t first;
    uint32_t next;
    uint64_t random;
};

static mcds_list *open_list(mcds_sim_client *client)
{
    mcds_list *list = NULL;
    assert_int_equal(mcds_list_open(mcds_sim_client_store(client), "jobs", NULL, &list),
                     MCDS_OK);
    return list;
}

static void book(struct ledger *ledger, struct push *push, int result)
{
    switch (result) {
    case MCDS_OK:
        push->fate = PUSHED;
        ledger->pushed++;
        break;
    case MCDS_AMBIGUOUS:
        push->fate = DOUBTFUL;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        push->fate = REFUSED;
        break;
    case MCDS_LOST:
        push->fate = DOUBTFUL;
        ledger->told_ns[push->handle] = push->began_ns;
        if (ledger->loser.happened > 0)
            break;
        /* fall through */
    default:
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
    }
}

static void push(struct pusher *pusher, mcds_sim_client *client)
{
    static uint8_t text[LENGTH];
    struct ledger *ledger = pusher->ledger;
    uint32_t number = pusher->first + pusher->next++;
    if (pusher->next > PUSHES / 2 && pusher->lists[1] == NULL)
        pusher->lists[1] = open_list(client);
    uint32_t which = pusher->lists[1] != NULL ? (uint32_t)dice_roll(&pusher->random, HANDLES)
                                              : 0;
    ledger->pushes[number].fate = UNDER_WAY;
    ledger->pushes[number].began_ns = mcds_sim_now_ns(ledger->loser.sim);
    ledger->pushes[number].handle = pusher->first / PUSHES * HANDLES + which;
    mcds_bytes value = lengths_fill(text, ledger->lengths.of[number], number);
    assert_int_equal(mcds_list_push_start(pusher->lists[which], value,
                                          mcds_sim_client_pipeline(client), number),
                     MCDS_OK);
}

static void push_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct pusher *pusher = context;
    bool has_rested = done != NULL && done->tag == TAG_RESTED;
    if (done != NULL && !has_rested)
        loss_note_call(&pusher->ledger->loser, client, done->result == MCDS_OK);
    if (done != NULL && !has_rested)
        book(pusher->ledger, &pusher->ledger->pushes[done->tag], done->result);
    if (pusher->next == play_calls(PUSHES))
        return;
    if (done == NULL || has_rested || dice_roll(&pusher->random, 2) == 0) {
        push(pusher, client);
        return;
    }
    int64_t rest_ns = (int64_t)(1 + dice_roll(&pusher->random, REST_MS)) * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_RESTED), MCDS_OK);
}

static bool see(void *context, mcds_bytes value)
{
    struct ledger *ledger = context;
    uint32_t number = lengths_number_of(&ledger->lengths, value);
    ledger->is_foreign = ledger->is_foreign || number >= ALL;
    if (number < ALL)
        ledger->pushes[number].seen++;
    return number < ALL;
}

/* Whether a scan of this handle has to report the loss of the value. Where the root was lost,
 * another list may be in its place: the handle that has pushed the value reports that, by a push or
 * by a scan. So it does where a push that did not know the lost segment has made it again and has
 * recorded nothing. */
static bool must_tell(const struct ledger *ledger, const struct push *push, uint32_t handle)
{
    const struct loser *loser = &ledger->loser;
    if (push->handle == handle && ledger->told_ns[handle] > push->began_ns)
        return false;
    return push->handle == handle || (loser->roots == 0 && !loser->is_blind &&
                                      !loser->is_hidden && !loser->is_unrecorded);
}

static const char *judge_push(const struct ledger *ledger, const struct push *push,
                              uint32_t handle, bool is_told)
{
    const struct loser *loser = &ledger->loser;
    if (push->seen > 1 && !is_told)
        return "a value twice";
    if ((push->fate == REFUSED || push->fate == NOT_BEGUN) && push->seen > 0)
        return "a refused value is there";
    if (push->fate != PUSHED || push->seen > 0)
        return NULL;
    if (!loss_of_data(loser))
        return "an acknowledged value is missing, and none was lost";
    if (!is_told && push->began_ns > loser->last_ns)
        return "a value that was pushed after the loss is missing, and no loss is reported";
    if (!is_told && must_tell(ledger, push, handle))
        return "an acknowledged value is missing, and no loss is reported";
    return NULL;
}

/* NULL, or what is wrong with what this handle scans. */
static const char *judge(struct ledger *ledger, mcds_list *list, uint32_t handle)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < ALL; i++)
        ledger->pushes[i].seen = 0;
    int result = mcds_list_scan(list, 0, 0, see, ledger);
    bool is_told = result == MCDS_LOST;
    loss_note(&ledger->loser);
    ledger->losses += is_told;
    if (ledger->is_foreign)
        return "a value that nobody pushed";
    if (is_told && !loss_of_data(&ledger->loser))
        return "a loss is reported, and nothing was lost";
    for (uint32_t i = 0; i < ALL && wrong == NULL; i++) {
        wrong = judge_push(ledger, &ledger->pushes[i], handle, is_told);
        if (wrong != NULL)
            mcds_sim_note(ledger->loser.sim, NULL, "value %u of c%u, begun at %.6f", i,
                          i / PUSHES + 1, (double)ledger->pushes[i].began_ns / NS_PER_S);
    }
    if (wrong == NULL && result != MCDS_OK && !is_told && result != MCDS_NOT_FOUND)
        wrong = "the scan fails";
    return wrong;
}

static const char *judge_all(struct ledger *ledger, struct pusher *pushers,
                             mcds_sim_client *client)
{
    const char *wrong = ledger->wrong[0] != '\0' ? ledger->wrong : NULL;
    mcds_list *fresh = open_list(client);
    for (uint32_t i = 0; i < CLIENTS * HANDLES && wrong == NULL; i++) {
        mcds_list *list = pushers[i / HANDLES].lists[i % HANDLES];
        wrong = list != NULL ? judge(ledger, list, i) : NULL;
        if (wrong != NULL)
            mcds_sim_note(ledger->loser.sim, NULL, "handle %u of c%u", i % HANDLES + 1,
                          i / HANDLES + 1);
    }
    if (wrong == NULL)
        wrong = judge(ledger, fresh, CLIENTS_MAX * HANDLES);
    mcds_list_close(fresh);
    return wrong;
}

static bool run(mcds_sim_options options, uint32_t kinds, struct ledger *totals)
{
    static struct ledger ledger;
    struct pusher pushers[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    lengths_begin(&ledger.lengths, options.seed, ALL, 0, LENGTH);
    lengths_fill_up(&ledger.lengths, FILLS);
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        pushers[i] = (struct pusher){
            .ledger = &ledger, .first = i * PUSHES, .random = options.seed * CLIENTS_MAX + i};
        assert_int_equal(mcds_sim_client_add(sim, push_on, &pushers[i], &client), MCDS_OK);
        pushers[i].lists[0] = open_list(client);
    }
    ledger.loser = (struct loser){.sim = sim,
                                  .places = places,
                                  .kinds = kinds,
                                  .wanted = options.seed % 2 == 0 ? 1 : 3,
                                  .random = options.seed};
    loss_begin(&ledger.loser);
    const char *wrong = loss_run(&ledger.loser, 200000);
    bool fine = wrong == NULL;
    mcds_sim_calm(sim);
    if (fine)
        wrong = judge_all(&ledger, pushers, client);
    if (wrong != NULL)
        fine = report_lengths(sim, options.seed, wrong, &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS * HANDLES; i++)
        mcds_list_close(pushers[i / HANDLES].lists[i % HANDLES]);
    play_close(sim);
    totals->pushed += ledger.pushed;
    totals->losses += ledger.losses;
    totals->loser.seen |= ledger.loser.seen;
    return fine;
}

/* Fewer faults of the network: it is the keys that are lost here. */
static void run_many(uint32_t kinds, uint64_t usual)
{
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, usual)
        assert_true(run(fewer_faults(network_faults(seed)), kinds, &totals));
    SEEN(totals.pushed > 0 && totals.loser.seen == kinds);
    SEEN((kinds & LOSS_DATA) == 0 || totals.losses > 0);
}

static void a_lost_count_loses_nothing(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_COUNT), 400);
}

static void a_lost_root_hides_no_later_push(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_ROOT), 200);
}

static void a_lost_segment_is_told(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_FIRST) | LOSS_BIT(LOSS_LATER) | LOSS_BIT(LOSS_BEGIN), 300);
}

static void a_lost_end_is_told(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_LAST), 300);
}

/* A run in which a late request makes a lost segment again, before one with acknowledged values. */
static void what_follows_a_segment_made_again_is_read(void **state)
{
    (void)state;
    static struct ledger totals;
    assert_true(run(fewer_faults(network_faults(17940)), LOSS_BIT(LOSS_LAST), &totals));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_lost_count_loses_nothing),
    cmocka_unit_test(a_lost_root_hides_no_later_push),
    cmocka_unit_test(a_lost_segment_is_told),
    cmocka_unit_test(a_lost_end_is_told),
    cmocka_unit_test(what_follows_a_segment_made_again_is_read),
};

PLAY_MAIN("list_loss")
