/* View: draws a reading on the screen. */
#ifndef MCDS_CLI_TOP_VIEW_H
#define MCDS_CLI_TOP_VIEW_H

#include "terminal/terminal.h"
#include "top/reading.h"

#define FILTER_CAPACITY 80

enum sorted { SORTED_BY_CHANGE, SORTED_BY_VALUE, SORTED_BY_NAME, SORTED_COUNT };

struct view {
    enum sorted sorted;
    bool is_paused;
    bool is_typing; /* the filter */
    char filter[FILTER_CAPACITY];
    size_t skipped; /* rows above the first that is shown */
    size_t page;    /* rows that the last drawing has shown */
    uint64_t interval_ms;
};

/* The rows that match the filter, in the order of the view: pointers, which the caller frees. NULL: out
 * of memory. */
const struct row **view_order(const struct view *view, const struct reading *reading,
                              size_t *count_out);
/* Draws into standard output. */
void view_draw(struct view *view, const struct reading *reading,
               const struct terminal *terminal);

#endif
