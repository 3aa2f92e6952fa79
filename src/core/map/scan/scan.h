/* Map: visit all entries in the order of their hashes, 64 keys in one round trip; or erase the
 * root and then all keys, each before the MOVED keys above it. Every round trip has the store's
 * whole timeout. DONE with
 *
 *   MCDS_OK         `complete`; or `visit` returned false, and `position` is where to continue
 *   MCDS_NOT_FOUND  there is no root
 *   MCDS_LOST       the same as OK, but a key was missing that must be there
 *   MCDS_AMBIGUOUS  erasing: some keys are gone, or may be
 *   others          failures; `position` is where to continue; nothing has been erased */
#ifndef MCDS_CORE_MAP_SCAN_SCAN_H
#define MCDS_CORE_MAP_SCAN_SCAN_H

#include "core/map/map.h"

struct mcds__map_scan_scratch;
struct mcds__map_scan {
    struct mcds__map *map;
    bool erases;
    bool (*visit)(void *context, const struct mcds__map_entry *entry);
    void *context;
    uint64_t position; /* in and out: a hash; valid in one life */
    uint64_t begun_at;
    bool complete;       /* out */
    bool lost;           /* out */
    const char *lost_at; /* out: the server that has lost the first key; NULL: one of several */
    uint8_t stage;       /* private, as all that follow */
    uint8_t moves;
    bool erased;
    uint32_t depth;
    uint32_t count;
    uint32_t erasures;
    uint32_t marks;
    bool is_below;   /* reading the children of a SEALED key */
    uint32_t missed; /* a bit for each of those keys that was missing at the previous read */
    /* A bit for each key above those, from the one with this number on, that has been split. */
    uint8_t parents_depth;
    uint32_t parents;
    uint64_t parents_first;
    uint64_t slice; /* of the hashes, in which the position was when the deadline was renewed */
    /* The time by which an entry must be visited or this slice passed; 0: not set. */
    int64_t by_ns;
    struct mcds__map_life life;
    bool is_proved; /* the root has been seen; erasing: it is gone */
    uint64_t known; /* erasing: the life of this handle before the root was read; 0: none */
    mcds_cas_token token; /* erasing: of the root */
    struct mcds__map_place place;
    struct mcds__map_scan_scratch *scratch;
};
void mcds__map_scan_begin(struct mcds__map_scan *scan, struct mcds__map *map);
enum mcds__step mcds__map_scan_step(struct mcds__map_scan *scan,
                                    struct mcds__operation *operation);
void mcds__map_scan_free(struct mcds__map_scan *scan);

#endif
