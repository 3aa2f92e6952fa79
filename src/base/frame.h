/* The frame around every stored value that is not a plain number:
 *
 *   'm' 'd' TYPE VERSION | payload | CRC-32C over the key and all bytes before (little-endian)
 *
 * The sum covers the key, so a value copied to another key is refused. */
#ifndef MCDS_BASE_FRAME_H
#define MCDS_BASE_FRAME_H

#include "base/little_endian.h"
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
/* Seal and open a frame around numbers, 8 bytes each. */
mcds_bytes mcds__frame_seal_numbers(uint8_t *out, char type, uint8_t version, mcds_bytes key,
                                    const uint64_t *numbers, size_t count);
bool mcds__frame_open_numbers(mcds_bytes value, char type, uint8_t version, mcds_bytes key,
                              uint64_t *numbers_out, size_t count);
/* Whether a value that mcds__frame_open refuses is whole, of this type and a higher version. */
bool mcds__frame_is_newer(mcds_bytes value, char type, uint8_t version, mcds_bytes key);

#endif
