/* The distinct texts of one kind in a log (pages, hosts, referrers), each with its figure. */
#ifndef WEBLOG_NAMES_H
#define WEBLOG_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "mcds.h"
#include "parse.h"

#define NAMES_MAX (UINT32_C(1) << 24)
#define NAMES_NONE UINT32_MAX

struct name {
    char *bytes; /* ended by NUL, which is not counted */
    uint32_t length;
    uint64_t hash;
    uint64_t count;        /* while counting: in this block; afterwards: in all */
    uint32_t next;         /* counted in this block: the one counted before it, or NAMES_NONE */
    mcds_counter *counter; /* of a page, while somebody has it open, else NULL */
    /* What this process has already told the store of a host; -1: nothing. */
    int64_t told_day;
    int64_t told_minute;
    bool told; /* that there is such a host, or referrer */
};

struct names {
    struct name *at;
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* open addressing: index + 1 of a name, 0 empty */
    uint32_t slot_count;
    uint64_t seed;
    uint32_t newest; /* of those counted in this block, or NAMES_NONE */
};

void names_init(struct names *names);
/* Frees the texts. The counters must be closed. */
void names_free(struct names *names);

/* The index of a text, which is added when it is new. NAMES_NONE: out of memory, or NAMES_MAX
 * reached. */
uint32_t names_find(struct names *names, struct text text);

/* Count a text once more in this block. Returns as names_find(). */
uint32_t names_count(struct names *names, struct text text);
/* Begin a block: nothing has been counted in it. */
void names_begin(struct names *names);

/* Order by count, most first, then by text. Finding is over after this. */
void names_sort(struct names *names);

#endif
