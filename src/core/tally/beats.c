/* Beats: the buckets in which one visitor was active, and the windows that count it for them. */
#include "core/tally/beats.h"

#include <assert.h>

#define BITS 64

static_assert(MCDS__BEATS_LATE_MAX + MCDS__BEATS_SPAN_MAX < BITS,
              "a late beat must find every beat that has a window in common with it");

bool mcds__beats_is_late(const struct mcds__beats *beats, uint64_t bucket)
{
    return beats->bits != 0 && bucket < beats->newest &&
           beats->newest - bucket > MCDS__BEATS_LATE_MAX;
}

struct mcds__beats mcds__beats_with(struct mcds__beats beats, uint64_t bucket)
{
    assert(!mcds__beats_is_late(&beats, bucket));
    if (beats.bits != 0 && bucket <= beats.newest) {
        beats.bits |= UINT64_C(1) << (beats.newest - bucket);
        return beats;
    }
    bool is_near = beats.bits != 0 && bucket - beats.newest < BITS;
    uint64_t earlier = is_near ? beats.bits << (bucket - beats.newest) : 0;
    return (struct mcds__beats){bucket, earlier | 1};
}

/* Whether there is a beat in the buckets `first` to `last`. */
static bool beats_are_in(const struct mcds__beats *beats, uint64_t first, uint64_t last)
{
    assert(first <= last);
    if (beats->bits == 0 || first > beats->newest)
        return false;
    uint64_t near = last < beats->newest ? beats->newest - last : 0;
    uint64_t far = beats->newest - first;
    if (near >= BITS)
        return false;
    uint64_t up_to_far = far < BITS - 1 ? (UINT64_C(2) << far) - 1 : UINT64_MAX;
    return (beats->bits & up_to_far) >> near != 0;
}

/* The numbers of the window that count a visitor with these beats. */
static uint64_t beats_counts_of(const struct mcds__beats *beats, uint64_t bucket, uint32_t span)
{
    uint64_t first = bucket > span ? bucket - span : 0;
    uint64_t counts = beats_are_in(beats, first, bucket) ? MCDS__WINDOW_ALL : 0;
    if (bucket > 0 && beats_are_in(beats, first, bucket - 1))
        counts += MCDS__WINDOW_BEFORE;
    return counts;
}

uint64_t mcds__beats_delta(const struct mcds__beats *before, const struct mcds__beats *after,
                           uint64_t bucket, uint32_t span)
{
    uint64_t counted = beats_counts_of(before, bucket, span);
    uint64_t counts = beats_counts_of(after, bucket, span);
    assert((counted & ~counts) == 0);
    return counts - counted;
}

bool mcds__beats_change(const struct mcds__beats *before, uint64_t bucket, uint32_t span)
{
    struct mcds__beats after = mcds__beats_with(*before, bucket);
    for (uint32_t i = 0; i <= span; i++)
        if (mcds__beats_delta(before, &after, bucket + i, span) != 0)
            return true;
    return false;
}
