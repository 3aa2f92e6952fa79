/* Views: drop, which erases what the store holds: the numbers of all intervals that may be read,
 * the sums from the database of their pages, the lists of pages, the mark and the settings.
 *
 * The lists of the intervals that may still be counted in stay until they expire: other handles
 * do not enter a page twice, and the next flush finds the views that they count after the drop. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/views/listing.h"

#define PAGES_AT_ONCE 8
#define KEYS_MAX (2 * PAGES_AT_ONCE) /* a number and a sum for each page */

struct views_drop {
    struct mcds__operation base;
    mcds_views *views;
    uint8_t stage;
    struct mcds__settings_check check;
    bool found; /* something was erased */
    uint64_t slot;
    uint64_t last;
    uint64_t kept; /* the first whose list stays */
    struct mcds__views_listing listing;
    uint32_t count; /* of keys */
    uint8_t erasing;
    struct mcds__settings_drop settings;
    struct mcds__key keys[KEYS_MAX];
    mcds_request requests[KEYS_MAX];
};

enum { DROP_BEGIN, DROP_LISTING, DROP_ERASING, DROP_ENDING, DROP_MARK, DROP_SETTINGS };

static void views_drop_release(struct mcds__operation *operation)
{
    mcds__views_listing_free(&((struct views_drop *)operation)->listing);
}

/* Whether a step has ended well; notes whether it has erased something. If it has failed, and
 * something was erased, the result cannot be "not applied". */
static bool views_drop_note(struct views_drop *drop)
{
    int result = drop->base.result;
    bool failed = result != MCDS_OK && result != MCDS_NOT_FOUND;
    drop->found = drop->found || result == MCDS_OK;
    if (failed && drop->found)
        drop->base.result = MCDS_AMBIGUOUS;
    return !failed;
}

static enum mcds__step views_drop_settings(struct views_drop *drop)
{
    drop->stage = DROP_SETTINGS;
    if (!drop->settings.is_begun)
        mcds__settings_drop_begin(&drop->settings, drop->found);
    return mcds__settings_drop_step(&drop->settings, &drop->views->settings, &drop->base);
}

static enum mcds__step views_drop_mark(struct views_drop *drop)
{
    if (drop->stage != DROP_MARK) {
        drop->stage = DROP_MARK;
        drop->erasing = 0;
        drop->keys[0] = drop->views->mark;
        mcds__operation_renew(&drop->base);
    }
    enum mcds__step step = mcds__tally_drop_step(drop->requests, drop->keys, 1, NULL,
                                                 &drop->erasing, &drop->base);
    if (step != MCDS__DONE || !views_drop_note(drop))
        return step;
    mcds__operation_renew(&drop->base);
    return views_drop_settings(drop);
}

static enum mcds__step views_drop_list(struct views_drop *drop);

static enum mcds__step views_drop_next(struct views_drop *drop)
{
    assert(drop->slot <= drop->last);
    if (drop->slot == drop->last)
        return views_drop_mark(drop);
    drop->slot++;
    return views_drop_list(drop);
}

/* Erases the list of an interval after all that it lists. */
static enum mcds__step views_drop_end(struct views_drop *drop)
{
    drop->stage = DROP_ENDING;
    enum mcds__step step = mcds__views_listing_erase_step(&drop->listing, drop->slot,
                                                          &drop->base);
    if (step != MCDS__DONE || !views_drop_note(drop))
        return step;
    return views_drop_next(drop);
}

static void views_drop_add_key(struct views_drop *drop, const struct mcds__key *key)
{
    assert(drop->count < KEYS_MAX);
    drop->keys[drop->count++] = *key;
}

static enum mcds__step views_drop_ask(struct views_drop *drop)
{
    const char *page;
    drop->count = 0;
    while (drop->count < KEYS_MAX &&
           (page = mcds__views_listing_take(&drop->listing)) != NULL) {
        struct mcds__key key = mcds__views_count_key(drop->views, drop->slot, page);
        views_drop_add_key(drop, &key);
        key = drop->views->bases;
        mcds__key_add_element(&key, page);
        views_drop_add_key(drop, &key);
    }
    if (drop->count == 0)
        return drop->slot < drop->kept ? views_drop_end(drop) : views_drop_next(drop);
    drop->stage = DROP_ERASING;
    drop->erasing = 0;
    mcds__operation_renew(&drop->base);
    return mcds__tally_drop_step(drop->requests, drop->keys, drop->count, NULL, &drop->erasing,
                                 &drop->base);
}

static enum mcds__step views_drop_erase(struct views_drop *drop)
{
    assert(drop->count > 0 && drop->count % 2 == 0);
    enum mcds__step step = mcds__tally_drop_step(drop->requests, drop->keys, drop->count, NULL,
                                                 &drop->erasing, &drop->base);
    if (step != MCDS__DONE || !views_drop_note(drop))
        return step;
    return views_drop_ask(drop);
}

/* Lists the pages of the interval. If a part of the list is gone, the numbers of its pages stay
 * until they expire. */
static enum mcds__step views_drop_list(struct views_drop *drop)
{
    drop->stage = DROP_LISTING;
    enum mcds__step step = mcds__views_listing_read_step(&drop->listing, drop->slot,
                                                         &drop->base);
    if (step != MCDS__DONE)
        return step;
    if (drop->base.result == MCDS_NOT_FOUND)
        return views_drop_next(drop);
    if (drop->base.result == MCDS_OK || drop->base.result == MCDS_LOST)
        return views_drop_ask(drop);
    (void)views_drop_note(drop);
    return step;
}

static enum mcds__step views_drop_begin(struct views_drop *drop)
{
    const mcds_views *views = drop->views;
    int64_t ahead_ms = mcds__wall_ms(drop->base.env) + MCDS__VIEWS_SETTLE_MS;
    uint64_t reach = views->keep_slots + MCDS__VIEWS_SPARE_SLOTS;
    uint64_t unsettled = mcds__views_unsettled(views);
    drop->last = mcds__tally_at(ahead_ms, views->flush_ms);
    drop->slot = drop->last > reach ? drop->last - reach : 0;
    drop->kept = unsettled > MCDS__VIEWS_AGAIN_SLOTS ? unsettled - MCDS__VIEWS_AGAIN_SLOTS : 0;
    return views_drop_list(drop);
}

static enum mcds__step views_drop_step(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct views_drop *drop = (struct views_drop *)operation;
    if (!mcds__settings_check_step(&drop->check, operation, &step))
        return step;
    switch (drop->stage) {
    case DROP_BEGIN:
        return views_drop_begin(drop);
    case DROP_LISTING:
        return views_drop_list(drop);
    case DROP_ERASING:
        return views_drop_erase(drop);
    case DROP_ENDING:
        return views_drop_end(drop);
    case DROP_MARK:
        return views_drop_mark(drop);
    default:
        return views_drop_settings(drop);
    }
}

static const struct mcds__operation_kind drop_kind = {
    "views", "drop", sizeof(struct views_drop), views_drop_step, views_drop_release};

int mcds_views_drop_start(mcds_views *views, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (views == NULL)
        return mcds__fail_missing("views", drop_kind.verb, "a handle");
    result = mcds__check_wall(&drop_kind, &views->handle);
    if (result != MCDS_OK)
        return result;
    struct views_drop own;
    struct views_drop *drop = mcds__call_begin_zero(&own.base, &drop_kind, &views->handle,
                                                    start, &result);
    if (drop == NULL)
        return result;
    mcds__settings_forget(&views->settings); /* others may have dropped and made them */
    mcds__settings_check_begin(&drop->check, &views->settings, false, &drop->base);
    drop->views = views;
    mcds__views_listing_init(&drop->listing, views, drop->base.env);
    return mcds__call_launch(&drop->base, start);
}

int mcds_views_drop(mcds_views *views)
{
    return mcds_views_drop_start(views, MCDS__WAIT, 0);
}
