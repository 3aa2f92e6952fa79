/* Items and generations of a cache: any bytes in a right frame are one or are refused; what is decoded
 * is written again as the same bytes, and the tags of an item end where its value begins. */
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "structures/cache/format/generation.h"
#include "structures/cache/format/item.h"

static const mcds_bytes key = {"mcds:ki1:fuzz:k", 15};

static mcds_bytes seal(uint8_t *out, size_t capacity, char type, const uint8_t *data,
                       size_t size)
{
    size_t length = size < capacity - MCDS__FRAME_OVERHEAD ? size
                                                           : capacity - MCDS__FRAME_OVERHEAD;
    memcpy(out + MCDS__FRAME_HEAD, data, length);
    return (mcds_bytes){out, mcds__frame_seal(out, type, 1, key, length)};
}

static void walk_tags(const struct mcds__cache_item *item)
{
    size_t at = 0;
    uint8_t count = 0;
    mcds_bytes text;
    uint64_t generation;
    while (mcds__cache_tag_next(item->tags, &at, &text, &generation)) {
        MUST(text.length > 0 && text.length <= MCDS__ELEMENT_MAX);
        count++;
    }
    MUST(at == item->tags.length && count == item->tag_count);
}

static void decode_item(mcds_bytes bytes)
{
    struct mcds__cache_item item;
    mcds_buffer again;
    if (!mcds__cache_item_decode(bytes, key, &item))
        return;
    MUST(item.value.length < bytes.length && item.tag_count <= MCDS__CACHE_TAGS_MAX);
    walk_tags(&item);
    mcds__buffer_init(&again, mcds_env_system(), (size_t)1 << 20);
    MUST(mcds__cache_item_encode(&item, key, &again));
    MUST(again.length == bytes.length && memcmp(again.data, bytes.data, bytes.length) == 0);
    mcds__buffer_free(&again);
}

static void decode_generation(mcds_bytes bytes)
{
    struct mcds__cache_generation generation = {.key = {.length = (uint8_t)key.length}};
    enum mcds__cache_generation_state state;
    uint64_t number;
    memcpy(generation.key.bytes, key.data, key.length);
    if (!mcds__cache_generation_decode(bytes, key, &state, &number))
        return;
    mcds_bytes again = mcds__cache_generation_frame(&generation, state, number);
    MUST(again.length == bytes.length && memcmp(again.data, bytes.data, again.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t frame[4096];
    decode_item((mcds_bytes){data, size});
    decode_item(seal(frame, sizeof frame, 'C', data, size));
    decode_generation((mcds_bytes){data, size});
    decode_generation(seal(frame, sizeof frame, 'K', data, size));
    /* Most bytes are far from an item: make the kind, the hold and the number of tags likely ones. */
    if (size > 48) {
        uint8_t near[2048];
        size_t length = size < sizeof near ? size : sizeof near;
        memcpy(near, data, length);
        near[0] = data[0] % 7;
        near[1] = data[1] % 3;
        near[39] = data[39] % 4;
        decode_item(seal(frame, sizeof frame, 'C', near, length));
    }
    return 0;
}
