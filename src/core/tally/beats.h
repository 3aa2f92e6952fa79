/* Beats: the buckets in which one visitor was active, and the windows that count it for them.
 *
 * The window of bucket s is s and the `span` buckets before it. A window counts a visitor that was
 * active in one of its buckets. A visitor counts in two numbers of each window, which are the
 * halves of one 64-bit number, so that one increment changes both:
 *
 *   high half   active in the window
 *   low half    active in the window, but not only in its last bucket
 *
 * A beat adds to the windows that have not counted the visitor. These follow from the beats
 * before it, in whatever order they arrive, so a number never decreases. */
#ifndef MCDS_CORE_TALLY_BEATS_H
#define MCDS_CORE_TALLY_BEATS_H

#include <stdbool.h>
#include <stdint.h>

#define MCDS__BEATS_SPAN_MAX 32
/* A beat may be this many buckets older than the newest one of the visitor: the set then holds all
 * beats that have a window in common with it. */
#define MCDS__BEATS_LATE_MAX 31

#define MCDS__WINDOW_BEFORE UINT64_C(1)
#define MCDS__WINDOW_ALL (UINT64_C(1) << 32)

struct mcds__beats {
    uint64_t newest; /* bucket */
    uint64_t bits;   /* bit i: active in bucket newest - i; 0 = none */
};

bool mcds__beats_is_late(const struct mcds__beats *beats, uint64_t bucket);
/* The set with a beat that is not late. */
struct mcds__beats mcds__beats_with(struct mcds__beats beats, uint64_t bucket);
/* The number that the window of `bucket` adds for a visitor whose beats were `before`, and are
 * `after`: a sum of MCDS__WINDOW_... */
uint64_t mcds__beats_delta(const struct mcds__beats *before, const struct mcds__beats *after,
                           uint64_t bucket, uint32_t span);
/* Whether a beat in `bucket` adds to any window. */
bool mcds__beats_change(const struct mcds__beats *before, uint64_t bucket, uint32_t span);

#endif
