/* Proofs: that the root of a structure's life was seen, shared by the operations of one pipeline. */
#include "engine/proof.h"

#include <assert.h>

#include "engine/line.h"

static struct mcds__proof *proof_find(const struct mcds__operation *operation, uint64_t place)
{
    assert(place != 0);
    uint64_t mixed = place * UINT64_C(0x9E3779B97F4A7C15);
    return &operation->lines->proofs[mixed >> 32 & (MCDS__PROOFS - 1)];
}

static bool proof_is_of(const struct mcds__proof *proof, uint64_t place, uint64_t life)
{
    return proof->place == place && proof->life == life;
}

bool mcds__proof_claim(const struct mcds__operation *operation, uint64_t place, uint64_t life)
{
    if (operation->lines == NULL)
        return true;
    struct mcds__proof *proof = proof_find(operation, place);
    if (!proof_is_of(proof, place, life))
        *proof = (struct mcds__proof){.place = place, .life = life};
    assert(proof->asked <= operation->round);
    bool is_first = proof->asked != operation->round;
    proof->asked = operation->round;
    return is_first;
}

void mcds__proof_publish(const struct mcds__operation *operation, uint64_t place, uint64_t life,
                         uint64_t round)
{
    if (operation->lines == NULL)
        return;
    struct mcds__proof *proof = proof_find(operation, place);
    if (proof_is_of(proof, place, life) && proof->seen < round)
        proof->seen = round;
    assert(proof->seen <= proof->asked);
}

bool mcds__proof_is_seen(const struct mcds__operation *operation, uint64_t place, uint64_t life,
                         uint64_t round)
{
    if (operation->lines == NULL)
        return false;
    const struct mcds__proof *proof = proof_find(operation, place);
    return proof_is_of(proof, place, life) && proof->seen >= round;
}
