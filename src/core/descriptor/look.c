/* Descriptor: read the root of a structure, in one batch with a request that writes it before. */
#include "core/descriptor/look.h"

#include <assert.h>

mcds_request mcds__root_look_write(struct mcds__root_look *look, mcds_command command,
                                   const struct mcds__descriptor *descriptor)
{
    mcds_bytes key = mcds__key_bytes(look->key);
    assert(command == MCDS_ADD || command == MCDS_CAS);
    assert(!descriptor->is_again || (command == MCDS_ADD && look->kind == MCDS__KIND_LOG));
    return (mcds_request){
        .command = command,
        .key = key,
        .value = {look->frame, mcds__descriptor_seal(descriptor, key, look->frame)},
        .flags = mcds__descriptor_flags(descriptor->life) |
                 (descriptor->is_again ? MCDS__DESCRIPTOR_AGAIN : 0),
        .ttl_ms = look->ttl_ms,
    };
}

enum mcds__step mcds__root_look_ask(struct mcds__root_look *look,
                                    struct mcds__operation *operation,
                                    const mcds_request *write)
{
    look->count = 0;
    if (write != NULL)
        look->requests[look->count++] = *write;
    look->requests[look->count++] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(look->key),
        .options = look->ttl_ms > 0 ? MCDS_WANT_TTL : 0,
    };
    return mcds__operation_ask_repeatable(operation, look->requests, look->count);
}

enum mcds__step mcds__root_look_again(const struct mcds__root_look *look,
                                      struct mcds__operation *operation,
                                      const mcds_reply *reply)
{
    if (reply->outcome != MCDS_OUT_MISS)
        return mcds__operation_retry(operation, reply);
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_explain(operation, MCDS_BUSY, look->vanishes);
}

enum mcds__step mcds__root_look_take(const struct mcds__root_look *look,
                                     struct mcds__operation *operation,
                                     struct mcds__descriptor *found_out)
{
    assert(look->count >= 1 && look->count <= sizeof look->requests / sizeof look->requests[0]);
    const mcds_request *read = mcds__root_look_read(look);
    const mcds_reply *added = &look->requests[0].reply;
    bool adds = look->count > 1;
    bool lacks = adds && look->may_lack && added->outcome == MCDS_OUT_NO_MEMORY;
    const mcds_reason *detail = NULL;
    if (read->reply.outcome == MCDS_OUT_OK) {
        int result = mcds__descriptor_open(found_out, mcds__operation_value(operation, read),
                                           read->reply.flags, read->key, look->kind, &detail);
        return result == MCDS_OK ? mcds__operation_finish(operation, result)
                                 : mcds__operation_explain(operation, result, detail);
    }
    if (adds && !lacks && mcds__is_refusal(added))
        return mcds__operation_fail(operation, added);
    if (read->reply.outcome == MCDS_OUT_MISS && (lacks || !adds))
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    return mcds__root_look_again(look, operation, &read->reply);
}
