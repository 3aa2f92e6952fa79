/* Cache: what an item means to a caller. */
#include "structures/cache/judge.h"

#include <assert.h>
#include <math.h>

/* If a failure forbids reads for longer than that, the clock of its writer is ahead. */
#define FAILED_MS_MOST 120000

void mcds__cache_sight_take(struct mcds__cache_sight *sight, const mcds_batch *batch,
                            const mcds_request *request)
{
    assert(request->reply.outcome == MCDS_OUT_OK || request->reply.outcome == MCDS_OUT_MISS);
    sight->is_there = request->reply.outcome == MCDS_OUT_OK;
    sight->cas = request->reply.cas;
    mcds_bytes value = mcds__reply_value(batch, request);
    sight->is_whole = sight->is_there &&
                      mcds__cache_item_decode(value, request->key, &sight->item);
    sight->is_newer = sight->is_there && !sight->is_whole &&
                      mcds__cache_item_is_newer(value, request->key);
}

static mcds_bytes generation_tag(const struct mcds__cache_sight *sight, uint8_t i)
{
    const struct mcds__key *key = &sight->generations[i].key;
    assert(i > 0 && key->length > sight->tag_at);
    return (mcds_bytes){key->bytes + sight->tag_at, key->length - sight->tag_at};
}

const struct mcds__cache_generation *
mcds__cache_sight_find(const struct mcds__cache_sight *sight, mcds_bytes tag)
{
    for (uint8_t i = 1; i < sight->count; i++) {
        mcds_bytes text = generation_tag(sight, i);
        if (text.length == tag.length && memcmp(text.data, tag.data, tag.length) == 0)
            return &sight->generations[i];
    }
    return NULL;
}

static bool generation_is(const struct mcds__cache_generation *generation, uint64_t number)
{
    return (generation->state == MCDS__CACHE_ALIVE || generation->state == MCDS__CACHE_HELD) &&
           generation->number == number;
}

/* Whether the item has the generations that were read, so that it is not forgotten. */
static bool item_is_current(const struct mcds__cache_sight *sight)
{
    const struct mcds__cache_item *item = &sight->item;
    size_t at = 0;
    uint8_t found = 1;
    mcds_bytes text;
    uint64_t number;
    assert(sight->asked >= 1 && sight->asked <= sight->count);
    if (!generation_is(&sight->generations[0], item->generation))
        return false;
    while (mcds__cache_tag_next(item->tags, &at, &text, &number)) {
        const struct mcds__cache_generation *generation = mcds__cache_sight_find(sight, text);
        if (generation == NULL || !generation_is(generation, number))
            return false;
        if (generation - sight->generations < sight->asked)
            found++;
    }
    return found >= sight->asked;
}

bool mcds__cache_sight_stores(const struct mcds__cache_sight *sight)
{
    for (uint8_t i = 0; i < sight->asked; i++)
        if (sight->generations[i].state != MCDS__CACHE_ALIVE)
            return false;
    return true;
}

static bool sight_is_held(const struct mcds__cache_sight *sight)
{
    for (uint8_t i = 0; i < sight->count; i++)
        if (sight->generations[i].state == MCDS__CACHE_HELD)
            return true;
    return sight->item.held;
}

/* The moment is a property of the value: its random id draws it. So all callers agree, and the rate
 * of their looks does not matter; a draw for each look would make an early fill certain under many
 * looks. Before the end lie the duration of the last fill, so that the next one ends in time, and
 * a part that is exponentially distributed with this mean, so that values which were stored
 * together are not filled together. */
int64_t mcds__cache_early_ms(const struct mcds__cache_item *item)
{
    int64_t cost_ms = item->cost_ms;
    int64_t most_ms = (item->fresh_till_ms - item->made_ms - cost_ms) / 4;
    double part = ((double)(item->id >> 11) + 1) / 9007199254740993.0;
    assert(part > 0 && part <= 1);
    if (item->shown_till_ms != item->fresh_till_ms || most_ms <= 0)
        return 0;
    double early_ms = (double)cost_ms * (1 - log(part));
    return early_ms < (double)most_ms ? (int64_t)early_ms : most_ms;
}

static enum mcds__cache_verdict cache_judge_answer(const struct mcds__cache_sight *sight,
                                                   int64_t now_ms)
{
    const struct mcds__cache_item *item = &sight->item;
    assert(sight->is_whole && mcds__cache_item_answers(item));
    if (item->id == sight->lost_id || !item_is_current(sight))
        return item->held ? MCDS__CACHE_IS_HELD : MCDS__CACHE_IS_VOID;
    if (now_ms >= item->shown_till_ms)
        return item->held ? MCDS__CACHE_IS_HELD : MCDS__CACHE_IS_ENDED;
    int64_t left_ms = item->fresh_till_ms - now_ms;
    if (sight_is_held(sight))
        return left_ms > 0 ? MCDS__CACHE_IS_FRESH : MCDS__CACHE_IS_KEPT;
    return left_ms > mcds__cache_early_ms(item) ? MCDS__CACHE_IS_FRESH : MCDS__CACHE_IS_STALE;
}

bool mcds__cache_failure_is_over(const struct mcds__cache_item *item, int64_t now_ms)
{
    int64_t left_ms = item->fresh_till_ms - now_ms;
    assert(item->kind == MCDS__CACHE_FAILED);
    return item->fresh_till_ms == 0 || left_ms <= 0 || left_ms > FAILED_MS_MOST;
}

static enum mcds__cache_verdict cache_judge_failure(const struct mcds__cache_sight *sight,
                                                    int64_t now_ms)
{
    if (mcds__cache_failure_is_over(&sight->item, now_ms))
        return MCDS__CACHE_IS_VOID;
    return item_is_current(sight) ? MCDS__CACHE_IS_FAILED : MCDS__CACHE_IS_VOID;
}

enum mcds__cache_verdict mcds__cache_judge(const struct mcds__cache_sight *sight,
                                           int64_t now_ms)
{
    if (!sight->is_there)
        return MCDS__CACHE_IS_MISSING;
    if (!sight->is_whole)
        return MCDS__CACHE_IS_VOID;
    switch (sight->item.kind) {
    case MCDS__CACHE_FILLING:
        return sight->item.held ? MCDS__CACHE_IS_HELD : MCDS__CACHE_IS_FILLING;
    case MCDS__CACHE_FAILED:
        return cache_judge_failure(sight, now_ms);
    default:
        return cache_judge_answer(sight, now_ms);
    }
}
