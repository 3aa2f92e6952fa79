/* Once in the simulated world: callers begin, renew, finish, abandon, forget and die, with lost replies,
 * late requests, pauses, and a server that forgets.
 *
 *   G-ONCE-1  no second caller runs while a claim lives; strict: none runs after one has begun
 *   G-ONCE-2  every caller gets the same result
 *   G-ONCE-3  a caller that finishes OK was alone since its begin; no caller gets a result whose
 *             finish was LOST
 *   G-ONCE-4  no claim ends later than run_ms from now */
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
#include "support/dice.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CALLS 24
#define BEGINS_MAX ((size_t)CLIENTS_MAX * CALLS)
#define KEYS 3
#define RUN_MS 3000

enum { STAYS, ABANDONED, FORGOTTEN }; /* what may happen to a key, besides a result */
static const char *const names[KEYS] = {"stays", "abandoned", "forgotten"};

enum verb { NOTHING, BEGIN, RENEW, FINISH, ABANDON, FORGET };

/* A begin that has returned a claim; times are steps of all callers together. */
struct begun {
    uint32_t key, client;
    uint64_t start, end;
    int64_t until_ms; /* the store keeps the claim at least so long */
    bool is_over;     /* its caller has begun to end it */
};

struct ledger {
    mcds_sim *sim;
    bool loses, strict;
    uint64_t step;
    struct begun begun[BEGINS_MAX];
    uint32_t count;
    int32_t handed[KEYS]; /* the code of the result; 0: none was seen */
    uint64_t handed_at[KEYS];
    int32_t next_code;
    bool is_seen[BEGINS_MAX + 1];   /* for each code: a caller has got this result */
    bool is_denied[BEGINS_MAX + 1]; /* its finish was LOST */
    uint64_t finished, replayed, lost, doubts, busy, deaths;
    const char *wrong;
};

struct caller {
    struct ledger *ledger;
    mcds_once *once;
    uint32_t number;
    uint64_t random;
    uint32_t left;
    enum verb verb;
    uint32_t key;
    uint64_t start;
    mcds_once_run run;
    struct begun *own;
    mcds_value value;
    int32_t code;
};

static int64_t client_ms(mcds_sim_client *client)
{
    return mcds__wall_ms(mcds__store_env(mcds_sim_client_store(client)));
}

static void open_caller(struct caller *caller, mcds_store *store)
{
    mcds_once_options options = MCDS_ONCE_OPTIONS_INIT;
    options.run_ms = RUN_MS;
    options.keep_ms = UINT64_C(86400000);
    options.flags = caller->ledger->strict ? MCDS_ONCE_STRICT : 0;
    assert_int_equal(mcds_once_open(store, "o", &options, &caller->once), MCDS_OK);
}

/* A result was stored or handed out. */
static void book_result(struct caller *caller, int32_t code)
{
    struct ledger *ledger = caller->ledger;
    if (caller->key == FORGOTTEN || ledger->loses)
        return;
    if (ledger->handed[caller->key] != 0 && ledger->handed[caller->key] != code)
        ledger->wrong = "two results were handed out";
    if (ledger->handed[caller->key] == 0)
        ledger->handed_at[caller->key] = ledger->step;
    ledger->handed[caller->key] = code;
}

/* A result that was said not to be stored is never handed out. */
static void book_denial(struct ledger *ledger, int32_t code)
{
    if (ledger->is_seen[code] && ledger->is_denied[code])
        ledger->wrong = "a result was handed out whose finish was LOST";
}

/* No caller may get a claim while another's lives. */
static void book_claim(struct caller *caller, mcds_sim_client *client)
{
    struct ledger *ledger = caller->ledger;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct begun *other = &ledger->begun[i];
        if (other->key != caller->key || caller->start < other->end || ledger->loses ||
            caller->key == FORGOTTEN)
            continue;
        if (!other->is_over && client_ms(client) < other->until_ms)
            ledger->wrong = "two callers run at once";
        if (ledger->strict && caller->key == STAYS)
            ledger->wrong = "strict work was begun twice";
    }
    if (ledger->handed[caller->key] != 0 && caller->start > ledger->handed_at[caller->key])
        ledger->wrong = "work that was done runs again";
    caller->own = &ledger->begun[ledger->count++];
    *caller->own = (struct begun){caller->key,  caller->number,       caller->start,
                                  ledger->step, caller->run.until_ms, false};
}

static void book_begin(struct caller *caller, mcds_sim_client *client, int result)
{
    struct ledger *ledger = caller->ledger;
    if (result == MCDS_OK && caller->run.mine) {
        book_claim(caller, client);
    } else if (result == MCDS_OK) {
        ledger->replayed++;
        book_result(caller, caller->code);
        ledger->is_seen[caller->code] = true;
        book_denial(ledger, caller->code);
    } else if (result == MCDS_BUSY) {
        ledger->busy++;
        if (caller->run.until_ms > client_ms(client) + RUN_MS)
            ledger->wrong = "a claim blocks for longer than run_ms";
    } else if (result == MCDS_LOST && !ledger->strict) {
        ledger->wrong = "a claim that is not strict has vanished";
    }
}

/* Whether another caller has begun between the begin and the finish of this one. */
static bool was_alone(const struct caller *caller)
{
    const struct ledger *ledger = caller->ledger;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct begun *other = &ledger->begun[i];
        if (other != caller->own && other->key == caller->key &&
            other->start > caller->own->end && other->end < caller->start)
            return false;
    }
    return true;
}

static void book_end(struct caller *caller, int result)
{
    struct ledger *ledger = caller->ledger;
    if (caller->verb == FINISH && result == MCDS_OK) {
        ledger->finished++;
        if (!was_alone(caller))
            ledger->wrong = "a caller that finished was not alone";
        book_result(caller, caller->code);
    }
    if (caller->verb == FINISH && result == MCDS_LOST) {
        ledger->is_denied[caller->code] = true;
        book_denial(ledger, caller->code);
    }
    if (caller->verb == RENEW && result == MCDS_OK)
        caller->own->until_ms = caller->run.until_ms;
    ledger->lost += result == MCDS_LOST;
}

static void book(struct caller *caller, mcds_sim_client *client, int result)
{
    switch (result) {
    case MCDS_AMBIGUOUS:
        caller->ledger->doubts++;
        break;
    case MCDS_OK:
    case MCDS_NOT_FOUND:
    case MCDS_BUSY:
    case MCDS_LOST:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
    if (caller->verb == BEGIN)
        book_begin(caller, client, result);
    else if (caller->verb != FORGET)
        book_end(caller, result);
}

/* What a caller with a claim does next: a finish in doubt is asked again. */
static enum verb draw_verb(struct caller *caller)
{
    uint64_t dice = dice_roll(&caller->random, 10);
    if (caller->verb == FINISH && caller->run.mine)
        return FINISH;
    if (!caller->run.mine)
        return dice == 0 && !caller->run.doubt ? FORGET : BEGIN;
    if (dice < 3)
        return RENEW;
    return dice < 5 && caller->key == ABANDONED ? ABANDON : FINISH;
}

static int start(struct caller *caller, mcds_pipeline *pipeline)
{
    mcds_bytes key = mcds_text(names[caller->key]);
    switch (caller->verb) {
    case BEGIN:
        return mcds_once_begin_start(caller->once, key, (mcds_bytes){NULL, 0},
                                     (uint32_t)dice_roll(&caller->random, 2) * 2000,
                                     &caller->run, &caller->value, &caller->code, pipeline, 1);
    case RENEW:
        return mcds_once_renew_start(caller->once, &caller->run, pipeline, 1);
    case FINISH:
        return mcds_once_finish_start(caller->once, &caller->run, caller->code,
                                      mcds_text("result"), pipeline, 1);
    case ABANDON:
        return mcds_once_abandon_start(caller->once, &caller->run, pipeline, 1);
    default:
        return mcds_once_forget_start(caller->once, mcds_text(names[FORGOTTEN]), pipeline, 1);
    }
}

static void begin_call(struct caller *caller, mcds_sim_client *client)
{
    if (dice_roll(&caller->random, 12) == 0) { /* the process dies, and is started again */
        caller->ledger->deaths += caller->run.mine;
        caller->run = (mcds_once_run)MCDS_ONCE_RUN_INIT;
        caller->verb = NOTHING;
        mcds_once_close(caller->once);
        open_caller(caller, mcds_sim_client_store(client));
    }
    enum verb last = caller->verb;
    caller->verb = draw_verb(caller);
    if (caller->verb == BEGIN && !caller->run.doubt)
        caller->key = (uint32_t)dice_roll(&caller->random, KEYS);
    if (caller->verb == FINISH && last != FINISH)
        caller->code = ++caller->ledger->next_code;
    if (caller->verb == FINISH || caller->verb == ABANDON)
        caller->own->is_over = true;
    caller->start = ++caller->ledger->step;
    assert_int_equal(start(caller, mcds_sim_client_pipeline(client)), MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct caller *caller = context;
    caller->ledger->step++;
    if (done != NULL && done->tag == 1) {
        book(caller, client, done->result);
        int64_t pause_ms = dice_roll(&caller->random, 3) == 0
                               ? (int64_t)dice_roll(&caller->random, 2 * RUN_MS)
                               : (int64_t)dice_roll(&caller->random, 300);
        assert_int_equal(mcds_sim_client_sleep(client, pause_ms * NS_PER_MS, 2), MCDS_OK);
        return;
    }
    if (caller->left-- > 0)
        begin_call(caller, client);
}

static bool run(mcds_sim_options options, bool loses, bool strict, struct ledger *totals,
                mcds_sim_counts *counts)
{
    static struct ledger ledger;
    struct caller callers[CLIENTS_MAX];
    mcds_sim_client *client;
    ledger = (struct ledger){.loses = loses, .strict = strict};
    assert_int_equal(play_open(&options, &ledger.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        callers[i] = (struct caller){.ledger = &ledger,
                                     .number = i,
                                     .left = play_calls(CALLS),
                                     .random = options.seed * CLIENTS_MAX + i,
                                     .run = MCDS_ONCE_RUN_INIT,
                                     .value = MCDS_VALUE_INIT};
        assert_int_equal(mcds_sim_client_add(ledger.sim, program, &callers[i], &client),
                         MCDS_OK);
        open_caller(&callers[i], mcds_sim_client_store(client));
    }
    bool fine = play_to_end(ledger.sim, options.seed, &ledger.wrong, counts);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        mcds_value_free(&callers[i].value);
        mcds_once_close(callers[i].once);
    }
    play_close(ledger.sim);
    totals->finished += ledger.finished;
    totals->replayed += ledger.replayed;
    totals->lost += ledger.lost;
    totals->doubts += ledger.doubts;
    totals->busy += ledger.busy;
    totals->deaths += ledger.deaths;
    return fine;
}

static void play_once(mcds_sim_options (*faults)(uint64_t seed), bool loses, bool strict)
{
    static struct ledger totals;
    uint64_t losses = 0;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, 2000) {
        mcds_sim_options options = faults(seed);
        mcds_sim_counts counts = MCDS_SIM_COUNTS_INIT;
        options.skew_ms_max = 0; /* so that the ledger can compare the times of claims */
        options.late_ms_max = 10000;
        options.pause_ms_max = 10000;
        assert_true(run(options, loses, strict, &totals, &counts));
        losses += counts.evicted + counts.flushed + counts.restarted;
    }
    SEEN(totals.finished > 0 && totals.replayed > 0 && totals.lost > 0 && totals.busy > 0);
    SEEN(totals.deaths > 0 && totals.doubts > 0);
    SEEN(!loses || losses > 0);
    print_message("%llu finished, %llu replayed, %llu lost, %llu in doubt, %llu losses\n",
                  (unsigned long long)totals.finished, (unsigned long long)totals.replayed,
                  (unsigned long long)totals.lost, (unsigned long long)totals.doubts,
                  (unsigned long long)losses);
}

static void work_is_done_once(void **state)
{
    (void)state;
    play_once(network_faults, false, false);
}

static void strict_work_is_begun_once(void **state)
{
    (void)state;
    play_once(network_faults, false, true);
}

static void a_finish_was_alone_over_losses(void **state)
{
    (void)state;
    play_once(all_faults, true, false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(work_is_done_once),
    cmocka_unit_test(strict_work_is_begun_once),
    cmocka_unit_test(a_finish_was_alone_over_losses),
};

PLAY_MAIN("once")
