/* Readers: clients that share a lease, in the value of its one key.
 *
 * Payload of the frame (type 'L', version 2):
 *   intent u32 | for each reader: token 16 bytes | extension u64 | end u32 | label length u8 |
 *   label
 *
 * `end` is the time left of the key's ttl when the lease of the reader ends, and `intent` that when
 * the intent ends, both in milliseconds. */
#include "core/lease/readers.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/frame.h"

#define FRAME_TYPE 'L'
#define INTENT_SIZE 4
#define NO_INTENT UINT32_MAX
static_assert(MCDS__READERS_MAX == 64, "the number in the sentence SHARED_BY_ALL");

/* No ttl of a lease is longer. */
#define TTL_MS_MAX (86400000 + 3600000)
/* Until this time after a write of an intent no reader joins; on memcached, where ttls are whole
 * seconds, up to a second longer. */
#define INTENT_MS 3000

static uint32_t left_at(uint32_t end_ms, int64_t ttl_ms)
{
    assert(ttl_ms >= 0 && ttl_ms <= TTL_MS_MAX);
    return end_ms < ttl_ms ? (uint32_t)ttl_ms - end_ms : 0;
}

bool mcds__readers_next(const struct mcds__readers_seen *seen, size_t *at,
                        struct mcds__reader *reader_out)
{
    const uint8_t *bytes = seen->payload.data;
    size_t from = *at > 0 ? *at : INTENT_SIZE;
    assert(from <= seen->payload.length);
    if (seen->payload.length - from < MCDS__READER_HEAD)
        return false;
    bytes += from;
    reader_out->token[0] = mcds__get_u64(bytes);
    reader_out->token[1] = mcds__get_u64(bytes + 8);
    reader_out->extension = mcds__get_u64(bytes + 16);
    reader_out->left_ms = left_at(mcds__get_u32(bytes + 24), seen->ttl_ms);
    reader_out->label = (mcds_bytes){bytes + MCDS__READER_HEAD, bytes[MCDS__READER_HEAD - 1]};
    if (reader_out->label.length > MCDS__LEASE_LABEL_MAX ||
        reader_out->label.length > seen->payload.length - from - MCDS__READER_HEAD)
        return false;
    *at = from + MCDS__READER_HEAD + reader_out->label.length;
    return true;
}

bool mcds__readers_open(mcds_bytes value, mcds_bytes key, int64_t ttl_ms,
                        struct mcds__readers_seen *seen_out)
{
    struct mcds__reader reader;
    struct mcds__readers_seen seen = {.count = 0};
    size_t at = INTENT_SIZE;
    uint32_t records = 0;
    if (!mcds__frame_open(value, FRAME_TYPE, MCDS__READERS_VERSION, key, &seen.payload) ||
        seen.payload.length < INTENT_SIZE)
        return false;
    seen.ttl_ms = ttl_ms < 0 || ttl_ms > TTL_MS_MAX ? TTL_MS_MAX : ttl_ms;
    while (records <= MCDS__READERS_MAX && mcds__readers_next(&seen, &at, &reader)) {
        records++;
        seen.count += reader.left_ms > 0;
    }
    if (at != seen.payload.length || records > MCDS__READERS_MAX)
        return false;
    seen.intended_ms = left_at(mcds__get_u32(seen.payload.data), seen.ttl_ms);
    *seen_out = seen;
    return true;
}

static bool is_own(const struct mcds__lease_call *call, const struct mcds__reader *reader)
{
    return call->is_reader && reader->token[0] == call->lease->token[0] &&
           reader->token[1] == call->lease->token[1];
}

static void show_reader(const struct mcds__reader *reader, struct mcds__lease_value *value_out)
{
    value_out->free = false;
    value_out->token[0] = reader->token[0];
    value_out->token[1] = reader->token[1];
    value_out->extension = reader->extension;
    value_out->label_length = (uint32_t)reader->label.length;
    memcpy(value_out->label, reader->label.data, reader->label.length);
    value_out->label[reader->label.length] = '\0';
}

enum mcds__lease_sight mcds__readers_read(struct mcds__lease_call *call, mcds_bytes value,
                                          int64_t ttl_ms, struct mcds__lease_value *value_out)
{
    struct mcds__reader reader;
    size_t at = 0;
    bool is_shown = false;
    if (!mcds__readers_open(value, mcds__key_bytes(&call->keys->lease), ttl_ms, &call->seen))
        return LEASE_DAMAGED;
    while (mcds__readers_next(&call->seen, &at, &reader)) {
        if (reader.left_ms == 0)
            continue;
        if (is_own(call, &reader)) {
            show_reader(&reader, value_out);
            return LEASE_MINE;
        }
        if (!is_shown)
            show_reader(&reader, value_out);
        is_shown = true;
    }
    assert(is_shown == (call->seen.count > 0));
    if (!call->is_reader)
        return is_shown ? LEASE_OTHERS : LEASE_FREE;
    bool is_closed = call->seen.intended_ms > 0 || call->seen.count >= MCDS__READERS_MAX;
    return is_closed || ttl_ms < 0 ? LEASE_OTHERS : LEASE_FREE;
}

const mcds_reason *mcds__readers_why_busy(const struct mcds__lease_call *call)
{
    if (!call->is_reader || (call->seen.count == 0 && call->seen.intended_ms == 0))
        return MCDS__WHY(HELD_BY_ANOTHER);
    return call->seen.intended_ms > 0 ? MCDS__WHY(WRITER_WAITS) : MCDS__WHY(SHARED_BY_ALL);
}

bool mcds__readers_make_room(struct mcds__lease_call *call)
{
    if (call->room == NULL)
        call->room = mcds__allocate(call->env, MCDS__READERS_VALUE_MAX);
    return call->room != NULL;
}

static size_t write_reader(uint8_t *at, const struct mcds__reader *reader, uint32_t ttl_ms)
{
    assert(reader->left_ms <= ttl_ms && reader->label.length <= MCDS__LEASE_LABEL_MAX);
    mcds__put_u64(at, reader->token[0]);
    mcds__put_u64(at + 8, reader->token[1]);
    mcds__put_u64(at + 16, reader->extension);
    mcds__put_u32(at + 24, ttl_ms - reader->left_ms);
    at[MCDS__READER_HEAD - 1] = (uint8_t)reader->label.length;
    memcpy(at + MCDS__READER_HEAD, reader->label.data, reader->label.length);
    return MCDS__READER_HEAD + reader->label.length;
}

/* The ttl of a value in which each other reader that was seen has as much left as it has now. */
static uint32_t ttl_for(const struct mcds__lease_call *call, uint32_t least_ms)
{
    struct mcds__reader reader;
    size_t at = 0;
    uint32_t ttl_ms = least_ms;
    while (call->seen.count > 0 && mcds__readers_next(&call->seen, &at, &reader))
        if (!is_own(call, &reader) && reader.left_ms > ttl_ms)
            ttl_ms = reader.left_ms;
    /* The store rounds a ttl up to whole seconds. Each change would lengthen the other leases. */
    return call->ttl_early_ms > 0 ? (ttl_ms + 999) / 1000 * 1000 : ttl_ms;
}

/* Writes the other readers that were seen, and `own` unless it is NULL, into the room. */
static mcds_request readers_write(struct mcds__lease_call *call, mcds_command command,
                                  const struct mcds__reader *own, uint32_t intended_ms,
                                  mcds_cas_token cas)
{
    struct mcds__reader reader;
    size_t from = 0;
    assert(call->room != NULL);
    uint8_t *payload = call->room + MCDS__FRAME_HEAD;
    size_t length = INTENT_SIZE;
    uint32_t least_ms = own != NULL && own->left_ms > intended_ms ? own->left_ms : intended_ms;
    uint32_t ttl_ms = ttl_for(call, least_ms);
    mcds__put_u32(payload, intended_ms > 0 ? ttl_ms - intended_ms : NO_INTENT);
    while (call->seen.count > 0 && mcds__readers_next(&call->seen, &from, &reader))
        if (reader.left_ms > 0 && !is_own(call, &reader))
            length += write_reader(payload + length, &reader, ttl_ms);
    if (own != NULL)
        length += write_reader(payload + length, own, ttl_ms);
    assert(ttl_ms > 0 && length + MCDS__FRAME_OVERHEAD <= MCDS__READERS_VALUE_MAX);
    mcds_bytes key = mcds__key_bytes(&call->keys->lease);
    return (mcds_request){
        .command = command,
        .ttl_ms = ttl_ms,
        .key = key,
        .route = mcds__lease_route(call),
        .value = {call->room,
                  mcds__frame_seal(call->room, FRAME_TYPE, MCDS__READERS_VERSION, key, length)},
        .cas = cas,
    };
}

mcds_request mcds__readers_join(struct mcds__lease_call *call, mcds_command command,
                                uint64_t extension, mcds_cas_token cas)
{
    const struct mcds__reader own = {
        .token = {call->lease->token[0], call->lease->token[1]},
        .extension = extension,
        .left_ms = call->lease_ms,
        .label = {call->label, strnlen(call->label, MCDS__LEASE_LABEL_MAX)},
    };
    assert(call->is_reader && (command == MCDS_ADD || command == MCDS_CAS));
    if (command == MCDS_ADD) /* of a key that is missing */
        call->seen = (struct mcds__readers_seen){.count = 0};
    return readers_write(call, command, &own, call->seen.intended_ms, cas);
}

bool mcds__readers_are_others(const struct mcds__lease_call *call)
{
    assert(call->is_reader && call->seen.count > 0); /* it is one of them */
    return call->seen.count > 1 || call->seen.intended_ms > 0;
}

mcds_request mcds__readers_leave(struct mcds__lease_call *call, mcds_cas_token cas)
{
    return readers_write(call, MCDS_CAS, NULL, call->seen.intended_ms, cas);
}

mcds_request mcds__readers_intend(struct mcds__lease_call *call, mcds_cas_token cas)
{
    assert(!call->is_reader);
    return readers_write(call, MCDS_CAS, NULL, INTENT_MS, cas);
}

bool mcds__readers_need_intent(const struct mcds__lease_call *call)
{
    return !call->is_reader && call->seen.count > 0 && call->seen.intended_ms <= INTENT_MS / 2;
}
