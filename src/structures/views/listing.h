/* Views: reads, and erases, the list of the pages viewed in an interval. */
#ifndef MCDS_STRUCTURES_VIEWS_LISTING_H
#define MCDS_STRUCTURES_VIEWS_LISTING_H

#include "structures/views/views.h"

struct mcds__views_listing {
    mcds_views *views;
    struct mcds__members_place *place; /* while it is held */
    struct mcds__map_scan scan;
    bool no_memory;
    mcds_buffer pages; /* of the interval, each ended by NUL */
    size_t at;         /* the first that was not taken yet */
};

void mcds__views_listing_init(struct mcds__views_listing *listing, mcds_views *views,
                              const mcds_env *env);
/* Call it from the operation's release. */
void mcds__views_listing_free(struct mcds__views_listing *listing);

/* Reads the pages of an interval. DONE with MCDS_OK; MCDS_NOT_FOUND: no page was viewed in it;
 * MCDS_LOST: a part of the list is gone; MCDS_BUSY; failures of reading. */
enum mcds__step mcds__views_listing_read_step(struct mcds__views_listing *listing,
                                              uint64_t slot, struct mcds__operation *operation);
/* Returns the next page that was read, or NULL. The text is valid until the next read. */
const char *mcds__views_listing_take(struct mcds__views_listing *listing);
/* Erases the list of an interval. DONE with the result of the map scan, or MCDS_BUSY. */
enum mcds__step mcds__views_listing_erase_step(struct mcds__views_listing *listing,
                                               uint64_t slot,
                                               struct mcds__operation *operation);

#endif
