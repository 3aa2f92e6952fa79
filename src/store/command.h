/* The meaning of memcached's commands, for the backends that execute them: memory: and lmdb:. */
#ifndef MCDS_STORE_COMMAND_H
#define MCDS_STORE_COMMAND_H

#include "base/number.h"
#include "base/reason.h"
#include "mcds/backend.h"

/* The answer where a condition of the request is not met; MCDS_OUT_NONE: all are. `token` is that
 * of the living item; its connection is that of the store, also without an item. */
static inline mcds_outcome mcds__command_refusal(const mcds_request *request, bool is_living,
                                                 mcds_cas_token token)
{
    bool compares = request->command == MCDS_CAS ||
                    (request->cas.connection != 0 &&
                     (request->command == MCDS_DELETE || request->command == MCDS_APPEND));
    if (compares && request->cas.connection != token.connection &&
        request->cas.connection != MCDS_ANY_CONNECTION)
        return MCDS_OUT_EXISTS;
    if (compares && is_living && request->cas.unique != token.unique)
        return MCDS_OUT_EXISTS;
    switch (request->command) {
    case MCDS_ADD:
        return is_living ? MCDS_OUT_NOT_STORED : MCDS_OUT_NONE;
    case MCDS_REPLACE:
        return is_living ? MCDS_OUT_NONE : MCDS_OUT_NOT_STORED;
    case MCDS_CAS:
    case MCDS_DELETE:
    case MCDS_TOUCH:
        return is_living ? MCDS_OUT_NONE : MCDS_OUT_MISS;
    default:
        return MCDS_OUT_NONE;
    }
}

/* The number after an INCR or DECR of a living item with this value, or of a missing one; or the
 * answer where there is none. */
static inline mcds_outcome mcds__command_count(const mcds_request *request, bool is_living,
                                               mcds_bytes value, uint64_t *number_out)
{
    uint64_t number;
    *number_out = request->initial;
    if (!is_living)
        return (request->options & MCDS_CREATE) != 0 ? MCDS_OUT_NONE : MCDS_OUT_MISS;
    if (!mcds__parse_stored_u64(value.data, value.length, &number))
        return MCDS_OUT_NOT_NUMERIC;
    if (request->command == MCDS_INCR)
        *number_out = number + request->delta;
    else
        *number_out = number > request->delta ? number - request->delta : 0;
    return MCDS_OUT_NONE;
}

/* Answer a GET of a living item. */
static inline void mcds__command_show(mcds_request *request, mcds_bytes value, uint32_t flags,
                                      mcds_cas_token token, int64_t ttl_ms, mcds_buffer *values)
{
    mcds_reply *reply = &request->reply;
    if (values != NULL && !(request->options & MCDS_NO_VALUE)) {
        reply->value_at = values->length;
        if (!mcds_buffer_append(values, value.data, value.length)) {
            reply->outcome = MCDS_OUT_NO_BUFFER;
            reply->detail = MCDS__WHY(NO_MEMORY_FOR_VALUE);
            return;
        }
    }
    reply->outcome = MCDS_OUT_OK;
    reply->flags = flags;
    reply->value_length = value.length;
    reply->cas = token;
    if (request->options & MCDS_WANT_TTL)
        reply->ttl_ms = ttl_ms;
}

#endif
