/* What CAS tokens are told apart by. */
#include "store/token.h"

#include <stdatomic.h>

/* All stores of a process must count on from one another, so this belongs to none of them. */
static _Atomic uint64_t newest;

uint64_t mcds__token_place(void)
{
    return atomic_fetch_add_explicit(&newest, 1, memory_order_relaxed) + 1;
}
