/* Cache: read a key, and replace by compare-and-set what was read: the loop of expire and hold.
 *
 *   LOOK   get
 *   WRITE  add, cas or delete
 *
 * Each written value has an id of its own. After a lost reply a LOOK decides: if it does not show
 * that id, the change is made once more, with a new id, on the current value. */
#ifndef MCDS_STRUCTURES_CACHE_CHANGE_H
#define MCDS_STRUCTURES_CACHE_CHANGE_H

#include "structures/cache/cache.h"

struct mcds__cache_change {
    struct mcds__operation base;
    mcds_cache *cache;
    uint32_t hold_ms;
    /* `call->request` is the GET, answered OK or MISS. Sets `write` and returns MCDS__ASK; or
     * finishes the operation and returns MCDS__DONE. */
    enum mcds__step (*decide)(struct mcds__cache_change *call, mcds_request *write);
    uint8_t stage; /* private, as all that follow; zero at the start */
    bool doubt;
    uint64_t id; /* that was written last */
    struct mcds__key key;
    mcds_request request;
    mcds_buffer bytes;
    struct mcds__cache_generation generation;
};

enum mcds__step mcds__cache_change_step(struct mcds__operation *operation);
void mcds__cache_change_release(struct mcds__operation *operation);
/* Begin, and run or start. */
int mcds__cache_change_launch(mcds_cache *cache, const struct mcds__operation_kind *kind,
                              const struct mcds__key *key, uint32_t hold_ms,
                              enum mcds__step (*decide)(struct mcds__cache_change *call,
                                                        mcds_request *write),
                              const struct mcds__start *start);

#define MCDS__CACHE_CHANGE_KIND(verb)                                                          \
    {                                                                                          \
        "cache", verb, sizeof(struct mcds__cache_change), mcds__cache_change_step,             \
            mcds__cache_change_release                                                         \
    }

#endif
