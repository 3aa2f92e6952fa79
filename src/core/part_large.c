/* Core part: payloads too large for a part, in pieces under keys of their own. */
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/part.h"

#define TYPE 'P'
#define VERSION 1
#define PIECE_MAX ((size_t)512 * 1024)
/* What goes over the wire at once. */
#define ROUND_MAX ((size_t)4 << 20)
#define PIECE_COUNT_MAX 65536

static size_t piece_length(mcds_store *store)
{
    mcds_capabilities can;
    mcds__store_capabilities(store, &can);
    size_t most = can.value_max < PIECE_MAX ? (size_t)can.value_max : PIECE_MAX;
    return most - MCDS__FRAME_OVERHEAD;
}

int mcds__part_take_large(struct mcds__part_append *append, struct mcds__part_record *record,
                          uint8_t *where)
{
    static const uint8_t zeros[MCDS__FRAME_OVERHEAD];
    const uint8_t *at = record->payload.at;
    size_t left = record->payload.length;
    size_t most = piece_length(append->parts->store);
    if (left > MCDS__PART_LARGE_MAX || left / most >= PIECE_COUNT_MAX)
        return MCDS_TOO_BIG;
    mcds__put_u64(where, most);
    mcds__put_u64(where + 4, 0);
    memmove(where + 8, where, 4);
    mcds__put_u64(where, left);
    append->piece = append->piece_count = 0;
    append->large.length = 0;
    if (!mcds__buffer_reserve(&append->large, left + (left / most + 1) * MCDS__FRAME_OVERHEAD))
        return MCDS_NO_MEMORY;
    for (; left > 0; append->piece_count++) {
        size_t length = left < most ? left : most;
        (void)mcds_buffer_append(&append->large, zeros, MCDS__FRAME_HEAD);
        (void)mcds_buffer_append(&append->large, at, length);
        (void)mcds_buffer_append(&append->large, zeros, MCDS__FRAME_TAIL);
        at += length;
        left -= length;
    }
    record->flags |= MCDS__PART_LARGE;
    record->payload = (mcds_bytes){where, MCDS__PART_WHERE};
    return MCDS_OK;
}

uint32_t mcds__part_piece_count(const struct mcds__part_record *record, uint64_t *length_out,
                                uint32_t *piece_length_out)
{
    uint8_t wide[8] = {0};
    const uint8_t *where = record->payload.at;
    *length_out = 0;
    *piece_length_out = 0;
    if (record->payload.length != MCDS__PART_WHERE)
        return 0;
    memcpy(wide, where + 8, 4);
    uint64_t most = mcds__get_u64(wide);
    *length_out = mcds__get_u64(where);
    *piece_length_out = (uint32_t)most;
    if (most == 0 || most > PIECE_MAX || *length_out == 0 ||
        *length_out > MCDS__PART_LARGE_MAX || *length_out / most >= PIECE_COUNT_MAX)
        return 0;
    return (uint32_t)((*length_out + most - 1) / most);
}

/* The pieces from the next one on, as many as go over the wire at once. */
static enum mcds__step ask(struct mcds__part_append *append, struct mcds__operation *operation)
{
    struct mcds__part_room *room = append->room;
    struct mcds__part_record record;
    uint64_t length;
    uint32_t most;
    mcds__part_get((mcds_bytes){append->records.at, append->records.length}, 0, &record);
    (void)mcds__part_piece_count(&record, &length, &most);
    size_t stride = (size_t)most + MCDS__FRAME_OVERHEAD;
    size_t bytes = 0;
    uint32_t count = 0;
    for (uint32_t piece = append->piece; piece < append->piece_count; piece++) {
        uint8_t *frame = append->large.at + piece * stride;
        size_t whole = append->large.length - piece * stride;
        whole = whole < stride ? whole : stride;
        if (count == MCDS__PART_ROOM || (count > 0 && bytes + whole > ROUND_MAX))
            break;
        mcds_bytes route = mcds__part_piece_key(append->parts, append->family, record.writer,
                                                record.seq, piece, &room->keys[count]);
        mcds_bytes key = mcds__key_bytes(&room->keys[count]);
        (void)mcds__frame_seal(frame, TYPE, VERSION, key, whole - MCDS__FRAME_OVERHEAD);
        room->requests[count++] = (mcds_request){
            .command = MCDS_SET,
            .ttl_ms = append->ttl_ms,
            .key = key,
            .route = route,
            .value = {frame, whole},
        };
        bytes += whole;
    }
    return mcds__operation_ask_repeatable(operation, room->requests, count);
}

/* The same bytes under the same key: storing them twice does no harm. */
enum mcds__step mcds__part_store_pieces(struct mcds__part_append *append,
                                        struct mcds__operation *operation)
{

    if (mcds__part_get_room(&append->room, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = 0; append->has_asked && i < operation->batch.count; i++) {
        const mcds_reply *reply = &append->room->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK) {
            append->piece++;
            continue;
        }
        append->has_asked = false;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(operation, reply);
    }
    append->has_asked = append->piece < append->piece_count;
    if (!append->has_asked)
        return mcds__operation_finish(operation, MCDS_OK);
    return ask(append, operation);
}

void mcds__part_fetch_begin(struct mcds__part_fetch *fetch, struct mcds__parts *parts)
{
    *fetch = (struct mcds__part_fetch){.parts = parts};
    mcds__buffer_init(&fetch->whole, parts->env, (size_t)MCDS__PART_LARGE_MAX);
}

void mcds__part_fetch_free(struct mcds__part_fetch *fetch)
{
    mcds__buffer_free(&fetch->whole);
    mcds__free(fetch->parts->env, fetch->room);
    fetch->room = NULL;
}

static enum mcds__step ask_pieces(struct mcds__part_fetch *fetch, uint64_t family,
                                  const struct mcds__part_record *record, uint32_t count,
                                  uint32_t length, struct mcds__operation *operation)
{
    struct mcds__part_room *room = fetch->room;
    uint32_t most = (uint32_t)(ROUND_MAX / length);
    if (most > MCDS__PART_ROOM)
        most = MCDS__PART_ROOM;
    fetch->asked = 0;
    while (fetch->asked < count && fetch->asked < most) {
        uint32_t i = fetch->asked++;
        mcds_bytes route = mcds__part_piece_key(fetch->parts, family, record->writer,
                                                record->seq, fetch->piece + i, &room->keys[i]);
        room->requests[i] = (mcds_request){
            .command = MCDS_GET,
            .key = mcds__key_bytes(&room->keys[i]),
            .route = route,
        };
    }
    fetch->stage = 1;
    mcds__operation_renew(operation);
    return mcds__operation_ask_any_order(operation, room->requests, fetch->asked);
}

/* MCDS_OK, or why the piece cannot be used. */
static int take_piece(struct mcds__part_fetch *fetch, const mcds_request *request,
                      const mcds_batch *batch)
{
    mcds_bytes payload;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return MCDS_LOST;
    if (!mcds__frame_open(mcds__reply_value(batch, request), TYPE, VERSION, request->key,
                          &payload) ||
        payload.length == 0)
        return MCDS_CORRUPT;
    return mcds_buffer_append(&fetch->whole, payload.at, payload.length) ? MCDS_OK
                                                                         : MCDS_NO_MEMORY;
}

enum mcds__step mcds__part_fetch_step(struct mcds__part_fetch *fetch, uint64_t family,
                                      const struct mcds__part_record *record,
                                      struct mcds__operation *operation)
{
    uint64_t length;
    uint32_t most;
    uint32_t count = mcds__part_piece_count(record, &length, &most);
    if (mcds__part_get_room(&fetch->room, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (fetch->stage == 0) {
        fetch->piece = 0;
        fetch->whole.length = 0;
    } else {
        for (uint32_t i = 0; i < fetch->asked; i++) {
            const mcds_request *request = &fetch->room->requests[i];
            mcds_outcome outcome = request->reply.outcome;
            fetch->stage = 0;
            if (outcome != MCDS_OUT_OK && outcome != MCDS_OUT_MISS)
                return mcds__operation_fail_read(operation, &request->reply);
            int result = take_piece(fetch, request, &operation->batch);
            if (result != MCDS_OK)
                return mcds__operation_finish(operation, result);
        }
        fetch->piece += fetch->asked;
    }
    if (fetch->piece < count)
        return ask_pieces(fetch, family, record, count - fetch->piece, most, operation);
    fetch->stage = 0;
    fetch->payload = (mcds_bytes){fetch->whole.at, fetch->whole.length};
    bool is_whole = count > 0 && fetch->whole.length == length;
    return mcds__operation_finish(operation, is_whole ? MCDS_OK : MCDS_CORRUPT);
}
