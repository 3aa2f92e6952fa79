/* Views: reads, and erases, the list of the pages viewed in an interval. */
#include "structures/views/listing.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"

#define PAGES_MAX ((size_t)1 << 30)

void mcds__views_listing_init(struct mcds__views_listing *listing, mcds_views *views,
                              const mcds_env *env)
{
    listing->views = views;
    listing->place = NULL;
    listing->no_memory = false;
    listing->at = 0;
    mcds__buffer_init(&listing->pages, env, PAGES_MAX);
}

static void listing_give_place(struct mcds__views_listing *listing)
{
    if (listing->place == NULL)
        return;
    mcds__map_scan_free(&listing->scan);
    mcds__members_give(listing->views->pages, listing->place);
    listing->place = NULL;
}

void mcds__views_listing_free(struct mcds__views_listing *listing)
{
    listing_give_place(listing);
    mcds__buffer_free(&listing->pages);
}

static bool note_page(void *context, const struct mcds__map_entry *entry)
{
    struct mcds__views_listing *listing = context;
    if (mcds_buffer_append(&listing->pages, entry->element.data, entry->element.length) &&
        mcds_buffer_append(&listing->pages, "", 1))
        return true;
    listing->no_memory = true;
    return false;
}

static enum mcds__step listing_step(struct mcds__views_listing *listing, uint64_t slot,
                                    bool erases, struct mcds__operation *operation)
{
    if (listing->place == NULL) {
        listing->place = mcds__members_take(listing->views->pages, slot);
        if (listing->place == NULL && mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        if (listing->place == NULL)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(TOO_MANY_INTERVALS));
        mcds__map_scan_begin(&listing->scan, &listing->place->map);
        listing->scan.erases = erases;
        listing->scan.visit = note_page;
        listing->scan.context = listing;
        listing->pages.length = 0;
        listing->at = 0;
        mcds__operation_renew(operation);
    }
    assert(listing->scan.erases == erases);
    enum mcds__step step = mcds__map_scan_step(&listing->scan, operation);
    if (step == MCDS__DONE)
        listing_give_place(listing);
    return step;
}

enum mcds__step mcds__views_listing_read_step(struct mcds__views_listing *listing,
                                              uint64_t slot, struct mcds__operation *operation)
{
    enum mcds__step step = listing_step(listing, slot, false, operation);
    if (step == MCDS__DONE && listing->no_memory)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step;
}

const char *mcds__views_listing_take(struct mcds__views_listing *listing)
{
    if (listing->at == listing->pages.length)
        return NULL;
    const char *page = (const char *)listing->pages.data + listing->at;
    listing->at += strlen(page) + 1;
    assert(listing->at <= listing->pages.length);
    return page;
}

enum mcds__step mcds__views_listing_erase_step(struct mcds__views_listing *listing,
                                               uint64_t slot, struct mcds__operation *operation)
{
    return listing_step(listing, slot, true, operation);
}
