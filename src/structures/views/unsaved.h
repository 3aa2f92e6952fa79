/* Views: the pages that a flush could not save, so that it leaves their later intervals to the next
 * flush. */
#ifndef MCDS_STRUCTURES_VIEWS_UNSAVED_H
#define MCDS_STRUCTURES_VIEWS_UNSAVED_H

#include "mcds.h"

/* It keeps at most so many pages, in 16 bytes each. */
#define MCDS__VIEWS_UNSAVED_MAX ((size_t)1 << 20)

/* A set of hashes. With the key, nobody can choose two pages with one hash. */
struct mcds__views_unsaved {
    const mcds_env *env;
    uint64_t hash_key[2];
    uint64_t *hashes; /* 0: free */
    size_t capacity;  /* a power of two, or 0 */
    size_t used;
    uint64_t pages; /* that were added, also where it could not keep them */
    char *first;    /* the first page; NULL: none, or no memory */
};

void mcds__views_unsaved_init(struct mcds__views_unsaved *unsaved, const mcds_env *env);
void mcds__views_unsaved_free(struct mcds__views_unsaved *unsaved);
/* Whether it keeps the page. */
bool mcds__views_unsaved_has(const struct mcds__views_unsaved *unsaved, const char *page);
/* Adds a page that it does not keep. False: it has MCDS__VIEWS_UNSAVED_MAX pages, or no memory, and the
 * page is counted only. */
bool mcds__views_unsaved_add(struct mcds__views_unsaved *unsaved, const char *page);

#endif
