/* Segment: payloads too large for a segment, in blocks under keys of their own. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/segment/read.h"

#define TYPE 'P'
#define VERSION 1
#define BLOCK_MAX ((size_t)512 * 1024)
/* The bytes in flight at once. */
#define ROUND_MAX ((size_t)4 << 20)
#define BLOCK_COUNT_MAX 65536

static size_t block_length(mcds_store *store)
{
    const mcds_capabilities can = mcds__store_can(store);
    size_t most = can.value_max < BLOCK_MAX ? (size_t)can.value_max : BLOCK_MAX;
    return most - MCDS__FRAME_OVERHEAD;
}

int mcds__segment_take_large(struct mcds__segment_append *append,
                             struct mcds__segment_record *record, uint8_t *where)
{
    static const uint8_t zeros[MCDS__FRAME_OVERHEAD];
    const uint8_t *at = record->payload.data;
    size_t left = record->payload.length;
    size_t most = block_length(append->segments->store);
    assert(left > MCDS__SEGMENT_INLINE_MAX && append->records.length == 0);
    if (left > MCDS__SEGMENT_LARGE_MAX || left / most >= BLOCK_COUNT_MAX)
        return MCDS_TOO_BIG;
    mcds__put_u64(where, most);
    mcds__put_u64(where + 4, 0);
    memmove(where + 8, where, 4);
    mcds__put_u64(where, left);
    append->block = append->block_count = 0;
    append->large.length = 0;
    if (!mcds__buffer_reserve(&append->large, left + (left / most + 1) * MCDS__FRAME_OVERHEAD))
        return MCDS_NO_MEMORY;
    for (; left > 0; append->block_count++) {
        size_t length = left < most ? left : most;
        (void)mcds_buffer_append(&append->large, zeros, MCDS__FRAME_HEAD);
        (void)mcds_buffer_append(&append->large, at, length);
        (void)mcds_buffer_append(&append->large, zeros, MCDS__FRAME_TAIL);
        at += length;
        left -= length;
    }
    assert(append->block_count > 0 && append->block_count <= BLOCK_COUNT_MAX);
    record->flags |= MCDS__SEGMENT_LARGE;
    record->payload = (mcds_bytes){where, MCDS__SEGMENT_WHERE};
    return MCDS_OK;
}

uint32_t mcds__segment_block_count(const struct mcds__segment_record *record,
                                   uint64_t *length_out, uint32_t *block_length_out)
{
    uint8_t wide[8] = {0};
    const uint8_t *where = record->payload.data;
    *length_out = 0;
    *block_length_out = 0;
    if (record->payload.length != MCDS__SEGMENT_WHERE)
        return 0;
    memcpy(wide, where + 8, 4);
    uint64_t most = mcds__get_u64(wide);
    *length_out = mcds__get_u64(where);
    *block_length_out = (uint32_t)most;
    if (most == 0 || most > BLOCK_MAX || *length_out == 0 ||
        *length_out > MCDS__SEGMENT_LARGE_MAX || *length_out / most >= BLOCK_COUNT_MAX)
        return 0;
    return (uint32_t)((*length_out + most - 1) / most);
}

/* Ask for the next blocks, as many as may be in flight at once. */
static enum mcds__step segment_blob_ask(struct mcds__segment_append *append,
                                        struct mcds__operation *operation)
{
    struct mcds__segment_scratch *scratch = append->scratch;
    struct mcds__segment_record record;
    uint64_t length;
    uint32_t most;
    mcds__segment_get((mcds_bytes){append->records.data, append->records.length}, 0, &record);
    (void)mcds__segment_block_count(&record, &length, &most);
    size_t stride = (size_t)most + MCDS__FRAME_OVERHEAD;
    size_t bytes = 0;
    uint32_t count = 0;
    for (uint32_t block = append->block; block < append->block_count; block++) {
        uint8_t *frame = append->large.data + block * stride;
        assert(block * stride < append->large.length);
        size_t whole = append->large.length - block * stride;
        whole = whole < stride ? whole : stride;
        if (count == MCDS__SEGMENT_CAPACITY || (count > 0 && bytes + whole > ROUND_MAX))
            break;
        mcds_bytes route = mcds__segment_block_key(append->segments, append->stream,
                                                   record.writer, record.seq, block,
                                                   &scratch->keys[count]);
        mcds_bytes key = mcds__key_bytes(&scratch->keys[count]);
        (void)mcds__frame_seal(frame, TYPE, VERSION, key, whole - MCDS__FRAME_OVERHEAD);
        scratch->requests[count++] = (mcds_request){
            .command = MCDS_SET,
            .ttl_ms = append->ttl_ms,
            .key = key,
            .route = route,
            .value = {frame, whole},
        };
        bytes += whole;
    }
    assert(count > 0 && count <= MCDS__SEGMENT_CAPACITY);
    return mcds__operation_ask_repeatable(operation, scratch->requests, count);
}

/* Each block has the same bytes under the same key, so storing one twice is harmless. */
enum mcds__step mcds__segment_store_blocks(struct mcds__segment_append *append,
                                           struct mcds__operation *operation)
{

    if (mcds__segment_get_scratch(&append->scratch, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = 0; append->has_asked && i < operation->batch.count; i++) {
        const mcds_reply *reply = &append->scratch->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK) {
            append->block++;
            continue;
        }
        append->has_asked = false;
        return mcds__operation_retry(operation, reply);
    }
    assert(append->block <= append->block_count);
    append->has_asked = append->block < append->block_count;
    if (!append->has_asked)
        return mcds__operation_finish(operation, MCDS_OK);
    return segment_blob_ask(append, operation);
}

void mcds__segment_fetch_begin(struct mcds__segment_fetch *fetch,
                               struct mcds__segments *segments)
{
    *fetch = (struct mcds__segment_fetch){.segments = segments};
    mcds__buffer_init(&fetch->whole, segments->env, (size_t)MCDS__SEGMENT_LARGE_MAX);
}

void mcds__segment_fetch_free(struct mcds__segment_fetch *fetch)
{
    mcds__buffer_free(&fetch->whole);
    mcds__free(fetch->segments->env, fetch->scratch);
    fetch->scratch = NULL;
}

static enum mcds__step segment_blob_ask_blocks(struct mcds__segment_fetch *fetch,
                                               uint64_t stream,
                                               const struct mcds__segment_record *record,
                                               uint32_t count, uint32_t length,
                                               struct mcds__operation *operation)
{
    struct mcds__segment_scratch *scratch = fetch->scratch;
    uint32_t most = (uint32_t)(ROUND_MAX / length);
    if (most > MCDS__SEGMENT_CAPACITY)
        most = MCDS__SEGMENT_CAPACITY;
    fetch->asked = 0;
    while (fetch->asked < count && fetch->asked < most) {
        uint32_t i = fetch->asked++;
        mcds_bytes route = mcds__segment_block_key(fetch->segments, stream, record->writer,
                                                   record->seq, fetch->block + i,
                                                   &scratch->keys[i]);
        mcds__segment_fill(scratch, i, MCDS_GET, route);
    }
    assert(fetch->asked > 0 && fetch->asked <= count);
    fetch->stage = 1;
    mcds__operation_renew(operation);
    return mcds__operation_ask_any_order(operation, scratch->requests, fetch->asked);
}

/* MCDS_OK, or why the block cannot be used. */
static int take_block(struct mcds__segment_fetch *fetch, const mcds_request *request,
                      struct mcds__operation *operation)
{
    mcds_bytes payload;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return MCDS_LOST;
    if (!mcds__frame_open(mcds__operation_value(operation, request), TYPE, VERSION,
                          request->key, &payload) ||
        payload.length == 0)
        return MCDS_CORRUPT;
    return mcds_buffer_append(&fetch->whole, payload.data, payload.length) ? MCDS_OK
                                                                           : MCDS_NO_MEMORY;
}

enum mcds__step mcds__segment_fetch_step(struct mcds__segment_fetch *fetch, uint64_t stream,
                                         const struct mcds__segment_record *record,
                                         struct mcds__operation *operation)
{
    uint64_t length;
    uint32_t most;
    uint32_t count = mcds__segment_block_count(record, &length, &most);
    if (mcds__segment_get_scratch(&fetch->scratch, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (fetch->stage == 0) {
        fetch->block = 0;
        fetch->whole.length = 0;
    } else {
        for (uint32_t i = 0; i < fetch->asked; i++) {
            const mcds_request *request = &fetch->scratch->requests[i];
            mcds_outcome outcome = request->reply.outcome;
            fetch->stage = 0;
            if (outcome != MCDS_OUT_OK && outcome != MCDS_OUT_MISS)
                return mcds__operation_fail_read(operation, &request->reply);
            int result = take_block(fetch, request, operation);
            if (result != MCDS_OK)
                return mcds__operation_finish(operation, result);
        }
        fetch->block += fetch->asked;
    }
    assert(fetch->block <= count);
    if (fetch->block < count)
        return segment_blob_ask_blocks(fetch, stream, record, count - fetch->block, most,
                                       operation);
    fetch->stage = 0;
    fetch->payload = (mcds_bytes){fetch->whole.data, fetch->whole.length};
    bool is_whole = count > 0 && fetch->whole.length == length;
    return mcds__operation_finish(operation, is_whole ? MCDS_OK : MCDS_CORRUPT);
}

uint32_t mcds__segment_fill_block_erasures(const struct mcds__segment_read *read,
                                           struct mcds__segment_blocks *blocks,
                                           struct mcds__segment_scratch *scratch)
{
    uint32_t count = 0;
    for (; blocks->item < read->count; blocks->item++, blocks->block = 0) {
        const struct mcds__segment_item *item = &read->items[blocks->item];
        struct mcds__segment_record record;
        uint64_t length;
        uint32_t most;
        (void)mcds__segment_read_item(read, item, &record);
        if ((record.flags & MCDS__SEGMENT_LARGE) == 0)
            continue;
        assert(!blocks->of_survey || item->index < MCDS__SEGMENT_SURVEY_MAX);
        uint64_t stream = read->stream + (blocks->of_survey ? item->index : 0);
        uint32_t end = mcds__segment_block_count(&record, &length, &most);
        for (; blocks->block < end; blocks->block++) {
            if (count == MCDS__SEGMENT_CAPACITY)
                return count;
            mcds_bytes route = mcds__segment_block_key(read->segments, stream, record.writer,
                                                       record.seq, blocks->block,
                                                       &scratch->keys[count]);
            mcds__segment_fill(scratch, count++, MCDS_DELETE, route);
        }
    }
    return count;
}
