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

#define LOSS_KEY_TEXT 128
#define LOSS_MAX 3
/* A segment that was lost. */
struct lost {
    char key[LOSS_KEY_TEXT];
    int64_t first_ns; /* when it was lost, */
    int64_t last_ns;  /* and when it was lost for the last time */
    uint32_t maker;   /* the client whose call is making it again; 0: none is */
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
    bool is_uncounted; /* a count was lost, alone or with the first segment */
    bool
        is_hidden; /* a stream has lost its first segment and its count, and later ones are left */
    /* A client has made a lost segment again, and its call has failed, or a reply to it was lost. So
     * it may have recorded nothing. */
    bool is_unrecorded;
    uint32_t lost_count;
    struct lost lost[LOSS_MAX];
    uint64_t lines;      /* private: of the timeline, that were read */
    uint32_t roots;      /* how many */
    bool is_replaced;    /* another root has been in its place */
    uint32_t root_flags; /* of the root that was lost first: they name its life */
};

/* Adds the client. */
void loss_begin(struct loser *loser);
/* mcds_sim_run, which also notes what becomes of lost segments. NULL, or what is wrong. */
const char *loss_run(struct loser *loser, uint64_t event_max);
/* The same for what has happened since, as where a late request has arrived. */
void loss_note(struct loser *loser);
/* A call of the client has ended. */
void loss_note_call(struct loser *loser, const mcds_sim_client *client, bool is_done);
/* Whether something stored at this time may have been in a segment that was then lost twice. */
bool loss_was_repeated(const struct loser *loser, int64_t at_ns);
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
