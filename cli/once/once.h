/* Shared by the commands of once. */
#ifndef MCDS_CLI_ONCE_ONCE_H
#define MCDS_CLI_ONCE_ONCE_H

#include <stdint.h>

/* The library's default: how long the claim of a COMMAND lasts. */
#define ONCE_RUN_MS UINT64_C(60000)

/* From now to a Unix time; 0 when it has passed. */
int64_t once_left_ms(int64_t until_ms);

#endif
