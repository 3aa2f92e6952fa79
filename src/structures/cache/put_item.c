/* Cache: what a put writes: the kind of the item, its tags and its times. */
#include <assert.h>

#include "base/environment.h"
#include "structures/cache/put.h"

/* Longest time after a failure. */
#define FAILED_MS_MOST 60000

bool mcds__cache_put_changes_claim(const struct mcds__cache_put *put)
{
    switch (put->end) {
    case MCDS__CACHE_END_VALUE:
    case MCDS__CACHE_END_NOTHING:
        return false;
    case MCDS__CACHE_END_FAILED:
        return put->claim->state != MCDS_CACHE_MISSING;
    default:
        return true;
    }
}

/* Shortened at random, so that values that were filled together do not end together. */
static uint64_t put_jitter_ms(const struct mcds__cache_put *put, uint64_t ttl_ms,
                              const mcds_env *env)
{
    uint64_t most = ttl_ms / 100 * put->cache->jitter + ttl_ms % 100 * put->cache->jitter / 100;
    assert(most < ttl_ms || ttl_ms == 0);
    return most > 0 ? ttl_ms - mcds__random_u64(env) % (most + 1) : ttl_ms;
}

static void put_set_times(struct mcds__cache_put *put, struct mcds__cache_item *item,
                          const mcds_env *env)
{
    const mcds_cache *cache = put->cache;
    int64_t now_ms = mcds__wall_ms(env);
    int64_t cost_ms = (mcds__monotonic_ns(env) - put->claim->began_ns) / NS_PER_MS;
    uint64_t ttl_ms = put->end == MCDS__CACHE_END_NOTHING ? cache->nothing_ms : cache->ttl_ms;
    item->cost_ms = cost_ms < 0 ? 0 : cost_ms < UINT32_MAX ? (uint32_t)cost_ms : UINT32_MAX;
    item->fresh_till_ms = now_ms + (int64_t)put_jitter_ms(put, ttl_ms, env);
    item->shown_till_ms = item->fresh_till_ms + (int64_t)cache->stale_ms;
    put->ttl_ms = mcds__cache_keep_ms(cache, item->shown_till_ms, now_ms);
}

/* Each failure in succession doubles the time. The store keeps the number of failures a little
 * longer than that time. */
static void put_set_failure(struct mcds__cache_put *put, struct mcds__cache_item *item,
                            const mcds_env *env)
{
    uint8_t failures = put->claim->failures;
    assert(put->end == MCDS__CACHE_END_FAILED && put->cache->failed_ms <= FAILED_MS_MOST);
    uint64_t wait_ms = put->cache->failed_ms;
    for (uint8_t i = 0; i < failures && wait_ms < FAILED_MS_MOST; i++)
        wait_ms *= 2;
    if (wait_ms > FAILED_MS_MOST)
        wait_ms = FAILED_MS_MOST;
    item->failures = failures < UINT8_MAX ? failures + 1 : failures;
    item->fresh_till_ms = mcds__wall_ms(env) + (int64_t)wait_ms;
    item->value = put->value;
    if (item->value.length > MCDS__CACHE_SENTENCE_MAX)
        item->value.length = MCDS__CACHE_SENTENCE_MAX;
    put->ttl_ms = mcds__cache_lease_ms(put->cache, 2 * wait_ms + MCDS__CACHE_SPARE_MS);
}

void mcds__cache_put_fill(struct mcds__cache_put *put, struct mcds__cache_item *item,
                          const mcds_env *env)
{
    const mcds_cache_claim *claim = put->claim;
    static const enum mcds__cache_kind kinds[] = {MCDS__CACHE_VALUE, MCDS__CACHE_NOTHING,
                                                  MCDS__CACHE_FAILED, MCDS__CACHE_FAILED,
                                                  MCDS__CACHE_FILLING};
    *item = (struct mcds__cache_item){
        .kind = kinds[put->end], .id = put->id, .made_ms = claim->made_ms};
    if (claim->refreshes && mcds__cache_put_changes_claim(put))
        item->base_id = claim->base_id;
    item->generation = claim->generation;
    item->tag_count = claim->tag_count;
    item->tags = (mcds_bytes){claim->tags, claim->tags_length};
    switch (put->end) {
    case MCDS__CACHE_END_FAILED:
        put_set_failure(put, item, env);
        return;
    case MCDS__CACHE_END_FREE:
        put->ttl_ms = MCDS__CACHE_FREE_MS;
        return;
    case MCDS__CACHE_END_RENEW:
        item->failures = claim->failures;
        put->ttl_ms = mcds__cache_lease_ms(put->cache, put->cache->fill_ms);
        item->fresh_till_ms = mcds__wall_ms(env) + put->cache->fill_ms;
        return;
    default:
        put_set_times(put, item, env);
    }
}
