/* Map: CAS numbers that show the state of a key, so that an append needs no look.
 *
 * A key whose number is an open number is OPEN and has the floor that the number contains. Only an
 * append compares an open number, and keeps it. Every other write compares a number that the
 * server has assigned, and a write that seals or moves a key lets the server assign one. So a
 * rewriter first freezes the key: an empty append gives it an assigned number. The argument is in
 * docs/algorithms.md, the model in models/freeze.pml. */
#include <assert.h>
#include <stdatomic.h>

#include "core/map/sequence.h"

/* The smallest open number. The CAS counter of a server never reaches it. */
#define OPEN_NUMBER (UINT64_C(1) << 63)
/* The client flags that an open number contains: the state and the floor. */
#define STATE_BITS UINT32_C(15)
#define FLOOR_BITS UINT32_C(0xFFFF0000)

bool mcds__map_is_open_number(uint64_t number)
{
    return number >= OPEN_NUMBER;
}

bool mcds__map_must_freeze(const struct mcds__map_life *life, mcds_cas_token token)
{
    return life->has_numbers && mcds__map_is_open_number(token.unique);
}

uint64_t mcds__map_open_number(uint32_t flags)
{
    assert(mcds__map_state_of(flags) == MCDS__MAP_OPEN);
    return OPEN_NUMBER | (flags & (STATE_BITS | FLOOR_BITS));
}

bool mcds__map_sets_numbers(const struct mcds__map *map, const struct mcds__map_life *life)
{
    return life->has_numbers && mcds__store_has(map->store, MCDS_CAS_NUMBERS);
}

void mcds__map_set_number(const struct mcds__map *map, const struct mcds__map_life *life,
                          mcds_request *request)
{
    if (!mcds__map_sets_numbers(map, life) ||
        mcds__map_state_of(request->flags) != MCDS__MAP_OPEN)
        return;
    request->options |= MCDS_SETS_CAS;
    request->initial = mcds__map_open_number(request->flags);
}

void mcds__map_compare_number(const struct mcds__map *map, const struct mcds__map_life *life,
                              mcds_request *append, mcds_cas_token token, uint32_t flags)
{
    assert(append->command == MCDS_APPEND && token.connection != 0);
    if (!mcds__map_sets_numbers(map, life))
        return;
    append->cas = token;
    append->options |= MCDS_SETS_CAS;
    append->initial = mcds__map_open_number(flags);
}

/* The floor of a key that this handle has not seen is assumed to be that of its neighbours. */
static _Atomic uint16_t *floor_of(struct mcds__map *map, uint64_t hash)
{
    return &map->floors[hash >> 56];
}
static_assert(MCDS__MAP_DEPTHS == 1 << 8, "the upper eight bits of the hash choose a floor");

uint32_t mcds__map_assumed_flags(struct mcds__map *map, uint64_t hash)
{
    uint32_t floor = atomic_load_explicit(floor_of(map, hash), memory_order_relaxed);
    assert(floor <= FLOOR_BITS >> 16);
    return floor << 16 | MCDS__MAP_OPEN;
}

void mcds__map_note_floor(struct mcds__map *map, uint64_t hash, uint32_t flags)
{
    atomic_store_explicit(floor_of(map, hash), (uint16_t)(flags >> 16), memory_order_relaxed);
}

mcds_cas_token mcds__map_open_token(uint32_t flags)
{
    return (mcds_cas_token){mcds__map_open_number(flags), MCDS_ANY_CONNECTION};
}

mcds_cas_token mcds__map_seen_token(const mcds_reply *looked)
{
    assert(looked->outcome == MCDS_OUT_OK);
    if (!mcds__map_is_open_number(looked->cas.unique))
        return looked->cas;
    return (mcds_cas_token){looked->cas.unique, MCDS_ANY_CONNECTION};
}
