/* Cache: put, which ends a claim. */
#include "structures/cache/put.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/crc32c.h"

/* How often one call writes: again after a change of the connection, or a lost reply. */
#define WRITES_MAX 10

enum { PUT_BEGIN, PUT_PIECES, PUT_WRITE, PUT_KEEP, PUT_CHECK };

void mcds__cache_put_free(struct mcds__cache_put *put, const mcds_env *env)
{
    mcds__cache_transfer_free(&put->transfer, env);
    mcds__buffer_free(&put->bytes);
    mcds__buffer_free(&put->kept);
}

/* A claim to refresh is over when its item is gone, which the claim itself does not show. */
static bool put_asks_base(const struct mcds__cache_put *put)
{
    return put->claim->refreshes && mcds__cache_put_changes_claim(put);
}

/* Whether the put replaces the item that the claim to refresh names. */
static bool put_replaces_base(const struct mcds__cache_put *put)
{
    return put->claim->refreshes && !mcds__cache_put_changes_claim(put);
}

static enum mcds__step put_finish(struct mcds__cache_put *put,
                                  struct mcds__operation *operation, int result)
{
    assert(result == MCDS_OK || result == MCDS_EXPIRED);
    if (put->end == MCDS__CACHE_END_FREE && put->doubt)
        result = MCDS_OK; /* what was written may have ended since */
    bool stores = put->end != MCDS__CACHE_END_FREE && put->end != MCDS__CACHE_END_RENEW;
    bool is_gone = stores && put->doubt && result == MCDS_EXPIRED; /* it may have been stored */
    put->claim->mine = put->end == MCDS__CACHE_END_RENEW && result == MCDS_OK;
    if (put->result != MCDS_OK) /* refused before, and the claim was given back */
        return mcds__operation_finish(operation, put->result);
    if (is_gone)
        result = MCDS_AMBIGUOUS;
    return mcds__operation_explain(operation, result,
                                   result == MCDS_EXPIRED ? MCDS__WHY(CLAIM_OVER) : NULL);
}

/* After a refresh: the claim, given back. */
static mcds_request put_free_claim(struct mcds__cache_put *put, const mcds_env *env)
{
    struct mcds__cache_item free = {.kind = MCDS__CACHE_FAILED, .id = mcds__random_u64(env)};
    mcds_buffer buffer;
    mcds__buffer_init_in(&buffer, env, sizeof put->free_value, put->free_value,
                         sizeof put->free_value);
    (void)mcds__cache_item_encode(&free, mcds__key_bytes(&put->refresh_key), &buffer);
    return (mcds_request){
        .command = MCDS_CAS,
        .ttl_ms = MCDS__CACHE_FREE_MS,
        .key = mcds__key_bytes(&put->refresh_key),
        .value = {buffer.data, buffer.length},
        .route = mcds__key_bytes(&put->item_key),
        .cas = {put->claim->cas[0], put->claim->cas[1]},
    };
}

static enum mcds__step put_ask_write(struct mcds__cache_put *put,
                                     struct mcds__operation *operation)
{
    uint32_t count = 1;
    assert(put->bytes.length > 0 && put->cas.connection != 0);
    if (put->writes++ == WRITES_MAX)
        return mcds__operation_fail_waiting(operation, MCDS__WHY(SET_REFUSED));
    put->requests[0] = (mcds_request){
        .command = MCDS_CAS,
        .ttl_ms = put->ttl_ms,
        .key = mcds__key_bytes(&put->key),
        .value = {put->bytes.data, put->bytes.length},
        .route = mcds__key_bytes(&put->item_key),
        .cas = put->cas,
    };
    put->frees = put_replaces_base(put) && put->claim->cas[1] == put->cas.connection;
    if (put->frees)
        put->requests[count++] = put_free_claim(put, operation->env);
    if (put_asks_base(put))
        put->requests[count++] = (mcds_request){.command = MCDS_GET,
                                                .options = MCDS_WANT_TTL,
                                                .key = mcds__key_bytes(&put->item_key)};
    put->stage = PUT_WRITE;
    put->asked_ns = mcds__monotonic_ns(operation->env);
    operation->connection = put->cas.connection;
    return mcds__operation_ask_repeatable(operation, put->requests, count);
}

static enum mcds__step put_ask_check(struct mcds__cache_put *put,
                                     struct mcds__operation *operation)
{
    put->requests[0] = (mcds_request){.command = MCDS_GET,
                                      .key = mcds__key_bytes(&put->key),
                                      .route = mcds__key_bytes(&put->item_key)};
    put->stage = PUT_CHECK;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, put->requests, 1);
}

static enum mcds__step put_write_item(struct mcds__cache_put *put,
                                      struct mcds__operation *operation)
{
    struct mcds__cache_item item;
    mcds__cache_put_fill(put, &item, operation->env);
    if (put->end == MCDS__CACHE_END_VALUE && put->transfer.pieces.length > 0) {
        item.kind = MCDS__CACHE_PIECES;
        item.pieces = put->transfer.pieces;
    } else if (put->end == MCDS__CACHE_END_VALUE) {
        item.value = put->value;
    }
    if (!mcds__cache_item_encode(&item, mcds__key_bytes(&put->key), &put->bytes))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return put->cas.connection != 0 ? put_ask_write(put, operation)
                                    : put_ask_check(put, operation);
}

/* Choose what is replaced. A value that no generation protects is not stored. */
static void put_choose(struct mcds__cache_put *put, const mcds_env *env)
{
    const mcds_cache_claim *claim = put->claim;
    const mcds_cache *cache = put->cache;
    put->item_key = mcds__cache_key(&cache->items, claim->suffix, claim->suffix_length);
    put->refresh_key = mcds__cache_key(&cache->refreshes, claim->suffix, claim->suffix_length);
    put->key = put_asks_base(put) ? put->refresh_key : put->item_key;
    put->cas = put_replaces_base(put) ? (mcds_cas_token){claim->base_cas[0], claim->base_cas[1]}
                                      : (mcds_cas_token){claim->cas[0], claim->cas[1]};
    put->id = put->end == MCDS__CACHE_END_RENEW ? claim->id : mcds__random_u64(env);
    mcds__buffer_free(&put->bytes);
    mcds__buffer_init(&put->bytes, env, MCDS__CACHE_VALUE_MAX);
}

/* The id of what may be replaced. */
static uint64_t put_expected_id(const struct mcds__cache_put *put)
{
    return put_replaces_base(put) ? put->claim->base_id : put->claim->id;
}

/* Whether nothing may be stored. The item that is to be filled again does not show that the claim
 * has ended and that another caller has one; the clock of this caller does. */
static bool put_is_over(const struct mcds__cache_put *put, const mcds_env *env)
{
    const mcds_cache_claim *claim = put->claim;
    if (put->end == MCDS__CACHE_END_VALUE || put->end == MCDS__CACHE_END_NOTHING)
        if (!claim->stores)
            return true;
    return put_replaces_base(put) && mcds__monotonic_ns(env) >= claim->until_ns;
}

static enum mcds__step put_begin(struct mcds__cache_put *put, struct mcds__operation *operation)
{
    if (put_is_over(put, operation->env)) {
        put->end = MCDS__CACHE_END_FREE;
        put->result = MCDS_EXPIRED;
        operation->detail = MCDS__WHY(CLAIM_OVER);
    }
    mcds__buffer_init(&put->kept, operation->env, MCDS__CACHE_VALUE_MAX);
    put_choose(put, operation->env);
    size_t piece_length = mcds__cache_piece_length(put->cache);
    if (put->end != MCDS__CACHE_END_VALUE || put->value.length <= piece_length)
        return put_write_item(put, operation);
    const struct mcds__cache_pieces pieces = {
        .life = mcds__random_u64(operation->env),
        .length = put->value.length,
        .piece_length = (uint32_t)piece_length,
        .sum = mcds__crc32c(0, put->value.data, put->value.length),
    };
    mcds__cache_transfer_begin(&put->transfer, put->cache, put->claim->suffix,
                               put->claim->suffix_length, &pieces);
    put->stage = PUT_PIECES;
    return MCDS__NEXT;
}

/* The store has refused the value: give the claim back, so that another caller may try. */
static enum mcds__step put_refuse(struct mcds__cache_put *put,
                                  struct mcds__operation *operation)
{
    assert(operation->result != MCDS_OK);
    if (put->end == MCDS__CACHE_END_FREE || put->end == MCDS__CACHE_END_RENEW)
        return MCDS__DONE;
    assert(put->result == MCDS_OK); /* the first refusal counts */
    put->result = put->doubt ? MCDS_AMBIGUOUS : operation->result;
    put->end = MCDS__CACHE_END_FREE;
    put_choose(put, operation->env);
    return put_write_item(put, operation);
}

static enum mcds__step put_step_pieces(struct mcds__cache_put *put,
                                       struct mcds__operation *operation)
{
    uint64_t keep_ms = put->cache->ttl_ms + put->cache->stale_ms;
    enum mcds__step step = mcds__cache_transfer_write_step(
        &put->transfer, operation, put->value,
        keep_ms + 2 * MCDS__CACHE_SPARE_MS + put->cache->ttl_early_ms);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK)
        return put_refuse(put, operation);
    mcds__operation_renew(operation);
    return put_write_item(put, operation);
}

/* The reply does not show the value of the key. */
static enum mcds__step put_take_trouble(struct mcds__cache_put *put,
                                        struct mcds__operation *operation,
                                        const mcds_reply *reply)
{
    if (mcds__operation_again(operation)) {
        put->stage = PUT_CHECK;
        put->requests[0].reply.outcome = MCDS_OUT_NONE;
        return MCDS__SLEEP;
    }
    if (put->result == MCDS_EXPIRED) /* known, although the claim was not given back */
        return put_finish(put, operation, MCDS_EXPIRED);
    (void)mcds__operation_fail_read(operation, reply);
    if (put->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* The claim is renewed. If the store does not return the token of a write, a get reads it. */
static enum mcds__step put_finish_renewed(struct mcds__cache_put *put,
                                          struct mcds__operation *operation)
{
    assert(put->end == MCDS__CACHE_END_RENEW);
    put->is_renewed = true;
    put->claim->until_ns = mcds__cache_until_ns(put->cache, put->asked_ns);
    return put->claim->cas[1] == 0 ? put_ask_check(put, operation)
                                   : put_finish(put, operation, MCDS_OK);
}

/* The item that a renewed claim is to fill is gone, and so is the claim: give it back. */
static enum mcds__step put_take_base_gone(struct mcds__cache_put *put,
                                          struct mcds__operation *operation)
{
    assert(put->end == MCDS__CACHE_END_RENEW && put->claim->refreshes);
    put->end = MCDS__CACHE_END_FREE;
    put->result = MCDS_EXPIRED;
    operation->detail = MCDS__WHY(CLAIM_OVER);
    put_choose(put, operation->env);
    return put_write_item(put, operation);
}

/* The item must be there as long as the claim: the same bytes with a longer ttl. */
static enum mcds__step put_ask_keep(struct mcds__cache_put *put,
                                    struct mcds__operation *operation,
                                    const struct mcds__cache_item *item)
{
    const mcds_request *base = &put->requests[1];
    mcds_cas_token cas = base->reply.cas;
    assert(item->id == put->claim->base_id);
    if (!mcds__cache_keep_request(put->cache, item, &put->item_key,
                                  mcds__operation_value(operation, base), cas,
                                  mcds__wall_ms(operation->env), &put->kept, put->requests))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    put->stage = PUT_KEEP;
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, put->requests, 1);
}

/* Whether the reply to the get of the item shows that it is not the one which the claim names. */
static bool put_lacks_base(const struct mcds__cache_put *put, struct mcds__operation *operation,
                           struct mcds__cache_item *item_out)
{
    const mcds_request *base = &put->requests[1];
    assert(put->stage == PUT_WRITE && base->command == MCDS_GET);
    if (base->reply.outcome != MCDS_OUT_OK)
        return base->reply.outcome == MCDS_OUT_MISS;
    return !mcds__cache_item_decode(mcds__operation_value(operation, base), base->key,
                                    item_out) ||
           item_out->id != put->claim->base_id;
}

/* The claim to refresh is renewed; it lives only while the item that it names is there. */
static enum mcds__step put_take_base(struct mcds__cache_put *put,
                                     struct mcds__operation *operation)
{
    struct mcds__cache_item item;
    const mcds_request *base = &put->requests[1];
    if (base->reply.outcome != MCDS_OUT_OK && base->reply.outcome != MCDS_OUT_MISS) {
        put->doubt = true;
        return put_take_trouble(put, operation, &base->reply);
    }
    if (put_lacks_base(put, operation, &item))
        return put_take_base_gone(put, operation);
    put->claim->base_cas[0] = base->reply.cas.unique;
    put->claim->base_cas[1] = base->reply.cas.connection;
    if (base->reply.cas.connection == 0 ||
        mcds__cache_outlives_claim(put->cache, &item, base->reply.ttl_ms,
                                   mcds__wall_ms(operation->env)))
        return put_finish_renewed(put, operation);
    return put_ask_keep(put, operation, &item);
}

static enum mcds__step put_take_keep(struct mcds__cache_put *put,
                                     struct mcds__operation *operation)
{
    const mcds_reply *reply = &put->requests[0].reply;
    assert(put->stage == PUT_KEEP && put->end == MCDS__CACHE_END_RENEW);
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        put->claim->base_cas[0] = reply->cas.unique;
        put->claim->base_cas[1] = reply->cas.connection;
        return put_finish_renewed(put, operation);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return put_ask_check(put, operation);
    case MCDS_OUT_UNKNOWN:
    case MCDS_OUT_UNSENT:
        put->claim->base_cas[1] = 0; /* the item may have another token now */
        put->doubt = true;
        return put_take_trouble(put, operation, reply);
    default:
        return mcds__operation_fail(operation, reply);
    }
}

static enum mcds__step put_take_renewed(struct mcds__cache_put *put,
                                        struct mcds__operation *operation,
                                        const mcds_reply *reply)
{
    assert(put->end == MCDS__CACHE_END_RENEW);
    put->claim->cas[0] = reply->cas.unique;
    put->claim->cas[1] = reply->cas.connection;
    if (put->is_renewed) /* this reply is that of the get */
        return put_finish(put, operation, MCDS_OK);
    return put->claim->refreshes ? put_take_base(put, operation)
                                 : put_finish_renewed(put, operation);
}

/* Whether a write may have ended the claim to refresh without replacing the item. Another caller
 * may have got a claim since. */
static bool put_may_have_freed(const struct mcds__cache_put *put)
{
    const mcds_outcome outcome = put->requests[1].reply.outcome;
    return put->frees && (outcome == MCDS_OUT_OK || outcome == MCDS_OUT_UNKNOWN);
}

/* The key was written. */
static enum mcds__step put_take_written(struct mcds__cache_put *put,
                                        struct mcds__operation *operation)
{
    struct mcds__cache_item item;
    if (put->end == MCDS__CACHE_END_RENEW)
        return put_take_renewed(put, operation, &put->requests[0].reply);
    bool is_over = put_asks_base(put) && put_lacks_base(put, operation, &item);
    return put_finish(put, operation, is_over ? MCDS_EXPIRED : MCDS_OK);
}

static enum mcds__step put_take_write(struct mcds__cache_put *put,
                                      struct mcds__operation *operation)
{
    const mcds_reply *reply = &put->requests[0].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        return put_take_written(put, operation);
    case MCDS_OUT_MISS:
        return put_finish(put, operation, MCDS_EXPIRED);
    case MCDS_OUT_EXISTS:
        put->is_freed = put->is_freed || put_may_have_freed(put);
        return put_ask_check(put, operation);
    case MCDS_OUT_UNKNOWN:
        put->doubt = true;
        return put_take_trouble(put, operation, reply);
    case MCDS_OUT_UNSENT:
        return put_take_trouble(put, operation, reply);
    default:
        (void)mcds__operation_fail(operation, reply);
        return put_refuse(put, operation);
    }
}

/* A renewed claim keeps its id, so a read does not show whether it was renewed. Either way it
 * lives, but its time is certain only after a write that was answered. */
static enum mcds__step put_take_check(struct mcds__cache_put *put,
                                      struct mcds__operation *operation)
{
    struct mcds__cache_item item;
    const mcds_request *look = &put->requests[0];
    assert(put->stage == PUT_CHECK);
    if (look->reply.outcome == MCDS_OUT_NONE)
        return put_ask_check(put, operation);
    if (look->reply.outcome == MCDS_OUT_MISS)
        return put_finish(put, operation, MCDS_EXPIRED);
    if (look->reply.outcome != MCDS_OUT_OK)
        return put_take_trouble(put, operation, &look->reply);
    if (!mcds__cache_item_decode(mcds__operation_value(operation, look), look->key, &item))
        return put_finish(put, operation, MCDS_EXPIRED);
    if (item.id == put->id && put->end != MCDS__CACHE_END_RENEW)
        return put_finish(put, operation, MCDS_OK);
    if (item.id != put_expected_id(put) || put->is_freed)
        return put_finish(put, operation, MCDS_EXPIRED);
    if (put->is_renewed)
        return put_take_renewed(put, operation, &look->reply);
    put->cas = look->reply.cas;
    if (put->cas.connection != 0)
        return put_ask_write(put, operation);
    (void)mcds__operation_lack_cas(operation);
    return mcds__cache_end(operation, put->doubt);
}

enum mcds__step mcds__cache_put_step(struct mcds__cache_put *put,
                                     struct mcds__operation *operation)
{
    enum mcds__step step = MCDS__NEXT;
    while (step == MCDS__NEXT)
        switch (put->stage) {
        case PUT_BEGIN:
            step = put_begin(put, operation);
            break;
        case PUT_PIECES:
            step = put_step_pieces(put, operation);
            break;
        case PUT_WRITE:
            step = put_take_write(put, operation);
            break;
        case PUT_KEEP:
            step = put_take_keep(put, operation);
            break;
        default:
            step = put_take_check(put, operation);
        }
    return step;
}
