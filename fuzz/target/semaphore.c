/* The settings of a semaphore, and the leases of its slots and of locks: any bytes in a right frame are
 * one, or are refused with a reason; settings are written again as the same bytes. */
#include "target.h"

#include <string.h>

#include "base/frame.h"
#include "core/lease/lease.h"
#include "structures/semaphore/semaphore.h"

static const mcds_bytes key = {"mcds:sm1:fuzz", 13};

static void decode_settings(mcds_bytes bytes)
{
    struct mcds__semaphore_settings settings;
    uint8_t again[MCDS__SETTINGS_SIZE];
    if (!mcds__semaphore_decode(bytes, key, &settings))
        return;
    mcds_bytes written = mcds__semaphore_encode(&settings, key, again);
    MUST(written.length == bytes.length && memcmp(written.data, bytes.data, bytes.length) == 0);
}

static void decode_lease(mcds_bytes bytes)
{
    struct mcds__lease_value value;
    const mcds_reason *detail = NULL;
    if (!mcds__lease_decode(bytes, key, &value)) {
        int result = mcds__lease_refuse(bytes, key, &detail);
        MUST(detail != NULL && (result == MCDS_CORRUPT || result == MCDS_UNSUPPORTED));
        return;
    }
    MUST(value.label_length <= MCDS__LEASE_LABEL_MAX && value.label_length < bytes.length);
    MUST(value.label[value.label_length] == '\0' && (!value.free || value.label_length == 0));
}

/* The same payload in frames of both kinds. */
static void decode_payload(const uint8_t *data, size_t length, uint8_t version)
{
    uint8_t frame[512];
    size_t most = sizeof frame - MCDS__FRAME_OVERHEAD;
    length = length < most ? length : most;
    memcpy(frame + MCDS__FRAME_HEAD, data, length);
    decode_settings((mcds_bytes){frame, mcds__frame_seal(frame, 'S', version, key, length)});
    decode_lease((mcds_bytes){frame, mcds__frame_seal(frame, 'L', version, key, length)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode_settings((mcds_bytes){data, size});
    decode_lease((mcds_bytes){data, size});
    decode_payload(data, size, 1);
    decode_payload(data, size, size > 0 ? data[0] : 2);
    /* Most bytes are far from settings: make small numbers likely ones. */
    if (size >= 2) {
        uint8_t near[16] = {0};
        near[0] = data[0] % 64;
        near[8] = data[1] % 64;
        decode_payload(near, sizeof near, 1);
    }
    return 0;
}
