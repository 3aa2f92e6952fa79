/* A play: rounds of calls on objects that are new in each round, on a store with continuous
 * faults. */
#ifndef MCDS_TESTS_CHAOS_CHAOS_H
#define MCDS_TESTS_CHAOS_CHAOS_H

#include "chaos/judge.h"
#include "support/history.h"

#define CHAOS_PLAYERS 6
#define CHAOS_IN_FLIGHT 3

struct chaos {
    uint64_t seed;
    uint64_t dice;
    struct judge judge;
    /* Of this round. */
    const struct history_subject *subject;
    struct lengths lengths; /* of the values of this round */
    int key_length;
    char name[32]; /* of its objects */
};

/* Where a play takes place. */
struct chaos_place {
    const char *name;
    const char *programs[2]; /* that must be installed; NULL: none */
    /* All three print why they fail. close() is needed after a failure too. */
    bool (*open)(struct chaos *chaos);
    bool (*round)(struct chaos *chaos);
    void (*close)(struct chaos *chaos);
};

extern const struct chaos_place chaos_relays;
extern const struct chaos_place chaos_losses;
extern const struct chaos_place chaos_nutcracker;
extern const struct chaos_place chaos_lmdb;

uint64_t chaos_roll(struct chaos *chaos, uint64_t below);
/* A number from the environment, or what is usual. */
uint64_t chaos_setting(const char *name, uint64_t usual);
/* Say what did not work, and the library's own words for it. Returns false. */
bool chaos_complain(const char *what);
/* True time, for histories. */
int64_t chaos_now_ns(void *clock);
void chaos_sleep_us(uint64_t us);

#endif
