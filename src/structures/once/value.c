/* Once: the value of a key. */
#include "structures/once/value.h"

#include <assert.h>

#include "base/buffer.h"

#define FRAME_TYPE 'N'
#define FRAME_VERSION 1

bool mcds__once_encode(const struct mcds__once_value *value, mcds_bytes key, mcds_buffer *out)
{
    size_t payload = MCDS__ONCE_HEAD + value->result.length;
    assert(value->kind >= MCDS__ONCE_IS_RUNNING && value->kind <= MCDS__ONCE_IS_FREE);
    assert(value->kind == MCDS__ONCE_IS_DONE || value->result.length == 0);
    out->length = 0;
    if (!mcds__buffer_reserve(out, payload + MCDS__FRAME_OVERHEAD))
        return false;
    uint8_t *at = out->data + MCDS__FRAME_HEAD;
    at[0] = (uint8_t)value->kind;
    at[1] = value->strict;
    mcds__put_u64(at + 2, value->token[0]);
    mcds__put_u64(at + 10, value->token[1]);
    mcds__put_u64(at + 18, value->request);
    mcds__put_u64(at + 26, (uint64_t)value->began_ms);
    mcds__put_u64(at + 34, (uint64_t)value->until_ms);
    mcds__put_u32(at + 42, (uint32_t)value->code);
    if (value->result.length > 0)
        memcpy(at + MCDS__ONCE_HEAD, value->result.data, value->result.length);
    out->length = mcds__frame_seal(out->data, FRAME_TYPE, FRAME_VERSION, key, payload);
    assert(out->length == payload + MCDS__FRAME_OVERHEAD);
    return true;
}

/* Whether this version writes such a payload. */
static bool once_read_payload(mcds_bytes payload, struct mcds__once_value *value)
{
    const uint8_t *at = payload.data;
    if (payload.length < MCDS__ONCE_HEAD || at[0] < MCDS__ONCE_IS_RUNNING ||
        at[0] > MCDS__ONCE_IS_FREE || at[1] > 1)
        return false;
    value->kind = (enum mcds__once_kind)at[0];
    value->strict = at[1] != 0;
    value->token[0] = mcds__get_u64(at + 2);
    value->token[1] = mcds__get_u64(at + 10);
    value->request = mcds__get_u64(at + 18);
    value->began_ms = (int64_t)mcds__get_u64(at + 26);
    value->until_ms = (int64_t)mcds__get_u64(at + 34);
    value->code = (int32_t)mcds__get_u32(at + 42);
    value->result = (mcds_bytes){at + MCDS__ONCE_HEAD, payload.length - MCDS__ONCE_HEAD};
    return value->kind == MCDS__ONCE_IS_DONE || (value->result.length == 0 && value->code == 0);
}

int mcds__once_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__once_value *value,
                      const mcds_reason **detail_out)
{
    mcds_bytes payload;
    if (mcds__frame_open(bytes, FRAME_TYPE, FRAME_VERSION, key, &payload) &&
        once_read_payload(payload, value)) {
        assert(value->result.length + MCDS__ONCE_CLAIM_BYTES == bytes.length);
        return MCDS_OK;
    }
    bool is_newer = mcds__frame_is_newer(bytes, FRAME_TYPE, FRAME_VERSION, key);
    *detail_out = is_newer ? MCDS__WHY(NEWER) : MCDS__WHY(FOREIGN);
    return is_newer ? MCDS_UNSUPPORTED : MCDS_CORRUPT;
}
