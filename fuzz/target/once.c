/* The value of a key of once: any bytes in a right frame are one or are refused, and what is decoded is
 * written again as the same bytes. */
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "structures/once/value.h"

static const mcds_bytes key = {"mcds:o1:fuzz:k", 14};

static mcds_bytes seal(uint8_t *out, size_t capacity, const uint8_t *data, size_t size)
{
    size_t length = size < capacity - MCDS__FRAME_OVERHEAD ? size
                                                           : capacity - MCDS__FRAME_OVERHEAD;
    memcpy(out + MCDS__FRAME_HEAD, data, length);
    return (mcds_bytes){out, mcds__frame_seal(out, 'N', 1, key, length)};
}

static void decode(mcds_bytes bytes)
{
    struct mcds__once_value value;
    const mcds_reason *detail = NULL;
    mcds_buffer again;
    int result = mcds__once_decode(bytes, key, &value, &detail);
    MUST(result == MCDS_OK || result == MCDS_CORRUPT || result == MCDS_UNSUPPORTED);
    MUST((result == MCDS_OK) == (detail == NULL));
    if (result != MCDS_OK)
        return;
    MUST(value.kind == MCDS__ONCE_IS_DONE || (value.result.length == 0 && value.code == 0));
    mcds__buffer_init(&again, mcds_env_system(), (size_t)1 << 20);
    MUST(mcds__once_encode(&value, key, &again));
    MUST(again.length == bytes.length && memcmp(again.data, bytes.data, bytes.length) == 0);
    mcds__buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t frame[4096];
    decode((mcds_bytes){data, size});
    decode(seal(frame, sizeof frame, data, size));
    /* Most bytes are far from a value: make the kind and the flag likely ones. */
    if (size >= MCDS__ONCE_HEAD) {
        uint8_t near[2048];
        size_t length = size < sizeof near ? size : sizeof near;
        memcpy(near, data, length);
        near[0] = data[0] % 5;
        near[1] = data[1] % 3;
        decode(seal(frame, sizeof frame, near, length));
    }
    return 0;
}
