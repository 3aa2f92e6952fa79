/* Runs eight members on one structure: processes, or threads if the backend belongs to this
 * process. Midway two of the processes are killed. Each member records its calls and their
 * results in a journal, which outlives it; the judge compares the journals with the content of
 * the store. */
#ifndef MCDS_TESTS_STRESS_CROWD_H
#define MCDS_TESTS_STRESS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcds.h"

#define CROWD 8
#define CROWD_KILLED 2
#define CROWD_NOTES_MAX 2000000

/* One call: written before it begins, completed when its answer is known. */
struct crowd_note {
    int64_t asked_ns;
    int64_t answered_ns; /* 0: nobody knows what became of it */
    int64_t number;      /* as the program likes */
    int64_t time_ms;     /* too */
    uint32_t what;       /* too */
    uint16_t verb;       /* too */
    uint16_t answer;     /* too */
};

struct crowd_journal {
    uint32_t count;
    struct crowd_note notes[CROWD_NOTES_MAX];
};

struct crowd_member {
    int number;
    mcds_store *store;
    struct crowd_journal *journal;
    uint64_t dice;
};

struct crowd_play {
    /* Play until crowd_goes_on says no. False: something went wrong, and has been printed. */
    bool (*live)(struct crowd_member *member);
    bool (*judge)(mcds_store *store, struct crowd_journal *const *journals);
};

/* The program: crowd STORE (memory, lmdb, memcached). STRESS_SECONDS: how long they play. */
int crowd_main(int argc, char **argv, const struct crowd_play *play);

/* Whether there is time, and room for what one turn notes. */
bool crowd_goes_on(const struct crowd_member *member);
uint64_t crowd_roll(struct crowd_member *member, uint64_t below);
struct crowd_note *crowd_ask(struct crowd_member *member, unsigned verb, uint32_t what);
void crowd_answer(struct crowd_note *note, unsigned answer);

#endif
