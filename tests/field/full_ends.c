/* A memcached that does not evict has no room for large items, so that nothing can fill the end of a
 * list: lists are dropped and cleared while others push to them, in random turns. What was pushed
 * before is gone, what is pushed later is there, and no handle is told of a loss. FIELD_ROUNDS
 * lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "field/no_room_world.h"
#include "support/dice.h"

#define EXIT_SKIPPED 77
#define ROUNDS 400
#define PUSHERS 3
#define PUSHES 8 /* before, beside and after the end, by each */
#define VALUES (3 * PUSHERS * PUSHES)
#define NONE INT32_MAX

enum phase { BEFORE, BESIDE, AFTER };

struct race {
    struct full_world world;
    mcds_list *lists[PUSHERS + 1]; /* the last one ends the list */
    mcds_pipeline *pipelines[PUSHERS + 1];
    int results[VALUES + 1]; /* the last one is that of the end */
    uint32_t seen[VALUES];
    uint64_t dice;
    uint32_t wrong;
};

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static uint32_t value_number(enum phase phase, uint32_t pusher, uint32_t push)
{
    return ((uint32_t)phase * PUSHERS + pusher) * PUSHES + push;
}

static void push(struct race *race, enum phase phase, uint32_t pusher, uint32_t push)
{
    char text[60];
    uint32_t number = value_number(phase, pusher, push);
    (void)snprintf(text, sizeof text, "%-50u", (unsigned)number);
    race->results[number] = NONE;
    check(mcds_list_push_start(race->lists[pusher], mcds_text(text), race->pipelines[pusher],
                               number) == MCDS_OK,
          "push");
}

/* One turn of the pipelines, in random order. */
static void take_turn(struct race *race)
{
    mcds_completion done;
    mcds_pipeline *pipeline = race->pipelines[dice_roll(&race->dice, PUSHERS + 1)];
    while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
        race->results[done.tag] = done.result;
}

static bool is_over(const struct race *race)
{
    for (uint32_t i = 0; i <= VALUES; i++)
        if (race->results[i] == NONE)
            return false;
    return true;
}

/* One after the other. */
static void push_all(struct race *race, enum phase phase)
{
    for (uint32_t i = 0; i < PUSHERS * PUSHES; i++) {
        push(race, phase, i % PUSHERS, i / PUSHERS);
        while (!is_over(race))
            take_turn(race);
    }
}

static void end_list(struct race *race, bool clears)
{
    mcds_list *list = race->lists[PUSHERS];
    mcds_pipeline *pipeline = race->pipelines[PUSHERS];
    race->results[VALUES] = NONE;
    check((clears ? mcds_list_clear_start(list, pipeline, VALUES)
                  : mcds_list_drop_start(list, pipeline, VALUES)) == MCDS_OK,
          "end");
}

/* The end begins after some of the pushes have begun, and before others. */
static void run_race(struct race *race, bool clears)
{
    uint32_t begun = 0;
    bool has_ended = false;
    while (begun < PUSHERS * PUSHES || !has_ended || !is_over(race)) {
        if (begun < PUSHERS * PUSHES && dice_roll(&race->dice, 3) == 0) {
            push(race, BESIDE, begun % PUSHERS, begun / PUSHERS);
            begun++;
        } else if (!has_ended && dice_roll(&race->dice, 20) == 0) {
            end_list(race, clears);
            has_ended = true;
        }
        take_turn(race);
    }
}

static bool see(void *context, mcds_bytes value)
{
    struct race *race = context;
    char text[60] = "";
    memcpy(text, value.data, value.length < sizeof text ? value.length : sizeof text - 1);
    race->seen[strtoul(text, NULL, 10) % VALUES]++;
    return true;
}

static void complain(struct race *race, uint32_t round, const char *what, uint32_t number)
{
    (void)fprintf(stderr, "round %u: %s: %u (%s)\n", (unsigned)round, what, (unsigned)number,
                  number <= VALUES ? mcds_result_name(race->results[number]) : mcds_errmsg());
    race->wrong++;
}

static void judge(struct race *race, uint32_t round, mcds_list *list)
{
    memset(race->seen, 0, sizeof race->seen);
    int result = mcds_list_scan(list, 0, 0, see, race);
    if (result != MCDS_OK)
        complain(race, round, "the scan", VALUES + 1);
    for (uint32_t i = 0; i < VALUES; i++) {
        bool is_before = i < value_number(BESIDE, 0, 0);
        bool is_after = i >= value_number(AFTER, 0, 0);
        if (race->seen[i] > 1)
            complain(race, round, "there more than once", i);
        if (is_before && race->seen[i] > 0)
            complain(race, round, "pushed before the end, and there", i);
        if (is_after && race->results[i] == MCDS_OK && race->seen[i] == 0)
            complain(race, round, "pushed after the end, and not there", i);
        if (race->results[i] != MCDS_OK && race->results[i] != MCDS_AMBIGUOUS &&
            race->seen[i] > 0)
            complain(race, round, "refused, and there", i);
    }
}

static void open_list(struct race *race, uint32_t which, const char *name)
{
    check(mcds_list_open(race->world.store, name, NULL, &race->lists[which]) == MCDS_OK &&
              mcds_pipeline_open(race->world.store, NULL, &race->pipelines[which]) == MCDS_OK,
          name);
}

static void play(struct race *race, uint32_t round)
{
    char name[24];
    mcds_list *fresh;
    bool clears = dice_roll(&race->dice, 2) == 0;
    (void)snprintf(name, sizeof name, "list %u", (unsigned)round);
    memset(race->results, 0, sizeof race->results);
    for (uint32_t i = 0; i <= PUSHERS; i++)
        open_list(race, i, name);
    push_all(race, BEFORE);
    for (uint32_t i = 0; i < value_number(BESIDE, 0, 0); i++)
        if (race->results[i] != MCDS_OK)
            complain(race, round, "not pushed", i);
    run_race(race, clears);
    if (race->results[VALUES] != MCDS_OK)
        complain(race, round, clears ? "the clear" : "the drop", VALUES);
    push_all(race, AFTER);
    check(mcds_list_open(race->world.store, name, NULL, &fresh) == MCDS_OK, name);
    judge(race, round, fresh);
    for (uint32_t i = 0; i <= PUSHERS; i++) {
        judge(race, round, race->lists[i]);
        mcds_pipeline_close(race->pipelines[i]);
        mcds_list_close(race->lists[i]);
    }
    check(mcds_list_drop(fresh) == MCDS_OK, "drop"); /* makes room for the next round */
    mcds_list_close(fresh);
}

int main(void)
{
    static struct race race;
    const char *missing = full_world_open(&race.world, "memcached");
    if (missing != NULL) {
        full_world_close(&race.world);
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    race.dice = 11;
    full_world_fill_large(&race.world);
    for (uint32_t round = 0; round < field_rounds(ROUNDS) && race.wrong == 0; round++)
        play(&race, round);
    full_world_close(&race.world);
    return race.wrong == 0 ? 0 : 1;
}
