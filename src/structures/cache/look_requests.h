/* Cache: the requests of look. */
#ifndef MCDS_STRUCTURES_CACHE_LOOK_REQUESTS_H
#define MCDS_STRUCTURES_CACHE_LOOK_REQUESTS_H

#include "structures/cache/look.h"

enum mcds__cache_look_stage {
    MCDS__CACHE_LOOK_BEGIN,
    MCDS__CACHE_LOOK_READ,
    MCDS__CACHE_LOOK_CLAIM,
    MCDS__CACHE_LOOK_REFRESH,
    MCDS__CACHE_LOOK_KEEP,
    MCDS__CACHE_LOOK_RELEASE,
    MCDS__CACHE_LOOK_PIECES
};

/* Each sets the stage. Request 0 of READ reads the item, and the last one the claim to refresh if
 * `awaits_refresh`; of the others, request 0 writes. */
enum mcds__step mcds__cache_look_ask_read(struct mcds__cache_look *look,
                                          struct mcds__operation *operation);
/* Request 1 reads the item. The generations that are missing are made. */
enum mcds__step mcds__cache_look_ask_claim(struct mcds__cache_look *look,
                                           struct mcds__operation *operation);
/* Request 1 reads the claim, request 2 the item and its ttl. */
enum mcds__step mcds__cache_look_ask_refresh(struct mcds__cache_look *look,
                                             struct mcds__operation *operation);
/* Request 1 reads the item. `bytes` are those of the item that was read. */
enum mcds__step mcds__cache_look_ask_keep(struct mcds__cache_look *look,
                                          struct mcds__operation *operation, mcds_bytes bytes);
enum mcds__step mcds__cache_look_ask_release(struct mcds__cache_look *look,
                                             struct mcds__operation *operation,
                                             mcds_cas_token cas);

/* Add the tags of the item whose generations were not read. Returns whether there are any. */
bool mcds__cache_look_add_item_tags(struct mcds__cache_look *look, const mcds_env *env);
/* Whether what was read is a claim that this call has written. */
bool mcds__cache_look_is_mine(const struct mcds__cache_look *look,
                              const struct mcds__cache_item *item);

#endif
