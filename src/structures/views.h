/* What the files of views share: its handle, its keys, and the pages that a slot has seen. */
#ifndef MCDS_STRUCTURES_VIEWS_H
#define MCDS_STRUCTURES_VIEWS_H

#include "core/fold.h"
#include "core/settings.h"
#include "core/slot.h"
#include "structures/structure.h"

/* Slots that operations may be busy with at once: the running one and those before it. */
#define MCDS__VIEWS_FOLDS 4
/* Pages that a handle remembers to have entered in the list of a slot. */
#define MCDS__VIEWS_ENTERED 8192

/* Slots for which a key lives longer than it is asked for. */
#define MCDS__VIEWS_SPARE_SLOTS 4

/* Clocks of machines may differ by this. */
#define MCDS__VIEWS_SETTLE_MS 5000

struct mcds__views_fold {
    uint64_t slot;
    uint32_t users;
    bool is_open;
    struct mcds__fold fold;
};

struct mcds_views {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    uint64_t flush_ms;
    uint64_t keep_slots; /* how many slots a hit stays readable */
    int (*load)(void *context, const char *page, uint64_t upto_slot, int64_t *views_out);
    int (*save)(void *context, const char *page, uint64_t slot, int64_t views);
    void *context;
    struct mcds__settings settings;
    struct mcds__key counts; /* what the keys of the slots begin with */
    struct mcds__key pages;  /* of the lists of pages */
    struct mcds__key bases;
    struct mcds__key loads;
    struct mcds__key mark;
    _Atomic uint64_t upto; /* the slot up to which a base was seen to reach */
    pthread_mutex_t mutex; /* over the folds */
    struct mcds__views_fold folds[MCDS__VIEWS_FOLDS];
    _Atomic uint64_t entered[MCDS__VIEWS_ENTERED];
};

/* MCDS_INVALID, with the sentence set, when the handle is missing or the page no name. */
int mcds__views_check(const mcds_views *views, const char *page, const char *verb);
/* The first slot in which a machine with a slow clock may still count: all slots before it have
 * settled. */
uint64_t mcds__views_unsettled(const mcds_views *views);
/* Whether no machine whose clock is right can be in this slot yet. What says that slots up to it are
 * saved cannot know of those that are still counted in. */
bool mcds__views_is_ahead(const mcds_views *views, uint64_t slot);
uint64_t mcds__views_ttl_ms(const mcds_views *views);
struct mcds__key mcds__views_count_key(const mcds_views *views, uint64_t slot,
                                       const char *page);

/* The list of the pages that were viewed in a slot, for as long as it is used; NULL: all places
 * are taken by other slots. */
struct mcds__fold *mcds__views_take_fold(mcds_views *views, uint64_t slot);
void mcds__views_give_fold(mcds_views *views, const struct mcds__fold *fold);

/* A framed pair of numbers, as base and mark are kept. */
#define MCDS__VIEWS_PAIR 24
size_t mcds__views_put_pair(uint8_t *out, char type, mcds_bytes key, uint64_t first,
                            uint64_t second);
bool mcds__views_get_pair(mcds_bytes value, char type, mcds_bytes key, uint64_t *first_out,
                          uint64_t *second_out);
#define MCDS__VIEWS_BASE 'B' /* views, slot up to which they are counted */
#define MCDS__VIEWS_MARK 'M' /* slot up to which all is saved, 0 */

#endif
