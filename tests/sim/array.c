/* Arrays in the simulated world: every acknowledged change is there once, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define CHANGES 25
#define TAGS (CLIENTS_MAX * CHANGES)
#define DROP TAGS /* the tag of a drop */
#define DROP_EVERY 6
/* Of an element. */
#define LENGTH 600
/* Forty of these are in blocks. */
#define LONG 14000
#define LONGEST 600000

enum fate { UNBORN, ACKNOWLEDGED, DOUBTFUL, REFUSED };

struct world {
    mcds_sim *sim;
    struct lengths lengths;
    bool drops;   /* the first client does, now and then */
    bool is_long; /* elements are */
    enum fate fates[TAGS];
    int64_t ended_ns[TAGS];
    int64_t dropped_ns; /* when the last drop that was acknowledged began */
    uint32_t dropped;
    uint32_t doubtful;
    bool loses; /* the server forgets */
};

struct changer {
    struct world *world;
    mcds_array *array;
    uint32_t begun;
    uint32_t number;
    int64_t drop_ns; /* when the one under way began */
};

static void book(struct changer *changer, const mcds_completion *done)
{
    struct world *world = changer->world;
    assert_true(done->result != MCDS_LOST || world->loses);
    if (done->tag == DROP) {
        if (done->result == MCDS_OK)
            world->dropped_ns = changer->drop_ns;
        world->dropped += done->result == MCDS_OK;
        return;
    }
    world->ended_ns[done->tag] = mcds_sim_now_ns(world->sim);
    switch (done->result) {
    case MCDS_OK:
        changer->world->fates[done->tag] = ACKNOWLEDGED;
        break;
    case MCDS_AMBIGUOUS:
        changer->world->fates[done->tag] = DOUBTFUL;
        changer->world->doubtful++;
        break;
    case MCDS_LOST:
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        changer->world->fates[done->tag] = REFUSED;
        break;
    default:
        fail_msg("result %d: %s", done->result, mcds_errmsg());
    }
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct changer *changer = context;
    static uint8_t text[LONGEST];
    if (done != NULL)
        book(changer, done);
    if (changer->begun == play_calls(CHANGES))
        return;
    uint32_t tag = changer->number * CHANGES + changer->begun++;
    if (changer->world->drops && changer->number == 0 && tag % DROP_EVERY == DROP_EVERY - 1) {
        changer->drop_ns = mcds_sim_now_ns(changer->world->sim);
        assert_int_equal(
            mcds_array_drop_start(changer->array, mcds_sim_client_pipeline(client), DROP),
            MCDS_OK);
        return;
    }
    mcds_bytes element = lengths_fill(text, changer->world->lengths.of[tag], tag);
    assert_int_equal(mcds_array_change_start(changer->array, &element, 1, NULL, 0,
                                             mcds_sim_client_pipeline(client), tag),
                     MCDS_OK);
}

struct census {
    const struct lengths *lengths;
    uint32_t seen[TAGS];
    uint32_t last[CLIENTS_MAX]; /* of each client's own, in the order of the array */
    bool ordered;
};

static bool count(void *context, mcds_bytes element)
{
    struct census *census = context;
    uint32_t tag = lengths_number_of(census->lengths, element);
    if (tag >= TAGS)
        return false;
    census->seen[tag]++;
    census->ordered = census->ordered && census->last[tag / CHANGES] <= tag;
    census->last[tag / CHANGES] = tag;
    return true;
}

static bool check(mcds_sim *sim, struct changer *reader, uint64_t seed)
{
    struct census census = {.lengths = &reader->world->lengths, .ordered = true};
    int result = mcds_array_scan(reader->array, count, &census);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return report_lengths(sim, seed, mcds_errmsg(), &reader->world->lengths);
    for (uint32_t tag = 0; tag < TAGS; tag++) {
        enum fate fate = reader->world->fates[tag];
        uint32_t least = fate == ACKNOWLEDGED && !reader->world->drops ? 1 : 0;
        bool is_dropped = fate == ACKNOWLEDGED &&
                          reader->world->ended_ns[tag] < reader->world->dropped_ns;
        if (is_dropped && census.seen[tag] > 0)
            return report_lengths(sim, seed, "an element from before a drop is there after it",
                                  &reader->world->lengths);
        uint32_t most = fate == ACKNOWLEDGED || fate == DOUBTFUL ? 1 : 0;
        if (census.seen[tag] < least || census.seen[tag] > most) {
            mcds_sim_note(sim, NULL, "change %u of fate %d is there %u times", tag, fate,
                          census.seen[tag]);
            return report_lengths(sim, seed, "a change is missing, or there twice",
                                  &reader->world->lengths);
        }
    }
    return true;
}

/* One seed, in a world that begins like this one. */
static bool run(mcds_sim_options options, struct world world, struct world *totals)
{
    struct changer changers[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    world.sim = sim;
    play_lengths(&world.lengths, options.seed, TAGS, 0, LENGTH,
                 world.is_long ? LONGEST : LENGTH);
    if (world.is_long)
        lengths_fill_up(&world.lengths, LONG);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        changers[i] = (struct changer){.world = &world, .number = i};
        assert_int_equal(mcds_sim_client_add(sim, program, &changers[i], &client), MCDS_OK);
        assert_int_equal(
            mcds_array_open(mcds_sim_client_store(client), "list", NULL, &changers[i].array),
            MCDS_OK);
    }
    bool fine = mcds_sim_run(sim, 1000000) == MCDS_OK;
    if (!fine)
        (void)report_lengths(sim, options.seed, "it does not end", &world.lengths);
    mcds_sim_calm(sim);
    if (fine && !world.loses)
        fine = check(sim, &changers[0], options.seed);
    totals->doubtful += world.doubtful;
    totals->dropped += world.dropped;
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_array_close(changers[i].array);
    play_close(sim);
    return fine;
}

static void every_change_is_there_once(void **state)
{
    (void)state;
    struct world totals = {.doubtful = 0};
    PLAY (seed, 1000)
        assert_true(run(network_faults(seed), (struct world){.loses = false}, &totals));
    print_message("%u of %u changes stayed in doubt\n", totals.doubtful,
                  (unsigned)(play_count() * TAGS));
}

static void what_is_dropped_does_not_come_back(void **state)
{
    (void)state;
    struct world totals = {.doubtful = 0};
    PLAY (seed, 1000)
        assert_true(run(network_faults(seed), (struct world){.drops = true}, &totals));
    SEEN(totals.dropped > 0);
}

static void a_value_in_parts_is_there_whole(void **state)
{
    (void)state;
    struct world totals = {.doubtful = 0};
    PLAY (seed, 20)
        assert_true(run(network_faults(seed), (struct world){.is_long = true}, &totals));
}

static void a_store_that_forgets_ends_no_call_badly(void **state)
{
    (void)state;
    struct world totals = {.doubtful = 0};
    PLAY (seed, 300)
        assert_true(run(all_faults(seed), (struct world){.loses = true}, &totals));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_change_is_there_once),
    cmocka_unit_test(what_is_dropped_does_not_come_back),
    cmocka_unit_test(a_value_in_parts_is_there_whole),
    cmocka_unit_test(a_store_that_forgets_ends_no_call_badly),
};

PLAY_MAIN("array")
