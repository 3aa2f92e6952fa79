/* How every value that is not a bare number is kept:
 *
 *   'm' 'd' TYPE VERSION | payload | CRC-32C over the key and all bytes before (little-endian)
 *
 * The key is in the sum, so a value under a wrong key does not pass. */
#ifndef MCDS_BASE_FRAME_H
#define MCDS_BASE_FRAME_H

#include "mcds_store.h"

#define MCDS__FRAME_HEAD 4
#define MCDS__FRAME_TAIL 4
#define MCDS__FRAME_OVERHEAD (MCDS__FRAME_HEAD + MCDS__FRAME_TAIL)

/* Write a frame around payload_length bytes that the caller has put at out + MCDS__FRAME_HEAD;
 * returns the length of the whole. */
size_t mcds__frame_seal(uint8_t *out, char type, uint8_t version, mcds_bytes key,
                        size_t payload_length);
/* The payload inside a frame of this type and version. False: foreign or damaged. */
bool mcds__frame_open(mcds_bytes value, char type, uint8_t version, mcds_bytes key,
                      mcds_bytes *payload_out);
/* Whether a value that mcds__frame_open refuses is whole and of this type, but of a higher
 * version. */
bool mcds__frame_is_newer(mcds_bytes value, char type, uint8_t version, mcds_bytes key);

/* What to say of a value that cannot be used: with MCDS_UNSUPPORTED, and with MCDS_CORRUPT. */

void mcds__put_u32(uint8_t *out, uint32_t number);
uint32_t mcds__get_u32(const uint8_t *in);
void mcds__put_u64(uint8_t *out, uint64_t number);
uint64_t mcds__get_u64(const uint8_t *in);

#endif
