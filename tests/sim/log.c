/* Logs in the simulated world: a fetch and a follower see every acknowledged event once,
 * however late it arrives and whatever is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "sim/events.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS play_clients(EVENTS_CLIENTS)
#define LONG 1100000

enum tag { TAG_PUT, TAG_RESTED };

struct event {
    enum fate fate;
    uint32_t fetched;
    uint32_t followed;
};

struct ledger {
    struct event events[EVENTS_ALL];
    struct lengths lengths;
    mcds_sim *sim;
    bool may_lose;
    bool is_foreign;
    uint64_t put;
    uint64_t doubts;
    uint64_t gaps;
    uint64_t tail_gaps; /* of them, those that a tail has reported */
    char wrong[200];    /* a result that cannot be */
};

struct writer {
    struct ledger *ledger;
    mcds_log *log;
    uint32_t first;
    uint32_t next;
    uint64_t random;
    uint8_t text[LONG];
};

struct follower {
    struct ledger *ledger;
    mcds_log *log;
    mcds_log_cursor cursor;
    mcds_log_info info;
    uint32_t left;
};

static void book(struct ledger *ledger, struct event *event, int result)
{
    event->fate = result == MCDS_LOST && ledger->may_lose ? DOUBTFUL : events_fate(result);
    ledger->put += event->fate == PUT;
    ledger->doubts += result == MCDS_AMBIGUOUS;
    if (event->fate == IMPOSSIBLE)
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
}

static void put(struct writer *writer, mcds_sim_client *client)
{
    uint32_t number = writer->first + writer->next++;
    int64_t when_ms = events_time(client, number);
    writer->ledger->events[number].fate = UNDER_WAY;
    mcds_bytes event = lengths_fill(writer->text, writer->ledger->lengths.of[number], number);
    assert_int_equal(mcds_log_put_start(writer->log, when_ms, event,
                                        mcds_sim_client_pipeline(client), TAG_PUT),
                     MCDS_OK);
}

static void write_events(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct writer *writer = context;
    if (done != NULL && done->tag == TAG_PUT)
        book(writer->ledger, &writer->ledger->events[writer->first + writer->next - 1],
             done->result);
    if (writer->next == play_calls(EVENTS_PUTS))
        return;
    if (done == NULL || done->tag == TAG_RESTED || dice_roll(&writer->random, 2) == 0) {
        put(writer, client);
        return;
    }
    int64_t rest_ns = (int64_t)(1 + dice_roll(&writer->random, EVENTS_REST_MS)) * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_RESTED), MCDS_OK);
}

static struct event *event_of(struct ledger *ledger, const mcds_log_event *event)
{
    uint32_t number = lengths_number_of(&ledger->lengths, event->event);
    ledger->is_foreign = ledger->is_foreign || number >= EVENTS_ALL;
    return number < EVENTS_ALL ? &ledger->events[number] : NULL;
}

static bool see_fetched(void *context, const mcds_log_event *event)
{
    struct event *seen = event_of(context, event);
    if (seen != NULL)
        seen->fetched++;
    return seen != NULL;
}

static bool see_followed(void *context, const mcds_log_event *event)
{
    struct event *seen = event_of(context, event);
    if (seen != NULL)
        seen->followed++;
    return seen != NULL;
}

static void follow(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct follower *follower = context;
    if (done == NULL || done->tag == TAG_PUT) {
        assert_int_equal(
            mcds_sim_client_sleep(client, EVENTS_REST_MS * NS_PER_MS / 2, TAG_RESTED), MCDS_OK);
        return;
    }
    if (follower->left == 0)
        return;
    follower->left--;
    assert_int_equal(mcds_log_tail_start(follower->log, &follower->cursor, see_followed,
                                         follower->ledger, &follower->info,
                                         mcds_sim_client_pipeline(client), TAG_PUT),
                     MCDS_OK);
}

/* NULL, or what is wrong. */
static const char *judge(const struct ledger *ledger)
{
    if (ledger->wrong[0] != '\0')
        return ledger->wrong;
    if (ledger->is_foreign)
        return "an event that nobody put";
    for (uint32_t i = 0; i < EVENTS_ALL; i++) {
        const struct event *event = &ledger->events[i];
        if (event->fetched > 1)
            return "an event twice";
        /* Put, seen, lost with its part, and put again by a writer whose reply was lost. */
        if (event->followed > 1 && !(ledger->may_lose && ledger->tail_gaps > 0))
            return "an event twice, for who follows, and no gap told";
        if ((event->fate == REFUSED || event->fate == NOT_BEGUN) &&
            event->fetched + event->followed > 0)
            return "a refused event is there";
        if (event->fate != PUT || ledger->may_lose)
            continue;
        if (event->fetched == 0)
            return "an acknowledged event is missing";
        if (event->followed == 0)
            return "an acknowledged event is missing, for who follows";
    }
    return ledger->gaps > 0 && !ledger->may_lose ? "a gap, and nothing is missing" : NULL;
}

static const char *look_at_the_end(struct ledger *ledger, struct follower *follower)
{
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int tailed = mcds_log_tail(follower->log, &follower->cursor, see_followed, ledger,
                               &follower->info);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.first_ms = EVENTS_START_MS - EVENTS_BEFORE_MS;
    int fetched = mcds_log_scan(follower->log, &range, see_fetched, ledger, &info);
    ledger->tail_gaps = follower->info.gaps;
    ledger->gaps = info.gaps + ledger->tail_gaps;
    bool may_be_none = ledger->may_lose || ledger->put == 0;
    if (info.corrupt + follower->info.corrupt > 0)
        return "bytes that nobody wrote";
    if (tailed != MCDS_OK && !(may_be_none && tailed == MCDS_NOT_FOUND))
        return "the last tail fails";
    if (fetched != MCDS_OK && !(may_be_none && fetched == MCDS_NOT_FOUND))
        return "the fetch fails";
    return judge(ledger);
}

static bool run(mcds_sim_options options, bool may_lose, struct ledger *totals)
{
    static struct ledger ledger;
    static struct writer writers[EVENTS_CLIENTS];
    static struct follower follower;
    mcds_sim_client *client;
    memset(&ledger, 0, sizeof ledger);
    ledger.may_lose = may_lose;
    play_lengths(&ledger.lengths, options.seed, EVENTS_ALL, 0, EVENTS_LENGTH, LONG);
    if (options.seed % 2 == 0)
        lengths_fill_up(&ledger.lengths, EVENTS_FILLS);
    assert_int_equal(play_open(&options, &ledger.sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct writer *writer = &writers[i];
        writer->ledger = &ledger;
        writer->first = i * EVENTS_PUTS;
        writer->next = 0;
        writer->random = options.seed * EVENTS_CLIENTS + i;
        assert_int_equal(mcds_sim_client_add(ledger.sim, write_events, &writers[i], &client),
                         MCDS_OK);
        writers[i].log = events_open(client);
    }
    follower = (struct follower){.ledger = &ledger, .left = play_calls(EVENTS_TAILS)};
    follower.cursor.from_ms = EVENTS_START_MS - EVENTS_BEFORE_MS;
    assert_int_equal(mcds_sim_client_add(ledger.sim, follow, &follower, &client), MCDS_OK);
    follower.log = events_open(client);
    bool fine = mcds_sim_run(ledger.sim, 200000) == MCDS_OK;
    mcds_sim_calm(ledger.sim);
    const char *wrong = fine ? look_at_the_end(&ledger, &follower) : "it does not end";
    if (wrong != NULL)
        fine = report_lengths(ledger.sim, options.seed, wrong, &ledger.lengths);
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_log_close(writers[i].log);
    mcds_log_close(follower.log);
    play_close(ledger.sim);
    totals->put += ledger.put;
    totals->doubts += ledger.doubts;
    totals->gaps += ledger.gaps;
    return fine;
}

static void each_event_is_there_once(void **state)
{
    (void)state;
    static struct ledger totals;
    PLAY (seed, 600)
        assert_true(run(network_faults(seed), false, &totals));
    SEEN(totals.put > 0 && totals.doubts > 0);
}

static void nothing_comes_twice_after_a_loss(void **state)
{
    (void)state;
    static struct ledger totals;
    PLAY (seed, 400)
        assert_true(run(all_faults(seed), true, &totals));
    SEEN(totals.put > 0 && totals.gaps > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_event_is_there_once),
    cmocka_unit_test(nothing_comes_twice_after_a_loss),
};

PLAY_MAIN("log")
