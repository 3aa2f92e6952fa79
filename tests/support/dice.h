/* Random choices that a seed repeats: a linear congruential generator (Knuth, MMIX). */
#ifndef MCDS_TESTS_SUPPORT_DICE_H
#define MCDS_TESTS_SUPPORT_DICE_H

#include <stdint.h>

/* A number below `below`; *dice is the seed, and changes. */
static inline uint64_t dice_roll(uint64_t *dice, uint64_t below)
{
    *dice = *dice * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*dice >> 33) % below;
}

#endif
