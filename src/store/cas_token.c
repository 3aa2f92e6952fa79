/* Numbers that distinguish the cas tokens of different connections. */
#include "store/cas_token.h"

#include <stdatomic.h>

/* The counter is shared by all stores of the process, so it belongs to none of them. */
static _Atomic uint64_t newest;

uint64_t mcds__cas_token_place(void)
{
    return atomic_fetch_add_explicit(&newest, 1, memory_order_relaxed) + 1;
}
