/* What CAS tokens are told apart by. */
#ifndef MCDS_STORE_TOKEN_H
#define MCDS_STORE_TOKEN_H

#include <stdint.h>

/* A number for a place on which CAS tokens are read (mcds_cas_token.connection): never 0, and
 * never given out twice in a process, so that no store takes another's token for its own. */
uint64_t mcds__token_place(void);

#endif
