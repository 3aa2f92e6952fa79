/* A fast hash of bytes: XXH3, 64 bits. */
#include "base/hash/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t mcds__hash(uint64_t seed, mcds_bytes bytes)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.length, seed);
}
