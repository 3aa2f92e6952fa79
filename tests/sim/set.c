/* Sets of every form in the simulated world, in keys that split: what was acknowledged is there
 * once, what was removed is not, and a list keeps the order of each of its writers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/loss.h"
#include "sim/play.h"
#include "structures/keyed.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CHANGES 24
#define ELEMENTS (CLIENTS_MAX * CHANGES)
#define LENGTH 1024 /* a few dozen elements make a key split */
#define FETCHES 8
#define REST_NS 3000000
#define TAG_RESTED 2
/* Of the elements of one client, each such is removed once it is in. */
#define REMOVE_EVERY 3

enum fate { NOT_BEGUN, UNDER_WAY, DONE, DOUBTFUL, REFUSED };

struct element {
    enum fate added;
    enum fate removed;
    uint64_t added_in; /* the life of the set, where it was acknowledged */
    uint64_t removed_in;
    uint64_t seen;
    uint32_t place;
};

struct ledger {
    struct element elements[ELEMENTS];
    struct lengths lengths;
    mcds_set_form form;
    bool may_lose;
    bool is_foreign;
    uint32_t places;
    uint64_t done;
    uint64_t doubts;
    uint64_t lost;
    uint64_t fetches;
    uint64_t life;   /* that was fetched at the end */
    bool is_told;    /* that fetch is LOST */
    uint64_t gone;   /* acknowledged in that life, and not there */
    char wrong[200]; /* a result that cannot be */
};

struct changer {
    struct ledger *ledger;
    mcds_set *set;
    uint32_t first;
    uint32_t next;
    bool removes; /* the call under way does */
    bool asks;    /* the same, whether it has changed something */
    bool changed;
};

static mcds_bytes element_of(const struct ledger *ledger, uint32_t number)
{
    static uint8_t bytes[LENGTH];
    return lengths_fill(bytes, ledger->lengths.of[number], number);
}

/* The life of the set that this handle has used last. */
static uint64_t life_of(mcds_set *set)
{
    return mcds__map_life(&((struct mcds__keyed *)set)->map).number;
}

static enum fate fate_of(struct ledger *ledger, int result)
{
    switch (result) {
    case MCDS_OK:
        ledger->done++;
        return DONE;
    case MCDS_AMBIGUOUS:
        ledger->doubts++;
        return DOUBTFUL;
    case MCDS_LOST:
        ledger->lost++;
        return REFUSED;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        return REFUSED;
    default:
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
        return DOUBTFUL;
    }
}

static void book(struct changer *changer, int result)
{
    struct ledger *ledger = changer->ledger;
    struct element *element = &ledger->elements[changer->first + changer->next - 1];
    enum fate fate = fate_of(ledger, result);
    *(changer->removes ? &element->removed : &element->added) = fate;
    *(changer->removes ? &element->removed_in : &element->added_in) = life_of(changer->set);
    /* Nobody else adds or removes it. */
    if (fate == DONE && changer->asks && !changer->changed && !ledger->may_lose)
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%s %u has changed nothing",
                       changer->removes ? "remove" : "add",
                       (unsigned)(changer->first + changer->next - 1));
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct changer *changer = context;
    struct ledger *ledger = changer->ledger;
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (done != NULL)
        book(changer, done->result);
    bool was_added = done != NULL && !changer->removes && done->result == MCDS_OK;
    changer->removes = was_added && changer->next % REMOVE_EVERY == 0;
    if (!changer->removes && changer->next == play_calls(CHANGES))
        return;
    if (!changer->removes)
        changer->next++;
    uint32_t number = changer->first + changer->next - 1;
    struct element *element = &ledger->elements[number];
    *(changer->removes ? &element->removed : &element->added) = UNDER_WAY;
    mcds_bytes bytes = element_of(ledger, number);
    changer->asks = number % 3 == 0;
    bool *changed = changer->asks ? &changer->changed : NULL;
    assert_int_equal(changer->removes
                         ? mcds_set_remove_start(changer->set, bytes, changed, pipeline, 0)
                         : mcds_set_add_start(changer->set, bytes, changed, pipeline, 0),
                     MCDS_OK);
}

static bool see(void *context, mcds_bytes element, uint64_t count)
{
    struct ledger *ledger = context;
    uint32_t number = lengths_number_of(&ledger->lengths, element);
    if (number >= ELEMENTS) {
        ledger->is_foreign = true;
        return false;
    }
    ledger->elements[number].seen += count;
    ledger->elements[number].place = ledger->places++;
    return true;
}

/* A client that scans meanwhile. */
struct fetcher {
    struct ledger *ledger;
    mcds_set *set;
    uint32_t left;
    bool was_in[ELEMENTS];   /* when the fetch began: for certain, */
    bool was_gone[ELEMENTS]; /* or no more */
    uint64_t seen[ELEMENTS];
};

static bool see_meanwhile(void *context, mcds_bytes element, uint64_t count)
{
    struct fetcher *fetcher = context;
    uint32_t number = lengths_number_of(&fetcher->ledger->lengths, element);
    if (number < ELEMENTS)
        fetcher->seen[number] += count;
    return true;
}

/* What was in from begin to end has been seen once, and what was never in has not. */
static void judge_fetch(struct fetcher *fetcher)
{
    struct ledger *ledger = fetcher->ledger;
    ledger->fetches++;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const struct element *element = &ledger->elements[i];
        const char *what = NULL;
        if (fetcher->was_in[i] && element->removed == NOT_BEGUN && fetcher->seen[i] != 1)
            what = "a fetch misses what is in, or sees it twice";
        if (fetcher->seen[i] > 0 && (element->added == NOT_BEGUN || fetcher->was_gone[i]))
            what = "a fetch sees what is not in";
        if (what != NULL)
            (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%s: %u", what, (unsigned)i);
    }
}

static void fetch_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct fetcher *fetcher = context;
    if (done != NULL && done->tag != TAG_RESTED && done->result == MCDS_OK)
        judge_fetch(fetcher);
    if (fetcher->left == 0)
        return;
    if (done == NULL || done->tag != TAG_RESTED) {
        assert_int_equal(mcds_sim_client_sleep(client, REST_NS, TAG_RESTED), MCDS_OK);
        return;
    }
    fetcher->left--;
    memset(fetcher->seen, 0, sizeof fetcher->seen);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const struct element *element = &fetcher->ledger->elements[i];
        fetcher->was_in[i] = element->added == DONE && element->removed == NOT_BEGUN;
        fetcher->was_gone[i] = element->removed == DONE;
    }
    assert_int_equal(mcds_set_scan_start(fetcher->set, see_meanwhile, fetcher,
                                         mcds_sim_client_pipeline(client), 1),
                     MCDS_OK);
}

/* A list has the elements of one client in the order in which they were added. */
static bool is_ordered(const struct ledger *ledger)
{
    const struct element *before = NULL;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const struct element *element = &ledger->elements[i];
        if (i % CHANGES == 0)
            before = NULL;
        if (element->seen == 0)
            continue;
        if (before != NULL && before->place > element->place)
            return false;
        before = element;
    }
    return true;
}

/* Within one life of the set, what is missing is told of. Nothing comes out of an earlier life. */
static const char *judge_life(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const struct element *element = &ledger->elements[i];
        bool was_added = element->added == DONE && element->added_in == ledger->life;
        bool was_removed = element->removed == DONE && element->removed_in == ledger->life;
        if (element->seen > 0 && was_removed)
            return "a removed element is there";
        if (element->seen > 0 && element->added == DONE && !was_added)
            return "an element of an earlier life is there";
        if (element->seen > 0 || !was_added || was_removed ||
            (element->removed != NOT_BEGUN && element->removed != REFUSED))
            continue;
        ledger->gone++;
        if (!ledger->is_told)
            return "an acknowledged element is missing, and the fetch is not LOST";
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *judge(struct ledger *ledger)
{
    if (ledger->wrong[0] != '\0')
        return ledger->wrong;
    if (ledger->is_foreign)
        return "an element that nobody added";
    if (ledger->lost > 0 && !ledger->may_lose)
        return "LOST, and nothing was";
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const struct element *element = &ledger->elements[i];
        if (element->seen > 1)
            return "an element twice";
        if (element->seen > 0 && (element->added == REFUSED || element->added == NOT_BEGUN))
            return "a refused element is there";
        if (element->seen > 0 && element->removed == DONE && !ledger->may_lose)
            return "a removed element is there";
        if (element->seen == 0 && element->added == DONE && !ledger->may_lose &&
            (element->removed == NOT_BEGUN || element->removed == REFUSED))
            return "an acknowledged element is missing";
    }
    if (ledger->form == MCDS_SET_LIST && !ledger->may_lose && !is_ordered(ledger))
        return "the order of one client's additions is lost";
    return ledger->life != 0 ? judge_life(ledger) : NULL;
}

/* A handle of an earlier life learns of the loss first, and then sees what there is now. */
static int fetch_at_the_end(mcds_set *set, struct ledger *ledger)
{
    uint64_t before = life_of(set);
    int result = mcds_set_scan(set, see, ledger);
    if (result == MCDS_LOST && life_of(set) != before) {
        for (uint32_t i = 0; i < ELEMENTS; i++)
            ledger->elements[i].seen = 0;
        result = mcds_set_scan(set, see, ledger);
    }
    ledger->life = life_of(set);
    ledger->is_told = result == MCDS_LOST;
    return result;
}

static bool run(mcds_sim_options options, bool may_lose, struct ledger *totals)
{
    static struct ledger ledger;
    static struct fetcher fetcher;
    struct changer changers[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_set_options set_options = MCDS_SET_OPTIONS_INIT;
    memset(&ledger, 0, sizeof ledger);
    ledger.may_lose = may_lose;
    play_lengths(&ledger.lengths, options.seed, ELEMENTS, 1, LENGTH, LENGTH);
    ledger.form = set_options.form = (mcds_set_form)(options.seed % 3);
    if (ledger.form == MCDS_SET_LIST)
        options.skew_ms_max = 0; /* else the order across keys is that of the clocks */
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    struct map_loser loser = {
        .sim = sim, .root = "mcds:s2:seen", .random = options.seed, .restarts = true};
    for (uint32_t i = 0; i < CLIENTS; i++) {
        changers[i] = (struct changer){.ledger = &ledger, .first = i * CHANGES};
        assert_int_equal(mcds_sim_client_add(sim, program, &changers[i], &client), MCDS_OK);
        if (may_lose)
            map_loser_begin(&loser, client);
        assert_int_equal(mcds_set_open(mcds_sim_client_store(client), "seen", &set_options,
                                       &changers[i].set),
                         MCDS_OK);
    }
    fetcher = (struct fetcher){.ledger = &ledger, .left = may_lose ? 0 : play_calls(FETCHES)};
    assert_int_equal(mcds_sim_client_add(sim, fetch_on, &fetcher, &client), MCDS_OK);
    assert_int_equal(
        mcds_set_open(mcds_sim_client_store(client), "seen", &set_options, &fetcher.set),
        MCDS_OK);
    bool fine = mcds_sim_run(sim, 400000) == MCDS_OK;
    mcds_sim_calm(sim);
    loser.is_over = true;
    int result = fetch_at_the_end(changers[0].set, &ledger);
    const char *wrong = fine ? judge(&ledger) : "it does not end";
    if (result == MCDS_CORRUPT || (result < 0 && !may_lose && ledger.done > 0))
        wrong = "the fetch fails";
    if (wrong != NULL)
        fine = report_lengths(sim, options.seed, wrong, &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_set_close(changers[i].set);
    mcds_set_close(fetcher.set);
    play_close(sim);
    totals->done += ledger.done;
    totals->doubts += ledger.doubts;
    totals->lost += ledger.lost;
    totals->fetches += ledger.fetches;
    totals->gone += ledger.gone;
    return fine;
}

static void each_element_is_there_once(void **state)
{
    (void)state;
    static struct ledger totals;
    PLAY (seed, 800)
        assert_true(run(network_faults(seed), false, &totals));
    SEEN(totals.done > 0 && totals.doubts > 0 && totals.fetches > 0);
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    static struct ledger totals;
    PLAY (seed, 400)
        assert_true(run(network_faults(seed), true, &totals));
    SEEN(totals.done > 0 && totals.lost > 0 && totals.gone > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_element_is_there_once),
    cmocka_unit_test(what_is_missing_is_told),
};

PLAY_MAIN("set")
