/* The largest responses, each as it is kept in the store: SIZE, a tab and the page. */
#ifndef WEBLOG_TOP_H
#define WEBLOG_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "figures.h"
#include "mcds.h"
#include "parse.h"

#define TOP_COUNT 10

struct response {
    uint64_t size;
    char page[FIGURES_FIT_MAX];
};

/* Largest first; those of one size by page; none twice. So it does not matter who comes first, nor
 * that something is put in again. */
struct top {
    uint32_t count;
    struct response at[TOP_COUNT];
    bool changed; /* since it was last merged */
};

/* Put a response in where it belongs, if it does. */
void top_put(struct top *top, uint64_t size, struct text page);

/* Merge what is in the array and what is here, into both. Returns an mcds_result; where the reply
 * was lost it may be repeated. */
int top_merge(struct top *top, mcds_array *array);

/* Take what is in the array. Returns an mcds_result; an array that does not exist is empty. */
int top_read(struct top *top, mcds_array *array);

#endif
