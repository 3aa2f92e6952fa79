/* Lease: the value of its key, and the requests that acquire, renew and release share.
 *
 * Payload of the frame (type 'L', version 1):
 *   state (0 held, 1 free) | token 16 bytes | extension u64 | label, to the end */
#include "core/lease/value.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/frame.h"
#include "core/lease/readers.h"

#define FRAME_TYPE 'L'
#define FRAME_VERSION 1
#define PAYLOAD_MIN (1 + 16 + 8)
#define STATE_HELD 0
#define STATE_FREE 1
/* Long enough for an add in flight to arrive and be refused. */
#define TOMBSTONE_MS 3000
/* Subtracted from a lease: clocks differ in speed, and time passes between check and act. */
#define DRIFT_PER_MILLION 500
#define MARGIN_NS (10 * NS_PER_MS)

bool mcds__lease_decode(mcds_bytes value, mcds_bytes key, struct mcds__lease_value *out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, FRAME_TYPE, FRAME_VERSION, key, &payload))
        return false;
    if (payload.length < PAYLOAD_MIN || payload.length > PAYLOAD_MIN + MCDS__LEASE_LABEL_MAX)
        return false;
    const uint8_t *at = payload.data;
    if (at[0] != STATE_HELD && at[0] != STATE_FREE)
        return false;
    out->free = at[0] == STATE_FREE;
    out->token[0] = mcds__get_u64(at + 1);
    out->token[1] = mcds__get_u64(at + 9);
    out->extension = mcds__get_u64(at + 17);
    out->label_length = (uint32_t)(payload.length - PAYLOAD_MIN);
    memcpy(out->label, at + PAYLOAD_MIN, out->label_length);
    assert(out->label_length <= MCDS__LEASE_LABEL_MAX);
    out->label[out->label_length] = '\0';
    return !out->free || out->label_length == 0;
}

int mcds__lease_refuse(mcds_bytes value, mcds_bytes key, const mcds_reason **detail_out)
{
    bool is_newer = mcds__frame_is_newer(value, FRAME_TYPE, MCDS__READERS_VERSION, key);
    *detail_out = is_newer ? MCDS__WHY(NEWER) : MCDS__WHY(FOREIGN);
    return is_newer ? MCDS_UNSUPPORTED : MCDS_CORRUPT;
}

/* Encode into call->value. */
static mcds_bytes lease_value_encode(struct mcds__lease_call *call, uint8_t state,
                                     uint64_t extension, const char *label)
{
    uint8_t *at = call->value + MCDS__FRAME_HEAD;
    size_t label_length = strnlen(label, MCDS__LEASE_LABEL_MAX);
    at[0] = state;
    mcds__put_u64(at + 1, call->lease->token[0]);
    mcds__put_u64(at + 9, call->lease->token[1]);
    mcds__put_u64(at + 17, extension);
    memcpy(at + PAYLOAD_MIN, label, label_length);
    size_t length = mcds__frame_seal(call->value, FRAME_TYPE, FRAME_VERSION,
                                     mcds__key_bytes(&call->keys->lease),
                                     PAYLOAD_MIN + label_length);
    assert(length <= sizeof call->value);
    return (mcds_bytes){call->value, length};
}

enum mcds__lease_sight mcds__lease_read(struct mcds__lease_call *call, const mcds_batch *batch,
                                        const mcds_request *request,
                                        struct mcds__lease_value *value_out)
{
    if (request->reply.outcome == MCDS_OUT_MISS)
        return LEASE_MISSING;
    if (request->reply.outcome != MCDS_OUT_OK)
        return LEASE_UNSEEN;
    call->seen.count = call->seen.intended_ms = 0;
    if (!mcds__lease_decode(mcds__reply_value(batch, request),
                            mcds__key_bytes(&call->keys->lease), value_out))
        return mcds__readers_read(call, mcds__reply_value(batch, request),
                                  request->reply.ttl_ms, value_out);
    if (value_out->free)
        return LEASE_FREE;
    bool mine = value_out->token[0] == call->lease->token[0] &&
                value_out->token[1] == call->lease->token[1];
    return mine ? LEASE_MINE : LEASE_OTHERS;
}

mcds_request mcds__lease_write(struct mcds__lease_call *call, mcds_command command,
                               uint64_t extension, mcds_cas_token cas)
{
    if (call->is_reader)
        return mcds__readers_join(call, command, extension, cas);
    return (mcds_request){
        .command = command,
        .ttl_ms = call->lease_ms,
        .key = mcds__key_bytes(&call->keys->lease),
        .route = mcds__lease_route(call),
        .value = lease_value_encode(call, STATE_HELD, extension, call->label),
        .cas = cas,
    };
}

mcds_request mcds__lease_bury(struct mcds__lease_call *call, mcds_command command,
                              mcds_cas_token cas)
{
    return (mcds_request){
        .command = command,
        .ttl_ms = TOMBSTONE_MS,
        .key = mcds__key_bytes(&call->keys->lease),
        .route = mcds__lease_route(call),
        .value = lease_value_encode(call, STATE_FREE, 0, ""),
        .cas = cas,
    };
}

mcds_request mcds__lease_get(const struct mcds__lease_call *call)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_WANT_TTL,
        .key = mcds__key_bytes(&call->keys->lease),
        .route = mcds__lease_route(call),
    };
}

mcds_request mcds__lease_delete(struct mcds__lease_call *call, mcds_cas_token cas)
{
    if (cas.connection == 0)
        return mcds__lease_bury(call, MCDS_CAS, cas);
    return (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&call->keys->lease),
        .route = mcds__lease_route(call),
        .cas = cas,
    };
}

int64_t mcds__lease_deadline(const struct mcds__lease_call *call, int64_t asked_ns)
{
    int64_t lease_ns = (int64_t)call->lease_ms * NS_PER_MS;
    return asked_ns + lease_ns - (int64_t)call->ttl_early_ms * NS_PER_MS -
           lease_ns / 1000000 * DRIFT_PER_MILLION - MARGIN_NS;
}

void mcds__lease_remember_cas(mcds_lease *lease, mcds_cas_token cas)
{
    lease->cas_unique = cas.unique;
    lease->cas_connection = cas.connection;
}

mcds_cas_token mcds__lease_cas(const mcds_lease *lease)
{
    return (mcds_cas_token){lease->cas_unique, lease->cas_connection};
}

bool mcds__lease_is_ghost(const mcds_lease *lease, uint64_t extension)
{
    return (lease->state & MCDS__LEASE_DOUBT) != 0 && extension == 0;
}

void mcds__lease_clear(mcds_lease *lease)
{
    *lease = (mcds_lease)MCDS_LEASE_INIT;
}

enum mcds__step mcds__lease_end_lost(struct mcds__lease_call *call,
                                     struct mcds__operation *operation, int result,
                                     const mcds_reason *detail)
{
    assert(result == MCDS_LOST || result == MCDS_AMBIGUOUS);
    mcds__lease_clear(call->lease);
    call->lease->state = MCDS__LEASE_GONE;
    return mcds__operation_explain(operation, result, detail);
}
