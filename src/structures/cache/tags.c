/* Cache: forget_tag, clear and drop, which forget all values under a generation.
 *
 * forget_tag and clear set it to new random bytes, other ones for each try: so no value is shown
 * again after the late copy of an earlier try. drop deletes it. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/cache/cache.h"

struct cache_bump {
    struct mcds__operation base;
    bool erases;
    bool is_asked;
    bool doubt; /* a reply was lost */
    struct mcds__cache_generation generation;
    mcds_request request;
};

static enum mcds__step bump_take(struct cache_bump *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_reply *reply = &call->request.reply;
    assert(call->is_asked);
    assert(call->erases == (call->request.command == MCDS_DELETE));
    call->is_asked = false;
    if (reply->outcome == MCDS_OUT_OK)
        return mcds__operation_finish(operation, MCDS_OK);
    if (reply->outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, call->doubt ? MCDS_OK : MCDS_NOT_FOUND);
    return mcds__cache_repeat(operation, reply, &call->doubt);
}

static enum mcds__step step_cache_bump(struct mcds__operation *operation)
{
    struct cache_bump *call = (struct cache_bump *)operation;
    if (call->is_asked)
        return bump_take(call);
    call->is_asked = true;
    call->request = (mcds_request){.command = MCDS_DELETE,
                                   .options = MCDS_MAKES_ROOM,
                                   .key = mcds__key_bytes(&call->generation.key)};
    if (!call->erases) {
        call->request.command = MCDS_SET;
        call->request.ttl_ms = MCDS__CACHE_GENERATION_MS;
        call->request.value = mcds__cache_generation_frame(&call->generation, MCDS__CACHE_ALIVE,
                                                           mcds__random_u64(operation->env));
    }
    return mcds__operation_ask_repeatable(operation, &call->request, 1);
}

static const struct mcds__operation_kind cache_forget_tag_kind = {
    "cache", "forget_tag", sizeof(struct cache_bump), step_cache_bump, NULL};
static const struct mcds__operation_kind cache_clear_kind = {
    "cache", "clear", sizeof(struct cache_bump), step_cache_bump, NULL};
static const struct mcds__operation_kind cache_drop_kind = {
    "cache", "drop", sizeof(struct cache_bump), step_cache_bump, NULL};

static int bump_launch(mcds_cache *cache, const struct mcds__operation_kind *kind,
                       const struct mcds__key *key, const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct cache_bump own;
    struct cache_bump *call = mcds__call_begin_zero(&own.base, kind, &cache->handle, start,
                                                    &result);
    if (call == NULL)
        return result;
    call->erases = kind == &cache_drop_kind;
    call->generation.key = *key;
    assert(key->length > 0);
    return mcds__call_launch(&call->base, start);
}

int mcds_cache_forget_tag_start(mcds_cache *cache, mcds_bytes by, mcds_pipeline *pipeline,
                                uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "forget_tag", "a cache");
    int result = mcds__cache_check_key(cache, &cache_forget_tag_kind, "tag", by);
    if (result != MCDS_OK)
        return result;
    const struct mcds__cache_suffix suffix = mcds__cache_suffix_of(by);
    const struct mcds__key key = mcds__cache_key(&cache->tags, suffix.text, suffix.length);
    return bump_launch(cache, &cache_forget_tag_kind, &key, MCDS__START(pipeline, tag));
}

int mcds_cache_forget_tag(mcds_cache *cache, mcds_bytes by)
{
    return mcds_cache_forget_tag_start(cache, by, MCDS__WAIT, 0);
}

int mcds_cache_clear_start(mcds_cache *cache, mcds_pipeline *pipeline, uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "clear", "a cache");
    return bump_launch(cache, &cache_clear_kind, &cache->generation,
                       MCDS__START(pipeline, tag));
}

int mcds_cache_clear(mcds_cache *cache)
{
    return mcds_cache_clear_start(cache, MCDS__WAIT, 0);
}

int mcds_cache_drop_start(mcds_cache *cache, mcds_pipeline *pipeline, uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "drop", "a cache");
    return bump_launch(cache, &cache_drop_kind, &cache->generation, MCDS__START(pipeline, tag));
}

int mcds_cache_drop(mcds_cache *cache)
{
    return mcds_cache_drop_start(cache, MCDS__WAIT, 0);
}
