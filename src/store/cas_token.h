/* Numbers that distinguish the cas tokens of different connections. */
#ifndef MCDS_STORE_CAS_TOKEN_H
#define MCDS_STORE_CAS_TOKEN_H

#include <stdint.h>

/* A number for a place from which cas tokens are read (mcds_cas_token.connection). It is never
 * 0 and never repeats in a process, so no store accepts a token of another. */
uint64_t mcds__cas_token_place(void);

#endif
