/* Eight members add to exact counters: exact STORE (memory, lmdb, memcached)
 *
 * Adds to one are flushed each time, adds to the other sometimes. What a flush has acknowledged
 * is in the sum once, and nothing else is; only the adds that a killed process had not flushed
 * may count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define COUNTERS 2
#define DELTA_MAX 1000
#define FLUSH_ONE_IN 50
#define GET_ONE_IN 200

enum verb { ADD, FLUSH };

static const char *const names[COUNTERS] = {"at once", "now and then"};

static bool open_counters(mcds_store *store, mcds_counter **counters)
{
    for (int i = 0; i < COUNTERS; i++) {
        mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
        options.flags = MCDS_COUNTER_EXACT;
        options.flush_ms = i == 0 ? MCDS_COUNTER_FLUSH_EACH : 100;
        if (mcds_counter_open(store, names[i], &options, &counters[i]) != MCDS_OK)
            return COMPLAIN("open: %s", mcds_errmsg());
    }
    return true;
}

static void close_counters(mcds_counter **counters)
{
    for (int i = 0; i < COUNTERS; i++)
        mcds_counter_close(counters[i]);
}

static bool add(struct crowd_member *member, mcds_counter **counters, uint32_t which)
{
    struct crowd_note *note = crowd_ask(member, ADD, which);
    note->number = (int64_t)crowd_roll(member, DELTA_MAX);
    if (mcds_counter_add(counters[which], note->number, NULL) != MCDS_OK)
        return COMPLAIN("add: %s", mcds_errmsg());
    /* one that is only in the handle is answered by the next flush */
    if (which == 0)
        crowd_answer(note, 1);
    return true;
}

static bool flush(struct crowd_member *member, mcds_counter **counters)
{
    struct crowd_note *note = crowd_ask(member, FLUSH, 1);
    if (mcds_counter_flush(counters[1]) != MCDS_OK)
        return COMPLAIN("flush: %s", mcds_errmsg());
    crowd_answer(note, 1);
    return true;
}

/* The sums that a journal speaks of: low what is acknowledged, high what was asked for. */
static void sum_up(const struct crowd_journal *journal, int64_t *low, int64_t *high)
{
    int64_t pending = 0;
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb == FLUSH && note->answered_ns != 0) {
            low[1] += pending;
            pending = 0;
        } else if (note->verb == ADD) {
            high[note->what] += note->number;
            if (note->answered_ns != 0)
                low[note->what] += note->number;
            else if (note->what == 1)
                pending += note->number;
        }
    }
}

/* What this process knows of is the least that there must be. */
static bool look(const struct crowd_member *member, mcds_counter **counters)
{
    int64_t low[COUNTERS] = {0}, high[COUNTERS] = {0};
    sum_up(member->journal, low, high);
    for (int i = 0; i < COUNTERS; i++) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        if (mcds_counter_get(counters[i], &value) != MCDS_OK)
            return COMPLAIN("get: %s", mcds_errmsg());
        if (value.value < low[i] || value.reborn)
            return COMPLAIN("%s: %lld, must be %lld at least", names[i], (long long)value.value,
                            (long long)low[i]);
    }
    return true;
}

static bool live(struct crowd_member *member)
{
    mcds_counter *counters[COUNTERS] = {NULL};
    bool fine = open_counters(member->store, counters) &&
                mcds_counter_add(counters[0], 0, NULL) == MCDS_OK && flush(member, counters);
    while (fine && crowd_goes_on(member)) {
        if (crowd_roll(member, FLUSH_ONE_IN) == 0)
            fine = flush(member, counters);
        else if (crowd_roll(member, GET_ONE_IN) == 0)
            fine = look(member, counters);
        else
            fine = add(member, counters, (uint32_t)crowd_roll(member, COUNTERS));
    }
    fine = fine && flush(member, counters);
    close_counters(counters);
    return fine;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    mcds_counter *counters[COUNTERS] = {NULL};
    int64_t low[COUNTERS] = {0}, high[COUNTERS] = {0};
    bool fine = open_counters(store, counters);
    for (int i = 0; i < CROWD; i++)
        sum_up(journals[i], low, high);
    for (int i = 0; fine && i < COUNTERS; i++) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        if (mcds_counter_get(counters[i], &value) != MCDS_OK)
            fine = COMPLAIN("get: %s", mcds_errmsg());
        else if (value.value < low[i] || value.value > high[i])
            fine = COMPLAIN("%s: %lld, must be %lld to %lld", names[i], (long long)value.value,
                            (long long)low[i], (long long)high[i]);
    }
    close_counters(counters);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play exact = {live, judge};
    return crowd_main(argc, argv, &exact);
}
