/* Logs in the simulated world, where a server loses single keys or a client drops the log: every
 * handle and every follower, old or new, reads what was acknowledged, or counts a gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "mcds.h"
#include "sim/events.h"
#include "sim/loss.h"
#include "sim/play.h"
#include "support/dice.h"

#define CLIENTS play_clients(EVENTS_CLIENTS)
/* Of each writer: one from the beginning, and one that is opened midway. So has a follower. */
#define HANDLES 2
#define FOLLOWERS 2
#define DROPS 2
#define DROP_REST_MS 15000
/* The clocks of two clients differ by three chunks at most, R of mcds_log_options. */
#define SKEW_MS 22000
/* Clocks that differ by 10 s, where several segments of a chunk are lost. */
#define SKEW_OF_LOSSES_MS 5000

static const struct loss_places places = {"mcds:e1:events", "mcds:ep1:events:15000:", 1};

enum tag { TAG_CALL, TAG_RESTED };

struct event {
    enum fate fate;
    int64_t began_ns;
    int64_t ended_ns;
    const mcds_log *handle;
    uint32_t scanned; /* by the scan that is judged */
    uint32_t followed[FOLLOWERS];
};

struct drop {
    int64_t began_ns;
    int64_t ended_ns; /* INT64_MAX: nobody knows when it takes effect */
};

struct ledger {
    struct event events[EVENTS_ALL];
    struct lengths lengths;
    struct drop drops[DROPS];
    uint32_t drop_count;
    struct loser loser;
    bool is_foreign;
    char wrong[200]; /* a result that cannot be */
    uint64_t put;
    uint64_t dropped;
    uint64_t gaps;
};

struct writer {
    struct ledger *ledger;
    mcds_log *logs[HANDLES];
    uint32_t first;
    uint32_t next;
    uint64_t random;
    uint8_t text[EVENTS_LENGTH];
};

struct follower {
    struct ledger *ledger;
    uint32_t number;
    mcds_log *logs[HANDLES];
    mcds_log_cursor cursor;
    mcds_log_info info;
    uint32_t tails;
    uint64_t noted;   /* gaps */
    uint32_t life;    /* that it knew before a root was lost; 0: none */
    int64_t asked_ns; /* when its last tail began, */
    int64_t knew_ns;  /* and the last one that ended before the first loss */
    int64_t told_ns;  /* when it last counted a gap */
    uint64_t random;
};

struct dropper {
    struct ledger *ledger;
    mcds_log *log;
    uint32_t wanted;
    uint64_t random;
};

/* One of the handles; the second is opened when `opens`. */
static mcds_log *choose_log(mcds_log *logs[HANDLES], bool opens, mcds_sim_client *client,
                            uint64_t *random)
{
    if (opens && logs[1] == NULL)
        logs[1] = events_open(client);
    return logs[1] != NULL ? logs[dice_roll(random, HANDLES)] : logs[0];
}

static void rest(mcds_sim_client *client, uint64_t *random, uint64_t most_ms)
{
    int64_t rest_ns = (int64_t)(1 + dice_roll(random, most_ms)) * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, rest_ns, TAG_RESTED), MCDS_OK);
}

static void book(struct ledger *ledger, struct event *event, int result)
{
    event->ended_ns = mcds_sim_now_ns(ledger->loser.sim);
    event->fate = events_fate(result);
    ledger->put += event->fate == PUT;
    if (event->fate == IMPOSSIBLE)
        (void)snprintf(ledger->wrong, sizeof ledger->wrong, "%.180s", mcds_errmsg());
}

static void put(struct writer *writer, mcds_sim_client *client)
{
    struct ledger *ledger = writer->ledger;
    uint32_t number = writer->first + writer->next++;
    struct event *event = &ledger->events[number];
    int64_t when_ms = events_time(client, number);
    mcds_log *log = choose_log(writer->logs, writer->next > EVENTS_PUTS / 2, client,
                               &writer->random);
    *event = (struct event){
        .fate = UNDER_WAY, .began_ns = mcds_sim_now_ns(ledger->loser.sim), .handle = log};
    mcds_bytes bytes = lengths_fill(writer->text, ledger->lengths.of[number], number);
    assert_int_equal(
        mcds_log_put_start(log, when_ms, bytes, mcds_sim_client_pipeline(client), TAG_CALL),
        MCDS_OK);
}

static void write_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct writer *writer = context;
    struct ledger *ledger = writer->ledger;
    if (done != NULL && done->tag == TAG_CALL)
        loss_note_call(&ledger->loser, client, done->result == MCDS_OK);
    if (done != NULL && done->tag == TAG_CALL)
        book(ledger, &ledger->events[writer->first + writer->next - 1], done->result);
    if (writer->next == play_calls(EVENTS_PUTS))
        return;
    if (done == NULL || done->tag == TAG_RESTED || dice_roll(&writer->random, 2) == 0)
        put(writer, client);
    else
        rest(client, &writer->random, EVENTS_REST_MS);
}

static struct event *event_of(struct ledger *ledger, const mcds_log_event *event)
{
    uint32_t number = lengths_number_of(&ledger->lengths, event->event);
    ledger->is_foreign = ledger->is_foreign || number >= EVENTS_ALL;
    return number < EVENTS_ALL ? &ledger->events[number] : NULL;
}

static bool see_scanned(void *context, const mcds_log_event *event)
{
    struct event *seen = event_of(context, event);
    if (seen != NULL)
        seen->scanned++;
    return seen != NULL;
}

static bool see_followed(void *context, const mcds_log_event *event)
{
    const struct follower *follower = context;
    struct event *seen = event_of(follower->ledger, event);
    if (seen != NULL)
        seen->followed[follower->number]++;
    return seen != NULL;
}

static void note_tail(struct follower *follower, const mcds_sim_client *client, int result)
{
    const struct ledger *ledger = follower->ledger;
    if (result == MCDS_OK && ledger->loser.roots == 0)
        follower->life = follower->cursor.life;
    if (result == MCDS_OK && ledger->loser.happened == 0)
        follower->knew_ns = follower->asked_ns;
    if (follower->info.gaps > follower->noted)
        follower->told_ns = mcds_sim_now_ns(ledger->loser.sim);
    if (follower->info.gaps > follower->noted)
        mcds_sim_note(ledger->loser.sim, client, "has counted %llu gaps",
                      (unsigned long long)follower->info.gaps);
    follower->noted = follower->info.gaps;
}

static void follow(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct follower *follower = context;
    if (done != NULL && done->tag == TAG_CALL)
        note_tail(follower, client, done->result);
    if (done == NULL || done->tag == TAG_CALL) {
        rest(client, &follower->random, EVENTS_REST_MS);
        return;
    }
    if (follower->tails++ == play_calls(EVENTS_TAILS))
        return;
    mcds_log *log = choose_log(follower->logs, follower->tails > EVENTS_TAILS / 4, client,
                               &follower->random);
    follower->asked_ns = mcds_sim_now_ns(follower->ledger->loser.sim);
    assert_int_equal(mcds_log_tail_start(log, &follower->cursor, see_followed, follower,
                                         &follower->info, mcds_sim_client_pipeline(client),
                                         TAG_CALL),
                     MCDS_OK);
}

static void drop_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct dropper *dropper = context;
    struct ledger *ledger = dropper->ledger;
    int64_t now_ns = mcds_sim_now_ns(ledger->loser.sim);
    if (done != NULL && done->tag == TAG_CALL) {
        ledger->dropped += done->result == MCDS_OK;
        if (done->result == MCDS_OK || done->result == MCDS_NOT_FOUND)
            ledger->drops[ledger->drop_count - 1].ended_ns = now_ns;
    }
    if (done == NULL || done->tag == TAG_CALL) {
        if (ledger->drop_count < dropper->wanted)
            rest(client, &dropper->random, DROP_REST_MS);
        return;
    }
    ledger->drops[ledger->drop_count++] = (struct drop){now_ns, INT64_MAX};
    assert_int_equal(
        mcds_log_drop_start(dropper->log, mcds_sim_client_pipeline(client), TAG_CALL), MCDS_OK);
}

static bool may_be_dropped(const struct ledger *ledger, const struct event *event)
{
    for (uint32_t i = 0; i < ledger->drop_count; i++)
        if (event->began_ns <= ledger->drops[i].ended_ns)
            return true;
    return false;
}

/* Whether a writer may have made parts before a cursor again: they and their count were lost, be it
 * at once or one after the other. */
static bool may_be_passed(const struct loser *loser)
{
    return loser->lost_count > 1 && loser->is_uncounted;
}

/* What one reader has to say of an event that it has seen so often. NULL: it is right. */
static const char *judge_event(const struct ledger *ledger, const struct event *event,
                               uint32_t seen, uint64_t gaps, bool knows)
{
    const struct loser *loser = &ledger->loser;
    if ((event->fate == REFUSED || event->fate == NOT_BEGUN) && seen > 0)
        return "a refused event is there";
    /* Put, seen, lost, and put again by a writer whose reply was lost. */
    if (seen > 1 && gaps == 0 && !may_be_dropped(ledger, event))
        return "an event twice, and no gap";
    if (event->fate != PUT || seen > 0 || may_be_dropped(ledger, event))
        return NULL;
    if (!loss_of_data(loser))
        return "an acknowledged event is missing, and none was lost";
    /* A follower counts the gap after such an event, if everything was lost. */
    if (event->began_ns > loser->last_ns &&
        (gaps == 0 || !((loser->kinds & LOSS_BIT(LOSS_BEGIN)) || may_be_passed(loser))))
        return "an event that was put after the loss is missing";
    return gaps == 0 && knows ? "an acknowledged event is missing, and no gap is counted"
                              : NULL;
}

static const char *judge_gaps(const struct ledger *ledger, uint64_t gaps)
{
    return gaps > 0 && !loss_of_data(&ledger->loser) ? "a gap, and nothing was lost" : NULL;
}

/* Whether a put by this handle has failed after the first loss: it may have found the loss, and it
 * has recorded nothing. */
static bool has_failed(const struct ledger *ledger, const mcds_log *log)
{
    for (uint32_t i = 0; i < EVENTS_ALL; i++) {
        const struct event *event = &ledger->events[i];
        if (event->handle == log && (event->fate == DOUBTFUL || event->fate == REFUSED) &&
            event->ended_ns > ledger->loser.first_ns)
            return true;
    }
    return false;
}

static const char *judge_scan(struct ledger *ledger, mcds_log *log, const char *who)
{
    const struct loser *loser = &ledger->loser;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.first_ms = EVENTS_START_MS - EVENTS_BEFORE_MS;
    for (uint32_t i = 0; i < EVENTS_ALL; i++)
        ledger->events[i].scanned = 0;
    int result = mcds_log_scan(log, &range, see_scanned, ledger, &info);
    loss_note(&ledger->loser);
    const char *wrong = judge_gaps(ledger, info.gaps);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        wrong = "a scan fails";
    if (info.corrupt > 0 || ledger->is_foreign)
        wrong = "bytes that nobody wrote";
    for (uint32_t i = 0; i < EVENTS_ALL && wrong == NULL; i++) {
        const struct event *event = &ledger->events[i];
        bool knows = event->handle == log ? !has_failed(ledger, log)
                                          : loser->roots == 0 && !loser->is_blind &&
                                                !loser->is_hidden && !loser->is_unrecorded;
        wrong = event->scanned > 1
                    ? "an event twice in one scan"
                    : judge_event(ledger, event, event->scanned, info.gaps, knows);
        if (wrong != NULL)
            mcds_sim_note(loser->sim, NULL, "%s: event %u of c%u, begun at %.6f", who, i,
                          i / EVENTS_PUTS + 1, (double)event->began_ns / NS_PER_S);
    }
    ledger->gaps += info.gaps;
    return wrong;
}

/* Whether this follower has to miss the event if it is lost. A life that was made and lost between
 * two calls leaves no trace. A segment that was lost, made again and lost again is one loss. Where
 * the first segment and the count are gone too, only a follower that has read the segment misses
 * it. */
static bool is_known(const struct follower *follower, const struct event *event)
{
    const struct loser *loser = &follower->ledger->loser;
    bool knew_life = follower->life == loser->root_flags && event->began_ns < loser->first_ns;
    bool knew_part = !loser->is_hidden || event->ended_ns < follower->knew_ns;
    return !loser->is_blind && !loser->is_unrecorded && knew_part &&
           !loss_was_repeated(loser, event->began_ns) && (loser->roots == 0 || knew_life);
}

static const char *judge_follower(struct ledger *ledger, struct follower *follower)
{
    const struct loser *loser = &ledger->loser;
    int result = mcds_log_tail(follower->logs[0], &follower->cursor, see_followed, follower,
                               &follower->info);
    loss_note(&ledger->loser);
    uint64_t gaps = follower->info.gaps;
    const char *wrong = judge_gaps(ledger, gaps);
    if (gaps > follower->noted)
        follower->told_ns = INT64_MAX;
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        wrong = "the last tail fails";
    if (follower->info.corrupt > 0 || ledger->is_foreign)
        wrong = "bytes that nobody wrote";
    for (uint32_t i = 0; i < EVENTS_ALL && wrong == NULL; i++) {
        const struct event *event = &ledger->events[i];
        uint32_t seen = event->followed[follower->number];
        bool is_told = follower->told_ns >= event->began_ns ||
                       (gaps > 0 && may_be_passed(loser));
        wrong = judge_event(ledger, event, seen, seen > 1 ? gaps : is_told,
                            is_known(follower, event));
        if (wrong != NULL)
            mcds_sim_note(loser->sim, NULL, "event %u of c%u, begun at %.6f", i,
                          i / EVENTS_PUTS + 1, (double)event->began_ns / NS_PER_S);
    }
    if (wrong != NULL)
        mcds_sim_note(loser->sim, NULL, "follower %u has counted %llu gaps",
                      follower->number + 1, (unsigned long long)gaps);
    ledger->gaps += gaps;
    return wrong;
}

struct world {
    struct ledger ledger;
    struct writer writers[EVENTS_CLIENTS];
    struct follower followers[FOLLOWERS];
    struct dropper dropper;
    mcds_sim_client *client;
};

static const char *judge(struct world *world)
{
    struct ledger *ledger = &world->ledger;
    const char *wrong = ledger->wrong[0] != '\0' ? ledger->wrong : NULL;
    mcds_log *fresh = events_open(world->client);
    for (uint32_t i = 0; i < FOLLOWERS && wrong == NULL; i++)
        wrong = judge_follower(ledger, &world->followers[i]);
    if (wrong == NULL)
        wrong = judge_scan(ledger, fresh, "a new handle");
    for (uint32_t i = 0; i < CLIENTS * HANDLES && wrong == NULL; i++) {
        mcds_log *log = world->writers[i / HANDLES].logs[i % HANDLES];
        wrong = log != NULL ? judge_scan(ledger, log, "an old handle") : NULL;
    }
    mcds_log_close(fresh);
    return wrong;
}

static void open_world(struct world *world, const mcds_sim_options *options, uint32_t kinds,
                       bool drops)
{
    struct ledger *ledger = &world->ledger;
    uint64_t random = options->seed * (EVENTS_CLIENTS + FOLLOWERS + 1);
    mcds_sim *sim;
    lengths_begin(&ledger->lengths, options->seed, EVENTS_ALL, 0, EVENTS_LENGTH);
    lengths_fill_up(&ledger->lengths, EVENTS_FILLS);
    assert_int_equal(play_open(options, &sim), MCDS_OK);
    ledger->loser = (struct loser){.sim = sim,
                                   .places = places,
                                   .kinds = kinds,
                                   .wanted = options->seed % 2 == 0 ? 1 : 3,
                                   .random = options->seed};
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct writer *writer = &world->writers[i];
        *writer = (struct writer){
            .ledger = ledger, .first = i * EVENTS_PUTS, .random = random++};
        assert_int_equal(mcds_sim_client_add(sim, write_on, writer, &world->client), MCDS_OK);
        writer->logs[0] = events_open(world->client);
    }
    for (uint32_t i = 0; i < FOLLOWERS; i++) {
        struct follower *follower = &world->followers[i];
        *follower = (struct follower){.ledger = ledger, .number = i, .random = random++};
        follower->cursor.from_ms = EVENTS_START_MS - EVENTS_BEFORE_MS;
        assert_int_equal(mcds_sim_client_add(sim, follow, follower, &world->client), MCDS_OK);
        follower->logs[0] = events_open(world->client);
    }
    world->dropper = (struct dropper){.ledger = ledger,
                                      .wanted = drops ? 1 + (uint32_t)(random % DROPS) : 0,
                                      .random = random};
    assert_int_equal(mcds_sim_client_add(sim, drop_on, &world->dropper, &world->client),
                     MCDS_OK);
    world->dropper.log = events_open(world->client);
    if (kinds != 0)
        loss_begin(&ledger->loser);
}

static void close_world(struct world *world)
{
    for (uint32_t i = 0; i < CLIENTS * HANDLES; i++)
        mcds_log_close(world->writers[i / HANDLES].logs[i % HANDLES]);
    for (uint32_t i = 0; i < FOLLOWERS * HANDLES; i++)
        mcds_log_close(world->followers[i / HANDLES].logs[i % HANDLES]);
    mcds_log_close(world->dropper.log);
    play_close(world->ledger.loser.sim);
}

static bool run(mcds_sim_options options, uint32_t kinds, bool drops, struct ledger *totals)
{
    static struct world world;
    const struct ledger *ledger = &world.ledger;
    memset(&world, 0, sizeof world);
    open_world(&world, &options, kinds, drops);
    mcds_sim *sim = ledger->loser.sim;
    const char *wrong = loss_run(&world.ledger.loser, 200000);
    bool fine = wrong == NULL;
    mcds_sim_calm(sim);
    if (fine)
        wrong = judge(&world);
    if (wrong != NULL)
        fine = report_lengths(sim, options.seed, wrong, &ledger->lengths);
    close_world(&world);
    totals->put += ledger->put;
    totals->dropped += ledger->dropped;
    totals->gaps += ledger->gaps;
    totals->loser.seen |= ledger->loser.seen;
    return fine;
}

/* Fewer faults of the network: it is the keys that are lost here. */
static mcds_sim_options log_loss_faults(uint64_t seed)
{
    mcds_sim_options options = fewer_faults(network_faults(seed));
    options.skew_ms_max = SKEW_MS;
    return options;
}

static void run_many(uint32_t kinds, bool drops, uint64_t usual)
{
    static struct ledger totals;
    memset(&totals, 0, sizeof totals);
    PLAY (seed, usual) {
        mcds_sim_options options = log_loss_faults(seed);
        if ((kinds & LOSS_BIT(LOSS_BEGIN)) != 0)
            options.skew_ms_max = SKEW_OF_LOSSES_MS;
        assert_true(run(options, kinds, drops, &totals));
    }
    SEEN(totals.put > 0 && totals.loser.seen == kinds);
    SEEN((totals.dropped > 0) == drops && ((kinds & LOSS_DATA) == 0 || totals.gaps > 0));
}

static void a_drop_hides_nothing_that_is_put_after_it(void **state)
{
    (void)state;
    run_many(0, true, 120);
}

static void a_lost_count_loses_nothing(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_COUNT), false, 100);
}

static void a_lost_root_is_made_again(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_ROOT), false, 100);
}

static void a_lost_first_segment_is_a_gap(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_FIRST), false, 100);
}

static void a_lost_part_is_a_gap(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_FIRST) | LOSS_BIT(LOSS_LATER) | LOSS_BIT(LOSS_LAST), false, 100);
}

static void a_lost_beginning_is_a_gap(void **state)
{
    (void)state;
    run_many(LOSS_BIT(LOSS_BEGIN), false, 120);
}

static void every_loss_is_a_gap(void **state)
{
    (void)state;
    run_many(LOSS_EVERY & ~LOSS_BIT(LOSS_ALL), false, 100);
}

static void every_loss_beside_drops_is_a_gap(void **state)
{
    (void)state;
    run_many(LOSS_EVERY & ~LOSS_BIT(LOSS_ALL), true, 100);
}

/* Runs in which a writer found a segment made again and did not record it, one in which a reader
 * took a segment made again for the end, though it knew a later one, and one in which a writer that
 * knew no segment put into the first one, after that, the second one and the count were lost. */
static void a_segment_made_again_is_recorded(void **state)
{
    (void)state;
    static struct ledger totals;
    const uint32_t every = LOSS_EVERY & ~LOSS_BIT(LOSS_ALL);
    const struct {
        uint32_t kinds;
        uint64_t seed;
    } runs[] = {{LOSS_BIT(LOSS_BEGIN), 258},
                {LOSS_BIT(LOSS_BEGIN), 469},
                {every, 327},
                {every, 427},
                {every, 2231},
                {every, 20027}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        mcds_sim_options options = log_loss_faults(runs[i].seed);
        options.skew_ms_max = SKEW_OF_LOSSES_MS;
        assert_true(run(options, runs[i].kinds, false, &totals));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_drop_hides_nothing_that_is_put_after_it),
    cmocka_unit_test(a_lost_count_loses_nothing),
    cmocka_unit_test(a_lost_root_is_made_again),
    cmocka_unit_test(a_lost_first_segment_is_a_gap),
    cmocka_unit_test(a_lost_part_is_a_gap),
    cmocka_unit_test(a_lost_beginning_is_a_gap),
    cmocka_unit_test(every_loss_is_a_gap),
    cmocka_unit_test(every_loss_beside_drops_is_a_gap),
    cmocka_unit_test(a_segment_made_again_is_recorded),
};

PLAY_MAIN("log_loss")
