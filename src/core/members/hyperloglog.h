/* HyperLogLog: the number of different elements, estimated from 4096 registers of one byte.
 *
 * An element's hash chooses a register; the register keeps the highest rank, the number of
 * leading zeros and one, of the rest of the hash. The union of two sets has the higher rank of
 * each register. The standard error is 1.04 / sqrt(4096), 1.6 %.
 *
 * Source: Flajolet, Fusy, Gandouet, Meunier, HyperLogLog, 2007; the estimator, which needs no
 * correction of small or large numbers, is that of Ertl, New cardinality estimation algorithms
 * for HyperLogLog sketches, 2017. */
#ifndef MCDS_CORE_MEMBERS_HYPERLOGLOG_H
#define MCDS_CORE_MEMBERS_HYPERLOGLOG_H

#include "mcds.h"

#define MCDS__HLL_BITS 12
#define MCDS__HLL_REGISTERS (1 << MCDS__HLL_BITS)
#define MCDS__HLL_RANK_MAX (64 - MCDS__HLL_BITS + 1)
#define MCDS__HLL_ERROR 0.01625

/* The register of an element, and its rank, from 1. */
uint32_t mcds__hll_register(uint64_t hash, uint8_t *rank_out);

/* A stored register: its number in two bytes, its rank in one. */
#define MCDS__HLL_INDEX_LENGTH 2
void mcds__hll_encode_index(uint32_t index, uint8_t out[MCDS__HLL_INDEX_LENGTH]);
/* Raise the register that these bytes describe. False: they describe none. */
bool mcds__hll_take(uint8_t registers[MCDS__HLL_REGISTERS], mcds_bytes index, mcds_bytes rank);
/* Raise each register to that of `from`. */
void mcds__hll_unite(uint8_t registers[MCDS__HLL_REGISTERS],
                     const uint8_t from[MCDS__HLL_REGISTERS]);

/* At most 2^63 - 1, for any registers. */
#define MCDS__HLL_MAX 9.2e18
double mcds__hll_estimate(const uint8_t registers[MCDS__HLL_REGISTERS]);

#endif
