/* Cache: read a key, and replace by compare-and-set what was read. */
#include "structures/cache/change.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"

enum { CACHE_CHANGE_BEGIN, CACHE_CHANGE_LOOK, CACHE_CHANGE_WRITE };

static enum mcds__step cache_change_ask_look(struct mcds__cache_change *call)
{
    call->stage = CACHE_CHANGE_LOOK;
    call->request = (mcds_request){
        .command = MCDS_GET, .options = MCDS_WANT_TTL, .key = mcds__key_bytes(&call->key)};
    call->base.connection = 0;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

/* Reads the key again after a pause; NULL: others have changed the key. */
static enum mcds__step cache_change_again(struct mcds__cache_change *call,
                                          const mcds_reply *trouble)
{
    struct mcds__operation *operation = &call->base;
    call->stage = CACHE_CHANGE_BEGIN;
    if (trouble == NULL ? mcds__operation_wait(operation, 0) : mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (trouble == NULL)
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_KEPT_CHANGING));
    else
        (void)mcds__operation_fail_read(operation, trouble);
    return mcds__cache_end(operation, call->doubt);
}

static enum mcds__step cache_change_take_look(struct mcds__cache_change *call)
{
    mcds_request write = {.key = mcds__key_bytes(&call->key)};
    const mcds_reply *reply = &call->request.reply;
    assert(call->stage == CACHE_CHANGE_LOOK && call->request.command == MCDS_GET);
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS) {
        if (mcds__is_transport_trouble(reply))
            return cache_change_again(call, reply);
        (void)mcds__operation_fail_read(&call->base, reply);
        return mcds__cache_end(&call->base, call->doubt);
    }
    if (call->decide(call, &write) == MCDS__DONE)
        return mcds__cache_end(&call->base, call->doubt);
    assert(write.command == MCDS_ADD || write.command == MCDS_CAS ||
           write.command == MCDS_DELETE);
    call->stage = CACHE_CHANGE_WRITE;
    call->base.connection = write.cas.connection;
    call->request = write;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

static enum mcds__step cache_change_take_write(struct mcds__cache_change *call)
{
    const mcds_reply *reply = &call->request.reply;
    assert(call->stage == CACHE_CHANGE_WRITE);
    bool is_gone = call->request.command == MCDS_DELETE && reply->outcome == MCDS_OUT_MISS;
    switch (is_gone ? MCDS_OUT_OK : reply->outcome) {
    case MCDS_OUT_OK:
        return mcds__operation_finish(&call->base, MCDS_OK);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        return cache_change_again(call, NULL);
    case MCDS_OUT_UNKNOWN:
        call->doubt = true;
        return cache_change_again(call, reply);
    case MCDS_OUT_UNSENT:
        return cache_change_again(call, reply);
    default:
        (void)mcds__operation_fail(&call->base, reply);
        return mcds__cache_end(&call->base, call->doubt);
    }
}

enum mcds__step mcds__cache_change_step(struct mcds__operation *operation)
{
    struct mcds__cache_change *call = (struct mcds__cache_change *)operation;
    switch (call->stage) {
    case CACHE_CHANGE_BEGIN:
        return cache_change_ask_look(call);
    case CACHE_CHANGE_LOOK:
        return cache_change_take_look(call);
    default:
        return cache_change_take_write(call);
    }
}

void mcds__cache_change_release(struct mcds__operation *operation)
{
    mcds__buffer_free(&((struct mcds__cache_change *)operation)->bytes);
}

int mcds__cache_change_launch(mcds_cache *cache, const struct mcds__operation_kind *kind,
                              const struct mcds__key *key, uint32_t hold_ms,
                              enum mcds__step (*decide)(struct mcds__cache_change *call,
                                                        mcds_request *write),
                              const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct mcds__cache_change own;
    struct mcds__cache_change *call = mcds__call_begin_zero(&own.base, kind, &cache->handle,
                                                            start, &result);
    if (call == NULL)
        return result;
    call->cache = cache;
    call->hold_ms = hold_ms;
    call->decide = decide;
    call->key = *key;
    mcds__buffer_init(&call->bytes, call->base.env, MCDS__CACHE_VALUE_MAX);
    return mcds__call_launch(&call->base, start);
}
