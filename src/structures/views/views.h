/* Views: the handle, the keys, and the list of pages viewed in each interval. In the code an
 * interval is a slot. */
#ifndef MCDS_STRUCTURES_VIEWS_VIEWS_H
#define MCDS_STRUCTURES_VIEWS_VIEWS_H

#include "core/descriptor/settings.h"
#include "core/map/map.h"
#include "core/tally/tally.h"
#include "structures/structure.h"

/* Intervals that operations may use at once: the current one and those before it. */
#define MCDS__VIEWS_MAPS 4
/* Pages of which a handle remembers that it has entered them in the list of an interval. */
#define MCDS__VIEWS_ENTERED 8192

/* Intervals for which a key lives longer than it is read. */
#define MCDS__VIEWS_SPARE_SLOTS 4

/* A flush saves again so many intervals before the mark: hits that were slow may count in them. */
#define MCDS__VIEWS_AGAIN_SLOTS 2

/* Clocks of machines may differ by this. */
#define MCDS__VIEWS_SETTLE_MS 5000

struct mcds__views_map {
    uint64_t slot;
    uint32_t users;
    bool is_open;
    struct mcds__map map;
};

struct mcds_views {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint64_t flush_ms;
    uint64_t keep_slots; /* number of intervals for which a hit can be read */
    int (*load)(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
    int (*save)(void *context, const char *page, uint64_t slot, int64_t views);
    void *context;
    struct mcds__settings settings;
    struct mcds__key counts; /* prefix of the keys of the intervals */
    struct mcds__key pages;  /* of the lists of pages */
    struct mcds__key bases;
    struct mcds__key loads;
    struct mcds__key mark;
    _Atomic uint64_t upto; /* the last interval included in the newest base seen */
    pthread_mutex_t mutex; /* over the maps */
    struct mcds__views_map maps[MCDS__VIEWS_MAPS];
    _Atomic uint64_t entered[MCDS__VIEWS_ENTERED];
};

/* Returns MCDS_INVALID, with the sentence set, when the handle is NULL or the page is not a
 * name. */
int mcds__views_check(const mcds_views *views, const char *page,
                      const struct mcds__operation_kind *kind);
/* The first interval in which a machine with a slow clock may still count. All intervals before it
 * have settled. */
uint64_t mcds__views_unsettled(const mcds_views *views);
/* Whether the interval lies in the future of every correct clock. A base or mark that includes such
 * an interval is wrong: other machines still count in earlier ones. */
bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot);
uint64_t mcds__views_ttl_ms(const mcds_views *views);
struct mcds__key mcds__views_count_key(const mcds_views *views, uint64_t slot,
                                       const char *page);

/* Acquires the list of the pages viewed in an interval, until mcds__views_give_map. NULL: other
 * intervals use all lists. */
struct mcds__map *mcds__views_take_map(mcds_views *views, uint64_t slot);
void mcds__views_give_map(mcds_views *views, const struct mcds__map *map);

/* A framed pair of numbers: the stored form of base and mark. */
#define MCDS__VIEWS_PAIR 24
size_t mcds__views_put_pair(uint8_t *out, char type, mcds_bytes key, uint64_t first,
                            uint64_t second);
bool mcds__views_get_pair(mcds_bytes value, char type, mcds_bytes key, uint64_t *first_out,
                          uint64_t *second_out);
#define MCDS__VIEWS_BASE 'B' /* views, last interval included */
#define MCDS__VIEWS_MARK 'M' /* last interval of which all views are saved, 0 */

#endif
