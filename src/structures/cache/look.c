/* Cache: look, which reads an item and claims it if it is to be filled. */
#include "structures/cache/look.h"

#include <assert.h>

#include "base/environment.h"
#include "structures/cache/look_requests.h"

#define POLL_NS (50 * NS_PER_MS)

/* The replies do not show the effect: repeat all requests, or fail. */
static enum mcds__step look_retry(struct mcds__cache_look *look,
                                  struct mcds__operation *operation, const mcds_reply *trouble)
{
    look->stage = MCDS__CACHE_LOOK_BEGIN;
    return mcds__operation_retry(operation, trouble);
}

/* The caller gets the value, the absence or the failure that the item contains. */
static enum mcds__step look_show(struct mcds__cache_look *look,
                                 struct mcds__operation *operation, mcds_cache_state state)
{
    const struct mcds__cache_item *item = &look->sight.item;
    assert(mcds__cache_item_answers(item));
    look->claim->state = state;
    if (item->kind == MCDS__CACHE_NOTHING)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (item->kind == MCDS__CACHE_VALUE) {
        look->value = item->value;
        return mcds__operation_finish(operation, MCDS_OK);
    }
    look->stage = MCDS__CACHE_LOOK_PIECES;
    mcds__cache_transfer_begin(&look->transfer, look->cache, look->claim->suffix,
                               look->claim->suffix_length, &item->pieces);
    return mcds__cache_transfer_read_step(&look->transfer, operation);
}

/* A piece is lost: the item is void. A claim to refresh it is a claim of a key without a value. */
static enum mcds__step look_take_pieces(struct mcds__cache_look *look,
                                        struct mcds__operation *operation)
{
    enum mcds__step step = mcds__cache_transfer_read_step(&look->transfer, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_OK)
        look->value = (mcds_bytes){look->transfer.held.data, look->transfer.held.length};
    if (operation->result != MCDS_NOT_FOUND)
        return step;
    look->claim->state = MCDS_CACHE_MISSING;
    if (look->claim->mine)
        return step;
    look->sight.lost_id = look->sight.item.id;
    return mcds__cache_look_ask_read(look, operation);
}

/* Poll until the time to wait is over. */
static enum mcds__step look_wait(struct mcds__cache_look *look,
                                 struct mcds__operation *operation, bool is_held)
{
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    look->has_refreshed = false;
    look->refresh_cas = (mcds_cas_token){0, 0};
    look->is_held = is_held;
    look->stage = MCDS__CACHE_LOOK_BEGIN;
    if (now_ns < look->wait_until_ns) {
        operation->deadline_ns = now_ns + mcds__store_timeout_ns(operation->store);
        operation->tries = 1;
        if (mcds__operation_wait(operation, POLL_NS)) {
            if (operation->wake_ns > look->wait_until_ns)
                operation->wake_ns = look->wait_until_ns;
            return MCDS__SLEEP;
        }
    }
    if (is_held)
        operation->difference = (struct mcds__difference){.option = "hold"};
    return mcds__operation_explain(operation, MCDS_BUSY,
                                   is_held ? MCDS__WHY(KEY_HELD) : MCDS__WHY(FILLING));
}

static enum mcds__cache_verdict look_judge(const struct mcds__cache_look *look,
                                           const struct mcds__operation *operation)
{
    return mcds__cache_judge(&look->sight, mcds__wall_ms(operation->env));
}

/* There is nothing to show. A value whose time is over is claimed as a stale one: its claim may be
 * another caller's. */
static enum mcds__step look_claim(struct mcds__cache_look *look,
                                  struct mcds__operation *operation)
{
    for (uint8_t i = 0; i < look->sight.asked; i++) {
        if (look->generations[i].state == MCDS__CACHE_HELD)
            return look_wait(look, operation, true);
        if (look->generations[i].state == MCDS__CACHE_DAMAGED) {
            assert(look->at[i] != 0);
            operation->read = &look->requests[look->at[i]];
            return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
        }
    }
    if (look_judge(look, operation) != MCDS__CACHE_IS_ENDED)
        return mcds__cache_look_ask_claim(look, operation);
    if (!look->has_refreshed)
        return mcds__cache_look_ask_refresh(look, operation);
    look->awaits_refresh = true;
    return look_wait(look, operation, false);
}

/* The source has failed; every caller gets its sentence. */
static enum mcds__step look_fail(struct mcds__cache_look *look,
                                 struct mcds__operation *operation,
                                 const struct mcds__cache_item *failure)
{
    assert(failure->kind == MCDS__CACHE_FAILED);
    look->is_failed = true;
    look->value = failure->value;
    operation->difference = (struct mcds__difference){.option = "fill"};
    return mcds__operation_explain(operation, MCDS_IO, MCDS__WHY(FILL_FAILED_BEFORE));
}

static bool look_is_fresh(const struct mcds__cache_look *look,
                          const struct mcds__operation *operation)
{
    return mcds__wall_ms(operation->env) < look->sight.item.fresh_till_ms;
}

/* Act on what was read. */
static enum mcds__step look_act(struct mcds__cache_look *look,
                                struct mcds__operation *operation)
{
    switch (look_judge(look, operation)) {
    case MCDS__CACHE_IS_FRESH:
        return look_show(look, operation, MCDS_CACHE_FRESH);
    case MCDS__CACHE_IS_STALE:
        if (!look->has_refreshed)
            return mcds__cache_look_ask_refresh(look, operation);
        return look_show(look, operation,
                         look_is_fresh(look, operation) ? MCDS_CACHE_FRESH : MCDS_CACHE_STALE);
    case MCDS__CACHE_IS_KEPT:
        return look_show(look, operation, MCDS_CACHE_STALE);
    case MCDS__CACHE_IS_FILLING:
        return look_wait(look, operation, false);
    case MCDS__CACHE_IS_HELD:
        return look_wait(look, operation, true);
    case MCDS__CACHE_IS_FAILED:
        return look_fail(look, operation, &look->sight.item);
    default:
        return look_claim(look, operation);
    }
}

static void look_take_generations(struct mcds__cache_look *look,
                                  struct mcds__operation *operation)
{
    for (uint8_t i = 0; i < look->sight.count; i++)
        if (look->at[i] != 0)
            mcds__cache_generation_take(&look->generations[i], &operation->batch,
                                        &look->requests[look->at[i]]);
}

/* Takes the item from this request. False: a newer version has written it, and the call is over. */
static bool look_take_item(struct mcds__cache_look *look, struct mcds__operation *operation,
                           const mcds_request *request)
{
    mcds__cache_sight_take(&look->sight, &operation->batch, request);
    if (!look->sight.is_newer)
        return true;
    (void)mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    return false;
}

/* The caller fills the key: keep the data that put needs. */
static void look_fill_claim(struct mcds__cache_look *look,
                            const struct mcds__operation *operation, uint64_t id,
                            mcds_cas_token cas)
{
    mcds_cache_claim *claim = look->claim;
    size_t length = 0;
    for (uint8_t i = 1; i < look->sight.asked; i++) {
        const struct mcds__cache_generation *generation = &look->generations[i];
        size_t at = look->sight.tag_at;
        mcds__cache_tag_put(
            claim->tags, &length,
            (mcds_bytes){generation->key.bytes + at, generation->key.length - at},
            generation->number);
    }
    assert(length <= sizeof claim->tags);
    assert(!claim->mine); /* one claim in a call */
    claim->mine = true;
    claim->stores = mcds__cache_sight_stores(&look->sight);
    claim->failures = look->failures;
    claim->tag_count = (uint8_t)(look->sight.asked - 1);
    claim->tags_length = (uint16_t)length;
    claim->generation = look->generations[0].number;
    claim->id = id;
    claim->cas[0] = cas.unique;
    claim->cas[1] = cas.connection;
    claim->made_ms = mcds__wall_ms(operation->env);
    claim->began_ns = mcds__monotonic_ns(operation->env);
}

/* Whether this claim to refresh may be replaced: it was given back, is a failure after which the
 * source may be read again, is of another item than that which is there, or is damaged. */
static bool look_may_replace(const struct mcds__cache_look *look,
                             const struct mcds__cache_sight *claim,
                             const struct mcds__operation *operation)
{
    if (!claim->is_there || claim->is_newer)
        return false;
    if (!claim->is_whole ||
        (claim->item.base_id != 0 && claim->item.base_id != look->sight.item.id))
        return true;
    return claim->item.kind == MCDS__CACHE_FAILED &&
           mcds__cache_failure_is_over(&claim->item, mcds__wall_ms(operation->env));
}

/* Whether this read shows that another caller fills the item, whose time is over. */
static bool look_is_awaited(const struct mcds__cache_look *look,
                            const struct mcds__operation *operation)
{
    struct mcds__cache_sight claim = {.is_there = false};
    if (!look->awaits_refresh || look_judge(look, operation) != MCDS__CACHE_IS_ENDED)
        return false;
    mcds__cache_sight_take(&claim, &operation->batch, &look->requests[look->count - 1]);
    return claim.is_whole && claim.item.kind == MCDS__CACHE_FILLING &&
           !mcds__cache_look_is_mine(look, &claim.item) &&
           !look_may_replace(look, &claim, operation);
}

static enum mcds__step look_take_read(struct mcds__cache_look *look,
                                      struct mcds__operation *operation)
{
    const mcds_reply *trouble = mcds__first_trouble(look->requests, look->count);
    if (trouble != NULL)
        return look_retry(look, operation, trouble);
    assert(look->stage == MCDS__CACHE_LOOK_READ && look->count > look->sight.count);
    look_take_generations(look, operation);
    if (!look_take_item(look, operation, &look->requests[0]))
        return MCDS__DONE;
    if (mcds__cache_look_add_item_tags(look, operation->env)) {
        look->reads++;
        return mcds__cache_look_ask_read(look, operation);
    }
    if (look_is_awaited(look, operation))
        return look_wait(look, operation, false);
    if (!look->sight.is_whole || !mcds__cache_look_is_mine(look, &look->sight.item))
        return look_act(look, operation);
    /* A claim of this call whose reply was lost. */
    if (!mcds__cache_sight_stores(&look->sight))
        return look_claim(look, operation);
    look_fill_claim(look, operation, look->sight.item.id, look->sight.cas);
    return mcds__operation_finish(operation, MCDS_NOT_FOUND);
}

/* The write of a claim was refused, or the claim has vanished before the get. */
static enum mcds__step look_take_vanished(struct mcds__cache_look *look,
                                          struct mcds__operation *operation)
{
    const mcds_reply *written = &look->requests[0].reply;
    if (mcds__is_refusal(written))
        return mcds__operation_fail(operation, written);
    look->stage = MCDS__CACHE_LOOK_BEGIN;
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
}

/* The first read that was not answered. The reads show the effect of the writes. */
static const mcds_reply *look_find_unread(const struct mcds__cache_look *look)
{
    for (uint8_t i = 0; i < look->count; i++)
        if (look->requests[i].command == MCDS_GET) {
            const mcds_reply *trouble = mcds__first_trouble(&look->requests[i], 1);
            if (trouble != NULL)
                return trouble;
        }
    return NULL;
}

static enum mcds__step look_take_claim(struct mcds__cache_look *look,
                                       struct mcds__operation *operation)
{
    const mcds_reply *trouble = look_find_unread(look);
    if (trouble != NULL)
        return look_retry(look, operation, trouble);
    look_take_generations(look, operation);
    if (!look_take_item(look, operation, &look->requests[1]))
        return MCDS__DONE;
    const struct mcds__cache_sight *sight = &look->sight;
    if (!sight->is_there)
        return look_take_vanished(look, operation);
    if (!sight->is_whole || !mcds__cache_look_is_mine(look, &sight->item))
        return look_act(look, operation);
    look_fill_claim(look, operation, sight->item.id, sight->cas);
    return mcds__operation_finish(operation, MCDS_NOT_FOUND);
}

/* The claim to refresh is this caller's: it shows the stale value, or has none. */
static enum mcds__step look_refresh(struct mcds__cache_look *look,
                                    struct mcds__operation *operation, uint64_t id,
                                    mcds_cas_token cas)
{
    bool has_ended = look_judge(look, operation) == MCDS__CACHE_IS_ENDED;
    assert(look->sight.item.id == look->base_id);
    look_fill_claim(look, operation, id, cas);
    look->claim->refreshes = true;
    look->claim->until_ns = mcds__cache_until_ns(look->cache, look->asked_ns);
    look->claim->base_id = look->base_id;
    look->claim->base_cas[0] = look->sight.cas.unique;
    look->claim->base_cas[1] = look->sight.cas.connection;
    if (has_ended)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    return look_show(look, operation,
                     look_is_fresh(look, operation) ? MCDS_CACHE_FRESH : MCDS_CACHE_STALE);
}

/* Whether the item is still the one that the claim to refresh names. */
static bool look_is_base(const struct mcds__cache_look *look,
                         const struct mcds__operation *operation)
{
    enum mcds__cache_verdict verdict = look_judge(look, operation);
    return (verdict == MCDS__CACHE_IS_STALE || verdict == MCDS__CACHE_IS_ENDED) &&
           look->sight.item.id == look->base_id;
}

static enum mcds__step look_take_refresh_mine(struct mcds__cache_look *look,
                                              struct mcds__operation *operation,
                                              const struct mcds__cache_sight *claim)
{
    const mcds_request *item = &look->requests[2];
    assert(claim->is_whole && !look->claim->mine);
    if (!look_is_base(look, operation))
        return mcds__cache_look_ask_release(look, operation, claim->cas);
    if (look->sight.cas.connection ==
            0 || /* this reply lacks the token: it cannot be replaced */
        mcds__cache_outlives_claim(look->cache, &look->sight.item, item->reply.ttl_ms,
                                   mcds__wall_ms(operation->env)))
        return look_refresh(look, operation, claim->item.id, claim->cas);
    look->kept_id = claim->item.id;
    look->kept_cas = claim->cas;
    return mcds__cache_look_ask_keep(look, operation, mcds__operation_value(operation, item));
}

/* The item lives as long as the claim now, or another caller has changed it. */
static enum mcds__step look_take_keep(struct mcds__cache_look *look,
                                      struct mcds__operation *operation)
{
    const mcds_reply *trouble = look_find_unread(look);
    const mcds_reply *written = &look->requests[0].reply;
    assert(look->count == 2 && look->kept_id != 0);
    if (trouble != NULL)
        return look_retry(look, operation, trouble);
    if (!look_take_item(look, operation, &look->requests[1]))
        return MCDS__DONE;
    if (!look_is_base(look, operation))
        return mcds__cache_look_ask_release(look, operation, look->kept_cas);
    if (written->outcome == MCDS_OUT_OK)
        return look_refresh(look, operation, look->kept_id, look->kept_cas);
    if (mcds__is_refusal(written) && look_judge(look, operation) == MCDS__CACHE_IS_STALE)
        return mcds__cache_look_ask_release(look, operation, look->kept_cas);
    return look_take_vanished(look, operation);
}

/* The claim to refresh is another caller's, or a failure, or there is none. */
static enum mcds__step look_take_refresh_other(struct mcds__cache_look *look,
                                               struct mcds__operation *operation,
                                               const struct mcds__cache_sight *claim)
{
    enum mcds__cache_verdict verdict = look_judge(look, operation);
    bool has_ended = verdict == MCDS__CACHE_IS_ENDED;
    bool may_replace = (has_ended || verdict == MCDS__CACHE_IS_STALE) &&
                       look_may_replace(look, claim, operation);
    if (may_replace && look->refresh_cas.connection == 0 && claim->cas.connection != 0) {
        look->refresh_cas = claim->cas;
        look->failures = claim->is_whole ? claim->item.failures : 0;
        return mcds__cache_look_ask_refresh(look, operation);
    }
    if (!claim->is_there && look->refresh_cas.connection != 0 &&
        mcds__operation_again(operation)) {
        look->refresh_cas = (mcds_cas_token){0, 0}; /* the claim that was given back is gone */
        look->stage = MCDS__CACHE_LOOK_BEGIN;
        return MCDS__SLEEP;
    }
    if (has_ended && !claim->is_there)
        return look_take_vanished(look, operation);
    if (has_ended && claim->is_whole && claim->item.kind == MCDS__CACHE_FAILED && !may_replace)
        return look_fail(look, operation, &claim->item);
    look->has_refreshed = true;
    return look_act(look, operation);
}

static enum mcds__step look_take_refresh(struct mcds__cache_look *look,
                                         struct mcds__operation *operation)
{
    const mcds_reply *trouble = look_find_unread(look);
    if (trouble != NULL)
        return look_retry(look, operation, trouble);
    assert(look->count >= 3 && look->requests[1].command == MCDS_GET);
    struct mcds__cache_sight claim = {.is_there = false};
    mcds__cache_sight_take(&claim, &operation->batch, &look->requests[1]);
    if (!look_take_item(look, operation, &look->requests[2]))
        return MCDS__DONE;
    return claim.is_whole && mcds__cache_look_is_mine(look, &claim.item)
               ? look_take_refresh_mine(look, operation, &claim)
               : look_take_refresh_other(look, operation, &claim);
}

enum mcds__step mcds__cache_look_step(struct mcds__cache_look *look,
                                      struct mcds__operation *operation)
{
    switch (look->stage) {
    case MCDS__CACHE_LOOK_BEGIN:
        return mcds__cache_look_ask_read(look, operation);
    case MCDS__CACHE_LOOK_READ:
        return look_take_read(look, operation);
    case MCDS__CACHE_LOOK_CLAIM:
        return look_take_claim(look, operation);
    case MCDS__CACHE_LOOK_REFRESH:
        return look_take_refresh(look, operation);
    case MCDS__CACHE_LOOK_KEEP:
        return look_take_keep(look, operation);
    case MCDS__CACHE_LOOK_RELEASE:
        look->has_refreshed = true;
        return mcds__cache_look_ask_read(look, operation);
    default:
        return look_take_pieces(look, operation);
    }
}
