/* Judges the histories of a play, and prints the figures at the end. */
#ifndef MCDS_TESTS_CHAOS_JUDGE_H
#define MCDS_TESTS_CHAOS_JUDGE_H

#include <stdint.h>

#include "support/history.h"

#define JUDGE_KINDS 12

/* The calls of all rounds in which one kind of trouble was made. */
struct judge_tally {
    const char *kind; /* NULL: free */
    uint64_t calls;
    uint64_t ambiguous;
    uint64_t not_made;   /* certainly without effect, or a look that did not succeed */
    uint64_t lost;       /* told that the object is gone */
    uint64_t begun_anew; /* histories that only a loss explains */
};

struct judge {
    uint64_t rounds, histories, longest, undecided, wrong;
    uint64_t losses; /* events that may have been some */
    struct judge_tally tallies[JUDGE_KINDS];
};

/* Judge the history of each object of a round, and print those that no order explains. */
void judge_round(struct judge *judge, const char *kind, const struct history_subject *subject,
                 const struct history_actor *actors, uint32_t count,
                 const struct history_losses *losses);
void judge_tell(const struct judge *judge);

#endif
