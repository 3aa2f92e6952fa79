/* Eight members count views of the same pages: views STORE (memory, lmdb, memcached)
 *
 * All count, read and flush; the database is shared memory. A value never decreases, and
 * includes what this process was told. At the end value and database have every acknowledged
 * view once, and no view that was not requested. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define PAGES 40
#define SLOTS 4096
#define FLUSH_MS 1000
#define SETTLE_NS INT64_C(8000000000) /* until a flush takes the last interval */
#define GET_ONE_IN 20
#define FLUSH_ONE_IN 500

/* Rows by page and slot. No play has more than half as many slots, so the rows of no two share a
 * place, and those of later slots are told from those of earlier ones. */
static _Atomic int64_t (*database)[SLOTS];

static unsigned page_number(const char *page)
{
    return (unsigned)strtoul(page, NULL, 10) % PAGES;
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    *views_out = 0;
    for (uint64_t i = 0; i < SLOTS / 2; i++)
        *views_out += database[page_number(page)][(upto_slot - i) % SLOTS];
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    _Atomic int64_t *row = &database[page_number(page)][slot % SLOTS];
    (void)context;
    int64_t there = *row;
    while (there < views && !atomic_compare_exchange_weak(row, &there, views))
        continue;
    return 0;
}

static mcds_views *open_views(mcds_store *store)
{
    mcds_views *views = NULL;
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    options.flush_ms = FLUSH_MS;
    options.load = load;
    options.save = save;
    if (mcds_views_open(store, "pages", &options, &views) != MCDS_OK)
        (void)COMPLAIN("open: %s", mcds_errmsg());
    return views;
}

struct known {
    int64_t told[PAGES]; /* what this process was told that it counted */
    int64_t read[PAGES]; /* what it has read */
};

static bool hit(struct crowd_member *member, mcds_views *views, struct known *known)
{
    char page[16];
    uint32_t number = (uint32_t)crowd_roll(member, PAGES);
    uint32_t n = (uint32_t)crowd_roll(member, 3) + 1;
    (void)snprintf(page, sizeof page, "%u", number);
    struct crowd_note *note = crowd_ask(member, 0, number);
    note->number = n;
    if (mcds_views_hit(views, page, n) != MCDS_OK)
        return COMPLAIN("hit: %s", mcds_errmsg());
    crowd_answer(note, 1);
    known->told[number] += n;
    return true;
}

static bool look(mcds_views *views, uint32_t number, struct known *known)
{
    char page[16];
    int64_t value;
    (void)snprintf(page, sizeof page, "%u", number);
    if (mcds_views_get(views, page, &value) != MCDS_OK)
        return COMPLAIN("get: %s", mcds_errmsg());
    if (value < known->told[number] || value < known->read[number])
        return COMPLAIN("page %u: %lld, after %lld were counted and %lld read", number,
                        (long long)value, (long long)known->told[number],
                        (long long)known->read[number]);
    known->read[number] = value;
    return true;
}

static bool flush(mcds_views *views)
{
    return mcds_views_flush(views) == MCDS_OK || COMPLAIN("flush: %s", mcds_errmsg());
}

static bool live(struct crowd_member *member)
{
    struct known known = {{0}, {0}};
    mcds_views *views = open_views(member->store);
    bool fine = views != NULL;
    while (fine && crowd_goes_on(member)) {
        if (crowd_roll(member, FLUSH_ONE_IN) == 0)
            fine = flush(views);
        else if (crowd_roll(member, GET_ONE_IN) == 0)
            fine = look(views, (uint32_t)crowd_roll(member, PAGES), &known);
        else
            fine = hit(member, views, &known);
    }
    mcds_views_close(views);
    return fine;
}

static int64_t saved_views(uint32_t page)
{
    int64_t sum = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        sum += database[page][slot];
    return sum;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    int64_t high[PAGES] = {0};
    struct known known = {{0}, {0}};
    mcds_views *views = open_views(store);
    bool fine = views != NULL;
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            high[note->what] += note->number;
            known.told[note->what] += note->answered_ns != 0 ? note->number : 0;
        }
    for (uint32_t i = 0; fine && i < PAGES; i++)
        fine = look(views, i, &known);
    stage_sleep_ns(SETTLE_NS);
    fine = fine && flush(views);
    for (uint32_t i = 0; fine && i < PAGES; i++) {
        int64_t saved = saved_views(i);
        if (saved != known.read[i] || saved > high[i])
            fine = COMPLAIN("page %u: %lld saved, %lld read, %lld asked for", i,
                            (long long)saved, (long long)known.read[i], (long long)high[i]);
    }
    mcds_views_close(views);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play play = {live, judge};
    database = stage_share(sizeof(_Atomic int64_t[PAGES][SLOTS]));
    return crowd_main(argc, argv, &play);
}
