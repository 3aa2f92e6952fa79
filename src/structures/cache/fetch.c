/* Cache: fetch, which reads a value, and fills the key if there is none.
 *
 *   LOOK   read and claim          look.h
 *   (the program's fill reads the source)
 *   STORE  end the claim           put.h
 *
 * If the store fails, the caller still reads the source; the value is returned and not stored. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "structures/cache/look.h"
#include "structures/cache/put.h"

enum { FETCH_LOOK, FETCH_STORE };

struct mcds_fill {
    mcds_buffer bytes;
    int failed; /* the result of an addition that has failed */
};

struct cache_fetch {
    struct mcds__operation base;
    mcds_cache_fill_cb fill;
    void *context;
    mcds_value *value_out;
    mcds_cache_state *state_out;
    uint8_t stage;
    bool has_stale; /* *value_out is a stale value */
    int filled;     /* what the source has returned */
    struct mcds__cache_look look;
    struct mcds__cache_put put;
    mcds_cache_claim claim;
    struct mcds_fill fresh;
    size_t key_length;
    uint8_t key[MCDS__NAME_GIVEN_MAX];
};

int mcds_fill_add(mcds_fill *fill, mcds_bytes bytes)
{
    if (fill == NULL || (bytes.data == NULL && bytes.length > 0)) {
        if (fill != NULL)
            fill->failed = MCDS_INVALID;
        return mcds__fail_missing("cache", "fill_add", "a fill and bytes");
    }
    if (bytes.length > MCDS__CACHE_VALUE_MAX - fill->bytes.length) {
        fill->failed = MCDS_TOO_BIG;
        return mcds__fail(MCDS_TOO_BIG, TOO_BIG, .noun = "cache", .verb = "fill_add",
                          .option = "value", .wanted = "64 MB",
                          .wanted_max = MCDS__CACHE_VALUE_MAX);
    }
    if (mcds_buffer_append(&fill->bytes, bytes.data, bytes.length))
        return MCDS_OK;
    fill->failed = MCDS_NO_MEMORY;
    return mcds__fail_memory("cache", NULL, "fill_add");
}

static void fetch_release(struct mcds__operation *operation)
{
    struct cache_fetch *fetch = (struct cache_fetch *)operation;
    mcds__cache_look_free(&fetch->look, operation->env);
    mcds__cache_put_free(&fetch->put, operation->env);
    mcds__buffer_free(&fetch->fresh.bytes);
}

static enum mcds__step fetch_finish(struct cache_fetch *fetch, int result,
                                    mcds_cache_state state)
{
    assert(result == MCDS_OK || result == MCDS_NOT_FOUND);
    if (fetch->state_out != NULL)
        *fetch->state_out = state;
    fetch->base.detail = NULL;
    return mcds__operation_finish(&fetch->base, result);
}

static bool fetch_set_value(struct cache_fetch *fetch, mcds_bytes bytes)
{
    return mcds__value_set(fetch->value_out, fetch->base.env, bytes);
}

static enum mcds__step fetch_fail_memory(struct cache_fetch *fetch)
{
    fetch->base.detail = NULL;
    return mcds__operation_finish(&fetch->base, MCDS_NO_MEMORY);
}

/* An addition to the value has failed: this process had no memory, or the value is too big. The
 * source has not failed. */
static enum mcds__step fetch_fail_fill(struct cache_fetch *fetch)
{
    assert(fetch->fresh.failed < 0);
    fetch->base.detail = NULL;
    fetch->base.peer = NULL;
    return mcds__operation_finish(&fetch->base, fetch->fresh.failed);
}

/* The caller gets the result of the source. `is_stored`: the store has it too. */
static enum mcds__step fetch_give(struct cache_fetch *fetch, bool is_stored)
{
    mcds_cache_state state = is_stored ? MCDS_CACHE_FILLED : MCDS_CACHE_UNSTORED;
    if (fetch->fresh.failed != MCDS_OK)
        return fetch_fail_fill(fetch);
    if (fetch->filled == MCDS_NOT_FOUND)
        return fetch_finish(fetch, MCDS_NOT_FOUND, state);
    if (fetch->filled != MCDS_OK && fetch->has_stale)
        return fetch_finish(fetch, MCDS_OK, MCDS_CACHE_STALE);
    size_t length = fetch->fresh.bytes.length;
    if (fetch->filled != MCDS_OK && length > MCDS__CACHE_SENTENCE_MAX)
        length = MCDS__CACHE_SENTENCE_MAX;
    if (!fetch_set_value(fetch, (mcds_bytes){fetch->fresh.bytes.data, length}))
        return fetch_fail_memory(fetch);
    if (fetch->filled == MCDS_OK)
        return fetch_finish(fetch, MCDS_OK, state);
    fetch->base.peer = NULL;
    fetch->base.difference = (struct mcds__difference){.option = "fill",
                                                       .found = fetch->filled};
    return mcds__operation_explain(&fetch->base, MCDS_IO, MCDS__WHY(FILL_FAILED));
}

static void fetch_run_fill(struct cache_fetch *fetch)
{
    struct mcds__operation *operation = &fetch->base;
    assert(fetch->fresh.bytes.length == 0); /* the source is read once */
    mcds__operation_note_visit(operation);
    fetch->filled = fetch->fill(fetch->context, (mcds_bytes){fetch->key, fetch->key_length},
                                &fetch->fresh);
    mcds__operation_renew(operation);
}

static enum mcds__step fetch_begin_store(struct cache_fetch *fetch)
{
    const mcds_buffer *bytes = &fetch->fresh.bytes;
    assert(fetch->stage == FETCH_LOOK && fetch->claim.mine);
    fetch_run_fill(fetch);
    fetch->stage = FETCH_STORE;
    fetch->put.value = (mcds_bytes){bytes->data, bytes->length};
    fetch->put.end = fetch->fresh.failed != MCDS_OK    ? MCDS__CACHE_END_FREE
                     : fetch->filled == MCDS_OK        ? MCDS__CACHE_END_VALUE
                     : fetch->filled == MCDS_NOT_FOUND ? MCDS__CACHE_END_NOTHING
                                                       : MCDS__CACHE_END_FAILED;
    return MCDS__NEXT;
}

/* The look has failed: whether the caller may still read the source. A caller that has waited for
 * a writer's hold may. One that has waited for a fill may not: all would read it at once. */
static bool fetch_may_fill(const struct cache_fetch *fetch)
{
    switch (fetch->base.result) {
    case MCDS_BUSY:
        return fetch->look.is_held;
    case MCDS_IO:
        return !fetch->look.is_failed;
    case MCDS_NO_MEMORY:
    case MCDS_INVALID:
        return false;
    default:
        return true;
    }
}

static enum mcds__step fetch_take_look(struct cache_fetch *fetch)
{
    struct mcds__operation *operation = &fetch->base;
    int result = operation->result;
    bool mine = fetch->claim.mine;
    if (result == MCDS_OK || fetch->look.is_failed) {
        if (!fetch_set_value(fetch, fetch->look.value))
            return fetch_fail_memory(fetch);
        fetch->has_stale = mine;
    }
    if (mine)
        return fetch_begin_store(fetch);
    if (result == MCDS_OK || result == MCDS_NOT_FOUND)
        return fetch_finish(fetch, result, fetch->claim.state);
    if (!fetch_may_fill(fetch))
        return MCDS__DONE;
    fetch_run_fill(fetch);
    return fetch_give(fetch, false);
}

static enum mcds__step step_fetch(struct mcds__operation *operation)
{
    struct cache_fetch *fetch = (struct cache_fetch *)operation;
    enum mcds__step step;
    if (fetch->stage == FETCH_LOOK) {
        step = mcds__cache_look_step(&fetch->look, operation);
        if (step != MCDS__DONE)
            return step;
        step = fetch_take_look(fetch);
        if (step != MCDS__NEXT)
            return step;
    }
    step = mcds__cache_put_step(&fetch->put, operation);
    return step != MCDS__DONE ? step : fetch_give(fetch, operation->result == MCDS_OK);
}

static const struct mcds__operation_kind fetch_kind = {
    "cache", "fetch", sizeof(struct cache_fetch), step_fetch, fetch_release};

static int fetch_check(const mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags,
                       size_t tag_count, mcds_cache_fill_cb fill, const mcds_value *value_out)
{
    if (cache == NULL || fill == NULL || value_out == NULL)
        return mcds__fail_missing("cache", "fetch",
                                  "a cache, a fill and a place for the value");
    int result = mcds__cache_check_key(cache, &fetch_kind, "key", key);
    return result == MCDS_OK ? mcds__cache_check_tags(cache, &fetch_kind, tags, tag_count)
                             : result;
}

int mcds_cache_fetch_start(mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags,
                           size_t tag_count, mcds_cache_fill_cb fill, void *context,
                           mcds_value *value_out, mcds_cache_state *state_out,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = fetch_check(cache, key, tags, tag_count, fill, value_out);
    if (result != MCDS_OK)
        return result;
    struct cache_fetch own;
    struct cache_fetch *fetch = mcds__call_begin_zero(&own.base, &fetch_kind, &cache->handle,
                                                      start, &result);
    if (fetch == NULL)
        return result;
    fetch->fill = fill;
    fetch->context = context;
    fetch->value_out = value_out;
    fetch->state_out = state_out;
    fetch->look.cache = cache;
    fetch->look.claim = fetch->put.claim = &fetch->claim;
    fetch->put.cache = cache;
    fetch->look.wait_until_ns = fetch->base.sent_ns + (int64_t)cache->wait_ms * NS_PER_MS;
    mcds__buffer_init(&fetch->fresh.bytes, fetch->base.env, MCDS__CACHE_VALUE_MAX);
    assert(key.length <= sizeof fetch->key);
    fetch->key_length = key.length;
    memcpy(fetch->key, key.data, key.length);
    if (!mcds__cache_look_begin(&fetch->look, key, tags, tag_count, fetch->base.env)) {
        mcds__call_forget(start, fetch);
        return mcds__fail_memory("cache", cache->handle.name, "fetch");
    }
    return mcds__call_launch(&fetch->base, start);
}

int mcds_cache_fetch(mcds_cache *cache, mcds_bytes key, const mcds_bytes *tags,
                     size_t tag_count, mcds_cache_fill_cb fill, void *context,
                     mcds_value *value_out, mcds_cache_state *state_out)
{
    return mcds_cache_fetch_start(cache, key, tags, tag_count, fill, context, value_out,
                                  state_out, MCDS__WAIT, 0);
}
