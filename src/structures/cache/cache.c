/* Cache: the handle, its options and keys, and the checks of arguments. */
#include "structures/cache/cache.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define TTL_MS_MAX (30 * DAY_MS)
#define TTL_MS_DEFAULT 60000
#define FILL_MS_DEFAULT 10000
#define FILL_MS_MAX 3600000
#define FILL_MS_MIN 50
/* Where ttls are whole seconds and may end early. */
#define FILL_MS_MIN_COARSE 3000
#define WAIT_MS_MAX 86400000
/* The claim of a caller that died has ended by then, also where ttls are whole seconds. */
#define WAIT_MORE_MS 2000
#define FAILED_MS_DEFAULT 1000
#define FAILED_MS_MAX 60000
#define JITTER_DEFAULT 10
#define JITTER_MAX 90

struct mcds__cache_suffix mcds__cache_suffix_of(mcds_bytes bytes)
{
    struct mcds__key key = {.length = 0};
    struct mcds__cache_suffix suffix;
    mcds__key_add_bytes(&key, bytes);
    assert(key.length > 1 && (size_t)key.length - 1 <= MCDS__ELEMENT_MAX);
    suffix.length = (uint8_t)(key.length - 1);
    memcpy(suffix.text, key.bytes + 1, (size_t)suffix.length + 1);
    return suffix;
}

struct mcds__key mcds__cache_key(const struct mcds__key *begin, const char *suffix,
                                 size_t length)
{
    struct mcds__key key = *begin;
    assert(length <= MCDS__ELEMENT_MAX);
    mcds__key_add_encoded(&key, suffix, length);
    return key;
}

uint64_t mcds__cache_keep_ms(const mcds_cache *cache, int64_t shown_till_ms, int64_t now_ms)
{
    int64_t left_ms = shown_till_ms > now_ms ? shown_till_ms - now_ms : 0;
    if ((uint64_t)left_ms > 2 * TTL_MS_MAX) /* the clock that wrote it was far ahead */
        left_ms = (int64_t)(2 * TTL_MS_MAX);
    return (uint64_t)left_ms + MCDS__CACHE_SPARE_MS +
           mcds__cache_lease_ms(cache, cache->fill_ms);
}

bool mcds__cache_outlives_claim(const mcds_cache *cache, const struct mcds__cache_item *item,
                                int64_t ttl_ms, int64_t now_ms)
{
    assert(mcds__cache_item_answers(item));
    if (ttl_ms == MCDS_TTL_NEVER)
        return true;
    if (ttl_ms == MCDS_TTL_UNKNOWN) /* the least that a writer of any fill_ms has set */
        ttl_ms = item->shown_till_ms - now_ms + MCDS__CACHE_SPARE_MS + cache->ttl_early_ms;
    return ttl_ms >= (int64_t)mcds__cache_lease_ms(cache, cache->fill_ms);
}

bool mcds__cache_keep_request(const mcds_cache *cache, const struct mcds__cache_item *item,
                              const struct mcds__key *key, mcds_bytes bytes, mcds_cas_token cas,
                              int64_t now_ms, mcds_buffer *kept, mcds_request *request_out)
{
    assert(!item->held);
    kept->length = 0;
    if (!mcds_buffer_append(kept, bytes.data, bytes.length))
        return false;
    *request_out = (mcds_request){
        .command = MCDS_CAS,
        .ttl_ms = mcds__cache_keep_ms(cache, item->shown_till_ms, now_ms),
        .key = mcds__key_bytes(key),
        .value = {kept->data, kept->length},
        .cas = cas,
    };
    return true;
}

enum mcds__step mcds__cache_end(struct mcds__operation *operation, bool doubt)
{
    if (doubt && operation->result != MCDS_OK)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

enum mcds__step mcds__cache_repeat(struct mcds__operation *operation, const mcds_reply *reply,
                                   bool *doubt)
{
    assert(reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS);
    *doubt = *doubt || reply->outcome == MCDS_OUT_UNKNOWN;
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    (void)mcds__operation_fail(operation, reply);
    return mcds__cache_end(operation, *doubt);
}

int mcds__cache_check_key(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                          const char *what, mcds_bytes key)
{
    int result = mcds__check_bytes(kind, cache->handle.name, what, key);
    return result == MCDS_OK ? mcds__check_wall(kind, &cache->handle) : result;
}

int mcds__cache_check_tags(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                           const mcds_bytes *tags, size_t tag_count)
{
    if (tag_count > MCDS__CACHE_TAGS_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, cache->handle.name),
                          .option = "tag_count", .wanted_max = MCDS__CACHE_TAGS_MAX,
                          MCDS__FOUND(tag_count));
    if (tags == NULL && tag_count > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, cache->handle.name),
                          .option = "tags");
    int result = MCDS_OK;
    for (size_t i = 0; i < tag_count && result == MCDS_OK; i++)
        result = mcds__check_bytes(kind, cache->handle.name, "tag", tags[i]);
    return result;
}

static uint32_t shortest_hold_ms(const mcds_cache *cache)
{
    return cache->ttl_early_ms > 0 ? FILL_MS_MIN_COARSE : FILL_MS_MIN;
}

int mcds__cache_check_hold(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                           uint32_t hold_ms)
{
    uint32_t least_ms = shortest_hold_ms(cache);
    if (hold_ms >= least_ms && hold_ms <= FILL_MS_MAX)
        return MCDS_OK;
    return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, cache->handle.name),
                      .option = "hold_ms", .wanted_min = least_ms, .wanted_max = FILL_MS_MAX,
                      MCDS__FOUND(hold_ms));
}

static int check_cache_options(const char *name, const mcds_cache_options *options,
                               const mcds_capabilities *can)
{
    uint32_t least_ms = can->ttl_early_ms > 0 ? FILL_MS_MIN_COARSE : FILL_MS_MIN;
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "ttl_ms", options->ttl_ms, 1, TTL_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "stale_ms", options->stale_ms, 0, TTL_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "nothing_ms", options->nothing_ms, 1, TTL_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "fill_ms", options->fill_ms, least_ms, FILL_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", options->wait_ms, 0, WAIT_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "failed_ms", options->failed_ms, 1, FAILED_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "jitter", options->jitter, 1, JITTER_MAX},
    };
    int result = mcds__check_given("cache", name, NULL, given, sizeof given / sizeof given[0]);
    if (result != MCDS_OK)
        return result;
    if (!can->expires)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(CLAIM_WITHOUT_EXPIRY),
                              .noun = "cache", .name = name);
    if (!can->compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(CACHE_WITHOUT_CAS), .noun = "cache",
                              .name = name);
    return MCDS_OK;
}

static void take_options(mcds_cache *cache, const mcds_cache_options *options)
{
    cache->ttl_ms = options->ttl_ms > 0 ? options->ttl_ms : TTL_MS_DEFAULT;
    cache->stale_ms = options->stale_ms;
    cache->nothing_ms = options->nothing_ms > 0 ? options->nothing_ms : cache->ttl_ms;
    cache->fill_ms = options->fill_ms > 0 ? options->fill_ms : FILL_MS_DEFAULT;
    cache->wait_ms = options->wait_ms;
    cache->failed_ms = options->failed_ms > 0 ? options->failed_ms : FAILED_MS_DEFAULT;
    cache->jitter = options->jitter > 0 ? options->jitter : JITTER_DEFAULT;
}

int mcds_cache_open(mcds_store *store, const char *name, const mcds_cache_options *options,
                    mcds_cache **cache_out)
{
    mcds_cache_options own;
    int result = mcds__read_options("cache", store, name, cache_out,
                                    MCDS__SIZED_mcds_cache_options, options, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_capabilities can = mcds__store_can(store);
    result = check_cache_options(name, &own, &can);
    if (result != MCDS_OK)
        return result;
    mcds_cache *cache = mcds__handle_open("cache", store, name, sizeof *cache, NULL);
    if (cache == NULL)
        return MCDS_NO_MEMORY;
    const char *ns = mcds__store_ns(store);
    take_options(cache, &own);
    cache->ttl_early_ms = can.ttl_early_ms;
    if (cache->wait_ms == 0)
        cache->wait_ms = (uint32_t)mcds__cache_lease_ms(cache, cache->fill_ms) + WAIT_MORE_MS;
    assert(cache->fill_ms >= shortest_hold_ms(cache) && cache->fill_ms <= FILL_MS_MAX);
    mcds__key_begin(&cache->items, ns, MCDS__TAG_CACHE_ITEM, name);
    mcds__key_begin(&cache->refreshes, ns, MCDS__TAG_CACHE_REFRESH, name);
    mcds__key_begin(&cache->pieces, ns, MCDS__TAG_CACHE_PIECE, name);
    mcds__key_begin(&cache->tags, ns, MCDS__TAG_CACHE_TAG, name);
    mcds__key_begin(&cache->generation, ns, MCDS__TAG_CACHE, name);
    *cache_out = cache;
    return MCDS_OK;
}

void mcds_cache_close(mcds_cache *cache)
{
    mcds__handle_release((struct mcds__handle *)cache);
}
