/* Ids: the value of the key. */
#include "structures/ids/value.h"

#include <assert.h>

#include "base/reason.h"

#define FRAME_TYPE 'I'
#define FRAME_VERSION 1
#define PAYLOAD (MCDS__IDS_VALUE_LENGTH - MCDS__FRAME_OVERHEAD)
#define STATE_MARK 1
#define STATE_NUMBERS 2

static bool are_bits(uint64_t bits)
{
    return bits == MCDS_IDS_BITS_63 || bits == MCDS_IDS_BITS_53;
}

mcds_bytes mcds__ids_encode(const struct mcds__ids_value *value, mcds_bytes key, uint8_t *out)
{
    uint8_t *payload = out + MCDS__FRAME_HEAD;
    assert(are_bits(value->bits));
    assert(value->is_mark ? value->next == 0 : value->next <= UINT64_C(1) << value->bits);
    payload[0] = value->is_mark ? STATE_MARK : STATE_NUMBERS;
    payload[1] = (uint8_t)value->bits;
    mcds__put_u64(payload + 2, value->next);
    size_t length = mcds__frame_seal(out, FRAME_TYPE, FRAME_VERSION, key, PAYLOAD);
    assert(length == MCDS__IDS_VALUE_LENGTH);
    return (mcds_bytes){out, length};
}

/* Whether this version writes such a payload. */
static bool ids_read_payload(mcds_bytes payload, struct mcds__ids_value *value)
{
    const uint8_t *at = payload.data;
    if (payload.length != PAYLOAD || (at[0] != STATE_MARK && at[0] != STATE_NUMBERS) ||
        !are_bits(at[1]))
        return false;
    value->is_mark = at[0] == STATE_MARK;
    value->bits = at[1];
    value->next = mcds__get_u64(at + 2);
    return value->is_mark ? value->next == 0 : value->next <= UINT64_C(1) << value->bits;
}

int mcds__ids_decode(mcds_bytes value, mcds_bytes key, struct mcds__ids_value *value_out,
                     const mcds_reason **detail_out)
{
    mcds_bytes payload;
    if (mcds__frame_open(value, FRAME_TYPE, FRAME_VERSION, key, &payload) &&
        ids_read_payload(payload, value_out)) {
        assert(mcds__ids_time_of(value_out->next, value_out->bits) <=
               INT64_C(1) << MCDS__IDS_TIME_BITS);
        return MCDS_OK;
    }
    bool is_newer = mcds__frame_is_newer(value, FRAME_TYPE, FRAME_VERSION, key);
    *detail_out = is_newer ? MCDS__WHY(NEWER) : MCDS__WHY(FOREIGN);
    return is_newer ? MCDS_UNSUPPORTED : MCDS_CORRUPT;
}
