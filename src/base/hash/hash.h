/* A fast hash of bytes: XXH3, 64 bits. */
#ifndef MCDS_BASE_HASH_HASH_H
#define MCDS_BASE_HASH_HASH_H

#include "mcds.h"

uint64_t mcds__hash(uint64_t seed, mcds_bytes bytes);

#endif
