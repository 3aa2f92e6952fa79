/* Plays in which no server forgets, through relays that inject faults, with and without a
 * proxy. */
#include <stdio.h>

#include "chaos/servers.h"

#define TIMEOUT "timeout=300&connect_timeout=100&connections=2"
#define FAULT_PPM 8000
/* A proxy puts what several send into one piece. */
#define PROXY_FAULT_PPM 30000
#define PROXY_TIMEOUT_MS 150
#define HALT_US_MAX 500000

static struct chaos_servers at;

static bool halt_one(struct chaos *chaos, struct chaos_servers *servers)
{
    return chaos_servers_halt(chaos, servers, chaos_roll(chaos, HALT_US_MAX));
}

static const struct chaos_trouble troubles[] = {
    {"all at once", RELAY_ALL_FAULTS, NULL, 0, false},
    {"cut before", 1 << RELAY_CUT_BEFORE, NULL, 0, false},
    {"cut after", 1 << RELAY_CUT_AFTER, NULL, 0, false},
    {"late", 1 << RELAY_LATE, NULL, 0, false},
    {"held", 1 << RELAY_HOLD, NULL, 0, false},
    {"silent", 1 << RELAY_SILENT, NULL, 0, false},
    {"halted", 0, halt_one, 1, false},
    {"halted, faults", RELAY_ALL_FAULTS, halt_one, 1, false},
};

#define TROUBLES (sizeof troubles / sizeof troubles[0])

static bool open_relays(struct chaos *chaos)
{
    chaos_servers_expect(chaos, troubles, TROUBLES);
    at.fault_ppm = FAULT_PPM;
    return chaos_servers_start(chaos, &at, NULL) && chaos_servers_open(&at, TIMEOUT);
}

static bool open_nutcracker(struct chaos *chaos)
{
    struct server behind[CHAOS_SERVERS];
    chaos_servers_expect(chaos, troubles, TROUBLES);
    if (!chaos_servers_start(chaos, &at, NULL))
        return false;
    for (int i = 0; i < CHAOS_SERVERS; i++)
        behind[i] = at.relays[i].place;
    at.fault_ppm = PROXY_FAULT_PPM;
    at.proxy.timeout_ms = PROXY_TIMEOUT_MS;
    if (!server_start_nutcracker(&at.proxy, behind, CHAOS_SERVERS)) {
        (void)puts("chaos: nutcracker does not start");
        return false;
    }
    return chaos_servers_open(&at, TIMEOUT);
}

static bool play_round(struct chaos *chaos)
{
    return chaos_servers_round(chaos, &at, &troubles[chaos_roll(chaos, TROUBLES)], false);
}

static void close_place(struct chaos *chaos)
{
    (void)chaos;
    chaos_servers_close(&at);
}

const struct chaos_place chaos_relays = {
    "relays", {"memcached", NULL}, open_relays, play_round, close_place};
const struct chaos_place chaos_nutcracker = {
    "nutcracker", {"memcached", "nutcracker"}, open_nutcracker, play_round, close_place};
