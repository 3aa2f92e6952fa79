/* The key of ids: any bytes in a right frame are a mark or a number or are refused with a reason; what
 * is decoded is written again as the same bytes. */
#include "target.h"

#include <string.h>

#include "structures/ids/value.h"

static const mcds_bytes key = {"mcds:id1:fuzz", 13};

static void decode(mcds_bytes bytes)
{
    struct mcds__ids_value value;
    uint8_t again[MCDS__IDS_VALUE_LENGTH];
    const mcds_reason *detail = NULL;
    int result = mcds__ids_decode(bytes, key, &value, &detail);
    if (result != MCDS_OK) {
        MUST(detail != NULL && (result == MCDS_CORRUPT || result == MCDS_UNSUPPORTED));
        return;
    }
    MUST(detail == NULL);
    MUST(value.bits == MCDS_IDS_BITS_63 || value.bits == MCDS_IDS_BITS_53);
    MUST(value.is_mark ? value.next == 0 : value.next <= UINT64_C(1) << value.bits);
    mcds_bytes written = mcds__ids_encode(&value, key, again);
    MUST(written.length == bytes.length && memcmp(written.data, bytes.data, bytes.length) == 0);
}

static void decode_payload(const uint8_t *data, size_t size, uint8_t version)
{
    uint8_t frame[256];
    size_t most = sizeof frame - MCDS__FRAME_OVERHEAD;
    size_t length = size < most ? size : most;
    memcpy(frame + MCDS__FRAME_HEAD, data, length);
    decode((mcds_bytes){frame, mcds__frame_seal(frame, 'I', version, key, length)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode((mcds_bytes){data, size});
    decode_payload(data, size, 1);
    decode_payload(data, size, size > 0 ? data[0] : 2);
    /* Most bytes are far from a key of ids: make the length, state and bits likely ones. */
    if (size >= 10) {
        uint8_t near[10];
        memcpy(near, data, sizeof near);
        near[0] = data[0] % 4;
        near[1] = data[1] % 2 == 0 ? MCDS_IDS_BITS_63 : MCDS_IDS_BITS_53;
        near[9] = near[9] % 128; /* the highest byte: below 2^63 */
        near[8] = data[1] % 3 == 0 ? near[8] % 32 : near[8];
        near[9] = near[1] == MCDS_IDS_BITS_53 ? 0 : near[9];
        decode_payload(near, sizeof near, 1);
    }
    return 0;
}
