/* Encodes requests and answers as bytes in memory that processes share. */
#include "store/lmdb/commit/message.h"

#include <assert.h>
#include <string.h>

#include "base/key.h"
#include "base/reason.h"

/* Precedes the bytes of key and value. */
struct head {
    uint64_t ttl_ms;
    uint64_t delta;
    uint64_t initial;
    uint64_t cas;
    uint64_t connection;
    uint32_t command;
    uint32_t options;
    uint32_t flags;
    uint32_t value_length;
    uint32_t key_length;
    uint32_t padding;
};

bool mcds__lmdb_message_leaves_out(const mcds_batch *batch, const mcds_request *request)
{
    return request->command == MCDS_GET && batch->values != NULL &&
           (request->options & MCDS_NO_VALUE) == 0;
}

static bool lmdb_message_add_request(struct mcds__lmdb_message *message,
                                     const mcds_request *request)
{
    const struct head head = {
        .ttl_ms = request->ttl_ms,
        .delta = request->delta,
        .initial = request->initial,
        .cas = request->cas.unique,
        .connection = request->cas.connection,
        .command = (uint32_t)request->command,
        .options = request->options,
        .flags = request->flags,
        .value_length = (uint32_t)request->value.length,
        .key_length = (uint32_t)request->key.length,
    };
    size_t capacity = sizeof message->bytes - message->length;
    if (message->count == MCDS__LMDB_MESSAGE_REQUESTS ||
        capacity < sizeof head + request->key.length ||
        capacity - sizeof head - request->key.length < request->value.length)
        return false;
    assert(message->count < MCDS__LMDB_MESSAGE_REQUESTS);
    uint8_t *at = message->bytes + message->length;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, request->key.data, request->key.length);
    if (request->value.length > 0)
        memcpy(at + sizeof head + request->key.length, request->value.data,
               request->value.length);
    message->length += (uint32_t)(sizeof head + request->key.length + request->value.length);
    assert(message->length <= sizeof message->bytes);
    message->count++;
    return true;
}

bool mcds__lmdb_message_add(struct mcds__lmdb_message *message, const mcds_batch *batch)
{
    uint32_t length = message->length;
    uint32_t count = message->count;
    bool reads = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const mcds_request *request = &batch->requests[i];
        bool left_out = mcds__lmdb_message_leaves_out(batch, request);
        reads = reads || left_out;
        if (left_out || ((!reads || request->command == MCDS_GET) &&
                         lmdb_message_add_request(message, request)))
            continue;
        assert(message->length >= length && message->count >= count);
        message->length = length;
        message->count = count;
        return false;
    }
    return true;
}

bool mcds__lmdb_message_next(const struct mcds__lmdb_message *message, size_t *at,
                             mcds_request *out)
{
    struct head head;
    if (message->length > sizeof message->bytes || *at > message->length ||
        message->length - *at < sizeof head)
        return false;
    memcpy(&head, message->bytes + *at, sizeof head);
    size_t capacity = message->length - *at - sizeof head;
    if (head.key_length == 0 || head.key_length > MCDS__KEY_MAX || head.key_length > capacity ||
        head.value_length > capacity - head.key_length || head.command > MCDS_TOUCH)
        return false;
    const uint8_t *key = message->bytes + *at + sizeof head;
    *at += sizeof head + head.key_length + head.value_length;
    assert(*at <= message->length);
    *out = (mcds_request){
        .command = (mcds_command)head.command,
        .options = head.options,
        .flags = head.flags,
        .ttl_ms = head.ttl_ms,
        .delta = head.delta,
        .initial = head.initial,
        .key = {key, head.key_length},
        .value = {key + head.key_length, head.value_length},
        .cas = {head.cas, head.connection},
    };
    return true;
}

void mcds__answer_write(const mcds_reply *reply, struct mcds__answer *out)
{
    *out = (struct mcds__answer){
        .outcome = (uint32_t)reply->outcome,
        .flags = reply->flags,
        .number = reply->number,
        .cas = reply->cas.unique,
        .connection = reply->cas.connection,
        .value_length = reply->value_length,
        .ttl_ms = reply->ttl_ms,
        .is_explained = reply->detail != NULL,
    };
}

void mcds__answer_read(const struct mcds__answer *answer, mcds_reply *out)
{
    *out = (mcds_reply){
        .outcome = answer->outcome <= MCDS_OUT_UNKNOWN ? (mcds_outcome)answer->outcome
                                                       : MCDS_OUT_UNKNOWN,
        .flags = answer->flags,
        .number = answer->number,
        .cas = {answer->cas, answer->connection},
        .value_length = (size_t)answer->value_length,
        .ttl_ms = answer->ttl_ms,
    };
    if (answer->is_explained != 0)
        out->detail = MCDS__WHY(REFUSED_FOR_ANOTHER);
}
