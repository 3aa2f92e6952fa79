/* A hash under a key: SipHash-1-3, 64 bits. Who does not know the key cannot choose bytes that
 * collide, so it decides where elements go that anybody may have named. */
#ifndef MCDS_BASE_SIPHASH_H
#define MCDS_BASE_SIPHASH_H

#include "mcds.h"

/* The 16 bytes of the key are two little-endian numbers. */
uint64_t mcds__siphash(const uint64_t key[2], mcds_bytes bytes);

#endif
