/* The frame around every stored value that is not a plain number:
 *
 *   'm' 'd' TYPE VERSION | payload | CRC-32C over the key and all bytes before (little-endian)
 *
 * The sum covers the key, so a value copied to another key is refused. */
#ifndef MCDS_BASE_FRAME_H
#define MCDS_BASE_FRAME_H

#include "mcds/backend.h"

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
/* Whether a value that mcds__frame_open refuses is whole, of this type and a higher version. */
bool mcds__frame_is_newer(mcds_bytes value, char type, uint8_t version, mcds_bytes key);

/* The reasons for refusing a value: for MCDS_UNSUPPORTED and for MCDS_CORRUPT. */

void mcds__put_u32(uint8_t *out, uint32_t number);
uint32_t mcds__get_u32(const uint8_t *in);
void mcds__put_u64(uint8_t *out, uint64_t number);
uint64_t mcds__get_u64(const uint8_t *in);

#endif
