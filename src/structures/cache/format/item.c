/* Cache: the value of an item's key. */
#include "structures/cache/format/item.h"

#include <assert.h>

#include "base/buffer.h"

#define FRAME_TYPE 'C'
#define FRAME_VERSION 1
#define HEAD 48
#define PIECES_BYTES (8 + 8 + 4 + 4)
#define LENGTH_MAX ((uint64_t)64 << 20)

void mcds__cache_tag_put(uint8_t *tags, size_t *length, mcds_bytes text, uint64_t generation)
{
    assert(text.length > 0 && text.length <= MCDS__ELEMENT_MAX);
    assert(*length + 1 + text.length + 8 <= MCDS__CACHE_TAGS_BYTES);
    tags[(*length)++] = (uint8_t)text.length;
    memcpy(tags + *length, text.data, text.length);
    mcds__put_u64(tags + *length + text.length, generation);
    *length += text.length + 8;
}

bool mcds__cache_tag_next(mcds_bytes tags, size_t *at, mcds_bytes *text_out,
                          uint64_t *generation_out)
{
    const uint8_t *bytes = tags.data;
    if (*at >= tags.length)
        return false;
    size_t length = bytes[*at];
    if (length == 0 || length > MCDS__ELEMENT_MAX || tags.length - *at < 1 + length + 8)
        return false;
    *text_out = (mcds_bytes){bytes + *at + 1, length};
    *generation_out = mcds__get_u64(bytes + *at + 1 + length);
    *at += 1 + length + 8;
    assert(*at <= tags.length);
    return true;
}

static void cache_item_put_head(uint8_t *at, const struct mcds__cache_item *item)
{
    at[0] = (uint8_t)item->kind;
    at[1] = item->held;
    mcds__put_u64(at + 2, item->id);
    mcds__put_u64(at + 10, (uint64_t)item->made_ms);
    mcds__put_u64(at + 18, (uint64_t)item->fresh_till_ms);
    mcds__put_u64(at + 26, mcds__cache_item_answers(item) ? (uint64_t)item->shown_till_ms
                                                          : item->base_id);
    mcds__put_u32(at + 34, item->cost_ms);
    at[38] = item->failures;
    at[39] = item->tag_count;
    mcds__put_u64(at + 40, item->generation);
}

static void put_pieces(uint8_t *at, const struct mcds__cache_pieces *pieces)
{
    mcds__put_u64(at, pieces->life);
    mcds__put_u64(at + 8, pieces->length);
    mcds__put_u32(at + 16, pieces->piece_length);
    mcds__put_u32(at + 20, pieces->sum);
}

bool mcds__cache_item_encode(const struct mcds__cache_item *item, mcds_bytes key,
                             mcds_buffer *out)
{
    bool has_pieces = item->kind == MCDS__CACHE_PIECES;
    assert(item->kind >= MCDS__CACHE_VALUE && item->kind <= MCDS__CACHE_FAILED);
    assert(item->tag_count <= MCDS__CACHE_TAGS_MAX);
    assert(!has_pieces || item->value.length == 0);
    size_t payload = HEAD + item->tags.length +
                     (has_pieces ? PIECES_BYTES : item->value.length);
    out->length = 0;
    if (!mcds__buffer_reserve(out, payload + MCDS__FRAME_OVERHEAD))
        return false;
    uint8_t *at = out->data + MCDS__FRAME_HEAD;
    cache_item_put_head(at, item);
    at += HEAD;
    if (item->tags.length > 0)
        memcpy(at, item->tags.data, item->tags.length);
    at += item->tags.length;
    if (has_pieces)
        put_pieces(at, &item->pieces);
    else if (item->value.length > 0)
        memcpy(at, item->value.data, item->value.length);
    out->length = mcds__frame_seal(out->data, FRAME_TYPE, FRAME_VERSION, key, payload);
    assert(out->length == payload + MCDS__FRAME_OVERHEAD);
    return true;
}

static bool cache_item_take_pieces(struct mcds__cache_item *item, mcds_bytes rest)
{
    const uint8_t *at = rest.data;
    if (rest.length != PIECES_BYTES)
        return false;
    item->pieces.life = mcds__get_u64(at);
    item->pieces.length = mcds__get_u64(at + 8);
    item->pieces.piece_length = mcds__get_u32(at + 16);
    item->pieces.sum = mcds__get_u32(at + 20);
    item->value = (mcds_bytes){NULL, 0};
    return item->pieces.length > 0 && item->pieces.length <= LENGTH_MAX &&
           item->pieces.piece_length > 0;
}

static bool take_rest(struct mcds__cache_item *item, mcds_bytes rest)
{
    size_t at = 0;
    mcds_bytes text;
    uint64_t generation;
    for (uint8_t i = 0; i < item->tag_count; i++)
        if (!mcds__cache_tag_next(rest, &at, &text, &generation))
            return false;
    assert(at <= rest.length);
    item->tags = (mcds_bytes){rest.data, at};
    rest = (mcds_bytes){(const uint8_t *)rest.data + at, rest.length - at};
    if (item->kind == MCDS__CACHE_PIECES)
        return cache_item_take_pieces(item, rest);
    item->value = rest;
    if (item->kind == MCDS__CACHE_FAILED)
        return rest.length <= MCDS__CACHE_SENTENCE_MAX;
    return item->kind == MCDS__CACHE_VALUE || rest.length == 0;
}

bool mcds__cache_item_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__cache_item *item)
{
    mcds_bytes payload;
    if (!mcds__frame_open(bytes, FRAME_TYPE, FRAME_VERSION, key, &payload) ||
        payload.length < HEAD)
        return false;
    const uint8_t *at = payload.data;
    if (at[0] < MCDS__CACHE_VALUE || at[0] > MCDS__CACHE_FAILED || at[1] > 1 ||
        at[39] > MCDS__CACHE_TAGS_MAX)
        return false;
    item->kind = (enum mcds__cache_kind)at[0];
    item->held = at[1] != 0;
    item->id = mcds__get_u64(at + 2);
    item->made_ms = (int64_t)mcds__get_u64(at + 10);
    item->fresh_till_ms = (int64_t)mcds__get_u64(at + 18);
    uint64_t till = mcds__get_u64(at + 26);
    item->shown_till_ms = mcds__cache_item_answers(item) ? (int64_t)till : 0;
    item->base_id = mcds__cache_item_answers(item) ? 0 : till;
    item->cost_ms = mcds__get_u32(at + 34);
    item->failures = at[38];
    item->tag_count = at[39];
    item->generation = mcds__get_u64(at + 40);
    return take_rest(item, (mcds_bytes){at + HEAD, payload.length - HEAD});
}

bool mcds__cache_item_is_newer(mcds_bytes bytes, mcds_bytes key)
{
    return mcds__frame_is_newer(bytes, FRAME_TYPE, FRAME_VERSION, key);
}
