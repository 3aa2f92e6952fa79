/* Cache: the steps of fetch as calls of their own: look, put, fail, renew, release. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "structures/cache/look.h"
#include "structures/cache/put.h"

#define WAIT_MS_MAX 86400000

struct cache_look {
    struct mcds__operation base;
    mcds_value *value_out;
    struct mcds__cache_look look;
};

static void look_release(struct mcds__operation *operation)
{
    mcds__cache_look_free(&((struct cache_look *)operation)->look, operation->env);
}

static enum mcds__step step_cache_look(struct mcds__operation *operation)
{
    struct cache_look *call = (struct cache_look *)operation;
    assert(call->value_out != NULL && call->look.claim != NULL);
    enum mcds__step step = mcds__cache_look_step(&call->look, operation);
    if (step != MCDS__DONE)
        return step;
    if ((operation->result == MCDS_OK || call->look.is_failed) &&
        !mcds__value_set(call->value_out, operation->env, call->look.value))
        (void)mcds__operation_finish(operation, MCDS_NO_MEMORY);
    assert(!call->look.claim->mine || operation->result != MCDS_BUSY);
    if (operation->result < 0) /* a claim that the caller does not get ends by itself */
        call->look.claim->mine = false;
    return step;
}

static const struct mcds__operation_kind cache_look_kind = {
    "cache", "look", sizeof(struct cache_look), step_cache_look, look_release};

static int look_check(const mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags,
                      size_t tag_count, uint32_t wait_ms, const mcds_value *value_out,
                      const mcds_cache_claim *claim)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     WAIT_MS_MAX};
    if (cache == NULL || value_out == NULL || claim == NULL)
        return mcds__fail_missing("cache", "look",
                                  "a cache, a place for the value and a claim");
    int result = mcds__cache_check_key(cache, &cache_look_kind, "key", key);
    if (result == MCDS_OK)
        result = mcds__cache_check_tags(cache, &cache_look_kind, tags, tag_count);
    return result == MCDS_OK ? mcds__check_given("cache", cache->handle.name, "look", &wait, 1)
                             : result;
}

int mcds_cache_look_start(mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags,
                          size_t tag_count, uint32_t wait_ms, mcds_value *value_out,
                          mcds_cache_claim *claim, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = look_check(cache, key, tags, tag_count, wait_ms, value_out, claim);
    if (result != MCDS_OK)
        return result;
    struct cache_look own;
    struct cache_look *call = mcds__call_begin_zero(&own.base, &cache_look_kind, &cache->handle,
                                                    start, &result);
    if (call == NULL)
        return result;
    call->value_out = value_out;
    call->look.cache = cache;
    call->look.claim = claim;
    call->look.wait_until_ns = call->base.sent_ns + (int64_t)wait_ms * NS_PER_MS;
    if (!mcds__cache_look_begin(&call->look, key, tags, tag_count, call->base.env)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("cache", cache->handle.name, "look");
    }
    return mcds__call_launch(&call->base, start);
}

int mcds_cache_look(mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags, size_t tag_count,
                    uint32_t wait_ms, mcds_value *value_out, mcds_cache_claim *claim)
{
    return mcds_cache_look_start(cache, key, tags, tag_count, wait_ms, value_out, claim,
                                 MCDS__WAIT, 0);
}

/* In a pipeline, a copy of the value follows in the same memory; else it is not needed. */
struct cache_end {
    struct mcds__operation base;
    struct mcds__cache_put put;
    void *copy;
};

static void end_release(struct mcds__operation *operation)
{
    struct cache_end *call = (struct cache_end *)operation;
    mcds__cache_put_free(&call->put, operation->env);
    mcds__free(operation->env, call->copy);
}

static enum mcds__step step_cache_end(struct mcds__operation *operation)
{
    return mcds__cache_put_step(&((struct cache_end *)operation)->put, operation);
}

#define END_KIND(verb)                                                                         \
    {                                                                                          \
        "cache", verb, sizeof(struct cache_end), step_cache_end, end_release                   \
    }
static const struct mcds__operation_kind cache_put_kind = END_KIND("put");
static const struct mcds__operation_kind cache_fail_kind = END_KIND("fail");
static const struct mcds__operation_kind cache_renew_kind = END_KIND("renew");
static const struct mcds__operation_kind cache_release_kind = END_KIND("release");

/* A pipeline writes the value later, so it must not change. */
static bool end_take_value(struct cache_end *call, mcds_bytes value, bool waits)
{
    assert(call->copy == NULL);
    call->put.value = value;
    if (waits || value.length == 0)
        return true;
    call->copy = mcds__allocate(call->base.env, value.length);
    if (call->copy == NULL)
        return false;
    memcpy(call->copy, value.data, value.length);
    call->put.value.data = call->copy;
    return true;
}

/* Whether a look can have written these fields: all that an item needs. */
static bool claim_is_whole(const mcds_cache_claim *claim)
{
    size_t at = 0;
    mcds_bytes text;
    uint64_t generation;
    uint32_t tags = 0;
    if (claim->suffix_length == 0 || claim->suffix_length > MCDS__ELEMENT_MAX ||
        !mcds__key_is_legal((mcds_bytes){claim->suffix, claim->suffix_length}) ||
        claim->tags_length > sizeof claim->tags || claim->began_ns < 0)
        return false;
    while (mcds__cache_tag_next((mcds_bytes){claim->tags, claim->tags_length}, &at, &text,
                                &generation))
        tags++;
    return at == claim->tags_length && tags == claim->tag_count && tags <= MCDS__CACHE_TAGS_MAX;
}

static int end_launch(mcds_cache *cache, const struct mcds__operation_kind *kind,
                      mcds_cache_claim *claim, enum mcds__cache_end end, mcds_bytes value,
                      const struct mcds__start *start)
{
    int result = MCDS_OK;
    if (cache == NULL || claim == NULL || (value.data == NULL && value.length > 0))
        return mcds__fail_missing("cache", kind->verb, "a cache, a claim and the bytes");
    if (!claim->mine || !claim_is_whole(claim))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(CLAIM_NOT_MINE),
                              MCDS__CALL(kind, cache->handle.name));
    if (end != MCDS__CACHE_END_FREE)
        result = mcds__check_wall(kind, &cache->handle);
    if (result != MCDS_OK)
        return result;
    struct cache_end own;
    struct cache_end *call = mcds__call_begin_zero(&own.base, kind, &cache->handle, start,
                                                   &result);
    if (call == NULL)
        return result;
    call->put.cache = cache;
    call->put.claim = claim;
    call->put.end = end;
    if (!end_take_value(call, value, start == NULL)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("cache", cache->handle.name, kind->verb);
    }
    return mcds__call_launch(&call->base, start);
}

int mcds_cache_put_start(mcds_cache *cache, mcds_cache_claim *claim, const mcds_bytes *value,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    const mcds_bytes none = {NULL, 0};
    if (value != NULL && value->length > MCDS__CACHE_VALUE_MAX)
        return mcds__fail(MCDS_TOO_BIG, TOO_BIG, .noun = "cache", .verb = "put",
                          .option = "value", .wanted = "64 MB",
                          .wanted_max = MCDS__CACHE_VALUE_MAX, MCDS__FOUND(value->length));
    return end_launch(cache, &cache_put_kind, claim,
                      value != NULL ? MCDS__CACHE_END_VALUE : MCDS__CACHE_END_NOTHING,
                      value != NULL ? *value : none, MCDS__START(pipeline, tag));
}

int mcds_cache_put(mcds_cache *cache, mcds_cache_claim *claim, const mcds_bytes *value)
{
    return mcds_cache_put_start(cache, claim, value, MCDS__WAIT, 0);
}

int mcds_cache_fail_start(mcds_cache *cache, mcds_cache_claim *claim, mcds_bytes sentence,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    if (sentence.length > MCDS__CACHE_SENTENCE_MAX)
        sentence.length = MCDS__CACHE_SENTENCE_MAX;
    return end_launch(cache, &cache_fail_kind, claim, MCDS__CACHE_END_FAILED, sentence,
                      MCDS__START(pipeline, tag));
}

int mcds_cache_fail(mcds_cache *cache, mcds_cache_claim *claim, mcds_bytes sentence)
{
    return mcds_cache_fail_start(cache, claim, sentence, MCDS__WAIT, 0);
}

int mcds_cache_renew_start(mcds_cache *cache, mcds_cache_claim *claim, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    return end_launch(cache, &cache_renew_kind, claim, MCDS__CACHE_END_RENEW,
                      (mcds_bytes){NULL, 0}, MCDS__START(pipeline, tag));
}

int mcds_cache_renew(mcds_cache *cache, mcds_cache_claim *claim)
{
    return mcds_cache_renew_start(cache, claim, MCDS__WAIT, 0);
}

int mcds_cache_release_start(mcds_cache *cache, mcds_cache_claim *claim,
                             mcds_pipeline *pipeline, uint64_t tag)
{
    return end_launch(cache, &cache_release_kind, claim, MCDS__CACHE_END_FREE,
                      (mcds_bytes){NULL, 0}, MCDS__START(pipeline, tag));
}

int mcds_cache_release(mcds_cache *cache, mcds_cache_claim *claim)
{
    return mcds_cache_release_start(cache, claim, MCDS__WAIT, 0);
}
