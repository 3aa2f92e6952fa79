/* The distinct pages of a log, each with its handle or its figure. */
#ifndef WEBLOG_PAGES_H
#define WEBLOG_PAGES_H

#include <stdint.h>

#include "mcds.h"
#include "parse.h"

#define PAGES_MAX (UINT32_C(1) << 24)
#define PAGES_NONE UINT32_MAX

struct page {
    char *bytes; /* ended by NUL, which is not counted */
    uint32_t length;
    uint64_t hash;
    mcds_counter *counter; /* while somebody has it open, else NULL */
    uint64_t views;
};

struct pages {
    struct page *at;
    uint32_t count;
    uint32_t room;
    uint32_t *slots; /* open addressing: index + 1 of a page, 0 empty */
    uint32_t slot_count;
    uint64_t seed;
};

void pages_init(struct pages *pages);
/* Frees the names. The counters must be closed. */
void pages_free(struct pages *pages);

/* The index of a page, which is added when it is new. PAGES_NONE: out of memory, or PAGES_MAX
 * reached. */
uint32_t pages_find(struct pages *pages, struct text name);

/* Order by views, most first, then by name. Finding is over after this. */
void pages_sort(struct pages *pages);

#endif
