/* HyperLogLog: estimate a number of different elements from registers. */
#include "core/members/hyperloglog.h"

#include <assert.h>
#include <math.h>

#define REST_BITS (64 - MCDS__HLL_BITS)
#define ALPHA 0.721347520444481703680 /* 1 / (2 ln 2) */
/* The series below gain at least a binary digit with each term. */
#define TERMS_MAX 1100

uint32_t mcds__hll_register(uint64_t hash, uint8_t *rank_out)
{
    uint64_t rest = hash << MCDS__HLL_BITS;
    uint8_t rank = 1;
    while (rank <= REST_BITS && rest >> 63 == 0) {
        rank++;
        rest <<= 1;
    }
    *rank_out = rank;
    assert(rank >= 1 && rank <= MCDS__HLL_RANK_MAX);
    return (uint32_t)(hash >> REST_BITS);
}

void mcds__hll_encode_index(uint32_t index, uint8_t out[MCDS__HLL_INDEX_LENGTH])
{
    out[0] = (uint8_t)index;
    out[1] = (uint8_t)(index >> 8);
}

bool mcds__hll_take(uint8_t registers[MCDS__HLL_REGISTERS], mcds_bytes index, mcds_bytes rank)
{
    if (index.length != MCDS__HLL_INDEX_LENGTH || rank.length != 1)
        return false;
    const uint8_t *bytes = index.data;
    uint32_t at = bytes[0] | (uint32_t)bytes[1] << 8;
    uint8_t reached = *(const uint8_t *)rank.data;
    if (at >= MCDS__HLL_REGISTERS || reached == 0 || reached > MCDS__HLL_RANK_MAX)
        return false;
    if (reached > registers[at])
        registers[at] = reached;
    return true;
}

void mcds__hll_unite(uint8_t registers[MCDS__HLL_REGISTERS],
                     const uint8_t from[MCDS__HLL_REGISTERS])
{
    for (int i = 0; i < MCDS__HLL_REGISTERS; i++)
        if (from[i] > registers[i])
            registers[i] = from[i];
}

/* Sum of x^(2^k) * 2^(k-1) over k >= 1, and x. */
static double sigma(double x)
{
    assert(x >= 0 && x < 1);
    double y = 1;
    double sum = x;
    for (int i = 0; i < TERMS_MAX; i++) {
        double before = sum;
        x *= x;
        sum += x * y;
        y += y;
        if (sum == before)
            break;
    }
    return sum;
}

static double tau(double x)
{
    assert(x >= 0 && x <= 1);
    double y = 1;
    double sum = 1 - x;
    if (x == 0 || x == 1)
        return 0;
    for (int i = 0; i < TERMS_MAX; i++) {
        double before = sum;
        x = sqrt(x);
        y *= 0.5;
        sum -= (1 - x) * (1 - x) * y;
        if (sum == before)
            break;
    }
    return sum / 3;
}

double mcds__hll_estimate(const uint8_t registers[MCDS__HLL_REGISTERS])
{
    uint32_t counts[MCDS__HLL_RANK_MAX + 1] = {0};
    double m = MCDS__HLL_REGISTERS;
    for (int i = 0; i < MCDS__HLL_REGISTERS; i++)
        counts[registers[i] <= MCDS__HLL_RANK_MAX ? registers[i] : MCDS__HLL_RANK_MAX]++;
    if (counts[0] == MCDS__HLL_REGISTERS)
        return 0;
    double sum = m * tau(1 - counts[MCDS__HLL_RANK_MAX] / m);
    for (int rank = REST_BITS; rank >= 1; rank--)
        sum = 0.5 * (sum + counts[rank]);
    sum += m * sigma(counts[0] / m);
    double estimate = ALPHA * m * m / sum;
    return estimate < MCDS__HLL_MAX ? estimate : MCDS__HLL_MAX;
}
