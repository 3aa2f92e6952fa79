/* Cache: forget and expire, for the value of a key.
 *
 * A delete also ends the claim of a fill that is under way: its compare-and-set finds nothing. A
 * late delete causes at most a miss. expire keeps the value, which callers show while one of them
 * fills the key. It writes a new id: with the old id, a fill whose reply was lost would not see
 * that the item has expired, and would store its value as fresh. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/cache/change.h"

struct cache_forget {
    struct mcds__operation base;
    bool is_asked;
    bool doubt; /* a reply was lost */
    struct mcds__key key;
    mcds_request request;
};

static enum mcds__step cache_forget_take(struct cache_forget *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_reply *reply = &call->request.reply;
    assert(call->is_asked && call->request.command == MCDS_DELETE);
    call->is_asked = false;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_OK);
    return mcds__cache_repeat(operation, reply, &call->doubt);
}

static enum mcds__step step_cache_forget(struct mcds__operation *operation)
{
    struct cache_forget *call = (struct cache_forget *)operation;
    if (call->is_asked)
        return cache_forget_take(call);
    call->is_asked = true;
    call->request = (mcds_request){
        .command = MCDS_DELETE, .options = MCDS_MAKES_ROOM, .key = mcds__key_bytes(&call->key)};
    return mcds__operation_ask_repeatable(operation, &call->request, 1);
}

static const struct mcds__operation_kind cache_forget_kind = {
    "cache", "forget", sizeof(struct cache_forget), step_cache_forget, NULL};

static struct mcds__key item_key(const mcds_cache *cache, mcds_bytes key)
{
    struct mcds__cache_suffix suffix = mcds__cache_suffix_of(key);
    return mcds__cache_key(&cache->items, suffix.text, suffix.length);
}

int mcds_cache_forget_start(mcds_cache *cache, mcds_bytes key, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (cache == NULL)
        return mcds__fail_missing("cache", "forget", "a cache");
    int result = mcds__cache_check_key(cache, &cache_forget_kind, "key", key);
    if (result != MCDS_OK)
        return result;
    struct cache_forget own;
    struct cache_forget *call = mcds__call_begin_zero(&own.base, &cache_forget_kind,
                                                      &cache->handle, start, &result);
    if (call == NULL)
        return result;
    call->key = item_key(cache, key);
    return mcds__call_launch(&call->base, start);
}

int mcds_cache_forget(mcds_cache *cache, mcds_bytes key)
{
    return mcds_cache_forget_start(cache, key, MCDS__WAIT, 0);
}

/* Whether the item can still be shown as stale. */
static bool item_has_stale(const struct mcds__cache_item *item, int64_t now_ms)
{
    return mcds__cache_item_answers(item) && item->shown_till_ms > item->fresh_till_ms &&
           item->shown_till_ms > now_ms;
}

static enum mcds__step expire_decide(struct mcds__cache_change *call, mcds_request *write)
{
    struct mcds__operation *operation = &call->base;
    struct mcds__cache_item item;
    int64_t now_ms = mcds__wall_ms(operation->env);
    if (call->request.reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_OK);
    mcds_bytes value = mcds__operation_value(operation, &call->request);
    bool is_whole = mcds__cache_item_decode(value, call->request.key, &item);
    if (is_whole && call->doubt && item.id == call->id)
        return mcds__operation_finish(operation, MCDS_OK);
    if (!is_whole || !item_has_stale(&item, now_ms)) {
        write->command = MCDS_DELETE;
        write->options = MCDS_MAKES_ROOM;
        return MCDS__ASK;
    }
    if (call->request.reply.cas.connection == 0)
        return mcds__operation_lack_cas(operation);
    assert(mcds__cache_item_answers(&item));
    item.id = call->id = mcds__random_u64(operation->env);
    item.fresh_till_ms = 0;
    item.held = false;
    if (!mcds__cache_item_encode(&item, call->request.key, &call->bytes))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    write->command = MCDS_CAS;
    write->ttl_ms = mcds__cache_keep_ms(call->cache, item.shown_till_ms, now_ms);
    write->cas = call->request.reply.cas;
    write->value = (mcds_bytes){call->bytes.data, call->bytes.length};
    return MCDS__ASK;
}

static const struct mcds__operation_kind cache_expire_kind = MCDS__CACHE_CHANGE_KIND("expire");

int mcds_cache_expire_start(mcds_cache *cache, mcds_bytes key, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "expire", "a cache");
    int result = mcds__cache_check_key(cache, &cache_expire_kind, "key", key);
    if (result != MCDS_OK)
        return result;
    const struct mcds__key item = item_key(cache, key);
    return mcds__cache_change_launch(cache, &cache_expire_kind, &item, 0, expire_decide,
                                     MCDS__START(pipeline, tag));
}

int mcds_cache_expire(mcds_cache *cache, mcds_bytes key)
{
    return mcds_cache_expire_start(cache, key, MCDS__WAIT, 0);
}
