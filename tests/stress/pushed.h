/* Values that members push to what all share, and what a reader finds of them.
 *
 * A note about values: `what` is the number of the member's first, `number` how many they are,
 * `verb` what they were pushed to. Notes about anything else have the number 0 and contain the next
 * value, so a value's note is the last that is not above it. */
#ifndef MCDS_TESTS_STRESS_PUSHED_H
#define MCDS_TESTS_STRESS_PUSHED_H

#include "stress/crowd.h"

#define PUSHED_TEXT_MAX 10000
#define PUSHED_ALL (-1)

/* What a member's value looks like. `room` has PUSHED_TEXT_MAX bytes. */
mcds_bytes pushed_write(char *capacity, int member, uint32_t value);
/* False: it is none; that has been printed. */
bool pushed_read(mcds_bytes text, int *member_out, uint32_t *value_out);

/* How many values of each note have been seen; of all members, or one. */
struct pushed {
    unsigned verb;
    int only;     /* the member, or PUSHED_ALL */
    bool is_part; /* the first values of a note without a time may be missing */
    const struct crowd_journal *journals[CROWD];
    uint16_t *seen[CROWD];
    uint32_t complete[CROWD]; /* notes from the start that were found complete */
    uint64_t total;
};

/* `journals` of all, of which the one is needed at least. */
void pushed_begin(struct pushed *pushed, unsigned verb, int only,
                  struct crowd_journal *const *journals);
void pushed_end(struct pushed *pushed);
/* A reader has found this. note_out  what is known of it; NULL: it is not looked at. False: it
 * was never pushed, comes twice, or before others of its note; that has been printed. */
bool pushed_see(struct pushed *pushed, mcds_bytes text, const struct crowd_note **note_out);
/* Whether all that was acknowledged until now has been seen. */
bool pushed_is_complete(struct pushed *pushed);

#endif
