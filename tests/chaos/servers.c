/* A play on memcached servers. */
#include "chaos/servers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dice.h"

/* What a thread of a player needs. */
struct player {
    struct chaos_servers *at;
    struct history_actor *actor;
    uint64_t dice;
};

bool chaos_servers_start(struct chaos *chaos, struct chaos_servers *at, char *const *options)
{
    for (int i = 0; i < CHAOS_SERVERS; i++)
        at->relays[i].listener = -1;
    for (uint64_t i = 0; i < CHAOS_SERVERS; i++) {
        at->servers[i].options = options;
        if (!server_start_memcached(&at->servers[i]) ||
            !relay_start(&at->relays[i], &at->servers[i], chaos->seed * CHAOS_SERVERS + i)) {
            (void)puts("chaos: a server does not start");
            return false;
        }
    }
    return true;
}

void chaos_servers_expect(struct chaos *chaos, const struct chaos_trouble *troubles,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        chaos->judge.tallies[i].kind = troubles[i].name;
}

bool chaos_servers_open(struct chaos_servers *at, const char *options)
{
    int used = snprintf(at->uri, sizeof at->uri, "memcached://");
    for (int i = 0; i < (at->proxy.port != 0 ? 1 : CHAOS_SERVERS); i++)
        used += snprintf(
            at->uri + used, sizeof at->uri - (size_t)used, "%s127.0.0.1:%u", i > 0 ? "," : "",
            (unsigned)(at->proxy.port != 0 ? at->proxy.port : at->relays[i].place.port));
    (void)snprintf(at->uri + used, sizeof at->uri - (size_t)used, "?%s", options);
    for (int i = 0; i < CHAOS_STORES; i++)
        if (mcds_open(at->uri, NULL, &at->stores[i]) != MCDS_OK)
            return chaos_complain("open");
    for (int i = 0; i < CHAOS_PLAYERS; i++)
        if (mcds_pipeline_open(at->stores[i % CHAOS_STORES], NULL, &at->pipelines[i]) !=
            MCDS_OK)
            return chaos_complain("pipeline");
    return true;
}

static void tell_pieces(const struct chaos_servers *at)
{
    static const char *const names[RELAY_FAULTS] = {"passed", "cut before", "cut after",
                                                    "late",   "held",       "silent"};
    (void)printf("pieces");
    for (int fault = 0; fault < RELAY_FAULTS; fault++) {
        unsigned long long sum = 0;
        for (int i = 0; i < CHAOS_SERVERS; i++)
            sum += at->relays[i].counts[fault];
        (void)printf("%s %s %llu", fault > 0 ? "," : "", names[fault], sum);
    }
    (void)printf("\n");
}

void chaos_servers_close(struct chaos_servers *at)
{
    tell_pieces(at);
    for (int i = 0; i < CHAOS_PLAYERS; i++)
        mcds_pipeline_close(at->pipelines[i]);
    for (int i = 0; i < CHAOS_STORES; i++)
        mcds_close(at->stores[i]);
    server_stop(&at->proxy);
    for (int i = 0; i < CHAOS_SERVERS; i++) {
        relay_stop(&at->relays[i]);
        server_stop(&at->servers[i]);
    }
}

bool chaos_servers_halt(struct chaos *chaos, struct chaos_servers *at, uint64_t us)
{
    const struct server *server = &at->servers[chaos_roll(chaos, CHAOS_SERVERS)];
    if (!server_pause(server))
        return false;
    chaos_sleep_us(us);
    return server_resume(server);
}

static void *play_calls(void *context)
{
    struct player *player = context;
    struct history_actor *actor = player->actor;
    mcds_completion done;
    for (int i = 0; i < CHAOS_IN_FLIGHT; i++)
        (void)history_call(actor);
    while (mcds_pipeline_next(actor->pipeline, &done) == MCDS_OK) {
        history_book(actor, &done);
        if (player->at->pace_us > 0)
            chaos_sleep_us(dice_roll(&player->dice, 2 * player->at->pace_us));
        (void)history_call(actor);
    }
    player->at->playing--;
    return NULL;
}

static bool open_round(struct chaos *chaos, struct chaos_servers *at,
                       const struct chaos_trouble *trouble, bool may_lose)
{
    uint32_t ppm = (uint32_t)chaos_setting("CHAOS_PPM", at->fault_ppm);
    for (int i = 0; i < CHAOS_SERVERS; i++)
        relay_set_faults(&at->relays[i], trouble->faults, ppm);
    at->losses.count = 0;
    at->playing = CHAOS_PLAYERS;
    for (uint64_t i = 0; i < CHAOS_PLAYERS; i++) {
        struct history_actor *actor = &at->actors[i];
        if (history_open(actor, chaos->subject, at->stores[i % CHAOS_STORES], at->pipelines[i],
                         chaos->name, chaos->dice + i) != MCDS_OK)
            return chaos_complain("open");
        actor->now_ns = chaos_now_ns;
        actor->may_lose = may_lose;
        actor->lengths = chaos->lengths;
        actor->key_length = chaos->key_length;
        if (trouble->parts_go) {
            actor->key_length = HISTORY_KEY_SHORT;
            lengths_limit(&actor->lengths, HISTORY_VALUE_SHORT);
        }
    }
    return true;
}

bool chaos_servers_round(struct chaos *chaos, struct chaos_servers *at,
                         const struct chaos_trouble *trouble, bool may_lose)
{
    pthread_t threads[CHAOS_PLAYERS];
    struct player players[CHAOS_PLAYERS];
    bool fine = open_round(chaos, at, trouble, may_lose);
    for (uint64_t i = 0; i < CHAOS_PLAYERS && fine; i++) {
        players[i] = (struct player){at, &at->actors[i], chaos->dice ^ i};
        if (pthread_create(&threads[i], NULL, play_calls, &players[i]) != 0)
            abort();
    }
    bool struck = true;
    for (int i = 0; i < trouble->strikes && fine && struck && at->playing > 0; i++)
        struck = trouble->strike(chaos, at);
    for (int i = 0; i < CHAOS_PLAYERS && fine; i++)
        (void)pthread_join(threads[i], NULL);
    (void)chaos_roll(chaos, 2);
    if (fine)
        judge_round(&chaos->judge, trouble->name, chaos->subject, at->actors, CHAOS_PLAYERS,
                    &at->losses);
    for (int i = 0; i < CHAOS_PLAYERS; i++)
        history_close(&at->actors[i]);
    if (!struck)
        (void)printf("chaos: %s: a server is gone\n", trouble->name);
    return fine && struck;
}
