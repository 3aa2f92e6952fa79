/* Record: the value of its key. */
#include "core/record/value.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/frame.h"

#define FRAME_TYPE 'R'
#define FRAME_VERSION 1
#define FIXED 18
#define ID_LENGTH 12
#define INTENT_LENGTH 12
#define PARTED_LENGTH 24
#define LENGTH_MAX ((uint64_t)1 << 40)

static size_t put_head(const struct mcds__record_value *value, uint8_t *out)
{
    assert(value->id_count <= MCDS__RECORD_IDS);
    size_t at = FIXED;
    mcds__put_u64(out, value->generation);
    mcds__put_u64(out + 8, value->version);
    out[16] = (uint8_t)value->kind;
    out[17] = (uint8_t)value->id_count;
    for (uint32_t i = 0; i < value->id_count; i++, at += ID_LENGTH) {
        mcds__put_u64(out + at, value->ids[i].writer);
        mcds__put_u32(out + at + 8, value->ids[i].seq);
    }
    mcds__put_u64(out + at, value->intent.name);
    mcds__put_u32(out + at + 8, value->intent.count);
    at += INTENT_LENGTH;
    if (value->kind != MCDS__RECORD_IN_BLOCKS)
        return at;
    mcds__put_u64(out + at, value->blocks.name);
    mcds__put_u32(out + at + 8, value->blocks.count);
    mcds__put_u64(out + at + 12, value->blocks.length);
    mcds__put_u32(out + at + 20, value->blocks.sum);
    return at + PARTED_LENGTH;
}

bool mcds__record_encode(const struct mcds__record_value *value, mcds_bytes key,
                         mcds_buffer *out)
{
    uint8_t head[FIXED + MCDS__RECORD_IDS * ID_LENGTH + INTENT_LENGTH + PARTED_LENGTH];
    size_t length = put_head(value, head);
    assert(length <= sizeof head);
    mcds_bytes inlined = value->kind == MCDS__RECORD_INLINE ? value->inlined
                                                            : (mcds_bytes){NULL, 0};
    out->length = 0;
    if (inlined.length > SIZE_MAX / 2 ||
        !mcds__buffer_reserve(out, MCDS__FRAME_OVERHEAD + length + inlined.length))
        return false;
    memcpy(out->data + MCDS__FRAME_HEAD, head, length);
    if (inlined.length > 0)
        memcpy(out->data + MCDS__FRAME_HEAD + length, inlined.data, inlined.length);
    out->length = mcds__frame_seal(out->data, FRAME_TYPE, FRAME_VERSION, key,
                                   length + inlined.length);
    return true;
}

static bool get_blocks(const uint8_t *at, struct mcds__record_blocks *blocks)
{
    blocks->name = mcds__get_u64(at);
    blocks->count = mcds__get_u32(at + 8);
    blocks->length = mcds__get_u64(at + 12);
    blocks->sum = mcds__get_u32(at + 20);
    return blocks->name != 0 && blocks->count > 0 && blocks->count <= MCDS__RECORD_BLOCKS_MAX &&
           blocks->length < LENGTH_MAX;
}

bool mcds__record_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__record_value *value)
{
    mcds_bytes payload;
    memset(value, 0, sizeof *value);
    if (!mcds__frame_open(bytes, FRAME_TYPE, FRAME_VERSION, key, &payload) ||
        payload.length < FIXED + INTENT_LENGTH)
        return false;
    const uint8_t *at = payload.data;
    const uint8_t *end = at + payload.length;
    value->generation = mcds__get_u64(at);
    value->version = mcds__get_u64(at + 8);
    value->kind = (enum mcds__record_kind)at[16];
    value->id_count = at[17];
    at += FIXED;
    if (value->id_count > MCDS__RECORD_IDS ||
        (size_t)(end - at) < value->id_count * (size_t)ID_LENGTH + INTENT_LENGTH)
        return false;
    for (uint32_t i = 0; i < value->id_count; i++, at += ID_LENGTH)
        value->ids[i] = (struct mcds__record_id){mcds__get_u64(at), mcds__get_u32(at + 8)};
    value->intent.name = mcds__get_u64(at);
    value->intent.count = mcds__get_u32(at + 8);
    if (value->intent.count > MCDS__RECORD_BLOCKS_MAX)
        return false;
    at += INTENT_LENGTH;
    switch (value->kind) {
    case MCDS__RECORD_INLINE:
        value->inlined = (mcds_bytes){at, (size_t)(end - at)};
        return true;
    case MCDS__RECORD_REMOVED:
        return at == end;
    case MCDS__RECORD_IN_BLOCKS:
        return end - at == PARTED_LENGTH && get_blocks(at, &value->blocks);
    }
    return false;
}

bool mcds__record_is_newer(mcds_bytes bytes, mcds_bytes key)
{
    return mcds__frame_is_newer(bytes, FRAME_TYPE, FRAME_VERSION, key);
}

void mcds__record_push_id(struct mcds__record_value *value, struct mcds__record_id id)
{
    if (value->id_count < MCDS__RECORD_IDS)
        value->id_count++;
    memmove(&value->ids[1], &value->ids[0], (value->id_count - 1) * sizeof value->ids[0]);
    assert(value->id_count > 0 && value->id_count <= MCDS__RECORD_IDS);
    value->ids[0] = id;
}

bool mcds__record_has_id(const struct mcds__record_value *value, struct mcds__record_id id)
{
    for (uint32_t i = 0; i < value->id_count; i++)
        if (value->ids[i].writer == id.writer && value->ids[i].seq == id.seq)
            return true;
    return false;
}
