/* Cache: hold, which keeps fills from being stored while a writer changes the source.
 *
 * A held item shows its value, and no fill replaces it. Its ttl is that of the hold. If the
 * writer dies after its commit, the item ends with the hold, and the next fill reads the
 * committed state. A key without a value gets a hold without a value; other callers wait for its
 * end as for a fill. A generation is held under its number, by compare-and-set (generation.h). */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/cache/change.h"

/* The ttl of the hold: at least that of a present hold. */
static uint64_t cache_hold_ttl_ms(const struct mcds__cache_change *call, bool is_held)
{
    uint64_t ttl_ms = mcds__cache_lease_ms(call->cache, call->hold_ms);
    int64_t left_ms = call->request.reply.ttl_ms;
    return is_held && left_ms > 0 && (uint64_t)left_ms > ttl_ms ? (uint64_t)left_ms : ttl_ms;
}

static enum mcds__step set_write(struct mcds__cache_change *call, mcds_request *write,
                                 uint64_t ttl_ms, mcds_bytes value)
{
    bool is_there = call->request.reply.outcome == MCDS_OUT_OK;
    if (is_there && call->request.reply.cas.connection == 0)
        return mcds__operation_lack_cas(&call->base);
    write->command = is_there ? MCDS_CAS : MCDS_ADD;
    write->cas = is_there ? call->request.reply.cas : (mcds_cas_token){0, 0};
    write->ttl_ms = ttl_ms;
    write->value = value;
    write->options = MCDS_NEEDS_CAS;
    return MCDS__ASK;
}

static enum mcds__step cache_hold_decide(struct mcds__cache_change *call, mcds_request *write)
{
    struct mcds__operation *operation = &call->base;
    struct mcds__cache_item item = {.kind = MCDS__CACHE_FILLING};
    mcds_bytes value = mcds__operation_value(operation, &call->request);
    bool is_there = call->request.reply.outcome == MCDS_OUT_OK;
    if (is_there && mcds__cache_item_is_newer(value, call->request.key))
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    bool is_whole = is_there && mcds__cache_item_decode(value, call->request.key, &item);
    if (is_whole && call->doubt && item.id == call->id)
        return mcds__operation_finish(operation, MCDS_OK);
    bool was_held = is_whole && item.held;
    if (!is_whole || !mcds__cache_item_answers(&item))
        item = (struct mcds__cache_item){.kind = MCDS__CACHE_FILLING,
                                         .made_ms = mcds__wall_ms(operation->env)};
    item.held = true;
    item.id = call->id = mcds__random_u64(operation->env);
    if (!mcds__cache_item_encode(&item, call->request.key, &call->bytes))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return set_write(call, write, cache_hold_ttl_ms(call, was_held),
                     (mcds_bytes){call->bytes.data, call->bytes.length});
}

static const struct mcds__operation_kind cache_hold_kind = MCDS__CACHE_CHANGE_KIND("hold");

int mcds_cache_hold_start(mcds_cache *cache, mcds_bytes key, uint32_t hold_ms,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "hold", "a cache");
    int result = mcds__cache_check_key(cache, &cache_hold_kind, "key", key);
    if (result == MCDS_OK)
        result = mcds__cache_check_hold(cache, &cache_hold_kind, hold_ms);
    if (result != MCDS_OK)
        return result;
    const struct mcds__cache_suffix suffix = mcds__cache_suffix_of(key);
    const struct mcds__key item = mcds__cache_key(&cache->items, suffix.text, suffix.length);
    return mcds__cache_change_launch(cache, &cache_hold_kind, &item, hold_ms, cache_hold_decide,
                                     MCDS__START(pipeline, tag));
}

int mcds_cache_hold(mcds_cache *cache, mcds_bytes key, uint32_t hold_ms)
{
    return mcds_cache_hold_start(cache, key, hold_ms, MCDS__WAIT, 0);
}

/* After a lost reply the hold is written once more, over the present item. It makes no difference
 * whether the first write has arrived. The hold of another writer may end earlier. */
static enum mcds__step tag_decide(struct mcds__cache_change *call, mcds_request *write)
{
    struct mcds__operation *operation = &call->base;
    struct mcds__cache_generation *generation = &call->generation;
    generation->key = call->key;
    mcds__cache_generation_take(generation, &operation->batch, &call->request);
    bool was_held = generation->state == MCDS__CACHE_HELD;
    assert(generation->state <= MCDS__CACHE_DAMAGED);
    bool has_number = was_held || generation->state == MCDS__CACHE_ALIVE;
    uint64_t number = has_number ? generation->number : mcds__random_u64(operation->env);
    return set_write(call, write, cache_hold_ttl_ms(call, was_held),
                     mcds__cache_generation_frame(generation, MCDS__CACHE_HELD, number));
}

static const struct mcds__operation_kind cache_hold_tag_kind = MCDS__CACHE_CHANGE_KIND(
    "hold_tag");

int mcds_cache_hold_tag_start(mcds_cache *cache, mcds_bytes by, uint32_t hold_ms,
                              mcds_pipeline *pipeline, uint64_t tag)
{
    if (cache == NULL)
        return mcds__fail_missing("cache", "hold_tag", "a cache");
    int result = mcds__cache_check_key(cache, &cache_hold_tag_kind, "tag", by);
    if (result == MCDS_OK)
        result = mcds__cache_check_hold(cache, &cache_hold_tag_kind, hold_ms);
    if (result != MCDS_OK)
        return result;
    const struct mcds__cache_suffix suffix = mcds__cache_suffix_of(by);
    const struct mcds__key key = mcds__cache_key(&cache->tags, suffix.text, suffix.length);
    return mcds__cache_change_launch(cache, &cache_hold_tag_kind, &key, hold_ms, tag_decide,
                                     MCDS__START(pipeline, tag));
}

int mcds_cache_hold_tag(mcds_cache *cache, mcds_bytes by, uint32_t hold_ms)
{
    return mcds_cache_hold_tag_start(cache, by, hold_ms, MCDS__WAIT, 0);
}
