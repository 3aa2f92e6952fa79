/* A server that loses single keys of a list or a log: the root, the count of a stream, its first
 * segment or a later one. A simulated client that evicts them in the middle of a run. And a server
 * that loses keys of a map when requests for them arrive. */
#ifndef MCDS_TESTS_SIM_LOSS_H
#define MCDS_TESTS_SIM_LOSS_H

#include "sim/world.h"

enum loss {
    LOSS_ROOT,
    LOSS_COUNT,
    LOSS_FIRST, /* segment 0 of a stream that has a count */
    LOSS_LATER, /* one between the first and the last */
    LOSS_LAST,  /* the last segment, if it is not the first */
    LOSS_BEGIN, /* segment 0, and the count if there is one: what is left may not show it */
    LOSS_ALL,
    LOSS_KINDS
};
#define LOSS_BIT(kind) (1u << (kind))
#define LOSS_EVERY (LOSS_BIT(LOSS_KINDS) - 1)
/* Of a segment. */
#define LOSS_DATA (LOSS_EVERY & ~(LOSS_BIT(LOSS_ROOT) | LOSS_BIT(LOSS_COUNT)))

/* Where the keys are. */
struct loss_places {
    const char *root;
    const char *streams; /* the beginning of all other keys */
    uint32_t colons;     /* in the rest of the key of a count; a segment has one more */
};

struct loser {
    mcds_sim *sim;
    struct loss_places places;
    uint32_t kinds; /* bits: which may happen */
    uint32_t wanted;
    uint64_t random;
    uint32_t tries;    /* private */
    uint32_t happened; /* out, as what follows */
    uint32_t seen;     /* bits: the kinds that have happened */
    int64_t first_ns;  /* when the first has happened */
    int64_t last_ns;   /* and the last */
    bool is_blind;     /* a segment was lost together with the keys that name it */
    bool
        is_hidden; /* a stream has lost its first segment and its count, and later ones are left */
    uint32_t roots;      /* how many */
    uint32_t root_flags; /* of the root that was lost first: they name its life */
};

/* Adds the client. */
void loss_begin(struct loser *loser);
/* Whether acknowledged values may be gone: with a segment, or with a root that another has
 * replaced. */
bool loss_of_data(const struct loser *loser);

/* What the server has, or does, under a key at this moment. */
mcds_reply loss_ask(mcds_sim *sim, mcds_command command, mcds_bytes key);

/* While a key of a map is being split, a child that is gone is made again as it was when its parent
 * was sealed, and a client that is late to a split makes a child again: docs/guarantees.md names
 * both. So no child goes before its parent has moved, and the request of the late client is cut. */
struct map_loser {
    mcds_sim *sim;
    const char *root;
    uint64_t random;
    bool restarts;                  /* the server also restarts empty */
    bool is_over;                   /* it loses nothing more */
    struct mcds__sim_script script; /* private */
};
/* Decides all faults of this client. */
void map_loser_begin(struct map_loser *loser, mcds_sim_client *client);

#endif
