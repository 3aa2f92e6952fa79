/* Eight members count the same visitors: visits STORE (memory, lmdb, memcached)
 *
 * Visitors and online, as numbers, with exact members and with estimated ones, all over one
 * moment. At the end each has counted every visitor whose call was answered, once, and no
 * other. If a process is killed between marking a visitor and adding to the number, the plain
 * forms may miss that visitor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define VISITORS 4000
#define FORMS 3
#define STRUCTURES (2 * FORMS)
#define ESTIMATE_MARGIN 0.08 /* five standard deviations */
#define DAY_MS 86400000

/* Visitors in the first of the forms of mcds_members, online in the others. */
static const char *const names[STRUCTURES] = {"visitors",           "visitors exact",
                                              "visitors estimated", "online",
                                              "online exact",       "online estimated"};
static int64_t moment_ms; /* of every call, lest midnight comes between */

struct player {
    mcds_visitors *visitors[FORMS];
    mcds_online *online[FORMS];
};

static bool open_all(mcds_store *store, struct player *player)
{
    for (uint32_t form = 0; form < FORMS; form++) {
        mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
        mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
        visitors.members = online.members = form;
        online.width_ms = DAY_MS;
        online.buckets = 2;
        if (mcds_visitors_open(store, names[form], &visitors, &player->visitors[form]) !=
                MCDS_OK ||
            mcds_online_open(store, names[FORMS + form], &online, &player->online[form]) !=
                MCDS_OK)
            return COMPLAIN("open: %s", mcds_errmsg());
    }
    return true;
}

static void close_all(struct player *player)
{
    for (int form = 0; form < FORMS; form++) {
        mcds_visitors_close(player->visitors[form]);
        mcds_online_close(player->online[form]);
    }
}

static bool play(struct crowd_member *member, struct player *player)
{
    char visitor[32];
    uint32_t structure = (uint32_t)crowd_roll(member, STRUCTURES);
    uint32_t number = (uint32_t)crowd_roll(member, VISITORS);
    (void)snprintf(visitor, sizeof visitor, "visitor %u", number);
    struct crowd_note *note = crowd_ask(member, 0, number * STRUCTURES + structure);
    int result = structure < FORMS
                     ? mcds_visitors_hit(player->visitors[structure], visitor, moment_ms)
                     : mcds_online_beat(player->online[structure - FORMS], visitor, moment_ms);
    if (result != MCDS_OK && result != MCDS_EXISTS)
        return COMPLAIN("%s: %s", names[structure], mcds_errmsg());
    crowd_answer(note, result == MCDS_OK);
    return true;
}

static bool live(struct crowd_member *member)
{
    struct player player = {{NULL}, {NULL}};
    bool fine = open_all(member->store, &player);
    while (fine && crowd_goes_on(member))
        fine = play(member, &player);
    close_all(&player);
    return fine;
}

struct told {
    uint32_t asked;   /* visitors for whom there was a call */
    uint32_t counted; /* for whom one was answered */
    uint32_t firsts;  /* calls that were told that they had counted */
};

static void gather(struct crowd_journal *const *journals, uint32_t structure, struct told *told)
{
    static uint8_t seen[VISITORS];
    memset(seen, 0, sizeof seen);
    memset(told, 0, sizeof *told);
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->what % STRUCTURES != structure)
                continue;
            seen[note->what / STRUCTURES] |= note->answered_ns != 0 ? 3 : 1;
            told->firsts += note->answered_ns != 0 && note->answer != 0;
        }
    for (int i = 0; i < VISITORS; i++) {
        told->asked += seen[i] != 0;
        told->counted += seen[i] == 3;
    }
}

static bool judge_one(const struct player *player, uint32_t structure, const struct told *told)
{
    mcds_visitors_value visitors = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value online = MCDS_ONLINE_VALUE_INIT;
    int result = structure < FORMS
                     ? mcds_visitors_get(player->visitors[structure], moment_ms, &visitors)
                     : mcds_online_get(player->online[structure - FORMS], moment_ms, &online);
    if (result != MCDS_OK)
        return COMPLAIN("%s: %s", names[structure], mcds_errmsg());
    double value = (double)(structure < FORMS ? visitors.current : online.current);
    uint32_t members = structure % FORMS;
    double low = told->counted;
    double high = told->asked;
    if (members == MCDS_MEMBERS_ESTIMATED) {
        low -= low * ESTIMATE_MARGIN;
        high += high * ESTIMATE_MARGIN;
    }
    if (members == MCDS_MEMBERS_NONE) {
        low -= CROWD_KILLED;
        if (told->firsts > told->asked)
            return COMPLAIN("%s: %u were told that they counted, of %u", names[structure],
                            told->firsts, told->asked);
    }
    if (value < low || value > high)
        return COMPLAIN("%s: %.0f, must be %.0f to %.0f", names[structure], value, low, high);
    return true;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    struct player player = {{NULL}, {NULL}};
    bool fine = open_all(store, &player);
    for (uint32_t structure = 0; fine && structure < STRUCTURES; structure++) {
        struct told told;
        gather(journals, structure, &told);
        fine = judge_one(&player, structure, &told);
    }
    close_all(&player);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play visits = {live, judge};
    const mcds_env *env = mcds_env_system();
    moment_ms = env->wall_ns(env->self) / 1000000;
    return crowd_main(argc, argv, &visits);
}
