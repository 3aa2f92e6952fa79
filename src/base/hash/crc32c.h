/* The checksum CRC-32C (Castagnoli), as in RFC 3720. */
#ifndef MCDS_BASE_HASH_CRC32C_H
#define MCDS_BASE_HASH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue `sum` (0 at the start) over more bytes. */
uint32_t mcds__crc32c(uint32_t sum, const void *bytes, size_t length);

/* mcds__crc32c for any processor; used where there is no instruction. */
uint32_t mcds__crc32c_portable(uint32_t sum, const void *bytes, size_t length);

#endif
