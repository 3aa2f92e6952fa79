/* A play on memcached servers: players in threads, relays in front of the servers, and troubles of
 * which each round has one. */
#ifndef MCDS_TESTS_CHAOS_SERVERS_H
#define MCDS_TESTS_CHAOS_SERVERS_H

#include <stdatomic.h>

#include "chaos/chaos.h"
#include "chaos/relay.h"

#define CHAOS_SERVERS 3
#define CHAOS_STORES 2 /* the players share them, three and three */

struct chaos_servers {
    struct server servers[CHAOS_SERVERS];
    struct relay relays[CHAOS_SERVERS];
    struct server proxy; /* in front of the relays; all zero: none */
    uint32_t fault_ppm;  /* of the pieces that a relay gets, for each kind of fault */
    char uri[256];
    mcds_store *stores[CHAOS_STORES];
    mcds_pipeline *pipelines[CHAOS_PLAYERS];
    /* Of this round. */
    struct history_actor actors[CHAOS_PLAYERS];
    struct history_losses losses;
    uint64_t pace_us; /* between the calls of a player, on average */
    _Atomic int playing;
};

/* What goes wrong in a round. */
struct chaos_trouble {
    const char *name;
    uint32_t faults; /* of the relays: 1 << enum relay_fault, or'ed */
    /* What befalls the servers, so many times at most, and as long as somebody plays. */
    bool (*strike)(struct chaos *chaos, struct chaos_servers *at);
    int strikes;
    /* Keys vanish that hold only a part of a table or set: these must have one key each. */
    bool parts_go;
};

/* The troubles in the order in which their figures are to be printed. */
void chaos_servers_expect(struct chaos *chaos, const struct chaos_trouble *troubles,
                          uint32_t count);
/* Start servers with these options of memcached, or NULL, and the relays. */
bool chaos_servers_start(struct chaos *chaos, struct chaos_servers *at, char *const *options);
/* Open stores, through the proxy if it has been started; these are options of the URI. */
bool chaos_servers_open(struct chaos_servers *at, const char *options);
/* Prints the faults that the relays have injected. */
void chaos_servers_close(struct chaos_servers *at);

/* Play a round and judge it. */
bool chaos_servers_round(struct chaos *chaos, struct chaos_servers *at,
                         const struct chaos_trouble *trouble, bool may_lose);

/* Halt one of the servers for this long, while the others continue. */
bool chaos_servers_halt(struct chaos *chaos, struct chaos_servers *at, uint64_t us);

#endif
