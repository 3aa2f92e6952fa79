/* Lists in the simulated world: every acknowledged push exactly once, in order, whatever is lost
 * on the way. */
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
#define PUSHES 20
#define ALL (CLIENTS_MAX * PUSHES)
#define TOGETHER 3
/* Of these pushes of a client that clears, each is a clear instead. */
#define CLEAR_EVERY 6
/* Of a value; in every second run, every second value has this length, and six fill a key. */
#define FILLS 2600
#define LENGTH 9000
#define LONG 1100000
/* By a client that only reads. */
#define FETCHES 12

enum fate { NOT_BEGUN, UNDER_WAY, PUSHED, DOUBTFUL, REFUSED };

struct push {
    enum fate fate;
    int64_t began_ns;
    int64_t ended_ns;
    uint32_t seen;
    uint32_t place;
};

struct ledger {
    struct push pushes[ALL];
    struct lengths lengths;
    mcds_sim *sim;
    bool may_lose;
    bool is_lost; /* the fetch has told so */
    bool clears;
    bool clear_in_doubt;
    int64_t cleared_from_ns; /* when the last clear that was acknowledged began */
    int64_t cleared_to_ns;   /* when the last one ended */
    uint64_t cleared;
    uint32_t places;
    bool is_foreign;
    char wrong[200]; /* a result that cannot be */
    uint64_t pushed;
    uint64_t doubts;
    uint64_t losses;
};

struct pushing {
    struct ledger *ledger;
    mcds_list *list;
    uint32_t first;
    uint32_t next;
};

static void book_clear(struct ledger *ledger, const struct push *push, int result)
{
    ledger->cleared_to_ns = mcds_sim_now_ns(ledger->sim);
    if (result == MCDS_OK && push->began_ns > ledger->cleared_from_ns)
        ledger->cleared_from_ns = push->began_ns;
    ledger->cleared += result == MCDS_OK;
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        ledger->clear_in_doubt = true;
    if (result == MCDS_CORRUPT || result == MCDS_LOST)
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
}

static void book(struct ledger *ledger, struct push *push, int result)
{
    push->ended_ns = mcds_sim_now_ns(ledger->sim);
    switch (result) {
    case MCDS_OK:
        push->fate = PUSHED;
        ledger->pushed++;
        break;
    case MCDS_AMBIGUOUS:
        push->fate = DOUBTFUL;
        ledger->doubts++;
        break;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        push->fate = REFUSED;
        break;
    case MCDS_LOST:
        if (ledger->may_lose) {
            push->fate = DOUBTFUL;
            break;
        }
        /* fall through */
    default:
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
    }
}

static bool is_clear(const struct ledger *ledger, uint32_t number)
{
    return ledger->clears && number < PUSHES && number % CLEAR_EVERY == CLEAR_EVERY - 1;
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    static uint8_t text[LONG];
    struct pushing *pushing = context;
    struct ledger *ledger = pushing->ledger;
    if (done != NULL && is_clear(ledger, (uint32_t)done->tag))
        book_clear(ledger, &ledger->pushes[done->tag], done->result);
    else if (done != NULL)
        book(ledger, &ledger->pushes[done->tag], done->result);
    for (int i = done == NULL ? TOGETHER : 1; i > 0 && pushing->next < play_calls(PUSHES);
         i--) {
        uint32_t number = pushing->first + pushing->next++;
        ledger->pushes[number].fate = UNDER_WAY;
        ledger->pushes[number].began_ns = mcds_sim_now_ns(ledger->sim);
        if (is_clear(ledger, number)) {
            assert_int_equal(
                mcds_list_clear_start(pushing->list, mcds_sim_client_pipeline(client), number),
                MCDS_OK);
            continue;
        }
        mcds_bytes value = lengths_fill(text, ledger->lengths.of[number], number);
        assert_int_equal(mcds_list_push_start(pushing->list, value,
                                              mcds_sim_client_pipeline(client), number),
                         MCDS_OK);
    }
}

static bool see(void *context, mcds_bytes value)
{
    struct ledger *ledger = context;
    uint32_t number = lengths_number_of(&ledger->lengths, value);
    if (number >= ALL) {
        ledger->is_foreign = true;
        return false;
    }
    ledger->pushes[number].seen++;
    ledger->pushes[number].place = ledger->places++;
    return true;
}

/* NULL, or what is wrong. */
static const char *judge(const struct ledger *ledger)
{
    if (ledger->wrong[0] != 0)
        return ledger->wrong;
    if (ledger->is_foreign)
        return "a value that nobody pushed";
    for (uint32_t i = 0; i < ALL; i++) {
        const struct push *push = &ledger->pushes[i];
        if (push->seen > 1 && !ledger->is_lost)
            return "a value twice";
        if (push->fate == PUSHED && push->seen == 0 && !ledger->may_lose &&
            (!ledger->clears ||
             (!ledger->clear_in_doubt && push->began_ns > ledger->cleared_to_ns)))
            return "an acknowledged value is missing";
        if (push->fate == PUSHED && push->seen > 0 && !ledger->may_lose &&
            push->ended_ns < ledger->cleared_from_ns)
            return "a value from before a clear is there after it";
        if ((push->fate == REFUSED || push->fate == NOT_BEGUN) && push->seen > 0)
            return "a refused value is there";
    }
    for (uint32_t i = 0; i < ALL; i++)
        for (uint32_t j = 0; j < ALL; j++) {
            const struct push *early = &ledger->pushes[i];
            const struct push *late = &ledger->pushes[j];
            if (early->fate == PUSHED && early->seen > 0 && late->seen > 0 &&
                early->ended_ns < late->began_ns && early->place > late->place &&
                !ledger->may_lose)
                return "a value stands before one that was acknowledged before it began";
        }
    return NULL;
}

/* A reader while others push: the values that were shown stay, and more follow them. */
struct following {
    struct ledger *ledger;
    mcds_list *list;
    uint32_t left;
    uint32_t shown[ALL]; /* by the last fetch, */
    uint32_t shown_count;
    uint32_t fresh[ALL]; /* and by the one under way */
    uint32_t fresh_count;
    uint64_t fetches;
};

static bool take_down(void *context, mcds_bytes value)
{
    struct following *following = context;
    uint32_t number = lengths_number_of(&following->ledger->lengths, value);
    if (number >= ALL || following->fresh_count == ALL)
        return false;
    following->fresh[following->fresh_count++] = number;
    return true;
}

static void compare(struct following *following)
{
    struct ledger *ledger = following->ledger;
    uint32_t count = following->shown_count;
    following->fetches++;
    if (following->fresh_count < count ||
        memcmp(following->fresh, following->shown, count * sizeof following->shown[0]) != 0)
        (void)snprintf(ledger->wrong, sizeof ledger->wrong,
                       "what a fetch has shown is not where it was");
    memcpy(following->shown, following->fresh, sizeof following->shown);
    following->shown_count = following->fresh_count;
}

static void follow(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct following *following = context;
    if (done != NULL && done->tag == 1 && done->result == MCDS_OK)
        compare(following);
    if (done == NULL || done->tag == 1) {
        assert_int_equal(mcds_sim_client_sleep(client, 1000000, 2), MCDS_OK);
        return;
    }
    if (following->left-- == 0)
        return;
    following->fresh_count = 0;
    assert_int_equal(mcds_list_scan_start(following->list, 0, 0, take_down, following,
                                          mcds_sim_client_pipeline(client), 1),
                     MCDS_OK);
}

static bool run(mcds_sim_options options, bool may_lose, bool clears, struct ledger *totals)
{
    static struct ledger ledger;
    struct pushing pushings[CLIENTS_MAX];
    static struct following following;
    mcds_sim *sim;
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    memset(&following, 0, sizeof following);
    following.ledger = &ledger;
    following.left = may_lose || clears ? 0 : play_calls(FETCHES);
    ledger.may_lose = may_lose;
    ledger.clears = clears;
    play_lengths(&ledger.lengths, options.seed, ALL, 0, LENGTH, LONG);
    if (options.seed % 2 == 0)
        lengths_fill_up(&ledger.lengths, FILLS);
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    ledger.sim = sim;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        pushings[i] = (struct pushing){.ledger = &ledger, .first = i * PUSHES};
        assert_int_equal(mcds_sim_client_add(sim, program, &pushings[i], &client), MCDS_OK);
        assert_int_equal(
            mcds_list_open(mcds_sim_client_store(client), "jobs", NULL, &pushings[i].list),
            MCDS_OK);
    }
    assert_int_equal(mcds_sim_client_add(sim, follow, &following, &client), MCDS_OK);
    assert_int_equal(
        mcds_list_open(mcds_sim_client_store(client), "jobs", NULL, &following.list), MCDS_OK);
    bool fine = mcds_sim_run(sim, 200000) == MCDS_OK;
    mcds_sim_calm(sim);
    int result = mcds_list_scan(pushings[0].list, 0, 0, see, &ledger);
    ledger.is_lost = result == MCDS_LOST;
    totals->losses += ledger.is_lost;
    const char *wrong = judge(&ledger);
    if (result == MCDS_CORRUPT || (result != MCDS_OK && !may_lose && ledger.pushed > 0))
        wrong = "the fetch fails";
    if (!fine || wrong != NULL)
        fine = report_lengths(sim, options.seed, wrong != NULL ? wrong : "it does not end",
                              &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_list_close(pushings[i].list);
    mcds_list_close(following.list);
    play_close(sim);
    totals->pushed += ledger.pushed;
    totals->doubts += ledger.doubts;
    totals->cleared += ledger.cleared;
    return fine;
}

/* A look for the end of a list is a batch of many requests: fewer faults for each. */
static mcds_sim_options fewer(mcds_sim_options options)
{
    options = fewer_faults(options);
    options.evict_ppm /= 8;
    options.flush_ppm /= 8;
    options.restart_ppm /= 8;
    return options;
}

static void run_many(bool may_lose, bool clears, uint64_t usual)
{
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, usual) {
        mcds_sim_options options = may_lose ? all_faults(seed) : network_faults(seed);
        assert_true(run(fewer(options), may_lose, clears, &totals));
    }
    SEEN(totals.pushed > 0 && totals.doubts > 0);
    SEEN(!clears || totals.cleared > 0);
    print_message("pushed %llu, ambiguous %llu, cleared %llu, losses told %llu\n",
                  (unsigned long long)totals.pushed, (unsigned long long)totals.doubts,
                  (unsigned long long)totals.cleared, (unsigned long long)totals.losses);
}

static void each_push_counts_once_and_in_order(void **state)
{
    (void)state;
    run_many(false, false, 1500);
}

static void nothing_comes_twice_in_silence(void **state)
{
    (void)state;
    run_many(true, false, 700);
}

static void a_clear_parts_before_from_after(void **state)
{
    (void)state;
    run_many(false, true, 1000);
}

/* A loss is reported as LOST. No call reports CORRUPT. */
static void a_clear_and_losses(void **state)
{
    (void)state;
    run_many(true, true, 1000);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_push_counts_once_and_in_order),
    cmocka_unit_test(a_clear_parts_before_from_after),
    cmocka_unit_test(nothing_comes_twice_in_silence),
    cmocka_unit_test(a_clear_and_losses),
};

PLAY_MAIN("list")
