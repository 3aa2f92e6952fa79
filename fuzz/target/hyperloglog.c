/* Stored registers: bytes are one register that there is, or are refused; what is taken is
 * there and changes no other. */
#include "target.h"

#include <string.h>

#include "core/members/hyperloglog.h"

static uint8_t registers[MCDS__HLL_REGISTERS];
static uint8_t expected[MCDS__HLL_REGISTERS];

/* Index and rank of the lengths that the first byte tells, one behind the other. */
static void take(const uint8_t *data, size_t size)
{
    size_t index_length = data[0] % 8 < 4 ? MCDS__HLL_INDEX_LENGTH : data[0] % 4u;
    size_t rank_length = data[0] % 16 < 12 ? 1 : data[0] % 3u;
    if (1 + index_length + rank_length > size)
        return;
    const uint8_t *index = data + 1;
    const uint8_t *rank = index + index_length;
    bool taken = mcds__hll_take(registers, (mcds_bytes){index, index_length},
                                (mcds_bytes){rank, rank_length});
    bool fits = index_length == MCDS__HLL_INDEX_LENGTH && rank_length == 1;
    uint32_t at = fits ? index[0] | (uint32_t)index[1] << 8 : MCDS__HLL_REGISTERS;
    bool is_one = at < MCDS__HLL_REGISTERS && rank[0] >= 1 && rank[0] <= MCDS__HLL_RANK_MAX;
    MUST(taken == is_one);
    if (!is_one)
        return;
    uint8_t again[MCDS__HLL_INDEX_LENGTH];
    mcds__hll_encode_index(at, again);
    MUST(memcmp(again, index, sizeof again) == 0);
    if (rank[0] > expected[at])
        expected[at] = rank[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(registers, 0, sizeof registers);
    memset(expected, 0, sizeof expected);
    for (size_t at = 0; at < size; at += 4)
        take(data + at, size - at);
    MUST(memcmp(registers, expected, sizeof registers) == 0);
    double estimate = mcds__hll_estimate(registers);
    MUST(estimate >= 0 && estimate < 4.0 * MCDS__HLL_REGISTERS);
    return 0;
}
