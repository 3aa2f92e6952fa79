/* Stored values: no bytes pass for a lease, a frame or a record but those that were written. */
#include "target.h"

#include <string.h>

#include "base/frame.h"
#include "base/number.h"
#include "core/lease/readers.h"
#include "core/tally/tally.h"
#include "store/lmdb/format.h"

static const mcds_bytes key = {"mcds:lk1:fuzz", 13};

static void decode(mcds_bytes value)
{
    struct mcds__lease_value lease;
    struct mcds__record record;
    struct mcds__lmdb_format format;
    struct mcds__lmdb_cas cas;
    mcds_bytes inner;
    uint64_t number;
    if (mcds__lease_decode(value, key, &lease))
        MUST(lease.label_length <= MCDS__LEASE_LABEL_MAX);
    if (mcds__record_read(value, &record))
        MUST(record.value.length == value.length - MCDS__RECORD_HEADER);
    if (mcds__expiry_read(value, &number, &inner))
        MUST(inner.length == value.length - 8);
    (void)mcds__lmdb_format_read(value, &format);
    (void)mcds__lmdb_cas_read(value, &cas);
    if (mcds__tally_parse(value, &number)) {
        char digits[MCDS__U64_DIGITS];
        MUST(mcds__format_u64(number, digits) <= value.length);
    }
    (void)mcds__parse_stored_u64(value.data, value.length, &number);
}

/* Any payload shows readers in its bounds, or is refused. */
static void read_readers(mcds_bytes value, int64_t ttl_ms)
{
    struct mcds__readers_seen seen;
    struct mcds__reader reader;
    size_t at = 0;
    uint32_t live = 0;
    uint32_t records = 0;
    if (!mcds__readers_open(value, key, ttl_ms, &seen))
        return;
    while (mcds__readers_next(&seen, &at, &reader)) {
        records++;
        live += reader.left_ms > 0;
        MUST(reader.label.length <= MCDS__LEASE_LABEL_MAX && reader.left_ms <= seen.ttl_ms);
    }
    MUST(live == seen.count && records <= MCDS__READERS_MAX);
    MUST(records == 0 || at == seen.payload.length);
}

/* Sealed, opened, and refused after any one bit has changed. */
static void seal(const uint8_t *data, size_t size)
{
    uint8_t frame[MCDS__READERS_VALUE_MAX];
    size_t length = size < sizeof frame - MCDS__FRAME_OVERHEAD
                        ? size
                        : sizeof frame - MCDS__FRAME_OVERHEAD;
    memcpy(frame + MCDS__FRAME_HEAD, data, length);
    size_t whole = mcds__frame_seal(frame, 'L', 1, key, length);
    mcds_bytes payload;
    MUST(mcds__frame_open((mcds_bytes){frame, whole}, 'L', 1, key, &payload));
    MUST(payload.length == length && memcmp(payload.data, data, length) == 0);
    decode((mcds_bytes){frame, whole});
    size_t again = mcds__frame_seal(frame, 'L', MCDS__READERS_VERSION, key, length);
    for (int64_t ttl_ms = -2; ttl_ms < 100000; ttl_ms += 9999)
        read_readers((mcds_bytes){frame, again}, ttl_ms);
    (void)mcds__frame_seal(frame, 'L', 1, key, length);

    size_t bit = size > 0 ? (data[0] * 257u + size) % (whole * 8) : 0;
    frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
    MUST(!mcds__frame_open((mcds_bytes){frame, whole}, 'L', 1, key, &payload));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode((mcds_bytes){data, size});
    if (size > 0)
        seal(data, size);
    return 0;
}
