/* A simulated memcached server and its clients. The test controls every event: the time, which
 * requests are lost, late or interrupted, and what the server forgets. The article's algorithms
 * and the structures of mcds run here on the same server, through the same store contract.
 * Times are seconds since the world's start, which is a midnight in UTC. */
#ifndef MCDS_EVIDENCE_ARTICLE_WORLD_H
#define MCDS_EVIDENCE_ARTICLE_WORLD_H

#include "sim/world.h"

#define WORLD_ACTORS_MAX 32
#define WORLD_HANDLES_MAX 64
#define TWISTS_MAX 8

enum twist_kind { TWIST_NONE, TWIST_FATE, TWIST_BEFORE, TWIST_ARRIVAL };

/* Something that happens to one of an actor's requests. */
struct twist {
    enum twist_kind kind;
    mcds_command command; /* which requests are counted; 0: all */
    uint32_t nth;         /* to which of them it happens, from 1; 0: to each */
    uint32_t seen;
    enum mcds__sim_fate fate;
    int64_t late_ns;
    void (*act)(void *context);
    void *context;
};

/* A client: a program on a machine of its own. */
struct actor {
    struct world *world;
    mcds_sim_client *client;
    mcds_store *store;
    struct mcds__sim_script script;
    struct twist twists[TWISTS_MAX];
    bool unreachable; /* the server is down as this client sees it */
    bool crashed;     /* whatever it would send never leaves */
    uint64_t batches; /* sent, so round trips */
    uint64_t requests;
};

struct world {
    mcds_sim *sim;
    struct actor actors[WORLD_ACTORS_MAX];
    uint32_t actor_count;
    struct {
        void (*close)(void *handle);
        void *handle;
    } handles[WORLD_HANDLES_MAX];
    uint32_t handle_count;
};

enum world_kind {
    WORLD_META,    /* a server that speaks the meta protocol */
    WORLD_CLASSIC, /* an old one, without create on increment and tokens of stores */
    WORLD_PROXY    /* an old one behind a proxy that keeps no order within a batch */
};

/* It is 1000.0, and the server's second ticks with the world's. False: no memory. */
bool world_open(struct world *world);
bool world_open_as(struct world *world, enum world_kind kind);
void world_close(struct world *world);
/* Close `handle` before the world's stores. */
void world_keep(struct world *world, void (*close)(void *handle), void *handle);

/* Let time pass until `second`; what is under way arrives. */
void world_at(struct world *world, double second);
void world_pass(struct world *world, double seconds);
double world_now(const struct world *world);
/* The same second as Unix time. */
int64_t world_unix_ms(double second);

/* The server's second begins `seconds` later than the world's. */
void world_phase(struct world *world, double seconds);
void world_stall(struct world *world);
void world_resume(struct world *world);
void world_restart(struct world *world);
/* Forget each living key that begins with `prefix`. Returns how many there were. */
uint32_t world_evict(struct world *world, const char *prefix);
/* Forget one of them. False: there was none. */
bool world_evict_one(struct world *world, const char *prefix);
uint32_t world_keys(struct world *world, const char *prefix);

/* Another client, with its clock `fast` seconds ahead. NULL: no memory. */
struct actor *world_actor(struct world *world);
void actor_is_fast(struct actor *actor, double seconds);

/* From here on, of the requests with this command (0: any) the nth (0: each) ... */
/* is lost on its way; the sender learns only that its connection broke, */
void actor_loses(struct actor *actor, mcds_command command, uint32_t nth);
/* is carried out, and the reply is lost, */
void actor_loses_reply(struct actor *actor, mcds_command command, uint32_t nth);
/* is carried out `seconds` later, when its sender has long given up, */
void actor_is_late(struct actor *actor, mcds_command command, uint32_t nth, double seconds);
/* is sent only after `act` has run: the client pauses, time may pass, others may act, */
void actor_pauses(struct actor *actor, mcds_command command, uint32_t nth,
                  void (*act)(void *context), void *context);
/* finds the server as `act` has left it; no time may pass. */
void actor_is_met(struct actor *actor, mcds_command command, uint32_t nth,
                  void (*act)(void *context), void *context);

#endif
