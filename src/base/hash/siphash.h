/* A keyed hash: SipHash-1-3, 64 bits. Without the key, nobody can choose bytes that collide, so
 * it places elements whose names users choose. */
#ifndef MCDS_BASE_HASH_SIPHASH_H
#define MCDS_BASE_HASH_SIPHASH_H

#include "mcds.h"

/* The 16 bytes of the key are two little-endian numbers. */
uint64_t mcds__siphash(const uint64_t key[2], mcds_bytes bytes);

#endif
